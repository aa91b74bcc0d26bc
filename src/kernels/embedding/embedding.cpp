// The doors of embedding: checks of sizes and ids, the order of positions, choice of device, and entries in the table of kernels.
#include "kernels/embedding/embedding.h"

#include "base/random.h"
#include "kernels/bench_values.h"
#include "kernels/embedding/embedding_internal.h"
#include "kernels/embedding/embedding_reference.h"
#include "kernels/kernel_info.h"
#include "kernels/launch.h"

#include <algorithm>

namespace athanor::kernels {

namespace {

device::KernelCost cost_of(const Embedding& args) { return {0, 8.0 * args.rows * args.columns + 4.0 * args.rows}; }

// With Accumulate::Yes only the rows of ids that occur move, at most as many as there are positions.
device::KernelCost cost_of(const EmbeddingBackward& args) {
  const double read = 4.0 * args.rows * args.columns;
  const double table = 4.0 * args.vocabulary * args.columns;
  return {1.0 * args.rows * args.columns,
          read + (args.accumulate == Accumulate::Yes ? 2 * std::min(read, table) : table)};
}

constexpr int64_t kBenchColumns = 1024;

/// As many ids as rows of `bytes` take, from a vocabulary of half as many; squared, so that low ids are frequent, as in text.
std::vector<uint32_t> bench_ids(int64_t rows, int64_t vocabulary) {
  Random random(1, RandomStream::Test);
  std::vector<uint32_t> ids(static_cast<size_t>(rows));
  for (uint32_t& id : ids) {
    const double place = random.uniform();
    id = static_cast<uint32_t>(place * place * static_cast<double>(vocabulary));
  }
  return ids;
}

KernelBench bench_embedding(Stream& stream, int64_t bytes) {
  const int64_t rows = bytes / 4 / kBenchColumns;
  const int64_t vocabulary = rows / 2;
  const Embedding args{bench_values(stream, vocabulary * kBenchColumns, 1),
                       upload_values(stream, bench_ids(rows, vocabulary)),
                       stream.device().allocate(bytes, "bench out"),
                       rows,
                       kBenchColumns,
                       vocabulary};
  return {fmt::format("rows {}, columns {}, vocabulary {}", rows, kBenchColumns, vocabulary), cost_of(args),
          [&stream, args] { embedding(stream, args); }};
}

KernelBench bench_embedding_backward(Stream& stream, int64_t bytes) {
  const int64_t rows = bytes / 4 / kBenchColumns;
  const int64_t vocabulary = rows / 2;
  const EmbeddingBackward args{bench_values(stream, rows * kBenchColumns, 1),
                               upload_values(stream, embedding_order(bench_ids(rows, vocabulary), vocabulary)),
                               stream.device().allocate(bytes / 2, "bench d_table"),
                               rows,
                               kBenchColumns,
                               vocabulary};
  return {fmt::format("rows {}, columns {}, vocabulary {}", rows, kBenchColumns, vocabulary), cost_of(args),
          [&stream, args] { embedding_backward(stream, args); }};
}

}  // namespace

void check_ids(std::span<const uint32_t> ids, int64_t vocabulary) {
  for (size_t i = 0; i < ids.size(); ++i) {
    check(ids[i] < vocabulary,
          "embedding: the token at position {} is {} but the vocabulary has {} entries; encode with the model's own "
          "tokenizer",
          i, ids[i], vocabulary);
  }
}

std::vector<uint32_t> embedding_order(std::span<const uint32_t> ids, int64_t vocabulary) {
  check_ids(ids, vocabulary);
  to_u32(static_cast<int64_t>(ids.size()), "embedding_order");
  const auto starts = static_cast<size_t>(vocabulary) + 1;
  std::vector<uint32_t> order(starts + ids.size());
  for (uint32_t id : ids) ++order[id + 1];
  for (size_t v = 1; v < starts; ++v) order[v] += order[v - 1];
  std::vector<uint32_t> next(order.begin(), order.begin() + vocabulary);
  for (size_t i = 0; i < ids.size(); ++i) order[starts + next[ids[i]]++] = static_cast<uint32_t>(i);
  return order;
}

void embedding(Stream& stream, const Embedding& args) {
  check_size("embedding", "table", args.table, args.vocabulary * args.columns);
  check_size("embedding", "ids", args.ids, args.rows);
  check_size("embedding", "out", args.out, args.rows * args.columns);
  if (args.rows == 0 || args.columns == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "embedding", cost, [&](auto& cpu) { embedding_cpu(cpu, args); },
      [&](auto& webgpu) { embedding_webgpu(webgpu, args, cost); });
}

void embedding_backward(Stream& stream, const EmbeddingBackward& args) {
  check_size("embedding_backward", "d_out", args.d_out, args.rows * args.columns);
  check_size("embedding_backward", "order", args.order, args.vocabulary + 1 + args.rows);
  check_size("embedding_backward", "d_table", args.d_table, args.vocabulary * args.columns);
  if (args.vocabulary == 0 || args.columns == 0) return;
  const device::KernelCost cost = cost_of(args);
  launch(
      stream, "embedding_backward", cost, [&](auto& cpu) { embedding_backward_cpu(cpu, args); },
      [&](auto& webgpu) { embedding_backward_webgpu(webgpu, args, cost); });
}

std::vector<KernelInfo> embedding_kernels() {
  return {
      {"embedding", "rows of a table chosen by token ids", embedding_cases(), bench_embedding},
      {"embedding_backward", "gradient of the table: for each id the sum over its positions",
       embedding_backward_cases(), bench_embedding_backward},
  };
}

}  // namespace athanor::kernels
