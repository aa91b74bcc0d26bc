// Windows of equal length go through the model together.
#include "train/text_eval.h"

#include "base/error.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "train/prepare.h"
#include "train/run_files.h"
#include "train/train_step.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace athanor::train {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// One window: its inputs, and for each the token that follows or kIgnoreTarget.
struct Window {
  std::vector<uint32_t> ids;
  std::vector<int32_t> targets;
};

/// Sum of the losses of windows that have one length.
double nats_of(device::Stream& stream, const nn::Llama& model, std::span<const Window> windows) {
  std::vector<uint32_t> ids;
  std::vector<int32_t> targets;
  for (const Window& window : windows) {
    ids.insert(ids.end(), window.ids.begin(), window.ids.end());
    targets.insert(targets.end(), window.targets.begin(), window.targets.end());
  }
  const nn::Rows rows{static_cast<int64_t>(windows.size()), static_cast<int64_t>(windows.front().ids.size())};
  Evaluation evaluation(stream, model);
  evaluation.add(ids, targets, rows);
  const double nats = evaluation.mean_loss() * static_cast<double>(count_targets(targets));
  check(std::isfinite(nats), "eval: the loss is not a number; the model's weights are broken");
  return nats;
}

std::vector<Window> cut(std::span<const uint32_t> all, size_t unscored, size_t context, size_t stride) {
  std::vector<Window> windows;
  // Token t is scored by the position t - 1; the first scored one is `unscored`.
  for (size_t scored = unscored; scored < all.size();) {
    const size_t first_input = windows.empty() ? 0 : scored + stride - context - 1;
    const size_t begin = windows.empty() && scored > context ? scored - context : first_input;
    const size_t end = std::min(all.size() - 1, begin + context);  // one behind the last input
    Window window;
    for (size_t input = begin; input < end; ++input) {
      window.ids.push_back(all[input]);
      window.targets.push_back(input + 1 >= scored ? static_cast<int32_t>(all[input + 1]) : kernels::kIgnoreTarget);
    }
    scored = end + 1;
    windows.push_back(std::move(window));
  }
  return windows;
}

int64_t bytes_of(const data::Tokenizer& tokenizer, std::span<const uint32_t> tokens) {
  int64_t bytes = 0;
  for (const uint32_t token : tokens) {
    if (!tokenizer.is_special(token)) bytes += static_cast<int64_t>(tokenizer.token_bytes(token).size());
  }
  return bytes;
}

bool is_space(char letter) { return letter == ' ' || letter == '\n' || letter == '\t' || letter == '\r'; }

/// The question's tokens as they stand before this choice, and behind them the choice's. Text is encoded whole, since a merge may reach
/// across the border; what differs from the question alone belongs to the choice.
struct Continuation {
  std::vector<uint32_t> all;
  size_t scored = 0;  // the first token of the choice
  size_t bytes = 0;
};

Continuation continuation_of(const data::Tokenizer& tokenizer, std::span<const uint32_t> before,
                             const std::string& question, const std::string& choice) {
  const bool needs_space =
      !question.empty() && !choice.empty() && !is_space(question.back()) && !is_space(choice.front());
  const std::vector<uint32_t> context = tokenizer.encode(question);
  const std::vector<uint32_t> whole = tokenizer.encode(question + (needs_space ? " " : "") + choice);
  const size_t same = static_cast<size_t>(
      std::mismatch(context.begin(), context.end(), whole.begin(), whole.end()).first - context.begin());
  Continuation continuation;
  continuation.all.assign(before.begin(), before.end());
  continuation.all.insert(continuation.all.end(), whole.begin(), whole.end());
  continuation.scored = before.size() + same;
  continuation.bytes = choice.size();
  return continuation;
}

ChoiceQuestion read_question(const json& object, const std::string& where) {
  check(object.is_object() && object.contains("question") && object["question"].is_string(),
        "{}: no text \"question\"; a line is {{\"question\": \"...\", \"choices\": [\"...\"], \"answer\": 0}}", where);
  check(object.contains("choices") && object["choices"].is_array() && object["choices"].size() >= 2,
        "{}: \"choices\" is no list of two or more texts", where);
  ChoiceQuestion question;
  question.question = object["question"].get<std::string>();
  for (const json& choice : object["choices"]) {
    check(choice.is_string() && !choice.get<std::string>().empty(), "{}: a choice is no text or an empty one", where);
    question.choices.push_back(choice.get<std::string>());
  }
  check(object.contains("answer") && object["answer"].is_number_integer() && object["answer"].get<int64_t>() >= 0 &&
            object["answer"].get<int64_t>() < static_cast<int64_t>(question.choices.size()),
        "{}: \"answer\" is not the number of a choice, from 0 to {}", where, question.choices.size() - 1);
  question.answer = object["answer"].get<size_t>();
  return question;
}

}  // namespace

double TextScore::perplexity() const { return std::exp(loss()); }
double TextScore::bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }

void TextScore::add(const TextScore& other) {
  tokens += other.tokens;
  bytes += other.bytes;
  nats += other.nats;
}

