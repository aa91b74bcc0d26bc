// Named sizes of a run, and one dial for all of them: values of settings that stand below everything that is said.
#pragma once

#include "train/setting_layers.h"

namespace athanor::train {

/// The names of all presets, the smallest first.
std::vector<std::string> preset_names();

/// "tiny", "small", "llama-15m", "llama-138m". Throws Error with the known names for another; `source` is who asks, in its words.
SettingLayer preset_values(std::string_view name, std::string_view source = "train");

/// A model of `depth` blocks of width 64 * depth, with heads of 64, a feed-forward of 8/3 of the width and 256 to 1024 tokens of context.
/// Learning rate and tokens a step are those that DeepSeek-AI fitted to the compute of a run (arXiv:2401.02954, section 3.1), here of 20
/// tokens for each weight of the blocks (Hoffmann et al. 2022, arXiv:2203.15556). Throws Error outside 1 to 64.
SettingLayer depth_values(int64_t depth);

}  // namespace athanor::train
