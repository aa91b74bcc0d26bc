// A checkpoint written beside the steps holds what was there at the save, byte for byte, and its errors come out.
#include "train/checkpoint_writer.h"

#include "base/expect_error.h"
#include "base/fault.h"
#include "base/mapped_file.h"
#include "base/test_folder.h"
#include "generate/test_model.h"
#include "test_device.h"
#include "train/step_test.h"

#include <algorithm>

namespace athanor::train {
namespace {

struct Kind {
  const char* name;
  OptimizerKind optimizer;
  nn::Precision precision;
  double ema_decay;
};

class CheckpointsInBackground : public ::testing::TestWithParam<Kind> {
 protected:
  CheckpointsInBackground() : run_(testing::stream(), settings(), GetParam().precision, GetParam().ema_decay) {}

  static OptimizerSettings settings() {
    OptimizerSettings settings;
    settings.kind = GetParam().optimizer;
    return settings;
  }
  static TrainerState state(int64_t step) {
    TrainerState state;
    state.step = state.applied_steps = step;
    return state;
  }
  CheckpointParts parts() { return {run_.model, run_.step.optimizer(), run_.step.average()}; }

  TestRun run_;
  data::Tokenizer tokenizer_ = generate::byte_tokenizer();
  TestFolder first_;
  TestFolder second_;
};

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  const MappedFile x(a);
  const MappedFile y(b);
  return std::ranges::equal(x.bytes(), y.bytes());
}

TEST_P(CheckpointsInBackground, HaveTheBytesOfTheMomentThoughStepsGoOn) {
  for (uint64_t number = 0; number < 3; ++number) run_.run(number);
  const RunFolder now(first_.path());
  const RunFolder later(second_.path());
  CheckpointWriter writer(later, parts(), tokenizer_, true);
  {
    const ShownAverage shown(testing::stream(), run_.step.average());
    save_checkpoint(testing::stream(), now, parts(), tokenizer_, state(3));
    writer.save(testing::stream(), state(3));
  }
  const auto at_save = run_.weights();
  for (uint64_t number = 3; number < 6; ++number) run_.run(number);
  EXPECT_NE(run_.weights(), at_save);
  writer.finish();
  EXPECT_EQ(later.latest()->step, 3);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(now.checkpoint(3))) {
    EXPECT_TRUE(same_file(entry.path(), later.checkpoint(3) / entry.path().filename())) << entry.path();
    files += 1;
  }
  EXPECT_EQ(files, 7);
  // The next copy takes the place of the first.
  {
    const ShownAverage shown(testing::stream(), run_.step.average());
    save_checkpoint(testing::stream(), now, parts(), tokenizer_, state(6));
    writer.save(testing::stream(), state(6));
  }
  writer.finish();
  EXPECT_TRUE(same_file(now.checkpoint(6) / "model.safetensors", later.checkpoint(6) / "model.safetensors"));
  EXPECT_FALSE(same_file(now.checkpoint(3) / "model.safetensors", later.checkpoint(6) / "model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, CheckpointsInBackground,
                         ::testing::Values(Kind{"adamw", OptimizerKind::Adamw, nn::Precision::F32, 0},
                                           Kind{"adamw_8bit_mixed", OptimizerKind::Adamw8bit, nn::Precision::Mixed, 0},
                                           Kind{"muon_averaged", OptimizerKind::Muon, nn::Precision::F32, 0.9}),
                         [](const auto& info) { return std::string(info.param.name); });

class CheckpointWriters : public ::testing::Test {
 protected:
  CheckpointParts parts() { return {run_.model, run_.step.optimizer(), nullptr}; }
  static TrainerState state(int64_t step) {
    TrainerState state;
    state.step = step;
    return state;
  }

  TestRun run_{testing::stream(), {}};
  data::Tokenizer tokenizer_ = generate::byte_tokenizer();
  TestFolder root_;
  RunFolder folder_{root_.path()};
};

TEST_F(CheckpointWriters, ThrowWhatTheirThreadMetAndLeaveTheOlderCheckpointWhole) {
  CheckpointWriter writer(folder_, parts(), tokenizer_, true);
  writer.save(testing::stream(), state(1));
  writer.finish();
  set_fault("disk-full:3");
  writer.save(testing::stream(), state(2));
  EXPECT_ERROR(writer.finish(), "No space left");
  writer.save(testing::stream(), state(3));
  EXPECT_ERROR(writer.save(testing::stream(), state(4)), "No space left");
  set_fault("");
  EXPECT_NO_THROW(writer.finish());  // told once
  EXPECT_EQ(find_whole_checkpoint(folder_)->entry.step, 1);
  EXPECT_TRUE(remove_unfinished(root_.path()).empty());
  writer.save(testing::stream(), state(5));
  while (writer.is_busy()) std::this_thread::yield();
  EXPECT_NO_THROW(writer.poll());
  EXPECT_EQ(find_whole_checkpoint(folder_)->entry.step, 5);
}

TEST_F(CheckpointWriters, WaitForTheCheckpointOnItsWayWhenTheyGo) {
  {
    CheckpointWriter writer(folder_, parts(), tokenizer_, true);
    writer.save(testing::stream(), state(7));
  }
  EXPECT_EQ(find_whole_checkpoint(folder_)->entry.step, 7);
}

TEST_F(CheckpointWriters, WriteAtTheSaveWhenTheyShall) {
  CheckpointWriter writer(folder_, parts(), tokenizer_, false);
  writer.save(testing::stream(), state(2));
  EXPECT_FALSE(writer.is_busy());
  EXPECT_EQ(find_whole_checkpoint(folder_)->entry.step, 2);
}

TEST(RoomForACopy, IsWhatTheMachineHasToSpare) {
  EXPECT_TRUE(has_room_for_copy(1 << 20));
  EXPECT_FALSE(has_room_for_copy(int64_t{1} << 50));
}

}  // namespace
}  // namespace athanor::train
