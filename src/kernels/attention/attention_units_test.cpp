// Attention on the matrix units where there are none: the choice on a stream that claims them, and the kernels' text with the units' functions
// replaced by loops that do the same, so that every address, mask and scale is judged on software Vulkan too.
#include "device/webgpu/shader_text.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_reference.h"
#include "kernels/watched_stream.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <regex>

namespace athanor::kernels {
namespace {

using device::webgpu::Dispatch;
using device::webgpu::SubgroupMatrix;
using ::testing::ElementsAre;

constexpr SubgroupMatrix kNvidia{SubgroupMatrix::Component::F16, SubgroupMatrix::Component::F32, 16, 16, 16, 32};

/// "KERNEL/PASS VARIANT" of what both directions launch for these sizes.
std::vector<std::string> launches_for(const AttentionSizes& sizes, const AttentionRule& rule, MatMulPrecision precision,
                                      const std::string& portable = {}) {
  WatchedStream watched(testing::stream());
  watched.matrices = {kNvidia};
  if (!portable.empty()) watched.portable.insert(portable);
  run_attention(watched, sizes, rule, attention_inputs(sizes, 1), Directions::Both, precision);
  std::vector<std::string> launches;
  for (const Dispatch& dispatch : watched.dispatches) {
    if (dispatch.kernel.starts_with("attention"))
      launches.push_back(dispatch.kernel + "/" + dispatch.pass + " " + dispatch.variant);
  }
  return launches;
}

TEST(AttentionUnits, AreTakenByHeadsOfWholeVectorsThatPermitIt) {
  if (!testing::is_webgpu()) GTEST_SKIP() << "the choice is WebGPU's";
  const AttentionSizes sizes{1, 70, 2, 1, 64};
  const auto is_taken = [](const std::vector<std::string>& launches) {
    return std::count(launches.begin(), launches.end(), "attention/ medium") == 1 &&
           std::count(launches.begin(), launches.end(), "attention_backward/ medium") == 1;
  };
  EXPECT_THAT(
      launches_for(sizes, {}, MatMulPrecision::Medium),
      ElementsAre("attention/halves portable", "attention/halves portable", "attention/halves portable",
                  "attention/ medium", "attention_backward/halves portable", "attention_backward/halves portable",
                  "attention_backward/halves portable", "attention_backward/halves portable",
                  "attention_backward/delta portable", "attention_backward/d_q medium", "attention_backward/ medium"));
  EXPECT_TRUE(is_taken(launches_for({1, 70, 2, 1, 20}, {}, MatMulPrecision::Medium)));
  EXPECT_FALSE(is_taken(launches_for(sizes, {}, MatMulPrecision::Highest)));
  EXPECT_FALSE(is_taken(launches_for(sizes, {}, MatMulPrecision::High)));
  EXPECT_FALSE(is_taken(launches_for(sizes, {.soft_cap = 3}, MatMulPrecision::Medium)));
  EXPECT_FALSE(is_taken(launches_for({1, 70, 2, 1, 68}, {}, MatMulPrecision::Medium)));
  EXPECT_FALSE(is_taken(launches_for({1, 70, 2, 1, 63}, {}, MatMulPrecision::Medium)));
  EXPECT_FALSE(is_taken(launches_for(sizes, {}, MatMulPrecision::Medium, "attention")));
}

// An operand that is loaded is its place (source, first value, values from a row to the next, from a column to the next), but weights, whose
// place is written anew before they are used, a copy of the lane's row; a block of sums is a number, under which a lane has eight neighbouring
// values. Products wait in a queue and are run by one loop where their sums are wanted or their operands change: written out for each, or with
// loops that the compiler unrolls, they take software Vulkan minutes.
constexpr std::string_view kLoops = R"(
alias Left = vec4<u32>;
alias Right = vec4<u32>;
alias Sums = u32;
var<private> thread_of_loops: u32;
var<private> sums_of_loops: array<f32, 128>;
var<private> kept_weights: array<f32, 64>;
var<private> kept: u32;
var<private> queued_left: array<vec4<u32>, 16>;
var<private> queued_right: array<vec4<u32>, 16>;
var<private> queued_sums: array<u32, 16>;
var<private> queued: u32;
var<private> newest: u32;
var<private> misplaced: bool;  // a block that Vulkan does not take: its first value or its rows not at multiples of 16 bytes
var<workgroup> exchange: array<vec2<f32>, 128>;
fn loops_look(start: u32, line: u32, bytes: u32) {
  misplaced = misplaced || start * bytes % 16u != 0u || line * bytes % 16u != 0u;
}
fn loops_left_of_halves(start: u32, by_columns: bool, line: u32) -> Left {
  loops_look(start, line, 2u);
  return vec4<u32>(0u, start, line, 1u);
}
fn loops_left_of_weights(start: u32, by_columns: bool, line: u32) -> Left {
  loops_look(start, line, 2u);
  kept = (kept + 1u) % 4u;
  for (var k = 0u; k < min(16u, params.padded); k += 1u) {
    kept_weights[kept * 16u + k] = f32(weights[start + thread_of_loops % 32u / 2u * line + k]);
  }
  return vec4<u32>(1u, kept * 16u, 0u, 1u);
}
fn loops_right(start: u32, by_columns: bool, line: u32) -> Right {
  loops_look(start, line, 2u);
  return vec4<u32>(0u, start, select(line, 1u, by_columns), select(1u, line, by_columns));
}
fn loops_zero(sums: Sums) -> Sums {
  for (var i = 0u; i < min(8u, params.padded); i += 1u) { sums_of_loops[sums * 8u + i] = 0.0; }
  return sums;
}
fn loops_new() -> Sums {
  newest = (newest + 1u) % 4u;
  return loops_zero(8u + newest);
}
fn loops_multiply(a: Left, b: Right, sums: Sums) -> Sums {
  queued_left[queued] = a;
  queued_right[queued] = b;
  queued_sums[queued] = sums;
  queued += 1u;
  return sums;
}
fn loops_run() {
  for (var step = 0u; step < queued * 128u; step += 1u) {
    let q = step / 128u;
    let i = step / 16u % 8u;
    let k = step % 16u;
    let a = queued_left[q];
    let b = queued_right[q];
    let at = thread_of_loops % 32u * 8u + i;
    let place = a.y + at / 16u * a.z + k * a.w;
    let weight = kept_weights[select(0u, place, a.x == 1u)];
    let half = f32(halves[select(0u, place, a.x == 0u)]);
    sums_of_loops[queued_sums[q] * 8u + i] += select(half, weight, a.x == 1u) * f32(tile[b.y + k * b.z + at % 16u * b.w]);
  }
  queued = 0u;
}
fn loops_load_staging(sums: Sums, start: u32, by_columns: bool, line: u32) -> Sums {
  loops_look(start, line, 4u);
  for (var i = 0u; i < min(8u, params.padded); i += 1u) {
    let at = thread_of_loops % 32u * 8u + i;
    sums_of_loops[sums * 8u + i] = staging[start + at / 16u * line + at % 16u];
  }
  return sums;
}
fn loops_store_staging(start: u32, sums: Sums, by_columns: bool, line: u32) {
  loops_look(start, line, 4u);
  for (var i = 0u; i < min(8u, params.padded); i += 1u) {
    let at = thread_of_loops % 32u * 8u + i;
    staging[start + at / 16u * line + at % 16u] = select(sums_of_loops[sums * 8u + i], 1e30, misplaced);
  }
}
fn loops_shuffle(value: vec2<f32>, lane: u32) -> vec2<f32> {
  exchange[thread_of_loops] = value;
  workgroupBarrier();
  let got = exchange[thread_of_loops / 32u * 32u + lane];
  workgroupBarrier();
  return got;
}
fn loops_shuffle_one(value: f32, lane: u32) -> f32 { return loops_shuffle(vec2<f32>(value, 0.0), lane).x; }
fn loops_shuffle_xor(value: f32, mask: u32) -> f32 {
  return loops_shuffle_one(value, (thread_of_loops % 32u) ^ mask);
}
fn loops_any(value: bool) -> bool {
  exchange[thread_of_loops] = vec2<f32>(select(0.0, 1.0, value), 0.0);
  workgroupBarrier();
  var any = false;
  for (var i = 0u; i < min(32u, params.padded); i += 1u) {
    any = any || exchange[thread_of_loops / 32u * 32u + i].x > 0.0;
  }
  workgroupBarrier();
  return any;
}
)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, found + to.size()))
    text.replace(found, from.size(), to);
}

