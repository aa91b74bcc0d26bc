// What a path is, is told by its content.
#include "cli/show_command.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/log.h"
#include "base/safetensors.h"
#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/comparison_table.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text_chart.h"
#include "data/token_file.h"
#include "nn/llama_config.h"
#include "train/checkpoint.h"
#include "train/run_files.h"
#include "train/run_summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

namespace athanor::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using train::RunSummary;

struct ShowArguments {
  std::vector<std::string> paths;
  bool json = false;
};

enum class Kind { Run, Model, Tokens, Safetensors };

Kind kind_of(const fs::path& path) {
  std::error_code error;
  check(fs::exists(path, error),
        "{}: there is no such file or folder; pass a run, a model folder, a checkpoint or a token file", path.string());
  if (fs::is_directory(path)) {
    if (fs::exists(path / "config.json")) return Kind::Model;
    check(train::RunFolder(path).holds_run(), "{}: holds neither a run (config.yaml) nor a model (config.json)",
          path.string());
    return Kind::Run;
  }
  check(data::is_token_file(path),
        "{}: is no token file and no safetensors file; `athanor tokenizer show` reads a tokenizer.json", path.string());
  if (path.extension() == ".bin") return Kind::Tokens;
  const SafetensorsFile file(path);
  return file.find("tokens") != nullptr && file.find("documents") != nullptr ? Kind::Tokens : Kind::Safetensors;
}

// Tensors and models.

