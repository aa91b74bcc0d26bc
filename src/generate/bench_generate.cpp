// The clock first, without profiling; then a few tokens with it, at the end of the same text.
#include "generate/bench_generate.h"

#include <algorithm>

#include "base/host.h"
#include "base/random.h"
#include "generate/token_source.h"
#include "kernels/kernel_bench.h"

namespace athanor::generate {

namespace {

constexpr int64_t kWarmup = 3;
constexpr int64_t kProfiled = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<uint32_t> random_tokens(int64_t count, const nn::LlamaConfig& config, uint64_t seed) {
  Random random(seed, RandomStream::Test);
  std::vector<uint32_t> tokens(static_cast<size_t>(count));
  for (uint32_t& token : tokens) token = static_cast<uint32_t>(random.below(static_cast<uint64_t>(config.vocab_size)));
  return tokens;
}

void feed_prompt(device::Stream& stream, Decoder& decoder, std::span<const uint32_t> prompt) {
  decoder.truncate(0);
  while (!prompt.empty()) {
    const size_t count = std::min<size_t>(prompt.size(), Decoder::kPromptChunk);
    decoder.feed(prompt.first(count), count == prompt.size() ? Decoder::Logits::OfTheLast : Decoder::Logits::No);
    stream.submit();
    prompt = prompt.subspan(count);
  }
  stream.wait();
}

struct HostSeconds {
  double recording = 0;
  double submit = 0;
};

/// One more token, while the one before is on its way; gives the time that the host worked.
HostSeconds run_token(device::Stream& stream, Decoder& decoder, DeviceTokens& tokens) {
  const double start = now_seconds();
  tokens.record(decoder.cache().length() + 1);
  const double recorded = now_seconds();
  stream.submit();
  const double submitted = now_seconds();
  tokens.take();
  return {recorded - start, submitted - recorded};
}

void measure_tokens(device::Stream& stream, Decoder& decoder, const GenerateBenchOptions& options,
                    GenerateBench& bench) {
  SamplerOptions greedy;
  greedy.temperature = 0;
  DeviceTokens tokens(stream, decoder, greedy, decoder.config().vocab_size);
  tokens.ask(decoder.cache().length());
  for (int64_t i = 0; i < kWarmup; ++i) run_token(stream, decoder, tokens);
  std::vector<double> seconds;
  std::vector<double> recording;
  std::vector<double> submit;
  double before = now_seconds();
  for (int64_t i = 0; i < options.tokens; ++i) {
    const HostSeconds host = run_token(stream, decoder, tokens);
    recording.push_back(host.recording);
    submit.push_back(host.submit);
    const double now = now_seconds();
    seconds.push_back(now - before);
    before = now;
  }
  bench.seconds_per_token = median(std::move(seconds));
  bench.recording_seconds = median(std::move(recording));
  bench.submit_seconds = median(std::move(submit));
  tokens.take();

  stream.set_profiling(true);
  for (int64_t i = 0; i < kProfiled; ++i) {
    tokens.ask(decoder.cache().length() + 1);
    tokens.take();
  }
  bench.kernels = stream.take_profile();
  bench.profiled_tokens = kProfiled;
  stream.set_profiling(false);
}

}  // namespace

double GenerateBench::launches_per_token() const {
  int64_t launches = 0;
  for (const device::KernelTime& kernel : kernels) launches += kernel.launches;
  return static_cast<double>(launches) / static_cast<double>(profiled_tokens);
}

double GenerateBench::launch_seconds_per_token() const {
  double milliseconds = 0;
  for (const device::KernelTime& kernel : kernels) milliseconds += kernel.milliseconds;
  return milliseconds * 1e-3 / static_cast<double>(profiled_tokens);
}

GenerateBench bench_generate(device::Device& device, const nn::LlamaConfig& config,
                             const GenerateBenchOptions& options) {
  check(options.prompt_tokens > 0 && options.tokens > 0,
        "bench generate: a prompt of {} tokens and {} to write; pass at least 1 of each", options.prompt_tokens,
        options.tokens);
  const int64_t most = config.max_position_embeddings - kWarmup - kProfiled;
  check(options.prompt_tokens <= most && options.tokens <= most - options.prompt_tokens,
        "bench generate: {} tokens of prompt, {} of text and {} more around the measurement do not fit the context of "
        "{}; pass fewer, or a larger --model-config.max-position-embeddings",
        options.prompt_tokens, options.tokens, kWarmup + kProfiled, config.max_position_embeddings);
  device::Stream& stream = device.stream();
  GenerateBench bench;
  bench.num_weights = config.num_weights();
  {
    Decoder decoder(stream, upload_weights(stream, config, nn::initial_weights(config, options.seed), options.format),
                    options.prompt_tokens + options.tokens + kWarmup + kProfiled);
    bench.weight_bytes_per_token = decoder.weights().read_bytes_per_token();
    const std::vector<uint32_t> prompt = random_tokens(options.prompt_tokens, config, options.seed);
    feed_prompt(stream, decoder, prompt);  // compiles
    const double start = now_seconds();
    feed_prompt(stream, decoder, prompt);
    bench.prompt_seconds = now_seconds() - start;
    measure_tokens(stream, decoder, options, bench);
    bench.device_peak_bytes = device.memory().peak_bytes;
  }
  device.trim();
  const int64_t copied = int64_t{device.info().is_hardware_gpu() ? 256 : 16} << 20;
  constexpr double kSeconds = 0.3;
  bench.copy_bytes_per_second = kernels::measure_peaks(stream, copied, kSeconds).copy_bytes_per_second;
  return bench;
}

}  // namespace athanor::generate
