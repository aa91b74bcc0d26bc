// One row a kernel; a kernel with a file of the user (--kernel) has a second one for the file.
#include "cli/bench_kernels_command.h"

#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "kernels/kernel_bench.h"
#include "kernels/kernel_forms.h"
#include "train/kernel_files.h"

namespace athanor::cli {

namespace {

using nlohmann::ordered_json;

struct BenchKernelsSettings {
  device::DeviceOptions device;
  std::vector<std::string> kernel_files;
  std::string filter;
  int64_t bytes = 0;  // 0: by device
  double seconds = 0.3;
  std::string precision = "highest";
  bool json = false;
};

struct Row {
  std::string kernel;
  std::string file;   // of the user; empty for ours
  std::string error;  // instead of a time
  kernels::BenchResult result;
};

/// Shares of what the device reaches: the larger one says what bounds the kernel.
double share_of_arithmetic(const Row& row, const kernels::DevicePeaks& peaks) {
  return row.result.flops_per_second() / peaks.flops_per_second;
}
double share_of_bandwidth(const Row& row, const kernels::DevicePeaks& peaks) {
  return row.result.bytes_per_second() / peaks.copy_bytes_per_second;
}

std::string file_of(const BenchKernelsSettings& settings, const std::string& kernel) {
  for (const std::string& value : settings.kernel_files) {
    if (value.substr(0, value.find_first_of("/=")) == kernel) return value.substr(value.find('=') + 1);
  }
  return "";
}

Row measure_row(device::Stream& stream, const kernels::KernelInfo& kernel, const BenchKernelsSettings& settings) {
  Row row;
  row.kernel = kernel.name;
  try {
    const auto precision = kernels::matmul_precision_of(settings.precision).value();
    const kernels::KernelBench bench = kernel.rounded_bench ? kernel.rounded_bench(stream, settings.bytes, precision)
                                                            : kernel.bench(stream, settings.bytes);
    row.result = kernels::measure(stream, bench, settings.seconds);
  } catch (const Error& refused) {
    row.error = refused.what();
  }
  return row;
}

std::vector<Row> measure_rows(device::Device& device, const BenchKernelsSettings& settings,
                              const std::vector<kernels::KernelInfo>& table, const ProgressSink& progress) {
  std::vector<Row> rows;
  for (const kernels::KernelInfo& kernel : table) {
    progress("bench kernels: " + kernel.name);
    const std::string file = file_of(settings, kernel.name);
    {
      const kernels::WithoutKernelFiles ours(device.stream());
      rows.push_back(measure_row(device.stream(), kernel, settings));
    }
    if (!file.empty()) {
      rows.push_back(measure_row(device.stream(), kernel, settings));
      rows.back().file = file;
    }
    device.trim();
  }
  progress("");
  return rows;
}

ordered_json row_json(const Row& row, const kernels::DevicePeaks& peaks) {
  ordered_json object;
  object["kernel"] = row.kernel;
  if (!row.file.empty()) object["file"] = row.file;
  if (!row.error.empty()) {
    object["error"] = row.error;
    return object;
  }
  object["sizes"] = row.result.sizes;
  object["milliseconds"] = row.result.milliseconds;
  object["launches"] = row.result.launches;
  object["flops"] = row.result.cost.flops;
  object["bytes"] = row.result.cost.bytes;
  object["element_bytes"] = row.result.element_bytes;
  object["flops_per_second"] = row.result.flops_per_second();
  object["bytes_per_second"] = row.result.bytes_per_second();
  object["share_of_arithmetic"] = share_of_arithmetic(row, peaks);
  object["share_of_bandwidth"] = share_of_bandwidth(row, peaks);
  return object;
}

void print_row(const Row& row, const kernels::DevicePeaks& peaks) {
  const std::string name = row.file.empty() ? row.kernel : "  " + row.file;
  if (!row.error.empty()) return print("{:<26} {}\n", name, row.error);
  print("{:<26} {:>10.4f} {:>10.1f} {:>9.1f} {:>7.1f} {:>7.1f}  {}\n", name, row.result.milliseconds,
        row.result.flops_per_second() * 1e-9, row.result.bytes_per_second() * 1e-9,
        100 * share_of_arithmetic(row, peaks), 100 * share_of_bandwidth(row, peaks), row.result.sizes);
}

void print_rows(const std::vector<Row>& rows, const kernels::DevicePeaks& peaks, const BenchKernelsSettings& settings) {
  print("operands of {} MiB; limits measured here: {:.1f} GFLOP/s of arithmetic, {:.1f} GB/s copied\n\n",
        settings.bytes >> 20, peaks.flops_per_second * 1e-9, peaks.copy_bytes_per_second * 1e-9);
  print("{:<26} {:>10} {:>10} {:>9} {:>7} {:>7}  {}\n", "kernel", "ms", "GFLOP/s", "GB/s", "% arith", "% copy",
        "sizes");
  for (const Row& row : rows) print_row(row, peaks);
}

std::vector<kernels::KernelInfo> chosen_kernels(const std::string& filter) {
  std::vector<kernels::KernelInfo> chosen;
  for (kernels::KernelInfo& kernel : kernels::all_kernels()) {
    if (kernel.name.find(filter) != std::string::npos) chosen.push_back(std::move(kernel));
  }
  check(!chosen.empty(), "bench kernels: no kernel's name holds \"{}\"; `athanor kernels` lists them", filter);
  return chosen;
}

void run_bench_kernels(BenchKernelsSettings settings, const ProgressSink& progress) {
  check(settings.seconds > 0 && settings.seconds <= 60,
        "bench kernels: --seconds is {}; pass more than 0 and at most 60", settings.seconds);
  check(kernels::matmul_precision_of(settings.precision).has_value(),
        "bench kernels: --float32-matmul-precision is \"{}\"; known are highest, high and medium", settings.precision);
  const std::vector<kernels::KernelInfo> table = chosen_kernels(settings.filter);
  settings.device.kernel_files = train::read_kernel_files(settings.kernel_files);
  settings.device.rounds_factors = settings.precision != name_of(kernels::MatMulPrecision::Highest);
  const std::unique_ptr<device::Device> device = open_device_and_say(settings.device);
  const bool is_fast = device->info().is_hardware_gpu();
  if (settings.bytes == 0) settings.bytes = int64_t{is_fast ? 256 : 16} << 20;
  check(settings.bytes >= 1 << 20 && settings.bytes <= int64_t{1} << 31,
        "bench kernels: --bytes is {}; pass 1MiB to 2GiB", settings.bytes);

  progress("bench kernels: the limits of the device");
  const kernels::DevicePeaks peaks = kernels::measure_peaks(device->stream(), settings.bytes, settings.seconds);
  const std::vector<Row> rows = measure_rows(*device, settings, table, progress);
  train::warn_of_unused_kernel_files(*device, settings.device.kernel_files);
  if (!settings.json) return print_rows(rows, peaks, settings);
  ordered_json report;
  report["device"] = device->info().name;
  report["driver"] = device->info().driver;
  report["library"] = device->info().library;
  report["operand_bytes"] = settings.bytes;
  report["float32_matmul_precision"] = settings.precision;
  report["arithmetic_flops_per_second"] = peaks.flops_per_second;
  report["copy_bytes_per_second"] = peaks.copy_bytes_per_second;
  report["kernels"] = ordered_json::array();
  for (const Row& row : rows) report["kernels"].push_back(row_json(row, peaks));
  write_output(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_bench_kernels_command(CLI::App& bench) {
  const auto settings = std::make_shared<BenchKernelsSettings>();
  CLI::App* command =
      bench.add_subcommand("kernels", "Every kernel: time, rate, and share of what this device reaches");
  command->add_option("--filter", settings->filter, "Only kernels whose name holds this")->type_name("TEXT");
  command
      ->add_option("--bytes", settings->bytes,
                   "Size of the largest operand, such as 256MiB; 0: 256 MiB on a GPU, else 16 MiB")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE");
  command->add_option("--seconds", settings->seconds, "Time for each kernel")->type_name("S");
  command->add_option("--float32-matmul-precision", settings->precision, "Of matrix products: highest, high or medium")
      ->type_name("NAME");
  command->add_flag("--json", settings->json, "Print one JSON object");
  add_kernel_option(*command, settings->kernel_files);
  add_device_options(*command, settings->device);
  read_environment(*command);
  command->footer("Example:\n  athanor bench kernels --filter matmul --device webgpu");
  command->callback(
      [settings, command] { run_bench_kernels(*settings, make_passing_progress_sink(is_quiet(*command))); });
}

}  // namespace athanor::cli
