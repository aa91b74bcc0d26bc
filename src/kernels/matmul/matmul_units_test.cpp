// The kernels of the matrix units on adapters that have none: the choice on a dry device that claims them, and their text with the
// units' functions replaced by loops that do the same, so that every address, edge and scale is judged on software Vulkan too.
#include "kernels/matmul/matmul_units.h"
#include "device/webgpu/dry_device.h"
#include "device/webgpu/shader_text.h"
#include "kernels/matmul/matmul_cases.h"
#include "kernels/matmul/matmul_internal.h"
#include "kernels/watched_stream.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace athanor::kernels {
namespace {

using device::webgpu::Dispatch;
using device::webgpu::SubgroupMatrix;
using ::testing::ElementsAre;

constexpr SubgroupMatrix kNvidia{SubgroupMatrix::Component::F16, SubgroupMatrix::Component::F32, 16, 16, 16, 32};

/// "KERNEL VARIANT" or "KERNEL/PASS" of each launch of a product on an adapter with these units.
std::vector<std::string> launches_on(const SubgroupMatrix& units, const ProductKernel& kernel, const Extents& size,
                                     MatMulPrecision precision, OperandScales<Buffer*> kept = {}) {
  std::vector<std::string> launches;
  device::webgpu::DryRun run;
  run.subgroup_matrices = {units};
  run.on_dispatch = [&](const Dispatch& dispatch) {
    launches.push_back(dispatch.pass.empty() ? dispatch.kernel + " " + dispatch.variant
                                             : dispatch.kernel + "/" + dispatch.pass);
  };
  const std::unique_ptr<device::Device> device = device::webgpu::open_dry_device(std::move(run));
  ProductCall call = empty_call(device->stream(), kernel, size);
  call.precision = precision;
  call.kept = kept;
  run_product(device->stream(), call);
  return launches;
}

/// The variant of the product's own launch.
std::string variant_on(const SubgroupMatrix& units, const ProductKernel& kernel, const Extents& size,
                       MatMulPrecision precision) {
  for (const std::string& launch : launches_on(units, kernel, size, precision)) {
    const size_t space = launch.find(' ');  // none in the name of a pass
    if (launch.starts_with("matmul") && space != std::string::npos) return launch.substr(space + 1);
  }
  return "";
}

TEST(MatMulUnits, AreTakenByLargeProductsOfWholeVectorsThatPermitIt) {
  const ProductKernel plain{Product::Plain};
  const Extents large{1536, 1024, 512};
  EXPECT_EQ(variant_on(kNvidia, plain, large, MatMulPrecision::Medium), "medium_panels");
  EXPECT_EQ(variant_on(kNvidia, plain, large, MatMulPrecision::High), "high_panels");
  EXPECT_EQ(variant_on(kNvidia, plain, large, MatMulPrecision::Highest), "portable");
  EXPECT_EQ(variant_on(kNvidia, plain, {1536, 1024, 544}, MatMulPrecision::Medium), "medium");
  EXPECT_EQ(variant_on(kNvidia, plain, {128, 1024, 960}, MatMulPrecision::High), "high");
  EXPECT_EQ(variant_on(kNvidia, plain, {1500, 1024, 512}, MatMulPrecision::Medium), "medium_edges");
  EXPECT_EQ(variant_on(kNvidia, plain, {1536, 1024, 528}, MatMulPrecision::Medium), "medium_edges");
  EXPECT_EQ(variant_on(kNvidia, {Product::At}, {256, 256, 2048}, MatMulPrecision::High), "high_panels_split_k");
  EXPECT_EQ(variant_on(kNvidia, {Product::At}, {256, 256, 2080}, MatMulPrecision::High), "high_split_k");
  // Too small, too narrow, rows that are not whole vectors, halves.
  EXPECT_EQ(variant_on(kNvidia, plain, {256, 256, 256}, MatMulPrecision::Medium), "portable");
  EXPECT_EQ(variant_on(kNvidia, plain, {32768, 60, 512}, MatMulPrecision::Medium), "portable");
  EXPECT_EQ(variant_on(kNvidia, plain, {1536, 1026, 512}, MatMulPrecision::Medium), "scalar_w");
  EXPECT_EQ(variant_on(kNvidia, {Product::At, Accumulate::No, DType::F16}, large, MatMulPrecision::Medium), "portable");
}

TEST(MatMulUnits, TakeWeightsThatAreHalvesAsTheyAre) {
  for (const Product product : {Product::Plain, Product::T}) {
    const ProductKernel kernel{product, Accumulate::No, DType::F16};
    EXPECT_THAT(launches_on(kNvidia, kernel, {1536, 1024, 512}, MatMulPrecision::Medium),
                ElementsAre("max_magnitude portable", "max_magnitude/scale", name_of(kernel) + "/panels",
                            name_of(kernel) + " medium_panels_long_steps"));
  }
  const ProductKernel swiglu{Product::Swiglu, Accumulate::No, DType::F16};
  EXPECT_EQ(launches_on(kNvidia, swiglu, {1536, 1024, 512}, MatMulPrecision::High).back(),
            name_of(swiglu) + " high_panels");
}

TEST(MatMulUnits, OfAnotherShapeTypeOrSubgroupAreLeftAlone) {
  const Extents large{1536, 1024, 512};
  SubgroupMatrix apple = kNvidia;
  apple.m = apple.n = apple.k = 8;
  SubgroupMatrix f16_sums = kNvidia;
  f16_sums.result = SubgroupMatrix::Component::F16;
  SubgroupMatrix wide = kNvidia;
  wide.subgroup_size = 0;
  for (const SubgroupMatrix& other : {apple, f16_sums, wide}) {
    EXPECT_EQ(variant_on(other, {Product::Plain}, large, MatMulPrecision::Medium), "portable");
  }
}

TEST(MatMulUnits, AScaleThatIsKeptIsMeasuredOnce) {
  Buffer x_scale;
  Buffer w_scale;
  const OperandScales<Buffer*> kept{&x_scale, nullptr, &w_scale};
  const ProductKernel kernel{Product::T, Accumulate::Yes};
  const Extents size{512, 512, 512};
  EXPECT_THAT(launches_on(kNvidia, kernel, size, MatMulPrecision::Medium, kept),
              ElementsAre("max_magnitude portable", "max_magnitude/scale", "max_magnitude portable",
                          "max_magnitude/scale", "matmul_t_acc/panels", "matmul_t_acc medium_panels"));
  EXPECT_TRUE(x_scale);
  EXPECT_THAT(launches_on(kNvidia, kernel, size, MatMulPrecision::Medium, kept),
              ElementsAre("matmul_t_acc/panels", "matmul_t_acc medium_panels"));
  w_scale = {};
  EXPECT_EQ(launches_on(kNvidia, kernel, size, MatMulPrecision::Medium, kept).size(), 4U);
}

TEST(MatMulUnits, AreNotAskedForScalesWhenTheyAreNotTaken) {
  Buffer x_scale;
  const OperandScales<Buffer*> kept{&x_scale, nullptr, nullptr};
  EXPECT_THAT(launches_on(kNvidia, {Product::Plain}, {64, 64, 128}, MatMulPrecision::High, kept),
              ElementsAre("matmul portable"));
  EXPECT_FALSE(x_scale);
}

// A block that is loaded is its place in workgroup memory (first value, values from a row to the next, from a column to the next), which
// does not change before it is used. A block of sums is a number, under which every lane keeps eight values. Products are queued and run
// by one loop at the end of a step: written out for each they would take minutes to compile.
constexpr std::string_view kLoops = R"(
alias Left = vec3<u32>;
alias Right = vec3<u32>;
alias Sums = u32;
var<private> lane_of_loops: u32;
var<private> sums_of_loops: array<f32, 128>;
var<private> queued_left: array<vec3<u32>, 48>;
var<private> queued_right: array<vec3<u32>, 48>;
var<private> queued_sums: array<u32, 48>;
var<private> queued: u32;
var<private> misplaced: bool;  // a block that Vulkan does not take: its first value or its rows not at multiples of 16 bytes
fn loops_look(start: u32, line: u32, bytes: u32) {
  misplaced = misplaced || start * bytes % 16u != 0u || line * bytes % 16u != 0u;
}
fn loops_block(start: u32, by_columns: bool, line: u32) -> vec3<u32> {
  loops_look(start, line, 2u);
  return vec3<u32>(start, select(line, 1u, by_columns), select(1u, line, by_columns));
}
fn loops_multiply(a: Left, b: Right, sums: Sums) -> Sums {
  queued_left[queued] = a;
  queued_right[queued] = b;
  queued_sums[queued] = sums;
  queued += 1u;
  return sums;
}
fn loops_run() {
  for (var q = 0u; q < queued; q += 1u) {
    let a = queued_left[q];
    let b = queued_right[q];
    for (var i = 0u; i < 8u; i += 1u) {
      let at = lane_of_loops * 8u + i;
      var sum = 0.0;
      for (var k = 0u; k < 16u; k += 1u) {
        sum += f32(x_tile[a.x + at / 16u * a.y + k * a.z]) * f32(w_tile[b.x + k * b.y + at % 16u * b.z]);
      }
      sums_of_loops[queued_sums[q] * 8u + i] += sum;
    }
  }
  queued = 0u;
}
fn loops_scale(sums: Sums, factor: f32) -> Sums {
  for (var i = 0u; i < 8u; i += 1u) { sums_of_loops[sums * 8u + i] *= factor; }
  return sums;
}
fn loops_sums_of_y(sums: Sums, start: u32, by_columns: bool, line: u32) -> Sums {
  loops_look(start, line, 4u);
  for (var i = 0u; i < 8u; i += 1u) {
    let at = lane_of_loops * 8u + i;
    sums_of_loops[sums * 8u + i] = y[start + at / 16u * line + at % 16u];
  }
  return sums;
}
fn loops_store_staging(start: u32, sums: Sums, by_columns: bool, line: u32) {
  loops_look(start, line, 4u);
  for (var i = 0u; i < 8u; i += 1u) {
    let at = lane_of_loops * 8u + i;
    staging[start + at / 16u * line + at % 16u] = select(sums_of_loops[sums * 8u + i], 1e30, misplaced);
  }
}
fn loops_store_y(start: u32, sums: Sums, by_columns: bool, line: u32) {
  loops_look(start, line, 4u);
  for (var i = 0u; i < 8u; i += 1u) {
    let at = lane_of_loops * 8u + i;
    y[start + at / 16u * line + at % 16u] = select(sums_of_loops[sums * 8u + i], 1e30, misplaced);
  }
}
)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  for (; found != std::string::npos; found = text.find(from, found + to.size())) text.replace(found, from.size(), to);
}

