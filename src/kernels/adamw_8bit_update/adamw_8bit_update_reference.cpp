// adamw_8bit_update as a plain loop in double, and the slabs it is tried on.
//
// A moment that lies half way between two codes may be coded as either, and the next step then begins from another number. So every step
// is judged by itself: the loop begins it with what the device holds, decoded; the new weights and scales must be right to f32's rounding,
// and each new code must stand for a value as near to the loop's new moment as any code does.
#include "kernels/adamw_8bit_update/adamw_8bit_update_reference.h"

#include "kernels/adamw_8bit_update/dynamic_code.h"
#include "kernels/adamw_update/adamw_update_reference.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16.h"
#include "kernels/fp32_to_fp16/fp32_to_fp16_reference.h"

#include <algorithm>
#include <cmath>

namespace athanor::kernels {

namespace {

const std::array<float, 256>& code_values(size_t which) {
  static const std::array<std::array<float, 256>, 2> both = {m_code_values(), v_code_values()};
  return both[which];
}

uint32_t code_at(const std::vector<uint32_t>& codes, size_t i) { return codes[i / 4] >> (i % 4 * 8) & 0xffU; }

/// body(segment, first element, end, block) for every block of every segment.
template <typename Body>
void for_each_block(const std::vector<Segment>& segments, Body body) {
  size_t block = 0;
  for (const Segment& segment : segments) {
    for (size_t first = segment.begin; first < segment.end; first += kAdamw8bitBlock) {
      body(first, std::min<size_t>(first + kAdamw8bitBlock, segment.end), block++);
    }
  }
}

}  // namespace

size_t nearest_code_reference(const std::array<float, 256>& values, double x, size_t least) {
  size_t nearest = least;
  for (size_t i = least; i < values.size(); ++i) {
    if (std::abs(values[i] - x) < std::abs(values[nearest] - x)) nearest = i;
  }
  return nearest;
}

std::vector<double> dequantized_reference(const std::vector<uint32_t>& codes, const std::vector<float>& scales,
                                          size_t which, const std::vector<Segment>& segments, int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  for_each_block(segments, [&](size_t first, size_t end, size_t block) {
    for (size_t i = first; i < end; ++i) {
      values[i] = static_cast<double>(code_values(which)[code_at(codes, i)]) * scales[2 * block + which];
    }
  });
  return values;
}

namespace {

struct Slab {
  int64_t count;
  std::vector<Segment> segments;
  float clip_scale;
  float gradient_scale;
  bool has_mirror;
  bool in_doctor;
};

// One tensor of every size; tensors that end within a block, beside blocks of others; lengths that are no multiple of four, with and
// without the mirror; tiny gradients; a small model's.
const std::vector<Slab> kSlabs = {
    {1, {{0, 1, 0.1F}}, 1, 1, true, false},
    {3, {{0, 3, 0}}, 1, 1, false, false},
    {5, {{0, 5, 0.1F}}, 1, 1, true, false},
    {63, {{0, 63, 0.1F}}, 1, 1, false, false},
    {65, {{0, 65, 0.1F}}, 0.5F, 1, true, false},
    {257, {{0, 257, 0}}, 1, 1, false, false},
    {640, {{64, 101, 0.1F}, {128, 257, 0}, {320, 384, 0.2F}, {384, 640, 0.1F}}, 0.25F, 1, true, true},
    {704, {{0, 600, 0.1F}, {640, 704, 0}}, 1, 1e-6F, false, true},
    {3 * 64 + 5, {{64, 128, 0.1F}, {128, 190, 0}}, 1, 1, true, false},
    {4164, {{0, 2049, 0.1F}, {2112, 4164, 0}}, 1, 1, false, true},
    {1000 * 64, {{0, 40001, 0.1F}, {40064, 63999, 0}}, 0.1F, 1, false, false},
};

/// What a device holds of the moments.
struct Held {
  std::vector<uint32_t> codes[2];  // m, v
  std::vector<float> scales;
};

Held download(device::Stream& stream, const Adamw8bitUpdate& args) {
  return {{download_words(stream, args.m_codes), download_words(stream, args.v_codes)},
          download_values(stream, args.scales)};
}

/// Gradients whose magnitudes span seven decades within a block, so that every decade of the code is used.
std::vector<float> wide_gradients(int64_t count, uint32_t seed, float scale) {
  std::vector<float> gradients = test_values(count, seed, scale);
  for (size_t i = 0; i < gradients.size(); ++i) {
    gradients[i] *= std::pow(10.0F, -static_cast<float>(i * 7 % 8));
  }
  return gradients;
}

/// How far each new code is from being the nearest, and each scale from the largest moment, as parts of `terms`: the magnitudes whose sum
/// the new moment is, by which f32 rounds it. Three roundings make the moment, three more its place among the cells.
void compare_moments(CaseResult& result, const Held& got, size_t which, const std::vector<double>& want,
                     const std::vector<double>& terms, const std::vector<Segment>& segments) {
  const std::array<float, 256>& values = code_values(which);
  std::vector<float> too_far;
  std::vector<float> scale_errors;
  for_each_block(segments, [&](size_t first, size_t end, size_t block) {
    size_t top = first;
    for (size_t i = first; i < end; ++i) top = std::abs(want[i]) > std::abs(want[top]) ? i : top;
    const double scale = got.scales[2 * block + which];
    scale_errors.push_back(static_cast<float>((scale - std::abs(want[top])) / terms[top]));
    for (size_t i = first; i < end; ++i) {
      const size_t least = which == 1 && want[i] > 0 ? 1 : 0;  // a v above zero has no code of zero
      const double nearest = values[nearest_code_reference(values, want[i] / scale, least)] * scale;
      const double coded = values[code_at(got.codes[which], i)] * scale;
      const bool lost = least == 1 && coded == 0;
      too_far.push_back(
          lost ? INFINITY : static_cast<float>((std::abs(coded - want[i]) - std::abs(nearest - want[i])) / terms[i]));
    }
  });
  const std::string name = which == 0 ? "m" : "v";
  compare(result, name + " codes", too_far, std::vector<double>(too_far.size(), 0.0), allowed_f32(6), 1);
  compare(result, name + " scales", scale_errors, std::vector<double>(scale_errors.size(), 0.0), allowed_f32(3), 1);
}

/// Magnitudes whose sums the new moments are.
AdamwState terms_of(const AdamwState& state, const std::vector<double>& gradients, const AdamwSettings& settings,
                    double clip_scale) {
  AdamwState terms = state;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradients[i] * clip_scale;
    terms.m[i] = settings.beta1 * std::abs(state.m[i]) + (1 - settings.beta1) * std::abs(g);
    terms.v[i] = settings.beta2 * state.v[i] + (1 - settings.beta2) * g * g;
  }
  return terms;
}

Adamw8bitUpdate make_args(device::Stream& stream, const Slab& slab, const std::vector<uint32_t>& mirror) {
  Adamw8bitUpdate args;
  args.count = slab.count;
  args.weights = upload_values(stream, test_values(slab.count, 1));
  args.blocks = upload_8bit_blocks(stream, slab.segments);
  const std::vector<float> zeros(static_cast<size_t>(args.blocks.count * 2), 0.0F);
  args.m_codes = poisoned(stream, code_words(slab.count));  // any code times a scale of zero is zero
  args.v_codes = poisoned(stream, code_words(slab.count));
  args.scales = upload_values(stream, zeros);
  args.stats = upload_values(stream, std::vector<float>{1, slab.clip_scale, 0, 0});
  if (slab.has_mirror) args.mirror = upload_values(stream, mirror);
  return args;
}

void judge_step(device::Stream& stream, CaseResult& result, Adamw8bitUpdate& args, const Slab& slab, int t) {
  const AdamwSettings settings;
  const Held held = download(stream, args);
  AdamwState want{to_double(download_values(stream, args.weights)),
                  dequantized_reference(held.codes[0], held.scales, 0, slab.segments, slab.count),
                  dequantized_reference(held.codes[1], held.scales, 1, slab.segments, slab.count)};
  const std::vector<float> gradients = wide_gradients(slab.count, static_cast<uint32_t>(10 + t), slab.gradient_scale);
  const AdamwState terms = terms_of(want, to_double(gradients), settings, slab.clip_scale);
  static_cast<AdamwStep&>(args) = adamw_step(settings, t);
  args.gradients = upload_values(stream, gradients);
  adamw_8bit_update(stream, args);
  adamw_update_reference(want, to_double(gradients), slab.segments, settings, slab.clip_scale, t);
  compare(result, "weights", download_values(stream, args.weights), want.weights, allowed_f32(4));
  const Held got = download(stream, args);
  compare_moments(result, got, 0, want.m, terms.m, slab.segments);
  compare_moments(result, got, 1, want.v, terms.v, slab.segments);
}

CaseResult run_case(device::Stream& stream, const Slab& slab) {
  const std::vector<uint32_t> before(static_cast<size_t>(half_words(slab.count)), 0x7bcdfabcU);
  Adamw8bitUpdate args = make_args(stream, slab, before);
  CaseResult result;
  for (int t = 1; t <= 3; ++t) judge_step(stream, result, args, slab, t);
  if (!slab.has_mirror) return result;
  const std::vector<uint32_t> got = download_words(stream, args.mirror);
  const std::vector<uint32_t> want = mirror_reference(before, download_values(stream, args.weights), slab.segments);
  for (size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) return {1, 0, fmt::format("mirror[{}]: {:#010x} instead of {:#010x}", i, got[i], want[i])};
  }
  return result;
}

}  // namespace

std::vector<KernelCase> adamw_8bit_update_cases() {
  std::vector<KernelCase> cases;
  for (const Slab& slab : kSlabs) {
    cases.push_back({fmt::format("three steps, {} elements, {} tensors, gradients of {}{}", slab.count,
                                 slab.segments.size(), slab.gradient_scale, slab.has_mirror ? ", mirror" : ""),
                     slab.in_doctor, [slab](device::Stream& stream) { return run_case(stream, slab); }});
  }
  return cases;
}

}  // namespace athanor::kernels
