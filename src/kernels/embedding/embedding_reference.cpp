// embedding as plain loops in double, and the sizes it is tried at.
#include "kernels/embedding/embedding_reference.h"

#include "base/random.h"
#include "kernels/embedding/embedding.h"

namespace athanor::kernels {

std::vector<double> embedding_reference(const std::vector<double>& table, const std::vector<uint32_t>& ids,
                                        int64_t columns) {
  std::vector<double> out;
  for (uint32_t id : ids) {
    for (int64_t c = 0; c < columns; ++c) out.push_back(table[static_cast<size_t>(id * columns + c)]);
  }
  return out;
}

std::vector<double> embedding_backward_reference(const std::vector<double>& d_out, const std::vector<uint32_t>& ids,
                                                 int64_t columns, int64_t vocabulary) {
  std::vector<double> d_table(static_cast<size_t>(vocabulary * columns));
  for (size_t row = 0; row < ids.size(); ++row) {
    for (int64_t c = 0; c < columns; ++c) {
      d_table[static_cast<size_t>(ids[row] * columns + c)] +=
          d_out[row * static_cast<size_t>(columns) + static_cast<size_t>(c)];
    }
  }
  return d_table;
}

namespace {

struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t vocabulary;
  bool in_doctor;
};

// Below and above a workgroup, columns not divisible by four, more rows than ids and the reverse, and a real model's.
const std::vector<Sizes> kSizes = {{1, 1, 1, false},        {3, 5, 3, true},      {5, 4, 63, true},
                                   {63, 3, 5, true},        {65, 65, 257, false}, {257, 63, 65, false},
                                   {343, 257, 2006, false}, {65, 260, 2, true},   {1024, 256, 512, false}};

// Squared, so that low ids are frequent and some never come, as in text.
std::vector<uint32_t> test_ids(int64_t rows, int64_t vocabulary) {
  Random random(7, RandomStream::Test);
  std::vector<uint32_t> ids(static_cast<size_t>(rows));
  for (uint32_t& id : ids) {
    const double place = random.uniform();
    id = static_cast<uint32_t>(place * place * static_cast<double>(vocabulary));
  }
  ids.back() = static_cast<uint32_t>(vocabulary - 1);
  return ids;
}

std::string name_of(const Sizes& sizes) {
  return fmt::format("rows {}, columns {}, vocabulary {}", sizes.rows, sizes.columns, sizes.vocabulary);
}

CaseResult run_forward(device::Stream& stream, const Sizes& sizes) {
  const std::vector<float> table = test_values(sizes.vocabulary * sizes.columns, 1);
  const std::vector<uint32_t> ids = test_ids(sizes.rows, sizes.vocabulary);
  const Embedding args{upload_values(stream, table),
                       upload_values(stream, ids),
                       poisoned(stream, sizes.rows * sizes.columns),
                       sizes.rows,
                       sizes.columns,
                       sizes.vocabulary};
  embedding(stream, args);
  CaseResult result;
  compare(result, "out", download_values(stream, args.out), embedding_reference(to_double(table), ids, sizes.columns),
          allowed_f32(1));
  return result;
}

CaseResult run_backward(device::Stream& stream, const Sizes& sizes, Accumulate accumulate) {
  const std::vector<float> d_out = test_values(sizes.rows * sizes.columns, 1);
  const std::vector<uint32_t> ids = test_ids(sizes.rows, sizes.vocabulary);
  const std::vector<float> before = test_values(sizes.vocabulary * sizes.columns, 2);
  const EmbeddingBackward args{upload_values(stream, d_out),
                               upload_values(stream, embedding_order(ids, sizes.vocabulary)),
                               accumulate == Accumulate::Yes ? upload_values(stream, before)
                                                             : poisoned(stream, sizes.vocabulary * sizes.columns),
                               sizes.rows,
                               sizes.columns,
                               sizes.vocabulary,
                               accumulate};
  embedding_backward(stream, args);
  std::vector<double> want = embedding_backward_reference(to_double(d_out), ids, sizes.columns, sizes.vocabulary);
  for (size_t i = 0; accumulate == Accumulate::Yes && i < want.size(); ++i) want[i] += before[i];
  CaseResult result;
  compare(result, "d_table", download_values(stream, args.d_table), want, allowed_f32(sizes.rows));
  return result;
}

}  // namespace

std::vector<KernelCase> embedding_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back(
        {name_of(sizes), sizes.in_doctor, [sizes](device::Stream& stream) { return run_forward(stream, sizes); }});
  }
  return cases;
}

std::vector<KernelCase> embedding_backward_cases() {
  std::vector<KernelCase> cases;
  for (const Sizes& sizes : kSizes) {
    cases.push_back({name_of(sizes), sizes.in_doctor,
                     [sizes](device::Stream& stream) { return run_backward(stream, sizes, Accumulate::No); }});
  }
  for (const Sizes& sizes : {Sizes{65, 63, 257, true}, Sizes{65, 64, 257, true}}) {
    cases.push_back({name_of(sizes) + ", added", sizes.in_doctor,
                     [sizes](device::Stream& stream) { return run_backward(stream, sizes, Accumulate::Yes); }});
  }
  return cases;
}

}  // namespace athanor::kernels
