// eval against logits and plain sums in double precision, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/test_folder.h"
#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "generate/test_model.h"
#include "test_device.h"

namespace athanor::cli {
namespace {

using nlohmann::json;

constexpr uint32_t kEnd = 256;  // of the test tokenizer

class EvalCommand : public ::testing::Test {
 protected:
  EvalCommand() { generate::save_test_model(testing::stream(), model()); }
  std::filesystem::path model() const { return folder_ / "model"; }

  Outcome eval(const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"eval", "-m", model().string(), "--device", "cpu"};
    line.insert(line.end(), more.begin(), more.end());
    return run_line(line);
  }
  json eval_json(std::vector<std::string> more) const {
    more.emplace_back("--json");
    const Outcome outcome = eval(more);
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }

  /// -log p of each token of `ids` but the first, from the logits.
  static std::vector<double> nats(const std::vector<uint32_t>& ids) {
    device::Stream& stream = testing::stream();
    const nn::Llama model = generate::test_model(stream);
    const nn::Rows rows{1, static_cast<int64_t>(ids.size())};
    const tensor::Context context{stream};
    const tensor::Tensor hidden = model.hidden(context, ids, rows, model.causal_attention(rows));
    const std::vector<float> logits = tensor::to_values(stream, model.logits(context, hidden));
    const size_t vocabulary = static_cast<size_t>(model.config().vocab_size);
    std::vector<double> result;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      double sum = 0;
      for (size_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(logits[i * vocabulary + v]));
      result.push_back(std::log(sum) - static_cast<double>(logits[i * vocabulary + ids[i + 1]]));
    }
    return result;
  }
  static std::vector<uint32_t> ids_of(std::string_view text) {
    std::vector<uint32_t> ids{kEnd};
    for (const char letter : text) ids.push_back(static_cast<unsigned char>(letter));
    return ids;
  }
  static double sum(const std::vector<double>& values, size_t from = 0) {
    return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(), 0.0);
  }

  TestFolder folder_;
};

TEST_F(EvalCommand, TheLossIsThatOfTheLogits) {
  const std::string text = "Friends, Romans, countrymen, lend me your ears.";
  const json result = eval_json({folder_.put("a.txt", text).string()});
  const double want = sum(nats(ids_of(text)));
  const double count = static_cast<double>(text.size());
  EXPECT_EQ(result["total"]["tokens"], text.size());
  EXPECT_EQ(result["total"]["bytes"], text.size());
  EXPECT_NEAR(result["total"]["loss"].get<double>(), want / count, 1e-5);
  EXPECT_NEAR(result["total"]["bits_per_byte"].get<double>(), want / std::log(2.0) / count, 1e-5);
  EXPECT_NEAR(result["total"]["perplexity"].get<double>(), std::exp(want / count), 1e-3 * std::exp(want / count));
  EXPECT_FALSE(result["total"].contains("copied_share"));
}

