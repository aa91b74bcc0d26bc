// matvec as plain loops in double, and the sizes it is tried at.
#include "kernels/matvec/matvec_reference.h"

#include "base/random.h"
#include "kernels/fp32_to_fp16/half.h"
#include "kernels/matmul_quantized/matmul_quantized_reference.h"
#include "kernels/matvec/matvec_internal.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace athanor::kernels {

namespace {

struct Case {
  MatVecSizes sizes;
  bool in_doctor;
};

using O = MatVecOperand;
using W = MatVecWeight;

// One row and one term; rows below and above a workgroup's; sums of less and of more than all lanes read ahead; rows that are no whole vectors
// and odd numbers of halves; a real model's shapes; more rows than get more lanes.
const std::vector<Case> kCases = {
    {{1, 1}, false},
    {{65, 64}, true},
    {{343, 2006}, false},
    {{63, 63, O::Plain, W::F32, Accumulate::Yes}, true},
    {{257, 576, O::Plain, W::F16, Accumulate::Yes}, true},
    {{5, 3, O::Plain, W::F16}, true},
    {{63, 257, O::RmsNorm, W::F16}, false},
    {{65, 2560, O::Swiglu, W::F32}, false},
    {{960, 576, O::RmsNorm, W::F32}, true},
    {{3, 65, O::RmsNorm, W::F32}, false},
    {{960, 576, O::RmsNorm, W::F16}, true},
    {{960, 576, O::RmsNorm, W::Q8_0}, true},
    {{576, 1536, O::Swiglu, W::F16, Accumulate::Yes}, true},
    {{576, 1536, O::Swiglu, W::Q8_0, Accumulate::Yes}, true},
    {{37, 32, O::Plain, W::Q8_0}, false},
    {{65, 96, O::Plain, W::Q8_0, Accumulate::Yes}, true},
    {{5, 63, O::Swiglu, W::F16}, false},
    {{8193, 64, O::RmsNorm, W::F16}, false},
};

std::string_view name_of(O operand) {
  return operand == O::Plain ? "" : operand == O::RmsNorm ? ", rms_norm" : ", swiglu";
}

std::string_view name_of(W weight) { return weight == W::F32 ? "f32" : weight == W::F16 ? "f16" : "q8_0"; }

/// Puts random weights into args.w; returns their values.
std::vector<double> make_weights(device::Stream& stream, const MatVecSizes& sizes, MatVec& args) {
  const int64_t count = sizes.n * sizes.k;
  const std::vector<float> values = test_values(count, 3);
  if (sizes.weight == W::F32) {
    args.w = upload_values(stream, values);
    return to_double(values);
  }
  const auto row_bytes = static_cast<size_t>(matvec_row_bytes(sizes.weight, sizes.n, sizes.k));
  std::vector<uint32_t> words((row_bytes + 3) / 4, 0xffffffffU);
  std::vector<double> weights(static_cast<size_t>(count));
  if (sizes.weight == W::F16) {
    std::vector<uint16_t> halves(static_cast<size_t>(count));
    for (size_t i = 0; i < halves.size(); ++i) {
      halves[i] = static_cast<uint16_t>(half_bits(std::bit_cast<uint32_t>(values[i])));
      weights[i] = std::bit_cast<float>(float_bits_of_half(halves[i]));
    }
    std::memcpy(words.data(), halves.data(), row_bytes);
  } else {
    std::vector<uint8_t> bytes(row_bytes);
    Random random(5, RandomStream::Test, 2);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next_u32() >> 24);
    // Scales of both signs below 2^-13, every second one subnormal as a half.
    for (size_t block = 0; block < bytes.size(); block += 34) bytes[block + 1] &= 0x87;
    weights = blocks_reference(WeightFormat::Q8_0, bytes, count);
    std::memcpy(words.data(), bytes.data(), row_bytes);
  }
  args.w = upload_values(stream, words);
  return weights;
}

}  // namespace

std::vector<double> matvec_operand_reference(MatVecOperand operand, const std::vector<double>& x,
                                             const std::vector<double>& factor, double eps) {
  std::vector<double> result = x;
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  for (size_t i = 0; i < x.size(); ++i) {
    if (operand == O::RmsNorm) result[i] = x[i] * factor[i] / root;
    if (operand == O::Swiglu) result[i] = x[i] / (1 + std::exp(-x[i])) * factor[i];
  }
  return result;
}

CaseResult run_matvec_case(device::Stream& stream, const MatVecSizes& sizes, int64_t max_binding_bytes) {
  const std::vector<float> x = test_values(sizes.k, 1);
  const std::vector<float> factor = test_values(sizes.k, 2);
  const std::vector<float> before = test_values(sizes.n, 4);
  const bool adds = sizes.accumulate == Accumulate::Yes;
  MatVec args;
  args.n = sizes.n;
  args.k = sizes.k;
  args.operand = sizes.operand;
  args.weight = sizes.weight;
  args.accumulate = sizes.accumulate;
  args.x = upload_values(stream, x);
  if (sizes.operand != O::Plain) args.factor = upload_values(stream, factor);
  args.y = adds ? upload_values(stream, before) : poisoned(stream, sizes.n);
  const std::vector<double> weights = make_weights(stream, sizes, args);
  if (max_binding_bytes > 0 && stream.backend() == device::Backend::WebGpu) {
    matvec_webgpu(device::webgpu::as_webgpu(stream), args, {}, max_binding_bytes);
  } else {
    matvec(stream, args);
  }
  std::vector<double> want = quantized_product_reference(
      matvec_operand_reference(sizes.operand, to_double(x), to_double(factor), static_cast<double>(args.eps)), weights,
      1, sizes.n, sizes.k);
  for (size_t i = 0; adds && i < want.size(); ++i) want[i] += static_cast<double>(before[i]);
  CaseResult result;
  compare(result, "y", download_values(stream, args.y), want, allowed_f32(sizes.k));
  return result;
}

std::vector<KernelCase> matvec_cases() {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const MatVecSizes& sizes = one.sizes;
    list.push_back({fmt::format("N {}, K {}, {}{}{}", sizes.n, sizes.k, name_of(sizes.weight), name_of(sizes.operand),
                                sizes.accumulate == Accumulate::Yes ? ", added" : ""),
                    one.in_doctor, [sizes](device::Stream& stream) { return run_matvec_case(stream, sizes); }});
  }
  return list;
}

}  // namespace athanor::kernels
