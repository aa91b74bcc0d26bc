// add and gradient_accumulate for the CPU device: one vectorised loop, shared among the workers in fixed chunks.
#include "device/cpu/simd.h"
#include "kernels/add/add_internal.h"

namespace athanor::kernels {

using device::cpu::data;

namespace {

constexpr int64_t kValuesPerChunk =
    16384;  // 64 KiB an operand: small against a core's L2, large against the cost of a chunk

// out may be a or b: each value is read before it is written.
ATHANOR_SIMD_CLONES
void add_values(const float* a, const float* b, float* out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

void add_all(device::cpu::CpuStream& stream, const float* a, const float* b, float* out, int64_t count) {
  stream.threads().parallel_for(count, kValuesPerChunk, [&](int64_t begin, int64_t end, int) {
    add_values(a + begin, b + begin, out + begin, end - begin);
  });
}

}  // namespace

void add_cpu(device::cpu::CpuStream& stream, const Add& args) {
  add_all(stream, data<float>(args.a), data<float>(args.b), data<float>(args.out), args.count);
}

void gradient_accumulate_cpu(device::cpu::CpuStream& stream, const AddInto& args) {
  add_all(stream, data<float>(args.into), data<float>(args.from), data<float>(args.into), args.count);
}

}  // namespace athanor::kernels
