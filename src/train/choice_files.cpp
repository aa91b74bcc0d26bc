// Hostile files give an Error or a table whose odd answers no launcher takes.
#include "train/choice_files.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "kernels/kernel_info.h"
#include "kernels/tuner.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

constexpr int kVersion = 1;
constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kMostChoices = 20000;
constexpr size_t kLongestName = 64;
constexpr int64_t kLargestSize = int64_t{1} << 40;

std::string text_at(const nlohmann::json& object, const char* key, std::string_view source) {
  const auto found = object.find(key);
  check(found != object.end() && found->is_string(), "{}: \"{}\" is missing or no text", source, key);
  return found->get<std::string>();
}

device::KnownChoice choice_at(const nlohmann::json& object, const std::string& place) {
  check(object.is_object(), "{}: is no object", place);
  device::KnownChoice known{text_at(object, "kernel", place), text_at(object, "what", place), {}, ""};
  const auto sizes = object.find("sizes");
  check(sizes != object.end() && sizes->is_array() && sizes->size() == known.sizes.size(),
        "{}: \"sizes\" are not {} numbers", place, known.sizes.size());
  for (size_t i = 0; i < known.sizes.size(); ++i) {
    const nlohmann::json& size = (*sizes)[i];
    check(size.is_number_unsigned() && size.get<uint64_t>() >= 1 && size.get<uint64_t>() <= kLargestSize,
          "{}: a size is no number from 1 to 2^40", place);
    known.sizes[i] = size.get<int64_t>();
  }
  const auto take = object.find("take");
  check(take != object.end() && (take->is_string() || take->is_number_unsigned()),
        "{}: \"take\" is neither a name nor a number", place);
  known.answer = take->is_string() ? take->get<std::string>() : fmt::format("{}", take->get<uint64_t>());
  check(std::max({known.kernel.size(), known.what.size(), known.answer.size()}) <= kLongestName,
        "{}: a name is longer than {} bytes", place, kLongestName);
  return known;
}

nlohmann::json parsed(std::string_view text, std::string_view source) {
  check(text.size() <= kMostBytes, "{}: {} bytes are no table of choices, which has at most {}", source, text.size(),
        kMostBytes);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    fail("{}: is no JSON: {}", source, error.what());
  }
}

}  // namespace

ChoiceFile parse_choices(std::string_view text, std::string_view source) {
  const nlohmann::json object = parsed(text, source);
  check(object.is_object() && object.value("version", nlohmann::json()) == kVersion,
        "{}: is no table of choices of version {}", source, kVersion);
  ChoiceFile file{text_at(object, "adapter", source),
                  text_at(object, "driver", source),
                  text_at(object, "library", source),
                  text_at(object, "shaders", source),
                  {}};
  const auto choices = object.find("choices");
  check(choices != object.end() && choices->is_array() && choices->size() <= kMostChoices,
        "{}: \"choices\" are missing, no list, or more than {}", source, kMostChoices);
  std::set<std::string> kernels;
  for (const kernels::KernelInfo& kernel : kernels::all_kernels()) kernels.insert(kernel.name);
  for (size_t i = 0; i < choices->size(); ++i) {
    const device::KnownChoice known = choice_at((*choices)[i], fmt::format("{}: choice {}", source, i + 1));
    if (kernels.contains(known.kernel)) {
      file.table.set(known);
    } else {
      log_debug("{}: there is no kernel {}; its choice is left out", source, known.kernel);
    }
  }
  return file;
}

ChoiceFile read_choices(const fs::path& path) {
  const MappedFile mapped(path);
  return parse_choices({reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()}, path.string());
}

std::string choices_text(const ChoiceFile& file) {
  nlohmann::ordered_json object;
  object["version"] = kVersion;
  object["adapter"] = file.adapter;
  object["driver"] = file.driver;
  object["library"] = file.library;
  object["shaders"] = file.shaders;
  // A line a choice: these files are read and compared by people.
  std::string text = object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(text.size() - 2);
  text += ",\n  \"choices\": [";
  std::string_view before = "\n";
  for (const device::KnownChoice& known : file.table.all()) {
    nlohmann::ordered_json line;
    line["kernel"] = known.kernel;
    line["what"] = known.what;
    line["sizes"] = known.sizes;
    line["take"] = known.answer;
    text += fmt::format("{}    {}", before, line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    before = ",\n";
  }
  return text + (file.table.is_empty() ? "]\n}\n" : "\n  ]\n}\n");
}

std::string digest_of(const device::ChoiceTable& table) {
  if (table.is_empty()) return "";
  std::string text;
  for (const device::KnownChoice& known : table.all()) {
    text += nlohmann::json({known.kernel, known.what, known.sizes, known.answer})
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
            "\n";
  }
  return hash_hex(std::as_bytes(std::span(text)));
}

ChoiceFile choices_on(const device::DeviceInfo& info, device::ChoiceTable table) {
  return {info.name, info.driver, info.library, kernels::shaders_digest(), std::move(table)};
}

fs::path choices_path(const device::DeviceInfo& info, const fs::path& folder) {
  const std::string key = fmt::format("{}\n{}\n{}", info.name, info.driver, info.library);
  return (folder.empty() ? cache_folder() / "choices" : folder) / (hash_hex(std::as_bytes(std::span(key))) + ".json");
}

device::ChoiceTable shipped_table(const std::vector<ShippedChoices>& shipped, std::string_view adapter,
                                  std::string_view shaders) {
  ChoiceFile best;
  for (const ShippedChoices& file : shipped) {
    ChoiceFile read = parse_choices(file.text, file.name);
    if (read.shaders == shaders && adapter.find(read.adapter) != std::string_view::npos &&
        read.adapter.size() > best.adapter.size())
      best = std::move(read);
  }
  return std::move(best.table);
}

ChoiceFile named_choices(const std::string& named) { return named == "none" ? ChoiceFile() : read_choices(named); }

void use_named_choices(device::Device& device, const std::string& named) {
  if (named.empty()) return;
  device::ChoiceTable table = named_choices(named).table;
  if (device.info().backend == device::Backend::Cpu) return;
  kernels::use_choices(device.stream(), std::make_shared<const device::ChoiceTable>(std::move(table)));
}

std::shared_ptr<const device::ChoiceTable> known_choices(const device::DeviceInfo& info, const fs::path& folder) {
  if (info.backend == device::Backend::Cpu) return nullptr;
  const fs::path path = choices_path(info, folder);
  std::error_code none;
  if (fs::exists(path, none)) {
    try {
      ChoiceFile file = read_choices(path);
      if (file.shaders == kernels::shaders_digest()) {
        log_debug("{}: {} choices of {}", path.string(), file.table.size(), info.name);
        return std::make_shared<const device::ChoiceTable>(std::move(file.table));
      }
      log_info("{}: was measured with other shaders and is not used; athanor tune measures again", path.string());
    } catch (const std::exception& damaged) {
      log_warning("{}; it is not used: athanor tune makes it anew, athanor tune --forget removes it", damaged.what());
    }
  }
  device::ChoiceTable shipped = shipped_table(shipped_choices(), info.name, kernels::shaders_digest());
  if (!shipped.is_empty()) log_debug("{}: {} choices shipped with athanor", info.name, shipped.size());
  return std::make_shared<const device::ChoiceTable>(std::move(shipped));
}

}  // namespace athanor::train
