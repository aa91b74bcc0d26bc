// Each subcommand keeps its options in a shared struct that its callback holds.
#include "cli/tokenizer_command.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/host.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "data/text_reader.h"
#include "data/tokenizer.h"
#include "data/tokenizer_training.h"

namespace athanor::cli {

namespace {

struct TrainOptions {
  data::TokenizerTraining training;
  std::string split = "tekken";
  std::string encoding;
  std::string text_field = "text";
  std::string output;
  bool force = false;
  bool json = false;
  std::vector<std::string> inputs;
};

struct CodeOptions {
  std::string tokenizer;
  std::string input = "-";
  bool parse_special = false;
  bool json = false;
};

void train(TrainOptions& options) {
  options.training.split = data::split_from_name(options.split);
  check_output_file(options.output, options.force, options.inputs);
  const data::TextFiles files = data::find_text_files(to_paths(options.inputs));
  if (const std::string skipped = files.skipped_text(); !skipped.empty()) log_info("{}", skipped);
  const double begin = now_seconds();
  const data::Tokenizer tokenizer =
      data::train_tokenizer(data::text_source(files, {options.encoding, options.text_field}), options.training);
  const double elapsed_s = now_seconds() - begin;
  write_file(options.output, tokenizer.to_json());
  if (options.json) {
    const nlohmann::ordered_json report{{"output", options.output},
                                        {"vocab_size", tokenizer.vocab_size()},
                                        {"split", options.split},
                                        {"documents", files.paths.size()},
                                        {"seconds", elapsed_s}};
    write_output(report.dump() + "\n");
    return;
  }
  write_output(fmt::format("{}: {} entries, split {}, from {} in {:.1f} s\n", options.output, tokenizer.vocab_size(),
                           options.split, counted(files.paths.size(), "document"), elapsed_s));
}

void encode(const CodeOptions& options) {
  const data::Tokenizer tokenizer = data::Tokenizer::load(options.tokenizer);
  const std::string bytes = read_input(options.input);
  const std::vector<uint32_t> ids =
      tokenizer.encode(bytes, {.parse_special = options.parse_special, .threads = available_threads()});
  write_output(options.json ? fmt::format("[{}]\n", fmt::join(ids, ",")) : fmt::format("{}\n", fmt::join(ids, " ")));
}

/// Numbers with spaces, commas or a JSON list's brackets between them.
std::vector<uint32_t> parse_ids(std::string_view text, const std::string& name) {
  std::vector<uint32_t> ids;
  for (size_t at = 0; at < text.size();) {
    if (std::string_view(" \t\r\n,[]").find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    uint32_t id = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    check(error == std::errc(), "tokenizer decode: {} has something other than token ids at offset {}", name, at);
    ids.push_back(id);
    at = static_cast<size_t>(end - text.data());
  }
  return ids;
}

void decode(const CodeOptions& options) {
  const data::Tokenizer tokenizer = data::Tokenizer::load(options.tokenizer);
  const std::string name = options.input == "-" ? "standard input" : options.input;
  write_output(tokenizer.decode(parse_ids(read_input(options.input), name)));
}

void show(const CodeOptions& options) {
  const data::Tokenizer tokenizer = data::Tokenizer::load(options.tokenizer);
  const data::TokenizerParts& parts = tokenizer.parts();
  nlohmann::ordered_json report{{"file", options.tokenizer},
                                {"vocab_size", tokenizer.vocab_size()},
                                {"split", data::name_of(parts.split)},
                                {"merges", parts.merges.size()},
                                {"ignore_merges", parts.ignore_merges}};
  report["added_tokens"] = nlohmann::ordered_json::array();
  for (const data::AddedToken& added : parts.added) {
    report["added_tokens"].push_back({{"id", added.id}, {"content", added.content}, {"special", added.special}});
  }
  if (options.json) {
    write_output(report.dump() + "\n");
    return;
  }
  std::string out =
      fmt::format("{}: byte-level BPE\n  vocabulary    {}\n  split         {}\n  merges        {}{}\n",
                  options.tokenizer, tokenizer.vocab_size(), data::name_of(parts.split), parts.merges.size(),
                  parts.ignore_merges ? " (ignored for pieces that are tokens)" : "");
  constexpr size_t kMostShown = 16;
  for (size_t i = 0; i < parts.added.size() && i < kMostShown; ++i) {
    out += fmt::format("  {}  {} = {}\n", parts.added[i].special ? "special     " : "added       ", parts.added[i].id,
                       parts.added[i].content);
  }
  if (parts.added.size() > kMostShown)
    out += fmt::format("  and {} more added tokens (--json lists all)\n", parts.added.size() - kMostShown);
  print("{}", out);
}

void add_train(CLI::App& parent) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = parent.add_subcommand("train", "Train a byte-level BPE on text files and folders");
  command->footer("Example:\n  athanor tokenizer train --vocab-size 2048 -o tokenizer.json plays/");
  command->add_option("--vocab-size", options->training.vocab_size, "Entries in all: special tokens, 256 bytes, merges")
      ->required();
  command->add_option("--split", options->split, "Splitting expression: tekken, gpt2 or llama3");
  command
      ->add_option("--special", options->training.special_tokens,
                   "Special tokens instead of <|endoftext|>, first ids first")
      ->allow_extra_args(false);
  command->add_option("--min-frequency", options->training.min_frequency, "A pair seen less often is not merged");
  command->add_option("--encoding", options->encoding, "Encoding of the text when it is not UTF-8, as iconv names it");
  command->add_option("--text-field", options->text_field, "Field of a .jsonl file's lines that holds the text");
  command->add_option("--threads", options->training.threads, "Threads; 0: all");
  command->add_option("-o,--output", options->output, "The tokenizer.json to write")->required();
  command->add_flag("--force", options->force, "Replace the output when it exists");
  command->add_flag("--json", options->json, "Report as JSON");
  command
      ->add_option("FILE", options->inputs,
                   "Text files and folders; .jsonl has a text a line; .gz and .zst are unpacked")
      ->required();
  read_environment(*command);
  command->callback([options] { train(*options); });
}

void add_code(CLI::App& parent, const char* name, const char* description, const char* footer, const char* input,
              void (*run)(const CodeOptions&)) {
  auto options = std::make_shared<CodeOptions>();
  CLI::App* command = parent.add_subcommand(name, description);
  command->footer(footer);
  command->add_option("-t,--tokenizer", options->tokenizer, "The tokenizer.json")->required();
  command->add_option("FILE", options->input, input);
  if (run == encode) {
    command->add_flag("--parse-special", options->parse_special, "Text that spells a special token becomes that token");
    command->add_flag("--json", options->json, "Ids as a JSON list");
  }
  read_environment(*command);
  command->callback([options, run] { run(*options); });
}

void add_show(CLI::App& parent) {
  auto options = std::make_shared<CodeOptions>();
  CLI::App* command = parent.add_subcommand("show", "What is in a tokenizer.json");
  command->footer("Example:\n  athanor tokenizer show tokenizer.json");
  command->add_option("FILE,-t,--tokenizer", options->tokenizer, "The tokenizer.json")->required();
  command->add_flag("--json", options->json, "As JSON");
  read_environment(*command);
  command->callback([options] { show(*options); });
}

}  // namespace

void add_tokenizer_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenizer", "Train a tokenizer, encode and decode with it, show it");
  command->require_subcommand(1);
  add_train(*command);
  add_code(*command, "encode", "Token ids of a file's bytes, on standard output",
           "Example:\n  athanor tokenizer encode -t tokenizer.json letter.txt", "The file, - for standard input",
           encode);
  add_code(*command, "decode", "Bytes of token ids, on standard output",
           "Example:\n  athanor tokenizer encode -t tokenizer.json a.txt | athanor tokenizer decode -t tokenizer.json",
           "A file of ids, - for standard input", decode);
  add_show(*command);
}

}  // namespace athanor::cli
