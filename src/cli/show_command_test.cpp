// show of runs, models and token files, and the chart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/safetensors.h"
#include "base/test_folder.h"

#include "cli/exit_codes.h"
#include "cli/run_for_test.h"
#include "cli/text_chart.h"
#include "data/token_file.h"
#include "generate/test_model.h"
#include "test_device.h"
#include "train/settings.h"

namespace athanor::cli {
namespace {

using nlohmann::json;

/// A run of `steps` steps whose loss falls by 1 a step from `first`, with a validation at every second one.
void put_run(const TestFolder& folder, const std::string& name, int steps, double first, double learning_rate) {
  std::filesystem::create_directories(folder / (name + "/checkpoint-2"));
  train::TrainSettings settings;
  settings.data = {"text"};
  settings.output_dir = name;
  settings.learning_rate = learning_rate;
  settings.max_steps = steps;
  folder.put(name + "/config.yaml", train::to_yaml(settings));
  std::string lines;
  for (int step = 1; step <= steps; ++step) {
    json line = {{"step", step}, {"loss", first - step}, {"tokens_per_second", 100}, {"trained_tokens", 50 * step}};
    if (step % 2 == 0) line["val_loss"] = first - step + 0.5;
    lines += line.dump() + "\n";
  }
  folder.put(name + "/metrics.jsonl", lines);
}

TEST(ShowCommand, DrawsARun) {
  const TestFolder folder;
  put_run(folder, "run", 6, 10, 1e-3);
  const Outcome outcome = run_line({"show", (folder / "run").string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  for (const char* part : {"a run, at step 6", "loss 4.0000, val_loss 4.5000, best 4.5000 at step 6",
                           "300 tokens, 100 tok/s, 0:00:03", "checkpoints: 2", ". train   o validation"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  size_t longest = 0;
  for (size_t begin = 0; begin < outcome.out.size();) {
    const size_t end = outcome.out.find('\n', begin);
    if (outcome.out.substr(begin, end - begin).find('|') != std::string::npos) longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(longest, 80U);
  const json object = json::parse(run_line({"show", (folder / "run").string(), "--json"}).out);
  EXPECT_EQ(object["best_step"], 6);
  EXPECT_DOUBLE_EQ(object["seconds"].get<double>(), 3.0);
  EXPECT_EQ(object["train"].size(), 6U);
  EXPECT_EQ(object["settings"]["learning_rate"], "0.001");
}

TEST(ShowCommand, ComparesRunsByWhatDiffers) {
  const TestFolder folder;
  put_run(folder, "a", 6, 10, 1e-3);
  put_run(folder, "b", 4, 9, 2e-3);
  const std::vector<std::string> both = {"show", (folder / "a").string(), (folder / "b").string()};
  const Outcome outcome = run_line(both);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  for (const char* part : {"learning_rate", "0.001", "0.002", "max_steps", "4.5000 at 6", "5.5000 at 4"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find("weight_decay"), std::string::npos) << outcome.out;
  std::vector<std::string> with_json = both;
  with_json.emplace_back("--json");
  const json object = json::parse(run_line(with_json).out);
  EXPECT_EQ(object["differing_settings"], (json{"max_steps", "learning_rate"}));
  EXPECT_EQ(object["runs"].size(), 2U);
}

TEST(ShowCommand, DrawsNoChartOfRunsWithOnePointEach) {
  const TestFolder folder;
  put_run(folder, "a", 1, 10, 1e-3);
  put_run(folder, "b", 1, 9, 2e-3);
  const Outcome outcome = run_line({"show", (folder / "a").string(), (folder / "b").string()});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(outcome.out.find("9.0000"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find(" |"), std::string::npos) << outcome.out;
}

TEST(ShowCommand, ComparesTheLossesOfStepsWhereARunWasEvaluatedOnce) {
  const TestFolder folder;
  put_run(folder, "a", 6, 10, 1e-3);
  put_run(folder, "b", 3, 9, 2e-3);
  const Outcome outcome = run_line({"show", (folder / "a").string(), (folder / "b").string()});
  EXPECT_NE(outcome.out.find("a (train)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("b (train)"), std::string::npos) << outcome.out;
}

TEST(ShowCommand, PutsRunsThatDoNotFitBesideEachOtherBelow) {
  const TestFolder folder;
  std::vector<std::string> line = {"show"};
  for (int i = 0; i < 8; ++i) {
    const std::string name = fmt::format("run{}", i);
    put_run(folder, name, 4, 9 + i, 1e-3 * (i + 1));
    line.push_back((folder / name).string());
  }
  const std::string out = run_line(line).out;
  std::istringstream lines(out.substr(out.find("\n\n")));
  int heads = 0;
  for (std::string row; std::getline(lines, row);) {
    if (row.find("(validation)") != std::string::npos) continue;
    EXPECT_LE(row.size(), 80U) << row;
    if (row.starts_with("learning_rate")) ++heads;
  }
  EXPECT_GT(heads, 1) << out;
}

TEST(ShowCommand, NamesADamagedCheckpoint) {
  const TestFolder folder;
  put_run(folder, "run", 3, 10, 1e-3);  // its checkpoint-2 is empty
  const std::string run = (folder / "run").string();
  const Outcome outcome = run_line({"show", run});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.err.find("checkpoint 2 is damaged: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("trainer_state.json: is missing"), std::string::npos) << outcome.err;
  const json object = json::parse(run_line({"show", run, "--json"}).out);
  ASSERT_EQ(object["damaged_checkpoints"].size(), 1U);
  EXPECT_EQ(object["damaged_checkpoints"][0]["step"], 2);
}

TEST(ShowCommand, LeavesDamagedLinesOutAndSaysSo) {
  const TestFolder folder;
  put_run(folder, "run", 3, 10, 1e-3);
  const std::string lines = TestFolder::read(folder / "run/metrics.jsonl");
  folder.put("run/metrics.jsonl", lines + "{\"step\": 4, \"lo\n[]\n");
  const Outcome outcome = run_line({"show", (folder / "run").string()});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.err.find("2 lines of metrics.jsonl are damaged"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("at step 3"), std::string::npos) << outcome.out;
  EXPECT_EQ(json::parse(run_line({"show", (folder / "run").string(), "--json"}).out)["unread_lines"], 2);
  put_run(folder, "other", 3, 9, 1e-3);
  const Outcome compared = run_line({"show", (folder / "run").string(), (folder / "other").string()});
  EXPECT_NE(compared.err.find("2 lines of metrics.jsonl are damaged"), std::string::npos) << compared.err;
}

TEST(ShowCommand, DrawsLossesOfAnySize) {
  const TestFolder folder;
  put_run(folder, "run", 3, 10, 1e-3);
  folder.put("run/metrics.jsonl",
             "{\"step\": 1, \"loss\": 1e308, \"trained_tokens\": 1e300, \"tokens_per_second\": 1e-300}\n"
             "{\"step\": 1, \"loss\": 1e308, \"val_loss\": -1e308, \"trained_tokens\": 18446744073709551615}\n"
             "{\"step\": 9223372036854775807, \"loss\": 2, \"trained_tokens\": 9223372036854775807}\n");
  const std::string run = (folder / "run").string();
  for (const Outcome& outcome : {run_line({"show", run}), run_line({"show", run, run})}) {
    EXPECT_EQ(outcome.code, kDone) << outcome.err;
    for (const char* odd : {"nan", "inf", "0000000000", "-92233"})
      EXPECT_EQ(outcome.out.find(odd), std::string::npos) << odd << "\n" << outcome.out;
    EXPECT_NE(outcome.out.find("1e+308"), std::string::npos) << outcome.out;
  }
}

TEST(ShowCommand, NamesAConfigThatHoldsNothingAndADamagedTable) {
  const TestFolder folder;
  put_run(folder, "run", 3, 10, 1e-3);
  folder.put("run/choices.json", "{");
  const std::string run = (folder / "run").string();
  const Outcome outcome = run_line({"show", run});
  EXPECT_EQ(outcome.code, kDone);
  EXPECT_NE(outcome.err.find("choices.json: is no JSON"), std::string::npos) << outcome.err;
  const json object = json::parse(run_line({"show", run, "--json"}).out);
  EXPECT_NE(object["choices_fault"].get<std::string>().find("is no JSON"), std::string::npos);
  folder.put("run/config.yaml", "# nothing\n");
  const Outcome empty = run_line({"show", run});
  EXPECT_EQ(empty.code, kFailed);
  EXPECT_NE(empty.err.find("config.yaml: holds no settings"), std::string::npos) << empty.err;
}

TEST(ShowCommand, WritesControlCharactersOut) {
  const TestFolder folder;
  put_run(folder, "red", 3, 10, 1e-3);
  put_run(folder, "plain", 3, 10, 1e-3);
  folder.put("red/config.yaml", "data: [\"\\e[31mred\"]\n");
  const Outcome compared = run_line({"show", (folder / "red").string(), (folder / "plain").string()});
  EXPECT_EQ(compared.code, kDone) << compared.err;
  EXPECT_EQ(compared.out.find('\x1b'), std::string::npos);
  EXPECT_NE(compared.out.find("\\x1b[31mred"), std::string::npos) << compared.out;
  setenv("ATHANOR_\x1b[31mSEED", "1", 1);
  const Outcome warned = run_line({"show", (folder / "plain").string()});
  unsetenv("ATHANOR_\x1b[31mSEED");
  EXPECT_EQ(warned.err.find('\x1b'), std::string::npos);
  EXPECT_NE(warned.err.find("$ATHANOR_\\x1b[31mSEED is not known"), std::string::npos) << warned.err;
}

TEST(ShowCommand, ListsModelsTokensAndTensors) {
  const TestFolder folder;
  generate::save_test_model(testing::stream(), folder / "model");
  json object = json::parse(run_line({"show", (folder / "model").string(), "--json"}).out);
  EXPECT_EQ(object["kind"], "model");
  EXPECT_EQ(object["weights"], generate::test_config().num_weights());
  EXPECT_EQ(object["tensors"].size(), 21U);
  EXPECT_NE(run_line({"show", (folder / "model").string()}).out.find("model.norm.weight"), std::string::npos);

  const std::vector<uint32_t> ids = {72, 105, 256, 72, 256};
  data::write_token_file(folder / "t.st", data::TokenData(ids, {0, 3, 5}, generate::byte_tokenizer()));
  object = json::parse(run_line({"show", (folder / "t.st").string(), "--json"}).out);
  EXPECT_EQ(object["tokens"], 5);
  EXPECT_EQ(object["documents"], 2);
  EXPECT_EQ(object["vocab_size"], 257);

  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::vector<TensorToWrite> tensors{{.name = "x", .shape = {2, 3}, .bytes = std::as_bytes(std::span(values))}};
  write_safetensors(folder / "x.safetensors", tensors, {{"note", "a test"}});
  const std::string listed = run_line({"show", (folder / "x.safetensors").string()}).out;
  EXPECT_NE(listed.find("metadata.note"), std::string::npos) << listed;
  EXPECT_NE(listed.find("(2, 3)"), std::string::npos) << listed;
}

TEST(ShowCommand, RefusesInOneLineWithOne) {
  const TestFolder folder;
  put_run(folder, "run", 3, 10, 1e-3);
  std::filesystem::create_directories(folder / "empty");
  const std::string text = folder.put("a.txt", "text").string();
  const std::string run = (folder / "run").string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"show", (folder / "none").string()}, "there is no such file or folder"},
      {{"show", (folder / "empty").string()}, "holds neither a run"},
      {{"show", text}, "is no token file"},
      {{"show", run, text}, "is no token file"}};
  for (const auto& [line, part] : wrong) {
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, kFailed) << part;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

TEST(TextChart, PutsValuesWhereTheyBelong) {
  const std::string chart = text_chart({{"line", '*', {{0, 0}, {1, 1}, {2, 2}, {3, 3}}}}, 19, 4);
  EXPECT_EQ(chart,
            "        3 |       *\n"
            "          |     *\n"
            "        1 |  *\n"
            "        0 |*\n"
            "          +--------\n"
            "           0      3\n"
            "           * line\n");
}

TEST(TextChart, CutsOffAFewHighValuesAndSaysSo) {
  Curve curve{"loss", 'o', {}};
  for (int i = 0; i < 100; ++i) curve.points.emplace_back(i, i == 0 ? 1000.0 : 2.0 + i % 2);
  const std::string chart = text_chart({curve}, 120, 5);
  EXPECT_NE(chart.find("the highest is 1000"), std::string::npos) << chart;
  EXPECT_NE(chart.find("        3 |"), std::string::npos) << chart;
}

TEST(TextChart, IsEmptyWithoutPointsAndStandsWithOne) {
  EXPECT_EQ(text_chart({{"none", '*', {}}}, 80, 10), "");
  EXPECT_EQ(text_chart({{"one", '*', {{5, 2.5}}}}, 19, 4),
            "          |\n"
            "          |\n"
            "      2.5 |    *\n"
            "          |\n"
            "          +--------\n"
            "               5\n"
            "           * one\n");
}

}  // namespace
}  // namespace athanor::cli
