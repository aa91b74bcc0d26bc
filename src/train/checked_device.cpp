// A verdict is a small JSON file named by what it depends on: adapter, driver, WebGPU library, and the text of all shaders.
#include "train/checked_device.h"

#include "base/atomic_file.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "kernels/kernel_forms.h"
#include "kernels/kernel_info.h"
#include "kernels/launch_notes.h"
#include "kernels/tuner.h"
#include "train/choice_files.h"
#include "train/random_step.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

// Of the file's form and of what is judged: 2 has the kernels that keep their portable form.
constexpr int kVersion = 2;
constexpr size_t kMostBytes = 1 << 20;

constexpr std::array<const char*, 4> kUseNames = {"everything", "without shader-f16", "without subgroups", "nothing"};

const char* name_of(AdapterUse use) { return kUseNames[static_cast<size_t>(use)]; }

device::DeviceOptions options_for(device::DeviceOptions options, const AdapterVerdict& verdict) {
  options.use_f16 = verdict.use == AdapterUse::Everything;
  options.use_subgroups = verdict.use == AdapterUse::Everything || verdict.use == AdapterUse::WithoutF16;
  options.plain_kernels = verdict.plain;
  return options;
}

fs::path verdict_path(const fs::path& folder, const device::DeviceInfo& info, bool rounded) {
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", info.name, info.driver, info.library,
                                      kernels::shaders_digest(), rounded ? "rounded" : "f32");
  return folder / (hash_hex(std::as_bytes(std::span(key))) + ".json");
}

/// Names of kernels, each of which is there.
std::vector<std::string> kernel_names(const nlohmann::json& listed) {
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  std::vector<std::string> names = listed.get<std::vector<std::string>>();
  for (const std::string& name : names) {
    check(std::any_of(table.begin(), table.end(), [&](const auto& kernel) { return kernel.name == name; }),
          "there is no kernel {}", name);
  }
  return names;
}

std::optional<AdapterVerdict> read_verdict(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  try {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    check(bytes.size() <= kMostBytes, "longer than a verdict");
    const nlohmann::json object = nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                                        reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    check(object.at("version") == kVersion, "of another version");
    const auto use = std::find(kUseNames.begin(), kUseNames.end(), object.at("use").get<std::string>());
    check(use != kUseNames.end(), "no such use");
    AdapterVerdict verdict{static_cast<AdapterUse>(use - kUseNames.begin()), kernel_names(object.at("plain")),
                           kernel_names(object.at("wrong"))};
    const bool is_all = verdict.use == AdapterUse::Everything && verdict.plain.empty();
    check(is_all == verdict.wrong.empty(), "it contradicts itself");
    return verdict;
  } catch (const std::exception& odd) {
    log_debug("{}: {}; the adapter is checked anew", path.string(), odd.what());
    return std::nullopt;
  }
}

