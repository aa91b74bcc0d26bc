// cross_entropy as plain loops in double.
#include "kernels/cross_entropy/cross_entropy_reference.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

// One row under the soft cap: its values, their log-sum-exp, and what the loss wants of them: the smoothed target of entry v.
struct Row {
  std::vector<double> x;
  std::vector<double> slopes;  // of the soft cap
  double log_sum_exp = 0;
  double smoothing = 0;
  int32_t target = 0;

  double wanted(size_t v) const {
    return (v == static_cast<size_t>(target) ? 1 - smoothing : 0) + smoothing / static_cast<double>(x.size());
  }
};

Row row_of(const double* logits, int64_t vocabulary, int32_t target, const CrossEntropyTerms& terms) {
  Row row{{logits, logits + vocabulary}, std::vector<double>(static_cast<size_t>(vocabulary), 1.0)};
  row.smoothing = terms.label_smoothing;
  row.target = target;
  const double cap = terms.soft_cap;
  for (size_t v = 0; cap > 0 && v < row.x.size(); ++v) {
    const double bent = std::tanh(row.x[v] / cap);
    row.x[v] = cap * bent;
    row.slopes[v] = 1 - bent * bent;
  }
  const double largest = *std::max_element(row.x.begin(), row.x.end());
  double sum = 0;
  for (const double x : row.x) sum += std::exp(x - largest);
  row.log_sum_exp = largest + std::log(sum);
  return row;
}

}  // namespace

std::vector<double> cross_entropy_reference(const std::vector<double>& logits, const std::vector<int32_t>& targets,
                                            int64_t vocabulary, const CrossEntropyTerms& terms) {
  std::vector<double> losses(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kIgnoreTarget) continue;
    const Row row = row_of(logits.data() + static_cast<int64_t>(i) * vocabulary, vocabulary, targets[i], terms);
    for (size_t v = 0; v < row.x.size(); ++v) losses[i] += row.wanted(v) * (row.log_sum_exp - row.x[v]);
    losses[i] += terms.z_loss * row.log_sum_exp * row.log_sum_exp;
  }
  return losses;
}

std::vector<double> cross_entropy_backward_reference(const std::vector<double>& logits,
                                                     const std::vector<int32_t>& targets, int64_t vocabulary,
                                                     double scale, const CrossEntropyTerms& terms) {
  std::vector<double> d_logits(logits.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kIgnoreTarget) continue;
    const size_t start = i * static_cast<size_t>(vocabulary);
    const Row row = row_of(logits.data() + start, vocabulary, targets[i], terms);
    const double pull = 1 + 2 * static_cast<double>(terms.z_loss) * row.log_sum_exp;
    for (size_t v = 0; v < row.x.size(); ++v) {
      const double probability = std::exp(row.x[v] - row.log_sum_exp);
      d_logits[start + v] = (pull * probability - row.wanted(v)) * scale * row.slopes[v];
    }
  }
  return d_logits;
}

device::Buffer upload_targets(device::Stream& stream, const std::vector<int32_t>& targets) {
  return upload_values(stream, std::span(reinterpret_cast<const uint32_t*>(targets.data()), targets.size()));
}

CrossEntropyTotals download_totals(device::Stream& stream, const device::Buffer& totals) {
  CrossEntropyTotals values;
  stream.download(totals, std::as_writable_bytes(std::span(&values, 1)));
  return values;
}

}  // namespace athanor::kernels
