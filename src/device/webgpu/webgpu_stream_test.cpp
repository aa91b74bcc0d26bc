// Launches through WebGPU with a tiny shader: order, batches, what is refused. Nothing to run on the CPU device.
#include "device/webgpu/webgpu_stream.h"

#include "base/expect_error.h"
#include "device/webgpu/webgpu_fixture.h"

#include <bit>
#include <numeric>

namespace athanor::device::webgpu {
namespace {

TEST_F(WebGpuTest, RunsAKernelOnUploadedValues) {
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 0.0F);
  const Buffer y = buffer_of(std::vector<float>(1000, 1.0F));
  stream().dispatch(add_into(buffer_of(x), y, 2.0F));
  const std::vector<float> got = values_of(y);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 1.0F + 2.0F * x[i]) << i;
}

TEST_F(WebGpuTest, ReadsTheOldContentOfABufferThatWasDropped) {
  const Buffer y = buffer_of(std::vector<float>(100, 0.0F));
  Buffer x = buffer_of(std::vector<float>(100, 1.0F));
  const uint64_t id = x.storage()->id();
  stream().dispatch(add_into(x, y, 1.0F));
  x = {};
  const Buffer reused = buffer_of(std::vector<float>(100, 50.0F));  // while the launch above may not have run yet
  EXPECT_EQ(reused.storage()->id(), id);
  stream().dispatch(add_into(reused, y, 1.0F));
  EXPECT_EQ(values_of(y), std::vector<float>(100, 51.0F));
}

TEST_F(WebGpuTest, KeepsUploadsInTheirPlaceBetweenLaunches) {
  const Buffer y = buffer_of({0.0F});
  const Buffer x = buffer_of({0.0F});
  float expected = 0;
  for (int i = 1; i <= 50; ++i) {
    const auto value = static_cast<float>(i);
    stream().upload(x, std::as_bytes(std::span(&value, 1)));
    stream().dispatch(add_into(x, y, 1.0F));
    expected += value;
  }
  EXPECT_EQ(values_of(y).at(0), expected);
}

TEST_F(WebGpuTest, GivesEachLaunchItsOwnParamsAcrossBatches) {
  const Buffer one = buffer_of({1.0F, 1.0F, 1.0F});
  const Buffer y = buffer_of({0.0F, 0.0F, 0.0F});
  double expected = 0;
  for (int i = 0; i < 2500; ++i) {
    stream().dispatch(add_into(one, y, static_cast<float>(i % 7)));
    expected += i % 7;
  }
  for (const float value : values_of(y)) EXPECT_EQ(value, static_cast<float>(expected));
}

TEST_F(WebGpuTest, MixesCopiesFillsAndLaunchesInOrder) {
  const Buffer x = buffer_of(std::vector<float>(64, 1.0F));
  const Buffer y = buffer_of(std::vector<float>(64, 5.0F));
  const Buffer z = buffer_of(std::vector<float>(64, 0.0F));
  stream().fill_zero(y);
  stream().dispatch(add_into(x, y, 3.0F));
  stream().copy(y, z);
  stream().dispatch(add_into(x, y, 4.0F));
  EXPECT_EQ(values_of(z), std::vector<float>(64, 3.0F));
  EXPECT_EQ(values_of(y), std::vector<float>(64, 7.0F));
}

TEST_F(WebGpuTest, BindsASliceAtAMultipleOf256) {
  const Buffer x = buffer_of(std::vector<float>(64, 1.0F));
  const Buffer y = buffer_of(std::vector<float>(192, 0.0F));
  stream().dispatch(add_into(x, y.slice(256, 256), 1.0F));
  const std::vector<float> got = values_of(y);
  EXPECT_EQ(got[63], 0.0F);
  EXPECT_EQ(got[64], 1.0F);
  EXPECT_EQ(got[127], 1.0F);
  EXPECT_EQ(got[128], 0.0F);
}

