// Half the squared error of predictions, and its gradient.
#pragma once

#include "device/device.h"

#include <cstdint>

namespace athanor::kernels {

struct MseLoss {
  device::Buffer prediction;  // (count) f32
  device::Buffer wanted;      // (count) f32: the targets
  device::Buffer loss;        // (1) f32, written
  int64_t count = 0;
  float scale = 1;  // 1 / count for the mean
};

/// loss = scale * sum of (prediction - wanted)^2 / 2, in f32 by a tree that depends on count alone, so that a run repeats bit for bit.
/// Throws Error if a buffer's size is not as in MseLoss or the scale is not finite. 0 for a count of 0.
void mse_loss(device::Stream& stream, const MseLoss& args);

struct MseLossBackward {
  device::Buffer prediction;    // (count)
  device::Buffer wanted;        // (count)
  device::Buffer d_prediction;  // (count), written; on WebGPU neither prediction nor wanted
  int64_t count = 0;
  float scale = 1;  // that of the loss, times the gradient that reaches the loss
};

/// d_prediction = (prediction - wanted) * scale.
void mse_loss_backward(device::Stream& stream, const MseLossBackward& args);

}  // namespace athanor::kernels
