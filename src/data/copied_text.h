// How much of a text stands in the training tokens word for word. Memory is bounded by the text that is asked about: the training tokens
// are read once, in order.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/loader.h"

namespace athanor::data {

struct CopiedRun {
  int64_t length = 0;          // tokens
  int64_t begin = 0;           // in the text
  int64_t training_begin = 0;  // in the training tokens, where it was met first
  int64_t searched = 0;        // training tokens that were read
};

/// The longest run of tokens of the text that stands the same in the training tokens; of equal ones the first met there. Reads at most
/// most_searched of them. A suffix automaton of the text walks over them. Source: Blumer et al. 1985, "The smallest automaton recognizing
/// the subwords of a text".
CopiedRun longest_copied_run(std::span<const uint32_t> text, const TokenStream& training,
                             int64_t most_searched = std::numeric_limits<int64_t>::max());

/// For each token of the text: 1 when it lies in a run of at least `least` tokens that stands the same in the training tokens, else 0.
/// Throws Error when least is below 1. Windows are found by a rolling hash and compared. Source: Karp and Rabin 1987.
std::vector<uint8_t> copied_tokens(std::span<const uint32_t> text, const TokenStream& training, int64_t least);

}  // namespace athanor::data