TEST_F(WebGpuTest, FoldsMoreGroupsThanOneDimensionTakes) {
  const uint32_t most = stream().limits().max_workgroups_per_dimension;
  stream().set_max_workgroups(3);
  const Buffer x = buffer_of(std::vector<float>(500, 1.0F));  // 8 groups: 3 x 3
  const Buffer y = buffer_of(std::vector<float>(500, 0.0F));
  stream().dispatch(add_into(x, y, 1.0F));
  EXPECT_EQ(values_of(y), std::vector<float>(500, 1.0F));
  EXPECT_EQ(stream().fold(8).x, 3U);
  EXPECT_EQ(stream().fold(8).y, 3U);
  EXPECT_EQ(stream().fold(4).x, 2U);
  EXPECT_ERROR(stream().fold(10), "10 workgroups but the adapter takes at most 3 x 3");
  stream().set_max_workgroups(most);
  EXPECT_ERROR(stream().set_max_workgroups(most + 1), "is not between 1 and");
  EXPECT_EQ(stream().fold(most).y, 1U);
}

TEST_F(WebGpuTest, LeavesAnEmptyGridAlone) {
  const Buffer y = buffer_of({1.0F});
  Dispatch nothing = add_into(buffer_of({1.0F}), y, 1.0F);
  nothing.grid = stream().fold(0);
  stream().dispatch(nothing);
  EXPECT_EQ(values_of(y).at(0), 1.0F);
}

TEST_F(WebGpuTest, MakesNoBufferInASteadyStep) {
  const auto step = [&] {
    const Buffer x = buffer_of(std::vector<float>(3000, 1.0F));
    const Buffer y = buffer_of(std::vector<float>(3000, 0.0F));
    for (int i = 0; i < 5; ++i) stream().dispatch(add_into(x, y, 1.0F));
    EXPECT_EQ(values_of(y).at(2999), 5.0F);
  };
  step();
  const int64_t before = device().memory().allocations;
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(device().memory().allocations, before);
}

TEST_F(WebGpuTest, RefusesABufferThatIsReadAndWritten) {
  const Buffer x = buffer_of(std::vector<float>(128, 1.0F), "activations");
  EXPECT_ERROR(stream().dispatch(add_into(x, x, 1.0F)),
               "add_into: bindings 0 (512 bytes) and 1 (512 bytes) are one storage (activations)");
  EXPECT_ERROR(stream().dispatch(add_into(x.slice(0, 256), x.slice(256, 256), 1.0F)), "both read and written");
}

TEST_F(WebGpuTest, RefusesBindingsThatAnAdapterCannotTake) {
  const Buffer x = buffer_of(std::vector<float>(128, 1.0F), "input");
  const Buffer y = buffer_of(std::vector<float>(128, 0.0F), "output");
  EXPECT_ERROR(stream().dispatch(add_into(x.slice(4, 256), y, 1.0F)),
               "add_into: binding 0 (input) starts at byte 4 of its storage, which is no multiple of 256");
  EXPECT_ERROR(stream().dispatch(add_into(x, y.slice(0, 10), 1.0F)),
               "binding 1 (output) has 10 bytes; it needs a multiple of 4");
  EXPECT_ERROR(stream().dispatch(add_into({}, y, 1.0F)), "add_into: binding 0 is empty");

  const std::unique_ptr<Device> other = open_device(athanor::testing::device_options());
  const Buffer foreign = other->allocate(512, "foreign");
  EXPECT_ERROR(stream().dispatch(add_into(foreign, y, 1.0F)), "foreign is no buffer of this device");
  DeviceOptions cpu;
  cpu.name = "cpu";
  EXPECT_ERROR(stream().copy(open_device(cpu)->allocate(512, "on the CPU"), y),
               "on the CPU is no buffer of this device");

  Dispatch many = add_into(x, y, 1.0F);
  many.bindings.assign(stream().limits().max_storage_buffers + 1, read(x));
  EXPECT_ERROR(stream().dispatch(many), "storage bindings but");
  Dispatch wordy = add_into(x, y, 1.0F);
  wordy.params.resize(33);
  EXPECT_ERROR(stream().dispatch(wordy), "33 words of params but at most 32");
  Dispatch wide = add_into(x, y, 1.0F);
  wide.grid = {1, stream().limits().max_workgroups_per_dimension + 1, 1};
  EXPECT_ERROR(stream().dispatch(wide), "workgroups but");
}

