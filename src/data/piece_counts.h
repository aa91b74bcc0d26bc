// The distinct pieces of a corpus with their counts: all that the training of a tokenizer looks at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/splitter.h"
#include "data/tokenizer_training.h"

namespace athanor::data {

struct PieceCounts {
  std::string bytes;            // all pieces one after the other
  std::vector<size_t> ends;     // where each piece ends in bytes
  std::vector<int64_t> counts;  // of each piece

  size_t size() const { return ends.size(); }
  std::string_view piece(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(bytes).substr(begin, ends[i] - begin);
  }
};

/// Splits all documents on several threads. The order of the pieces depends on the threads; their counts do not.
PieceCounts count_pieces(const DocumentSource& documents, const Splitter& splitter, int threads);

}  // namespace athanor::data
