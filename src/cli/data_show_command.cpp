// The data are prepared as `train` would, into a folder of their own that is removed at the end.
#include "cli/data_show_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/os_file.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/scratch_folder.h"
#include "cli/train_inputs.h"
#include "data/data_report.h"
#include "train/batch_size.h"
#include "train/prepare.h"
#include "train/session.h"

namespace athanor::cli {

namespace {

namespace fs = std::filesystem;

constexpr double kTokensAWeight = 20;    // gives the best loss for the compute: Hoffmann et al. 2022, arXiv:2203.15556
constexpr double kUsefulEpochs = 4;      // more gain little: Muennighoff et al. 2023, arXiv:2305.16264
constexpr double kShareOfCopies = 0.01;  // of the tokens, from which they are worth removing

struct ShowArguments {
  std::vector<std::string> inputs;
  int64_t rows = 3;
  bool json = false;
  SettingFlags flags;
};

/// A stretch of a row that belongs to one document.
struct Segment {
  int64_t begin = 0;
  int64_t end = 0;
  std::string text;
};

struct Verdict {
  std::string input;
  data::DataReport report;
  DType dtype = DType::U16;
  int64_t vocab_size = 0;
  std::string split;  // empty without a tokenizer
  std::vector<data::TokenSource> sources;
  std::vector<double> epochs;  // of each source with weights, of all without; empty when no steps are known
  int64_t text_bytes = 0;      // 0 when the tokens came from a file
  int64_t train_tokens = 0;    // without those kept for validation
  int64_t length = 0;
  int64_t rows_an_epoch = 0;
  int64_t max_steps = 0;
  int64_t tokens_a_step = 0;
  int64_t num_weights = 0;  // 0: no model was named
  std::string packing;
  std::vector<std::vector<Segment>> rows;
  std::vector<std::string> advice;

