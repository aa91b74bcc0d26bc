// Lists the kernels as their launchers choose them for this device, or prints one shader.
#include "cli/kernels_command.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/output.h"
#include "kernels/kernel_forms.h"
#include "kernels/kernel_info.h"

namespace athanor::cli {

namespace {

using kernels::KernelForm;
using nlohmann::ordered_json;

struct KernelsSettings {
  device::DeviceOptions device;
  std::string wgsl;     // NAME or NAME/PASS to print
  std::string variant;  // of it
  bool json = false;
};

std::string grid_of(const KernelForm& form) {
  const std::vector<uint32_t>& group = form.facts.workgroup;
  return group.size() == 3 ? fmt::format("{} x {} x {}", group[0], group[1], group[2]) : "?";
}

ordered_json bindings_json(const KernelForm& form) {
  ordered_json bindings = ordered_json::array();
  for (const kernels::ShaderBinding& binding : form.facts.bindings) {
    bindings.push_back({{"binding", binding.index},
                        {"access", binding.access},
                        {"name", binding.name},
                        {"type", binding.type},
                        {"shape", binding.description}});
  }
  return bindings;
}

ordered_json form_json(const KernelForm& form) {
  ordered_json object;
  object["variant"] = form.variant;
  object["entry_point"] = form.entry_point;
  object["workgroup_size"] = form.facts.workgroup;
  object["grid"] = form.facts.grid;
  object["bindings"] = bindings_json(form);
  object["params"] = ordered_json::array();
  for (const kernels::ShaderParam& param : form.facts.params)
    object["params"].push_back({{"name", param.name}, {"type", param.type}});
  object["needs"] = ordered_json::array();
  if (form.needs_f16) object["needs"].push_back("shader-f16");
  if (form.needs_subgroups) object["needs"].push_back("subgroups");
  return object;
}

/// One object a kernel: what its main pass in the portable form has, then all passes with their variants.
ordered_json kernel_json(const kernels::KernelInfo& kernel, const std::vector<KernelForm>& forms) {
  ordered_json object;
  object["name"] = kernel.name;
  object["computes"] = kernel.summary;
  ordered_json passes = ordered_json::array();
  ordered_json variants = ordered_json::array();
  for (const KernelForm& form : forms) {
    if (form.kernel != kernel.name) continue;
    if (!object.contains("bindings")) {
      object["bindings"] = bindings_json(form);
      object["workgroup_size"] = form.facts.workgroup;
      object["grid"] = form.facts.grid;
    }
    if (form.pass.empty()) variants.push_back(form.variant);
    if (passes.empty() || passes.back()["name"] != form.name())
      passes.push_back({{"name", form.name()}, {"forms", ordered_json::array()}});
    passes.back()["forms"].push_back(form_json(form));
  }
  object["variants"] = variants;
  object["passes"] = passes;
  return object;
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : ", ") + word;
  return line;
}

void print_kernel(const kernels::KernelInfo& kernel, const std::vector<KernelForm>& forms) {
  print("{}: {}\n", kernel.name, kernel.summary);
  for (size_t i = 0; i < forms.size(); ++i) {
    const KernelForm& form = forms[i];
    if (form.kernel != kernel.name) continue;
    if (i > 0 && forms[i - 1].name() == form.name()) continue;  // another variant of the pass just printed
    std::vector<std::string> variants;
    for (const KernelForm& other : forms) {
      if (other.name() == form.name()) variants.push_back(other.variant);
    }
    if (!form.pass.empty()) print("  pass {}\n", form.name());
    for (const kernels::ShaderBinding& binding : form.facts.bindings) {
      print("    {}  {:<10}  {:<16} {:<18} {}\n", binding.index, binding.access, binding.name, binding.type,
            binding.description);
    }
    print("    workgroup {}; grid {}\n    variants: {}\n", grid_of(form), form.facts.grid, joined(variants));
  }
}

void print_wgsl(const KernelsSettings& settings, device::Device* device) {
  const std::string kernel = settings.wgsl.substr(0, settings.wgsl.find('/'));
  const std::vector<KernelForm> forms =
      kernels::kernel_forms(device, [&](std::string_view name) { return name == kernel; });
  if (forms.empty()) kernels::check_kernel_name(kernels::kernel_forms(device), settings.wgsl);
  kernels::check_kernel_name(forms, settings.wgsl);
  std::vector<std::string> variants;
  std::vector<std::string> passes;
  const KernelForm* chosen = nullptr;
  for (const KernelForm& form : forms) {
    if (form.name() != settings.wgsl) {
      if (passes.empty() || passes.back() != form.name()) passes.push_back(form.name());
      continue;
    }
    variants.push_back(form.variant);
    if (chosen == nullptr && (settings.variant.empty() || form.variant == settings.variant)) chosen = &form;
  }
  check(chosen != nullptr, "kernels: {} has no variant {} here; it has {}", settings.wgsl, settings.variant,
        joined(variants));
  write_output(chosen->text);
  if (!passes.empty()) log_info("{} has further passes: {}", kernel, joined(passes));
}

/// The portable forms are the same everywhere, so that no device is opened for them; what else there is depends on it. Null: none is asked.
std::unique_ptr<device::Device> device_to_ask(const KernelsSettings& settings, bool has_device) {
  if (!has_device && settings.variant.empty()) return nullptr;
  return device::open_device(settings.device);
}

void run_kernels(const KernelsSettings& settings, bool has_device) {
  check(settings.variant.empty() || !settings.wgsl.empty(),
        "kernels: --variant chooses among the forms of one kernel; add --wgsl NAME");
  const std::unique_ptr<device::Device> device = device_to_ask(settings, has_device);
  if (!settings.wgsl.empty()) return print_wgsl(settings, device.get());
  const std::vector<KernelForm> forms = kernels::kernel_forms(device.get());
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  if (!settings.json) {
    for (const kernels::KernelInfo& kernel : table) print_kernel(kernel, forms);
    print("{}; {}\n", counted(table.size(), "kernel"),
          device ? device::describe(device->info())
                 : "the forms that run on any device (--device auto: those for the best GPU here too)");
    return;
  }
  ordered_json report;
  if (device) {
    report["device"] = device->info().name;
    report["library"] = device->info().library;
  }
  report["kernels"] = ordered_json::array();
  for (const kernels::KernelInfo& kernel : table) report["kernels"].push_back(kernel_json(kernel, forms));
  write_output(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_kernels_command(CLI::App& app) {
  const auto settings = std::make_shared<KernelsSettings>();
  CLI::App* command = app.add_subcommand("kernels", "List the kernels with their bindings, or print a kernel's WGSL");
  command->add_option("--wgsl", settings->wgsl, "Print the shader of this kernel (or KERNEL/PASS), standing alone")
      ->type_name("NAME");
  command->add_option("--variant", settings->variant, "With --wgsl: this form instead of the portable one")
      ->type_name("NAME");
  command->add_flag("--json", settings->json, "Print one JSON object");
  add_device_options(*command, settings->device);
  read_environment(*command);
  command->footer(
      "Example:\n  athanor kernels --wgsl matmul_t > mine.wgsl\n  athanor doctor --device webgpu --kernel "
      "matmul_t=mine.wgsl");
  CLI::Option* device = command->get_option("--device");
  device
      ->description(
          "Whose forms: auto (the best GPU, else the CPU), cpu, webgpu or webgpu:N; without it the portable ones")
      ->default_str("");
  command->callback([settings, device] { run_kernels(*settings, device->count() > 0); });
}

}  // namespace athanor::cli
