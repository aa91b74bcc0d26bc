// Cases of the matrix products: few rows and many, below and above a tile of 64 and a step of 16, rows of whole vectors and others.
#include "kernels/matmul/matmul_cases.h"

#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_half.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/matmul/matmul_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

struct Sizes {
  Extents size;
  bool in_doctor;
};

// A long sum over a small result, which is cut into parts; a real layer; the head of a small model, whose vocabulary is no multiple of
// four, over a block of 343 tokens, and the gradient of its input.
const std::vector<Sizes> kSizes = {{{1, 1, 1}, false},      {{1, 257, 343}, true},    {{1, 256, 1024}, false},
                                   {{3, 5, 63}, false},     {{8, 64, 256}, true},     {{5, 64, 4}, false},
                                   {{9, 3, 17}, false},     {{63, 65, 257}, true},    {{64, 64, 16}, false},
                                   {{68, 132, 36}, true},   {{257, 343, 5}, false},   {{600, 72, 12}, false},
                                   {{68, 63, 20}, false},   {{132, 72, 65}, false},   {{64, 96, 2048}, true},
                                   {{65, 61, 2006}, false}, {{256, 512, 256}, false}, {{343, 2006, 36}, false}};

// Each variant of a kernel is a shader of its own, whose compilation takes longer than its case (1 to 3 s on software Vulkan). So the
// other members of the family are tried at fewer sizes: whole vectors and not, few rows, and where halves are read also one operand in
// vectors and the other not.
const std::vector<Sizes> kSizesToAddOrSwiglu = {
    {{1, 257, 343}, false}, {{63, 65, 257}, true}, {{68, 132, 36}, true}, {{64, 96, 2048}, true}};
const std::vector<Sizes> kSizesOfHalves = {{{1, 257, 343}, false},   {{8, 64, 256}, false},   {{63, 65, 257}, true},
                                           {{68, 132, 36}, true},    {{65, 68, 20}, false},   {{257, 343, 5}, false},
                                           {{256, 512, 256}, false}, {{343, 2006, 36}, false}};
const std::vector<Sizes> kSizesOfSwigluHalves = {{{8, 64, 256}, false}, {{63, 65, 257}, true}, {{68, 132, 36}, true}};
const std::vector<Sizes> kSizesOfHalvesToAdd = {{{68, 132, 36}, true}, {{256, 512, 256}, false}};

const std::vector<Sizes>& sizes_of(const ProductKernel& kernel) {
  const bool half = kernel.dtype == DType::F16;
  if (kernel.accumulate == Accumulate::Yes) return half ? kSizesOfHalvesToAdd : kSizesToAddOrSwiglu;
  if (is_swiglu(kernel.product)) return half ? kSizesOfSwigluHalves : kSizesToAddOrSwiglu;
  return half ? kSizesOfHalves : kSizes;
}

/// Rounds to halves. WGSL lets an adapter read subnormal halves as zero, so there are none.
void round_to_halves(std::vector<float>& values) {
  constexpr float kLeastNormal = 0x1p-14F;
  for (float& value : values) value = std::abs(value) < kLeastNormal ? 0.0F : half_to_float(float_to_half(value));
}

/// Halves two a word; an odd count has a NaN behind it, which nobody may use.
device::Buffer upload_halves(device::Stream& stream, const std::vector<float>& values) {
  constexpr uint32_t kNaN = 0x7e00U;
  std::vector<uint32_t> words((values.size() + 1) / 2);
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t high = 2 * i + 1 < values.size() ? float_to_half(values[2 * i + 1]) : kNaN;
    words[i] = float_to_half(values[2 * i]) | high << 16;
  }
  return upload_values(stream, words);
}

device::Buffer upload_as(device::Stream& stream, const std::vector<float>& values, DType dtype) {
  return dtype == DType::F16 ? upload_halves(stream, values) : upload_values(stream, values);
}

