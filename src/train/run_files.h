// What a run takes into its folder of the files that it was given: the user's shaders and the table of choices. config.yaml names them
// relative to itself, so that a run which is moved or copied takes its own.
#pragma once

#include "train/choice_files.h"
#include "train/run_folder.h"
#include "train/setting_layers.h"

#include <optional>
#include <string>

namespace athanor::train {

/// The user's shaders move into the run, so that it repeats whatever becomes of the files it was given; settings name the copies.
void keep_kernel_files(const RunFolder& run, TrainSettings& settings);

/// The table that a run computes with: of a new one what its settings name, nothing where they leave it to the device; of one that has begun
/// the copy in its folder, or an empty table where it began with none. Throws Error for files that are missing or no tables, and where
/// the settings of a run that has begun name another table than its own.
std::optional<ChoiceFile> choices_of_run(const RunFolder& run, const TrainSettings& settings, bool has_begun);

/// Lets the device use the table, or where there is none its own, and gives back what is used; nothing on the CPU without answers.
std::optional<ChoiceFile> use_choices(device::Device& device, std::optional<ChoiceFile> table);

/// digest_of what the device uses, as checkpoints record it; nothing on the CPU.
std::optional<std::string> choices_digest(device::Stream& stream);

/// Forms that a table chooses differ in the last bits: throws Error when the checkpoint at `where` was made with another table than the
/// device uses now. A run that was told to go on without its table does so with a warning; without a digest nothing is known.
void check_choices(const RunFolder& run, const TrainSettings& settings, device::Stream& stream,
                   const std::optional<std::string>& of_checkpoint, std::string_view where);

/// The table moves into a run that begins; settings name the copy, or none where the table is empty. Throws Error when another table lies
/// there.
void keep_choices(const RunFolder& run, TrainSettings& settings, const std::optional<ChoiceFile>& table,
                  bool has_begun);

/// What is wrong with the run's copy, for which it cannot go on; empty when there is nothing, or no copy.
std::string fault_of_choices(const RunFolder& run);

/// The text of config.yaml.
std::string config_of_run(const RunFolder& run, TrainSettings settings);

/// For resuming: the run's own config.yaml, over which the settings file and flags are laid again. What it names of the run's files is
/// taken from the run's folder. Nothing when there is none. Throws Error for a file that cannot be read or holds nothing.
std::optional<SettingLayer> layer_of_run(const RunFolder& run);
/// The settings that it gives.
std::optional<TrainSettings> settings_of_run(const RunFolder& run);

}  // namespace athanor::train
