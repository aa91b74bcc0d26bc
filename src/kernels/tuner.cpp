// Ways are found on a dry device, whose launchers tell their questions; so this file knows of no kernel's forms.
#include "kernels/tuner.h"

#include "base/host.h"
#include "device/webgpu/dry_device.h"
#include "kernels/compare.h"

#include <algorithm>
#include <limits>

namespace athanor::kernels {

using device::ChoiceSizes;
using device::ChoiceTable;
using device::KnownChoice;

namespace {

constexpr double kLeastGain = 0.03;
constexpr size_t kLeastRounds = 5;
constexpr size_t kMostRounds = 41;
// A way that takes so much longer than the best is not timed again.
constexpr double kHopeless = 1.3;
// Launches between two waits last about so long: a wait is 50 us on a large GPU.
constexpr double kBatchSeconds = 2e-3;
constexpr int64_t kMostLaunches = 64;
constexpr size_t kMostWays = 64;

/// A question that was asked on a dry device, with what it answered.
struct Asked {
  std::string kernel;
  std::string what;
  ChoiceSizes sizes{};
  std::vector<std::string> answers;  // worth trying; the rule's first
  std::string rule;
  std::string given;
};

ChoiceSizes class_of(const ChoiceSizes& sizes) {
  ChoiceSizes classes{};
  std::transform(sizes.begin(), sizes.end(), classes.begin(), device::size_class);
  return classes;
}

std::string answer_text(const device::Choice& choice, int64_t answer) {
  return choice.names.empty() ? fmt::format("{}", answer) : std::string(choice.names[static_cast<size_t>(answer)]);
}

/// All of the names; of numbers those around the rule's, and powers of two.
std::vector<std::string> worth_trying(const device::Choice& choice) {
  std::vector<int64_t> numbers = {choice.rule};
  if (!choice.names.empty()) {
    for (int64_t i = choice.least; i <= choice.most; ++i) numbers.push_back(i);
  } else {
    for (int64_t i = 1; i <= choice.most && i <= 1 << 20; i *= 2) numbers.push_back(i);
    for (const int64_t near : {choice.rule / 2, choice.rule - 1, choice.rule + 1, choice.rule * 3 / 2})
      numbers.push_back(near);
  }
  std::vector<std::string> answers;
  for (const int64_t number : numbers) {
    if (number < choice.least || number > choice.most) continue;
    const std::string text = answer_text(choice, number);
    if (std::find(answers.begin(), answers.end(), text) == answers.end()) answers.push_back(text);
  }
  return answers;
}

Asked as_asked(const device::Choice& choice, int64_t answer) {
  return {std::string(choice.kernel), std::string(choice.what),         choice.sizes,
          worth_trying(choice),       answer_text(choice, choice.rule), answer_text(choice, answer)};
}

const KernelInfo& kernel_named(const std::vector<KernelInfo>& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& kernel) { return kernel.name == name; });
  check(found != table.end() && found->tuning, "tune: there is nothing to tune of {}", name);
  return *found;
}

/// What the launcher asks, in order and each question once, when `table` answers.
std::vector<Asked> questions_of(device::Device& like, const KernelInfo& kernel, const TunableCall& call,
                                const ChoiceTable& table) {
  std::vector<Asked> questions;
  device::webgpu::DryRun run = device::webgpu::dry_run_of(like);
  run.choices = std::make_shared<const ChoiceTable>(table);
  run.on_choice = [&](const device::Choice& choice, int64_t answer) {
    const Asked asked = as_asked(choice, answer);
    const auto same = [&](const Asked& known) { return known.what == asked.what && known.sizes == asked.sizes; };
    if (std::none_of(questions.begin(), questions.end(), same)) questions.push_back(asked);
  };
  const std::unique_ptr<device::Device> dry = device::webgpu::open_dry_device(std::move(run));
  kernel.tuning(dry->stream(), call.sizes, call.precision, OperandValues::None).launch();
  return questions;
}

void find_ways(device::Device& like, const KernelInfo& kernel, const TunableCall& call, const ChoiceTable& table,
               std::vector<KnownChoice> given, std::vector<TunedWay>& ways) {
  if (ways.size() >= kMostWays) return;
  const std::vector<Asked> questions = questions_of(like, kernel, call, table);
  if (given.size() == questions.size()) {
    TunedWay way{std::move(given)};
    way.is_rule = std::all_of(questions.begin(), questions.end(), [](const Asked& q) { return q.given == q.rule; });
    ways.push_back(std::move(way));
    return;
  }
  const Asked& next = questions[given.size()];
  for (const std::string& answer : next.answers) {
    ChoiceTable longer = table;
    const KnownChoice known{next.kernel, next.what, next.sizes, answer};
    longer.set(known);
    std::vector<KnownChoice> with = given;
    with.push_back(known);
    find_ways(like, kernel, call, longer, std::move(with), ways);
  }
}