TEST_F(WebGpuTest, RefusesABindingLargerThanTheLimitWithBothSizes) {
  DeviceOptions options = athanor::testing::device_options();
  options.default_limits = true;
  const std::unique_ptr<Device> device = open_device(options);
  WebGpuStream& small = as_webgpu(device->stream());
  EXPECT_EQ(small.limits().max_binding_bytes, 128 << 20);
  EXPECT_EQ(small.limits().workgroup_memory_bytes, 16384U);
  EXPECT_EQ(small.limits().max_threads_per_workgroup, 256U);
  EXPECT_EQ(small.limits().max_storage_buffers, 8U);
  const Buffer large = device->allocate((128 << 20) + 4, "large");
  const Buffer x = webgpu::buffer_of(*device, {1.0F});
  EXPECT_ERROR(small.dispatch(webgpu::add_into(*device, x, large, 1.0F)), "binding 1 (large) has 134217732 bytes but");
  EXPECT_ERROR(small.dispatch(webgpu::add_into(*device, x, large, 1.0F)), "binds at most 134217728");
  EXPECT_ERROR(device->allocate(int64_t{300} << 20, "larger"), "larger: a buffer of 314572800 bytes is needed but");
}

TEST_F(WebGpuTest, RefusesAShaderWithTheRuntimesTextAndGoesOn) {
  const ShaderSource broken{"broken", "@compute @workgroup_size(64) fn main() { let a: u32 = 1.5; }"};
  const Buffer x = buffer_of({1.0F});
  const Buffer y = buffer_of({1.0F});
  Dispatch dispatch = add_into(x, y, 1.0F);
  dispatch.kernel = "broken_kernel";
  dispatch.sources = {&broken};
  EXPECT_ERROR(stream().dispatch(dispatch), "broken_kernel: its shader is refused by");
  EXPECT_ERROR(stream().dispatch(dispatch), "u32");  // the compiler's own words

  Dispatch absent = add_into(x, y, 1.0F);
  absent.entry_point = "no_such_entry";
  EXPECT_ERROR(stream().dispatch(absent), "add_into: its pipeline is refused by");

  stream().dispatch(add_into(x, y, 1.0F));
  EXPECT_EQ(values_of(y).at(0), 2.0F);
}

TEST_F(WebGpuTest, ReportsAnErrorInRecordedWorkAtALaterCallAndGoesOn) {
  const Buffer x = buffer_of(std::vector<float>(64, 1.0F));
  const Buffer y = buffer_of(std::vector<float>(64, 0.0F));
  // The shader's params are 512 bytes, more than is bound: the runtime finds out when the work is recorded.
  const ShaderSource greedy{"greedy", R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: array<vec4<u32>, 32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { y[i] = x[i] + f32(params[31].x); }
)"};
  Dispatch dispatch = add_into(x, y, 1.0F);
  dispatch.kernel = "greedy_kernel";
  dispatch.sources = {&greedy};
  EXPECT_ERROR(
      {
        stream().dispatch(dispatch);
        stream().wait();
      },
      "greedy_kernel");
  EXPECT_NO_THROW(stream().wait());
  const Buffer z = buffer_of(std::vector<float>(64, 0.0F));
  stream().dispatch(add_into(x, z, 2.0F));
  EXPECT_EQ(values_of(z), std::vector<float>(64, 2.0F));
}

TEST_F(WebGpuTest, PutsThePreludeBeforeTheText) {
  const ShaderSource text{"offset", R"(
@group(0) @binding(0) var<storage, read_write> y: array<Value>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { if (i < COUNT) { y[i] = Value(OFFSET) + Value(i); } }
)"};
  for (const uint32_t offset : {5U, 9U}) {  // two variants, two pipelines
    const Buffer y = buffer_of({0.0F, 0.0F, 0.0F});
    Dispatch dispatch;
    dispatch.kernel = "offset";
    dispatch.sources = {&text};
    dispatch.prelude = fmt::format("alias Value = f32;\nconst COUNT: u32 = 3u;\nconst OFFSET: u32 = {}u;\n", offset);
    dispatch.bindings = {read_write(y)};
    stream().dispatch(dispatch);
    const auto first = static_cast<float>(offset);
    EXPECT_EQ(values_of(y), (std::vector<float>{first, first + 1, first + 2}));
  }
}

