// bench generate on the CPU: what it tells, and what it refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/run_for_test.h"

namespace athanor::cli {
namespace {

using nlohmann::json;

Outcome bench(const std::vector<std::string>& more) {
  std::vector<std::string> line = {"bench",
                                   "generate",
                                   "--device",
                                   "cpu",
                                   "--vocab-size",
                                   "96",
                                   "--model-config.hidden-size",
                                   "64",
                                   "--model-config.intermediate-size",
                                   "96",
                                   "--model-config.num-hidden-layers",
                                   "2",
                                   "--model-config.max-position-embeddings",
                                   "40"};
  line.insert(line.end(), more.begin(), more.end());
  return run_line(line);
}

json bench_json(const std::string& format) {
  const Outcome outcome = bench({"--prompt-tokens", "9", "--tokens", "4", "--weight-format", format, "--json"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  return json::parse(outcome.out);
}

TEST(BenchGenerateCommand, TellsSpeedBytesAndTheTimeOfEachKernel) {
  const json report = bench_json("f32");
  EXPECT_EQ(report["weight_format"], "f32");
  EXPECT_EQ(report["prompt_tokens"], 9);
  EXPECT_EQ(report["tokens"], 4);
  for (const char* key : {"prompt_tokens_per_second", "tokens_per_second", "milliseconds_per_token",
                          "launch_milliseconds_per_token", "copy_bytes_per_second", "share_of_copy_bandwidth"}) {
    EXPECT_GT(report[key].get<double>(), 0) << key;
  }
  double launches = 0;
  for (const json& kernel : report["kernels"]) launches += kernel["launches_per_token"].get<double>();
  EXPECT_EQ(launches, report["launches_per_token"].get<double>());
}

TEST(BenchGenerateCommand, FewerBytesAWeightAreFewerBytesAToken) {
  const int64_t matrices =
      96 * 64 + 2 * (4 * 64 * 64 + 3 * 64 * 96);  // the small model has as many key/value heads as heads
  const int64_t rest = 4 * (5 * 64 + 64);
  EXPECT_EQ(bench_json("f32")["weight_bytes_per_token"], 4 * matrices + rest);
  EXPECT_EQ(bench_json("f16")["weight_bytes_per_token"], 2 * matrices + rest);
  EXPECT_EQ(bench_json("q8_0")["weight_bytes_per_token"], matrices / 32 * 34 + rest);
}

TEST(BenchGenerateCommand, PrintsWhatLimitsAToken) {
  const Outcome outcome = bench({"--prompt-tokens", "9", "--tokens", "4"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  for (const char* part : {"prompt of 9: ", "text of 4: ", "by the clock", "reading its weights", "its launches"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

TEST(BenchGenerateCommand, DefaultsFitTheSmallestContextOfAPreset) {
  const Outcome outcome = run_line({"bench", "generate", "--preset", "tiny", "--device", "cpu"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
}

TEST(BenchGenerateCommand, RefusesWhatItCannotMeasure) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--weight-format", "q4"}, "--weight-format is \"q4\"; known are f32, f16 and q8_0"},
      {{"--prompt-tokens", "30", "--tokens", "5"}, "do not fit the context of 40"},
      {{"--prompt-tokens", "0"}, "pass at least 1 of each"},
      {{"--tokens", "9223372036854775807", "--prompt-tokens", "1"}, "do not fit the context of 40"},
  };
  for (const auto& [flags, message] : wrong) {
    const Outcome outcome = bench(flags);
    EXPECT_EQ(outcome.code, kFailed) << message;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace athanor::cli
