// The portable form of every matrix product against the tables of kernels.md: text, bindings, uniform and grid, as a stranger's program
// would use them, and what the launcher does when a user's file stands in for it.
#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/watched_stream.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace athanor::kernels {
namespace {

using device::webgpu::Access;
using device::webgpu::Dispatch;

constexpr Extents kSize{72, 132, 68};

/// The one dispatch of a product of whole vectors.
Dispatch portable_dispatch(const ProductKernel& kernel) {
  WatchedStream watched(testing::stream());
  product_webgpu(watched, empty_call(testing::stream(), kernel, kSize), limits_of(watched));
  EXPECT_EQ(watched.dispatches.size(), 1U) << name_of(kernel);
  return watched.dispatches.at(0);
}

std::string text_of(const Dispatch& dispatch) {
  std::string text = dispatch.prelude;
  for (const device::webgpu::ShaderSource* source : dispatch.sources) {
    text += '\n';
    text += source->text;
  }
  return text;
}

std::vector<std::string> lines_with(const std::string& text, std::string_view start) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(start)) found.push_back(line);
  }
  return found;
}

class MatMulContract : public ::testing::TestWithParam<ProductKernel> {};

TEST_P(MatMulContract, PortableFormIsOneDispatchOfTheTable) {
  const Dispatch dispatch = portable_dispatch(GetParam());
  const bool swiglu = is_swiglu(GetParam().product);
  EXPECT_EQ(dispatch.kernel, name_of(GetParam()));
  EXPECT_EQ(dispatch.pass, "");
  EXPECT_EQ(dispatch.variant, "portable");
  EXPECT_FALSE(dispatch.needs_f16 || dispatch.needs_subgroups);
  ASSERT_EQ(dispatch.bindings.size(), swiglu ? 4U : 3U);
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
    const bool last = i + 1 == dispatch.bindings.size();
    EXPECT_EQ(dispatch.bindings[i].access, last ? Access::ReadWrite : Access::Read) << i;
  }
  ASSERT_EQ(dispatch.params.size(), 4U);
  EXPECT_EQ(dispatch.params[0], kSize.rows);
  EXPECT_EQ(dispatch.params[1], kSize.columns);
  EXPECT_EQ(dispatch.params[2], kSize.sum);
  EXPECT_EQ(dispatch.grid.x, 3U);
  EXPECT_EQ(dispatch.grid.y, 2U);
  EXPECT_EQ(dispatch.grid.z, 1U);
}

TEST_P(MatMulContract, HeadGivesBindingsAndGrid) {
  const Dispatch dispatch = portable_dispatch(GetParam());
  const std::string text = text_of(dispatch);
  const std::vector<std::string> bindings = lines_with(text, "//   binding ");
  ASSERT_EQ(bindings.size(), dispatch.bindings.size() + 1);
  for (size_t i = 0; i < bindings.size(); ++i) {
    const bool uniform = i == dispatch.bindings.size();
    const bool read = !uniform && dispatch.bindings[i].access == Access::Read;
    EXPECT_TRUE(bindings[i].starts_with(
        fmt::format("//   binding {}  {}  ", i, uniform ? "uniform   " : (read ? "read      " : "read_write"))))
        << bindings[i];
  }
  const char* rows = is_at(GetParam().product) ? "K" : "M";
  const std::vector<std::string> grids = lines_with(text, "// Grid: ");
  ASSERT_EQ(grids.size(), 1U);
  EXPECT_EQ(grids[0], fmt::format("// Grid: (ceil(N / 64), ceil({} / 64), 1).", rows));
  EXPECT_THAT(text, ::testing::HasSubstr("@compute @workgroup_size(16, 16, 1)"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("params.w")));
  const bool half = GetParam().dtype == DType::F16;
  EXPECT_EQ(lines_with(text, "alias ").size(), 2U);
  EXPECT_EQ(text.find("= vec2<u32>;") != std::string::npos, half);
}

// A program that knows only the tables: bindings in order, the sizes, anything in the fourth word.
TEST_P(MatMulContract, AProgramThatKnowsOnlyTheTablesGetsTheRightMatrix) {
  const ProductKernel& kernel = GetParam();
  const CaseResult result = run_product_case(testing::stream(), kernel, kSize, [&](const ProductCall& call) {
    if (!testing::is_webgpu()) return run_product(testing::stream(), call);
    const Dispatch portable = portable_dispatch(kernel);
    Dispatch dispatch;
    dispatch.kernel = "a program of its own";
    dispatch.prelude = portable.prelude;
    dispatch.sources = portable.sources;
    dispatch.bindings.push_back(device::webgpu::read(call.x));
    if (call.up) dispatch.bindings.push_back(device::webgpu::read(call.up));
    dispatch.bindings.push_back(device::webgpu::read(call.w));
    dispatch.bindings.push_back(device::webgpu::read_write(call.y));
    dispatch.params = {kSize.rows, kSize.columns, kSize.sum, 0xdeadbeefU};
    dispatch.grid = {(kSize.columns + 63) / 64, (kSize.rows + 63) / 64, 1};
    device::webgpu::as_webgpu(testing::stream()).dispatch(dispatch);
  });
  EXPECT_TRUE(result.passed()) << result.where;
}

