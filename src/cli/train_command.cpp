// Flags of training are the table of settings; progress on stderr, the last sample on stdout.
#include "cli/train_command.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/setting_flags.h"
#include "cli/train_inputs.h"
#include "train/run_files.h"
#include "train/session.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <filesystem>

namespace athanor::cli {

namespace {

struct TrainArguments {
  std::vector<std::string> inputs;
  bool resume = false;
  bool json = false;
  SettingFlags flags;
};

/// The checkpoint's tensors have the shapes that these gave them.
void check_model_is_the_same(train::TrainSettings& settings, const train::TrainSettings& of_run,
                             const std::string& folder) {
  for (const train::SettingKey& key : train::setting_keys()) {
    const bool shapes_weights =
        key.name == "model_config.hidden_size" || key.name == "model_config.intermediate_size" ||
        key.name == "model_config.num_hidden_layers" || key.name == "model_config.num_attention_heads" ||
        key.name == "model_config.num_key_value_heads" || key.name == "model_config.head_dim" ||
        key.name == "model_config.tie_word_embeddings";
    if (!shapes_weights) continue;
    const std::string said = key.get(settings).front();
    const std::string had = key.get(of_run).front();
    // 0 leaves it open, and a run written down before it was resolved may have it open too.
    if (said == "0") key.set(settings, {had});
    check(said == "0" || had == "0" || said == had,
          "train: {} is {} but {} was begun with {}; go on with the same, or choose another folder with -o", key.name,
          said, folder, had);
  }
}

/// What the run resolved at its start stands below what is said now, and what was left open then is not opened again.
train::TrainSettings settings_to_resume(const TrainArguments& arguments, const std::string& folder) {
  const std::optional<train::SettingLayer> of_run = train::layer_of_run(train::RunFolder(folder));
  if (!of_run) {
    train::TrainSettings fresh = settings_of(arguments.inputs, arguments.flags);
    check(!fresh.data.empty(), "{}: there is no run to go on with; name its folder with -o", folder);
    return fresh;
  }
  train::TrainSettings resolved;
  train::apply_layers(resolved, {&*of_run, 1});
  train::TrainSettings settings = settings_of(arguments.inputs, arguments.flags, of_run);
  check(settings.data == resolved.data,
        "train: {} was begun on {}; go on with the same data, or choose another folder with -o", folder,
        fmt::join(resolved.data, ", "));
  check(settings.preset == resolved.preset && settings.depth == resolved.depth,
        "train: {} was begun with preset \"{}\" and depth {}; go on with the same, or choose another folder with -o",
        folder, resolved.preset, resolved.depth);
  if (settings.model_config.hidden_size == 0) settings.model_config = resolved.model_config;
  check_model_is_the_same(settings, resolved, folder);
  if (settings.max_steps == 0) settings.max_steps = resolved.max_steps;
  if (settings.device == "auto") settings.device = resolved.device;
  if (settings.threads == 0) settings.threads = resolved.threads;
  settings.output_dir = folder;
  return settings;
}

train::TrainSettings settings_of(const TrainArguments& arguments) {
  const train::TrainSettings settings = settings_of(arguments.inputs, arguments.flags);
  check(!arguments.resume || !settings.output_dir.empty(), "train: --resume of which run? Name its folder with -o");
  return arguments.resume ? settings_to_resume(arguments, settings.output_dir) : settings;
}

std::string next_commands(const std::string& run) {
  return fmt::format(
      "next: athanor generate -m {0} -p \"...\" -n 200\n      athanor train --resume -o {0} --max-steps N   (a longer "
      "run)\n"
      "      athanor doctor   (checks the kernels here)\n",
      run);
}

void print_result(const TrainArguments& arguments, const train::TrainSettings& settings,
                  const train::TrainResult& result) {
  if (arguments.json) {
    nlohmann::ordered_json object;
    object["run"] = settings.output_dir;
    object["step"] = result.step;
    object["max_steps"] = result.max_steps;
    object["loss"] = result.train_loss;
    if (result.val_loss) object["val_loss"] = *result.val_loss;
    object["unigram_loss"] = result.unigram_loss;
    object["tokens_per_second"] = result.tokens_per_second;
    object["mfu"] = result.mfu;
    object["seconds"] = result.seconds;
    object["peak_memory_bytes"] = peak_anonymous_bytes();
    object["device_peak_memory_bytes"] = result.device_peak_bytes;
    object["interrupted"] = result.was_interrupted;
    if (result.bits_per_byte > 0) object["bits_per_byte"] = result.bits_per_byte;
    object["sample"] = result.samples.empty() ? "" : result.samples.front().text;
    object["samples"] = nlohmann::ordered_json::array();
    for (const train::Sample& sample : result.samples)
      object["samples"].push_back(
          {{"text", sample.text}, {"tokens", sample.tokens}, {"longest_copy", sample.longest_copy}});
    write_output(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  if (result.val_loss && result.unigram_loss > 0) {
    const double under = result.unigram_loss - *result.val_loss;
    print("val_loss {:.4f}; a unigram model of the same tokens has {:.4f}: {:.4f} nats {} it\n", *result.val_loss,
          result.unigram_loss, std::abs(under), under >= 0 ? "under" : "over");
  }
  for (const train::Sample& sample : result.samples) {
    print("a sample (its longest run that stands in the training text: {} of {}):\n{}\n\n", sample.longest_copy,
          counted(sample.tokens, "token"), sample.text);
  }
  print("{} of training {} in {}\n{}", counted(result.step, "step"), result.step == 1 ? "lies" : "lie",
        settings.output_dir, next_commands(settings.output_dir));
}

void run_train(const CLI::App& command, const TrainArguments& arguments) {
  const train::TrainSettings settings = settings_of(arguments);
  if (!arguments.resume) say_what_is_overridden(settings);
  catch_interrupts();
  train::TrainHooks hooks;
  hooks.progress = make_progress_sink(is_quiet(command));
  hooks.should_stop = interrupted;
  const train::TrainResult result =
      train::train(settings, arguments.resume ? train::Resume::Yes : train::Resume::No, hooks, open_device_and_say);
  if (result.was_interrupted) {
    log_warning("interrupted at step {} of {}; saved. Go on with: athanor train --resume -o {}", result.step,
                result.max_steps, settings.output_dir);
    throw Exit{kInterrupted};
  }
  if (result.was_finished && result.was_stopped_early) {
    log_info("{}: the run was stopped early at step {}; nothing is left to do (a larger --patience goes on)",
             settings.output_dir, result.step);
  } else if (result.was_finished) {
    log_info("{}: the run has its {} already; nothing is left to do", settings.output_dir,
             counted(result.step, "step"));
  }
  print_result(arguments, settings, result);
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("train", "Train a model from scratch on text, tokens, or as a settings file says");
  auto arguments = std::make_shared<TrainArguments>();
  command->add_option("INPUT", arguments->inputs, "Text files and folders, one token file, or a settings file (.yaml)");
  command->add_flag("--resume", arguments->resume, "Go on from the run's latest checkpoint");
  command->add_flag("--json", arguments->json, "Print one JSON object at the end instead of text");
  arguments->flags.add_to(*command, "-o");
  command->footer(
      "Examples:\n  athanor train mytexts/ -o runs/mine --minutes 10\n  athanor train settings.yaml --max-steps 20 "
      "--device cpu\n"
      "  athanor train --resume -o runs/mine\n  athanor train mytexts/ -o runs/mine --preset small --minutes 30\n"
      "Every flag is also a key of the settings file (max_steps: 20) and a variable (ATHANOR_MAX_STEPS=20). A flag "
      "stands above\nthe file, the file above a variable, a variable above --preset or --depth. Ctrl-C saves a "
      "checkpoint, says how to resume, and leaves with 130.");
  command->callback([command, arguments] { run_train(*command, *arguments); });
}

}  // namespace athanor::cli
