// The door of attention_decode: checks of shapes, choice of device, and its entry in the table of kernels.
#include "kernels/attention_decode/attention_decode.h"

#include "kernels/attention_decode/attention_decode_internal.h"
#include "kernels/attention_decode/attention_decode_reference.h"
#include "kernels/kernel_info.h"

namespace athanor::kernels {

void attention_decode(Stream& stream, const AttentionDecode& args) {
  constexpr std::string_view kKernel = "attention_decode";
  check_heads(kKernel, args.heads, args.kv_heads, args.head_dim);
  check(args.rows > 0 && args.position >= 0, "{}: {} rows at position {}; pass at least one row, at 0 or later",
        kKernel, args.rows, args.position);
  check(args.position + args.rows <= args.capacity, "{}: rows {} to {} do not fit a cache of {}; make the cache longer",
        kKernel, args.position, args.position + args.rows - 1, args.capacity);
  check_size(kKernel, "q", args.q, args.rows * args.heads * args.head_dim);
  check_size(kKernel, "k_cache", args.k_cache, args.capacity * args.kv_heads * args.head_dim);
  check_size(kKernel, "v_cache", args.v_cache, args.capacity * args.kv_heads * args.head_dim);
  check_size(kKernel, "out", args.out, args.rows * args.heads * args.head_dim);
  const double seen = static_cast<double>(args.position) + 0.5 * static_cast<double>(args.rows + 1);
  const device::KernelCost cost{4 * seen * static_cast<double>(args.rows * args.heads * args.head_dim),
                                8.0 * static_cast<double>((args.position + args.rows) * args.kv_heads * args.head_dim)};
  launch(
      stream, kKernel, cost, [&](auto& cpu) { attention_decode_cpu(cpu, args); },
      [&](auto& webgpu) { attention_decode_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> attention_decode_kernels() {
  return {{"attention_decode", "attention of new tokens over a key/value cache", attention_decode_cases()}};
}

}  // namespace athanor::kernels
