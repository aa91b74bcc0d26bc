// A matrix as generation keeps it: in f32, f16 or ggml's Q8_0. What a token costs is above all that its weights are read, so fewer bytes a
// weight are more tokens a second.
#pragma once

#include "device/device.h"
#include "kernels/matvec/matvec.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace athanor::generate {

/// Q8_0: blocks of 32 weights along the sum, a scale in f16 and 32 signed bytes.
enum class WeightFormat { F32, F16, Q8_0 };

/// As --weight-format spells it: "f32", "f16", "q8_0".
std::string_view name_of(WeightFormat format);
/// The reverse; nothing for a name that is not known.
std::optional<WeightFormat> weight_format_of(std::string_view name);

struct Weight {
  enum class Layout {
    OutIn,  // (outputs, inputs), as in a file; the only one of Q8_0
    InOut,  // (inputs, outputs), as nn::Llama keeps projections
  };
  device::Buffer values;
  WeightFormat format = WeightFormat::F32;
  Layout layout = Layout::OutIn;
  int64_t inputs = 0;
  int64_t outputs = 0;
};

/// Y (rows, outputs) = X (rows, inputs) @ the weight, summed in f32.
void product(device::Stream& stream, const device::Buffer& x, const Weight& weight, const device::Buffer& y,
             int64_t rows);

/// y (outputs) (+)= the operand of one row (kernels/matvec/matvec.h) @ the weight, which lies as OutIn.
/// factor: the norm's weight, or up; empty for a plain x.
void product_of_row(device::Stream& stream, kernels::MatVecOperand operand, const device::Buffer& x,
                    const device::Buffer& factor, const Weight& weight, const device::Buffer& y,
                    kernels::Accumulate accumulate, float eps = 0);

/// Products that read the same X. One row of X takes `joined` where it is there: one launch, of which part i has the outputs from
/// first_output[i] on; more rows take the parts.
struct JoinedWeights {
  std::vector<Weight> parts;
  Weight joined;                      // empty values: none
  std::vector<int64_t> first_output;  // of each part; multiples of 64, so that a kernel can bind the part of Y
};

/// The format in which a weight with rows of `inputs` is kept when `wanted` is asked for: Q8_0 needs whole blocks, else F16 takes its place.
WeightFormat fitting_format(WeightFormat wanted, int64_t inputs);

/// Bytes of `outputs` rows, filled up to whole words.
int64_t weight_bytes(WeightFormat format, int64_t outputs, int64_t inputs);

/// values: (outputs, inputs), rounded to nearest in the format.
Weight upload_weight(device::Stream& stream, std::span<const float> values, int64_t outputs, int64_t inputs,
                     WeightFormat format);

/// parts: each (outputs, inputs) of the same inputs, in one buffer.
JoinedWeights upload_joined(device::Stream& stream, std::span<const std::vector<float>> parts, int64_t inputs,
                            WeightFormat format);

}  // namespace athanor::generate
