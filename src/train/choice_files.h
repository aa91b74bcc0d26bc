// Tables of what was measured on an adapter (device/choices.h) as files: the user's, written by `athanor tune`; those shipped with athanor;
// and the copy in a run's folder, which the run uses to its end.
#pragma once

#include "device/choices.h"
#include "device/device.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace athanor::train {

struct ChoiceFile {
  std::string adapter;
  std::string driver;
  std::string library;
  std::string shaders;  // kernels::shaders_digest() of the build that measured
  device::ChoiceTable table;
};

/// JSON. Answers for kernels that are not there are left out, with a line of debug. Throws Error, with source and place, for what is no such
/// file. That an answer fits a launch is seen when its launcher asks.
ChoiceFile parse_choices(std::string_view text, std::string_view source);
ChoiceFile read_choices(const std::filesystem::path& path);
std::string choices_text(const ChoiceFile& file);
/// A hash of the answers, by which a run knows its table again: empty for a table without any.
std::string digest_of(const device::ChoiceTable& table);
/// What is measured on this device by this build.
ChoiceFile choices_on(const device::DeviceInfo& info, device::ChoiceTable table);

/// The user's file for an adapter with its driver and WebGPU library; folder: empty is cache_folder() / "choices".
std::filesystem::path choices_path(const device::DeviceInfo& info, const std::filesystem::path& folder = {});

/// The table for this device: the user's, else the shipped one of the adapter, else an empty one. A user's file that is damaged is left
/// alone with a warning, one of other shaders with a line that says so. nullptr for the CPU.
std::shared_ptr<const device::ChoiceTable> known_choices(const device::DeviceInfo& info,
                                                         const std::filesystem::path& folder = {});

/// What a setting names: a file, or "none" for a table without answers.
ChoiceFile named_choices(const std::string& named);
/// Lets the device use it; empty leaves the device's. The CPU has no use for tables, but the file has to be one there too.
void use_named_choices(device::Device& device, const std::string& named);

/// The texts of src/train/tuned/*.json. Written by the build.
struct ShippedChoices {
  std::string_view name;
  std::string_view text;
};
std::vector<ShippedChoices> shipped_choices();

/// Of shipped files that were measured with these shaders (kernels::shaders_digest()) the one whose adapter is the longest that stands in
/// the device's name; empty when there is none. With other shaders other forms may be the faster ones.
device::ChoiceTable shipped_table(const std::vector<ShippedChoices>& shipped, std::string_view adapter,
                                  std::string_view shaders);

}  // namespace athanor::train
