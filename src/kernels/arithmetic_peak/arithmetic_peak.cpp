// The door of arithmetic_peak, both devices' versions and its cases: it is small, and no part of a model.
#include "kernels/arithmetic_peak/arithmetic_peak.h"

#include "device/cpu/simd.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/wgsl/arithmetic_peak.h"

#include <array>

namespace athanor::kernels {

namespace {

constexpr float kFactor = 0.5F;
constexpr float kAddend = 0.25F;

device::KernelCost cost_of(const ArithmeticPeak& args) {
  return {2.0 * kArithmeticChains * static_cast<double>(args.rounds) * static_cast<double>(args.count),
          4.0 * static_cast<double>(args.count)};
}

// On the CPU the chains of a block of threads fill the vector registers: lane l of chain c belongs to thread begin + l.
constexpr int64_t kLanes = 16;

ATHANOR_SIMD_CLONES
void run_lanes(float* chains, int64_t rounds, float factor, float addend) {
  constexpr int64_t kValues = kArithmeticChains * kLanes;
  float x[kValues];
  for (int64_t i = 0; i < kValues; ++i) x[i] = chains[i];
  for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int64_t c = 0; c < kArithmeticChains; ++c) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l) x[c * kLanes + l] = x[c * kLanes + l] * factor + addend;
    }
  }
  for (int64_t i = 0; i < kValues; ++i) chains[i] = x[i];
}

void arithmetic_peak_cpu(device::cpu::CpuStream& stream, const ArithmeticPeak& args) {
  float* out = device::cpu::data<float>(args.out);
  stream.threads().parallel_for(args.count, kLanes, [&](int64_t begin, int64_t end, int) {
    std::array<float, kArithmeticChains * kLanes> chains;
    for (int64_t c = 0; c < kArithmeticChains; ++c) {
      for (int64_t l = 0; l < kLanes; ++l)
        chains[static_cast<size_t>(c * kLanes + l)] = static_cast<float>((begin + l) % 64 + c) / 64.0F;
    }
    run_lanes(chains.data(), args.rounds, kFactor, kAddend);
    for (int64_t i = begin; i < end; ++i) {
      out[i] = 0;
      for (int64_t c = 0; c < kArithmeticChains; ++c) out[i] += chains[static_cast<size_t>(c * kLanes + i - begin)];
    }
  });
}

void arithmetic_peak_webgpu(device::webgpu::WebGpuStream& stream, const ArithmeticPeak& args) {
  device::webgpu::Dispatch dispatch;
  dispatch.kernel = "arithmetic_peak";
  dispatch.sources = {&arithmetic_peak_wgsl};
  dispatch.bindings = {device::webgpu::read_write(args.out)};
  dispatch.params = {to_u32(args.count, "arithmetic_peak"), to_u32(args.rounds, "arithmetic_peak"),
                     device::webgpu::float_bits(kFactor), device::webgpu::float_bits(kAddend)};
  dispatch.grid = stream.fold(ceil_div(args.count, 256));
  dispatch.cost = cost_of(args);
  stream.dispatch(dispatch);
}

CaseResult run_case(device::Stream& stream, int64_t count, int64_t rounds) {
  const ArithmeticPeak args{poisoned(stream, count), count, rounds};
  arithmetic_peak(stream, args);
  std::vector<double> want(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < kArithmeticChains; ++c) {
      double x = static_cast<double>(i % 64 + c) / 64;
      for (int64_t round = 0; round < rounds; ++round) x = x * kFactor + kAddend;
      want[static_cast<size_t>(i)] += x;
    }
  }
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), want, allowed_f32(kArithmeticChains));
  return result;
}

std::vector<KernelCase> cases() {
  std::vector<KernelCase> list;
  for (const int64_t count : {1, 3, 63, 65, 257}) {
    list.push_back({fmt::format("{} values, 7 rounds", count), true,
                    [count](device::Stream& stream) { return run_case(stream, count, 7); }});
  }
  return list;
}

/// As many threads as a large device runs at once, and rounds enough for milliseconds; on the CPU a hundredth of that.
KernelBench bench(device::Stream& stream, int64_t bytes) {
  const bool is_fast = stream.device().info().is_hardware_gpu();
  ArithmeticPeak args;
  args.count = is_fast ? std::min<int64_t>(bytes / 4, 1 << 20) : 1 << 14;
  args.rounds = is_fast ? 4096 : 1024;
  args.out = stream.device().allocate(args.count * 4, "arithmetic_peak out");
  return {fmt::format("threads {}, rounds {}", args.count, args.rounds), cost_of(args),
          [&stream, args] { arithmetic_peak(stream, args); }, 4};
}

}  // namespace

void arithmetic_peak(Stream& stream, const ArithmeticPeak& args) {
  check(args.count > 0 && args.rounds >= 0, "arithmetic_peak: {} values and {} rounds; pass at least 1 and 0",
        args.count, args.rounds);
  check_size("arithmetic_peak", "out", args.out, args.count);
  launch(
      stream, "arithmetic_peak", cost_of(args), [&](auto& cpu) { arithmetic_peak_cpu(cpu, args); },
      [&](auto& webgpu) { arithmetic_peak_webgpu(webgpu, args); });
}

std::vector<KernelInfo> arithmetic_peak_kernels() {
  return {
      {"arithmetic_peak", "multiply-adds in registers: the limit that bench kernels compares with", cases(), bench}};
}

}  // namespace athanor::kernels
