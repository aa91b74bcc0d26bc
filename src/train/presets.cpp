// The tables of presets.
#include "train/presets.h"

#include "base/error.h"
#include "train/setting_error.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace athanor::train {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Preset {
  std::string_view name;
  Pairs values;
};

Pairs model(int64_t vocabulary, int64_t width, int64_t feed_forward, int64_t layers, int64_t heads, int64_t context) {
  return {{"vocab_size", fmt::format("{}", vocabulary)},
          {"model_config.hidden_size", fmt::format("{}", width)},
          {"model_config.intermediate_size", fmt::format("{}", feed_forward)},
          {"model_config.num_hidden_layers", fmt::format("{}", layers)},
          {"model_config.num_attention_heads", fmt::format("{}", heads)},
          {"model_config.num_key_value_heads", fmt::format("{}", heads)},
          {"model_config.head_dim", fmt::format("{}", width / heads)},
          {"model_config.max_position_embeddings", fmt::format("{}", context)},
          {"model_config.tie_word_embeddings", "true"}};
}

Pairs operator+(Pairs all, Pairs more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::array<Preset, 4>& presets() {
  static const std::array<Preset, 4> all{{
      // The demo's model.
      {"tiny", model(2048, 128, 512, 4, 4, 256) +
                   Pairs{{"batch_tokens", "2048"}, {"learning_rate", "0.003"}, {"warmup_steps", "60"}}},
      // The small model of docs/benchmarks.md with a vocabulary for some megabytes of text.
      {"small", model(4096, 256, 1024, 4, 4, 256) +
                    Pairs{{"batch_tokens", "8192"}, {"learning_rate", "0.002"}, {"warmup_steps", "100"}}},
      // Shape and schedule of llama2.c's stories15M.
      {"llama-15m", model(32000, 288, 768, 6, 6, 256) + Pairs{{"batch_tokens", "131072"},
                                                              {"learning_rate", "0.0005"},
                                                              {"warmup_steps", "1000"},
                                                              {"adam_beta2", "0.95"}}},
      // The size of GPT-3 small, with its rate (Brown et al. 2020, arXiv:2005.14165, table 2.1) and its half a million tokens a step.
      {"llama-138m", model(32000, 768, 3072, 12, 12, 1024) + Pairs{{"batch_tokens", "524288"},
                                                                   {"learning_rate", "0.0006"},
                                                                   {"warmup_steps", "700"},
                                                                   {"adam_beta2", "0.95"}}},
  }};
  return all;
}

SettingLayer layer_of(const Pairs& pairs, const std::string& source) {
  SettingLayer layer;
  for (const auto& [key, value] : pairs) layer.push_back({key, {value}, source});
  return layer;
}

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

SettingLayer preset_values(std::string_view name, std::string_view source) {
  std::string known;
  for (const Preset& preset : presets()) {
    if (preset.name == name) return layer_of(preset.values, fmt::format("preset {}", name));
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  fail("{}: there is no preset \"{}\"; known are {}", source, name, known);
}

SettingLayer depth_values(int64_t depth) {
  constexpr int64_t kDeepest = 64;
  constexpr int64_t kHead = 64;
  check_setting(depth >= 1 && depth <= kDeepest, "depth is {}; it must lie between 1 and {}", depth, kDeepest);
  const int64_t width = kHead * depth;
  const int64_t feed_forward = (width * 8 / 3 + 31) / 32 * 32;
  const int64_t context = depth <= 4 ? 256 : depth <= 8 ? 512 : 1024;
  const auto weights = static_cast<double>(depth * (4 * width * width + 3 * width * feed_forward));
  const double compute = 6 * weights * 20 * weights;
  const double rate = 0.3118 * std::pow(compute, -0.125);
  const double batch = 0.2920 * std::pow(compute, 0.3271);
  Pairs values = model(0, width, feed_forward, depth, depth, context);
  values.erase(values.begin());  // the vocabulary is left to the text
  values = values + Pairs{{"batch_tokens", fmt::format("{}", std::bit_floor(static_cast<uint64_t>(batch)))},
                          {"learning_rate", fmt::format("{:.2g}", rate)},
                          {"adam_beta2", "0.95"}};
  return layer_of(values, fmt::format("depth {}", depth));
}

}  // namespace athanor::train
