// The table of keys, and reading and writing them as YAML.
#include "train/settings.h"

#include "base/error.h"
#include "base/mapped_file.h"
#include "train/optimizer.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace athanor::train {

namespace {

using Values = std::vector<std::string>;

int64_t parse_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && value >= 0,
        "\"{}\" is no value for it; give a whole number of at least 0", text);
  return value;
}

double parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size() && std::isfinite(value),
        "\"{}\" is no value for it; give a number", text);
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
  check(text == "true" || text == "false", "\"{}\" is no value for it; give true or false", text);
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
      integer("per_device_train_batch_size", "rows of a micro-batch", &S::per_device_train_batch_size),
      integer("max_length", "tokens of a row; 0: max_position_embeddings", &S::max_length),
      integer("gradient_accumulation_steps", "micro-batches of a step", &S::gradient_accumulation_steps),
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
      text("device", "auto, cpu, webgpu or webgpu:N", &S::device),
      integer("threads", "threads of the CPU device; 0: all", &S::threads),
      {"kernel", "NAME=FILE: a shader of yours in the place of a kernel, as `athanor kernels --wgsl NAME` prints it",
       true, [](S& s, const Values& values) { s.kernel = values; }, [](const S& s) { return s.kernel; }},
  };
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest_key(std::string_view name) {
  const SettingKey* nearest = nullptr;
  size_t least = 4;  // further away is no misspelling
  for (const SettingKey& candidate : setting_keys()) {
    const size_t distance = edit_distance(name, candidate.name);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? "see athanor train --help for the keys" : fmt::format("did you mean {}?", nearest->name);
}

Values scalar_values(const YAML::Node& node, std::string_view key_name, std::string_view source) {
  if (node.IsNull()) return {""};
  if (node.IsScalar()) return {node.Scalar()};
  check(node.IsSequence(), "{}: {} must be a value or a list of values", source, key_name);
  Values values;
  for (const YAML::Node& item : node) {
    check(item.IsScalar(), "{}: {} must be a list of plain values", source, key_name);
    values.push_back(item.Scalar());
  }
  return values;
}

void apply_map(TrainSettings& settings, const YAML::Node& map, const std::string& prefix, const std::string& source) {
  for (const auto& item : map) {
    check(item.first.IsScalar(), "{}: a key is not plain text", source);
    const std::string name = prefix + item.first.Scalar();
    if (item.second.IsMap()) {
      check(name == "model_config", "{}: {} is a group of keys, but only model_config is one", source, name);
      apply_map(settings, item.second, name + ".", source);
    } else {
      apply_setting(settings, name, scalar_values(item.second, name, source), source);
    }
  }
}

std::string quoted(const std::string& value) {
  const bool is_plain =
      !value.empty() && value.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+") == std::string::npos;
  if (is_plain) return value;
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << value;
  return emitter.c_str();
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
    } catch (const Error& error) {
      fail("{}: {}: {}", source, name, error.what());
    }
    return;
  }
  fail("{}: unknown key {}; {}", source, name, nearest_key(name));
}

void apply_settings_file(TrainSettings& settings, const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes = file.bytes();
  check(bytes.size() <= (1 << 20), "{}: {} bytes are too many for a settings file; pass a YAML file", path.string(),
        bytes.size());
  const std::string source = path.string();
  YAML::Node root;
  try {
    root = YAML::Load(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const YAML::Exception& error) {
    fail("{}: line {}: {}; write YAML lines like \"max_steps: 1000\"", source, error.mark.line + 1, error.msg);
  }
  if (root.IsNull()) return;
  check(root.IsMap(), "{}: not a map of keys; write lines like \"max_steps: 1000\"", source);
  apply_map(settings, root, "", source);
}

void apply_environment(TrainSettings& settings) {
  for (const SettingKey& candidate : setting_keys()) {
    const std::string name = candidate.environment_name();
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) apply_setting(settings, candidate.name, {value}, "$" + name);
  }
}

std::string to_yaml(const TrainSettings& settings) {
  std::string yaml =
      "# athanor train: every setting of this run as resolved; `athanor train THIS_FILE -o NEW_FOLDER` repeats it.\n";
  bool in_model = false;
  for (const SettingKey& candidate : setting_keys()) {
    const std::vector<std::string> values = candidate.get(settings);
    std::string_view name = candidate.name;
    const bool is_model = name.starts_with("model_config.");
    if (is_model && !in_model) yaml += "model_config:\n";
    in_model = is_model;
    if (is_model) name.remove_prefix(std::string_view("model_config.").size());
    yaml += fmt::format("{}{}: ", is_model ? "  " : "", name);
    if (candidate.is_list) {
      yaml += '[';
      for (size_t i = 0; i < values.size(); ++i) yaml += (i == 0 ? "" : ", ") + quoted(values[i]);
      yaml += "]\n";
    } else {
      yaml += quoted(values.front()) + "\n";
    }
  }
  return yaml;
}

