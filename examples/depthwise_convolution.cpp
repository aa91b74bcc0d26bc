// A depthwise convolution finds the filter of each channel from signals before and after. Run: depthwise_convolution [DEVICE].
#include "sgd.h"

#include <athanor/device/device.h>
#include <athanor/nn/parameters.h>
#include <athanor/tensor/ops.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>

using namespace athanor;

namespace {

constexpr int64_t kBatch = 8;
constexpr int64_t kChannels = 4;
constexpr int64_t kLength = 100;
constexpr int kSteps = 300;

// To be found: a blur, a slope, an edge and a shift, three weights each.
const std::vector<float> kFilters = {0.25F, 0.5F, 0.25F, -0.5F, 0, 0.5F, 1, -2, 1, 0, 0, 1};
const std::vector<float> kOffsets = {0, 1, 0, -0.5F};

int run(const char* device_name) {
  device::DeviceOptions options;
  options.name = device_name;
  const std::unique_ptr<device::Device> device = device::open_device(options);
  device::Stream& stream = device->stream();

  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> noise(kBatch * kChannels * kLength);
  for (float& value : noise) value = normal(generator);
  const tensor::Tensor before = tensor::from_values(stream, noise, Shape{kBatch, kChannels, kLength});
  // Without a tape nothing is recorded: this makes the signals to learn from.
  const tensor::Tensor after =
      tensor::conv1d({stream, nullptr}, before, tensor::from_values(stream, kFilters, Shape{kChannels, 3}),
                     tensor::from_values(stream, kOffsets, Shape{kChannels}));

  nn::Parameters weights(stream,
                         {{"filter", Shape{kChannels, 3}, nn::FileLayout::AsStored, 0.1F},
                          {"offset", Shape{kChannels}, nn::FileLayout::AsStored, 0.1F}},
                         nn::Trained::Yes);
  weights.initialize(stream, 1);
  examples::Sgd optimizer(stream, weights, 0.9F);
  for (int step = 0; step <= kSteps; ++step) {
    tensor::Tape tape;
    const tensor::Context context{stream, &tape};
    const tensor::Tensor out = tensor::conv1d(context, before, weights.at("filter"), weights.at("offset"));
    const tensor::Tensor loss = tensor::mse_loss(context, out, after);
    tape.run_backward(stream, loss);
    optimizer.step(stream, 0.2F);
    if (step % 50 == 0)
      std::printf("step %3d  loss %.8f\n", step, static_cast<double>(to_values(stream, loss).front()));
  }

  const std::vector<float> found = tensor::to_values(stream, weights.at("filter"));
  float worst = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    worst = std::max(worst, std::abs(found[i] - kFilters[i]));
    std::printf("channel %zu, weight %zu: %7.4f, was %7.4f\n", i / 3, i % 3, static_cast<double>(found[i]),
                static_cast<double>(kFilters[i]));
  }
  return worst < 0.001F ? 0 : 1;
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
