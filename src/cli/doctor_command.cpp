// Runs the kernels' own cases on every device and compares with their plain loops; a wrong kernel makes the exit code 1.
#include "cli/doctor_command.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "device/cpu/blas.h"
#include "device/device_list.h"
#include "device/device_lost.h"
#include "kernels/kernel_forms.h"
#include "kernels/kernel_info.h"
#include "train/kernel_files.h"

namespace athanor::cli {

namespace {

using nlohmann::ordered_json;

struct DoctorSettings {
  device::DeviceOptions device;
  std::vector<std::string> kernel_files;
  std::string filter;  // of kernels' names
  bool all_cases = false;
  bool json = false;
};

/// How one kernel did on one device: its worst case.
struct KernelCheck {
  std::string kernel;
  int64_t cases = 0;
  int64_t failed = 0;
  kernels::CaseResult worst;
  std::string worst_case;
  std::string error;  // what was thrown instead of a result
  std::string file;   // --kernel: the user's shader that was judged, on the cases that launch it
};

struct DeviceCheck {
  std::string name;
  std::string error;  // it did not open; the rest is empty
  device::DeviceInfo info;
  std::vector<KernelCheck> kernels;
  double seconds = 0;
};

std::string_view system_name() {
#if defined(_WIN32)
  return "Windows";
#elif defined(__APPLE__)
  return "macOS";
#elif defined(__linux__)
  return "Linux";
#else
  return "unknown";
#endif
}

std::string_view processor_family() {
#if defined(__x86_64__) || defined(_M_X64)
  return "x86-64";
#elif defined(__aarch64__) || defined(_M_ARM64)
  return "arm64";
#else
  return "unknown";
#endif
}

std::string human_bytes(int64_t bytes) {
  if (bytes <= 0) return "unknown";
  constexpr int64_t kKib = 1024;
  if (bytes < kKib * kKib) return fmt::format("{:.0f} KiB", static_cast<double>(bytes) / kKib);
  if (bytes < kKib * kKib * kKib) return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (kKib * kKib));
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (kKib * kKib * kKib));
}

void run_case(device::Stream& stream, const kernels::KernelCase& kernel_case, KernelCheck& check) {
  check.cases += 1;
  try {
    const kernels::CaseResult result = kernel_case.run(stream);
    if (!result.passed()) check.failed += 1;
    // The case that uses up most of what it is allowed; a failed one stands above all that passed, NaN included.
    const auto share = [](const kernels::CaseResult& of) { return of.largest_error / of.allowed_error; };
    const bool is_first = check.worst_case.empty();
    if (is_first || (check.worst.passed() && !(share(result) <= share(check.worst)))) {
      check.worst = result;
      check.worst_case = kernel_case.name;
    }
  } catch (const device::DeviceLost&) {
    throw;
  } catch (const Error& refused) {
    check.failed += 1;
    if (check.error.empty()) check.error = fmt::format("{}: {}", kernel_case.name, refused.what());
  }
}

/// The case on the narrowest grid that takes it.
kernels::KernelCase on_a_folded_grid(const kernels::KernelCase& listed) {
  return {listed.name + ", folded grid", listed.in_doctor, [listed](device::Stream& stream) {
            for (const uint32_t limit : {3U, 12U, 48U}) {
              const kernels::FewWorkgroups few(stream, limit);
              try {
                return listed.run(stream);
              } catch (const Error& refused) {
                if (!std::string_view(refused.what()).starts_with("fold:")) throw;
              }
            }
            return listed.run(stream);
          }};
}

/// Runs a kernel's cases; with a file of the user for it, only those that launched the file count.
void check_kernel(device::Stream& stream, const kernels::KernelInfo& kernel, const DoctorSettings& settings,
                  KernelCheck& check) {
  std::vector<std::string> names;  // given for this kernel or a pass of it
  for (const device::KernelFile& file : settings.device.kernel_files) {
    if (file.kernel.substr(0, file.kernel.find('/')) == kernel.name) names.push_back(file.kernel);
  }
  const auto launches = [&] {
    int64_t sum = 0;
    for (const std::string& name : names) sum += kernels::replaced_launches(stream, name);
    return sum;
  };
  for (const std::string& value : settings.kernel_files) {
    if (value.substr(0, value.find_first_of("/=")) == kernel.name) check.file = value.substr(value.find('=') + 1);
  }
  const auto run_cases = [&](auto&& changed) {
    for (const kernels::KernelCase& listed : kernel.cases) {
      if (!settings.all_cases && !listed.in_doctor) continue;
      const kernels::KernelCase kernel_case = changed(listed);
      const KernelCheck before = check;
      const int64_t launched = launches();
      run_case(stream, kernel_case, check);
      // A file that the library refuses is never launched; the error stays.
      if (!names.empty() && launches() == launched && check.error == before.error) check = before;
    }
  };
  run_cases([](const kernels::KernelCase& listed) { return listed; });
  // What an index of the workgroup does on a grid of two dimensions is not seen on small ones.
  if (!names.empty()) run_cases(on_a_folded_grid);
  if (!names.empty() && check.cases == 0) {
    check.failed = 1;
    check.error = "no case launches this file; try --all";
  }
}