TEST_F(EvalCommand, ALongTextIsCutIntoWindowsThatScoreEachTokenOnce) {
  std::string text;
  for (int i = 0; i < 31; ++i) text += "abcdefg"[i % 7];
  const std::string file = folder_.put("a.txt", text).string();
  const std::vector<uint32_t> ids = ids_of(text);
  // Inputs 0-9 score tokens 1-10, inputs 10-19 the next ten, and so on.
  double want = 0;
  for (size_t begin = 0; begin + 1 < ids.size(); begin += 10) {
    const size_t end = std::min(ids.size(), begin + 11);
    want +=
        sum(nats({ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  for (const char* batch : {"1", "2", "8"}) {
    const json result = eval_json({file, "-c", "10", "--batch-size", batch});
    EXPECT_NEAR(result["total"]["loss"].get<double>(), want / 31, 1e-5) << batch;
  }
  // The window moves by four: a token behind the first window has six to nine before it.
  want = sum(nats({ids.begin(), ids.begin() + 11}));
  for (size_t scored = 11; scored < ids.size(); scored += 4) {
    const size_t end = std::min(ids.size(), scored + 4);
    const std::vector<uint32_t> window(ids.begin() + static_cast<std::ptrdiff_t>(scored - 7),
                                       ids.begin() + static_cast<std::ptrdiff_t>(end));
    want += sum(nats(window), 6);
  }
  EXPECT_NEAR(eval_json({file, "-c", "10", "--stride", "4"})["total"]["loss"].get<double>(), want / 31, 1e-5);
}

TEST_F(EvalCommand, ChoicesAreScoredBehindTheirQuestionByBothSums) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> questions = {
      {"To be or", {"not to be", "x", "a long and winding answer"}}, {"One ", {"two", "three"}}, {"", {"alpha", "be"}}};
  // Every question is asked once for each of its choices as the answer: exactly one of them is right.
  std::string task;
  int64_t asked = 0;
  for (const auto& [question, choices] : questions) {
    for (size_t answer = 0; answer < choices.size(); ++answer, ++asked)
      task += json({{"question", question}, {"choices", choices}, {"answer", answer}}).dump() + "\n";
  }
  const std::string all = folder_.put("all.jsonl", task).string();
  const json result = eval_json({"--task", all});
  EXPECT_EQ(result["tasks"][0]["questions"], asked);
  EXPECT_NEAR(result["tasks"][0]["accuracy"].get<double>(), 3.0 / static_cast<double>(asked), 1e-9);

  // The likeliest by plain sums, as the only answers: all are right.
  std::string by_sum;
  std::string by_byte;
  for (const auto& [question, choices] : questions) {
    std::vector<double> sums;
    std::vector<double> shares;
    for (const std::string& choice : choices) {
      const std::string space = question.empty() || question.back() == ' ' ? "" : " ";
      sums.push_back(-sum(nats(ids_of(question + space + choice)), question.size()));
      shares.push_back(sums.back() / static_cast<double>(choice.size()));
    }
    const auto best = [](const std::vector<double>& values) {
      return std::max_element(values.begin(), values.end()) - values.begin();
    };
    by_sum += json({{"question", question}, {"choices", choices}, {"answer", best(sums)}}).dump() + "\n";
    by_byte += json({{"question", question}, {"choices", choices}, {"answer", best(shares)}}).dump() + "\n";
  }
  EXPECT_EQ(eval_json({"--task", folder_.put("sum.jsonl", by_sum).string()})["tasks"][0]["accuracy"], 1.0);
  EXPECT_EQ(eval_json({"--task", folder_.put("byte.jsonl", by_byte).string()})["tasks"][0]["accuracy_normalized"], 1.0);
}

TEST_F(EvalCommand, SaysWhatChanceGivesAndHowManyQuestionsWereShortened) {
  const std::string task =
      json({{"question", "One"}, {"choices", {"two", "three"}}, {"answer", 0}}).dump() + "\n" +
      json({{"question", std::string(100, 'a')}, {"choices", {"b", "c", "d", "e"}}, {"answer", 1}}).dump() + "\n";
  const std::string file = folder_.put("task.jsonl", task).string();
  const json result = eval_json({"--task", file});
  EXPECT_DOUBLE_EQ(result["tasks"][0]["chance"].get<double>(), 0.375);
  EXPECT_EQ(result["tasks"][0]["shortened_questions"], 1);
  const Outcome outcome = eval({"--task", file});
  EXPECT_NE(outcome.out.find("2 questions, "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("37.50 % by chance"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("1 question was too long for the model's context and lost its beginning"),
            std::string::npos)
      << outcome.err;
}

TEST_F(EvalCommand, PrintsALineAFileAndOneTogether) {
  const Outcome outcome = eval({folder_.put("a.txt", "one").string(), folder_.put("b.txt", "two three").string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("a.txt\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("       12 "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("together\n"), std::string::npos) << outcome.out;
}

TEST_F(EvalCommand, RefusesInOneLineWithOne) {
  const std::string text = folder_.put("a.txt", "text").string();
  const auto task = [&](const char* name, const char* line) {
    return std::vector<std::string>{"--task", folder_.put(name, std::string("\n") + line).string()};
  };
  const std::vector<std::string> good = task("good.jsonl", R"({"question": "a", "choices": ["b", "c"], "answer": 0})");
  const auto good_with = [&](const char* flag, const char* value) {
    std::vector<std::string> line = good;
    line.insert(line.end(), {flag, value});
    return line;
  };
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {good_with("--batch-size", "0"), "0 windows at once"},
      {good_with("-c", "65"), "a context of 65 tokens, but the model's is 64"},
      {{}, "no text and no task"},
      {{text, "-c", "65"}, "a context of 65 tokens, but the model's is 64"},
      {{text, "-c", "-1"}, "a context of -1 tokens; pass 1 to 64, or 0 for the model's"},
      {{text, "-c", "8", "--stride", "9"}, "a stride of 9"},
      {{text, "-c", "8", "--stride", "-9"}, "a stride of -9 tokens; pass 1 to 8"},
      {{text, "--batch-size", "0"}, "0 windows at once"},
      {{text, "--copied-run", "0"}, "--copied-run is 0; pass 1 to"},
      {{text, "--copied-run", "99999999999999999999"}, "--copied-run is 9223372036854775807; pass 1 to"},
      {{(folder_ / "none").string()}, "there is no file or folder"},
      {{folder_.put("empty.txt", "").string()}, "is empty"},
      {task("1.jsonl", "{"), "line 2: this is no JSON object"},
      {task("2.jsonl", "[1]"), "line 2: no text \"question\""},
      {task("3.jsonl", R"({"question": "a", "choices": ["b"], "answer": 0})"), "no list of two or more"},
      {task("4.jsonl", R"({"question": "a", "choices": ["b", 3], "answer": 0})"), "a choice is no text"},
      {task("5.jsonl", R"({"question": "a", "choices": ["b", "c"], "answer": 2})"), "from 0 to 1"},
      {task("6.jsonl", R"({"question": "a", "choices": ["b", "c"], "answer": -1})"), "from 0 to 1"},
      {task("7.jsonl", ""), "holds no question"}};
  for (const auto& [more, part] : wrong) {
    const Outcome outcome = eval(more);
    EXPECT_EQ(outcome.code, kFailed) << part;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace athanor::cli
