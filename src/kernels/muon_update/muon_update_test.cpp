// muon_update: wrong use, a flagged step, what it does to singular values, the factor of the shape, and folding of a long grid. The
// cases against the plain loop run in kernels/cases_test.cpp.
#include "kernels/muon_update/muon_update.h"

#include "kernels/muon_update/muon_update_reference.h"
#include "kernels/segments/golden_gradients.h"
#include "test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace athanor::kernels {
namespace {

using ::testing::HasSubstr;

// Weights of zero and one gradient, so that the weights after a step of lr 1 are minus the direction times the factor.
MuonUpdate first_step(device::Stream& stream, const std::vector<float>& gradients, int64_t rows, int64_t columns) {
  MuonUpdate args;
  const std::vector<float> zeros(gradients.size(), 0.0F);
  args.weights = upload_values(stream, zeros);
  args.gradients = upload_values(stream, gradients);
  args.m = upload_values(stream, zeros);
  args.stats = upload_values(stream, std::vector<float>{1, 1, 0, 0});
  args.rows = rows;
  args.columns = columns;
  args.lr = 1;
  return args;
}

void expect_refused(const MuonUpdate& args, const char* message) {
  try {
    muon_update(testing::stream(), args);
    FAIL() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// What five steps make of a singular value: the polynomial applied five times.
double after_five_steps(double s) {
  for (int step = 0; step < 5; ++step) s = 3.4445 * s - 4.775 * s * s * s + 2.0315 * std::pow(s, 5);
  return s;
}

TEST(MuonUpdate, RefusesWhatCannotBe) {
  device::Stream& stream = testing::stream();
  MuonUpdate args = first_step(stream, std::vector<float>(12, 1.0F), 3, 4);
  args.momentum = 1;
  expect_refused(args, "muon_update: momentum 1 and one_minus_momentum 0.05 were given");
  args.weight_decay = -1;
  expect_refused(args, "muon_update: lr 1 and weight decay -1 were given");
  args.m = poisoned(stream, 11);
  expect_refused(args, "muon_update: m has 44 bytes but 12 values");
  args.rows = 0;
  expect_refused(args, "muon_update: 0 rows and 4 columns were given");
}

TEST(MuonUpdate, ChangesNothingWhenTheFlagIsSet) {
  device::Stream& stream = testing::stream();
  const std::vector<float> weights = test_values(35, 1);
  MuonUpdate args = first_step(stream, std::vector<float>(35, std::numeric_limits<float>::quiet_NaN()), 5, 7);
  args.weights = upload_values(stream, weights);
  args.m = upload_values(stream, weights);
  args.stats = upload_values(stream, std::vector<float>{1, 0, 1, 0});
  args.weight_decay = 0.1F;
  muon_update(stream, args);
  EXPECT_EQ(download_values(stream, args.weights), weights);
  EXPECT_EQ(download_values(stream, args.m), weights);
}

// A diagonal matrix has its singular values on the diagonal. They come out near 1 whatever they were, the signs stay, and an axis
// without gradient stays without step. The matrix is wide, square and tall; out over in gives the factor.
TEST(MuonUpdate, BringsSingularValuesNearOne) {
  device::Stream& stream = testing::stream();
  const std::vector<double> values = {4, -2, 1, 0};
  const double norm = std::sqrt(21.0);
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{4, 4}, std::pair<int64_t, int64_t>{4, 16}, std::pair<int64_t, int64_t>{16, 4}}) {
    std::vector<float> gradients(static_cast<size_t>(rows * columns), 0.0F);
    for (int64_t i = 0; i < 4; ++i) {
      gradients[static_cast<size_t>(i * columns + i)] = static_cast<float>(values[static_cast<size_t>(i)]);
    }
    const MuonUpdate args = first_step(stream, gradients, rows, columns);
    muon_update(stream, args);
    const std::vector<float> weights = download_values(stream, args.weights);
    const double factor = columns > rows ? 2 : 1;
    for (int64_t i = 0; i < rows * columns; ++i) {
      const bool on_diagonal = i / columns == i % columns;
      const double want = on_diagonal ? -factor * after_five_steps(values[static_cast<size_t>(i / columns)] / norm) : 0;
      EXPECT_NEAR(weights[static_cast<size_t>(i)], want, 1e-5) << rows << " x " << columns << ", element " << i;
    }
    EXPECT_NEAR(std::abs(weights[0]), factor, 0.35 * factor);
  }
}

TEST(MuonUpdate, OnlyDecaysWithoutGradients) {
  device::Stream& stream = testing::stream();
  MuonUpdate args = first_step(stream, std::vector<float>(15, 0.0F), 3, 5);
  args.weights = upload_values(stream, std::vector<float>(15, 2.0F));
  args.weight_decay = 0.25F;
  muon_update(stream, args);
  EXPECT_THAT(download_values(stream, args.weights), ::testing::Each(1.5F));
}

// Two steps of weights of zero, against numbers of MLX (tests/golden/make_optimizer_golden.py).
TEST(MuonUpdate, GivesTheNumbersOfMlx) {
  device::Stream& stream = testing::stream();
  const std::vector<float> wide = {0.159068F,  -0.025402F, 0.002961F,  -0.076883F, -0.023236F,
                                   -0.026551F, -0.099594F, -0.038381F, 0.149241F,  -0.046637F,
                                   -0.038831F, 0.180250F,  -0.059296F, 0.090324F,  -0.086406F};
  const std::vector<float> tall = {0.127605F,  -0.001995F, 0.006368F,  -0.071040F, -0.095170F,
                                   -0.038322F, -0.029384F, -0.007602F, 0.117262F,  -0.037447F,
                                   0.020932F,  0.107187F,  -0.018395F, 0.099635F,  -0.042153F};
  for (const std::vector<float>& want : {wide, tall}) {
    const bool is_wide = want[0] == wide[0];
    MuonUpdate args = first_step(stream, golden_gradients(0), is_wide ? 3 : 5, is_wide ? 5 : 3);
    args.lr = 0.1F;
    muon_update(stream, args);
    args.gradients = upload_values(stream, golden_gradients(1));
    muon_update(stream, args);
    EXPECT_THAT(download_values(stream, args.weights), ::testing::Pointwise(::testing::FloatNear(2e-6F), want));
  }
}

TEST(MuonUpdate, FoldsMoreGroupsThanOneDimensionOfTheGridTakes) {
  device::Stream& stream = testing::stream();
  const testing::FewWorkgroups few(stream, 9);
  for (const KernelCase& kernel_case : muon_update_cases()) {
    if (kernel_case.name != "1 steps, rows 65, columns 257" && kernel_case.name != "2 steps, rows 63, columns 65")
      continue;
    const CaseResult result = kernel_case.run(stream);
    EXPECT_TRUE(result.passed()) << kernel_case.name << ": " << result.where;
  }
}

}  // namespace
}  // namespace athanor::kernels
