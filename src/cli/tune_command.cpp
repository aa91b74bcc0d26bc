// Times the choices of training steps and writes the table that later runs use.
#include "cli/tune_command.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/bench_settings.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "train/batch_size.h"
#include "train/choice_files.h"
#include "train/presets.h"
#include "train/tune.h"

namespace athanor::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct TuneArguments {
  double seconds = 300;
  std::string output;
  bool forget = false;
  bool json = false;
  SettingFlags flags;
};

bool names_model(const train::SettingValue& value) {
  return value.key == "preset" || value.key == "depth" || value.key == "vocab_size" ||
         value.key.starts_with("model_config.");
}

bool names_precision(const train::SettingValue& value) {
  return value.key == "precision" || value.key == "float32_matmul_precision";
}

/// What variables and flags say, lowest first.
std::vector<train::SettingLayer> asked_of(const TuneArguments& arguments) {
  std::vector<train::SettingLayer> layers = arguments.flags.layers();
  const auto is_table = [](const train::SettingValue& value) { return value.key == "choices"; };
  check(std::none_of(layers.back().begin(), layers.back().end(), is_table),
        "tune: --choices is for what uses a table; here every way is measured beside the launchers' rules");
  if (std::erase_if(layers.front(), is_table) > 0)
    log_info("tune: $ATHANOR_CHOICES is for what uses a table and says nothing here");
  return layers;
}

/// The step that is asked for; where no model is named, a step of each preset, and where no precision is named either, in f32 and with the
/// f16 mirror on the matrix units.
std::vector<train::TrainSettings> steps_of(const std::vector<train::SettingLayer>& asked) {
  const auto names = [&](bool (*is_one)(const train::SettingValue&)) {
    return std::any_of(asked.begin(), asked.end(), [&](const train::SettingLayer& layer) {
      return std::any_of(layer.begin(), layer.end(), is_one);
    });
  };
  if (names(names_model)) return {bench_settings(asked, "tune")};
  std::vector<std::pair<const char*, const char*>> precisions = {{"f32", "highest"}, {"mixed", "medium"}};
  const bool has_precision = names(names_precision);
  if (has_precision) precisions.resize(1);
  std::vector<train::TrainSettings> steps;
  for (const std::string_view preset : train::preset_names()) {
    for (const auto& [precision, products] : precisions) {
      std::vector<train::SettingLayer> layers = asked;
      layers.back().push_back({"preset", {std::string(preset)}, "tune"});
      if (!has_precision) {
        layers.back().push_back({"precision", {precision}, "tune"});
        layers.back().push_back({"float32_matmul_precision", {products}, "tune"});
      }
      steps.push_back(bench_settings(layers, "tune"));
    }
  }
  return steps;
}

std::string sizes_of(const kernels::TunableCall& call) {
  return fmt::format("{} x {} x {}", call.sizes[0], call.sizes[1], call.sizes[2]);
}

void print_report(const train::TuneReport& report) {
  print("{:<24} {:>22} {:>6}  {:<28} {:>9}  {:<28} {:>9} {:>7}\n", "kernel", "rows x columns x terms", "calls",
        "by rule", "ms", "best here", "ms", "gain %");
  for (const kernels::TunedCall& tuned : report.calls) {
    const bool is_rule = tuned.best == 0;
    print("{:<24} {:>22} {:>6}  {:<28} {:>9.4f}  {:<28} {:>9.4f} {:>7.1f}\n", tuned.call.kernel, sizes_of(tuned.call),
          tuned.call.calls, tuned.rule_way().text(), tuned.rule_way().milliseconds,
          is_rule ? "the rule's" : tuned.best_way().text(), tuned.best_way().milliseconds, 100 * tuned.gain());
    for (const kernels::TunedWay& way : tuned.ways) {
      if (!way.error.empty()) print("  left out: {}: {}\n", way.text(), way.error);
    }
  }
}

ordered_json way_json(const kernels::TunedWay& way) {
  ordered_json object;
  object["way"] = way.text();
  object["milliseconds"] = way.milliseconds > 0 ? ordered_json(way.milliseconds) : ordered_json(nullptr);
  if (!way.error.empty()) object["error"] = way.error;
  return object;
}

ordered_json report_json(const train::TuneReport& report, const device::DeviceInfo& info, const fs::path& path) {
  ordered_json object;
  object["device"] = info.name;
  object["driver"] = info.driver;
  object["library"] = info.library;
  object["file"] = path.string();
  object["seconds"] = report.seconds;
  object["left"] = report.left;
  object["interrupted"] = report.was_interrupted;
  object["choices"] = report.table.size();
  object["calls"] = ordered_json::array();
  for (const kernels::TunedCall& tuned : report.calls) {
    ordered_json call;
    call["kernel"] = tuned.call.kernel;
    call["sizes"] = tuned.call.sizes;
    call["float32_matmul_precision"] = name_of(tuned.call.precision);
    call["calls"] = tuned.call.calls;
    call["rule"] = tuned.rule_way().text();
    call["best"] = tuned.best_way().text();
    call["gain"] = tuned.gain();
    call["noise"] = tuned.noise;
    call["ways"] = ordered_json::array();
    for (const kernels::TunedWay& way : tuned.ways) call["ways"].push_back(way_json(way));
    object["calls"].push_back(call);
  }
  return object;
}

