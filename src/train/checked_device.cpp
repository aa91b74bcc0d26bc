// A verdict is a small JSON file named by what it depends on: adapter, driver, WebGPU library, and the text of all shaders.
#include "train/checked_device.h"

#include "base/atomic_file.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "kernels/kernel_info.h"
#include "kernels/launch_notes.h"
#include "train/random_step.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 4> kUseNames = {"everything", "without shader-f16", "without subgroups", "nothing"};

const char* name_of(AdapterUse use) { return kUseNames[static_cast<size_t>(use)]; }

device::DeviceOptions options_for(device::DeviceOptions options, AdapterUse use) {
  options.use_f16 = use == AdapterUse::Everything;
  options.use_subgroups = use == AdapterUse::Everything || use == AdapterUse::WithoutF16;
  return options;
}

fs::path verdict_path(const fs::path& folder, const device::DeviceInfo& info, bool rounded) {
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", info.name, info.driver, info.library,
                                      kernels::shaders_digest(), rounded ? "rounded" : "f32");
  return folder / (hash_hex(std::as_bytes(std::span(key))) + ".json");
}

std::optional<AdapterVerdict> read_verdict(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none)) return std::nullopt;
  try {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    const nlohmann::json object = nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                                                        reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    const auto use = std::find(kUseNames.begin(), kUseNames.end(), object.at("use").get<std::string>());
    check(use != kUseNames.end(), "no such use");
    return AdapterVerdict{static_cast<AdapterUse>(use - kUseNames.begin()), object.at("wrong")};
  } catch (const std::exception&) {
    return std::nullopt;  // whatever it holds, it is made anew
  }
}

void write_verdict(const fs::path& path, const device::DeviceInfo& info, const AdapterVerdict& verdict) {
  nlohmann::ordered_json object;
  object["adapter"] = info.name;
  object["driver"] = info.driver;
  object["library"] = info.library;
  object["use"] = name_of(verdict.use);
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

/// A model with every op of training, small enough for a dry run of a moment.
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
  const kernels::LaunchNotes notes = kernels::note_launches(device, [&](device::Stream& stream, kernels::LaunchNotes&) {
    RandomStep step(stream, settings);
    step.run();
    step.wait();
  });
  std::set<std::string> names;
  for (const kernels::NotedCall& call : notes.calls) names.insert(call.kernel);
  return names;
}

bool is_right(device::Stream& stream, const kernels::KernelInfo& kernel, bool rounded) {
  for (const kernels::KernelCase& kernel_case : kernel.cases) {
    if (!kernel_case.in_doctor || (kernel_case.is_rounded && !rounded)) continue;
    if (fault_due("wrong-kernel") || !kernel_case.run(stream).passed()) return false;
  }
  return true;
}

/// Checks the open device, and opens it with less as long as something is wrong. nullptr: nothing of it can be used.
std::unique_ptr<device::Device> check_and_reduce(std::unique_ptr<device::Device> device,
                                                 const device::DeviceOptions& options, const CheckedDevice& how,
                                                 AdapterVerdict& verdict) {
  const double start = now_seconds();
  for (;;) {
    const std::vector<std::string> wrong = wrong_training_kernels(*device, options.rounds_factors);
    if (wrong.empty()) {
      log_info("first use of {}: the kernels of training are right ({:.1f} s){}", device->info().name,
               now_seconds() - start,
               verdict.use == AdapterUse::Everything ? "" : fmt::format(", {}", name_of(verdict.use)));
      return device;
    }
    if (verdict.wrong.empty()) verdict.wrong = wrong;
    verdict.use = static_cast<AdapterUse>(static_cast<int>(verdict.use) + 1);
    if (verdict.use == AdapterUse::Nothing) return nullptr;
    device.reset();
    device = how.open(options_for(options, verdict.use));
  }
}

}  // namespace

std::vector<std::string> wrong_training_kernels(device::Device& device, bool rounded) {
  const std::set<std::string> needed = training_kernels(device);
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

std::unique_ptr<device::Device> open_checked_device(const device::DeviceOptions& options, const CheckedDevice& how) {
  std::unique_ptr<device::Device> device = how.open(options);
  const device::DeviceInfo info = device->info();
  if (info.backend == device::Backend::Cpu || !options.kernel_files.empty()) return device;
  if (info.is_software && !how.check_software) return device;

  const fs::path path =
      verdict_path(how.cache.empty() ? cache_folder() / "adapters" : how.cache, info, options.rounds_factors);
  AdapterVerdict verdict;
  if (const std::optional<AdapterVerdict> known = read_verdict(path)) {
    verdict = *known;
    if (verdict.use == AdapterUse::Everything) return device;
    device.reset();
    if (verdict.use != AdapterUse::Nothing) device = how.open(options_for(options, verdict.use));
  } else {
    device = check_and_reduce(std::move(device), options, how, verdict);
    write_verdict(path, info, verdict);
  }
  if (verdict.use != AdapterUse::Everything)
    log_warning("{} ({}): {} wrong here; used: {}", info.name, info.driver, joined(verdict.wrong),
                name_of(verdict.use));
  if (device) return device;
  check(options.name == "auto",
        "device {}: {} computes {} wrong through {}; update its driver, run athanor doctor for the numbers, or use "
        "--device "
        "cpu",
        options.name, info.name, joined(verdict.wrong), info.library);
  device::DeviceOptions cpu = options;
  cpu.name = "cpu";
  return how.open(cpu);
}

}  // namespace athanor::train