void TextEvalOptions::validate(int64_t most) const {
  check(context >= 0, "eval: a context of {} tokens; pass 1 to {}, or 0 for the model's", context, most);
  check(context <= most, "eval: a context of {} tokens, but the model's is {}; pass at most that", context, most);
  const int64_t seen = context > 0 ? context : most;
  check(stride >= 0, "eval: a stride of {} tokens; pass 1 to {}, or 0 for windows that do not overlap", stride, seen);
  check(stride <= seen, "eval: a stride of {} in a context of {} tokens leaves tokens out; pass at most {}", stride,
        seen, seen);
  check(batch > 0 && batch <= 65536, "eval: {} windows at once; pass 1 to 65536", batch);
}

TextScore evaluate_text(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                        std::span<const uint32_t> before, std::span<const uint32_t> text,
                        const TextEvalOptions& options) {
  const int64_t most = model.config().max_position_embeddings;
  check(!before.empty() && !text.empty(), "eval: the text has no tokens; pass text");
  options.validate(most);
  const int64_t context = options.context > 0 ? options.context : most;
  const int64_t stride = options.stride > 0 ? options.stride : context;
  std::vector<uint32_t> all(before.begin(), before.end());
  all.insert(all.end(), text.begin(), text.end());
  const std::vector<Window> windows =
      cut(all, before.size(), static_cast<size_t>(context), static_cast<size_t>(stride));
  TextScore score{static_cast<int64_t>(text.size()), bytes_of(tokenizer, text), 0};
  for (size_t begin = 0; begin < windows.size();) {
    size_t end = begin + 1;
    while (end < windows.size() && end - begin < static_cast<size_t>(options.batch) &&
           windows[end].ids.size() == windows[begin].ids.size())
      ++end;
    score.nats += nats_of(stream, model, std::span(windows).subspan(begin, end - begin));
    begin = end;
  }
  return score;
}

std::vector<ChoiceQuestion> read_choice_task(const fs::path& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::vector<ChoiceQuestion> questions;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (std::all_of(line.begin(), line.end(), is_space)) continue;
    const std::string where = fmt::format("{}: line {}", path.string(), number);
    const json object = json::parse(line, nullptr, false);
    check(!object.is_discarded(), "{}: this is no JSON object; write one a line", where);
    questions.push_back(read_question(object, where));
    questions.back().place = where;
  }
  check(!questions.empty(), "{}: holds no question", path.string());
  return questions;
}

ChoiceScore evaluate_choices(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                             std::span<const uint32_t> before, std::span<const ChoiceQuestion> questions) {
  check(!before.empty(), "eval: no token stands before the questions; pass what begins a text for this model");
  const size_t context = static_cast<size_t>(model.config().max_position_embeddings);
  ChoiceScore score;
  for (const ChoiceQuestion& question : questions) {
    size_t best = 0;
    size_t best_normalized = 0;
    std::vector<double> likelihoods;
    std::vector<double> normalized;
    bool is_shortened = false;
    for (const std::string& choice : question.choices) {
      Continuation continuation = continuation_of(tokenizer, before, question.question, choice);
      const size_t length = continuation.all.size() - continuation.scored;
      check(length > 0, "{}: the choice \"{}\" adds no token to its question; write it out", question.place, choice);
      check(length <= context, "{}: a choice has {} tokens but the model's context is {}; leave the question out",
            question.place, length, context);
      if (continuation.all.size() - 1 > context) {
        const size_t dropped = continuation.all.size() - 1 - context;
        continuation.all.erase(continuation.all.begin(),
                               continuation.all.begin() + static_cast<std::ptrdiff_t>(dropped));
        continuation.scored -= dropped;
        is_shortened = true;
      }
      const std::vector<Window> windows = cut(continuation.all, continuation.scored, context, context);
      likelihoods.push_back(-nats_of(stream, model, windows));
      normalized.push_back(likelihoods.back() / static_cast<double>(continuation.bytes));
      const size_t last = likelihoods.size() - 1;
      if (likelihoods[last] > likelihoods[best]) best = last;
      if (normalized[last] > normalized[best_normalized]) best_normalized = last;
    }
    score.questions += 1;
    score.shortened += is_shortened ? 1 : 0;
    score.chance += 1 / static_cast<double>(question.choices.size());
    score.right += best == question.answer ? 1 : 0;
    score.right_normalized += best_normalized == question.answer ? 1 : 0;
  }
  return score;
}

std::optional<data::TokenStream> training_tokens_of(const RunFolder& run, const data::Tokenizer& tokenizer) {
  const std::optional<TrainSettings> settings = settings_of_run(run);
  if (!settings || settings->max_length == 0) return std::nullopt;
  const bool is_kept = fs::exists(run.tokens());
  const bool is_file = settings->data.size() == 1 && fs::is_regular_file(settings->data.front()) &&
                       data::is_token_file(settings->data.front());
  if (!is_kept && !is_file) return std::nullopt;
  const PreparedData data = reopen_data(*settings, run);
  if (data.tokenizer.to_json() != tokenizer.to_json()) {
    log_warning("{}: the training tokens are of another tokenizer than the model's; nothing is said of what is copied",
                run.path().string());
    return std::nullopt;
  }
  data::LoaderOptions options;
  options.length = settings->max_length;
  options.seed = settings->seed;
  options.validation_split = settings->validation_split;
  options.validation = data.validation;
  return data::Loader(data.tokens, options).train_stream();
}

}  // namespace athanor::train