void write_json(const ordered_json& object) {
  write_output(object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_result(const TuneArguments& arguments, const train::TuneReport& report, const device::DeviceInfo& info,
                  const fs::path& path) {
  if (arguments.json) return write_json(report_json(report, info, path));
  print_report(report);
  const auto better =
      std::count_if(report.calls.begin(), report.calls.end(), [](const auto& t) { return t.best != 0; });
  print("\n{} of {} calls are faster another way than by rule; {:.0f} s\n", better, report.calls.size(),
        report.seconds);
  if (report.left > 0) print("{} more were not reached; a larger --seconds gives them time\n", report.left);
  print("{}: {} choices, which {}\n", path.string(), report.table.size(),
        arguments.output.empty() ? "runs that begin on this device use; athanor tune --forget removes them"
                                 : fmt::format("a run with --choices {} uses", path.string()));
}

void forget(const TuneArguments& arguments, const fs::path& path, const device::DeviceInfo& info) {
  std::error_code error;
  const bool is_removed = fs::remove(path, error);
  check(!error, "{}: cannot be removed: {}; check the folder", path.string(), error.message());
  if (arguments.json) return write_json({{"device", info.name}, {"file", path.string()}, {"removed", is_removed}});
  print("{}: {}\n", path.string(), is_removed ? "removed" : fmt::format("is not there; {} was never tuned", info.name));
}

/// There is nothing to measure, to keep or to forget.
void report_cpu(const TuneArguments& arguments, const device::DeviceInfo& info) {
  constexpr std::string_view kNothing =
      "tune: nothing to tune on the CPU, whose kernels have one form each; --device webgpu names a GPU";
  check(arguments.output.empty(), "{}; {} is not written", kNothing, arguments.output);
  if (!arguments.json) return print("{}\n", kNothing);
  if (arguments.forget) return write_json({{"device", info.name}, {"file", nullptr}, {"removed", false}});
  ordered_json object = report_json({}, info, {});
  object["file"] = nullptr;
  write_json(object);
}

/// What stands in the way of the table is said before anything is measured. A file that is no table is not replaced by one.
void check_output(const fs::path& path, bool is_named) {
  if (is_named) {
    check_output_file(path, true, {});
    std::error_code none;
    try {
      if (fs::exists(path, none)) train::read_choices(path);
    } catch (const Error& other) {
      fail("{}; it is no table that tune may replace; name another file with -o", other.what());
    }
  } else {
    check(!fs::is_directory(path), "{}: is a folder in the place of the table; remove it, or name a file with -o",
          path.string());
    fs::create_directories(path.parent_path());
  }
  const AtomicFile can_be_written(path);
}

void run_tune(const TuneArguments& arguments, const ProgressSink& progress) {
  check(arguments.seconds > 0 && arguments.seconds <= 86400,
        "tune: --seconds is {}; pass more than 0 and at most 86400", arguments.seconds);
  check(!arguments.forget || arguments.output.empty(),
        "tune: --forget removes what was measured on this device and takes no --output; a file of yours you remove "
        "yourself");
  std::vector<train::TrainSettings> steps = steps_of(asked_of(arguments));
  train::TrainSettings opening = steps.front();
  opening.float32_matmul_precision = steps.back().float32_matmul_precision;
  const std::unique_ptr<device::Device> device = open_device_of(opening);
  const device::DeviceInfo info = device->info();
  if (info.backend == device::Backend::Cpu) return report_cpu(arguments, info);
  const fs::path path = arguments.output.empty() ? train::choices_path(info) : fs::path(arguments.output);
  if (arguments.forget) return forget(arguments, path, info);
  check_output(path, !arguments.output.empty());
  for (train::TrainSettings& settings : steps) train::pick_batch(*device, settings, 0);
  catch_interrupts();
  const train::TuneReport report =
      train::tune(*device, steps, *kernels::choices_of(device->stream()), arguments.seconds, progress, interrupted);
  if (report.calls.empty() && report.was_interrupted) {
    log_warning("tune: interrupted before a call was measured; nothing is kept");
    throw Exit{kInterrupted};
  }
  check(!report.calls.empty() || report.left == 0,
        "tune: none of {} could be measured in {:g} s, and nothing is kept; a first call also compiles its shaders: "
        "pass a larger --seconds",
        counted(report.left, "call"), arguments.seconds);
  write_file(path, train::choices_text(train::choices_on(info, report.table)));
  print_result(arguments, report, info, path);
  if (!report.was_interrupted) return;
  log_warning("tune: interrupted; what was measured until then is kept in {}", path.string());
  throw Exit{kInterrupted};
}

}  // namespace

void add_tune_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "tune", "Measure which forms of the kernels are fastest on this device, and keep it for later runs");
  auto arguments = std::make_shared<TuneArguments>();
  command->add_option("--seconds", arguments->seconds, "Time for all of it, about: looked at before each way is run")
      ->type_name("S");
  command->add_option("-o,--output", arguments->output, "Write the table here instead of the user's cache folder")
      ->check(
          [](const std::string& file) { return file.empty() ? std::string("is empty; name a file") : std::string(); },
          "", "a name")
      ->type_name("FILE");
  command->add_flag("--forget", arguments->forget, "Remove what was measured on this device");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_step_flags(arguments->flags, *command);
  command->footer(
      "Without a model among the flags, a step of every preset is measured. Ctrl-C keeps what was measured until then "
      "and leaves with 130.\n\nExamples:\n  athanor tune\n  athanor "
      "tune "
      "--preset llama-138m --precision mixed --float32-matmul-precision medium");
  command->callback([arguments, command] { run_tune(*arguments, make_progress_sink(is_quiet(*command))); });
}

}  // namespace athanor::cli
