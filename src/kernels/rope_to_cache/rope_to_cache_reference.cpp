// rope_to_cache as plain loops in double, and the sizes it is tried at.
#include "kernels/rope_to_cache/rope_to_cache_reference.h"

#include "kernels/rope/rope.h"
#include "kernels/rope/rope_reference.h"
#include "kernels/rope_to_cache/rope_to_cache.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

struct Sizes {
  int64_t rows;
  int64_t position;
  int64_t capacity;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_dim;
};

struct Case {
  Sizes sizes;
  bool in_doctor;
};

// One token and several, at the beginning, in the middle and at the end of a cache; halves of whole vec4 and others; a real model's heads.
const std::vector<Case> kCases = {
    {{1, 0, 1, 1, 1, 2}, false},   {{1, 6, 9, 3, 1, 6}, true},       {{1, 300, 512, 9, 3, 64}, true},
    {{5, 3, 8, 4, 2, 10}, true},   {{63, 0, 65, 2, 2, 8}, false},    {{65, 1, 100, 6, 3, 128}, true},
    {{3, 61, 64, 4, 4, 4}, false}, {{257, 0, 257, 4, 1, 10}, false},
};

/// The cache with the new rows in their places.
std::vector<double> with_rows(const std::vector<float>& cache, const std::vector<double>& rows, int64_t first) {
  std::vector<double> whole = to_double(cache);
  std::copy(rows.begin(), rows.end(), whole.begin() + first);
  return whole;
}

CaseResult run_case(device::Stream& stream, const Sizes& sizes) {
  const int64_t q_count = sizes.rows * sizes.heads * sizes.head_dim;
  const int64_t kv_columns = sizes.kv_heads * sizes.head_dim;
  const std::vector<float> q = test_values(q_count, 1);
  const std::vector<float> k = test_values(sizes.rows * kv_columns, 2);
  const std::vector<float> v = test_values(sizes.rows * kv_columns, 3);
  const std::vector<float> k_cache = test_values(sizes.capacity * kv_columns, 4);
  const std::vector<float> v_cache = test_values(sizes.capacity * kv_columns, 5);
  RopeToCache args;
  args.q = upload_values(stream, q);
  args.k = upload_values(stream, k);
  args.v = upload_values(stream, v);
  args.table = upload_values(stream, rope_table(sizes.position + sizes.rows, sizes.head_dim, 10000));
  args.rotated = poisoned(stream, q_count);
  args.k_cache = upload_values(stream, k_cache);
  args.v_cache = upload_values(stream, v_cache);
  args.rows = sizes.rows;
  args.heads = sizes.heads;
  args.kv_heads = sizes.kv_heads;
  args.head_dim = sizes.head_dim;
  args.position = sizes.position;
  args.capacity = sizes.capacity;
  rope_to_cache(stream, args);

  const auto rotated = [&](const std::vector<float>& x, int64_t heads) {
    return rope_reference(to_double(x), {sizes.rows, heads, sizes.head_dim, sizes.rows, sizes.position}, 1);
  };
  const int64_t first = sizes.position * kv_columns;
  CaseResult result;
  compare(result, "rotated", download_values(stream, args.rotated), rotated(q, sizes.heads), allowed_f32(2));
  compare(result, "k_cache", download_values(stream, args.k_cache),
          with_rows(k_cache, rotated(k, sizes.kv_heads), first), allowed_f32(2));
  compare(result, "v_cache", download_values(stream, args.v_cache), with_rows(v_cache, to_double(v), first), 0);
  return result;
}

}  // namespace

std::vector<KernelCase> rope_to_cache_cases() {
  std::vector<KernelCase> list;
  for (const Case& one : kCases) {
    const Sizes& sizes = one.sizes;
    list.push_back({fmt::format("rows {} at {} of {}, heads {}, key/value heads {}, head width {}", sizes.rows,
                                sizes.position, sizes.capacity, sizes.heads, sizes.kv_heads, sizes.head_dim),
                    one.in_doctor, [sizes](device::Stream& stream) { return run_case(stream, sizes); }});
  }
  return list;
}

}  // namespace athanor::kernels
