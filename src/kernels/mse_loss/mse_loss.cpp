// The doors of mse_loss: checks of sizes, choice of device, and their entries in the table of kernels.
#include "kernels/mse_loss/mse_loss.h"

#include "kernels/bench_values.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"
#include "kernels/mse_loss/mse_loss_internal.h"
#include "kernels/mse_loss/mse_loss_reference.h"

#include <cmath>

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const MseLoss& args) { return {3.0 * args.count, 8.0 * args.count}; }
device::KernelCost cost_of(const MseLossBackward& args) { return {2.0 * args.count, 12.0 * args.count}; }

KernelBench bench_mse_loss(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const MseLoss args{bench_values(stream, count, 1), bench_values(stream, count, 2),
                     stream.device().allocate(4, "bench loss"), count, 1.0F / static_cast<float>(count)};
  return {fmt::format("count {}", count), cost_of(args), [&stream, args] { mse_loss(stream, args); }};
}

KernelBench bench_mse_loss_backward(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const MseLossBackward args{bench_values(stream, count, 1), bench_values(stream, count, 2),
                             stream.device().allocate(bytes, "bench d_prediction"), count,
                             1.0F / static_cast<float>(count)};
  return {fmt::format("count {}", count), cost_of(args), [&stream, args] { mse_loss_backward(stream, args); }};
}

void check_scale(std::string_view kernel, float scale) {
  check(std::isfinite(scale), "{}: a scale of {}; pass 1 / the number of values", kernel, scale);
}

}  // namespace

void mse_loss(Stream& stream, const MseLoss& args) {
  check_size("mse_loss", "loss", args.loss, 1);
  if (args.count == 0) {
    stream.fill_zero(args.loss);
    return;
  }
  check_size("mse_loss", "prediction", args.prediction, args.count);
  check_size("mse_loss", "wanted", args.wanted, args.count);
  check_scale("mse_loss", args.scale);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "mse_loss", cost, [&](auto& cpu) { mse_loss_cpu(cpu, args); },
      [&](auto& webgpu) { mse_loss_webgpu(webgpu, args, cost); });
}

void mse_loss_backward(Stream& stream, const MseLossBackward& args) {
  if (args.count == 0) return;
  check_size("mse_loss_backward", "prediction", args.prediction, args.count);
  check_size("mse_loss_backward", "wanted", args.wanted, args.count);
  check_size("mse_loss_backward", "d_prediction", args.d_prediction, args.count);
  check_scale("mse_loss_backward", args.scale);
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "mse_loss_backward", cost, [&](auto& cpu) { mse_loss_backward_cpu(cpu, args); },
      [&](auto& webgpu) { mse_loss_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> mse_loss_kernels() {
  return {
      {"mse_loss", "scale * sum of (prediction - wanted)^2 / 2", mse_loss_cases(), bench_mse_loss},
      {"mse_loss_backward", "(prediction - wanted) * scale", mse_loss_backward_cases(), bench_mse_loss_backward},
  };
}

}  // namespace athanor::kernels