void TrainSettings::check_optimization() const {
  check(sgd_momentum >= 0 && sgd_momentum < 1 && muon_momentum >= 0 && muon_momentum < 1,
        "train: sgd_momentum {} and muon_momentum {} must lie between 0 and 1", sgd_momentum, muon_momentum);
  check(muon_learning_rate > 0 && muon_learning_rate <= 1e3,
        "train: muon_learning_rate is {}; it must lie above 0 and at most at 1000 (0.02 is usual)", muon_learning_rate);
  check(precision == "f32" || precision == "mixed", "train: precision is \"{}\"; known are f32 and mixed", precision);
  check(ema_decay >= 0 && ema_decay < 1, "train: ema_decay is {}; it must be 0 (none) or lie below 1", ema_decay);
  check(label_smoothing_factor >= 0 && label_smoothing_factor < 1,
        "train: label_smoothing_factor is {}; it must lie between 0 and 1", label_smoothing_factor);
  check(z_loss >= 0 && z_loss <= 1, "train: z_loss is {}; it must lie between 0 and 1 (1e-4 is usual)", z_loss);
  check(guard_outlier == 0 || (guard_outlier > 1 && guard_outlier <= 1e6),
        "train: guard_outlier is {}; it must be 0 (off) or lie above 1", guard_outlier);
  check(guard_action == "rollback" || guard_action == "stop",
        "train: guard_action is \"{}\"; known are rollback and stop", guard_action);
}

void TrainSettings::validate() const {
  check(!data.empty(), "train: no data; name text files, folders or a token file");
  check(!output_dir.empty(), "train: no output_dir; say where the run goes with -o FOLDER");
  check(max_steps > 0 || minutes > 0,
        "train: neither max_steps nor minutes is set; say how long to train, as with --minutes 10");
  check(max_steps <= (int64_t{1} << 40), "train: max_steps is {}; that is no number of steps", max_steps);
  check(minutes >= 0 && minutes <= 1e6, "train: minutes is {}; it must lie between 0 and a million", minutes);
  check(per_device_train_batch_size > 0 && per_device_train_batch_size <= 65536,
        "train: per_device_train_batch_size is {}; it must lie between 1 and 65536", per_device_train_batch_size);
  check(gradient_accumulation_steps > 0 && gradient_accumulation_steps <= 65536,
        "train: gradient_accumulation_steps is {}; it must lie between 1 and 65536", gradient_accumulation_steps);
  check(lr_scheduler_type == "cosine" || lr_scheduler_type == "linear" || lr_scheduler_type == "constant" ||
            lr_scheduler_type == "warmup_stable_decay",
        "train: lr_scheduler_type is \"{}\"; known are cosine, linear, constant and warmup_stable_decay",
        lr_scheduler_type);
  check(decay_ratio > 0 && decay_ratio <= 1, "train: decay_ratio is {}; it must lie above 0 and at most at 1",
        decay_ratio);
  model_config.check_can_train("train: model_config");
  optimizer_kind(optim);
  check_optimization();
  check(learning_rate > 0 && learning_rate <= 1e3,
        "train: learning_rate is {}; it must lie above 0 and at most at 1000 (1e-3 is usual here)", learning_rate);
  check(min_lr_ratio >= 0 && min_lr_ratio <= 1, "train: min_lr_ratio is {}; it must lie between 0 and 1", min_lr_ratio);
  check(weight_decay >= 0 && weight_decay <= 10, "train: weight_decay is {}; it must lie between 0 and 10",
        weight_decay);
  check(adam_beta1 >= 0 && adam_beta1 < 1 && adam_beta2 >= 0 && adam_beta2 < 1,
        "train: adam_beta1 {} and adam_beta2 {} must lie between 0 and 1", adam_beta1, adam_beta2);
  check(adam_epsilon > 0, "train: adam_epsilon is {}; it must lie above 0", adam_epsilon);
  check(max_grad_norm >= 0, "train: max_grad_norm is {}; it must be at least 0", max_grad_norm);
  check(validation_split > 0 && validation_split < 1, "train: validation_split is {}; it must lie between 0 and 1",
        validation_split);
  check(packing == "documents" || packing == "naive",
        "train: packing is \"{}\"; known are documents (each sees itself alone) and naive", packing);
  for (const double weight : data_weights) {
    check(weight > 0, "train: data_weights holds {}; weights must lie above 0", weight);
  }
  check(split == "tekken" || split == "gpt2" || split == "llama3",
        "train: split is \"{}\"; known are tekken, gpt2 and llama3", split);
  check(logging_steps > 0, "train: logging_steps is 0; it must be at least 1");
  check(profile.empty() || (profile_first_step > 0 && profile_steps > 0 && profile_steps <= 100),
        "train: profile_first_step {} must be at least 1 and profile_steps {} between 1 and 100", profile_first_step,
        profile_steps);
  check(threads <= 1024, "train: threads is {}; at most 1024", threads);
  matmul_precision();
}

kernels::MatMulPrecision TrainSettings::matmul_precision() const {
  const auto precision = kernels::matmul_precision_of(float32_matmul_precision);
  check(precision.has_value(), "train: float32_matmul_precision is \"{}\"; known are highest, high and medium",
        float32_matmul_precision);
  return *precision;
}

}  // namespace athanor::train