std::shared_ptr<const ChoiceTable> table_of(const TunedWay& way) {
  auto table = std::make_shared<ChoiceTable>();
  for (const KnownChoice& known : way.answers) table->set(known);
  return table;
}

/// The device's table comes back when this goes.
class OtherChoices {
 public:
  explicit OtherChoices(device::Stream& stream) : stream_(stream), before_(choices_of(stream)) {}
  OtherChoices(const OtherChoices&) = delete;
  OtherChoices& operator=(const OtherChoices&) = delete;
  ~OtherChoices() { use_choices(stream_, before_); }

 private:
  device::Stream& stream_;
  std::shared_ptr<const ChoiceTable> before_;
};

std::vector<float> values_of(device::Stream& stream, const TuningLaunch& launch) {
  stream.fill_zero(launch.result);
  launch.prepare();
  launch.launch();
  std::vector<float> values(static_cast<size_t>(launch.result.size_bytes() / 4));
  stream.download(launch.result, std::as_writable_bytes(std::span(values)));
  return values;
}

/// Empty when both are the same up to rounding.
std::string difference(const std::vector<double>& expected, const std::vector<float>& seen, MatMulPrecision precision) {
  // Of the largest value; one f16 product is off by 2e-4 (matmul.md), sums in another order by a hundredth of that.
  const double allowed = precision == MatMulPrecision::Highest ? 1e-4 : 4e-3;
  CaseResult result;
  compare(result, "result", seen, expected, allowed);
  return result.passed() ? "" : fmt::format("off by {:.1e} of the largest, {}", result.largest_error, result.where);
}

/// Milliseconds of one call, over `pairs` of two: the first of a pair measures its operands' scales, the second finds them, as a step has it.
double time_pairs(device::Stream& stream, const TuningLaunch& launch, int64_t pairs) {
  stream.wait();
  const double start = now_seconds();
  for (int64_t i = 0; i < pairs; ++i) {
    launch.prepare();
    launch.launch();
    launch.launch();
  }
  stream.wait();
  return (now_seconds() - start) * 1e3 / static_cast<double>(2 * pairs);
}

double quantile(std::vector<double> times, double share) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1) + 0.5)];
}

/// Half of the times lie within this share of the median.
double spread(const std::vector<double>& times) {
  return (quantile(times, 0.75) - quantile(times, 0.25)) / quantile(times, 0.5);
}

/// Runs each way once, which compiles its shaders, and compares it with the rule's. False when it was stopped.
bool judge_ways(device::Stream& stream, const TuningLaunch& launch, TunedCall& tuned,
                const std::function<bool()>& should_stop) {
  std::vector<double> expected;
  for (TunedWay& way : tuned.ways) {
    if (should_stop()) return false;
    use_choices(stream, table_of(way));
    if (way.is_rule && expected.empty()) {
      expected = to_double(values_of(stream, launch));
      continue;
    }
    try {
      way.error = difference(expected, values_of(stream, launch), tuned.call.precision);
    } catch (const Error& refused) {
      stream.device().trim();
      way.error = refused.what();
    }
  }
  return true;
}

using Times = std::vector<std::vector<double>>;  // by way

/// Nothing when it was stopped before the least of rounds.
std::optional<Times> time_ways(device::Stream& stream, const TuningLaunch& launch, const TunedCall& tuned,
                               double seconds, const std::function<bool()>& should_stop) {
  const double start = now_seconds();
  const double once = time_pairs(stream, launch, 1) * 1e-3;
  const auto pairs = static_cast<int64_t>(kBatchSeconds / (2 * std::max(once, 1e-7)));
  Times times(tuned.ways.size());
  for (size_t round = 0; round < kMostRounds; ++round) {
    if (round >= kLeastRounds && now_seconds() - start > seconds) break;
    double best = std::numeric_limits<double>::max();
    for (const auto& of : times) {
      if (!of.empty()) best = std::min(best, *std::min_element(of.begin(), of.end()));
    }
    for (size_t i = 0; i < tuned.ways.size(); ++i) {
      if (!tuned.ways[i].error.empty()) continue;
      if (should_stop()) return round < kLeastRounds ? std::nullopt : std::optional(times);
      const bool is_hopeless =
          i > 0 && !times[i].empty() && *std::min_element(times[i].begin(), times[i].end()) > kHopeless * best;
      if (is_hopeless) continue;
      use_choices(stream, table_of(tuned.ways[i]));
      times[i].push_back(time_pairs(stream, launch, std::clamp<int64_t>(pairs, 1, kMostLaunches)));
    }
  }
  return times;
}

}  // namespace

void use_choices(device::Stream& stream, std::shared_ptr<const ChoiceTable> table) {
  if (stream.backend() == device::Backend::WebGpu) device::webgpu::as_webgpu(stream).use_choices(std::move(table));
}

