// Rounding on the host, once when a model is opened.
#include "generate/weight.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/fp32_to_fp16/half.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_quantized/matmul_quantized.h"

namespace athanor::generate {

namespace {

constexpr int64_t kBlockValues = 32;
constexpr int64_t kBlockBytes = 34;

uint16_t half_of(float value) { return static_cast<uint16_t>(kernels::half_bits(std::bit_cast<uint32_t>(value))); }

/// One block as ggml's reference rounds it: the largest magnitude becomes 127.
void encode_block(const float* values, std::byte* to) {
  float largest = 0;
  for (int64_t i = 0; i < kBlockValues; ++i) largest = std::max(largest, std::abs(values[i]));
  const float scale = largest / 127;
  const float inverse = scale > 0 ? 1 / scale : 0;
  const uint16_t half = half_of(scale);
  std::memcpy(to, &half, sizeof(half));
  for (int64_t i = 0; i < kBlockValues; ++i) {
    to[2 + i] = static_cast<std::byte>(static_cast<int8_t>(std::round(values[i] * inverse)));
  }
}

void encode(std::span<const float> values, WeightFormat format, std::byte* to) {
  switch (format) {
    case WeightFormat::F32:
      std::memcpy(to, values.data(), values.size_bytes());
      return;
    case WeightFormat::F16:
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = half_of(values[i]);
        std::memcpy(to + 2 * i, &half, sizeof(half));
      }
      return;
    case WeightFormat::Q8_0:
      for (size_t block = 0; block < values.size() / kBlockValues; ++block) {
        encode_block(values.data() + block * kBlockValues, to + block * kBlockBytes);
      }
  }
}

/// Bytes of so many rows one behind the other.
int64_t exact_bytes(WeightFormat format, int64_t outputs, int64_t inputs) {
  if (format == WeightFormat::Q8_0) return outputs * (inputs / kBlockValues) * kBlockBytes;
  return outputs * inputs * (format == WeightFormat::F16 ? 2 : 4);
}

device::Buffer upload_bytes(device::Stream& stream, std::span<const std::byte> bytes) {
  const device::Buffer buffer = stream.device().allocate(static_cast<int64_t>(bytes.size()), "weights");
  stream.upload(buffer, bytes);
  return buffer;
}

/// How many rows lie together so that the next ones start where a kernel can bind them, in W and in Y.
int64_t rows_together(WeightFormat format, int64_t inputs) {
  constexpr int64_t kRows = 64;  // 256 bytes of Y
  return exact_bytes(format, kRows, inputs) % device::kBufferAlignment == 0 ? kRows : 2 * kRows;
}

}  // namespace

std::string_view name_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::F32:
      return "f32";
    case WeightFormat::F16:
      return "f16";
    case WeightFormat::Q8_0:
      break;
  }
  return "q8_0";
}

std::optional<WeightFormat> weight_format_of(std::string_view name) {
  for (const WeightFormat format : {WeightFormat::F32, WeightFormat::F16, WeightFormat::Q8_0}) {
    if (name_of(format) == name) return format;
  }
  return std::nullopt;
}

void product(device::Stream& stream, const device::Buffer& x, const Weight& weight, const device::Buffer& y,
             int64_t rows) {
  if (weight.format == WeightFormat::Q8_0) {
    kernels::MatMulQuantized args;
    args.x = x;
    args.w = weight.values;
    args.y = y;
    args.m = rows;
    args.n = weight.outputs;
    args.k = weight.inputs;
    args.format = kernels::WeightFormat::Q8_0;
    kernels::matmul_q8(stream, args);
    return;
  }
  kernels::MatMul args;
  args.x = x;
  args.w = weight.values;
  args.y = y;
  args.m = rows;
  args.n = weight.outputs;
  args.k = weight.inputs;
  args.w_type = weight.format == WeightFormat::F16 ? DType::F16 : DType::F32;
  weight.layout == Weight::Layout::OutIn ? kernels::matmul_t(stream, args) : kernels::matmul(stream, args);
}

void product_of_row(device::Stream& stream, kernels::MatVecOperand operand, const device::Buffer& x,
                    const device::Buffer& factor, const Weight& weight, const device::Buffer& y,
                    kernels::Accumulate accumulate, float eps) {
  kernels::MatVec args;
  args.x = x;
  args.factor = factor;
  args.w = weight.values;
  args.y = y;
  args.n = weight.outputs;
  args.k = weight.inputs;
  args.operand = operand;
  args.weight = weight.format == WeightFormat::F32   ? kernels::MatVecWeight::F32
                : weight.format == WeightFormat::F16 ? kernels::MatVecWeight::F16
                                                     : kernels::MatVecWeight::Q8_0;
  args.accumulate = accumulate;
  args.eps = eps;
  kernels::matvec(stream, args);
}

WeightFormat fitting_format(WeightFormat wanted, int64_t inputs) {
  return wanted == WeightFormat::Q8_0 && inputs % kBlockValues != 0 ? WeightFormat::F16 : wanted;
}

int64_t weight_bytes(WeightFormat format, int64_t outputs, int64_t inputs) {
  return (exact_bytes(format, outputs, inputs) + 3) / 4 * 4;
}

Weight upload_weight(device::Stream& stream, std::span<const float> values, int64_t outputs, int64_t inputs,
                     WeightFormat format) {
  std::vector<std::byte> bytes(static_cast<size_t>(weight_bytes(format, outputs, inputs)));
  encode(values, format, bytes.data());
  return {upload_bytes(stream, bytes), format, Weight::Layout::OutIn, inputs, outputs};
}

JoinedWeights upload_joined(device::Stream& stream, std::span<const std::vector<float>> parts, int64_t inputs,
                            WeightFormat format) {
  const int64_t together = rows_together(format, inputs);
  JoinedWeights weights;
  int64_t rows = 0;
  for (const std::vector<float>& part : parts) {
    weights.first_output.push_back(rows);
    const int64_t outputs = static_cast<int64_t>(part.size()) / inputs;
    rows += (outputs + together - 1) / together * together;
  }
  // Rows between the parts are zeros; so are the outputs that nobody reads.
  std::vector<std::byte> bytes(static_cast<size_t>(exact_bytes(format, rows, inputs)));
  for (size_t i = 0; i < parts.size(); ++i) {
    encode(parts[i], format, bytes.data() + exact_bytes(format, weights.first_output[i], inputs));
  }
  weights.joined = {upload_bytes(stream, bytes), format, Weight::Layout::OutIn, inputs, rows};
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t outputs = static_cast<int64_t>(parts[i].size()) / inputs;
    weights.parts.push_back({weights.joined.values.slice(exact_bytes(format, weights.first_output[i], inputs),
                                                         weight_bytes(format, outputs, inputs)),
                             format, Weight::Layout::OutIn, inputs, outputs});
  }
  return weights;
}

}  // namespace athanor::generate