  double tokens_a_weight() const { return static_cast<double>(train_tokens) / static_cast<double>(num_weights); }
};

train::TrainSettings settings_of(const ShowArguments& arguments) {
  train::TrainSettings settings = settings_of(arguments.inputs, arguments.flags);
  check(!settings.data.empty(), "data show: no data; name text files, folders, a token file or a settings file");
  return settings;
}

/// The row as the model reads it: cut where documents meet, whether it sees across or not.
std::vector<Segment> segments_of(const data::Batch& row, const data::Tokenizer& tokenizer) {
  std::vector<Segment> segments;
  for (int64_t i = 0; i < row.length; ++i) {
    const bool begins = i == 0 || row.first_keys[static_cast<size_t>(i)] == i;
    if (begins) segments.push_back({i, i, ""});
    segments.back().text += tokenizer.token_bytes(row.tokens[static_cast<size_t>(i)]);
    segments.back().end = i + 1;
  }
  return segments;
}

/// Rows where no model says how long they are.
int64_t usual_length(int64_t tokens) {
  int64_t length = 256;
  while (length > 32 && tokens < 8 * length) length /= 2;
  return length;
}

void give_advice(Verdict& verdict) {
  const data::DataReport& report = verdict.report;
  const double copied = static_cast<double>(report.copied_tokens) / static_cast<double>(report.tokens);
  if (copied >= kShareOfCopies) {
    verdict.advice.push_back(
        fmt::format("{:.1f} % of the tokens are copies of other documents: leave them out", copied * 100));
  }
  if (report.longest <= verdict.length / 8) {
    verdict.advice.push_back(fmt::format(
        "all documents are much shorter than a row of {}: a smaller max_length loses nothing", verdict.length));
  }
  for (const double epochs : verdict.epochs) {
    if (epochs <= kUsefulEpochs) continue;
    verdict.advice.push_back(fmt::format("{:.1f} epochs: more than about {} gain little; give more text or fewer steps",
                                         epochs, kUsefulEpochs));
    break;
  }
  if (verdict.num_weights > 0 && verdict.tokens_a_weight() < 1) {
    verdict.advice.push_back("fewer tokens than weights: the model can learn the text by heart; take a smaller one");
  }
}

Verdict judge(train::TrainSettings settings, int64_t rows) {
  const ScratchFolder scratch("data-show");
  const train::PreparedData data = train::prepare_data(settings, train::RunFolder(scratch.path()));
  Verdict verdict;
  if (settings.model_config.hidden_size > 0) {
    train::complete_model(settings, data.tokenizer);
    verdict.num_weights = settings.model_config.num_weights();
  }
  if (settings.max_length == 0) settings.max_length = settings.model_config.max_position_embeddings;
  if (settings.max_length == 0) settings.max_length = usual_length(data.tokens.num_tokens());
  const int64_t step_rows = train::rows_of_step(settings);
  data::LoaderOptions options = train::loader_options(settings, data);
  verdict.packing = data::name_of(options.packing);
  options.packing = data::Packing::Documents;  // so that the boundaries are known
  const data::Loader loader(data.tokens, options);
  verdict.input = settings.data.front();
  verdict.report = data::examine(data.tokens);
  verdict.dtype = data.tokens.dtype();
  verdict.vocab_size = data.tokenizer.vocab_size();
  verdict.split = data::name_of(data.tokenizer.split());
  verdict.sources = data.tokens.sources();
  verdict.text_bytes = data.text_bytes;
  verdict.train_tokens = loader.train_tokens();
  verdict.length = settings.max_length;
  verdict.rows_an_epoch = loader.windows_per_epoch();
  verdict.max_steps = settings.max_steps;
  verdict.tokens_a_step = step_rows * settings.max_length;
  if (settings.max_steps > 0) verdict.epochs = loader.epochs_of(settings.max_steps * step_rows);
  for (int64_t row = 0; row < rows; ++row) {
    verdict.rows.push_back(segments_of(loader.batch(row, 1), data.tokenizer));
  }
  give_advice(verdict);
  return verdict;
}

nlohmann::ordered_json as_json(const Verdict& verdict) {
  const data::DataReport& report = verdict.report;
  nlohmann::ordered_json json{
      {"file", verdict.input},           {"tokens", report.tokens},          {"documents", report.documents},
      {"dtype", name_of(verdict.dtype)}, {"vocab_size", verdict.vocab_size}, {"split", verdict.split}};
  json["sources"] = nlohmann::ordered_json::array();
  for (const data::TokenSource& source : verdict.sources) {
    json["sources"].push_back({{"name", source.name}, {"documents", source.documents}});
  }
  if (verdict.text_bytes > 0) json["text_bytes"] = verdict.text_bytes;
  json["document_tokens"] = {{"shortest", report.shortest}, {"median", report.median}, {"longest", report.longest}};
  json["copies"] = report.copies;
  json["copied_tokens"] = report.copied_tokens;
  json["train_tokens"] = verdict.train_tokens;
  json["max_length"] = verdict.length;
  json["packing"] = verdict.packing;
  json["rows_an_epoch"] = verdict.rows_an_epoch;
  if (verdict.num_weights > 0) {
    json["weights"] = verdict.num_weights;
    json["tokens_a_weight"] = verdict.tokens_a_weight();
  }
  if (!verdict.epochs.empty()) json["epochs"] = verdict.epochs;
  json["advice"] = verdict.advice;
  json["rows"] = nlohmann::ordered_json::array();
  for (const std::vector<Segment>& row : verdict.rows) {
    nlohmann::ordered_json segments = nlohmann::ordered_json::array();
    for (const Segment& segment : row)
      segments.push_back({{"begin", segment.begin}, {"end", segment.end}, {"text", segment.text}});
    json["rows"].push_back(segments);
  }
  return json;
}

/// As a JSON string, so that control characters do no harm to the terminal.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void print_epochs(const Verdict& verdict) {
  for (size_t i = 0; i < verdict.epochs.size(); ++i) {
    print("  {:<14}{:.2f} times through {} in {} of {}\n", i == 0 ? "epochs" : "", verdict.epochs[i],
          verdict.epochs.size() == 1 ? "the text" : verdict.sources[i].name, counted(verdict.max_steps, "step"),
          counted(verdict.tokens_a_step, "token"));
  }
}

void print_verdict(const Verdict& verdict) {
  const data::DataReport& report = verdict.report;
  print("{}\n  tokens        {} ({}) of {} entries, split {}", verdict.input, report.tokens, name_of(verdict.dtype),
        verdict.vocab_size, verdict.split);
  if (verdict.text_bytes > 0) {
    print(", {:.2f} bytes a token", static_cast<double>(verdict.text_bytes) / static_cast<double>(report.tokens));
  }
  print("\n  documents     {} of {} to {} tokens, half of them of at most {}\n", report.documents, report.shortest,
        report.longest, report.median);
  if (verdict.sources.size() > 1) {
    for (const data::TokenSource& source : verdict.sources)
      print("    {:<12}{}\n", source.name, counted(source.documents, "document"));
  }
  print("  copies        {}, {}\n", counted(report.copies, "document"), counted(report.copied_tokens, "token"));
  print("  training      {}, {} of {} an epoch, packing {}\n", counted(verdict.train_tokens, "token"),
        counted(verdict.rows_an_epoch, "row"), verdict.length, verdict.packing);
  if (verdict.num_weights > 0) {
    print("  model         {} weights: {:.2f} tokens a weight ({} are usual)\n", verdict.num_weights,
          verdict.tokens_a_weight(), kTokensAWeight);
  } else {
    print("  model         one of {:.0f} weights would see {} tokens a weight in one epoch, as is usual\n",
          static_cast<double>(verdict.train_tokens) / kTokensAWeight, kTokensAWeight);
  }
  print_epochs(verdict);
  for (const std::string& advice : verdict.advice) print("  note          {}\n", advice);
  for (size_t row = 0; row < verdict.rows.size(); ++row) {
    print("row {} of training, a document a line:\n", row);
    for (const Segment& segment : verdict.rows[row]) {
      print("  {:>5} {:>5}  {}\n", segment.begin, segment.end, quoted(segment.text));
    }
  }
}

void show(const ShowArguments& arguments) {
  check(arguments.rows >= 0 && arguments.rows <= 1000, "data show: --rows is {}; it must lie between 0 and 1000",
        arguments.rows);
  const Verdict verdict = judge(settings_of(arguments), arguments.rows);
  if (arguments.json) {
    write_output(as_json(verdict).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    print_verdict(verdict);
  }
}

}  // namespace

void add_data_show_command(CLI::App& data) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = data.add_subcommand("show", "The verdict on text or tokens before training on them");
  command->add_option("INPUT", arguments->inputs, "Text files and folders, one token file, or a settings file (.yaml)");
  command->add_option("--rows", arguments->rows, "Rows of training to show, at most 1000");
  command->add_flag("--json", arguments->json, "As one JSON object");
  std::vector<std::string> names{"preset",
                                 "depth",
                                 "data_weights",
                                 "text_field",
                                 "packing",
                                 "encoding",
                                 "tokenizer",
                                 "vocab_size",
                                 "split",
                                 "validation_split",
                                 "validation_data",
                                 "max_steps",
                                 "batch_tokens",
                                 "per_device_train_batch_size",
                                 "max_length",
                                 "gradient_accumulation_steps",
                                 "seed",
                                 "threads"};
  for (const train::SettingKey& key : train::setting_keys()) {
    if (key.name.starts_with("model_config.")) names.push_back(key.name);
  }
  arguments->flags.add_only(*command, names);
  command->footer(
      "Examples:\n  athanor data show tokens.safetensors\n  athanor data show mytexts/ --model-config.hidden-size 256 "
      "--max-steps 1000\n  athanor data show settings.yaml --rows 10\nThe settings are those of `athanor train`: text "
      "is "
      "prepared as it would be there, in a temporary folder.");
  command->callback([arguments] { show(*arguments); });
}

}  // namespace athanor::cli
