// The door of copy: checks of strides, joining of dimensions, choice of device, and its entry in the table of kernels.
#include "kernels/copy/copy.h"

#include "kernels/bench_values.h"
#include "kernels/copy/copy_internal.h"
#include "kernels/copy/copy_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

constexpr size_t kRank = 4;

void check_range(std::string_view operand, const Buffer& buffer, const std::array<int64_t, 4>& sizes,
                 const std::array<int64_t, 4>& strides, int64_t offset) {
  check(static_cast<bool>(buffer), "copy: {} is missing; pass a buffer", operand);
  int64_t last = offset;
  for (size_t i = 0; i < kRank; ++i) {
    check(strides[i] >= 0, "copy: {} has a stride of {}; pass 0 or more", operand, strides[i]);
    last += (sizes[i] - 1) * strides[i];
  }
  check(offset >= 0 && last < buffer.size_bytes() / 4,
        "copy: elements {} to {} of {} are asked for but it has {}; check sizes, strides and offset", offset, last,
        operand, buffer.size_bytes() / 4);
}

void check_places(const Copy& args) {
  std::array<size_t, kRank> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return args.out_strides[a] < args.out_strides[b]; });
  int64_t span = 0;  // from the first to the last element of the dimensions so far
  for (size_t i : order) {
    if (args.sizes[i] == 1) continue;
    check(
        args.out_strides[i] > span,
        "copy: out has a stride of {} where the smaller ones span {} elements, so that two may lie at one place; pass "
        "a stride of at least {}",
        args.out_strides[i], span + 1, span + 1);
    span += (args.sizes[i] - 1) * args.out_strides[i];
  }
}

/// Dimensions of one element go, and neighbours that both sides step through as through one are joined, so that a contiguous tensor of
/// any rank is a row.
Copy joined(const Copy& args) {
  Copy result = args;
  result.sizes = {1, 1, 1, 1};
  result.source_strides = result.out_strides = {};
  size_t at = kRank;  // the dimension filled last
  for (size_t i = kRank; i-- > 0;) {
    if (args.sizes[i] == 1) continue;
    if (at < kRank && args.source_strides[i] == result.sizes[at] * result.source_strides[at] &&
        args.out_strides[i] == result.sizes[at] * result.out_strides[at]) {
      result.sizes[at] *= args.sizes[i];
      continue;
    }
    --at;
    result.sizes[at] = args.sizes[i];
    result.source_strides[at] = args.source_strides[i];
    result.out_strides[at] = args.out_strides[i];
  }
  if (at == kRank) result.source_strides[kRank - 1] = result.out_strides[kRank - 1] = 1;  // one element
  return result;
}

KernelBench bench_copy(Stream& stream, int64_t bytes) {
  const int64_t count = bytes / 4;
  const Copy args =
      contiguous_copy(bench_values(stream, count, 1), stream.device().allocate(bytes, "bench out"), count);
  return {
      fmt::format("count {}", count), {0, 8.0 * static_cast<double>(count)}, [&stream, args] { copy(stream, args); }};
}

}  // namespace

void copy(Stream& stream, const Copy& args) {
  int64_t count = 1;
  for (int64_t size : args.sizes) {
    check(size >= 0, "copy: a size of {}; pass 0 or more", size);
    count *= size;
  }
  if (count == 0) return;
  check_range("source", args.source, args.sizes, args.source_strides, args.source_offset);
  check_range("out", args.out, args.sizes, args.out_strides, args.out_offset);
  check_places(args);
  const Copy simple = joined(args);
  const device::KernelCost cost{0, 8.0 * static_cast<double>(count)};
  launch(
      stream, "copy", cost, [&](auto& cpu) { copy_cpu(cpu, simple); },
      [&](auto& webgpu) { copy_webgpu(webgpu, simple, cost); });
}

Copy contiguous_copy(const Buffer& source, const Buffer& out, int64_t count) {
  return {source, out, {1, 1, 1, count}, {count, count, count, 1}, {count, count, count, 1}};
}

std::vector<KernelInfo> copy_kernels() {
  return {{"copy", "a strided tensor of up to four dimensions, word by word", copy_cases(), bench_copy}};
}

}  // namespace athanor::kernels
