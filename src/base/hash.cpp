// XXH3 with 128 bits, spelled as `xxhsum -H2` does.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fstream>
#include <vector>

#include "base/error.h"

namespace athanor {

namespace {

std::string hex_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace

std::string hash_hex(std::span<const std::byte> bytes) { return hex_of(XXH3_128bits(bytes.data(), bytes.size())); }

uint64_t hash_u64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_file(const std::filesystem::path& path) {
  // Read, not mapped: a checkpoint larger than memory passes through a small buffer.
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), "{}: cannot be opened; check that it is there and may be read", path.string());
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::vector<char> buffer(1 << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    XXH3_128bits_update(&state, buffer.data(), static_cast<size_t>(file.gcount()));
  }
  check(file.eof(), "{}: cannot be read to its end", path.string());
  return hex_of(XXH3_128bits_digest(&state));
}

}  // namespace athanor
