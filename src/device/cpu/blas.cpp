// OpenBLAS behind one function.
#include "device/cpu/blas.h"

#include <cblas.h>

#include <algorithm>
#include <mutex>

namespace athanor::device::cpu {

namespace {

void use_one_thread() {
  static std::once_flag once;
  std::call_once(once, [] { scipy_openblas_set_num_threads(1); });
}

}  // namespace

void sgemm(Transpose a_transpose, Transpose b_transpose, int64_t m, int64_t n, int64_t k, const float* a,
           int64_t a_stride, const float* b, int64_t b_stride, float beta, float* c, int64_t c_stride) {
  use_one_thread();
  scipy_cblas_sgemm(CblasRowMajor, a_transpose == Transpose::Yes ? CblasTrans : CblasNoTrans,
                    b_transpose == Transpose::Yes ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
                    static_cast<int>(k), 1.0F, a, static_cast<int>(a_stride), b, static_cast<int>(b_stride), beta, c,
                    static_cast<int>(c_stride));
}

std::string blas_description() {
  use_one_thread();
  // "OpenBLAS 0.3.34 DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64": how it was built matters to nobody here.
  const std::string config = scipy_openblas_get_config();
  const size_t name_end = std::min(config.find(' '), config.size());
  const size_t version_end = std::min(config.find(' ', std::min(name_end + 1, config.size())), config.size());
  return config.substr(0, version_end) + " " + scipy_openblas_get_corename();
}

}  // namespace athanor::device::cpu