/// The public door of a kernel, so that cases also judge how it names its operands.
void launch_through_door(device::Stream& stream, const ProductCall& call) {
  const auto& [kernel, x, up, w, y, size, precision, kept, scales] = call;
  const Accumulate accumulate = kernel.accumulate;
  switch (kernel.product) {
    case Product::Plain:
      return matmul(stream, {x, w, y, size.rows, size.columns, size.sum, accumulate, kernel.dtype, precision});
    case Product::T:
      return matmul_t(stream, {x, w, y, size.rows, size.columns, size.sum, accumulate, kernel.dtype, precision});
    case Product::At:
      return matmul_at(stream, {x, w, y, size.rows, size.columns, size.sum, accumulate, kernel.dtype, precision});
    case Product::Swiglu:
      return matmul_swiglu_a(stream, {x, up, w, y, size.rows, size.columns, size.sum, kernel.dtype, precision});
    case Product::AtSwiglu:
      return matmul_at_swiglu_a(stream,
                                {x, up, w, y, size.rows, size.columns, size.sum, accumulate, kernel.dtype, precision});
  }
}

KernelCase case_of(std::string name, bool in_doctor, const ProductKernel& kernel, const Extents& size,
                   const ProductTrial& trial = {}) {
  return {std::move(name), in_doctor,
          [=](device::Stream& stream) {
            return run_product_case(
                stream, kernel, size, [&](const ProductCall& call) { launch_through_door(stream, call); }, trial);
          },
          trial.precision != MatMulPrecision::Highest};
}

/// With the tiles of 128 x 128 where the launcher's rule takes them for some products on this adapter, however small this one is.
KernelCase wide_case_of(const ProductKernel& kernel, const Extents& size) {
  return {fmt::format("result {} x {}, sums of {}, wide tiles where they are taken", size.rows, size.columns, size.sum),
          true, [=](device::Stream& stream) {
            return run_product_case(stream, kernel, size, [&](const ProductCall& call) {
              launch(
                  stream, name_of(kernel), cost_of(call), [&](auto& cpu) { product_cpu(cpu, call); },
                  [&](auto& webgpu) {
                    SplitLimits limits = limits_of(webgpu);
                    limits.wide_tiles = std::min<int64_t>(limits.wide_tiles, 1);
                    product_webgpu(webgpu, call, limits);
                  });
            });
          }};
}

double allowed_error(const Extents& size, MatMulPrecision precision) {
  switch (precision) {
    case MatMulPrecision::Highest:
      return allowed_f32(size.sum);
    case MatMulPrecision::High:
      return kAllowedSplitF16Factors;
    case MatMulPrecision::Medium:
      break;
  }
  return kAllowedF16Factors;
}

/// Sizes that the matrix units take: below and above their tiles of 128 with a step of 16 or 32 that is not full; whole tiles; a sum in
/// parts. Then what they do not take, rows that are not whole vectors.
struct RoundedSizes {
  Extents edges;
  Extents whole;
  Extents parts;
  Extents scalar;
};

// What comes from panels: a last workgroup with one panel of four, and sums in parts of which the last is shorter.
constexpr Extents kPanels{320, 192, 576};
constexpr Extents kPanelsInParts{192, 128, 2112};

RoundedSizes rounded_sizes_of(Product product) {
  if (is_at(product)) return {{260, 388, 363}, {256, 384, 416}, {128, 124, 2117}, {127, 129, 257}};
  const int64_t columns = product == Product::T ? 387 : 388;
  return {{257, columns, 360}, {256, 384, 416}, {127, 128, 2068}, {200, 129, 257}};
}

void add_rounded_cases(std::vector<KernelCase>& cases, const ProductKernel& kernel) {
  const RoundedSizes sizes = rounded_sizes_of(kernel.product);
  const bool adds = kernel.accumulate == Accumulate::Yes;
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    const auto add = [&](const Extents& size, bool in_doctor, float x, float w) {
      std::string name =
          fmt::format("{}, result {} x {}, sums of {}", name_of(precision), size.rows, size.columns, size.sum);
      if (x != 1.0F || w != 1.0F) name += fmt::format(", operands of {} and {}", x, w);
      cases.push_back(case_of(std::move(name), in_doctor, kernel, size, {3.0F, x, w, precision}));
    };
    add(sizes.edges, true, 1e-8F, 1e5F);
    add(sizes.edges, false, 1, 1);
    add(sizes.edges, false, 1e5F, 1e-8F);
    add(sizes.whole, !adds, 1, 1);
    add(sizes.parts, kernel.product == Product::At && adds, 1, 1);
    add(sizes.scalar, false, 1, 1);
    add(kPanels, true, 1e5F, 1e-8F);
    add(kPanelsInParts, kernel.product == Product::At, 1, 1);
  }
}

}  // namespace

