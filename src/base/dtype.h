// Element types of tensors and files.
#pragma once

#include <cstdint>
#include <string_view>

namespace athanor {

enum class DType { F32, F16, BF16, U8, U16, U32, I32, I64, U64, F64 };

/// Bytes of one element.
int64_t size_of(DType dtype);

/// Name as safetensors spells it: "F32", "F16", "U16", ...
std::string_view name_of(DType dtype);

/// The reverse of name_of; throws Error for a name that is not known.
DType dtype_from_name(std::string_view name);

}  // namespace athanor
