// The casts by the definition of the formats, in double, and the values they are tried at: every half, every tie between two, what
// lies on either side of it, subnormals, infinities and NaN.
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"

#include "kernels/fp32_to_fp16/fp32_to_fp16.h"

#include <bit>
#include <cmath>

namespace athanor::kernels {

namespace {

constexpr uint32_t kHalves = 65536;

/// Of a half that is no NaN: (-1)^sign * 2^(exponent - 15) * (1 + mantissa / 1024), or 2^-14 * mantissa / 1024.
double value_of_half(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const double mantissa = half & 1023;
  const double magnitude = exponent == 31  ? INFINITY
                           : exponent == 0 ? std::ldexp(mantissa, -24)
                                           : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_nan(uint16_t half) { return (half & 0x7fff) > 0x7c00; }

}  // namespace

uint16_t fp32_to_fp16_reference(uint32_t bits) {
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t mantissa = bits & 0x7fffffU;
  if ((bits & 0x7f800000U) == 0x7f800000U && mantissa != 0) {
    const uint32_t payload = mantissa >> 13;
    return static_cast<uint16_t>(sign | 0x7c00U | (payload == 0 ? 0x200U : payload));
  }
  const double magnitude = std::abs(static_cast<double>(std::bit_cast<float>(bits)));
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00U);  // half way from 65,504 to 65,536
  const int exponent = magnitude < std::ldexp(1, -14) ? -14 : std::ilogb(magnitude);
  const double steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));  // 1024 to 2048; less for a subnormal
  return static_cast<uint16_t>(sign + (exponent + 14) * 1024 + static_cast<int>(steps));
}

uint32_t fp16_to_fp32_reference(uint16_t half) {
  if (is_nan(half)) return (half & 0x8000U) << 16 | 0x7f800000U | (half & 0x3ffU) << 13;
  return std::bit_cast<uint32_t>(static_cast<float>(value_of_half(half)));
}

std::vector<uint32_t> packed_halves(const std::vector<uint16_t>& halves) {
  std::vector<uint32_t> words((halves.size() + 1) / 2);
  for (size_t i = 0; i < halves.size(); ++i) words[i / 2] |= static_cast<uint32_t>(halves[i]) << (i % 2 * 16);
  return words;
}

std::vector<uint32_t> download_words(device::Stream& stream, const device::Buffer& buffer) {
  std::vector<uint32_t> words(static_cast<size_t>(buffer.size_bytes() / 4));
  stream.download(buffer, std::as_writable_bytes(std::span(words)));
  return words;
}

namespace {

/// Every word must be the same: the error is 1 when one is not.
CaseResult compare_words(const std::vector<uint32_t>& got, const std::vector<uint32_t>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) return {1, 0, fmt::format("out[{}]: {:#010x} instead of {:#010x}", i, got[i], want[i])};
  }
  return {0, 0, ""};
}

CaseResult run_to_half(device::Stream& stream, const std::vector<uint32_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  const Fp32ToFp16 args{upload_values(stream, values), poisoned(stream, half_words(count)), count};
  fp32_to_fp16(stream, args);
  std::vector<uint16_t> want;
  for (uint32_t bits : values) want.push_back(fp32_to_fp16_reference(bits));
  return compare_words(download_words(stream, args.out), packed_halves(want));
}

CaseResult run_to_float(device::Stream& stream, const std::vector<uint16_t>& halves) {
  const auto count = static_cast<int64_t>(halves.size());
  const Fp16ToFp32 args{upload_values(stream, packed_halves(halves)), poisoned(stream, count), count};
  fp16_to_fp32(stream, args);
  std::vector<uint32_t> want;
  for (uint16_t half : halves) want.push_back(fp16_to_fp32_reference(half));
  return compare_words(download_words(stream, args.out), want);
}