ProductOperands make_operands(const ProductKernel& kernel, const Extents& size, const ProductTrial& trial) {
  const bool swiglu = is_swiglu(kernel.product);
  ProductOperands operands;
  operands.x = test_values(size.rows * size.sum, 1, trial.x_magnitude * (swiglu ? trial.gate_scale : 1.0F));
  if (swiglu) operands.up = test_values(size.rows * size.sum, 2);
  operands.w = test_values(size.columns * size.sum, 3, trial.w_magnitude);
  operands.before = test_values(size.rows * size.columns, 4, 10.0F * trial.x_magnitude * trial.w_magnitude);
  if (x_type(kernel) == DType::F16) {
    round_to_halves(operands.x);
    round_to_halves(operands.up);
  }
  if (w_type(kernel) == DType::F16) round_to_halves(operands.w);
  return operands;
}

ProductCall upload_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                        const ProductOperands& operands) {
  ProductCall call{kernel, {}, {}, {}, {}, size};
  call.x = upload_as(stream, operands.x, x_type(kernel));
  if (is_swiglu(kernel.product)) call.up = upload_as(stream, operands.up, x_type(kernel));
  call.w = upload_as(stream, operands.w, w_type(kernel));
  call.y = kernel.accumulate == Accumulate::Yes ? upload_values(stream, operands.before)
                                                : poisoned(stream, y_matrix(size).count());
  return call;
}

ProductCall empty_call(device::Stream& stream, const ProductKernel& kernel, const Extents& size) {
  const auto allocate = [&](const Matrix& matrix, DType dtype) {
    return stream.device().allocate(matrix_bytes(matrix, dtype), "operand");
  };
  ProductCall call{kernel, {}, {}, {}, {}, size};
  call.x = allocate(x_matrix(kernel.product, size), x_type(kernel));
  if (is_swiglu(kernel.product)) call.up = allocate(x_matrix(kernel.product, size), x_type(kernel));
  call.w = allocate(w_matrix(kernel.product, size), w_type(kernel));
  call.y = allocate(y_matrix(size), DType::F32);
  return call;
}

std::vector<double> expected_product(const ProductKernel& kernel, const Extents& size,
                                     const ProductOperands& operands) {
  std::vector<double> x = to_double(operands.x);
  if (is_swiglu(kernel.product)) x = swiglu_hidden_reference(x, to_double(operands.up));
  const std::vector<double> w = to_double(operands.w);
  std::vector<double> y;
  if (is_at(kernel.product)) {
    y = matmul_at_reference(x, w, size.rows, size.columns, size.sum);
  } else if (kernel.product == Product::T) {
    y = matmul_t_reference(x, w, size.rows, size.columns, size.sum);
  } else {
    y = matmul_reference(x, w, size.rows, size.columns, size.sum);
  }
  for (size_t i = 0; kernel.accumulate == Accumulate::Yes && i < y.size(); ++i) y[i] += operands.before[i];
  return y;
}

CaseResult run_product_case(device::Stream& stream, const ProductKernel& kernel, const Extents& size,
                            const std::function<void(const ProductCall&)>& launch, const ProductTrial& trial) {
  const ProductOperands operands = make_operands(kernel, size, trial);
  ProductCall call = upload_call(stream, kernel, size, operands);
  call.precision = trial.precision;
  launch(call);
  CaseResult result;
  compare(result, "y", download_values(stream, call.y), expected_product(kernel, size, operands),
          allowed_error(size, trial.precision));
  return result;
}

std::vector<KernelCase> matmul_cases(const ProductKernel& kernel) {
  std::vector<KernelCase> cases;
  for (const auto& [size, in_doctor] : sizes_of(kernel)) {
    cases.push_back(
        case_of(fmt::format("result {} x {}, sums of {}", size.rows, size.columns, size.sum), in_doctor, kernel, size));
  }
  for (const Extents& size : {Extents{132, 200, 44}, Extents{128, 256, 40}})
    cases.push_back(wide_case_of(kernel, size));
  if (x_type(kernel) == DType::F32) add_rounded_cases(cases, kernel);
  if (is_swiglu(kernel.product) && kernel.accumulate == Accumulate::No) {
    for (const int64_t rows : {8, 68}) {
      cases.push_back(case_of(fmt::format("{} rows, gates around 1e4, where exp overflows", rows), true, kernel,
                              {rows, 36, 40}, {1e4F}));
    }
  }
  return cases;
}

}  // namespace athanor::kernels