/// One loop in place of the terms that are written out: compiling them takes software Vulkan half a minute a variant.
void roll_terms(std::string& text) {
  constexpr std::string_view kBegin = "    {\n      x_place = min(";
  constexpr std::string_view kEnd = "      term += 16u;\n    }\n";
  const size_t begin = text.find(kBegin);
  const size_t first_end = text.find(kEnd, begin);
  const size_t last_end = text.rfind(kEnd);
  ASSERT_TRUE(begin != std::string::npos && first_end != std::string::npos && last_end > first_end);
  text.erase(first_end, last_end - first_end);
  text.insert(begin, "    for (; term < STEP;)\n");
}

/// One loop in place of the sixteen blocks at the end, whose barriers take software Vulkan minutes to compile; $ATHANOR_TEST_SLOW=1 runs
/// them as they are written.
void roll_blocks(std::string& text) {
  constexpr std::string_view kLast = "  finish_block(c33, place + 3u * line + 48u, back, area, lane, adds, is_mine);\n";
  const size_t begin = text.find("  finish_block(c00, ");
  const size_t end = text.find(kLast);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && end > begin);
  text.replace(begin, end + kLast.size() - begin,
               "  for (var b = 0u; b < 16u; b += 1u) {\n"
               "    finish_block(b, place + b / 4u * line + b % 4u * 16u, back, area, lane, adds, is_mine);\n  }\n");
}

