// Prints the launches of a step in order, or as JSON.
#include "cli/explain_command.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/bench_settings.h"
#include "cli/output.h"
#include "kernels/kernel_info.h"
#include "train/batch_size.h"
#include "train/explain.h"

namespace athanor::cli {

namespace {

using nlohmann::ordered_json;

struct ExplainArguments {
  bool json = false;
  SettingFlags flags;
};

/// Where the kernel is taught.
std::string chapter_of(const std::vector<kernels::KernelInfo>& table, const std::string& kernel) {
  for (const kernels::KernelInfo& info : table) {
    if (info.name == kernel) return "docs/kernels.md#" + info.folder;
  }
  return "docs/kernels.md";
}

std::string human_bytes(int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string operands_of(const kernels::NotedLaunch& launch, std::string_view access) {
  std::string line;
  for (const kernels::NotedOperand& operand : launch.operands) {
    if (operand.access != access) continue;
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", operand.name, human_bytes(operand.bytes));
    if (operand.buffer != operand.name) line += fmt::format(" ({})", operand.buffer);
  }
  return line;
}

void print_step(const train::ExplainedStep& step) {
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  print("One training step: {:.2f} M weights, {}, {}, {:.3f} ms when each is timed by itself\n\n",
        static_cast<double>(step.num_weights) * 1e-6, counted(step.tokens, "token"),
        counted(step.launches.size(), "launch", "launches"), step.milliseconds);
  print("{:>4}  {:<28} {:>9} {:>6} {:>10} {:>10}\n", "", "kernel", "ms", "%", "MFLOP", "MB");
  for (size_t i = 0; i < step.launches.size(); ++i) {
    const kernels::NotedLaunch& launch = step.launches[i].launch;
    const double milliseconds = step.launches[i].milliseconds;
    print("{:>4}  {:<28} {:>9.4f} {:>6.2f} {:>10.3f} {:>10.3f}\n", i + 1,
          launch.pass.empty() ? launch.kernel : launch.kernel + "/" + launch.pass, milliseconds,
          100 * milliseconds / std::max(step.milliseconds, 1e-9), launch.cost.flops * 1e-6, launch.cost.bytes * 1e-6);
    print("      {}; {}\n", launch.sizes.empty() ? "no sizes" : launch.sizes,
          launch.variant == "cpu"
              ? std::string("on the CPU")
              : fmt::format("{}, grid {} x {} x {}", launch.variant, launch.grid[0], launch.grid[1], launch.grid[2]));
    const std::string reads = operands_of(launch, "read");
    print("      reads {}\n      writes {}\n      {}\n", reads.empty() ? "nothing" : reads,
          operands_of(launch, "read_write"), chapter_of(table, launch.kernel));
  }
}

ordered_json operands_json(const kernels::NotedLaunch& launch) {
  ordered_json operands = ordered_json::array();
  for (const kernels::NotedOperand& operand : launch.operands) {
    operands.push_back(
        {{"access", operand.access}, {"name", operand.name}, {"buffer", operand.buffer}, {"bytes", operand.bytes}});
  }
  return operands;
}

ordered_json as_json(const train::ExplainedStep& step, const device::DeviceInfo& info) {
  const std::vector<kernels::KernelInfo> table = kernels::all_kernels();
  ordered_json report;
  report["device"] = info.name;
  report["backend"] = device::name_of(info.backend);
  report["weights"] = step.num_weights;
  report["tokens"] = step.tokens;
  report["milliseconds"] = step.milliseconds;
  report["launches"] = ordered_json::array();
  for (const train::ExplainedLaunch& explained : step.launches) {
    const kernels::NotedLaunch& launch = explained.launch;
    report["launches"].push_back({{"kernel", launch.kernel},
                                  {"pass", launch.pass},
                                  {"variant", launch.variant},
                                  {"sizes", launch.sizes},
                                  {"grid", launch.grid},
                                  {"flops", launch.cost.flops},
                                  {"bytes", launch.cost.bytes},
                                  {"milliseconds", explained.milliseconds},
                                  {"share", explained.milliseconds / std::max(step.milliseconds, 1e-9)},
                                  {"operands", operands_json(launch)},
                                  {"chapter", chapter_of(table, launch.kernel)}});
  }
  return report;
}

void run_explain(const ExplainArguments& arguments) {
  train::TrainSettings settings = bench_settings(arguments.flags, "explain");
  const std::unique_ptr<device::Device> device = open_device_of(settings);
  train::pick_batch(*device, settings, 0);
  const train::ExplainedStep step = train::explain_step(*device, settings);
  if (!arguments.json) return print_step(step);
  write_output(as_json(step, device->info()).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_explain_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "One training step, launch by launch: work, traffic, time, operands");
  auto arguments = std::make_shared<ExplainArguments>();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_step_flags(arguments->flags, *command);
  command->footer(
      "Example:\n  athanor explain --model-config.num-hidden-layers 1 --per-device-train-batch-size 2 --max-length 64");
  command->callback([arguments] { run_explain(*arguments); });
}

}  // namespace athanor::cli
