// Text on stdout as it comes; the model, the seed and the speed on stderr. Flags and defaults are llama.cpp's.
#include "cli/generate_command.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/counted.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/exit_codes.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "generate/generator.h"
#include "generate/model_source.h"

namespace athanor::cli {

namespace {

struct GenerateSettings {
  std::string model;
  std::string checkpoint;
  std::string prompt;
  std::string prompt_file;
  int64_t max_tokens = 256;
  int64_t context = 0;
  std::string format = "f32";
  generate::SamplerOptions sampler;
  bool has_seed = false;
  bool parse_special = false;
  bool hides_prompt = false;
  bool json = false;
  device::DeviceOptions device;
};

void add_text_options(CLI::App& command, GenerateSettings& settings) {
  command.add_option("-m,--model", settings.model, "Model folder, run folder or checkpoint")
      ->required()
      ->type_name("PATH");
  command
      .add_option("--checkpoint", settings.checkpoint,
                  "Of a run: best (by validation loss, the default), latest, or a step")
      ->type_name("WHICH");
  CLI::Option* prompt =
      command.add_option("-p,--prompt", settings.prompt, "Text to go on from; without one, a new document")
          ->type_name("TEXT");
  command
      .add_option("-f,--file", settings.prompt_file,
                  "Read the prompt from a file (- is standard input), less one newline at its end")
      ->excludes(prompt)
      ->type_name("FILE");
  command
      .add_option("-n,--predict,--max-tokens", settings.max_tokens,
                  "Tokens to write; -1: until the text or the context ends")
      ->type_name("N");
  command.add_option("-c,--ctx-size", settings.context, "Tokens of prompt and text together; 0: the model's context")
      ->type_name("N");
  command.add_option("--weight-format", settings.format, "Keep the weights in f32, f16 or q8_0 while generating")
      ->type_name("NAME");
  command.add_flag("--parse-special", settings.parse_special,
                   "Text in the prompt that spells a special token becomes that token");
  command.add_flag("--no-display-prompt", settings.hides_prompt, "Print the new text only");
  command.add_flag("--json", settings.json, "Print one JSON object with text, tokens and speed at the end");
}

CLI::Option* add_sampling_options(CLI::App& command, generate::SamplerOptions& sampler) {
  const std::string group = "Sampling (in this order: repeat penalty, top-k, top-p, min-p, temperature)";
  command.add_option("--temp,--temperature", sampler.temperature, "0: always the most likely token")
      ->type_name("X")
      ->group(group);
  command.add_option("--top-k", sampler.top_k, "Keep the N most likely tokens; 0: all")->type_name("N")->group(group);
  command.add_option("--top-p", sampler.top_p, "Keep the fewest that reach this probability; 1: all")
      ->type_name("X")
      ->group(group);
  command.add_option("--min-p", sampler.min_p, "Keep those this likely relative to the most likely; 0: all")
      ->type_name("X")
      ->group(group);
  command.add_option("--repeat-penalty", sampler.repeat_penalty, "Above 1: tokens just used become less likely")
      ->type_name("X")
      ->group(group);
  command.add_option("--repeat-last-n", sampler.repeat_last_n, "How far back the penalty looks; -1: the whole text")
      ->type_name("N")
      ->group(group);
  return command.add_option("-s,--seed", sampler.seed, "Same seed, same text; without one it is drawn and logged")
      ->type_name("N")
      ->capture_default_str()
      ->default_str("")
      ->group(group);
}

std::string read_prompt(const GenerateSettings& settings) {
  if (settings.prompt_file.empty()) return settings.prompt;
  std::string text = read_input(settings.prompt_file);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void say_model(const GenerateSettings& settings, const generate::ModelSource& source) {
  if (!source.step) {
    log_info("model: {}", source.folder.string());
    return;
  }
  const std::string loss = source.val_loss ? fmt::format(", val_loss {:.4f}", *source.val_loss) : "";
  log_info("model: {}, checkpoint {}{} ({})", settings.model, *source.step, loss, source.reason);
}

std::vector<uint32_t> prompt_tokens(const GenerateSettings& settings, const generate::TextParts& loaded,
                                    std::string_view prompt) {
  std::vector<uint32_t> tokens = loaded.leading_tokens;
  loaded.tokenizer.encode_to(prompt, tokens, {settings.parse_special, 1});
  // Behind the end of one document starts the next.
  if (tokens.empty()) tokens.push_back(loaded.tokenizer.end_of_text());
  return tokens;
}

/// Positions to keep: no more than the text can fill, so that a long context costs memory only when it is used.
int64_t context_length(const GenerateSettings& settings, const nn::LlamaConfig& config, size_t prompt_length) {
  const int64_t most = config.max_position_embeddings;
  check(settings.context >= 0, "generate: --ctx-size {}: pass a number of tokens, or 0 for the model's {}",
        settings.context, most);
  check(settings.context <= most,
        "generate: --ctx-size {} is longer than the model's context of {} tokens (max_position_embeddings); pass at "
        "most that",
        settings.context, most);
  const int64_t context = settings.context > 0 ? settings.context : most;
  // Before the prompt is printed; the generator would refuse it after.
  check(static_cast<int64_t>(prompt_length) <= context,
        "generate: the prompt has {} tokens but the context has {}; pass a shorter prompt or a longer context (the "
        "model's is {})",
        prompt_length, context, most);
  return settings.max_tokens < 0
             ? context
             : std::min(context, static_cast<int64_t>(prompt_length) + std::min(settings.max_tokens, context));
}

void say_speed(const generate::GenerateResult& result) {
  log_info("prompt: {}, {:.1f} tok/s; text: {}, {:.1f} tok/s", counted(result.prompt_tokens, "token"),
           result.prompt_tokens_per_second(), counted(result.tokens.size(), "token"),
           result.decode_tokens_per_second());
}

void say_why_it_ended(const generate::GenerateResult& result, const GenerateSettings& settings,
                      const nn::LlamaConfig& config) {
  if (result.stop != generate::StopReason::ContextFull) return;
  const int64_t context = settings.context > 0 ? settings.context : config.max_position_embeddings;
  log_warning("the text ended because the context of {} is full{}", counted(context, "token"),
              context < config.max_position_embeddings
                  ? fmt::format("; the model can take {}, see --ctx-size", config.max_position_embeddings)
                  : "");
}

std::string result_json(const GenerateSettings& settings, const generate::ModelSource& source, std::string_view prompt,
                        const generate::GenerateResult& result, const device::DeviceInfo& device) {
  nlohmann::ordered_json object;
  object["model"] = source.folder.string();
  if (source.step) object["checkpoint"] = *source.step;
  object["device"] = device.name;
  object["prompt"] = prompt;
  object["text"] = result.text;
  object["tokens"] = result.tokens;
  object["stop"] = generate::name_of(result.stop);
  object["seed"] = settings.sampler.seed;
  object["prompt_tokens"] = result.prompt_tokens;
  object["prompt_tokens_per_second"] = result.prompt_tokens_per_second();
  object["tokens_per_second"] = result.decode_tokens_per_second();
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void run_generate(GenerateSettings& settings) {
  generate::check_options(settings.sampler);
  check(settings.max_tokens >= -1, "generate: -n {}: pass a number of tokens, or -1 for no bound", settings.max_tokens);
  const std::optional<generate::WeightFormat> format = generate::weight_format_of(settings.format);
  check(format.has_value(), "generate: --weight-format is \"{}\"; known are f32, f16 and q8_0", settings.format);
  const generate::ModelSource source = generate::find_model(settings.model, settings.checkpoint);
  const std::string prompt = read_prompt(settings);
  if (!settings.has_seed) settings.sampler.seed = std::random_device()();

  const std::unique_ptr<device::Device> device = open_device_and_say(settings.device);
  device::Stream& stream = device->stream();
  say_model(settings, source);
  const generate::LoadedDecoder loaded = generate::load_decoder(stream, source, *format);
  const nn::LlamaConfig& config = loaded.weights.config;
  const std::vector<uint32_t> tokens = prompt_tokens(settings, loaded, prompt);
  generate::Generator generator(stream, loaded.weights, loaded.tokenizer,
                                context_length(settings, config, tokens.size()));

  catch_interrupts();
  if (settings.sampler.temperature > 0) log_info("seed: {}", settings.sampler.seed);
  generate::GenerateOptions options;
  options.max_tokens = settings.max_tokens;
  options.sampler = settings.sampler;
  options.end_tokens = loaded.end_tokens;
  options.should_stop = interrupted;
  const auto show = [&](std::string_view piece) {
    if (settings.json || piece.empty()) return;
    write_output(piece);
    flush_output();
  };
  if (!settings.hides_prompt) show(prompt);
  const generate::GenerateResult result = generator.generate(tokens, options, show);
  if (settings.json) {
    write_output(result_json(settings, source, prompt, result, device->info()));
  } else {
    write_output("\n");
  }
  flush_output();
  say_why_it_ended(result, settings, config);
  say_speed(result);
  if (result.stop == generate::StopReason::Stopped) throw Exit{kInterrupted};
}

}  // namespace

void add_generate_command(CLI::App& app) {
  const auto settings = std::make_shared<GenerateSettings>();
  CLI::App* command = app.add_subcommand("generate", "Let a model go on from a prompt");
  add_text_options(*command, *settings);
  CLI::Option* seed = add_sampling_options(*command, settings->sampler);
  add_device_options(*command, settings->device);
  read_environment(*command);
  command->footer("Example:\n  athanor generate -m runs/first -p \"ROMEO:\" -n 200 --temp 0.8 --seed 1");
  command->callback([settings, seed] {
    settings->has_seed = seed->count() > 0;
    run_generate(*settings);
  });
}

}  // namespace athanor::cli
