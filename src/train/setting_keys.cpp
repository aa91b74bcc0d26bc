// The table of keys: name, help, and how text becomes a value and back.
#include "train/settings.h"

#include "base/error.h"
#include "base/nearest_name.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace athanor::train {

namespace {

using Values = std::vector<std::string>;

int64_t parse_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!is_number)
    throw UnreadableValue(fmt::format("\"{}\" is no value for it; give a whole number of at least 0", text));
  check(error == std::errc() && value >= 0, "{} is outside its range; give a whole number from 0 to {}", text,
        std::numeric_limits<int64_t>::max());
  return value;
}

double parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
  if (!is_number) throw UnreadableValue(fmt::format("\"{}\" is no value for it; give a number", text));
  check(error == std::errc() && std::isfinite(value), "{} is outside its range; give a number that is finite", text);
  return value;
}

/// Each value is a number or several with commas between them.
std::vector<double> parse_numbers(const Values& values) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    for (size_t begin = 0; begin <= value.size() && !value.empty();) {
      const size_t end = std::min(value.find(',', begin), value.size());
      numbers.push_back(parse_number(value.substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  return numbers;
}

bool parse_boolean(const std::string& text) {
  if (text != "true" && text != "false")
    throw UnreadableValue(fmt::format("\"{}\" is no value for it; give true or false", text));
  return text == "true";
}

SettingKey key(std::string name, std::string help, std::function<void(TrainSettings&, const std::string&)> set,
               std::function<std::string(const TrainSettings&)> get) {
  return {std::move(name), std::move(help), false,
          [set](TrainSettings& settings, const Values& values) { set(settings, values.front()); },
          [get](const TrainSettings& settings) { return Values{get(settings)}; }};
}

SettingKey integer(std::string name, std::string help, int64_t TrainSettings::* member) {
  return key(
      std::move(name), std::move(help),
      [member](TrainSettings& s, const std::string& text) { s.*member = parse_integer(text); },
      [member](const TrainSettings& s) { return fmt::format("{}", s.*member); });
}

SettingKey number(std::string name, std::string help, double TrainSettings::* member) {
  return key(
      std::move(name), std::move(help),
      [member](TrainSettings& s, const std::string& text) { s.*member = parse_number(text); },
      [member](const TrainSettings& s) { return fmt::format("{}", s.*member); });
}

SettingKey boolean(std::string name, std::string help, bool TrainSettings::* member) {
  return key(
      std::move(name), std::move(help),
      [member](TrainSettings& s, const std::string& text) { s.*member = parse_boolean(text); },
      [member](const TrainSettings& s) { return s.*member ? "true" : "false"; });
}

SettingKey text(std::string name, std::string help, std::string TrainSettings::* member) {
  return key(
      std::move(name), std::move(help), [member](TrainSettings& s, const std::string& value) { s.*member = value; },
      [member](const TrainSettings& s) { return s.*member; });
}

SettingKey model_integer(std::string name, std::string help, int64_t nn::LlamaConfig::* member) {
  return key(
      "model_config." + name, std::move(help),
      [member](TrainSettings& s, const std::string& value) { s.model_config.*member = parse_integer(value); },
      [member](const TrainSettings& s) { return fmt::format("{}", s.model_config.*member); });
}

SettingKey model_number(std::string name, std::string help, double nn::LlamaConfig::* member) {
  return key(
      "model_config." + name, std::move(help),
      [member](TrainSettings& s, const std::string& value) { s.model_config.*member = parse_number(value); },
      [member](const TrainSettings& s) { return fmt::format("{}", s.model_config.*member); });
}

std::vector<SettingKey> make_keys() {
  using S = TrainSettings;
  using M = nn::LlamaConfig;
  return {
      text("preset", "values below all that is said: tiny, small, llama-15m or llama-138m", &S::preset),
      integer("depth", "blocks; width, heads, feed-forward, context, rate and batch follow from it; 0: not asked for",
              &S::depth),
      {"data", "text files and folders, or one token file", true, [](S& s, const Values& values) { s.data = values; },
       [](const S& s) { return s.data; }},
      {"data_weights",
       "numbers with commas, one for each of data: the share of the rows that it gets; empty: as large as it is", true,
       [](S& s, const Values& values) { s.data_weights = parse_numbers(values); },
       [](const S& s) {
         Values values;
         for (const double weight : s.data_weights) values.push_back(fmt::format("{}", weight));
         return values;
       }},
      text("text_field", "field of a .jsonl file's lines that holds the text", &S::text_field),
      text("packing", "documents: of the documents in a row each sees itself alone; naive: the row is one text",
           &S::packing),
      text("encoding", "encoding of text that is not UTF-8, by iconv's name", &S::encoding),
      text("tokenizer", "tokenizer.json; empty: one is trained on the data", &S::tokenizer),
      key(
          "vocab_size", "entries of a tokenizer that is trained, or auto",
          [](S& s, const std::string& value) { s.vocab_size = value == "auto" ? 0 : parse_integer(value); },
          [](const S& s) { return s.vocab_size == 0 ? "auto" : fmt::format("{}", s.vocab_size); }),
      text("split", "splitting expression of a trained tokenizer: tekken, gpt2 or llama3", &S::split),
      number("validation_split", "share of the documents kept for validation", &S::validation_split),
      text("validation_data", "text file or folder for validation instead of a share of the data", &S::validation_data),
      model_integer("hidden_size", "width of the model; 0: sized to text, device and time", &M::hidden_size),
      model_integer("intermediate_size", "width of the feed-forward block", &M::intermediate_size),
      model_integer("num_hidden_layers", "blocks", &M::num_hidden_layers),
      model_integer("num_attention_heads", "query heads", &M::num_attention_heads),
      model_integer("num_key_value_heads", "key/value heads; 0: as many as query heads", &M::num_key_value_heads),
      model_integer("head_dim", "width of a head; 0: hidden_size / heads", &M::head_dim),
      model_integer("max_position_embeddings", "longest context in tokens", &M::max_position_embeddings),
      model_number("rms_norm_eps", "added under the root of the norms", &M::rms_norm_eps),
      model_number("rope_theta", "base of the rotary frequencies", &M::rope_theta),
      model_number("embd_pdrop", "share of the embedding's values that training drops", &M::embd_pdrop),
      model_number("resid_pdrop", "share of what attention and feed-forward add that training drops", &M::resid_pdrop),
      model_number("attention_dropout", "of attention's probabilities; 0 only", &M::attention_dropout),
      key(
          "model_config.tie_word_embeddings", "the head is the embedding table",
          [](S& s, const std::string& value) { s.model_config.tie_word_embeddings = parse_boolean(value); },
          [](const S& s) { return s.model_config.tie_word_embeddings ? "true" : "false"; }),
      text("output_dir", "the run folder", &S::output_dir),
      number("minutes", "train about so long; sets max_steps from a measurement", &S::minutes),
      integer("max_steps", "optimizer steps; 0: from minutes", &S::max_steps),
      integer("batch_tokens",
              "tokens of a step: rows and micro-batches that fit the device are picked; 0: as those two say",
              &S::batch_tokens),
      integer("per_device_train_batch_size", "rows of a micro-batch; 0: picked for batch_tokens",
              &S::per_device_train_batch_size),
      integer("max_length", "tokens of a row; 0: max_position_embeddings", &S::max_length),
      integer("gradient_accumulation_steps", "micro-batches of a step; 0: picked for batch_tokens",
              &S::gradient_accumulation_steps),
      boolean("gradient_checkpointing", "keep no activations inside blocks, compute them again",
              &S::gradient_checkpointing),
      number("learning_rate", "largest learning rate", &S::learning_rate),
      text("optim", "adamw_torch, adamw_8bit, sgd, or muon (hidden matrices; AdamW for the rest)", &S::optim),
      text("lr_scheduler_type", "cosine, linear, constant or warmup_stable_decay", &S::lr_scheduler_type),
      integer("lr_scheduler_steps", "steps that the schedule spans; 0: max_steps", &S::lr_scheduler_steps),
      number("decay_ratio", "share of the schedule that decays, of warmup_stable_decay", &S::decay_ratio),
      number("min_lr_ratio", "share of learning_rate at the end", &S::min_lr_ratio),
      integer("warmup_steps", "steps of linear warm-up", &S::warmup_steps),
      number("weight_decay", "decoupled decay of matrices", &S::weight_decay),
      number("adam_beta1", "decay of the first moment", &S::adam_beta1),
      number("adam_beta2", "decay of the second moment", &S::adam_beta2),
      number("adam_epsilon", "added to the root of the second moment", &S::adam_epsilon),
      number("max_grad_norm", "largest global norm of the gradients; 0: no clipping", &S::max_grad_norm),
      number("sgd_momentum", "momentum of sgd; 0: none", &S::sgd_momentum),
      number("muon_learning_rate", "largest rate of muon's matrices; learning_rate is of the rest",
             &S::muon_learning_rate),
      number("muon_momentum", "momentum of muon", &S::muon_momentum),
      text("precision", "f32, or mixed: products read an f16 copy of the weights", &S::precision),
      number("ema_decay", "keep an average of the weights and show that, such as 0.999; 0: none", &S::ema_decay),
      number("label_smoothing_factor", "share of each target spread over all tokens", &S::label_smoothing_factor),
      number("z_loss", "weight of the squared log of the softmax's sum, such as 1e-4", &S::z_loss),
      number("guard_outlier", "refuse a gradient above so many times the median norm; 0: none", &S::guard_outlier),
      integer("guard_patience", "bad steps in a row until guard_action; 0: never", &S::guard_patience),
      text("guard_action", "rollback (to the last good checkpoint, half the rate) or stop", &S::guard_action),
      integer("guard_rollbacks", "rollbacks until the run stops", &S::guard_rollbacks),
      integer("patience", "stop after so many evaluations without a lower val_loss; 0: never", &S::patience),
      integer("logging_steps", "a line of metrics.jsonl every so many steps", &S::logging_steps),
      integer("log_layer_norms_steps",
              "norms of each tensor's gradient, weights and update every so many steps; 0: never",
              &S::log_layer_norms_steps),
      integer("eval_steps", "validation loss every so many steps; 0: at the end only", &S::eval_steps),
      integer("eval_batches", "micro-batches of one evaluation; 0: all validation data", &S::eval_batches),
      integer("save_steps", "a checkpoint every so many steps; 0: at the end only", &S::save_steps),
      integer("save_total_limit", "checkpoints kept, the newest and the best always; 0: all", &S::save_total_limit),
      boolean("save_in_background",
              "write checkpoints from a copy of the state while training goes on, if memory allows",
              &S::save_in_background),
      integer("sample_steps", "a sample every so many steps; 0: with each evaluation", &S::sample_steps),
      integer("sample_tokens", "tokens of a sample; 0: no samples", &S::sample_tokens),
      text("sample_prompt", "text that samples start from; empty: the start of the validation text", &S::sample_prompt),
      {"sample_prompts", "texts that samples start from, one each, instead of sample_prompt", true,
       [](S& s, const Values& values) { s.sample_prompts = values; }, [](const S& s) { return s.sample_prompts; }},
      text("profile", "file for a Chrome trace of a few steps, a bar a kernel; empty: none", &S::profile),
      integer("profile_first_step", "first step of the trace", &S::profile_first_step),
      integer("profile_steps", "steps of the trace", &S::profile_steps),
      key(
          "seed", "decides the run: weights, order of the data, samples",
          [](S& s, const std::string& value) { s.seed = static_cast<uint64_t>(parse_integer(value)); },
          [](const S& s) { return fmt::format("{}", s.seed); }),
      text("float32_matmul_precision",
           "highest (f32), high or medium: large products on a GPU's matrix units, factors rounded to two f16 or one",
           &S::float32_matmul_precision),
      text("device", "auto (of a run: the faster of GPU and CPU), cpu, webgpu or webgpu:N", &S::device),
      integer("threads", "threads of the CPU device; 0: all", &S::threads),
      {"kernel", "NAME=FILE: a shader of yours in the place of a kernel, as `athanor kernels --wgsl NAME` prints it",
       true, [](S& s, const Values& values) { s.kernel = values; }, [](const S& s) { return s.kernel; }},
      text("choices", "a file of athanor tune; none: the launchers' rules; empty: what was measured on this device",
           &S::choices),
  };
}

std::string nearest_key(std::string_view name) {
  std::vector<std::string> names;
  for (const SettingKey& known : setting_keys()) names.push_back(known.name);
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "see athanor train --help for the keys" : fmt::format("did you mean {}?", nearest);
}

}  // namespace

std::string SettingKey::flag() const {
  std::string result = "--" + name;
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

std::string SettingKey::environment_name() const {
  std::string result = "ATHANOR_";
  for (char c : name) result += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

const std::vector<SettingKey>& setting_keys() {
  static const std::vector<SettingKey> keys = make_keys();
  return keys;
}

void apply_setting(TrainSettings& settings, std::string_view name, const Values& values, std::string_view source) {
  for (const SettingKey& candidate : setting_keys()) {
    if (candidate.name != name) continue;
    check(candidate.is_list || values.size() == 1, "{}: {} takes one value but {} were given", source, name,
          values.size());
    try {
      candidate.set(settings, values);
    } catch (const UnreadableValue& error) {
      throw UnreadableValue(fmt::format("{}: {}: {}", source, name, error.what()));
    } catch (const Error& error) {
      fail("{}: {}: {}", source, name, error.what());
    }
    return;
  }
  fail("{}: unknown key {}; {}", source, name, nearest_key(name));
}

}  // namespace athanor::train