void write_verdict(const fs::path& path, const device::DeviceInfo& info, const AdapterVerdict& verdict) {
  nlohmann::ordered_json object;
  object["version"] = kVersion;
  object["adapter"] = info.name;
  object["driver"] = info.driver;
  object["library"] = info.library;
  object["use"] = name_of(verdict.use);
  object["plain"] = verdict.plain;
  object["wrong"] = verdict.wrong;
  try {
    fs::create_directories(path.parent_path());
    write_file(path, object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const std::exception& refused) {
    log_debug("the verdict on {} is not kept: {}", info.name, refused.what());
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string line;
  for (const std::string& name : names) line += (line.empty() ? "" : ", ") + name;
  return line;
}

/// What the steps of a model with every op of training launch, in f32 and with weights of halves; small enough for a dry run of a moment.
std::set<std::string> training_kernels(device::Device& device) {
  TrainSettings settings;
  settings.model_config = {0, 32, 64, 1, 2, 1, 0, 16};
  settings.model_config.vocab_size = 64;
  settings.model_config.resid_pdrop = 0.1;
  settings.log_layer_norms_steps = 1;
  settings.model_config.complete("check");
  settings.max_length = 16;
  settings.per_device_train_batch_size = 1;
  settings.gradient_accumulation_steps = 2;
  std::set<std::string> names;
  for (const char* precision : {"f32", "mixed"}) {
    settings.precision = precision;
    const kernels::LaunchNotes notes =
        kernels::note_launches(device, [&](device::Stream& stream, kernels::LaunchNotes&) {
          RandomStep step(stream, settings);
          step.run();
          step.wait();
        });
    for (const kernels::NotedCall& call : notes.calls) names.insert(call.kernel);
  }
  return names;
}

bool is_right(device::Stream& stream, const kernels::KernelInfo& kernel, bool rounded) {
  if (!kernels::keeps_portable(stream, kernel.name) && fault_due("wrong-forms-of-" + kernel.name)) return false;
  for (const kernels::KernelCase& kernel_case : kernel.cases) {
    if (!kernel_case.in_doctor || (kernel_case.is_rounded && !rounded)) continue;
    if (fault_due("wrong-kernel") || !kernel_case.run(stream).passed()) return false;
  }
  return true;
}

std::vector<std::string> wrong_kernels(device::Device& device, const std::set<std::string>& needed, bool rounded) {
  std::vector<std::string> wrong;
  for (const kernels::KernelInfo& kernel : kernels::all_kernels()) {
    if (!needed.contains(kernel.name)) continue;
    try {
      if (!is_right(device.stream(), kernel, rounded)) wrong.push_back(kernel.name);
    } catch (const Error& refused) {
      log_debug("{}: {}", kernel.name, refused.what());
      wrong.push_back(kernel.name);
    }
  }
  return wrong;
}

std::string use_of(const AdapterVerdict& verdict) {
  std::string text = name_of(verdict.use);
  if (!verdict.plain.empty()) text += fmt::format(", but {} in portable form alone", joined(verdict.plain));
  return text;
}

/// Checks the open device. What is wrong is left: first the faster forms of the kernels that are wrong, and where they are wrong in their
/// portable form too, what the whole device has less of. nullptr: nothing of it can be used.
std::unique_ptr<device::Device> check_and_reduce(std::unique_ptr<device::Device> device,
                                                 const device::DeviceOptions& options, const CheckedDevice& how,
                                                 AdapterVerdict& verdict) {
  log_info("first use of {}: the kernels of training are checked, once; compiling them can take a minute",
           device->info().name);
  const double start = now_seconds();
  const auto reopen = [&] {
    device.reset();
    device = how.open(options_for(options, verdict));
  };
  for (;;) {
    std::vector<std::string> wrong = wrong_training_kernels(*device, options.rounds_factors);
    if (!wrong.empty()) {
      if (verdict.wrong.empty()) verdict.wrong = wrong;
      verdict.plain = wrong;
      reopen();
      wrong = wrong_kernels(*device, {wrong.begin(), wrong.end()}, options.rounds_factors);
    }
    if (wrong.empty()) {
      log_info("first use of {}: the kernels of training are right ({:.1f} s){}", device->info().name,
               now_seconds() - start, verdict.wrong.empty() ? "" : " with " + use_of(verdict));
      return device;
    }
    verdict.plain.clear();
    verdict.use = static_cast<AdapterUse>(static_cast<int>(verdict.use) + 1);
    if (verdict.use == AdapterUse::Nothing) return nullptr;
    reopen();
  }
}

void warn_of(const device::DeviceInfo& info, const AdapterVerdict& verdict) {
  if (verdict.use == AdapterUse::Everything && verdict.plain.empty()) return;
  if (verdict.use == AdapterUse::Everything) {
    return log_warning(
        "{} ({}): wrong numbers from the faster forms of {}; these run in their portable form, slower and right. "
        "Update the driver; athanor doctor shows the numbers",
        info.name, info.driver, joined(verdict.plain));
  }
  log_warning("{} ({}): {} wrong here; used: {}. Update the driver; athanor doctor shows the numbers", info.name,
              info.driver, joined(verdict.wrong), use_of(verdict));
}

}  // namespace

std::vector<std::string> wrong_training_kernels(device::Device& device, bool rounded) {
  return wrong_kernels(device, training_kernels(device), rounded);
}

namespace {

std::unique_ptr<device::Device> open_checked(const device::DeviceOptions& options, const CheckedDevice& how) {
  std::unique_ptr<device::Device> device = how.open(options);
  const device::DeviceInfo info = device->info();
  if (info.backend == device::Backend::Cpu || !options.kernel_files.empty()) return device;
  if (info.is_software && !how.check_software) return device;

  const fs::path path =
      verdict_path(how.cache.empty() ? cache_folder() / "adapters" : how.cache, info, options.rounds_factors);
  AdapterVerdict verdict;
  if (const std::optional<AdapterVerdict> known = read_verdict(path)) {
    verdict = *known;
    if (verdict.wrong.empty()) return device;
    device.reset();
    if (verdict.use != AdapterUse::Nothing) device = how.open(options_for(options, verdict));
  } else {
    device = check_and_reduce(std::move(device), options, how, verdict);
    write_verdict(path, info, verdict);
  }
  warn_of(info, verdict);
  if (device) return device;
  check(options.name == "auto",
        "device {}: {} computes {} wrong through {}; update its driver, run athanor doctor for the numbers, or use "
        "--device cpu",
        options.name, info.name, joined(verdict.wrong), info.library);
  device::DeviceOptions cpu = options;
  cpu.name = "cpu";
  return how.open(cpu);
}

}  // namespace

std::unique_ptr<device::Device> open_checked_device(const device::DeviceOptions& options, const CheckedDevice& how) {
  std::unique_ptr<device::Device> device = open_checked(options, how);
  kernels::use_choices(device->stream(), known_choices(device->info(), how.choices));
  return device;
}

}  // namespace athanor::train
