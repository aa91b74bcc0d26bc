// The tiles of 128 x 128 in f32, which only some adapters choose: every product of the family, at edges and in parts.
#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/watched_stream.h"
#include "test_device.h"

#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

class MatMulWide : public ::testing::TestWithParam<ProductKernel> {
 protected:
  void expect_right(const Extents& size, const std::string& variant_part, float x, float w) {
    if (!testing::is_webgpu()) GTEST_SKIP() << "tiles are WebGPU's";
    device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(testing::stream());
    SplitLimits limits = limits_of(webgpu);
    limits.wide_tiles = 1;
    std::string variants;
    const auto launch = [&](const ProductCall& call) {
      WatchedStream watched(testing::stream());
      product_webgpu(watched, call, limits);
      for (const device::webgpu::Dispatch& dispatch : watched.dispatches) {
        variants += dispatch.variant + " ";
        webgpu.dispatch(dispatch);
      }
    };
    const CaseResult result = run_product_case(testing::stream(), GetParam(), size, launch, {3.0F, x, w});
    EXPECT_TRUE(result.passed()) << name_of(GetParam()) << ": error " << result.largest_error << ", allowed "
                                 << result.allowed_error << " at " << result.where;
    EXPECT_NE(variants.find(variant_part), std::string::npos) << variants;
  }
};

TEST_P(MatMulWide, EdgesAreRight) { expect_right({132, 200, 44}, "wide_edges", 1e3F, 1e-4F); }

TEST_P(MatMulWide, WholeTilesAreRight) { expect_right({128, 256, 40}, "wide", 1, 1); }

TEST_P(MatMulWide, SumsInPartsAreRight) { expect_right({128, 136, 1036}, "wide_edges_split_k", 1, 1); }

/// Each product, one of them adding, and halves on each side; all kernels with $ATHANOR_TEST_SLOW=1, since every one is three shaders that
/// software Vulkan takes 4 to 11 seconds each to compile.
std::vector<ProductKernel> kernels_to_try() {
  if (testing::slow_list()) return product_kernels();
  return {{Product::Plain, Accumulate::Yes},
          {Product::T, Accumulate::No, DType::F16},
          {Product::At},
          {Product::At, Accumulate::No, DType::F16},
          {Product::Swiglu},
          {Product::AtSwiglu}};
}

INSTANTIATE_TEST_SUITE_P(All, MatMulWide, ::testing::ValuesIn(kernels_to_try()),
                         [](const ::testing::TestParamInfo<ProductKernel>& info) { return name_of(info.param); });

TEST(MatMulWideChoice, AreTakenOnlyWhereThereAreEnough) {
  if (!testing::is_webgpu()) GTEST_SKIP() << "tiles are WebGPU's";
  const auto variant_of = [](const Extents& size, int64_t wide_tiles) {
    WatchedStream watched(testing::stream());
    SplitLimits limits = limits_of(watched);
    limits.wide_tiles = wide_tiles;
    product_webgpu(watched, empty_call(testing::stream(), {Product::Plain}, size), limits);
    return watched.dispatches.front().variant;
  };
  EXPECT_EQ(variant_of({1024, 1024, 64}, 64), "wide");
  EXPECT_EQ(variant_of({1024, 1024, 64}, 65), "portable");
  EXPECT_EQ(variant_of({1024, 1024, 64}, 0), "portable");
  EXPECT_EQ(variant_of({4096, 120, 64}, 1), "portable");
  EXPECT_EQ(variant_of({256, 256, 1024}, 16), "wide_split_k");
  EXPECT_EQ(variant_of({1022, 1022, 66}, 1), "scalar");
}

}  // namespace
}  // namespace athanor::kernels