/// The launch's text with loops in place of the units.
std::string with_loops(Dispatch dispatch) {
  dispatch.needs_f16 = dispatch.needs_subgroups = dispatch.needs_subgroup_matrix = false;
  std::string text = device::webgpu::shader_text(dispatch, true);
  replace_all(text, "alias Left = subgroup_matrix_left<f16, 16, 16>;", kLoops);
  replace_all(text, "alias Right = subgroup_matrix_right<f16, 16, 16>;", "");
  replace_all(text, "alias Sums = subgroup_matrix_result<f32, 16, 16>;", "");
  replace_all(text, "subgroupMatrixLoad<Left>(&halves, ", "loops_left_of_halves(");
  replace_all(text, "subgroupMatrixLoad<Left>(&weights, ", "loops_left_of_weights(");
  replace_all(text, "subgroupMatrixLoad<Right>(&tile, ", "loops_right(");
  replace_all(text, "subgroupMatrixMultiplyAccumulate(", "loops_multiply(");
  replace_all(text, "subgroupMatrixStore(&staging, ", "loops_store_staging(");
  replace_all(text, "subgroupMatrixLoad<Sums>(&staging, ", "loops_load_staging(o, ");
  replace_all(text, "subgroupShuffle(", "loops_shuffle(");
  replace_all(text, "subgroupShuffleXor(", "loops_shuffle_xor(");
  replace_all(text, "subgroupAny(", "loops_any(");
  // Every block has a number: those that are kept, and those that a function makes anew.
  int blocks = 0;
  const std::regex kept(R"(var (o[ab]?\d|d[kv]\d) = Sums\(\);)");
  for (std::smatch found; std::regex_search(text, found, kept); ++blocks) {
    const std::string name = found[1];
    text.replace(found.position(), found.length(), fmt::format("var {} = loops_zero({}u);", name, blocks));
  }
  replace_all(text, " = Sums();", " = loops_new();");
  // Where queued products are run: before their sums are stored, and before the weights or the tiles change.
  replace_all(text, "loops_store_staging(area, sa0", "loops_run();\n    loops_store_staging(area, sa0");
  replace_all(text, "loops_store_staging(area, ta0", "loops_run();\n    loops_store_staging(area, ta0");
  replace_all(text, "loops_store_staging(area, s0", "loops_run();\n    loops_store_staging(area, s0");
  replace_all(text, "loops_store_staging(area, t0", "loops_run();\n    loops_store_staging(area, t0");
  replace_all(
      text, "      workgroupBarrier();\n      put_weights(p_at, 0u, d_scores(s_at, 0u, lane, p0));",
      "      loops_run();\n      workgroupBarrier();\n      put_weights(p_at, 0u, d_scores(s_at, 0u, lane, p0));");
  replace_all(text, "    workgroupBarrier();\n  }\n", "    loops_run();\n    workgroupBarrier();\n  }\n");
  replace_all(text, "      workgroupBarrier();\n    }\n  }\n",
              "      loops_run();\n      workgroupBarrier();\n    }\n  }\n");
  replace_all(text, "@builtin(subgroup_id) subgroup: u32,", "");
  replace_all(text, "@builtin(subgroup_invocation_id) lane: u32", "");
  replace_all(
      text, "  let launched = ",
      "  let subgroup = thread / 32u;\n  let lane = thread % 32u;\n  thread_of_loops = thread;\n  let launched = ");
  EXPECT_EQ(text.find("subgroupMatrix"), std::string::npos) << text.substr(text.find("subgroupMatrix"), 80);
  return text;
}