/// The launch's text with loops in place of the units.
std::string with_loops(Dispatch dispatch) {
  dispatch.needs_f16 = dispatch.needs_subgroups = dispatch.needs_subgroup_matrix = false;
  std::string text = device::webgpu::shader_text(dispatch, true);
  replace_all(text, "alias Left = subgroup_matrix_left<f16, 16, 16>;", kLoops);
  replace_all(text, "alias Right = subgroup_matrix_right<f16, 16, 16>;", "");
  replace_all(text, "alias Sums = subgroup_matrix_result<f32, 16, 16>;", "");
  const bool panels = dispatch.variant.find("panels") != std::string::npos;
  replace_all(text, panels ? "subgroupMatrixLoad<Left>(&x, " : "subgroupMatrixLoad<Left>(&x_tile, ", "loops_block(");
  replace_all(text, "subgroupMatrixLoad<Right>(&w_tile, ", "loops_block(");
  replace_all(text, "subgroupMatrixMultiplyAccumulate(", "loops_multiply(");
  for (int i = 0; panels && i < 16; ++i) {
    replace_all(text, fmt::format("c{}{} = subgroupMatrixScalarMultiply(subgroupMatrixLoad<Sums>(&y, ", i / 4, i % 4),
                fmt::format("c{}{} = loops_scale(loops_sums_of_y({}u, ", i / 4, i % 4, i));
  }
  replace_all(text, "subgroupMatrixStore(&staging, ", "loops_store_staging(");
  if (!panels) {
    replace_all(text, "subgroupMatrixScalarMultiply(", "loops_scale(");
    replace_all(text, "subgroupMatrixStore(&y, ", "loops_store_y(");
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      replace_all(text, fmt::format("  var c{}{}{};", i, j, panels ? " = Sums()" : ": Sums"),
                  fmt::format("  var c{}{}: Sums = {}u;", i, j, 4 * i + j));
    }
  }
  if (panels) {
    roll_terms(text);
    if (!testing::slow_list()) roll_blocks(text);
    replace_all(text, "x_tile[a.x", "x[a.x");
    replace_all(text, "      a0 = n0;", "      loops_run();\n      a0 = n0;");
  } else {
    replace_all(text, "    workgroupBarrier();\n  }\n\n  let x_back",
                "    loops_run();\n    workgroupBarrier();\n  }\n\n  let x_back");
  }
  replace_all(text, "@builtin(subgroup_id) subgroup: u32,", "");
  replace_all(text, "@builtin(subgroup_invocation_id) lane: u32", "");
  replace_all(text, "  let share = share_of(group.z, groups.z);\n",
              "  let share = share_of(group.z, groups.z);\n  let subgroup = thread / 32u;\n  let lane = thread % 32u;\n"
              "  lane_of_loops = lane;\n");
  return text;
}

