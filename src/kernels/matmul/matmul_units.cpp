// The choice of the matrix units, and the scales.
#include "kernels/matmul/matmul_units.h"

#include "kernels/matmul/matmul_choices.h"
#include "kernels/matrix_units.h"
#include "kernels/max_magnitude/max_magnitude.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

constexpr int64_t kLeastExtent = 64;     // half a tile
constexpr double kLeastFlops = 1 << 26;  // 10 us at 7 TFLOP/s: four launches for two scales take that long

Buffer scale_of(Stream& stream, const Buffer& values, int64_t count, Buffer* kept) {
  if (kept != nullptr && *kept) return *kept;
  Buffer scale = stream.device().allocate(8, "scale of a product's operand");
  max_magnitude(stream, {values, scale, count});
  if (kept != nullptr) *kept = scale;
  return scale;
}

}  // namespace

bool takes_matrix_units(Stream& stream, const ProductCall& call) {
  if (call.precision == MatMulPrecision::Highest || stream.backend() == device::Backend::Cpu) return false;
  const device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  const Extents& size = call.size;
  const bool can = x_type(call.kernel) == DType::F32 && std::min({size.rows, size.columns, size.sum}) >= kLeastExtent &&
                   x_matrix(call.kernel.product, size).columns % 4 == 0 &&
                   w_matrix(call.kernel.product, size).columns % 4 == 0 && has_matrix_units(webgpu) &&
                   !webgpu.keeps_portable(name_of(call.kernel));
  return can && webgpu.choose({name_of(call.kernel), units_choice(call.precision), sizes_of(size), 0, 1,
                               size.flops() >= kLeastFlops ? 1 : 0, kUnitsAnswers}) == 1;
}

OperandScales<Buffer> measure_scales(Stream& stream, const ProductCall& call) {
  const Product product = call.kernel.product;
  const int64_t x_count = x_matrix(product, call.size).count();
  OperandScales<Buffer> scales;
  scales.x = scale_of(stream, call.x, x_count, call.kept.x);
  if (is_swiglu(product)) scales.up = scale_of(stream, call.up, x_count, call.kept.up);
  // Weights that are halves already are taken as they are.
  if (w_type(call.kernel) == DType::F32)
    scales.w = scale_of(stream, call.w, w_matrix(product, call.size).count(), call.kept.w);
  return scales;
}

}  // namespace athanor::kernels
