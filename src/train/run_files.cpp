// The table of choices decides bits, so a run uses the one that it began with to its end, whatever was measured since.
#include "train/run_files.h"

#include "base/atomic_file.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/log.h"
#include "kernels/tuner.h"
#include "train/kernel_files.h"

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kWithoutTable =
    "go on with --choices none: by the launchers' own rules the last digits may differ";

ChoiceFile own_choices(const RunFolder& run) {
  try {
    return read_choices(run.choices());
  } catch (const Error& damaged) {
    fail("{}; put the file back, or remove it and {}", damaged.what(), kWithoutTable);
  }
}

ChoiceFile choices_of_begun_run(const RunFolder& run, const std::string& said) {
  const bool is_own = said == run.choices().string();
  if (!fs::exists(run.choices())) {
    check(!is_own, "{}: the table of choices that the run began with is missing; put the file back, or {}", said,
          kWithoutTable);
    return said.empty() ? ChoiceFile() : named_choices(said);
  }
  ChoiceFile own = own_choices(run);
  check(said.empty() || is_own || digest_of(named_choices(said).table) == digest_of(own.table),
        "{}: the run has this table of choices ({}) and uses it to its end, but the settings say choices: {}; leave "
        "--choices out to go on, or begin a run with that in another folder (-o)",
        run.choices().string(), counted(own.table.size(), "choice"), said);
  return own;
}

/// The file's name in the run's folder where the path is that; else the path.
std::string in_folder(const RunFolder& run, const fs::path& path) {
  if (path.empty()) return {};  // relative to "." it would be "."
  const fs::path inside = path.lexically_relative(run.path());
  return inside.empty() || inside.begin()->string() == ".." ? path.string() : inside.generic_string();
}

}  // namespace

void keep_kernel_files(const RunFolder& run, TrainSettings& settings) {
  for (std::string& line : settings.kernel) {
    const size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    const fs::path kept = run.kernel(name);
    const fs::path given = line.substr(equals + 1);
    line = name + "=" + kept.string();
    if (fs::exists(kept) && fs::equivalent(kept, given)) continue;
    fs::create_directories(kept.parent_path());
    const std::vector<device::KernelFile> read = read_kernel_files({name + "=" + given.string()});
    write_file(kept, read.front().text);
  }
}

std::optional<ChoiceFile> choices_of_run(const RunFolder& run, const TrainSettings& settings, bool has_begun) {
  if (has_begun) return choices_of_begun_run(run, settings.choices);
  if (settings.choices.empty()) return std::nullopt;
  return named_choices(settings.choices);
}

std::optional<ChoiceFile> use_choices(device::Device& device, std::optional<ChoiceFile> table) {
  if (device.info().backend == device::Backend::Cpu) {
    // Nothing to keep: settings that leave the table to the device still do so when they are repeated on a GPU.
    if (table && table->table.is_empty()) return std::nullopt;
    return table;
  }
  if (table) {
    kernels::use_choices(device.stream(), std::make_shared<const device::ChoiceTable>(table->table));
    return table;
  }
  return choices_on(device.info(), *kernels::choices_of(device.stream()));
}

std::optional<std::string> choices_digest(device::Stream& stream) {
  const std::shared_ptr<const device::ChoiceTable> table = kernels::choices_of(stream);
  return table ? std::optional(digest_of(*table)) : std::nullopt;
}

void check_choices(const RunFolder& run, const TrainSettings& settings, device::Stream& stream,
                   const std::optional<std::string>& of_checkpoint, std::string_view where) {
  const std::optional<std::string> here = choices_digest(stream);
  if (!here || !of_checkpoint || *here == *of_checkpoint) return;
  if (here->empty() && settings.choices == "none") {
    log_warning(
        "{}: was made with a table of choices; by the launchers' own rules the run goes on but not with the very same "
        "bits",
        where);
    return;
  }
  const auto named = [](const std::string& digest) {
    return digest.empty() ? "without a table of choices" : fmt::format("with the table of choices {}", digest);
  };
  const std::string source = settings.choices.empty() ? run.choices().string() : settings.choices;
  fail("{}: was made {}, but {} {}; put back what the run began with, or remove {} and {}", where,
       named(*of_checkpoint), source, here->empty() ? "is missing" : fmt::format("is table {}", *here),
       run.choices().string(), kWithoutTable);
}

void keep_choices(const RunFolder& run, TrainSettings& settings, const std::optional<ChoiceFile>& table,
                  bool has_begun) {
  if (!table) return;
  const bool is_there = fs::exists(run.choices());
  check(has_begun || !is_there || digest_of(read_choices(run.choices()).table) == digest_of(table->table),
        "{}: is there already and is another table than the run begins with; name it with --choices from another "
        "place, or choose another folder with -o",
        run.choices().string());
  settings.choices = table->table.is_empty() ? "none" : run.choices().string();
  if (!is_there && !table->table.is_empty()) write_file(run.choices(), choices_text(*table));
}

std::string fault_of_choices(const RunFolder& run) {
  try {
    if (fs::exists(run.choices())) own_choices(run);
    return "";
  } catch (const Error& fault) {
    return fault.what();
  }
}

std::string config_of_run(const RunFolder& run, TrainSettings settings) {
  settings.choices = in_folder(run, settings.choices);
  for (std::string& line : settings.kernel) {
    const size_t path = line.find('=') + 1;
    line = line.substr(0, path) + in_folder(run, line.substr(path));
  }
  return to_yaml(settings);
}

std::optional<SettingLayer> layer_of_run(const RunFolder& run) {
  if (!fs::exists(run.config())) return std::nullopt;
  SettingLayer layer = read_settings_file(run.config());
  check(
      !layer.empty(),
      "{}: holds no settings; put the file back, as a checkpoint's trainer_state.json has its text under \"settings\"",
      run.config().string());
  // An older version wrote paths from the working folder of its time.
  for (SettingValue& value : layer) {
    const bool names_table = value.key == "choices" && !value.values.front().empty() && value.values.front() != "none";
    if (names_table) value.values = {run.choices().string()};
    if (value.key != "kernel") continue;
    for (std::string& line : value.values) {
      const std::string name = line.substr(0, line.find('='));
      if (fs::exists(run.kernel(name))) line = name + "=" + run.kernel(name).string();
    }
  }
  return layer;
}

std::optional<TrainSettings> settings_of_run(const RunFolder& run) {
  const std::optional<SettingLayer> layer = layer_of_run(run);
  if (!layer) return std::nullopt;
  TrainSettings settings;
  apply_layers(settings, {&*layer, 1});
  return settings;
}

}  // namespace athanor::train