DeviceCheck check_device(const std::string& name, device::Device& device, const DoctorSettings& settings,
                         const ProgressSink& progress) {
  DeviceCheck result;
  result.name = name;
  result.info = device.info();
  const double start = now_seconds();
  for (const kernels::KernelInfo& kernel : kernels::all_kernels()) {
    if (kernel.name.find(settings.filter) == std::string::npos) continue;
    KernelCheck& check = result.kernels.emplace_back();
    check.kernel = kernel.name;
    progress(fmt::format("{}: {}", name, kernel.name));
    try {
      check_kernel(device.stream(), kernel, settings, check);
    } catch (const device::DeviceLost& lost) {
      check.failed += 1;
      check.error = lost.what();
      break;  // nothing runs on it any more
    }
  }
  progress("");
  result.seconds = now_seconds() - start;
  return result;
}

void print_limits(const device::DeviceInfo& info) {
  std::string features;
  for (const std::string& feature : info.features) features += (features.empty() ? "" : ", ") + feature;
  print("  library: {}\n", info.library);
  print("  features: {}\n", features.empty() ? "none" : features);
  print("  memory: {}; largest buffer {}, largest binding {}\n", human_bytes(info.memory_bytes),
        human_bytes(info.max_buffer_bytes), human_bytes(info.max_binding_bytes));
  if (info.backend == device::Backend::Cpu) return;
  print("  workgroups: {} of memory, {}\n", human_bytes(info.workgroup_memory_bytes),
        counted(info.max_threads_per_workgroup, "thread"));
}

void print_check(const DeviceCheck& check) {
  if (!check.error.empty()) {
    print("\n{}: {}\n", check.name, check.error);
    return;
  }
  print("\n{}\n", device::describe(check.info));
  print_limits(check.info);
  for (const KernelCheck& kernel : check.kernels) {
    const std::string_view verdict = kernel.failed == 0 ? "ok" : "FAIL";
    if (!kernel.error.empty()) {
      print("  {:<5} {:<28} {} of {}: {}\n", verdict, kernel.kernel, kernel.failed, counted(kernel.cases, "case"),
            kernel.error);
      continue;
    }
    if (!kernel.file.empty()) print("  {} in the place of {}:\n", kernel.file, kernel.kernel);
    print("  {:<5} {:<28} error {:.1e}, allowed {:.1e} ({}{})\n", verdict, kernel.kernel, kernel.worst.largest_error,
          kernel.worst.allowed_error, counted(kernel.cases, "case"),
          kernel.failed == 0 ? ""
                             : fmt::format(", {} wrong; {}: {}", kernel.failed, kernel.worst_case, kernel.worst.where));
  }
  print("  {} in {:.1f} s\n", counted(check.kernels.size(), "kernel"), check.seconds);
}

ordered_json to_json(const DeviceCheck& check) {
  ordered_json object;
  object["name"] = check.name;
  if (!check.error.empty()) {
    object["error"] = check.error;
    return object;
  }
  object["adapter"] = check.info.name;
  object["driver"] = check.info.driver;
  object["library"] = check.info.library;
  object["software"] = check.info.is_software;
  object["threads"] = check.info.threads;
  object["features"] = check.info.features;
  object["memory_bytes"] = check.info.memory_bytes;
  object["max_buffer_bytes"] = check.info.max_buffer_bytes;
  object["max_binding_bytes"] = check.info.max_binding_bytes;
  object["workgroup_memory_bytes"] = check.info.workgroup_memory_bytes;
  object["max_threads_per_workgroup"] = check.info.max_threads_per_workgroup;
  object["seconds"] = check.seconds;
  object["kernels"] = ordered_json::array();
  for (const KernelCheck& kernel : check.kernels) {
    ordered_json entry;
    entry["name"] = kernel.kernel;
    entry["passed"] = kernel.failed == 0;
    entry["cases"] = kernel.cases;
    entry["failed"] = kernel.failed;
    entry["largest_error"] = kernel.worst.largest_error;
    entry["allowed_error"] = kernel.worst.allowed_error;
    entry["worst_case"] = kernel.worst_case;
    entry["where"] = kernel.worst.where;
    if (!kernel.error.empty()) entry["error"] = kernel.error;
    if (!kernel.file.empty()) entry["file"] = kernel.file;
    object["kernels"].push_back(entry);
  }
  return object;
}

ordered_json system_json() {
  ordered_json object;
  object["system"] = system_name();
  object["processor_family"] = processor_family();
  object["processor"] = cpu_name();
  object["threads"] = available_threads();
  object["memory_bytes"] = total_memory_bytes();
  object["blas"] = device::cpu::blas_description();
  return object;
}

