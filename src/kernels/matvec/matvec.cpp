// The door of matvec: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/matvec/matvec.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/matvec/matvec_internal.h"
#include "kernels/matvec/matvec_reference.h"

namespace athanor::kernels {

namespace {

constexpr std::string_view kKernel = "matvec";
constexpr int64_t kBlockValues = 32;
constexpr int64_t kBlockBytes = 34;

device::KernelCost cost_of(const MatVec& args) {
  const double terms = static_cast<double>(args.n) * static_cast<double>(args.k);
  const int64_t vectors = (args.factor ? 2 : 1) * args.k + (args.accumulate == Accumulate::Yes ? 2 : 1) * args.n;
  return {2 * terms, static_cast<double>(matvec_row_bytes(args.weight, args.n, args.k) + 4 * vectors)};
}

void check_args(const MatVec& args) {
  check(args.n > 0 && args.k > 0, "{}: N {}, K {} were given; each must be at least 1", kKernel, args.n, args.k);
  check(args.weight != MatVecWeight::Q8_0 || args.k % kBlockValues == 0,
        "{}: rows of {} values are no whole q8_0 blocks of {}; keep such a weight in f16", kKernel, args.k,
        kBlockValues);
  check_size(kKernel, "x", args.x, args.k);
  if (args.operand != MatVecOperand::Plain) check_size(kKernel, "factor", args.factor, args.k);
  check_size(kKernel, "w", args.w, ceil_div(matvec_row_bytes(args.weight, args.n, args.k), 4) * 4, 1);
  check_size(kKernel, "y", args.y, args.n);
}

/// One token of decoding, W of about `bytes`.
KernelBench bench(Stream& stream, int64_t bytes) {
  MatVec args;
  args.k = 1024;
  args.n = bytes / 4 / args.k;
  args.operand = MatVecOperand::RmsNorm;
  args.x = bench_values(stream, args.k, 1);
  args.factor = bench_values(stream, args.k, 2);
  args.w = bench_values(stream, args.n * args.k, 3);
  args.y = stream.device().allocate(args.n * 4, "bench y");
  return {fmt::format("N {}, K {}, f32, rms_norm", args.n, args.k), cost_of(args),
          [&stream, args] { matvec(stream, args); }};
}

}  // namespace

int64_t matvec_row_bytes(MatVecWeight weight, int64_t rows, int64_t k) {
  if (weight == MatVecWeight::Q8_0) return rows * (k / kBlockValues) * kBlockBytes;
  return rows * k * (weight == MatVecWeight::F16 ? 2 : 4);
}

void matvec(Stream& stream, const MatVec& args) {
  check_args(args);
  if (stream.backend() == device::Backend::Cpu) return matvec_cpu(stream, args);
  device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  const device::KernelCost cost = cost_of(args);
  webgpu.enter(kKernel, cost);
  matvec_webgpu(webgpu, args, cost, webgpu.limits().max_binding_bytes);
}

std::vector<KernelInfo> matvec_kernels() {
  return {{std::string(kKernel), "one row times W^T in f32, f16 or Q8_0, of its norm or gate, written or added",
           matvec_cases(), bench}};
}

}  // namespace athanor::kernels
