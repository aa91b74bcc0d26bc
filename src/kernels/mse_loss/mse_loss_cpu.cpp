// mse_loss for the CPU device: fixed chunks of values in vectorised loops; the chunks' sums are added in order.
#include <vector>

#include "device/cpu/simd.h"
#include "kernels/mse_loss/mse_loss_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk = 16384;

ATHANOR_SIMD_CLONES
float sum_of_squares(const float* prediction, const float* wanted, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const float difference = prediction[i] - wanted[i];
    sum += difference * difference;
  }
  return sum;
}

ATHANOR_SIMD_CLONES
void scaled_differences(const float* prediction, const float* wanted, float* out, int64_t count, float scale) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = (prediction[i] - wanted[i]) * scale;
}

}  // namespace

void mse_loss_cpu(device::cpu::CpuStream& stream, const MseLoss& args) {
  const float* prediction = data<float>(args.prediction);
  const float* wanted = data<float>(args.wanted);
  std::vector<float> sums(static_cast<size_t>(ceil_div(args.count, kValuesPerChunk)));
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    sums[begin / kValuesPerChunk] = sum_of_squares(prediction + begin, wanted + begin, end - begin);
  });
  double total = 0;
  for (float sum : sums) total += sum;
  *data<float>(args.loss) = static_cast<float>(total * 0.5 * args.scale);
}

void mse_loss_backward_cpu(device::cpu::CpuStream& stream, const MseLossBackward& args) {
  const float* prediction = data<float>(args.prediction);
  const float* wanted = data<float>(args.wanted);
  float* d_prediction = data<float>(args.d_prediction);
  stream.threads().parallel_for(args.count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    scaled_differences(prediction + begin, wanted + begin, d_prediction + begin, end - begin, args.scale);
  });
}

}  // namespace athanor::kernels
