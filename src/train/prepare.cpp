// Text to tokens.
#include "train/prepare.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "data/text_files.h"
#include "data/tokenizer_training.h"

#include <bit>

namespace athanor::train {

namespace fs = std::filesystem;

namespace {

int64_t total_bytes(const data::TextFiles& files) {
  int64_t bytes = 0;
  for (const fs::path& path : files.paths) bytes += static_cast<int64_t>(fs::file_size(path));
  return bytes;
}

data::TextFiles find_files(const std::vector<std::string>& inputs) {
  const data::TextFiles files = data::find_text_files({inputs.begin(), inputs.end()});
  const std::string skipped = files.skipped_text();
  if (!skipped.empty()) log_info("{}", skipped);
  return files;
}

data::Tokenizer tokenizer_for(const TrainSettings& settings, const data::TextFiles& files) {
  if (!settings.tokenizer.empty()) return data::Tokenizer::load(settings.tokenizer);
  data::TokenizerTraining options;
  options.vocab_size = settings.vocab_size > 0 ? settings.vocab_size : automatic_vocab_size(total_bytes(files));
  options.split = data::split_from_name(settings.split);
  options.threads = static_cast<int>(settings.threads);
  log_info("training a tokenizer of {} entries on {} files, {:.1f} MB", options.vocab_size, files.paths.size(),
           static_cast<double>(total_bytes(files)) * 1e-6);
  return data::train_tokenizer(data::document_source(files, settings.encoding), options);
}

data::TokenData encode_files(const TrainSettings& settings, const data::TextFiles& files,
                             const data::Tokenizer& tokenizer) {
  return data::encode_documents(data::document_source(files, settings.encoding), tokenizer,
                                static_cast<int>(settings.threads));
}

std::optional<data::TokenData> read_validation(const TrainSettings& settings, const data::Tokenizer& tokenizer) {
  if (settings.validation_data.empty()) return std::nullopt;
  if (data::is_token_file(settings.validation_data)) return data::TokenData::open(settings.validation_data);
  return encode_files(settings, find_files({settings.validation_data}), tokenizer);
}

bool is_single_token_file(const TrainSettings& settings) {
  return settings.data.size() == 1 && fs::is_regular_file(settings.data.front()) &&
         data::is_token_file(settings.data.front());
}

PreparedData open_token_file(const TrainSettings& settings) {
  data::TokenData tokens = data::TokenData::open(settings.data.front());
  check(tokens.tokenizer() || !settings.tokenizer.empty(),
        "{}: holds no tokenizer; name it with --tokenizer tokenizer.json", settings.data.front());
  data::Tokenizer tokenizer = tokens.tokenizer() ? *tokens.tokenizer() : data::Tokenizer::load(settings.tokenizer);
  check(tokens.vocab_size() <= tokenizer.vocab_size(),
        "{}: holds ids up to {} but {} has {} entries; they do not belong together", settings.data.front(),
        tokens.vocab_size() - 1, settings.tokenizer, tokenizer.vocab_size());
  std::optional<data::TokenData> validation = read_validation(settings, tokenizer);
  return {std::move(tokens), std::move(validation), std::move(tokenizer), false};
}

}  // namespace

int64_t automatic_vocab_size(int64_t text_bytes) {
  constexpr int64_t kSmallest = 512;
  constexpr int64_t kLargest = 32768;
  const int64_t megabytes = std::max<int64_t>(1, text_bytes >> 20);
  return std::min(kLargest, kSmallest * static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(megabytes))));
}

PreparedData prepare_data(const TrainSettings& settings) {
  if (is_single_token_file(settings)) return open_token_file(settings);
  for (const std::string& path : settings.data) {
    check(!fs::is_regular_file(path) || !data::is_token_file(path),
          "{}: is a token file; pass it alone, not among texts", path);
  }
  const data::TextFiles files = find_files(settings.data);
  data::Tokenizer tokenizer = tokenizer_for(settings, files);
  data::TokenData tokens = encode_files(settings, files, tokenizer);
  log_info("{} documents, {} tokens of {} entries", tokens.num_documents(), tokens.num_tokens(),
           tokenizer.vocab_size());
  std::optional<data::TokenData> validation = read_validation(settings, tokenizer);
  return {std::move(tokens), std::move(validation), std::move(tokenizer), true};
}

PreparedData reopen_data(const TrainSettings& settings, const RunFolder& run) {
  if (!fs::exists(run.tokens())) return prepare_data(settings);
  data::TokenData tokens = data::TokenData::open(run.tokens());
  check(tokens.tokenizer().has_value(), "{}: holds no tokenizer; the file was altered", run.tokens().string());
  data::Tokenizer tokenizer = *tokens.tokenizer();
  std::optional<data::TokenData> validation;
  if (fs::exists(run.validation_tokens())) validation = data::TokenData::open(run.validation_tokens());
  return {std::move(tokens), std::move(validation), std::move(tokenizer), true};
}

void save_data(const PreparedData& data, const RunFolder& run) {
  if (!data.is_from_text) return;
  data::write_token_file(run.tokens(), data.tokens);
  if (data.validation) data::write_token_file(run.validation_tokens(), *data.validation);
}

std::string hash_of(const PreparedData& data) { return hash_hex(data.tokens.bytes()); }

}  // namespace athanor::train
