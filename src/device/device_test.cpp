// What every device promises: memory, order, threads. Runs on the device that the environment names.
#include "device/device.h"

#include "base/expect_error.h"
#include "test_device.h"

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace athanor::device {
namespace {

using athanor::testing::device_options;
using athanor::testing::stream;

Device& the_device() { return athanor::testing::device(); }

std::vector<uint32_t> counting(size_t count, uint32_t first) {
  std::vector<uint32_t> words(count);
  std::iota(words.begin(), words.end(), first);
  return words;
}

Buffer buffer_of(Device& device, const std::vector<uint32_t>& words, std::string_view label = "words") {
  Buffer buffer = device.allocate(static_cast<int64_t>(words.size() * 4), label);
  device.stream().upload(buffer, std::as_bytes(std::span(words)));
  return buffer;
}

std::vector<uint32_t> words_of(Device& device, const Buffer& buffer) {
  std::vector<uint32_t> words(static_cast<size_t>(buffer.size_bytes() / 4));
  device.stream().download(buffer, std::as_writable_bytes(std::span(words)));
  return words;
}

/// Sets an environment variable for one test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name), was_set_(std::getenv(name) != nullptr) {
    if (was_set_) before_ = std::getenv(name);
    setenv(name, value, 1);
  }
  ~ScopedVariable() {
    if (was_set_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool was_set_;
  std::string before_;
};

TEST(Device, GivesBackTheBytesThatWereUploaded) {
  for (const size_t count : {size_t{1}, size_t{63}, size_t{257}, size_t{100'000}, size_t{9'000'001}}) {
    const std::vector<uint32_t> words = counting(count, 7);
    EXPECT_EQ(words_of(the_device(), buffer_of(the_device(), words)), words) << count << " words";
  }
}

TEST(Device, RoundsAnOddAllocationUpToFourBytes) {
  EXPECT_EQ(the_device().allocate(5, "five bytes").size_bytes(), 8);
  EXPECT_EQ(the_device().allocate(8, "eight bytes").size_bytes(), 8);
}

TEST(Device, RefusesAnEmptyAllocation) {
  EXPECT_ERROR(the_device().allocate(0, "nothing"), "allocate: 0 bytes asked for nothing");
  EXPECT_ERROR(the_device().allocate(-4, "less"), "allocate: -4 bytes asked for less");
}

TEST(Device, RefusesTransfersOfAnotherSize) {
  const Buffer buffer = the_device().allocate(16, "sixteen bytes");
  std::vector<std::byte> bytes(20);
  EXPECT_ERROR(stream().upload(buffer, bytes), "the buffer has 16 bytes but 20 were given");
  EXPECT_ERROR(stream().download(buffer, bytes), "the buffer has 16 bytes but 20 were given");
  EXPECT_ERROR(stream().copy(buffer, the_device().allocate(32, "larger")), "the buffer has 32 bytes but 16 were given");
  EXPECT_ERROR(stream().read_later(buffer)->wait(bytes), "16 bytes were asked for but 20 are taken");
}

TEST(Device, RefusesASliceBeyondItsBuffer) {
  const Buffer buffer = the_device().allocate(512, "buffer");
  EXPECT_ERROR(buffer.slice(256, 260), "slice of 260 bytes at 256 does not lie within 512 bytes");
  EXPECT_ERROR(buffer.slice(-4, 8), "does not lie within");
}

TEST(Device, CopiesBetweenBuffersAndWithinOne) {
  const std::vector<uint32_t> words = counting(192, 100);
  const Buffer from = buffer_of(the_device(), words);
  const Buffer to = the_device().allocate(192 * 4, "copy");
  stream().copy(from, to);
  EXPECT_EQ(words_of(the_device(), to), words);

  stream().copy(from.slice(0, 256), from.slice(256, 256));  // 64 words onto the next 64
  const std::vector<uint32_t> got = words_of(the_device(), from);
  EXPECT_EQ(got[63], 163U);
  EXPECT_EQ(got[64], 100U);
  EXPECT_EQ(got[127], 163U);
  EXPECT_EQ(got[128], 228U);
}

TEST(Device, FillsOnlyTheSliceWithZeros) {
  const Buffer buffer = buffer_of(the_device(), counting(192, 1));
  stream().fill_zero(buffer.slice(256, 256));
  const std::vector<uint32_t> got = words_of(the_device(), buffer);
  EXPECT_EQ(got[63], 64U);
  EXPECT_EQ(got[64], 0U);
  EXPECT_EQ(got[127], 0U);
  EXPECT_EQ(got[128], 129U);
}

TEST(Device, KeepsUploadsAndCopiesInOrder) {
  const Buffer source = buffer_of(the_device(), {1});
  std::vector<Buffer> copies;
  for (uint32_t round = 0; round < 20; ++round) {
    const uint32_t word = round;
    stream().upload(source, std::as_bytes(std::span(&word, 1)));
    copies.push_back(the_device().allocate(4, "copy"));
    stream().copy(source, copies.back());
  }
  for (uint32_t round = 0; round < 20; ++round) EXPECT_EQ(words_of(the_device(), copies[round]).at(0), round);
}

TEST(Device, ReadsTheValuesOfTheMomentWhenTheyWereAskedFor) {
  const Buffer buffer = buffer_of(the_device(), {1, 2, 3});
  const std::unique_ptr<Readback> early = stream().read_later(buffer);
  const std::vector<uint32_t> later = {7, 8, 9};
  stream().upload(buffer, std::as_bytes(std::span(later)));
  const std::unique_ptr<Readback> late = stream().read_later(buffer);
  std::vector<uint32_t> words(3);
  late->wait(std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(words, later);
  early->wait(std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(words, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(Device, ForgetsAReadbackThatIsDropped) {
  const Buffer buffer = buffer_of(the_device(), {1, 2, 3});
  for (int i = 0; i < 4; ++i) {
    stream().read_later(buffer);
    stream().wait();
  }
  EXPECT_EQ(words_of(the_device(), buffer).at(2), 3U);
}

TEST(Device, MakesNoNewBufferInASteadyLoop) {
  const auto step = [] {
    const Buffer a = buffer_of(the_device(), counting(5000, 1));
    const Buffer b = the_device().allocate(20000, "b");
    stream().copy(a, b);
    EXPECT_EQ(words_of(the_device(), b).at(4999), 5000U);
  };
  step();
  const int64_t before = the_device().memory().allocations;
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(the_device().memory().allocations, before);
}

TEST(Device, CountsItsMemoryAndGivesItBackWhenTrimmed) {
  const std::unique_ptr<Device> device = open_device(device_options());
  const int64_t in_use = device->memory().in_use_bytes;
  {
    const Buffer buffer = device->allocate(1 << 20, "a megabyte");
    EXPECT_GE(device->memory().in_use_bytes, in_use + (1 << 20));
  }
  EXPECT_EQ(device->memory().in_use_bytes, in_use);
  EXPECT_GE(device->memory().pooled_bytes, 1 << 20);
  EXPECT_GE(device->memory().peak_bytes, 1 << 20);
  device->trim();
  EXPECT_LT(device->memory().pooled_bytes, 1 << 20);
  EXPECT_EQ(words_of(*device, buffer_of(*device, {5, 6})), (std::vector<uint32_t>{5, 6}));
}

TEST(Device, RefusesMoreThanItsMemoryWithBothSizes) {
  DeviceOptions options = device_options();
  options.memory_bytes = 1 << 20;
  const std::unique_ptr<Device> device = open_device(options);
  const Buffer half = device->allocate(1 << 19, "first half");
  EXPECT_ERROR(device->allocate(600'000, "second half"), "second half");
  EXPECT_ERROR(device->allocate(600'000, "second half"), "600000 bytes");
  EXPECT_EQ(words_of(*device, buffer_of(*device, {1, 2})), (std::vector<uint32_t>{1, 2}));
}

TEST(Device, FreesWhatItKeptBeforeItRefuses) {
  DeviceOptions options = device_options();
  options.memory_bytes = 1 << 20;
  const std::unique_ptr<Device> device = open_device(options);
  device->allocate(1 << 19, "dropped at once");
  device->allocate(600'000, "larger");  // fits only without the one that was kept for reuse
}

TEST(Device, RefusesCallsFromAnotherThreadAndNamesBoth) {
  const Buffer buffer = buffer_of(the_device(), {1});
  std::string allocating;
  std::string uploading;
  std::thread other([&] {
    try {
      the_device().allocate(4, "from elsewhere");
    } catch (const Error& error) {
      allocating = error.what();
    }
    try {
      stream().fill_zero(buffer);
    } catch (const Error& error) {
      uploading = error.what();
    }
  });
  other.join();
  EXPECT_NE(allocating.find("thread"), std::string::npos) << allocating;
  EXPECT_NE(uploading.find("thread"), std::string::npos) << uploading;
  EXPECT_EQ(words_of(the_device(), buffer).at(0), 1U);
}

TEST(Device, LetsBuffersGoOnOtherThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<Buffer> buffers;
    for (uint32_t i = 0; i < 16; ++i) buffers.push_back(buffer_of(the_device(), counting(64 * (i % 4 + 1), i)));
    std::thread other([dropped = std::move(buffers)]() mutable { dropped.clear(); });
    const Buffer kept = buffer_of(the_device(), counting(128, 9));
    other.join();
    ASSERT_EQ(words_of(the_device(), kept), counting(128, 9));
  }
}

TEST(Device, MayGoBeforeItsBuffersDo) {
  Buffer buffer;
  std::unique_ptr<Readback> readback;
  {
    const std::unique_ptr<Device> device = open_device(device_options());
    buffer = buffer_of(*device, {1, 2, 3});
    readback = device->stream().read_later(buffer);
  }
  EXPECT_EQ(buffer.size_bytes(), 12);
  readback.reset();
  buffer = {};
}

TEST(Device, WorksOnTwoThreadsAtOnce) {
  std::atomic<int> right{0};
  const auto work = [&](uint32_t seed) {
    const std::unique_ptr<Device> device = open_device(device_options());
    for (uint32_t round = 0; round < 20; ++round) {
      const std::vector<uint32_t> words = counting(1000, seed + round);
      const Buffer from = buffer_of(*device, words);
      const Buffer to = device->allocate(4000, "copy");
      device->stream().copy(from, to);
      if (words_of(*device, to) == words) ++right;
    }
  };
  std::thread first(work, 1);
  std::thread second(work, 1000);
  first.join();
  second.join();
  EXPECT_EQ(right, 40);
}

TEST(OpenDevice, RefusesANameThatIsNone) {
  DeviceOptions options;
  options.name = "cuda";
  EXPECT_ERROR(open_device(options), "device cuda: there is no such device; use auto, cpu, webgpu or webgpu:N");
  options.name = "webgpu:first";
  EXPECT_ERROR(open_device(options), "\"first\" is no number");
  options.name = "cpu";
  options.threads = -1;
  EXPECT_ERROR(open_device(options), "-1 threads");
}

TEST(OpenDevice, SaysWhatItTriedWhenThereIsNoLibrary) {
  const ScopedVariable library("ATHANOR_WEBGPU_LIBRARY", "/nowhere/libwebgpu.so");
  DeviceOptions options;
  options.name = "webgpu";
  EXPECT_ERROR(open_device(options), "device webgpu: no adapter was found (tried /nowhere/libwebgpu.so");
  options.name = "auto";
  EXPECT_EQ(open_device(options)->info().backend, Backend::Cpu);
}

TEST(OpenDevice, SaysWhatIsMissingInALibraryOfAnotherKind) {
  const ScopedVariable library("ATHANOR_WEBGPU_LIBRARY", "libm.so.6");
  DeviceOptions options;
  options.name = "webgpu";
  EXPECT_ERROR(open_device(options), "has no function wgpuCreateInstance");
}

TEST(OpenDevice, DescribesTheDeviceInOneLine) {
  const DeviceInfo& info = the_device().info();
  const std::string line = describe(info);
  EXPECT_NE(line.find(info.name), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_GT(info.max_binding_bytes, 0);
}

TEST(DeviceInfo, CallsNeitherTheCpuNorASoftwareAdapterAGpu) {
  DeviceInfo info;
  EXPECT_FALSE(info.is_hardware_gpu());
  info.backend = Backend::WebGpu;
  EXPECT_TRUE(info.is_hardware_gpu());
  info.is_software = true;
  EXPECT_FALSE(info.is_hardware_gpu());
}

}  // namespace
}  // namespace athanor::device
