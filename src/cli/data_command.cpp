// Text files to one token file, and what is in a token file.
#include "cli/data_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "data/text_files.h"
#include "data/token_file.h"

namespace athanor::cli {

namespace {

struct PrepareOptions {
  std::string tokenizer;
  std::string encoding;
  std::string output;
  int threads = 0;
  bool force = false;
  bool json = false;
  std::vector<std::string> inputs;
};

struct ShowOptions {
  std::string file;
  bool json = false;
};

nlohmann::ordered_json report_of(const std::string& file, const data::TokenData& data) {
  nlohmann::ordered_json report{{"file", file},
                                {"tokens", data.num_tokens()},
                                {"documents", data.num_documents()},
                                {"dtype", name_of(data.dtype())},
                                {"vocab_size", data.vocab_size()}};
  if (data.tokenizer()) report["split"] = data::name_of(data.tokenizer()->split());
  return report;
}

void prepare(const PrepareOptions& options) {
  check_output_file(options.output, options.force, options.inputs);
  const data::Tokenizer tokenizer = data::Tokenizer::load(options.tokenizer);
  const data::TextFiles files = data::find_text_files(to_paths(options.inputs));
  if (const std::string skipped = files.skipped_text(); !skipped.empty()) log_info("{}", skipped);
  int64_t text_bytes = 0;
  const data::DocumentSource texts = data::document_source(files, options.encoding);
  const data::DocumentSource counted = [&]() -> std::optional<std::string> {
    std::optional<std::string> text = texts();
    if (text) text_bytes += static_cast<int64_t>(text->size());
    return text;
  };
  const data::TokenData tokens = data::encode_documents(counted, tokenizer, options.threads);
  data::write_token_file(options.output, tokens);
  if (options.json) {
    nlohmann::ordered_json report = report_of(options.output, tokens);
    report["text_bytes"] = text_bytes;
    write_output(report.dump() + "\n");
    return;
  }
  write_output(fmt::format("{}: {} tokens in {} document{}, {:.2f} bytes a token\n", options.output,
                           tokens.num_tokens(), tokens.num_documents(), tokens.num_documents() == 1 ? "" : "s",
                           static_cast<double>(text_bytes) / static_cast<double>(tokens.num_tokens())));
}

void show(const ShowOptions& options) {
  const data::TokenData data = data::TokenData::open(options.file);
  if (options.json) {
    write_output(report_of(options.file, data).dump() + "\n");
    return;
  }
  std::string out =
      fmt::format("{}: tokens\n  tokens        {} ({})\n  documents     {}\n  vocabulary    {}\n", options.file,
                  data.num_tokens(), name_of(data.dtype()), data.num_documents(), data.vocab_size());
  if (const std::optional<data::Tokenizer>& tokenizer = data.tokenizer()) {
    constexpr int64_t kShownTokens = 24;
    std::vector<uint32_t> first(static_cast<size_t>(std::min(kShownTokens, data.num_tokens())));
    data.read(0, first);
    data::StreamDecoder decoder(*tokenizer);
    std::string text;
    for (uint32_t id : first) text += decoder.push(id);
    // As a JSON string, so that control characters do no harm to the terminal.
    out += fmt::format("  split         {}\n  begins        {}\n", data::name_of(tokenizer->split()),
                       nlohmann::json(text).dump());
  } else {
    out += "  tokenizer     not in the file (nanoGPT's raw u16)\n";
  }
  write_output(out);
}

void add_prepare(CLI::App& parent) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App* command = parent.add_subcommand("prepare", "Text files and folders to one token file");
  command->footer("Example:\n  athanor data prepare -t tokenizer.json -o tokens.safetensors plays/ speeches.txt");
  command->add_option("-t,--tokenizer", options->tokenizer, "The tokenizer.json")->required();
  command->add_option("-o,--output", options->output, "The token file to write")->required();
  command->add_option("--encoding", options->encoding, "Encoding of the text when it is not UTF-8, as iconv names it");
  command->add_option("--threads", options->threads, "Threads; 0: all");
  command->add_flag("--force", options->force, "Replace the output when it exists");
  command->add_flag("--json", options->json, "Report as JSON");
  command->add_option("FILE", options->inputs, "Text files and folders; each file is one document")->required();
  read_environment(*command);
  command->callback([options] { prepare(*options); });
}

void add_show(CLI::App& parent) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = parent.add_subcommand("show", "What is in a token file");
  command->footer("Example:\n  athanor data show tokens.safetensors");
  command->add_option("FILE", options->file, "The token file")->required();
  command->add_flag("--json", options->json, "As JSON");
  read_environment(*command);
  command->callback([options] { show(*options); });
}

}  // namespace

void add_data_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("data", "Prepare token files from text, show them");
  command->require_subcommand(1);
  add_prepare(*command);
  add_show(*command);
}

}  // namespace athanor::cli
