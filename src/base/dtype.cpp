// The table of element types.
#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace athanor {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t size_bytes;
};

constexpr std::array<Row, 10> kRows = {{
    {DType::F32, "F32", 4},
    {DType::F16, "F16", 2},
    {DType::BF16, "BF16", 2},
    {DType::U8, "U8", 1},
    {DType::U16, "U16", 2},
    {DType::U32, "U32", 4},
    {DType::I32, "I32", 4},
    {DType::I64, "I64", 8},
    {DType::U64, "U64", 8},
    {DType::F64, "F64", 8},
}};

const Row& row_of(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  fail("dtype: {} is no element type", static_cast<int>(dtype));
}

}  // namespace

int64_t size_of(DType dtype) { return row_of(dtype).size_bytes; }

std::string_view name_of(DType dtype) { return row_of(dtype).name; }

DType dtype_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  fail("dtype: \"{}\" is not known; use F32, F16, BF16, F64, U8, U16, U32, U64, I32 or I64", name);
}

}  // namespace athanor