/// A stream of the device under test that claims the units and runs loops in their place.
class StreamInLoops final : public StreamInFront {
 public:
  explicit StreamInLoops(device::Stream& stream) : StreamInFront(stream), webgpu_(device::webgpu::as_webgpu(stream)) {}

  const device::webgpu::Limits& limits() const override { return webgpu_.limits(); }
  bool has_f16() const override { return true; }
  bool has_subgroups() const override { return true; }
  std::span<const SubgroupMatrix> subgroup_matrices() const override { return {&kNvidia, 1}; }
  void dispatch(const Dispatch& dispatch) override {
    if (!dispatch.needs_subgroup_matrix) return webgpu_.dispatch(dispatch);
    // The device's cache of pipelines knows sources by their address, and the texts here are few.
    static std::map<std::string, device::webgpu::ShaderSource> sources;
    static std::deque<std::string> texts;
    Dispatch loops = dispatch;
    std::string text = with_loops(dispatch);
    if (!sources.contains(text)) sources.emplace(text, device::webgpu::ShaderSource{"loops", texts.emplace_back(text)});
    loops.prelude.clear();
    loops.sources = {&sources.at(text)};
    loops.needs_subgroups = loops.needs_subgroup_matrix = false;
    webgpu_.dispatch(loops);
  }
  void set_max_workgroups(uint32_t limit) override { webgpu_.set_max_workgroups(limit); }

 private:
  device::webgpu::WebGpuStream& webgpu_;
};

class AttentionUnitsInLoops : public ::testing::TestWithParam<KernelCase> {};

TEST_P(AttentionUnitsInLoops, MatchThePlainLoop) {
  if (!testing::can_stand_in_for_units()) GTEST_SKIP() << "loops in place of the units need Dawn and f16";
  StreamInLoops stream(testing::stream());
  const CaseResult result = GetParam().run(stream);
  EXPECT_TRUE(result.passed()) << GetParam().name << ": error " << result.largest_error << ", allowed "
                               << result.allowed_error << " at " << result.where;
  RecordProperty("error", std::to_string(result.largest_error));
  RecordProperty("allowed", std::to_string(result.allowed_error));
}

std::vector<KernelCase> rounded_cases() {
  std::vector<KernelCase> chosen;
  for (const std::vector<KernelCase>& cases : {attention_cases(), attention_backward_cases()}) {
    for (const KernelCase& one : cases) {
      if (one.is_rounded) chosen.push_back(one);
    }
  }
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(All, AttentionUnitsInLoops, ::testing::ValuesIn(rounded_cases()));

}  // namespace
}  // namespace athanor::kernels
