// Text files to one token file.
#include "cli/data_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/data_show_command.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "data/encode.h"

namespace athanor::cli {

namespace {

struct PrepareOptions {
  std::string tokenizer;
  data::TextOptions text;
  std::string output;
  int threads = 0;
  bool force = false;
  bool json = false;
  std::vector<std::string> inputs;
};

nlohmann::ordered_json report_of(const std::string& file, const data::TokenData& data) {
  nlohmann::ordered_json report{{"file", file},
                                {"tokens", data.num_tokens()},
                                {"documents", data.num_documents()},
                                {"dtype", name_of(data.dtype())},
                                {"vocab_size", data.vocab_size()}};
  if (data.tokenizer()) report["split"] = data::name_of(data.tokenizer()->split());
  report["sources"] = nlohmann::ordered_json::array();
  for (const data::TokenSource& source : data.sources()) {
    report["sources"].push_back({{"name", source.name}, {"documents", source.documents}});
  }
  return report;
}

void prepare(const PrepareOptions& options) {
  check_output_file(options.output, options.force, options.inputs);
  const data::Tokenizer tokenizer = data::Tokenizer::load(options.tokenizer);
  const data::TextFiles files = data::find_text_files(to_paths(options.inputs));
  if (const std::string skipped = files.skipped_text(); !skipped.empty()) log_info("{}", skipped);
  const data::EncodedTexts encoded =
      data::encode_to_file(files, options.text, tokenizer, options.threads, options.output);
  if (encoded.empty_documents > 0) log_info("left out as empty: {}", counted(encoded.empty_documents, "document"));
  const data::TokenData tokens = data::TokenData::open(options.output);
  if (options.json) {
    nlohmann::ordered_json report = report_of(options.output, tokens);
    report["text_bytes"] = encoded.text_bytes;
    report["empty_documents"] = encoded.empty_documents;
    write_output(report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  write_output(fmt::format("{}: {} in {}, {:.2f} bytes a token\n", options.output,
                           counted(tokens.num_tokens(), "token"), counted(tokens.num_documents(), "document"),
                           static_cast<double>(encoded.text_bytes) / static_cast<double>(tokens.num_tokens())));
}

void add_prepare(CLI::App& parent) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* command = parent.add_subcommand("prepare", "Text files and folders to one token file");
  command->footer("Example:\n  athanor data prepare -t tokenizer.json -o tokens.safetensors plays/ speeches.txt");
  command->add_option("-t,--tokenizer", options->tokenizer, "The tokenizer.json")->required();
  command->add_option("-o,--output", options->output, "The token file to write")->required();
  command->add_option("--text-field", options->text.text_field, "Field of a .jsonl file's lines that holds the text");
  command->add_option("--encoding", options->text.encoding,
                      "Encoding of the text when it is not UTF-8, as iconv names it");
  command->add_option("--threads", options->threads, "Threads; 0: all");
  command->add_flag("--force", options->force, "Replace the output when it exists");
  command->add_flag("--json", options->json, "Report as JSON");
  command
      ->add_option("FILE", options->inputs,
                   "Text files and folders: a document each file, of .jsonl each line; .gz and .zst are unpacked")
      ->required();
  read_environment(*command);
  command->callback([options] { prepare(*options); });
}

}  // namespace

void add_data_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Prepare token files from text, look at data before training on it");
  command->require_subcommand(1);
  add_prepare(*command);
  add_data_show_command(*command);
}

}  // namespace athanor::cli
