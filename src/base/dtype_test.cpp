#include "base/dtype.h"

#include "base/expect_error.h"

namespace athanor {
namespace {

TEST(DType, NamesAreThoseOfSafetensorsAndReadBack) {
  const std::pair<DType, const char*> names[] = {
      {DType::F32, "F32"}, {DType::F16, "F16"}, {DType::BF16, "BF16"}, {DType::U8, "U8"},   {DType::U16, "U16"},
      {DType::U32, "U32"}, {DType::I32, "I32"}, {DType::I64, "I64"},   {DType::U64, "U64"}, {DType::F64, "F64"}};
  for (const auto& [dtype, name] : names) {
    EXPECT_EQ(name_of(dtype), name);
    EXPECT_EQ(dtype_from_name(name), dtype);
  }
}

TEST(DType, SizesAreBytesOfOneElement) {
  EXPECT_EQ(size_of(DType::U8), 1);
  EXPECT_EQ(size_of(DType::F16), 2);
  EXPECT_EQ(size_of(DType::BF16), 2);
  EXPECT_EQ(size_of(DType::U16), 2);
  EXPECT_EQ(size_of(DType::F32), 4);
  EXPECT_EQ(size_of(DType::I64), 8);
}

TEST(DType, RefusesANameItDoesNotKnow) {
  EXPECT_ERROR(dtype_from_name("F8_E4M3"), "\"F8_E4M3\" is not known");
  EXPECT_ERROR(dtype_from_name("f32"), "\"f32\" is not known");
}

}  // namespace
}  // namespace athanor
