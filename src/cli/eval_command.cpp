// The documents of a file are scored one by one. The training tokens are known when the model is a run's.
#include "cli/eval_command.h"

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/file_arguments.h"
#include "cli/output.h"
#include "data/copied_text.h"
#include "data/text_files.h"
#include "data/text_reader.h"
#include "generate/model_source.h"
#include "train/text_eval.h"

#include <algorithm>
#include <optional>

namespace athanor::cli {

namespace {

using nlohmann::ordered_json;

struct EvalArguments {
  std::string model;
  std::string checkpoint;
  std::vector<std::string> files;
  std::vector<std::string> tasks;
  data::TextOptions text;
  train::TextEvalOptions options;
  int64_t copied_run = 32;
  bool json = false;
  device::DeviceOptions device;
};

struct FileResult {
  std::string path;
  train::TextScore score;
  int64_t copied = 0;  // tokens in copied runs
};

struct TaskResult {
  std::string path;
  train::ChoiceScore score;
};

struct Results {
  std::vector<FileResult> files;
  std::vector<TaskResult> tasks;
  bool knows_training = false;

  FileResult total() const {
    FileResult sum;
    for (const FileResult& file : files) {
      sum.score.add(file.score);
      sum.copied += file.copied;
    }
    return sum;
  }
};

/// The run that the model belongs to, if it lies in one.
train::RunFolder run_of(const generate::ModelSource& source) { return train::RunFolder(source.folder.parent_path()); }

/// What stands before a text: the tokenizer's own beginning, else the end of the document before.
std::vector<uint32_t> before_texts(const generate::LoadedModel& loaded) {
  std::vector<uint32_t> before = loaded.leading_tokens;
  if (before.empty()) before.push_back(loaded.tokenizer.end_of_text());
  return before;
}

/// The documents of one file, one after the other.
struct Documents {
  std::vector<uint32_t> tokens;
  std::vector<size_t> ends;
};

Documents read_documents(const std::filesystem::path& path, const data::Tokenizer& tokenizer,
                         const EvalArguments& arguments) {
  Documents documents;
  data::TextFiles file;
  file.paths = {path};
  file.inputs = {{path.string(), 1}};
  data::TextReader reader(std::move(file), arguments.text);
  while (const std::optional<data::TextPart> part = reader.next()) {
    const std::vector<uint32_t> tokens =
        tokenizer.encode(part->text, {.threads = std::max(1, arguments.device.threads)});
    documents.tokens.insert(documents.tokens.end(), tokens.begin(), tokens.end());
    if (part->ends_document) documents.ends.push_back(documents.tokens.size());
  }
  check(!documents.tokens.empty(), "{}: no text in it", path.string());
  return documents;
}

Results evaluate(const EvalArguments& arguments, device::Stream& stream, const generate::ModelSource& source) {
  // Everything that can be refused is, before the model is asked.
  const data::TextFiles files =
      arguments.files.empty() ? data::TextFiles() : data::find_text_files(to_paths(arguments.files));
  std::vector<std::vector<train::ChoiceQuestion>> tasks;
  for (const std::string& path : arguments.tasks) tasks.push_back(train::read_choice_task(path));

  const generate::LoadedModel loaded = generate::load_model(stream, source);
  arguments.options.validate(loaded.model.config().max_position_embeddings);
  const std::vector<uint32_t> before = before_texts(loaded);
  std::optional<data::TokenStream> training;
  if (!files.paths.empty()) training = train::training_tokens_of(run_of(source), loaded.tokenizer);
  Results results;
  results.knows_training = training.has_value();
  for (const std::filesystem::path& path : files.paths) {
    const Documents documents = read_documents(path, loaded.tokenizer, arguments);
    FileResult result;
    result.path = path.string();
    size_t begin = 0;
    for (const size_t end : documents.ends) {
      const std::span<const uint32_t> document = std::span(documents.tokens).subspan(begin, end - begin);
      if (!document.empty())
        result.score.add(
            train::evaluate_text(stream, loaded.model, loaded.tokenizer, before, document, arguments.options));
      begin = end;
    }
    if (training) {
      const std::vector<uint8_t> copied = data::copied_tokens(documents.tokens, *training, arguments.copied_run);
      result.copied = std::count(copied.begin(), copied.end(), uint8_t{1});
    }
    results.files.push_back(result);
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    results.tasks.push_back(
        {arguments.tasks[i], train::evaluate_choices(stream, loaded.model, loaded.tokenizer, before, tasks[i])});
  }
  return results;
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ordered_json file_json(const FileResult& file, bool knows_training) {
  ordered_json object;
  if (!file.path.empty()) object["file"] = file.path;
  object["tokens"] = file.score.tokens;
  object["bytes"] = file.score.bytes;
  object["loss"] = file.score.loss();
  object["perplexity"] = file.score.perplexity();
  object["bits_per_byte"] = file.score.bits_per_byte();
  if (knows_training) object["copied_share"] = share(file.copied, file.score.tokens);
  return object;
}

ordered_json as_json(const EvalArguments& arguments, const generate::ModelSource& source, const Results& results) {
  ordered_json object;
  object["model"] = source.folder.string();
  if (source.step) object["checkpoint"] = *source.step;
  if (!results.files.empty()) {
    if (results.knows_training) object["copied_run"] = arguments.copied_run;
    object["files"] = ordered_json::array();
    for (const FileResult& file : results.files) object["files"].push_back(file_json(file, results.knows_training));
    object["total"] = file_json(results.total(), results.knows_training);
  }
  if (!results.tasks.empty()) object["tasks"] = ordered_json::array();
  for (const TaskResult& task : results.tasks) {
    ordered_json entry;
    entry["task"] = task.path;
    entry["questions"] = task.score.questions;
    entry["accuracy"] = share(task.score.right, task.score.questions);
    entry["accuracy_normalized"] = share(task.score.right_normalized, task.score.questions);
    entry["chance"] = task.score.chance / static_cast<double>(task.score.questions);
    entry["shortened_questions"] = task.score.shortened;
    object["tasks"].push_back(entry);
  }
  return object;
}

void print_file(const std::string& name, const FileResult& file, const Results& results) {
  print("{:>9} {:>8.4f} {:>11.3f} {:>10.4f} {:>8}  {}\n", file.score.tokens, file.score.loss(), file.score.perplexity(),
        file.score.bits_per_byte(),
        results.knows_training ? fmt::format("{:.2f} %", 100 * share(file.copied, file.score.tokens)) : "-", name);
}

void print_results(const EvalArguments& arguments, const Results& results) {
  if (!results.files.empty()) {
    print("{:>9} {:>8} {:>11} {:>10} {:>8}\n", "tokens", "loss", "perplexity", "bits/byte", "copied");
    for (const FileResult& file : results.files) print_file(file.path, file, results);
    if (results.files.size() > 1) print_file("together", results.total(), results);
    if (results.knows_training)
      print("copied: tokens in runs of at least {} that stand word for word in the training text\n",
            arguments.copied_run);
  }
  for (const TaskResult& task : results.tasks) {
    print("{}: {}, {:.2f} % right by likelihood, {:.2f} % by likelihood a byte, {:.2f} % by chance\n", task.path,
          counted(task.score.questions, "question"), 100 * share(task.score.right, task.score.questions),
          100 * share(task.score.right_normalized, task.score.questions),
          100 * task.score.chance / static_cast<double>(task.score.questions));
    if (task.score.shortened > 0)
      log_warning("{}: {} too long for the model's context and lost {}", task.path,
                  task.score.shortened == 1 ? "1 question was" : fmt::format("{} questions were", task.score.shortened),
                  task.score.shortened == 1 ? "its beginning" : "their beginnings");
  }
}

void run_eval(const EvalArguments& arguments) {
  check(!arguments.files.empty() || !arguments.tasks.empty(),
        "eval: no text and no task; name text files, folders or --task FILE");
  constexpr int64_t kLongestRun = 1'000'000'000;  // above any text; larger numbers are slips
  check(arguments.copied_run >= 1 && arguments.copied_run <= kLongestRun, "eval: --copied-run is {}; pass 1 to {}",
        arguments.copied_run, kLongestRun);
  const generate::ModelSource source = generate::find_model(arguments.model, arguments.checkpoint);
  const std::unique_ptr<device::Device> device = open_device_and_say(arguments.device);
  if (source.step) {
    log_info("model: {}, checkpoint {} ({})", arguments.model, *source.step, source.reason);
  } else {
    log_info("model: {}", source.folder.string());
  }
  const Results results = evaluate(arguments, device->stream(), source);
  if (arguments.json) {
    write_output(as_json(arguments, source, results).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                 "\n");
  } else {
    print_results(arguments, results);
  }
}

}  // namespace

void add_eval_command(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command =
      app.add_subcommand("eval", "Loss, perplexity and bits per byte of texts; questions by likelihood");
  command->add_option("-m,--model", arguments->model, "Model folder, run folder or checkpoint")
      ->required()
      ->type_name("PATH");
  command
      ->add_option("--checkpoint", arguments->checkpoint,
                   "Of a run: best (by validation loss, the default), latest, or a step")
      ->type_name("WHICH");
  command->add_option("FILE", arguments->files, "Text files and folders");
  command
      ->add_option(
          "--task", arguments->tasks,
          "Questions, one JSON object a line: {\"question\": \"...\", \"choices\": [\"...\", \"...\"], \"answer\": 0}")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("-c,--ctx-size", arguments->options.context, "Tokens that the model sees at once; 0: its context")
      ->type_name("N");
  command
      ->add_option("--stride", arguments->options.stride,
                   "Tokens by which the window moves; 0: windows do not overlap. Smaller is slower and gives each "
                   "token more to see")
      ->type_name("N");
  command->add_option("--batch-size", arguments->options.batch, "Windows at once")->type_name("N");
  command
      ->add_option("--copied-run", arguments->copied_run,
                   "Least tokens of a run that counts as copied from the training text")
      ->type_name("N");
  command
      ->add_option("--text-field", arguments->text.text_field,
                   "Field of a line of a .jsonl file that holds its text; each line is a document")
      ->type_name("NAME");
  command->add_option("--encoding", arguments->text.encoding, "Encoding of text that is not UTF-8, by iconv's name")
      ->type_name("NAME");
  command->add_flag("--json", arguments->json, "Print one JSON object");
  add_device_options(*command, arguments->device);
  read_environment(*command);
  command->footer("Example:\n  athanor eval -m runs/first book.txt --task questions.jsonl");
  command->callback([arguments] { run_eval(*arguments); });
}

}  // namespace athanor::cli
