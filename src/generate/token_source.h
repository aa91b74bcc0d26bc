// Where a text's next token comes from: drawn on the device, which feeds it to the model at once, or on the host from the logits.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "generate/decoder.h"
#include "generate/sampler.h"

namespace athanor::generate {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// True when a token may be asked for before the one in front of it was taken; false: all that was asked for must be taken first.
  virtual bool runs_ahead() const = 0;
  /// Records what the next token takes: for the first of a text a draw from the logits that the decoder has, later the way of the
  /// token before through the model, and a draw. position: of the next token in its text.
  virtual void ask(int64_t position) = 0;
  /// Waits for the oldest token that was asked for and not taken. text: all in front of it.
  virtual uint32_t take(std::span<const uint32_t> text) = 0;
};

/// Of a device that works beside the host nothing comes back but the tokens, and it is never waited for with nothing left to do.
class DeviceTokens final : public TokenSource {
 public:
  /// vocabulary: ids from here on are never drawn. The options have no repeat penalty, which looks at tokens that the host would have
  /// to send. Logits that are no numbers are not noticed. Throws Error as check_options does.
  DeviceTokens(device::Stream& stream, Decoder& decoder, const SamplerOptions& options, int64_t vocabulary);

  bool runs_ahead() const override;
  void ask(int64_t position) override;
  uint32_t take(std::span<const uint32_t> text) override;
  uint32_t take() { return take({}); }
  /// ask() without handing the work to the device.
  void record(int64_t position);

 private:
  device::Stream& stream_;
  Decoder& decoder_;
  SamplerOptions options_;
  int64_t vocabulary_;
  device::Buffer token_;  // (1) u32: the last one drawn
  bool is_first_ = true;
  std::deque<std::unique_ptr<device::Readback>> asked_;
};

/// Any options; all logits of each token go to the host.
class HostTokens final : public TokenSource {
 public:
  HostTokens(device::Stream& stream, Decoder& decoder, const SamplerOptions& options, int64_t vocabulary);

  bool runs_ahead() const override { return false; }
  void ask(int64_t position) override;
  uint32_t take(std::span<const uint32_t> text) override;

 private:
  device::Stream& stream_;
  Decoder& decoder_;
  Sampler sampler_;
  int64_t vocabulary_;
  uint32_t token_ = 0;  // the last one drawn
  bool is_first_ = true;
  std::vector<float> logits_;  // (V)
};

/// The first vocabulary logits of the decoder's last token; waits. Throws Error as check_logits does.
void check_logits_of(device::Stream& stream, const Decoder& decoder, int64_t vocabulary);

}  // namespace athanor::generate
