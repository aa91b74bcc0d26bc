// cross_entropy for the CPU device: rows shared among the workers; a row's maximum, then its exponentials with their sum, then the
// scaling, each a vectorised pass over a row that stays in the core's cache.
#include <cmath>

#include "device/cpu/simd.h"
#include "kernels/attention/soft_cap.h"
#include "kernels/cross_entropy/cross_entropy_internal.h"

namespace athanor::kernels {

using device::cpu::data;
using device::cpu::exp_fast;

namespace {

// About 64 KiB of logits a chunk, so that short rows do not drown in the cost of chunks. A function of the shape alone.
int64_t rows_per_chunk(int64_t vocabulary) { return std::max<int64_t>(1, 16384 / vocabulary); }

ATHANOR_SIMD_CLONES
void cap_row(const float* x, float* out, int64_t count, float cap) { soft_cap_row(x, out, count, 1.0F, cap); }

ATHANOR_SIMD_CLONES
float row_maximum(const float* x, int64_t count) {
  float largest = x[0];
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// The mean of (largest - x).
ATHANOR_SIMD_CLONES
float mean_below(const float* x, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += largest - x[i];
  return sum / static_cast<float>(count);
}

ATHANOR_SIMD_CLONES
float sum_of_exponentials(const float* x, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += exp_fast(x[i] - largest);
  return sum;
}

// out may be x.
ATHANOR_SIMD_CLONES
float write_exponentials(const float* x, float* out, int64_t count, float largest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const float value = exp_fast(x[i] - largest);
    out[i] = value;
    sum += value;
  }
  return sum;
}

ATHANOR_SIMD_CLONES
void scale_and_shift(float* x, int64_t count, float factor, float shift) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] * factor - shift;
}

// The gradient passes the soft cap, whose results the logits are.
ATHANOR_SIMD_CLONES
void multiply_slopes(float* x, const float* capped, int64_t count, float inverse) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float ratio = capped[i] * inverse;
    x[i] *= 1.0F - ratio * ratio;
  }
}

// One row of logits, and what they come to. `capped` is what the soft cap made of them, or the logits themselves.
struct Row {
  const CrossEntropyTerms& terms;
  int64_t vocabulary;
  int32_t target;
  const float* capped;

  static bool counts(int32_t target, int64_t vocabulary) { return target >= 0 && target < vocabulary; }

  float loss(float largest, float sum, float target_below, float all_below) const {
    const float log_sum_exp = largest + std::log(sum);
    return std::log(sum) + (1 - terms.label_smoothing) * target_below + terms.label_smoothing * all_below +
           terms.z_loss * log_sum_exp * log_sum_exp;
  }
  float all_below(float largest) const {
    return terms.label_smoothing > 0 ? mean_below(capped, vocabulary, largest) : 0.0F;
  }
  float loss() const {
    const float largest = row_maximum(capped, vocabulary);
    return loss(largest, sum_of_exponentials(capped, vocabulary, largest), largest - capped[target],
                all_below(largest));
  }
  // Writes the gradient, where the logits may lie, and returns the loss.
  float gradient(float* d_logits, float scale) const {
    const float largest = row_maximum(capped, vocabulary);
    const float target_below = largest - capped[target];
    const float below = all_below(largest);
    const float sum = write_exponentials(capped, d_logits, vocabulary, largest);
    const float pull = 1 + 2 * terms.z_loss * (largest + std::log(sum));
    scale_and_shift(d_logits, vocabulary, scale * pull / sum,
                    scale * terms.label_smoothing / static_cast<float>(vocabulary));
    d_logits[target] -= scale * (1 - terms.label_smoothing);
    if (terms.soft_cap > 0) multiply_slopes(d_logits, capped, vocabulary, inverse_cap(terms.soft_cap));
    return loss(largest, sum, target_below, below);
  }
};

// body(row index, Row) for each row that counts, otherwise(row index) for the others.
template <typename Args, typename Body, typename Otherwise>
void for_each_row(device::cpu::CpuStream& stream, const Args& args, const float* logits, Body body,
                  Otherwise otherwise) {
  const int32_t* targets = data<int32_t>(args.targets);
  const int64_t vocabulary = args.vocabulary;
  device::cpu::ThreadPool& threads = stream.threads();
  threads.parallel_for(args.rows, rows_per_chunk(vocabulary), [&](int64_t begin, int64_t end, int worker) {
    float* scratch = args.terms.soft_cap > 0 ? threads.scratch(worker, vocabulary) : nullptr;
    for (int64_t row = begin; row < end; ++row) {
      if (!Row::counts(targets[row], vocabulary)) {
        otherwise(row);
        continue;
      }
      const float* x = logits + row * vocabulary;
      if (scratch != nullptr) cap_row(x, scratch, vocabulary, args.terms.soft_cap);
      body(row, Row{args.terms, vocabulary, targets[row], scratch != nullptr ? scratch : x});
    }
  });
}

template <typename Args>
void sum_losses(const Args& args) {
  if (!args.totals) return;
  const float* losses = data<float>(args.losses);
  const int32_t* targets = data<int32_t>(args.targets);
  auto* totals = data<CrossEntropyTotals>(args.totals);
  double sum = 0;
  uint32_t count = 0;
  for (int64_t row = 0; row < args.rows; ++row) {
    sum += losses[row];
    count += Row::counts(targets[row], args.vocabulary) ? 1 : 0;
  }
  if (args.accumulate_totals == Accumulate::No) *totals = {};
  totals->loss_sum += static_cast<float>(sum);
  totals->count += count;
}

}  // namespace

void cross_entropy_cpu(device::cpu::CpuStream& stream, const CrossEntropy& args) {
  float* losses = data<float>(args.losses);
  for_each_row(
      stream, args, data<float>(args.logits), [&](int64_t row, const Row& one) { losses[row] = one.loss(); },
      [&](int64_t row) { losses[row] = 0; });
  sum_losses(args);
}

void cross_entropy_backward_cpu(device::cpu::CpuStream& stream, const CrossEntropyBackward& args) {
  float* d_logits = data<float>(args.d_logits);
  for_each_row(
      stream, args, data<float>(args.logits),
      [&](int64_t row, const Row& one) { one.gradient(d_logits + row * args.vocabulary, args.scale); },
      [&](int64_t row) { std::fill_n(d_logits + row * args.vocabulary, args.vocabulary, 0.0F); });
}

void cross_entropy_in_place_cpu(device::cpu::CpuStream& stream, const CrossEntropyFused& args) {
  float* logits = data<float>(args.logits_to_gradient);
  float* losses = data<float>(args.losses);
  for_each_row(
      stream, args, logits,
      [&](int64_t row, const Row& one) { losses[row] = one.gradient(logits + row * args.vocabulary, args.scale); },
      [&](int64_t row) {
        losses[row] = 0;
        std::fill_n(logits + row * args.vocabulary, args.vocabulary, 0.0F);
      });
  sum_losses(args);
}

}  // namespace athanor::kernels
