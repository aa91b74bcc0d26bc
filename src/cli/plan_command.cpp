// Reads the data as `train` does, then asks each device: what the run would hold, and how long its steps take.
#include "cli/plan_command.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/bench_settings.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/scratch_folder.h"
#include "cli/train_inputs.h"
#include "train/batch_size.h"
#include "train/memory_plan.h"
#include "train/session.h"
#include "train/time_plan.h"

#include <optional>

namespace athanor::cli {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kStepsWhenOpen = 1000;

struct PlanArguments {
  std::vector<std::string> inputs;
  double seconds = 10;
  bool json = false;
  SettingFlags flags;
};

struct DevicePlan {
  train::TrainSettings settings;  // as resolved for this device
  std::string device;
  device::Backend backend = device::Backend::Cpu;
  std::optional<train::MemoryPlan> memory;
  std::string refused;  // why there is no memory plan
  int64_t largest_micro_batch = 0;
  int64_t host_peak_bytes = 0;  // on the CPU: anonymous memory of the process
  std::optional<train::TimePlan> time;
};

train::TrainSettings settings_of(const PlanArguments& arguments) {
  train::TrainSettings settings = settings_of(arguments.inputs, arguments.flags);
  if (settings.output_dir.empty()) settings.output_dir = "runs/planned";
  if (settings.max_steps == 0 && settings.minutes == 0) settings.max_steps = kStepsWhenOpen;
  settings.validate();
  say_what_is_overridden(settings);
  return settings;
}

DevicePlan plan_on(device::Device& device, const train::TrainSettings& settings, int64_t validation_blocks,
                   double seconds, const ProgressSink& progress) {
  DevicePlan plan;
  plan.settings = settings;
  plan.device = device.info().name;
  plan.backend = device.info().backend;
  const auto say = [&](std::string_view what) { progress(fmt::format("plan: {}, on {}", what, plan.device)); };
  say("what the run would hold");
  const int64_t base = train::host_base_bytes(device);
  try {
    plan.memory = train::plan_memory(device, settings, validation_blocks);
  } catch (const Error& refused) {
    plan.refused = refused.what();
  }
  if (plan.memory && plan.backend == device::Backend::Cpu)
    plan.host_peak_bytes = train::host_peak_bytes(*plan.memory, base);
  say("the largest micro-batch that fits");
  plan.largest_micro_batch = train::largest_micro_batch(device, settings, validation_blocks);
  if (plan.memory && plan.memory->fits()) {
    say(fmt::format("steps of {} of {}, at least one and for about {:g} s",
                    counted(train::rows_of_step(settings), "row"), counted(settings.max_length, "token"), seconds));
    plan.time = train::plan_time(device, settings, validation_blocks, seconds);
  }
  progress("");
  return plan;
}

/// The device that the settings name, and beside a GPU that "auto" found, the CPU. Both plan one model; the batch of a device is its own
/// where the settings leave it open.
std::vector<DevicePlan> plan_all(const train::TrainSettings& settings, double seconds, const train::PreparedData& data,
                                 const ProgressSink& progress) {
  std::vector<DevicePlan> plans;
  const auto plan_with = [&](train::TrainSettings on_device) {
    const std::unique_ptr<device::Device> device = open_device_of(on_device);
    train::resolve_settings(*device, on_device, data, train::MemoryCheck::No);
    const data::Loader loader(data.tokens, train::loader_options(on_device, data));
    if (plans.empty()) log_info("{}", train::plan_text(on_device, data));
    plans.push_back(plan_on(*device, on_device, loader.validation_blocks(), seconds, progress));
  };
  plan_with(settings);
  const DevicePlan& first = plans.front();
  if (settings.device != "auto" || first.backend == device::Backend::Cpu) return plans;
  train::TrainSettings on_cpu = settings;
  on_cpu.device = "cpu";
  on_cpu.kernel.clear();
  on_cpu.model_config = first.settings.model_config;
  on_cpu.max_steps = first.settings.max_steps;
  on_cpu.eval_steps = first.settings.eval_steps;
  on_cpu.save_steps = first.settings.save_steps;
  on_cpu.eval_batches = first.settings.eval_batches;
  plan_with(on_cpu);
  return plans;
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return seconds < 172800 ? fmt::format("{:.1f} h", seconds / 3600) : fmt::format("{:.1f} days", seconds / 86400);
}

void print_memory(const DevicePlan& plan) {
  if (!plan.memory) {
    print("  does not fit: {}\n", plan.refused);
  } else {
    const train::MemoryPlan& memory = *plan.memory;
    for (const train::MemoryKind& kind : memory.kinds)
      print("  {:<14} {:>12}\n", kind.name, train::mebibytes(kind.bytes));
    for (const train::MemoryKind& kind : memory.passing)
      print("  ({:<13} {:>11}   at another moment)\n", kind.name, train::mebibytes(kind.bytes));
    print("  {:<14} {:>12}   kept for reuse\n", "pool", train::mebibytes(memory.pool_bytes));
    if (memory.staging_bytes > 0)
      print("  {:<14} {:>12}   for reading back\n", "staging", train::mebibytes(memory.staging_bytes));
    print("  {:<14} {:>12}{}\n", "together", train::mebibytes(memory.device_bytes),
          memory.limit_bytes > 0 ? " of " + train::mebibytes(memory.limit_bytes) : "");
    print("  {:<14} {:>12}   of the host, while a checkpoint is written\n", "snapshot",
          train::mebibytes(memory.snapshot_bytes));
    if (plan.host_peak_bytes > 0)
      print("  {:<14} {:>12}   at its peak, with tokens, program and libraries\n", "the process",
            train::mebibytes(plan.host_peak_bytes));
    if (!memory.fits()) print("  does not fit\n");
  }
  if (plan.largest_micro_batch > 0) {
    print("  the largest micro-batch that fits: {} of {}\n", counted(plan.largest_micro_batch, "row"),
          counted(plan.settings.max_length, "token"));
  } else {
    print("  not even a micro-batch of one row of {} fits\n", counted(plan.settings.max_length, "token"));
  }
}

void print_time(const train::TimePlan& time, const train::TrainSettings& settings) {
  print("  a step: {:.2f} ms, {:.0f} tok/s, {:.4g} GFLOP, {:.0f} % of the {:.1f} GFLOP/s that a product reaches here\n",
        time.seconds_per_step * 1e3, time.tokens_per_second, time.flops_per_step * 1e-9, 100 * time.mfu,
        time.matmul_peak * 1e-9);
  print("  {}: {}, of which {} {}, {} {}, {} {}\n", counted(settings.max_steps, "step"), duration(time.seconds),
        counted(time.evaluations, "evaluation"),
        duration(time.seconds_per_evaluation * static_cast<double>(time.evaluations)), counted(time.samples, "sample"),
        duration(time.seconds_per_sample * static_cast<double>(time.samples)), counted(time.checkpoints, "checkpoint"),
        duration(time.seconds_per_checkpoint * static_cast<double>(time.checkpoints)));
}

void print_plans(const std::vector<DevicePlan>& plans) {
  for (const DevicePlan& plan : plans) {
    print("{}{}, {} x {} of {} a step:\n", plan.backend == device::Backend::Cpu ? "the CPU, " : "", plan.device,
          plan.settings.gradient_accumulation_steps, counted(plan.settings.per_device_train_batch_size, "row"),
          counted(plan.settings.max_length, "token"));
    print_memory(plan);
    if (plan.time) print_time(*plan.time, plan.settings);
  }
  if (plans.size() == 2 && plans[0].time && plans[1].time) {
    const bool first = plans[0].time->seconds <= plans[1].time->seconds;
    const double ratio = plans[first ? 1 : 0].time->seconds / plans[first ? 0 : 1].time->seconds;
    print("the faster: {}, by a factor of {:.1f}\n", plans[first ? 0 : 1].device, ratio);
  }
}

ordered_json memory_json(const train::MemoryPlan& memory) {
  ordered_json object;
  for (const train::MemoryKind& kind : memory.kinds) object[kind.name] = kind.bytes;
  for (const train::MemoryKind& kind : memory.passing) object["at_another_moment"][kind.name] = kind.bytes;
  object["pool"] = memory.pool_bytes;
  object["staging"] = memory.staging_bytes;
  object["snapshot"] = memory.snapshot_bytes;
  object["device_bytes"] = memory.device_bytes;
  object["limit_bytes"] = memory.limit_bytes;
  object["fits"] = memory.fits();
  return object;
}

ordered_json time_json(const train::TimePlan& time) {
  ordered_json object;
  object["seconds"] = time.seconds;
  object["seconds_per_step"] = time.seconds_per_step;
  object["tokens_per_second"] = time.tokens_per_second;
  object["flops_per_step"] = time.flops_per_step;
  object["mfu"] = time.mfu;
  object["matmul_peak_flops_per_second"] = time.matmul_peak;
  object["seconds_per_evaluation"] = time.seconds_per_evaluation;
  object["seconds_per_sample"] = time.seconds_per_sample;
  object["seconds_per_checkpoint"] = time.seconds_per_checkpoint;
  object["evaluations"] = time.evaluations;
  object["samples"] = time.samples;
  object["checkpoints"] = time.checkpoints;
  object["measured_steps"] = time.measured_steps;
  return object;
}

ordered_json as_json(const std::vector<DevicePlan>& plans) {
  const train::TrainSettings& first = plans.front().settings;
  ordered_json report;
  report["weights"] = first.model_config.num_weights();
  report["max_steps"] = first.max_steps;
  report["tokens_per_step"] = train::rows_of_step(first) * first.max_length;
  report["devices"] = ordered_json::array();
  for (const DevicePlan& plan : plans) {
    ordered_json entry;
    entry["device"] = plan.device;
    entry["backend"] = device::name_of(plan.backend);
    entry["per_device_train_batch_size"] = plan.settings.per_device_train_batch_size;
    entry["gradient_accumulation_steps"] = plan.settings.gradient_accumulation_steps;
    if (plan.memory) entry["memory"] = memory_json(*plan.memory);
    if (!plan.memory) entry["refused"] = plan.refused;
    entry["largest_micro_batch"] = plan.largest_micro_batch;
    if (plan.host_peak_bytes > 0) entry["process_peak_bytes"] = plan.host_peak_bytes;
    if (plan.time) entry["time"] = time_json(*plan.time);
    report["devices"].push_back(entry);
  }
  return report;
}

void run_plan(const PlanArguments& arguments, const ProgressSink& progress) {
  check(arguments.seconds >= 0.1 && arguments.seconds <= 3600,
        "plan: --seconds is {}; it must lie between 0.1 and 3600", arguments.seconds);
  const train::TrainSettings settings = settings_of(arguments);
  const ScratchFolder scratch("plan");
  const train::PreparedData data = train::prepare_data(settings, train::RunFolder(scratch.path()));
  const std::vector<DevicePlan> plans = plan_all(settings, arguments.seconds, data, progress);
  if (!arguments.json) return print_plans(plans);
  write_output(as_json(plans).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_plan_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("plan", "Memory and time of a run before it is begun");
  auto arguments = std::make_shared<PlanArguments>();
  command->add_option("INPUT", arguments->inputs,
                      "As for train: text files and folders, one token file, or a settings file (.yaml)");
  command->add_option("--seconds", arguments->seconds, "How long to take steps on each device")->type_name("S");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  arguments->flags.add_to(*command, "-o");
  command->footer(
      "Example:\n  athanor plan settings.yaml --per-device-train-batch-size 16\nNothing is written. Without "
      "--max-steps or "
      "--minutes the times are for 1000 steps.");
  command->callback([command, arguments] { run_plan(*arguments, make_passing_progress_sink(is_quiet(*command))); });
}

}  // namespace athanor::cli
