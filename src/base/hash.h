// 128-bit XXH3 of bytes and files, as hex: finds altered and truncated files, not attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace athanor {

std::string hash_hex(std::span<const std::byte> bytes);
/// 64-bit XXH3, for tables in memory.
uint64_t hash_u64(std::span<const std::byte> bytes);
/// Of a file of any size, in a megabyte of memory. Throws Error when it cannot be read.
std::string hash_file(const std::filesystem::path& path);

}  // namespace athanor
