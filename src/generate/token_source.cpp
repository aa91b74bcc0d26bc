// Tokens from the device and from the host.
#include "generate/token_source.h"

#include "kernels/sample/sample.h"

namespace athanor::generate {

namespace {

void read_logits(device::Stream& stream, const Decoder& decoder, std::vector<float>& logits) {
  logits.resize(static_cast<size_t>(decoder.config().vocab_size));
  stream.download(decoder.logits(), std::as_writable_bytes(std::span(logits)));
}

}  // namespace

DeviceTokens::DeviceTokens(device::Stream& stream, Decoder& decoder, const SamplerOptions& options, int64_t vocabulary)
    : stream_(stream),
      decoder_(decoder),
      options_(options),
      vocabulary_(vocabulary),
      token_(stream.device().allocate(4, "token")) {
  check_options(options);
  check(options.repeat_penalty == 1, "sampler: repeat-penalty is {} for tokens drawn on the device; draw on the host",
        options.repeat_penalty);
}

bool DeviceTokens::runs_ahead() const { return stream_.backend() == device::Backend::WebGpu; }

void DeviceTokens::record(int64_t position) {
  if (!is_first_) decoder_.feed_one(token_);
  is_first_ = false;
  kernels::Sample args;
  args.logits = decoder_.logits().slice(0, vocabulary_ * 4);
  args.tokens = token_;
  args.rows = 1;
  args.vocabulary = vocabulary_;
  args.temperature = options_.temperature;
  args.top_k = options_.top_k;
  args.top_p = options_.top_p;
  args.min_p = options_.min_p;
  args.seed = options_.seed;
  args.position = position;
  kernels::sample(stream_, args);
  asked_.push_back(stream_.read_later(token_));
}

void DeviceTokens::ask(int64_t position) {
  record(position);
  stream_.submit();
}

uint32_t DeviceTokens::take(std::span<const uint32_t>) {
  uint32_t token = 0;
  asked_.front()->wait(std::as_writable_bytes(std::span(&token, 1)));
  asked_.pop_front();
  return token;
}

HostTokens::HostTokens(device::Stream& stream, Decoder& decoder, const SamplerOptions& options, int64_t vocabulary)
    : stream_(stream), decoder_(decoder), sampler_(options), vocabulary_(vocabulary) {}

void HostTokens::ask(int64_t) {
  if (!is_first_) decoder_.feed({&token_, 1}, Decoder::Logits::OfTheLast);
  is_first_ = false;
}

uint32_t HostTokens::take(std::span<const uint32_t> text) {
  read_logits(stream_, decoder_, logits_);
  const std::span<const float> chosen_from(logits_.data(), static_cast<size_t>(vocabulary_));
  token_ = sampler_.sample(chosen_from, text, static_cast<int64_t>(text.size()));
  return token_;
}

void check_logits_of(device::Stream& stream, const Decoder& decoder, int64_t vocabulary) {
  std::vector<float> logits;
  read_logits(stream, decoder, logits);
  check_logits(std::span(logits).first(static_cast<size_t>(vocabulary)));
}

}  // namespace athanor::generate