TEST_F(WebGpuTest, RunsHalfPrecisionWhereTheAdapterHasItAndRefusesElsewhere) {
  const ShaderSource text{"halves", R"(
@group(0) @binding(0) var<storage, read_write> y: array<vec2<f16>>;
@compute @workgroup_size(1) fn main() { y[0] = y[0] * vec2<f16>(2.0h, -1.0h); }
)"};
  const Buffer y = buffer_of({std::bit_cast<float>(0x40003e00U)});  // 1.5 and 2
  Dispatch dispatch;
  dispatch.kernel = "halves";
  dispatch.sources = {&text};
  dispatch.bindings = {read_write(y)};
  dispatch.needs_f16 = true;
  if (stream().has_f16()) {
    stream().dispatch(dispatch);
    EXPECT_EQ(std::bit_cast<uint32_t>(values_of(y).at(0)), 0xc0004200U);  // 3 and -2
  } else {
    EXPECT_ERROR(stream().dispatch(dispatch), "halves: this variant needs shader-f16");
  }
}

TEST_F(WebGpuTest, RunsSubgroupsWhereTheAdapterHasThemAndRefusesElsewhere) {
  const ShaderSource text{"subgroups", R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(128) fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_size) size: u32) {
  let sum = subgroupAdd(1.0);
  y[i] = select(0.0, 1.0, sum == f32(size));
}
)"};
  const Buffer y = buffer_of(std::vector<float>(128, 0.0F));
  Dispatch dispatch;
  dispatch.kernel = "subgroups";
  dispatch.sources = {&text};
  dispatch.bindings = {read_write(y)};
  dispatch.needs_subgroups = true;
  if (stream().has_subgroups()) {
    stream().dispatch(dispatch);
    EXPECT_EQ(values_of(y), std::vector<float>(128, 1.0F));
  } else {
    EXPECT_ERROR(stream().dispatch(dispatch), "subgroups: this variant needs subgroups");
  }
}

TEST_F(WebGpuTest, KeepsWritesInsideTheirBindingWhenChecked) {
  DeviceOptions options = athanor::testing::device_options();
  options.checked = true;
  const std::unique_ptr<Device> device = open_device(options);
  const ShaderSource text{"stray", R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { y[i + 64u] = 9.0; }
)"};
  const Buffer whole = webgpu::buffer_of(*device, std::vector<float>(192, 1.0F));
  Dispatch dispatch;
  dispatch.kernel = "stray";
  dispatch.sources = {&text};
  dispatch.bindings = {read_write(whole.slice(0, 256))};
  as_webgpu(device->stream()).dispatch(dispatch);
  const std::vector<float> got = webgpu::values_of(*device, whole);
  for (size_t i = 64; i < got.size(); ++i) ASSERT_EQ(got[i], 1.0F) << i;
}

TEST_F(WebGpuTest, SumsTheTimesOfEachKernelInAProfile) {
  const Buffer x = buffer_of(std::vector<float>(10'000, 1.0F));
  const Buffer y = buffer_of(std::vector<float>(10'000, 0.0F));
  stream().set_profiling(true);
  for (int i = 0; i < 1050; ++i) {  // more than one batch
    Dispatch dispatch = add_into(x, y, 1.0F);
    if (i % 3 == 0) dispatch.kernel = "every_third";
    stream().dispatch(dispatch);
  }
  const std::vector<KernelTime> times = stream().take_profile();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].kernel, "add_into");
  EXPECT_EQ(times[0].launches, 700);
  EXPECT_EQ(times[1].kernel, "every_third");
  EXPECT_EQ(times[1].launches, 350);
  EXPECT_GT(times[1].milliseconds, 0);
  EXPECT_GE(times[0].milliseconds, times[1].milliseconds);
  EXPECT_DOUBLE_EQ(times[1].bytes, 350 * 12.0 * 10'000);
  EXPECT_TRUE(stream().take_profile().empty());
  stream().set_profiling(false);
  stream().dispatch(add_into(x, y, 1.0F));
  EXPECT_EQ(values_of(y).at(9'999), 1051.0F);
  EXPECT_TRUE(stream().take_profile().empty());
}

}  // namespace
}  // namespace athanor::device::webgpu
