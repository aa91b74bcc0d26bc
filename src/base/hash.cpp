// XXH3 with 128 bits, spelled as `xxhsum -H2` does.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mapped_file.h"

namespace athanor {

std::string hash_hex(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : canonical.digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

uint64_t hash_u64(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string hash_file(const std::filesystem::path& path) { return hash_hex(MappedFile(path).bytes()); }

}  // namespace athanor
