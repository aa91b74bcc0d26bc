// The model that `bench train`, `explain` and `tune` take when the flags leave it open.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "cli/setting_flags.h"
#include "device/device.h"
#include "train/settings.h"

namespace athanor::cli {

/// The model of the flags, and of the variables below them; what they leave open is the small model of docs/benchmarks.md. Throws Error,
/// naming the command, for values that make no model. The batch may be left to the device (train::pick_batch).
train::TrainSettings bench_settings(const SettingFlags& flags, std::string_view command);

/// The same of layers, the lowest first.
train::TrainSettings bench_settings(std::span<const train::SettingLayer> layers, std::string_view command);

/// The settings that a step on random tokens depends on.
void add_step_flags(SettingFlags& flags, CLI::App& command);

/// The device that the settings name, with the user's shaders and table of choices, opened and named on stderr.
std::unique_ptr<device::Device> open_device_of(const train::TrainSettings& settings);

}  // namespace athanor::cli
