// The counting pool, and dry devices that count what the device of the tests holds.
#include "device/dry_memory.h"

#include "test_device.h"

namespace athanor::device {
namespace {

int64_t next_hundred(int64_t bytes) { return (bytes + 99) / 100 * 100; }

TEST(DryMemory, ReusesTheLastBlockDroppedOfAClass) {
  DryMemory memory(next_hundred);
  const DryMemory::Block a = memory.take(150, "a");
  const DryMemory::Block b = memory.take(101, "b");
  EXPECT_EQ(memory.use().peak_bytes, 400);
  EXPECT_EQ(memory.touched_bytes(), 251);
  memory.give_back(a, "a");
  memory.give_back(b, "b");
  const DryMemory::Block c = memory.take(120, "c");
  EXPECT_EQ(c.touched_bytes, 120);  // b's block, of which 101 were used
  EXPECT_EQ(memory.touched_bytes(), 270);
  EXPECT_EQ(memory.use().allocations, 2);
  EXPECT_EQ(memory.use().in_use_bytes, 200);
  EXPECT_EQ(memory.use().pooled_bytes, 200);
}

TEST(DryMemory, RemembersWhoHeldWhatWhenMostWasInUse) {
  DryMemory memory(next_hundred);
  const DryMemory::Block weights = memory.take(300, "weights");
  const DryMemory::Block early = memory.take(200, "early");
  memory.give_back(early, "early");
  memory.take(250, "late");
  EXPECT_EQ(memory.most_in_use_bytes(), 600);
  EXPECT_EQ(memory.most_in_use().at("weights"), 300);
  EXPECT_EQ(memory.most_in_use().at("late"), 300);
  EXPECT_EQ(memory.most_in_use().at("early"), 0);
  EXPECT_EQ(memory.use().peak_bytes, 800);
  memory.give_back(weights, "weights");
}

/// Sizes around class borders, reuse, readbacks, a download in two parts, a copy within one buffer.
void use(Device& device) {
  Stream& stream = device.stream();
  const Buffer kept = device.allocate(1000, "kept");
  for (int round = 0; round < 3; ++round) {
    for (const int64_t size : {4, 256, 260, 4096, 4100, 70000}) device.allocate(size, "passing");
    const Buffer a = device.allocate(70000, "a");
    const Buffer b = device.allocate(66000, "b");
    const std::unique_ptr<Readback> first = stream.read_later(kept);
    const std::unique_ptr<Readback> second = stream.read_later(kept);
    std::vector<std::byte> bytes(1000);
    first->wait(bytes);
    second->wait(bytes);
  }
  const Buffer large = device.allocate(40 << 20, "large");
  stream.copy(large.slice(0, 4096), large.slice(8192, 4096));
  std::vector<std::byte> bytes(40 << 20);
  stream.download(large, bytes);
}

TEST(DryMemory, CountsWhatTheDeviceHolds) {
  const std::unique_ptr<Device> real = open_device(testing::device_options());
  const DryDevice dry = open_dry_device_like(*real);
  use(*real);
  use(*dry.device);
  EXPECT_EQ(dry.device->memory().peak_bytes, real->memory().peak_bytes);
  EXPECT_EQ(dry.device->memory().allocations, real->memory().allocations);
  EXPECT_GE(dry.memory->most_in_use().at("large"), 40 << 20);
}

TEST(DryMemory, ABufferLargerThanTheDeviceGivesIsRefused) {
  const DryDevice dry = open_dry_device_like(testing::device());
  EXPECT_THROW(dry.device->allocate(int64_t{1} << 50, "huge"), Error);
}

}  // namespace
}  // namespace athanor::device
