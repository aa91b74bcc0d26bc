// Rows of a table chosen by token ids, and the gradient of the table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "kernels/accumulate.h"

namespace athanor::kernels {

struct Embedding {
  device::Buffer table;  // (V, C) f32
  device::Buffer ids;    // (rows) u32, each below V: check_ids before the upload
  device::Buffer out;    // (rows, C) f32
  int64_t rows = 0;
  int64_t columns = 0;     // C
  int64_t vocabulary = 0;  // V
};

/// out[row] = table[ids[row]]. Throws Error if a buffer's size is not as in Embedding. An id that slipped past check_ids gives a row
/// of zeros and reads nothing outside the table.
void embedding(device::Stream& stream, const Embedding& args);

struct EmbeddingBackward {
  device::Buffer d_out;    // (rows, C) f32
  device::Buffer order;    // (V + 1 + rows) u32: what embedding_order gave for the ids
  device::Buffer d_table;  // (V, C) f32, written or added to
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t vocabulary = 0;
  Accumulate accumulate = Accumulate::No;
};

/// d_table[v] (+)= sum, in order of position, of the rows of d_out whose id is v. Without float atomics, so that a run repeats bit for
/// bit. Throws Error if a buffer's size is not as in EmbeddingBackward.
void embedding_backward(device::Stream& stream, const EmbeddingBackward& args);

/// The positions of each id, by a counting sort: V + 1 starts, then the positions; those of id v are
/// order[V + 1 + order[v]] .. order[V + 1 + order[v + 1]], rising. Throws Error, with the position, for an id that is V or more.
std::vector<uint32_t> embedding_order(std::span<const uint32_t> ids, int64_t vocabulary);

/// Throws Error, with the position, for an id that is V or more.
void check_ids(std::span<const uint32_t> ids, int64_t vocabulary);

}  // namespace athanor::kernels
