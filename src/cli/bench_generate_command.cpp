// Tokens a second, and what limits them: reading the weights, the launches, or the host that records them.
#include "cli/bench_generate_command.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench_settings.h"
#include "cli/output.h"
#include "generate/bench_generate.h"
#include "train/kernel_files.h"

namespace athanor::cli {

namespace {

struct BenchGenerateArguments {
  generate::GenerateBenchOptions options;
  std::string format = "f32";
  bool json = false;
  SettingFlags flags;
};

double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

nlohmann::ordered_json as_json(const generate::GenerateBench& bench, const BenchGenerateArguments& arguments,
                               const device::DeviceInfo& info) {
  nlohmann::ordered_json object;
  object["device"] = info.name;
  object["backend"] = device::name_of(info.backend);
  object["driver"] = info.driver;
  object["library"] = info.library;
  object["threads"] = info.threads;
  object["weights"] = bench.num_weights;
  object["weight_format"] = arguments.format;
  object["prompt_tokens"] = arguments.options.prompt_tokens;
  object["prompt_tokens_per_second"] = rate(static_cast<double>(arguments.options.prompt_tokens), bench.prompt_seconds);
  object["tokens"] = arguments.options.tokens;
  object["tokens_per_second"] = rate(1, bench.seconds_per_token);
  object["milliseconds_per_token"] = bench.seconds_per_token * 1e3;
  if (info.backend == device::Backend::WebGpu) {
    object["recording_milliseconds_per_token"] = bench.recording_seconds * 1e3;
    object["submit_milliseconds_per_token"] = bench.submit_seconds * 1e3;
  }
  object["launches_per_token"] = bench.launches_per_token();
  object["launch_milliseconds_per_token"] = bench.launch_seconds_per_token() * 1e3;
  object["weight_bytes_per_token"] = bench.weight_bytes_per_token;
  object["copy_bytes_per_second"] = bench.copy_bytes_per_second;
  object["reading_milliseconds_per_token"] = bench.reading_seconds() * 1e3;
  object["share_of_copy_bandwidth"] = bench.reading_seconds() / bench.seconds_per_token;
  object["device_peak_memory_bytes"] = bench.device_peak_bytes;
  object["kernels"] = nlohmann::ordered_json::array();
  for (const device::KernelTime& kernel : bench.kernels) {
    const auto tokens = static_cast<double>(bench.profiled_tokens);
    nlohmann::ordered_json entry;
    entry["kernel"] = kernel.kernel;
    entry["launches_per_token"] = static_cast<double>(kernel.launches) / tokens;
    entry["milliseconds_per_token"] = kernel.milliseconds / tokens;
    entry["bytes_per_second"] = rate(kernel.bytes, kernel.milliseconds * 1e-3);
    object["kernels"].push_back(entry);
  }
  return object;
}

void print_table(const generate::GenerateBench& bench, const BenchGenerateArguments& arguments,
                 device::Backend backend) {
  constexpr double kMiB = 1048576;
  const double reading = bench.reading_seconds();
  print("{:.2f} M weights in {}, {:.0f} MiB held by the device layer\n", static_cast<double>(bench.num_weights) * 1e-6,
        arguments.format, static_cast<double>(bench.device_peak_bytes) / kMiB);
  print("prompt of {}: {:.0f} tok/s\n", arguments.options.prompt_tokens,
        rate(static_cast<double>(arguments.options.prompt_tokens), bench.prompt_seconds));
  print("text of {}: {:.1f} tok/s\n\n", arguments.options.tokens, rate(1, bench.seconds_per_token));
  print("a token takes                 {:>9.3f} ms by the clock\n", bench.seconds_per_token * 1e3);
  print(
      "  reading its weights         {:>9.3f} ms for {:.1f} MB at the {:.1f} GB/s of a copy here: {:.0f} % of the "
      "time\n",
      reading * 1e3, static_cast<double>(bench.weight_bytes_per_token) * 1e-6, bench.copy_bytes_per_second * 1e-9,
      100 * reading / bench.seconds_per_token);
  print("  its launches, each by itself{:>9.3f} ms for {:.0f} launches\n", bench.launch_seconds_per_token() * 1e3,
        bench.launches_per_token());
  // The CPU runs a launch when it is recorded.
  if (backend == device::Backend::WebGpu) {
    print("  recording them on the host  {:>9.3f} ms, and handing them in {:.3f} ms\n", bench.recording_seconds * 1e3,
          bench.submit_seconds * 1e3);
  }
  print("\n{:<24} {:>9} {:>11} {:>12} {:>9}\n", "kernel", "launches", "ms a token", "us a launch", "GB/s");
  for (const device::KernelTime& kernel : bench.kernels) {
    const auto tokens = static_cast<double>(bench.profiled_tokens);
    print("{:<24} {:>9.0f} {:>11.4f} {:>12.2f} {:>9.1f}\n", kernel.kernel,
          static_cast<double>(kernel.launches) / tokens, kernel.milliseconds / tokens,
          kernel.milliseconds * 1e3 / static_cast<double>(kernel.launches),
          rate(kernel.bytes, kernel.milliseconds * 1e-3) * 1e-9);
  }
}

void run_bench_generate(BenchGenerateArguments& arguments) {
  const std::optional<generate::WeightFormat> format = generate::weight_format_of(arguments.format);
  check(format.has_value(), "bench generate: --weight-format is \"{}\"; known are f32, f16 and q8_0", arguments.format);
  arguments.options.format = *format;
  const train::TrainSettings settings = bench_settings(arguments.flags, "bench generate");
  arguments.options.seed = settings.seed;
  const std::unique_ptr<device::Device> device = open_device_of(settings);
  const generate::GenerateBench bench = generate::bench_generate(*device, settings.model_config, arguments.options);
  train::warn_of_unused_kernel_files(*device, train::read_kernel_files(settings.kernel));
  if (!arguments.json) return print_table(bench, arguments, device->info().backend);
  write_output(
      as_json(bench, arguments, device->info()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_bench_generate_command(CLI::App& bench) {
  const auto arguments = std::make_shared<BenchGenerateArguments>();
  CLI::App* command =
      bench.add_subcommand("generate", "Text from random weights: tokens a second, and what limits them");
  command->add_option("--weight-format", arguments->format, "Weights in f32, f16 or q8_0")->type_name("NAME");
  command->add_option("--prompt-tokens", arguments->options.prompt_tokens, "Random tokens to begin with")
      ->type_name("N");
  command->add_option("--tokens", arguments->options.tokens, "Tokens to write behind them, always the most likely")
      ->type_name("N");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  std::vector<std::string> names{"preset", "depth", "vocab_size", "seed", "device", "threads", "kernel", "choices"};
  for (const train::SettingKey& key : train::setting_keys()) {
    if (key.name.starts_with("model_config.")) names.push_back(key.name);
  }
  arguments->flags.add_only(*command, names);
  command->footer(
      "Example:\n  athanor bench generate --preset llama-15m --weight-format f16 --prompt-tokens 64 --tokens 64");
  command->callback([arguments] { run_bench_generate(*arguments); });
}

}  // namespace athanor::cli