/// Runs a call on the device under test as it would run on matrix units; on the CPU, and without f16, the product as it is there.
void run_with_loops(ProductCall call, const SplitLimits* limits = nullptr) {
  // The device's cache of pipelines knows sources by their address.
  static std::deque<std::string> texts;
  static std::deque<device::webgpu::ShaderSource> sources;
  device::Stream& stream = testing::stream();
  if (!testing::is_webgpu() || !device::webgpu::as_webgpu(stream).has_f16()) return run_product(stream, call);
  device::webgpu::WebGpuStream& webgpu = device::webgpu::as_webgpu(stream);
  call.scales = measure_scales(stream, call);
  WatchedStream watched(stream);
  product_webgpu(watched, call, limits == nullptr ? limits_of(webgpu) : *limits);
  for (Dispatch& dispatch : watched.dispatches) {
    if (dispatch.needs_subgroup_matrix) {
      sources.push_back({"loops", texts.emplace_back(with_loops(dispatch))});
      dispatch.prelude.clear();
      dispatch.sources = {&sources.back()};
      dispatch.needs_f16 = true;
      dispatch.needs_subgroups = dispatch.needs_subgroup_matrix = false;
    }
    webgpu.dispatch(dispatch);
  }
}

void expect_right_with_loops(const ProductKernel& kernel, const Extents& size, const ProductTrial& trial,
                             const SplitLimits* limits = nullptr) {
  const CaseResult result = run_product_case(
      testing::stream(), kernel, size, [&](const ProductCall& call) { run_with_loops(call, limits); }, trial);
  EXPECT_TRUE(result.passed()) << name_of(kernel) << ", " << name_of(trial.precision) << ": error "
                               << result.largest_error << ", allowed " << result.allowed_error << " at "
                               << result.where;
}

const std::vector<Product> kProducts = {Product::Plain, Product::T, Product::At, Product::Swiglu, Product::AtSwiglu};

/// Software Vulkan takes minutes to compile all of these shaders: $ATHANOR_TEST_SLOW=1 runs them all, else one product's edges are.
std::vector<Product> products_of_edges() { return testing::slow_list() ? kProducts : std::vector<Product>{Product::T}; }
/// Both ways in which each operand can lie, and both loads of X.
std::vector<Product> products_of_panels() {
  return testing::slow_list() ? kProducts : std::vector<Product>{Product::T, Product::AtSwiglu};
}
std::vector<Product> products_of_the_rest() { return testing::slow_list() ? kProducts : std::vector<Product>{}; }

class MatMulUnitsInLoops : public ::testing::TestWithParam<Product> {};
class MatMulPanelsInLoops : public ::testing::TestWithParam<Product> {
 protected:
  void SetUp() override {
    if (!testing::can_stand_in_for_units()) GTEST_SKIP() << "loops in place of the units need Dawn and f16";
  }
};
class MatMulUnitsInLoopsLong : public ::testing::TestWithParam<Product> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MatMulUnitsInLoopsLong);

