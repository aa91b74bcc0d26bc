// One shape: the configurations that other adapters report are not served yet.
#include "kernels/matrix_units.h"

#include <algorithm>

namespace athanor::kernels {

bool has_matrix_units(const device::webgpu::WebGpuStream& stream) {
  using device::webgpu::SubgroupMatrix;
  const auto fits = [](const SubgroupMatrix& matrix) {
    return matrix.operand == SubgroupMatrix::Component::F16 && matrix.result == SubgroupMatrix::Component::F32 &&
           matrix.m == 16 && matrix.n == 16 && matrix.k == 16 && matrix.subgroup_size == 32;
  };
  const auto matrices = stream.subgroup_matrices();
  return std::any_of(matrices.begin(), matrices.end(), fits);
}

}  // namespace athanor::kernels