/// Of every step-th half that is finite: its own value, the point half way to the next one, and the f32 on either side of that point.
std::vector<uint32_t> halves_and_ties(uint32_t step) {
  std::vector<uint32_t> values;
  for (uint32_t half = 0; half < kHalves; half += step) {
    const uint32_t bits = fp16_to_fp32_reference(static_cast<uint16_t>(half));
    values.push_back(bits);
    if ((half & 0x7fffU) >= 0x7c00U) continue;
    const double here = value_of_half(static_cast<uint16_t>(half));
    // The point half way from the largest half to what would be the next one, 65,536, already rounds to infinity.
    const double next =
        (half & 0x7fffU) == 0x7bffU ? std::copysign(65536.0, here) : value_of_half(static_cast<uint16_t>(half + 1));
    const auto tie = std::bit_cast<uint32_t>(static_cast<float>((here + next) / 2));
    values.insert(values.end(), {tie - 1, tie, tie + 1});
  }
  return values;
}

/// f32 subnormals, the ends of the range, infinities and NaN of either sign, the ones whose upper bits are zero among them.
std::vector<uint32_t> special_values() {
  std::vector<uint32_t> values;
  for (uint32_t bits : {0x0U,        0x1U,        0x7fffffU,   0x800000U,   0x32ffffffU, 0x33000000U, 0x33000001U,
                        0x387fffffU, 0x477fe000U, 0x477fefffU, 0x477ff000U, 0x47800000U, 0x7f7fffffU, 0x7f800000U,
                        0x7f800001U, 0x7f801fffU, 0x7f802000U, 0x7fbfffffU, 0x7fc00000U, 0x7fffffffU}) {
    values.insert(values.end(), {bits, bits | 0x80000000U});
  }
  return values;
}

/// Bits of every kind, exponents from below the subnormal halves to beyond the largest.
std::vector<uint32_t> mixed_values(int64_t count) {
  const std::vector<uint32_t> special = special_values();
  std::vector<uint32_t> values;
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<uint32_t>(i);
    const uint32_t exponent = 95 + n * 7 % 50;
    values.push_back(i % 5 == 0 ? special[n / 5 % special.size()]
                                : (n % 2 << 31 | exponent << 23 | (n * 2654435761U & 0x7fffffU)));
  }
  return values;
}

std::vector<uint16_t> mixed_halves(int64_t count) {
  std::vector<uint16_t> halves;
  for (int64_t i = 0; i < count; ++i)
    halves.push_back(static_cast<uint16_t>(i * 40503 + 7));  // odd factor: all of them
  return halves;
}

// Below and above a thread's pair, a workgroup of 512 or 2048 values, with and without the vectors, and a real matrix (1024 x 768).
const std::vector<int64_t> kCounts = {1, 3, 4, 5, 63, 65, 257, 2006, 2047, 2052, 1024 * 768};

bool in_doctor(int64_t count) { return count <= 65 && count != 5; }

}  // namespace

std::vector<KernelCase> fp32_to_fp16_cases() {
  std::vector<KernelCase> cases;
  for (int64_t count : kCounts) {
    cases.push_back({fmt::format("count {}", count), in_doctor(count),
                     [count](device::Stream& stream) { return run_to_half(stream, mixed_values(count)); }});
  }
  cases.push_back({"subnormals, infinities, NaN", true,
                   [](device::Stream& stream) { return run_to_half(stream, special_values()); }});
  cases.push_back({"some halves, ties and their neighbours", true,
                   [](device::Stream& stream) { return run_to_half(stream, halves_and_ties(37)); }});
  cases.push_back({"all halves, ties and their neighbours", false,
                   [](device::Stream& stream) { return run_to_half(stream, halves_and_ties(1)); }});
  return cases;
}

std::vector<KernelCase> fp16_to_fp32_cases() {
  std::vector<KernelCase> cases;
  for (int64_t count : kCounts) {
    cases.push_back({fmt::format("count {}", count), in_doctor(count),
                     [count](device::Stream& stream) { return run_to_float(stream, mixed_halves(count)); }});
  }
  cases.push_back(
      {"all halves", true, [](device::Stream& stream) { return run_to_float(stream, mixed_halves(kHalves)); }});
  return cases;
}

}  // namespace athanor::kernels
