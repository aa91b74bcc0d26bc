// The making of panels, one launch.
#include "kernels/matmul/matmul_panels.h"

#include "kernels/matmul/matmul_shader.h"

namespace athanor::kernels {

using device::webgpu::Dispatch;
using device::webgpu::read;
using device::webgpu::read_write;
using device::webgpu::WebGpuStream;

namespace {

constexpr int64_t kPanel = 64;       // rows; and what columns and terms are multiples of
constexpr int64_t kLeastRows = 192;  // with fewer, half of a workgroup's subgroups and more would have nothing to do
constexpr int64_t kTile = 32 * 64;   // values of a workgroup
constexpr int64_t kTurnedTile = 64 * 64;  // likewise, of an operand that is turned

int64_t panel_bytes(const ProductCall& call) {
  return x_matrix(call.kernel.product, call.size).count() * (call.precision == MatMulPrecision::High ? 4 : 2);
}

}  // namespace

bool fits_panels(const ProductCall& call, const Strides& strides, const SplitLimits& limits) {
  const Extents& size = call.size;
  return call.scales.x && strides.distance == 0 && size.rows >= kLeastRows && size.rows % kPanel == 0 &&
         size.columns % kPanel == 0 && size.sum % kPanel == 0 && panel_bytes(call) <= limits.binding_bytes;
}

ProductCall with_panels(WebGpuStream& stream, const ProductCall& call) {
  const std::string kernel = name_of(call.kernel);
  const int64_t values = x_matrix(call.kernel.product, call.size).count();
  ProductCall ready = call;
  ready.x = stream.device().allocate(panel_bytes(call), "panels of a product's left operand");
  ready.up = {};
  ready.scales.x = stream.device().allocate(4, "inverse scale of panels");
  ready.scales.up = {};
  Dispatch dispatch = panels_shader_of(call.kernel, call.precision);
  dispatch.bindings.push_back(read(call.x));
  if (call.up) dispatch.bindings.push_back(read(call.up));
  dispatch.bindings.push_back(read_write(ready.x));
  dispatch.bindings.push_back(read_write(ready.scales.x));
  dispatch.bindings.push_back(read(call.scales.x));
  if (call.up) dispatch.bindings.push_back(read(call.scales.up));
  dispatch.params = {to_u32(call.size.rows, kernel), to_u32(call.size.columns, kernel), to_u32(call.size.sum, kernel),
                     0};
  dispatch.grid = stream.fold(values / (is_at(call.kernel.product) ? kTurnedTile : kTile));
  dispatch.cost = {0, static_cast<double>(values * (call.up ? 8 : 4) + panel_bytes(call))};
  stream.dispatch(dispatch);
  return ready;
}

}  // namespace athanor::kernels
