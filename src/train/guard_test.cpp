// What the guard calls bad, when it has enough, and its state through a checkpoint.
#include "train/guard.h"

#include "base/expect_error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace athanor::train {
namespace {

StepReport report(double loss, double norm, StepOutcome outcome = StepOutcome::Applied) {
  StepReport made;
  made.loss = loss;
  made.gradient_norm = norm;
  made.outcome = outcome;
  made.targets = 8;
  return made;
}

TEST(Guard, NamesTheLargestNormOnceItHasSeenEnough) {
  Guard guard({10, 0.5, 3});
  for (int64_t step = 1; step < 16; ++step) EXPECT_EQ(guard.observe(report(3, 2), step), Verdict::Good);
  EXPECT_EQ(guard.largest_norm(), 0);
  guard.observe(report(3, 2), 16);
  EXPECT_DOUBLE_EQ(guard.largest_norm(), 20);
  // One outlier does not move the median.
  guard.observe(report(3, 1e6, StepOutcome::Outlier), 17);
  EXPECT_DOUBLE_EQ(guard.largest_norm(), 20);
}

TEST(Guard, CallsNoNormAnOutlierThatIsNotEvenClipped) {
  Guard guard({10, 1, 3});
  for (int64_t step = 1; step <= 20; ++step) guard.observe(report(0.01, 1e-4), step);
  EXPECT_DOUBLE_EQ(guard.largest_norm(), 1);
  Guard off({0, 1, 3});
  for (int64_t step = 1; step <= 20; ++step) off.observe(report(1, 1), step);
  EXPECT_EQ(off.largest_norm(), 0);
}

TEST(Guard, SeesTroubleInBadStepsInARowAndRemembersTheFirst) {
  Guard guard({10, 1, 3});
  guard.observe(report(3, 1), 1);
  EXPECT_EQ(guard.observe(report(3, NAN, StepOutcome::NotFinite), 2), Verdict::Bad);
  EXPECT_EQ(guard.observe(report(3, 1), 3), Verdict::Good);
  EXPECT_EQ(guard.observe(report(NAN, 1), 4), Verdict::Bad);
  EXPECT_EQ(guard.observe(report(7.1, 1), 5), Verdict::Bad);
  EXPECT_EQ(guard.observe(report(3, 1, StepOutcome::Outlier), 6), Verdict::Trouble);
  EXPECT_EQ(guard.state().first_bad_step, 4);
  Guard patient({10, 1, 0});
  for (int64_t step = 1; step < 9; ++step) EXPECT_NE(patient.observe(report(NAN, 1), step), Verdict::Trouble);
}

TEST(Guard, TakesARisingLossForBadOnlyFarAboveItsMean) {
  Guard guard({10, 1, 3});
  for (int64_t step = 1; step < 50; ++step) guard.observe(report(2, 1), step);
  EXPECT_FALSE(guard.loss_is_bad(4.9));
  EXPECT_TRUE(guard.loss_is_bad(5.1));
  EXPECT_TRUE(guard.loss_is_bad(INFINITY));
  Guard young({10, 1, 3});
  EXPECT_FALSE(young.loss_is_bad(11));  // nothing is known yet
  EXPECT_EQ(young.observe(report(0, 0, StepOutcome::NoTargets), 1), Verdict::Good);
  EXPECT_FALSE(young.state().mean_loss);
}

TEST(Guard, GoesOnFromItsStateAsIfNeverStopped) {
  Guard whole({10, 1, 3});
  for (int64_t step = 1; step < 100; ++step) whole.observe(report(3 + 1.0 / step, 0.1 * step), step);
  whole.observe(report(NAN, NAN, StepOutcome::NotFinite), 100);
  Guard resumed({10, 1, 3});
  resumed.set_state(GuardState::from_json(whole.state().to_json(), "test"));
  EXPECT_EQ(resumed.state().to_json(), whole.state().to_json());
  EXPECT_EQ(resumed.largest_norm(), whole.largest_norm());
  EXPECT_EQ(resumed.state().first_bad_step, 100);
  EXPECT_EQ(resumed.observe(report(NAN, 1), 101), whole.observe(report(NAN, 1), 101));
  // An older version did not write how many batches rollbacks had left out.
  const std::string older = R"({"bad_in_row":0,"first_bad_step":0,"rate_factor":1,"rollbacks":0,"norms":[]})";
  EXPECT_EQ(GuardState::from_json(older, "a").skipped_batches, 0);
  const std::string altered =
      R"({"bad_in_row":0,"first_bad_step":0,"rate_factor":1,"rollbacks":0,"skipped_batches":-1,"norms":[]})";
  EXPECT_ERROR(GuardState::from_json(altered, "a"), "guard.skipped_batches is -1");
  EXPECT_ERROR(GuardState::from_json("{\"norms\": 3}", "a.json"), "a.json: guard.bad_in_row is missing");
  EXPECT_ERROR(
      GuardState::from_json(R"({"bad_in_row":0,"first_bad_step":0,"rate_factor":1,"rollbacks":0,"norms":["x"]})", "a"),
      "guard.norms holds");
}

}  // namespace
}  // namespace athanor::train
