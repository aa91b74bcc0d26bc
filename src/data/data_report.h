// What a corpus is like before anything is trained on it: how long its documents are, and how many are copies of another.
#pragma once

#include <cstdint>

#include "data/token_file.h"

namespace athanor::data {

struct DataReport {
  int64_t documents = 0;
  int64_t tokens = 0;
  int64_t shortest = 0;  // tokens of a document, its end-of-text token included
  int64_t median = 0;
  int64_t longest = 0;
  int64_t copies = 0;         // documents that have the tokens of an earlier one
  int64_t copied_tokens = 0;  // of those
};

/// Reads the whole corpus; needs 16 bytes of memory a document. Copies are told by a 64-bit hash and their length.
DataReport examine(const TokenData& data);

}  // namespace athanor::data