/// The one device that was asked for, or all there are.
device::DeviceList devices_to_check(const DoctorSettings& settings, bool has_device) {
  if (!has_device) {
    device::DeviceList all = device::list_devices(settings.device);
    // A shader of the user runs through WebGPU only.
    if (!settings.kernel_files.empty())
      std::erase_if(all.devices, [](const device::ListedDevice& listed) { return listed.name == "cpu"; });
    return all;
  }
  device::DeviceList list;
  list.devices.push_back(
      {settings.device.name, "", [](const device::DeviceOptions& options) { return device::open_device(options); }});
  return list;
}

std::vector<DeviceCheck> check_all(const device::DeviceList& list, const DoctorSettings& settings, bool must_open,
                                   const ProgressSink& progress) {
  std::vector<DeviceCheck> checks;
  for (const device::ListedDevice& listed : list.devices) {
    const std::string name =
        listed.description.empty() ? listed.name : fmt::format("{} ({})", listed.name, listed.description);
    std::unique_ptr<device::Device> device;
    try {
      device = listed.open(settings.device);
    } catch (const Error& refused) {
      if (must_open) throw;
      checks.push_back({name, refused.what(), {}, {}, 0});
    }
    if (device) checks.push_back(check_device(name, *device, settings, progress));
    if (!settings.json) print_check(checks.back());
    if (!settings.json) flush_output();
  }
  return checks;
}

void print_absent(const device::DeviceList& list, bool has_webgpu) {
  for (const std::string& absent : list.absent) print("\nno adapter: {}\n", absent);
  if (has_webgpu) return;
  print(
      "\nWebGPU: nothing usable. It needs a Vulkan driver (on Debian and Ubuntu mesa-vulkan-drivers, or the one of the "
      "card's maker) and "
      "a WebGPU library (./scripts/setup.sh fetches them, or $ATHANOR_WEBGPU_LIBRARY names one). Without them the CPU "
      "is used.\n");
}

void run_doctor(const DoctorSettings& settings, bool has_device, const ProgressSink& progress) {
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  check(std::any_of(
            table.begin(), table.end(),
            [&](const kernels::KernelInfo& kernel) { return kernel.name.find(settings.filter) != std::string::npos; }),
        "doctor: no kernel's name holds \"{}\"; `athanor kernels` lists them", settings.filter);
  if (!settings.json) {
    print("athanor {}\nsystem: {}, {}, {}, {}, {} memory\nBLAS: {}\n", ATHANOR_VERSION, system_name(),
          processor_family(), cpu_name(), counted(available_threads(), "thread"), human_bytes(total_memory_bytes()),
          device::cpu::blas_description());
  }
  const device::DeviceList list = devices_to_check(settings, has_device);
  const std::vector<DeviceCheck> checks = check_all(list, settings, has_device, progress);

  std::string wrong;
  bool has_webgpu = false;
  ordered_json report;
  report["version"] = ATHANOR_VERSION;
  report["system"] = system_json();
  report["devices"] = ordered_json::array();
  report["absent"] = list.absent;
  for (const DeviceCheck& check : checks) {
    has_webgpu |= check.error.empty() && check.info.backend == device::Backend::WebGpu;
    report["devices"].push_back(to_json(check));
    for (const KernelCheck& kernel : check.kernels) {
      if (kernel.failed > 0) wrong += fmt::format("{}{} on {}", wrong.empty() ? "" : ", ", kernel.kernel, check.name);
    }
  }
  if (settings.json) {
    write_output(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (!has_device) {
    print_absent(list, has_webgpu);
  }
  flush_output();
  check(wrong.empty(), "doctor: not right here: {}; use another --device and report this with the lines above", wrong);
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  const auto settings = std::make_shared<DoctorSettings>();
  CLI::App* command = app.add_subcommand("doctor", "Show the devices and compare every kernel with its plain loop");
  add_device_options(*command, settings->device);
  command->add_option("--filter", settings->filter, "Only kernels whose name holds this")->type_name("TEXT");
  command->add_flag("--all", settings->all_cases, "Every case of every kernel, not only the short ones");
  command->add_flag("--json", settings->json, "Print one JSON object");
  add_kernel_option(*command, settings->kernel_files);
  read_environment(*command);
  command->footer(
      "Without --device, the CPU and every WebGPU adapter are checked.\nExample:\n  athanor doctor --device cpu\n  "
      "athanor "
      "doctor --kernel matmul_t=mine.wgsl");
  const CLI::Option* device = command->get_option("--device");
  command->callback([settings, command, device] {
    settings->device.kernel_files = train::read_kernel_files(settings->kernel_files);
    run_doctor(*settings, device->count() > 0, make_passing_progress_sink(is_quiet(*command)));
  });
}

}  // namespace athanor::cli
