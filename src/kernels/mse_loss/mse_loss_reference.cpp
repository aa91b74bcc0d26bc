// mse_loss as plain loops in double, and the sizes it is tried at.
#include "kernels/mse_loss/mse_loss_reference.h"

#include "kernels/mse_loss/mse_loss.h"

namespace athanor::kernels {

double mse_loss_reference(const std::vector<double>& prediction, const std::vector<double>& wanted, double scale) {
  double sum = 0;
  for (size_t i = 0; i < prediction.size(); ++i) {
    sum += 0.5 * (prediction[i] - wanted[i]) * (prediction[i] - wanted[i]);
  }
  return sum * scale;
}

std::vector<double> mse_loss_backward_reference(const std::vector<double>& prediction,
                                                const std::vector<double>& wanted, double scale) {
  std::vector<double> d_prediction(prediction.size());
  for (size_t i = 0; i < prediction.size(); ++i) d_prediction[i] = (prediction[i] - wanted[i]) * scale;
  return d_prediction;
}

namespace {

struct Size {
  int64_t count;
  float value_scale;
  bool in_doctor;
};

// Below and above a workgroup and a block of either width, values of 1e4, and the outputs of a real batch.
const std::vector<Size> kSizes = {{1, 1, false},    {3, 1, false},         {4, 1, false},    {5, 1, true},
                                  {63, 1e4F, true}, {64, 1e4F, true},      {65, 1, false},   {257, 1, false},
                                  {2006, 1, true},  {4100, 1, true},       {1025, 1, false}, {65537, 1, false},
                                  {343, 1, false},  {1024 * 768, 1, false}};

constexpr float kGradientScale = 0.125F;

CaseResult run_loss(device::Stream& stream, const Size& size) {
  const std::vector<float> prediction = test_values(size.count, 1, size.value_scale);
  const std::vector<float> wanted = test_values(size.count, 2, size.value_scale);
  const float scale = 1.0F / static_cast<float>(size.count);
  const MseLoss args{upload_values(stream, prediction), upload_values(stream, wanted), poisoned(stream, 1), size.count,
                     scale};
  mse_loss(stream, args);
  const std::vector<double> want = {mse_loss_reference(to_double(prediction), to_double(wanted), scale)};
  CaseResult result;
  compare(result, "loss", download_values(stream, args.loss), want, allowed_f32(size.count));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Size& size) {
  const std::vector<float> prediction = test_values(size.count, 1, size.value_scale);
  const std::vector<float> wanted = test_values(size.count, 2, size.value_scale);
  const MseLossBackward args{upload_values(stream, prediction), upload_values(stream, wanted),
                             poisoned(stream, size.count), size.count, kGradientScale};
  mse_loss_backward(stream, args);
  CaseResult result;
  compare(result, "d_prediction", download_values(stream, args.d_prediction),
          mse_loss_backward_reference(to_double(prediction), to_double(wanted), kGradientScale), allowed_f32(1));
  return result;
}

std::vector<KernelCase> cases_of(CaseResult (*run)(device::Stream&, const Size&)) {
  std::vector<KernelCase> cases;
  for (const Size& size : kSizes) {
    cases.push_back({fmt::format("count {}, values of {}", size.count, size.value_scale), size.in_doctor,
                     [run, size](device::Stream& stream) { return run(stream, size); }});
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> mse_loss_cases() { return cases_of(run_loss); }
std::vector<KernelCase> mse_loss_backward_cases() { return cases_of(run_backward); }

}  // namespace athanor::kernels
