// What is read from a shader's own words.
#include "device/webgpu/shader_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::device::webgpu {
namespace {

constexpr std::string_view kShader = R"(alias Value = vec4<f32>;
const QUADS: u32 = 8u;
const THREADS: u32 = QUADS * 4u;
// out = x * factor.
//   binding 0  read        x    (rows, C) as Value
//   binding 1  read_write  out  (rows, C) as Value
//   binding 2  uniform     Params
// Grid: ceil(count / 256), folded on x
// and y.

struct Params {
  count: u32,  // in Values
  factor: f32,
}

@group(0) @binding(0) var<storage, read> x: array<Value>;
@group(0) @binding(1) var<storage, read_write> out: array<Value>;
@group(0) @binding(2) var<uniform> params: Params;
// @group(0) @binding(3) var<storage, read> comment: array<f32>;

@compute @workgroup_size(THREADS, 2)
fn main() {}
)";

TEST(ShaderText, GivesBindingsWithTheirTypesAndShapes) {
  const ShaderFacts facts = read_shader(kShader);
  ASSERT_EQ(facts.bindings.size(), 3U);
  EXPECT_EQ(facts.bindings[0].access, "read");
  EXPECT_EQ(facts.bindings[0].name, "x");
  EXPECT_EQ(facts.bindings[0].type, "array<vec4<f32>>");
  EXPECT_EQ(facts.bindings[0].description, "(rows, C) as Value");
  EXPECT_EQ(facts.bindings[1].access, "read_write");
  EXPECT_EQ(facts.bindings[2].access, "uniform");
}

TEST(ShaderText, GivesTheWorkgroupAsProductsOfConstantsAndTheGridOverItsLines) {
  const ShaderFacts facts = read_shader(kShader);
  EXPECT_THAT(facts.workgroup, ::testing::ElementsAre(32U, 2U, 1U));
  EXPECT_EQ(facts.grid, "ceil(count / 256), folded on x and y.");
}

TEST(ShaderText, NamesTheWordsOfTheUniform) {
  const ShaderFacts facts = read_shader(kShader);
  ASSERT_EQ(facts.params.size(), 2U);
  EXPECT_EQ(facts.params[1].name, "factor");
  EXPECT_EQ(facts.params[1].type, "f32");
  const ShaderFacts words = read_shader(
      "//   binding 0  uniform  vec4<u32> (M, N, K, _)\n@group(0) @binding(0) var<uniform> params: vec4<u32>;\n");
  ASSERT_EQ(words.params.size(), 4U);
  EXPECT_EQ(words.params[2].name, "K");
}

TEST(ShaderText, TakesAnyTextWithoutHarm) {
  for (const std::string_view text : {"", "//", "@group(0) @binding(", "Grid: ", "const A = A;\n@workgroup_size(A)"}) {
    EXPECT_TRUE(read_shader(text).bindings.empty()) << text;
  }
}

}  // namespace
}  // namespace athanor::device::webgpu
