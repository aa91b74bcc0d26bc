// The matrix products as plain loops in double, and the sizes they are tried at.
#include "kernels/matmul/matmul_reference.h"

#include "kernels/matmul/matmul.h"

#include <cmath>

namespace athanor::kernels {

std::vector<double> matmul_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                     int64_t k) {
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t column = 0; column < n; ++column) y[row * n + column] += x[row * k + i] * w[i * n + column];
    }
  }
  return y;
}

std::vector<double> matmul_t_reference(const std::vector<double>& x, const std::vector<double>& w, int64_t m, int64_t n,
                                       int64_t k) {
  std::vector<double> y(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      for (int64_t i = 0; i < k; ++i) y[row * n + column] += x[row * k + i] * w[column * k + i];
    }
  }
  return y;
}

std::vector<double> matmul_at_reference(const std::vector<double>& x, const std::vector<double>& b, int64_t k,
                                        int64_t n, int64_t m) {
  std::vector<double> y(static_cast<size_t>(k * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t row = 0; row < k; ++row) {
      for (int64_t column = 0; column < n; ++column) y[row * n + column] += x[i * k + row] * b[i * n + column];
    }
  }
  return y;
}

std::vector<double> swiglu_hidden_reference(const std::vector<double>& gate, const std::vector<double>& up) {
  std::vector<double> hidden(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) hidden[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return hidden;
}

namespace {

/// Rows and columns of Y and the length of its sums.
struct Sizes {
  int64_t rows;
  int64_t columns;
  int64_t sum;
  bool in_doctor;
};

// Few rows (1 to 8) and many; below and above a tile of 64 and a step of 16; rows of whole vectors of four and others;
// a long sum over a small result, which is cut into parts; a real layer.
const std::vector<Sizes> kSizes = {
    {1, 1, 1, false},      {1, 257, 343, true},   {1, 256, 1024, false}, {3, 5, 63, false},     {8, 64, 256, true},
    {9, 3, 17, false},     {63, 65, 257, true},   {64, 64, 16, false},   {65, 68, 64, true},    {257, 343, 5, false},
    {65, 61, 2006, false}, {64, 96, 2048, false}, {600, 72, 12, true},   {256, 512, 256, false}};

// One operand in vectors, the other not, in all ways. Only for products that assign: each way is a shader of its own,
// whose compilation takes longer than the case (1.5 s on software Vulkan).
const std::vector<Sizes> kMixedSizes = {{5, 65, 4, false}, {68, 63, 20, false}, {132, 72, 65, false}};

struct Operands {
  std::vector<float> x;  // X, or the gate
  std::vector<float> up;
  std::vector<float> w;  // W or B
  std::vector<float> before;
};

bool is_swiglu(Product product) { return product == Product::Swiglu || product == Product::AtSwiglu; }

Operands make_operands(Product product, const Sizes& sizes, float gate_scale) {
  Operands operands;
  operands.x = test_values(sizes.rows * sizes.sum, 1, is_swiglu(product) ? gate_scale : 1.0F);
  if (is_swiglu(product)) operands.up = test_values(sizes.rows * sizes.sum, 2);
  operands.w = test_values(sizes.columns * sizes.sum, 3);
  operands.before = test_values(sizes.rows * sizes.columns, 4, 10.0F);
  return operands;
}

std::vector<double> expected(Product product, Accumulate accumulate, const Sizes& sizes, const Operands& operands) {
  std::vector<double> x = to_double(operands.x);
  if (is_swiglu(product)) x = swiglu_hidden_reference(x, to_double(operands.up));
  const std::vector<double> w = to_double(operands.w);
  std::vector<double> y;
  switch (product) {
    case Product::Plain:
    case Product::Swiglu:
      y = matmul_reference(x, w, sizes.rows, sizes.columns, sizes.sum);
      break;
    case Product::T:
      y = matmul_t_reference(x, w, sizes.rows, sizes.columns, sizes.sum);
      break;
    case Product::At:
    case Product::AtSwiglu:
      y = matmul_at_reference(x, w, sizes.rows, sizes.columns, sizes.sum);
      break;
  }
  for (size_t i = 0; accumulate == Accumulate::Yes && i < y.size(); ++i) y[i] += operands.before[i];
  return y;
}

void launch_product(device::Stream& stream, Product product, Accumulate accumulate, const Sizes& sizes,
                    const Operands& operands, const device::Buffer& y) {
  const device::Buffer x = upload_values(stream, operands.x);
  const device::Buffer w = upload_values(stream, operands.w);
  const device::Buffer up = is_swiglu(product) ? upload_values(stream, operands.up) : device::Buffer();
  switch (product) {
    case Product::Plain:
      matmul(stream, {x, w, y, sizes.rows, sizes.columns, sizes.sum, accumulate});
      break;
    case Product::T:
      matmul_t(stream, {x, w, y, sizes.rows, sizes.columns, sizes.sum, accumulate});
      break;
    case Product::At:
      matmul_at(stream, {x, w, y, sizes.rows, sizes.columns, sizes.sum, accumulate});
      break;
    case Product::Swiglu:
      matmul_swiglu_a(stream, {x, up, w, y, sizes.rows, sizes.columns, sizes.sum});
      break;
    case Product::AtSwiglu:
      matmul_at_swiglu_a(stream, {x, up, w, y, sizes.rows, sizes.columns, sizes.sum, accumulate});
      break;
  }
}

CaseResult run_case(device::Stream& stream, Product product, Accumulate accumulate, const Sizes& sizes,
                    float gate_scale) {
  const Operands operands = make_operands(product, sizes, gate_scale);
  const device::Buffer y = accumulate == Accumulate::Yes ? upload_values(stream, operands.before)
                                                         : poisoned(stream, sizes.rows * sizes.columns);
  launch_product(stream, product, accumulate, sizes, operands, y);
  CaseResult result;
  compare(result, "y", download_values(stream, y), expected(product, accumulate, sizes, operands),
          allowed_f32(sizes.sum));
  return result;
}

}  // namespace

std::vector<KernelCase> matmul_cases(Product product, Accumulate accumulate) {
  std::vector<KernelCase> cases;
  std::vector<Sizes> all = kSizes;
  if (accumulate == Accumulate::No) all.insert(all.end(), kMixedSizes.begin(), kMixedSizes.end());
  for (const Sizes& sizes : all) {
    cases.push_back({fmt::format("result {} x {}, sums of {}", sizes.rows, sizes.columns, sizes.sum), sizes.in_doctor,
                     [=](device::Stream& stream) { return run_case(stream, product, accumulate, sizes, 3.0F); }});
  }
  if (is_swiglu(product)) {
    for (const int64_t rows : {5, 65}) {
      cases.push_back(
          {fmt::format("{} rows, gates around 1e4, where exp overflows", rows), true,
           [=](device::Stream& stream) { return run_case(stream, product, accumulate, {rows, 36, 40, true}, 1e4F); }});
    }
  }
  return cases;
}

}  // namespace athanor::kernels
