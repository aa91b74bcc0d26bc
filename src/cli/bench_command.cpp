// `athanor bench train`: tokens a second, milliseconds a step by kernel, share of the device's own matmul peak, memory.
#include "cli/bench_command.h"

#include "base/counted.h"
#include "base/error.h"
#include "cli/bench_generate_command.h"
#include "cli/bench_kernels_command.h"
#include "cli/bench_settings.h"
#include "cli/output.h"
#include "train/batch_size.h"
#include "train/bench_train.h"
#include "train/kernel_files.h"

#include <nlohmann/json.hpp>

namespace athanor::cli {

namespace {

struct BenchArguments {
  int64_t steps = 10;
  bool json = false;
  SettingFlags flags;
};

double rate(double amount, double milliseconds) { return milliseconds > 0 ? amount / (milliseconds * 1e-3) : 0; }

nlohmann::ordered_json as_json(const train::TrainBench& bench, const device::DeviceInfo& info) {
  nlohmann::ordered_json object;
  object["device"] = info.name;
  object["backend"] = device::name_of(info.backend);
  object["threads"] = info.threads;
  object["weights"] = bench.num_weights;
  object["tokens_per_step"] = bench.tokens_per_step;
  object["tokens_per_second"] = bench.tokens_per_second;
  object["milliseconds_per_step"] = bench.seconds_per_step * 1e3;
  object["flops_per_second"] = bench.flops_per_second;
  object["matmul_peak_flops_per_second"] = bench.matmul_peak;
  object["share_of_matmul_peak"] = bench.flops_per_second / bench.matmul_peak;
  object["peak_memory_bytes"] = bench.process_peak_bytes;
  object["device_peak_memory_bytes"] = bench.device_peak_bytes;
  object["kernels"] = nlohmann::ordered_json::array();
  for (const device::KernelTime& kernel : bench.kernels) {
    nlohmann::ordered_json entry;
    entry["kernel"] = kernel.kernel;
    entry["launches_per_step"] = static_cast<double>(kernel.launches) / static_cast<double>(bench.profiled_steps);
    entry["milliseconds_per_step"] = kernel.milliseconds / static_cast<double>(bench.profiled_steps);
    entry["flops_per_second"] = rate(kernel.flops, kernel.milliseconds);
    entry["bytes_per_second"] = rate(kernel.bytes, kernel.milliseconds);
    entry["share_of_matmul_peak"] = rate(kernel.flops, kernel.milliseconds) / bench.matmul_peak;
    object["kernels"].push_back(entry);
  }
  return object;
}

void print_table(const train::TrainBench& bench) {
  constexpr double kMiB = 1048576;
  print("{:.2f} M weights, {} a step\n", static_cast<double>(bench.num_weights) * 1e-6,
        counted(bench.tokens_per_step, "token"));
  print("{:.0f} tok/s, {:.2f} ms a step, {:.1f} GFLOP/s = {:.0f} % of the {:.1f} GFLOP/s that a matmul reaches here\n",
        bench.tokens_per_second, bench.seconds_per_step * 1e3, bench.flops_per_second * 1e-9,
        100 * bench.flops_per_second / bench.matmul_peak, bench.matmul_peak * 1e-9);
  print("peak memory {:.0f} MiB of the process, {:.0f} MiB held by the device layer\n\n",
        static_cast<double>(bench.process_peak_bytes) / kMiB, static_cast<double>(bench.device_peak_bytes) / kMiB);
  print("{:<24} {:>9} {:>10} {:>10} {:>9} {:>7}\n", "kernel", "launches", "ms a step", "GFLOP/s", "GB/s", "% peak");
  for (const device::KernelTime& kernel : bench.kernels) {
    const double steps = static_cast<double>(bench.profiled_steps);
    const double flops = rate(kernel.flops, kernel.milliseconds);
    print("{:<24} {:>9.0f} {:>10.3f} {:>10.1f} {:>9.2f} {:>7.1f}\n", kernel.kernel,
          static_cast<double>(kernel.launches) / steps, kernel.milliseconds / steps, flops * 1e-9,
          rate(kernel.bytes, kernel.milliseconds) * 1e-9, 100 * flops / bench.matmul_peak);
  }
}

void run_bench_train(const BenchArguments& arguments) {
  train::TrainSettings settings = bench_settings(arguments.flags, "bench train");
  const std::unique_ptr<device::Device> device = open_device_of(settings);
  train::pick_batch(*device, settings, 0);
  const train::TrainBench bench = train::bench_train(*device, settings, arguments.steps);
  train::warn_of_unused_kernel_files(*device, train::read_kernel_files(settings.kernel));
  if (arguments.json) {
    write_output(as_json(bench, device->info()).dump() + "\n");
  } else {
    print_table(bench);
  }
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this device");
  bench->require_subcommand(1);
  CLI::App* train = bench->add_subcommand("train", "Training steps on random tokens: speed, time by kernel, memory");
  auto arguments = std::make_shared<BenchArguments>();
  train->add_option("--steps", arguments->steps, "Steps to time, after a warm-up of three");
  train->add_flag("--json", arguments->json, "Print one JSON object");
  add_step_flags(arguments->flags, *train);
  arguments->flags.add_only(*train, {"profile", "profile_steps"});
  train->footer(
      "Example:\n  athanor bench train --vocab-size 512 --model-config.hidden-size 256 --per-device-train-batch-size 4 "
      "--json");
  train->callback([arguments] { run_bench_train(*arguments); });
  add_bench_generate_command(*bench);
  add_bench_kernels_command(*bench);
}

}  // namespace athanor::cli
