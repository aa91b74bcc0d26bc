// Each prompt is written on alone, with the run's seed.
#include "train/samples.h"

#include "data/copied_text.h"
#include "generate/generator.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace athanor::train {

namespace {

std::vector<std::vector<uint32_t>> prompts_of(const TrainSettings& settings, const data::Tokenizer& tokenizer,
                                              const data::TokenStream& opening) {
  std::vector<std::vector<uint32_t>> prompts;
  for (const std::string& prompt : settings.sample_prompts) {
    if (!prompt.empty()) prompts.push_back(tokenizer.encode(prompt));
  }
  if (!prompts.empty()) return prompts;
  if (!settings.sample_prompt.empty()) return {tokenizer.encode(settings.sample_prompt)};
  constexpr int64_t kOpening = 8;
  std::vector<uint32_t> prompt(static_cast<size_t>(std::min(kOpening, opening.size())));
  opening.read(0, prompt);
  return {prompt};
}

}  // namespace

std::string Sample::json(int64_t step) const {
  nlohmann::ordered_json line;
  line["step"] = step;
  line["prompt"] = prompt;
  line["text"] = text;
  line["tokens"] = tokens;
  line["longest_copy"] = longest_copy;
  line["searched_tokens"] = searched;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Sample> write_samples(device::Stream& stream, const nn::Llama& model, const data::Tokenizer& tokenizer,
                                  const TrainSettings& settings, const data::TokenStream& training,
                                  const data::TokenStream& opening) {
  std::vector<Sample> samples;
  std::optional<generate::Generator> generator;
  for (const std::vector<uint32_t>& prompt : prompts_of(settings, tokenizer, opening)) {
    const int64_t room = settings.model_config.max_position_embeddings - static_cast<int64_t>(prompt.size());
    if (room <= 0 || prompt.empty()) continue;
    if (!generator) generator.emplace(stream, model, tokenizer);
    generate::GenerateOptions options;
    options.max_tokens = std::min(settings.sample_tokens, room);
    options.sampler.seed = settings.seed;
    options.end_tokens = {tokenizer.end_of_text()};
    const generate::GenerateResult result = generator->generate(prompt, options);
    const data::CopiedRun copied = data::longest_copied_run(result.tokens, training, kMostSearched);
    Sample sample;
    sample.prompt = tokenizer.decode(prompt);
    sample.text = sample.prompt + result.text;
    sample.tokens = static_cast<int64_t>(result.tokens.size());
    sample.longest_copy = copied.length;
    sample.searched = copied.searched;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace athanor::train