struct TensorLine {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

std::vector<TensorLine> tensors_of(const fs::path& file) {
  const SafetensorsFile opened(file);
  std::vector<TensorLine> lines;
  for (const std::string& name : opened.names()) lines.push_back({name, opened.at(name).dtype, opened.at(name).shape});
  return lines;
}

ordered_json tensors_json(const std::vector<TensorLine>& tensors) {
  ordered_json list = ordered_json::array();
  for (const TensorLine& tensor : tensors)
    list.push_back({{"name", tensor.name}, {"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}});
  return list;
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("model") && name.ends_with(".safetensors")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ordered_json model_json(const fs::path& folder) {
  const nn::LlamaConfig config = nn::load_llama_config(folder / "config.json");
  ordered_json object;
  object["path"] = folder.string();
  object["kind"] = fs::exists(folder / "trainer_state.json") ? "checkpoint" : "model";
  object["weights"] = config.num_weights();
  object["config"] = ordered_json::parse(config.to_json());
  if (fs::exists(folder / "trainer_state.json")) {
    const train::TrainerState state = train::read_trainer_state(folder);
    object["step"] = state.step;
    object["trained_tokens"] = state.trained_tokens;
    object["seed"] = state.seed;
    object["train_loss"] = state.train_loss;
    if (state.val_loss) object["val_loss"] = *state.val_loss;
    object["device"] = state.device;
  }
  std::vector<TensorLine> tensors;
  for (const fs::path& file : weight_files(folder)) {
    const std::vector<TensorLine> more = tensors_of(file);
    tensors.insert(tensors.end(), more.begin(), more.end());
  }
  object["tensors"] = tensors_json(tensors);
  return object;
}

/// The plain values of an object, one a line.
void print_values(const ordered_json& object) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_structured()) continue;
    print("  {:<26} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

void print_tensor_list(const ordered_json& list) {
  size_t width = 0;
  for (const ordered_json& tensor : list) width = std::max(width, tensor["name"].get<std::string>().size());
  for (const ordered_json& tensor : list) {
    cli::print("  {:<{}} {:<5} ({})\n", tensor["name"].get<std::string>(), width, tensor["dtype"].get<std::string>(),
               fmt::join(tensor["shape"].get<std::vector<int64_t>>(), ", "));
  }
}

void print_model(const ordered_json& model) {
  print("{}: {}\n", model["path"].get<std::string>(), model["kind"].get<std::string>());
  ordered_json head = model;
  head.erase("path");
  head.erase("kind");
  print_values(head);
  print_values(model["config"]);
  print("{}\n", counted(model["tensors"].size(), "tensor"));
  print_tensor_list(model["tensors"]);
}

ordered_json file_json(const fs::path& path, Kind kind) {
  ordered_json object;
  object["path"] = path.string();
  if (kind == Kind::Tokens) {
    const data::TokenData tokens = data::TokenData::open(path);
    object["kind"] = "tokens";
    object["tokens"] = tokens.num_tokens();
    object["documents"] = tokens.num_documents();
    object["vocab_size"] = tokens.vocab_size();
    object["dtype"] = name_of(tokens.dtype());
    object["has_tokenizer"] = tokens.tokenizer().has_value();
    return object;
  }
  object["kind"] = "safetensors";
  const SafetensorsFile file(path);
  for (const auto& [key, value] : file.metadata()) object["metadata." + key] = value.substr(0, 200);
  object["tensors"] = tensors_json(tensors_of(path));
  return object;
}

// Runs.

ordered_json run_json(const RunSummary& run) {
  ordered_json object;
  object["path"] = run.path;
  object["kind"] = "run";
  object["step"] = run.last_step();
  if (!run.train.empty()) object["loss"] = run.train.back().loss;
  if (!run.validation.empty()) object["val_loss"] = run.validation.back().loss;
  if (const auto best = run.best()) {
    object["best_val_loss"] = best->loss;
    object["best_step"] = best->step;
  }
  if (run.bits_per_byte) object["bits_per_byte"] = *run.bits_per_byte;
  if (run.num_weights > 0) object["weights"] = run.num_weights;
  object["trained_tokens"] = run.trained_tokens;
  object["tokens_per_second"] = run.tokens_per_second;
  object["seconds"] = run.seconds();
  object["checkpoints"] = run.checkpoints;
  object["unread_lines"] = run.unread_lines;
  for (const auto& [key, value] : run.settings) object["settings"][key] = value;
  const auto points = [](const std::vector<train::LossPoint>& curve) {
    ordered_json list = ordered_json::array();
    for (const train::LossPoint& point : curve) list.push_back({point.step, point.loss});
    return list;
  };
  object["train"] = points(run.train);
  object["validation"] = points(run.validation);
  return object;
}

Curve curve_of(std::string name, char mark, const std::vector<train::LossPoint>& points) {
  Curve curve{std::move(name), mark, {}};
  for (const train::LossPoint& point : points) curve.points.emplace_back(static_cast<double>(point.step), point.loss);
  return curve;
}

/// A loss, or another number of its size; what is no such number keeps its digits to itself.
std::string number_text(double value) {
  return std::abs(value) < 1e6 ? fmt::format("{:.4f}", value) : fmt::format("{:.4g}", value);
}

std::string optional_number(const std::optional<double>& value) { return value ? number_text(*value) : "-"; }

std::string last_loss(const std::vector<train::LossPoint>& curve) {
  return curve.empty() ? "-" : number_text(curve.back().loss);
}

std::string duration(double seconds) {
  if (!(seconds < 1e12)) return "-";  // of damaged lines
  const auto whole = static_cast<int64_t>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

struct DamagedCheckpoint {
  int64_t step = 0;
  std::string fault;
};

/// Every file of every checkpoint is read and hashed, as `train --resume` does with the one that it goes on from.
std::vector<DamagedCheckpoint> damaged_checkpoints(const RunSummary& run, const ProgressSink& progress) {
  std::vector<DamagedCheckpoint> damaged;
  const train::RunFolder folder(run.path);
  for (const int64_t step : run.checkpoints) {
    const fs::path path = folder.checkpoint(step);
    progress(fmt::format("show: reading {}", path.string()));
    const std::string fault = train::fault_of_checkpoint(path);
    // A run that goes on meanwhile removes its old ones.
    if (!fault.empty() && fs::exists(path)) damaged.push_back({step, fault});
  }
  progress("");
  return damaged;
}

void warn_of_unread_lines(const RunSummary& run) {
  if (run.unread_lines == 0) return;
  log_warning("{}: {} of metrics.jsonl {} damaged and left out", run.path, counted(run.unread_lines, "line"),
              run.unread_lines == 1 ? "is" : "are");
}

constexpr int kChartHeight = 16;

void print_run(const RunSummary& run) {
  print("{}: a run, at step {}{}\n", run.path, run.last_step(),
        run.num_weights > 0 ? fmt::format(", {:.2f} M weights", static_cast<double>(run.num_weights) * 1e-6) : "");
  if (run.train.empty()) {
    print("  nothing was logged yet\n");
  } else {
    const auto best = run.best();
    print("  loss {}, val_loss {}, best {}{}, bits per byte {}\n", last_loss(run.train), last_loss(run.validation),
          best ? number_text(best->loss) : "-", best ? fmt::format(" at step {}", best->step) : "",
          optional_number(run.bits_per_byte));
    print("  {}, {:.0f} tok/s, {}\n", counted(run.trained_tokens, "token"), run.tokens_per_second,
          duration(run.seconds()));
    print("\n{}\n", text_chart({curve_of("train", '.', run.train), curve_of("validation", 'o', run.validation)},
                               terminal_columns(), kChartHeight));
  }
  print("  checkpoints: {}\n", run.checkpoints.empty() ? "none" : fmt::format("{}", fmt::join(run.checkpoints, ", ")));
}

std::string value_of(const RunSummary& run, const std::string& key) {
  for (const auto& [name, value] : run.settings) {
    if (name == key) return value;
  }
  return "-";
}

constexpr std::string_view kMarks = "ox+#@%&=";

void print_comparison(const std::vector<RunSummary>& runs) {
  ComparisonTable table(runs);
  size_t number = 0;
  table.add("", [&](const RunSummary&) { return std::string(1, kMarks[number++ % kMarks.size()]); });
  for (const std::string& key : train::differing_settings(runs))
    table.add(key, [&](const RunSummary& run) { return value_of(run, key); });
  table.add("step", [](const RunSummary& run) { return fmt::format("{}", run.last_step()); });
  table.add("loss", [](const RunSummary& run) { return last_loss(run.train); });
  table.add("val_loss", [](const RunSummary& run) { return last_loss(run.validation); });
  table.add("best val_loss", [](const RunSummary& run) {
    const auto best = run.best();
    return best ? fmt::format("{} at {}", number_text(best->loss), best->step) : "-";
  });
  table.add("bits per byte", [](const RunSummary& run) { return optional_number(run.bits_per_byte); });
  table.add("trained tokens", [](const RunSummary& run) { return fmt::format("{}", run.trained_tokens); });
  table.add("tokens a second", [](const RunSummary& run) { return fmt::format("{:.0f}", run.tokens_per_second); });
  table.add("time", [](const RunSummary& run) { return duration(run.seconds()); });
  table.print(terminal_columns());
}

void compare_runs(const std::vector<RunSummary>& runs) {
  for (size_t i = 0; i < runs.size(); ++i) print("{} {}\n", kMarks[i % kMarks.size()], runs[i].path);
  print("\n");
  print_comparison(runs);
  // One evaluation is a point and no curve; the losses of the steps are drawn then, of all runs.
  const bool by_validation =
      std::all_of(runs.begin(), runs.end(), [](const RunSummary& run) { return run.validation.size() > 1; });
  std::vector<Curve> curves;
  for (size_t i = 0; i < runs.size(); ++i) {
    curves.push_back(curve_of(fmt::format("{} ({})", runs[i].path, by_validation ? "validation" : "train"),
                              kMarks[i % kMarks.size()], by_validation ? runs[i].validation : runs[i].train));
  }
  const bool has_curve = std::any_of(curves.begin(), curves.end(), [](const Curve& c) { return c.points.size() > 1; });
  if (has_curve) print("\n{}", text_chart(curves, terminal_columns(), kChartHeight));
  for (const RunSummary& run : runs) warn_of_unread_lines(run);
}

void show_run(const fs::path& path, bool json, const ProgressSink& progress) {
  const RunSummary run = train::read_run(path);
  const std::vector<DamagedCheckpoint> damaged = damaged_checkpoints(run, progress);
  const std::string choices_fault = train::fault_of_choices(train::RunFolder(path));
  if (json) {
    ordered_json object = run_json(run);
    object["damaged_checkpoints"] = ordered_json::array();
    for (const DamagedCheckpoint& checkpoint : damaged)
      object["damaged_checkpoints"].push_back({{"step", checkpoint.step}, {"fault", checkpoint.fault}});
    object["choices_fault"] = choices_fault.empty() ? ordered_json(nullptr) : ordered_json(choices_fault);
    write_output(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  print_run(run);
  warn_of_unread_lines(run);
  if (!choices_fault.empty()) log_warning("{}", choices_fault);
  for (const DamagedCheckpoint& checkpoint : damaged)
    log_warning("checkpoint {} is damaged: {}; `athanor train --resume` passes it over", checkpoint.step,
                checkpoint.fault);
}

void show_one(const fs::path& path, bool json, const ProgressSink& progress) {
  const Kind kind = kind_of(path);
  if (kind == Kind::Run) return show_run(path, json, progress);
  const ordered_json object = kind == Kind::Model ? model_json(path) : file_json(path, kind);
  if (json) {
    write_output(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (kind == Kind::Model) {
    print_model(object);
  } else {
    print_values(object);
    if (object.contains("tensors")) print_tensor_list(object["tensors"]);
  }
}

void run_show(const ShowArguments& arguments, const ProgressSink& progress) {
  if (arguments.paths.size() == 1) return show_one(arguments.paths.front(), arguments.json, progress);
  std::vector<RunSummary> runs;
  for (const std::string& path : arguments.paths) {
    check(kind_of(path) == Kind::Run, "{}: is no run; several runs are compared, anything else is shown alone", path);
    runs.push_back(train::read_run(path));
  }
  if (!arguments.json) return compare_runs(runs);
  ordered_json object;
  object["differing_settings"] = train::differing_settings(runs);
  object["runs"] = ordered_json::array();
  for (const RunSummary& run : runs) object["runs"].push_back(run_json(run));
  write_output(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

void add_show_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("show", "What is in a run, checkpoint, model folder or token file; compares runs");
  auto arguments = std::make_shared<ShowArguments>();
  command->add_option("PATH", arguments->paths, "A run, a checkpoint, a model folder, a token file; or several runs")
      ->required();
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(
      "Examples:\n  athanor show runs/first\n  athanor show runs/a runs/b\n  athanor show tokens.safetensors");
  command->callback([command, arguments] { run_show(*arguments, make_passing_progress_sink(is_quiet(*command))); });
}

}  // namespace athanor::cli
