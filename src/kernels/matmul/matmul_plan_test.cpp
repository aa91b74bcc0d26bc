// The cut of a product into pieces: their bounds, their variants, and on the device that the pieces make the whole.
#include "kernels/matmul/matmul_plan.h"

#include "base/expect_error.h"
#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/watched_stream.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::kernels {
namespace {

const SplitLimits kWide{int64_t{1} << 40, 65535, 1e30};

TEST(MatMulPlan, AnOrdinaryProductIsOnePiece) {
  const SplitLimits limits{128 << 20, 65535};
  for (const ProductKernel& kernel : product_kernels()) {
    const Extents size{1024, 768, 3072};
    EXPECT_EQ(piece_of(kernel, size, limits, Form::Tiles), size) << name_of(kernel);
  }
}

TEST(MatMulPlan, LongProductsAreCutByRowsOfXAndY) {
  const SplitLimits limits{int64_t{1} << 40, 65535, 7e10};
  const Extents size{16384, 4096, 4096};
  EXPECT_EQ(piece_of({Product::Plain}, size, limits, Form::Tiles), (Extents{2048, 4096, 4096}));
  EXPECT_EQ(piece_of({Product::T}, size, limits, Form::Tiles), (Extents{2048, 4096, 4096}));
  EXPECT_EQ(piece_of({Product::At}, {4096, 4096, 16384}, limits, Form::Tiles), (Extents{4096, 4096, 2048}));
}

TEST(MatMulPlan, AResultTooLargeToBeAddedToOftenIsCutItself) {
  const SplitLimits limits{int64_t{1} << 40, 65535, 7e10};
  const Extents size{131072, 2048, 512};
  EXPECT_EQ(piece_of({Product::At}, size, limits, Form::Tiles), (Extents{32768, 2048, 512}));
  EXPECT_EQ(piece_of({Product::At}, size, limits, Form::PortableTiles), (Extents{131072, 2048, 128}));
}

TEST(MatMulPlan, AnOperandBeyondTheBindingLimitIsCut) {
  SplitLimits limits = kWide;
  limits.binding_bytes = 128 << 20;
  // W of 1 GiB: rows of W are terms, or columns of Y.
  EXPECT_EQ(piece_of({Product::Plain}, {64, 16384, 16384}, limits, Form::Tiles), (Extents{64, 16384, 2048}));
  EXPECT_EQ(piece_of({Product::T}, {64, 16384, 16384}, limits, Form::Tiles), (Extents{64, 2048, 16384}));
  EXPECT_EQ(piece_of({Product::T, Accumulate::No, DType::F16}, {64, 16384, 16384}, limits, Form::FewRows),
            (Extents{64, 4096, 16384}));
  // Y of 1 GiB.
  EXPECT_EQ(piece_of({Product::At}, {16384, 16384, 64}, limits, Form::Tiles), (Extents{2048, 16384, 64}));
}

/// Every dispatch within the limits, ranges at multiples of 256 bytes, and all of Y's values reached with all terms.
void expect_within(const ProductKernel& kernel, const Extents& size, const SplitLimits& limits) {
  WatchedStream watched(testing::stream());
  const ProductCall call = empty_call(testing::stream(), kernel, size);
  product_webgpu(watched, call, limits);
  double flops = 0;
  for (const device::webgpu::Dispatch& dispatch : watched.dispatches) {
    for (const device::webgpu::Binding& binding : dispatch.bindings) {
      EXPECT_LE(binding.buffer.size_bytes(), limits.binding_bytes) << name_of(kernel) << " " << dispatch.variant;
      EXPECT_EQ(binding.buffer.offset_bytes() % 256, 0);
    }
    if (!dispatch.pass.empty()) continue;  // the sum of parts folds
    // A few rows fold too.
    if (!dispatch.variant.starts_with("few_rows")) {
      EXPECT_LE(dispatch.grid.x, limits.workgroups);
      EXPECT_LE(dispatch.grid.y, limits.workgroups);
    }
    EXPECT_LE(dispatch.cost.flops, limits.flops);
    flops += dispatch.cost.flops;
  }
  EXPECT_EQ(flops, size.flops()) << name_of(kernel);
  EXPECT_GT(watched.dispatches.size(), 1U) << name_of(kernel);
}

TEST(MatMulPlan, EveryPieceStaysWithinTheLimits) {
  for (const ProductKernel& kernel : product_kernels()) {
    for (const Extents& size : {Extents{300, 260, 516}, Extents{301, 259, 517}, Extents{5, 261, 771}}) {
      expect_within(kernel, size, {320 << 10, 65535, 1e30});
      if (size.rows > kFewRows) expect_within(kernel, size, {1 << 30, 65535, 4e7});
    }
    for (const Extents& size : {Extents{300, 200, 516}, Extents{201, 261, 517}}) {
      expect_within(kernel, size, {1 << 30, 4, 1e30});
    }
  }
}

TEST(MatMulPlan, ColumnsAndTermsThatMustBothBeCutAreRefusedWithTheSizes) {
  WatchedStream watched(testing::stream());
  const ProductCall call = empty_call(testing::stream(), {Product::Plain}, {64, 512, 256});
  EXPECT_ERROR(product_webgpu(watched, call, {256 << 10, 4, 1e30}),
               "matmul: 512 columns are more than a grid of 4 workgroups takes, and its operands of 65536, 524288 and "
               "131072 bytes more than a binding of 262144");
}

TEST(MatMulPlan, LongSumsOverASmallResultAreCutIntoParts) {
  EXPECT_EQ(parts_of(16, 16384), 32);
  EXPECT_EQ(parts_of(16, 1024), 4);
  EXPECT_EQ(parts_of(16, 511), 1);
  EXPECT_EQ(parts_of(1024, 65536), 1);
}

void expect_right_in_pieces(const ProductKernel& kernel, const Extents& size, const SplitLimits& limits) {
  const CaseResult result = run_product_case(testing::stream(), kernel, size, [&](const ProductCall& call) {
    if (!testing::is_webgpu()) return run_product(testing::stream(), call);
    product_webgpu(device::webgpu::as_webgpu(testing::stream()), call, limits);
  });
  EXPECT_TRUE(result.passed()) << name_of(kernel) << ": " << result.where;
}

// Rows of W, columns and rows of Y lie apart in these; each product once, halves where ranges must begin at even places.
TEST(MatMulPlan, PiecesOfBindingsMakeTheWholeProduct) {
  const SplitLimits limits{80'000, 65535, 1e30};
  const Extents size{200, 132, 260};
  expect_right_in_pieces({Product::Plain, Accumulate::Yes}, size, limits);
  expect_right_in_pieces({Product::Plain, Accumulate::Yes, DType::F16}, {130, 131, 600}, limits);
  expect_right_in_pieces({Product::T}, size, limits);
  expect_right_in_pieces({Product::At}, size, limits);
  expect_right_in_pieces({Product::At, Accumulate::Yes, DType::F16}, {200, 132, 259}, limits);
  expect_right_in_pieces({Product::Swiglu}, size, limits);
  expect_right_in_pieces({Product::Plain, Accumulate::Yes}, {3, 200, 520}, limits);
  expect_right_in_pieces({Product::T, Accumulate::No, DType::F16}, {3, 264, 600}, limits);
}

// A grid of at most 7 workgroups a dimension, 448 rows or columns: Y's rows and columns are cut, few rows fold, parts of the sums are
// fewer. An addition would be done twice if two pieces overlapped.
TEST(MatMulPlan, GridsLongerThanOneDimensionTakesAreCut) {
  const testing::FewWorkgroups few(testing::stream(), 7);
  const SplitLimits limits{int64_t{1} << 40, 7, 1e30};
  for (const Product product : {Product::Plain, Product::T, Product::At, Product::AtSwiglu}) {
    const ProductKernel kernel{product, Accumulate::Yes};
    expect_right_in_pieces(kernel, {600, 72, 12}, limits);
    if (product != Product::AtSwiglu) expect_right_in_pieces(kernel, {68, 600, 20}, limits);
    if (!is_at(product)) expect_right_in_pieces(kernel, {1, 257, 343}, limits);
    expect_right_in_pieces(kernel, {64, 96, 2048}, limits);
  }
}

}  // namespace
}  // namespace athanor::kernels
