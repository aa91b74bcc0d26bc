// A network of one hidden layer learns a function from points of it. Run: regression [DEVICE], DEVICE as in `athanor train --device`.
#include "sgd.h"

#include <athanor/device/device.h>
#include <athanor/nn/parameters.h>
#include <athanor/tensor/ops.h>

#include <cmath>
#include <cstdio>
#include <exception>

using namespace athanor;

namespace {

constexpr int64_t kPoints = 256;
constexpr int64_t kHidden = 64;
constexpr int kSteps = 1000;

/// x goes through the layers; with a tape in the context, each op records how to turn its output's gradient into its inputs'.
tensor::Tensor predict(const tensor::Context& context, const nn::Parameters& weights, const tensor::Tensor& x) {
  const tensor::Tensor hidden = tensor::relu(
      context,
      tensor::add(context, tensor::matmul(context, x, weights.at("hidden.weight")), weights.at("hidden.bias")));
  return tensor::add(context, tensor::matmul(context, hidden, weights.at("out.weight")), weights.at("out.bias"));
}

int run(const char* device_name) {
  device::DeviceOptions options;
  options.name = device_name;
  const std::unique_ptr<device::Device> device = device::open_device(options);
  device::Stream& stream = device->stream();
  std::printf("%s\n", device::describe(device->info()).c_str());

  std::vector<float> inputs;
  std::vector<float> outputs;
  for (int64_t i = 0; i < kPoints; ++i) {
    const float x = -1 + 2 * static_cast<float>(i) / (kPoints - 1);
    inputs.push_back(x);
    outputs.push_back(std::sin(3 * x));
  }
  const tensor::Tensor x = tensor::from_values(stream, inputs, Shape{kPoints, 1});
  const tensor::Tensor y = tensor::from_values(stream, outputs, Shape{kPoints, 1});

  // Names, shapes, and the deviation of the random initial values. Weights lie [in, out].
  const auto stored = nn::FileLayout::AsStored;
  nn::Parameters weights(stream,
                         {{"hidden.weight", Shape{1, kHidden}, stored, 1.0F},
                          {"hidden.bias", Shape{kHidden}, stored, 0.5F},
                          {"out.weight", Shape{kHidden, 1}, stored, 0.1F},
                          {"out.bias", Shape{1}, stored, 0.1F}},
                         nn::Trained::Yes);
  weights.initialize(stream, 1);
  examples::Sgd optimizer(stream, weights, 0.9F);

  float first = 0;
  float loss = 0;
  for (int step = 0; step <= kSteps; ++step) {
    tensor::Tape tape;
    const tensor::Context context{stream, &tape};
    const tensor::Tensor error = tensor::mse_loss(context, predict(context, weights, x), y);
    tape.run_backward(stream, error);
    optimizer.step(stream, 0.05F);
    if (step % 200 != 0) continue;
    loss = tensor::to_values(stream, error).front();
    if (step == 0) first = loss;
    std::printf("step %4d  loss %.6f\n", step, static_cast<double>(loss));
  }
  return loss < first / 100 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "auto");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
