// Chooses the device that the options name.
#include "base/log.h"
#include "device/cpu/cpu_stream.h"
#include "device/webgpu/gpu.h"
#include "device/webgpu/library_search.h"
#include "device/webgpu/webgpu_device.h"

#include <charconv>
#include <filesystem>
#include <optional>

namespace athanor::device {

namespace {

/// webgpu:N; nullopt for the best one.
std::optional<size_t> adapter_number(std::string_view name) {
  constexpr std::string_view kPrefix = "webgpu:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  check(error == std::errc() && end == digits.data() + digits.size(),
        "device {}: \"{}\" is no number; write webgpu:0, webgpu:1, ...", name, digits);
  return number;
}

/// The adapters of the first library that has any; with want_hardware, of the first that has one that is not software.
std::vector<webgpu::Adapter> search(const DeviceOptions& options, bool want_hardware, std::string& tried) {
  std::vector<webgpu::Adapter> software;
  for (const std::filesystem::path& library : webgpu::library_candidates()) {
    std::string why_none;
    std::vector<webgpu::Adapter> found;
    try {
      found = webgpu::find_adapters(library, options, why_none);
    } catch (const Error& unusable) {
      why_none = unusable.what();
    }
    if (found.empty()) {
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", library.string(), why_none);
    } else if (!want_hardware || !found.front().is_software()) {
      return found;
    } else if (software.empty()) {
      tried += fmt::format("{}{}: only software ({})", tried.empty() ? "" : "; ", library.string(), found.front().name);
      software = std::move(found);
    }
  }
  return software;
}

std::unique_ptr<Device> open_webgpu(const DeviceOptions& options) {
  const std::optional<size_t> number = adapter_number(options.name);
  std::string tried;
  std::vector<webgpu::Adapter> adapters = search(options, !number.has_value(), tried);
  check(!adapters.empty(),
        "device {}: no adapter was found (tried {}); install a Vulkan driver, name a library by "
        "$ATHANOR_WEBGPU_LIBRARY, or use --device cpu",
        options.name, tried);
  const size_t index = number.value_or(0);
  if (index >= adapters.size()) {
    std::string names;
    for (size_t i = 0; i < adapters.size(); ++i)
      names += fmt::format("{}webgpu:{} is {}", i == 0 ? "" : ", ", i, adapters[i].name);
    fail("device {}: there is no such adapter; {}", options.name, names);
  }
  return webgpu::open_webgpu_device(std::move(adapters[index]), options);
}

std::unique_ptr<Device> open_best(const DeviceOptions& options) {
  std::string tried;
  std::vector<webgpu::Adapter> adapters = search(options, true, tried);
  if (adapters.empty() || adapters.front().is_software()) {
    log_info("device auto: no GPU through WebGPU, so the CPU is used");
    log_debug("device auto: {}", tried);
    return cpu::open_cpu_device(options);
  }
  try {
    return webgpu::open_webgpu_device(std::move(adapters.front()), options);
  } catch (const Error& refused) {
    log_warning("device auto: {}; the CPU is used", refused.what());
    return cpu::open_cpu_device(options);
  }
}

}  // namespace

std::unique_ptr<Device> open_device(const DeviceOptions& options) {
  const std::string& name = options.name;
  if (name == "cpu") return cpu::open_cpu_device(options);
  if (name == "auto") return open_best(options);
  check(name == "webgpu" || name.starts_with("webgpu:"),
        "device {}: there is no such device; use auto, cpu, webgpu or webgpu:N", name);
  return open_webgpu(options);
}

std::string describe(const DeviceInfo& info) {
  if (info.backend == Backend::Cpu) {
    return fmt::format("device: the CPU, {}, {} thread{}, {}", info.name, info.threads, info.threads == 1 ? "" : "s",
                       info.library);
  }
  std::string features;
  for (const std::string& feature : info.features) features += (features.empty() ? "" : ", ") + feature;
  return fmt::format("device: {}{}{} through {}{}{}", info.name, info.driver.empty() ? "" : " (" + info.driver + ")",
                     info.is_software ? ", software" : "", std::filesystem::path(info.library).filename().string(),
                     features.empty() ? "" : " with ", features);
}

}  // namespace athanor::device