INSTANTIATE_TEST_SUITE_P(All, MatMulContract, ::testing::ValuesIn(product_kernels()),
                         [](const ::testing::TestParamInfo<ProductKernel>& info) { return name_of(info.param); });

std::vector<std::string> variants_of(WatchedStream& watched, const ProductKernel& kernel, const Extents& size) {
  watched.dispatches.clear();
  product_webgpu(watched, empty_call(testing::stream(), kernel, size), limits_of(watched));
  std::vector<std::string> variants;
  for (const Dispatch& dispatch : watched.dispatches) {
    variants.push_back(dispatch.pass.empty() ? dispatch.variant : dispatch.pass);
  }
  return variants;
}

TEST(MatMulVariants, FollowFromTheSizes) {
  using ::testing::ElementsAre;
  WatchedStream watched(testing::stream());
  const ProductKernel plain{Product::Plain};
  EXPECT_THAT(variants_of(watched, plain, {1, 64, 64}), ElementsAre("few_rows_1"));
  EXPECT_THAT(variants_of(watched, plain, {3, 65, 64}), ElementsAre("few_rows_4_scalar_w"));
  EXPECT_THAT(variants_of(watched, {Product::T}, {8, 64, 65}), ElementsAre("few_rows_8_scalar"));
  EXPECT_THAT(variants_of(watched, plain, {64, 64, 65}), ElementsAre("scalar_x"));
  EXPECT_THAT(variants_of(watched, plain, {64, 64, 1024}), ElementsAre("split_k", "sum"));
  EXPECT_THAT(variants_of(watched, {Product::At}, {65, 64, 1024}), ElementsAre("split_k_scalar_x", "sum"));
  EXPECT_THAT(variants_of(watched, {Product::At}, {4, 64, 8}), ElementsAre("portable"));
}

TEST(MatMulVariants, SplitSumsOfAnAdditionAreAddedOnceAndBearItsName) {
  WatchedStream watched(testing::stream());
  variants_of(watched, {Product::At, Accumulate::Yes}, {64, 64, 1024});
  ASSERT_EQ(watched.dispatches.size(), 2U);
  EXPECT_EQ(watched.dispatches[0].kernel, "matmul_at_acc");
  EXPECT_THAT(watched.dispatches[0].prelude, ::testing::HasSubstr("ACCUMULATE: bool = false"));
  EXPECT_EQ(watched.dispatches[1].kernel, "matmul_at_acc");
  EXPECT_EQ(watched.dispatches[1].params[2], 1U);
}

TEST(MatMulVariants, ATableSaysIntoHowManyPartsSumsAreCutWhereItCan) {
  using ::testing::ElementsAre;
  WatchedStream watched(testing::stream());
  const auto parts = [&](const std::string& answer, const Extents& size) -> uint32_t {
    const auto table = std::make_shared<device::ChoiceTable>();
    table->set({"matmul", "parts", {size.rows, size.columns, size.sum}, answer});
    watched.use_choices(table);
    variants_of(watched, {Product::Plain}, size);
    return watched.dispatches.front().grid.z;
  };
  EXPECT_EQ(parts("", {64, 64, 1024}), 4U);  // the rule's
  EXPECT_EQ(parts("1", {64, 64, 1024}), 1U);
  EXPECT_EQ(parts("16", {64, 64, 1024}), 16U);
  EXPECT_EQ(parts("7", {64, 64, 1024}), 7U);
  EXPECT_EQ(parts("3", {256, 256, 4096}), 3U);
  // Not below 64 terms a part, not more than 32, not more than 64 MiB of parts; and no kernel that keeps its portable form.
  for (const char* odd : {"17", "0", "-4", "1000000", "units"}) EXPECT_EQ(parts(odd, {64, 64, 1024}), 4U) << odd;
  EXPECT_EQ(parts("33", {64, 64, 65536}), 32U);
  EXPECT_EQ(parts("16", {2048, 2048, 1024}), 1U);
  watched.portable = {"matmul"};
  EXPECT_EQ(parts("16", {64, 64, 1024}), 1U);
}

TEST(MatMulVariants, AKernelThatKeepsItsPortableFormLeavesTheFasterOnes) {
  using ::testing::ElementsAre;
  WatchedStream watched(testing::stream());
  watched.portable = {"matmul", "matmul_at"};
  EXPECT_THAT(variants_of(watched, {Product::Plain}, {1, 64, 64}), ElementsAre("portable"));
  EXPECT_THAT(variants_of(watched, {Product::Plain}, {64, 64, 1024}), ElementsAre("portable"));
  EXPECT_THAT(variants_of(watched, {Product::At}, {64, 64, 1024}), ElementsAre("portable"));
  // Rows that are not whole vectors need another one, if none of the faster; other kernels are not its business.
  EXPECT_THAT(variants_of(watched, {Product::Plain}, {1, 65, 64}), ElementsAre("scalar_w"));
  EXPECT_THAT(variants_of(watched, {Product::T}, {1, 64, 64}), ElementsAre("few_rows_1"));
  EXPECT_THAT(variants_of(watched, {Product::Plain, Accumulate::Yes}, {1, 64, 64}), ElementsAre("few_rows_1"));
}

}  // namespace
}  // namespace athanor::kernels
