// Text to tokens.
#include "train/prepare.h"

#include "base/counted.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "data/encode.h"
#include "data/text_files.h"
#include "data/tokenizer_training.h"
#include "train/setting_error.h"

#include <bit>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

data::TextFiles find_files(const std::vector<std::string>& inputs) {
  data::TextFiles files = data::find_text_files({inputs.begin(), inputs.end()});
  const std::string skipped = files.skipped_text();
  if (!skipped.empty()) log_info("{}", skipped);
  return files;
}

data::TextOptions text_options(const TrainSettings& settings) { return {settings.encoding, settings.text_field}; }

data::Tokenizer tokenizer_for(const TrainSettings& settings, const data::TextFiles& files) {
  if (!settings.tokenizer.empty()) return data::Tokenizer::load(settings.tokenizer);
  const int64_t text_bytes = files.text_bytes();
  data::TokenizerTraining options;
  options.vocab_size = settings.vocab_size > 0 ? settings.vocab_size : automatic_vocab_size(text_bytes);
  options.split = data::split_from_name(settings.split);
  options.threads = static_cast<int>(settings.threads);
  log_info("training a tokenizer of {} entries on {}, {:.1f} MB", options.vocab_size,
           counted(files.paths.size(), "file"), static_cast<double>(text_bytes) * 1e-6);
  return data::train_tokenizer(data::text_source(files, text_options(settings)), options);
}

data::EncodedTexts encode_files(const TrainSettings& settings, const data::TextFiles& files,
                                const data::Tokenizer& tokenizer, const fs::path& path) {
  const data::EncodedTexts encoded =
      data::encode_to_file(files, text_options(settings), tokenizer, static_cast<int>(settings.threads), path);
  if (encoded.empty_documents > 0) log_info("left out as empty: {}", counted(encoded.empty_documents, "document"));
  return encoded;
}

std::optional<data::TokenData> read_validation(const TrainSettings& settings, const data::Tokenizer& tokenizer,
                                               const RunFolder& run) {
  if (settings.validation_data.empty()) return std::nullopt;
  if (data::is_token_file(settings.validation_data)) return data::TokenData::open(settings.validation_data);
  encode_files(settings, find_files({settings.validation_data}), tokenizer, run.validation_tokens());
  return data::TokenData::open(run.validation_tokens());
}

bool is_single_token_file(const TrainSettings& settings) {
  return settings.data.size() == 1 && fs::is_regular_file(settings.data.front()) &&
         data::is_token_file(settings.data.front());
}

PreparedData open_token_file(const TrainSettings& settings, const RunFolder& run) {
  data::TokenData tokens = data::TokenData::open(settings.data.front());
  check(tokens.tokenizer() || !settings.tokenizer.empty(),
        "{}: holds no tokenizer; name it with --tokenizer tokenizer.json", settings.data.front());
  data::Tokenizer tokenizer = tokens.tokenizer() ? *tokens.tokenizer() : data::Tokenizer::load(settings.tokenizer);
  check(tokens.vocab_size() <= tokenizer.vocab_size(),
        "{}: holds ids up to {} but {} has {} entries; they do not belong together", settings.data.front(),
        tokens.vocab_size() - 1, settings.tokenizer, tokenizer.vocab_size());
  std::optional<data::TokenData> validation = read_validation(settings, tokenizer, run);
  return {std::move(tokens), std::move(validation), std::move(tokenizer), false, 0};
}

}  // namespace

int64_t automatic_vocab_size(int64_t text_bytes) {
  constexpr int64_t kSmallest = 512;
  constexpr int64_t kLargest = 32768;
  const int64_t megabytes = std::max<int64_t>(1, text_bytes >> 20);
  return std::min(kLargest, kSmallest * static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(megabytes))));
}

PreparedData prepare_data(const TrainSettings& settings, const RunFolder& run) {
  if (is_single_token_file(settings)) return open_token_file(settings, run);
  for (const std::string& path : settings.data) {
    check(!fs::is_regular_file(path) || !data::is_token_file(path),
          "{}: is a token file; pass it alone, not among texts", path);
  }
  check_setting(settings.data_weights.empty() || settings.data_weights.size() == settings.data.size(),
                "data_weights has {} numbers for {} of data; give one for each", settings.data_weights.size(),
                settings.data.size());
  const data::TextFiles files = find_files(settings.data);
  data::Tokenizer tokenizer = tokenizer_for(settings, files);
  const data::EncodedTexts encoded = encode_files(settings, files, tokenizer, run.tokens());
  data::TokenData tokens = data::TokenData::open(run.tokens());
  log_info("{}, {} of {} entries", counted(tokens.num_documents(), "document"), counted(tokens.num_tokens(), "token"),
           tokenizer.vocab_size());
  std::optional<data::TokenData> validation = read_validation(settings, tokenizer, run);
  return {std::move(tokens), std::move(validation), std::move(tokenizer), true, encoded.text_bytes};
}

data::LoaderOptions loader_options(const TrainSettings& settings, const PreparedData& data) {
  data::LoaderOptions options;
  options.length = settings.max_length;
  options.seed = settings.seed;
  options.validation_split = settings.validation_split;
  options.validation = data.validation;
  options.packing = data::packing_from_name(settings.packing);
  options.end_of_text = data.tokenizer.end_of_text();
  options.weights = settings.data_weights;
  return options;
}

PreparedData reopen_data(const TrainSettings& settings, const RunFolder& run) {
  if (!fs::exists(run.tokens())) return prepare_data(settings, run);
  data::TokenData tokens = data::TokenData::open(run.tokens());
  check(tokens.tokenizer().has_value(), "{}: holds no tokenizer; the file was altered", run.tokens().string());
  data::Tokenizer tokenizer = *tokens.tokenizer();
  std::optional<data::TokenData> validation;
  if (fs::exists(run.validation_tokens())) validation = data::TokenData::open(run.validation_tokens());
  return {std::move(tokens), std::move(validation), std::move(tokenizer), true, 0};
}

std::string hash_of(const PreparedData& data) { return hash_hex(data.tokens.bytes()); }

}  // namespace athanor::train