std::shared_ptr<const ChoiceTable> choices_of(device::Stream& stream) {
  if (stream.backend() != device::Backend::WebGpu) return nullptr;
  std::shared_ptr<const ChoiceTable> table = device::webgpu::as_webgpu(stream).choices();
  return table ? table : std::make_shared<const ChoiceTable>();  // a device that was opened without one
}

std::vector<TunableCall> tunable_calls(device::Device& like, MatMulPrecision precision,
                                       const std::function<void(device::Stream&)>& work) {
  std::vector<TunableCall> calls;
  if (like.info().backend != device::Backend::WebGpu) return calls;
  device::webgpu::DryRun run = device::webgpu::dry_run_of(like);
  run.choices = nullptr;
  run.on_choice = [&](const device::Choice& choice, int64_t) {
    if (choice.least == choice.most) return;
    const double flops = 2.0 * static_cast<double>(choice.sizes[0]) * static_cast<double>(choice.sizes[1]) *
                         static_cast<double>(choice.sizes[2]);
    const TunableCall call{std::string(choice.kernel), choice.sizes, precision, flops, 1, std::string(choice.what)};
    // A call's later questions are of the same sizes, or of a piece of it.
    const auto same = [&](const TunableCall& known) {
      return known.kernel == call.kernel && class_of(known.sizes) == class_of(call.sizes);
    };
    const auto known = std::find_if(calls.begin(), calls.end(), same);
    if (known == calls.end()) return calls.push_back(call);
    if (known->question != call.question) return;
    known->flops += flops;
    known->calls += 1;
  };
  const std::unique_ptr<device::Device> dry = device::webgpu::open_dry_device(std::move(run));
  work(dry->stream());
  std::stable_sort(calls.begin(), calls.end(),
                   [](const TunableCall& a, const TunableCall& b) { return a.flops > b.flops; });
  return calls;
}

bool TunableCall::is_like(const TunableCall& other) const {
  return kernel == other.kernel && question == other.question && class_of(sizes) == class_of(other.sizes);
}

std::string TunedWay::text() const {
  std::string text;
  for (const KnownChoice& known : answers) {
    const bool is_name = known.answer.find_first_not_of("0123456789") != std::string::npos;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", is_name ? "" : known.what + " ", known.answer);
  }
  return text;
}

std::vector<TunedWay> ways_of(device::Device& like, const TunableCall& call) {
  const std::vector<KernelInfo> table = all_kernels();
  std::vector<TunedWay> ways;
  find_ways(like, kernel_named(table, call.kernel), call, {}, {}, ways);
  std::stable_partition(ways.begin(), ways.end(), [](const TunedWay& way) { return way.is_rule; });
  return ways;
}

std::optional<TunedCall> tune_call(device::Device& device, const TunableCall& call, double seconds,
                                   const std::function<bool()>& should_stop) {
  const std::vector<KernelInfo> table = all_kernels();
  TunedCall tuned{call, ways_of(device, call), 0, 0};
  check(!tuned.ways.empty() && tuned.ways.front().is_rule, "tune: {} has no way of its own rule; report this",
        call.kernel);
  if (tuned.ways.size() == 1) return tuned;
  device::Stream& stream = device.stream();
  const OtherChoices back(stream);
  const TuningLaunch launch =
      kernel_named(table, call.kernel).tuning(stream, call.sizes, call.precision, OperandValues::Random);
  if (!judge_ways(stream, launch, tuned, should_stop)) return std::nullopt;
  use_choices(stream, table_of(tuned.ways.front()));
  const std::optional<Times> timed = time_ways(stream, launch, tuned, seconds, should_stop);
  if (!timed) return std::nullopt;
  const Times& times = *timed;
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i].size() >= kLeastRounds) tuned.ways[i].milliseconds = quantile(times[i], 0.5);
  }
  const double rule = tuned.rule_way().milliseconds;
  tuned.noise = std::max(kLeastGain, spread(times.front()));
  for (size_t i = 1; i < tuned.ways.size(); ++i) {
    const double its = tuned.ways[i].milliseconds;
    if (its <= 0 || its >= tuned.best_way().milliseconds) continue;
    if (its < rule * (1 - std::max(tuned.noise, spread(times[i])))) tuned.best = i;
  }
  return tuned;
}

void keep(const TunedCall& tuned, ChoiceTable& table) {
  for (const TunedWay& way : tuned.ways) {
    for (const KnownChoice& known : way.answers) table.remove(known.kernel, known.what, known.sizes);
  }
  if (tuned.best == 0) return;
  // Without the answers before it a later one would not be asked for, so all that lead to the best way are kept.
  for (const KnownChoice& known : tuned.best_way().answers) table.set(known);
}

}  // namespace athanor::kernels
