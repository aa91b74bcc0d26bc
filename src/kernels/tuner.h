// Which forms of a kernel are fastest here: every way that its launcher could take is run beside its own rule's, in turns, on real operands.
#pragma once

#include "device/choices.h"
#include "kernels/kernel_info.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace athanor::kernels {

/// The table that a device's launchers use from now on (nullptr: none); the CPU device's ask none.
void use_choices(device::Stream& stream, std::shared_ptr<const device::ChoiceTable> table);
std::shared_ptr<const device::ChoiceTable> choices_of(device::Stream& stream);

/// A kernel at sizes for which its launcher has a choice.
struct TunableCall {
  std::string kernel;
  device::ChoiceSizes sizes{};
  MatMulPrecision precision = MatMulPrecision::Highest;
  double flops = 0;        // of all launches of this kind in the work that was noted
  int64_t calls = 0;       // of them
  std::string question{};  // the launcher's first: calls of other precisions may have the same

  /// One answer serves both: same kernel, class of sizes and question.
  bool is_like(const TunableCall& other) const;
};

/// The calls of a piece of work for which launchers on this device have a choice, each class of sizes once, those with most work first.
/// Nothing is run. precision: what the work permits.
std::vector<TunableCall> tunable_calls(device::Device& like, MatMulPrecision precision,
                                       const std::function<void(device::Stream&)>& work);

/// One way through the choices of a call: the answers, in the order of the questions.
struct TunedWay {
  std::vector<device::KnownChoice> answers;
  bool is_rule = false;
  double milliseconds = 0;  // median; 0: given up as hopeless, or wrong
  std::string error{};      // why it is out: it computed other values than the rule's, or was refused
  /// "tiles, parts 4"
  std::string text() const;
};

struct TunedCall {
  TunableCall call;
  std::vector<TunedWay> ways;  // the rule's first
  size_t best = 0;             // the rule's unless another one is faster by more than the noise
  double noise = 0;            // what it had to gain, as a share of the rule's time

  const TunedWay& rule_way() const { return ways.front(); }
  const TunedWay& best_way() const { return ways[best]; }
  double gain() const { return rule_way().milliseconds / best_way().milliseconds - 1; }
};

/// Every way that the launcher admits for this call, the rule's first, without a table.
std::vector<TunedWay> ways_of(device::Device& like, const TunableCall& call);

/// Times them in turns for about `seconds`, at least five rounds, after one call of each, which compiles it. Nothing when should_stop, asked
/// before each, ended that early. Another way is taken only when it gains more than 3 % and more than the spread of its and
/// the rule's times, and gives the rule's values up to rounding. The device's own table is back in use at the end.
std::optional<TunedCall> tune_call(
    device::Device& device, const TunableCall& call, double seconds,
    const std::function<bool()>& should_stop = [] { return false; });

/// Puts what was found into a table: an answer where the best way's is not the rule's, none where it is.
void keep(const TunedCall& tuned, device::ChoiceTable& table);

}  // namespace athanor::kernels