TEST_P(MatMulUnitsInLoops, EdgesAreRightWhereverOperandsLie) {
  const Extents size = is_at(GetParam()) ? Extents{132, 200, 83} : Extents{129, 200, 84};
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    expect_right_with_loops({GetParam()}, size, {3.0F, 1e-8F, 1e5F, precision});
    if (GetParam() == Product::Swiglu) continue;
    expect_right_with_loops({GetParam(), Accumulate::Yes}, size, {3.0F, 1e5F, 1, precision});
  }
}

TEST_P(MatMulUnitsInLoops, WeightsOfHalvesAreRight) {
  if (is_at(GetParam())) return;  // there is no W
  const ProductKernel kernel{GetParam(), Accumulate::No, DType::F16};
  expect_right_with_loops(kernel, {129, 200, 84}, {3.0F, 1e5F, 1, MatMulPrecision::Medium});
}

// Five panels: three subgroups of the second workgroup have none of their own.
TEST_P(MatMulPanelsInLoops, AreRight) {
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    expect_right_with_loops({GetParam()}, {320, 64, 128}, {3.0F, 1e-8F, 1e5F, precision});
    if (GetParam() != Product::Swiglu)
      expect_right_with_loops({GetParam(), Accumulate::Yes}, {320, 64, 64}, {3.0F, 1e5F, 1, precision});
  }
}

// Sums of medium begin with Y where all panels are there and the scales leave it in f32; else Y is added at the end.
TEST_P(MatMulPanelsInLoops, AddToY) {
  if (GetParam() == Product::Swiglu) return;  // never adds
  const ProductKernel kernel{GetParam(), Accumulate::Yes};
  for (const float scale : {1e-12F, 1e-3F, 1e3F}) {
    expect_right_with_loops(kernel, {256, 64, 64}, {3.0F, scale, scale, MatMulPrecision::Medium});
  }
  expect_right_with_loops(kernel, {256, 64, 64}, {3.0F, 1, 1, MatMulPrecision::High});
}

TEST_P(MatMulPanelsInLoops, OfSumsInPartsAreRight) {
  expect_right_with_loops({GetParam()}, {192, 64, 2112}, {3.0F, 1, 1, MatMulPrecision::Medium});
}

TEST_P(MatMulPanelsInLoops, TakeWeightsOfHalves) {
  if (is_at(GetParam())) return;  // there is no W
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    const ProductKernel kernel{GetParam(), Accumulate::No, DType::F16};
    expect_right_with_loops(kernel, {256, 64, 256}, {3.0F, 1e5F, 1, precision});  // two long steps
    expect_right_with_loops(kernel, {192, 64, 192}, {3.0F, 1e5F, 1, precision});
  }
}

TEST_P(MatMulUnitsInLoopsLong, WholeTilesAreRight) {
  for (const MatMulPrecision precision : {MatMulPrecision::High, MatMulPrecision::Medium}) {
    expect_right_with_loops({GetParam()}, {128, 256, 96}, {3.0F, 1, 1, precision});
  }
}

TEST_P(MatMulUnitsInLoopsLong, SumsInPartsAreRightWithAPartThatHasNoTerms) {
  // 32 parts of 512 terms and more make shares of which the last ones are short; 2176 terms make four parts of 544.
  expect_right_with_loops({GetParam()}, {128, 128, 2176}, {3.0F, 1, 1, MatMulPrecision::Medium});
  expect_right_with_loops({GetParam()}, {64, 64, 2052}, {3.0F, 1, 1, MatMulPrecision::High});
}

TEST_P(MatMulUnitsInLoopsLong, PiecesWhoseRowsLieApartAreRight) {
  const SplitLimits bindings{80'000, 65535, 1e30};
  expect_right_with_loops({GetParam()}, {200, 132, 260}, {3.0F, 1, 1, MatMulPrecision::Medium}, &bindings);
}

std::string test_name(Product product) { return name_of(ProductKernel{product}); }

INSTANTIATE_TEST_SUITE_P(All, MatMulPanelsInLoops, ::testing::ValuesIn(products_of_panels()),
                         [](const ::testing::TestParamInfo<Product>& info) { return test_name(info.param); });
INSTANTIATE_TEST_SUITE_P(All, MatMulUnitsInLoopsLong, ::testing::ValuesIn(products_of_the_rest()),
                         [](const ::testing::TestParamInfo<Product>& info) { return test_name(info.param); });
INSTANTIATE_TEST_SUITE_P(All, MatMulUnitsInLoops, ::testing::ValuesIn(products_of_edges()),
                         [](const ::testing::TestParamInfo<Product>& info) { return test_name(info.param); });

}  // namespace
}  // namespace athanor::kernels
