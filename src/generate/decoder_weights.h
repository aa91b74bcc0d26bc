// The weights of a Llama-family model as generation reads them: where nn::Llama has them, or in copies of their own in a format that costs
// fewer bytes a token.
#pragma once

#include "generate/weight.h"
#include "nn/model_files.h"

namespace athanor::generate {

struct DecoderBlock {
  device::Buffer input_norm;           // (C) f32, as all norms
  JoinedWeights qkv;                   // (H*D, C), (Hkv*D, C), (Hkv*D, C)
  Weight o_proj;                       // (C, H*D)
  device::Buffer post_attention_norm;  // (C)
  JoinedWeights gate_up;               // (F, C) twice
  Weight down_proj;                    // (C, F)
};

struct DecoderWeights {
  nn::LlamaConfig config;
  WeightFormat format = WeightFormat::F32;
  device::Buffer embed_tokens;  // (V, C) f32
  std::vector<DecoderBlock> blocks;
  device::Buffer norm;        // (C)
  Weight head;                // (V, C)
  device::Buffer rope_table;  // (max_position_embeddings, D)

  /// Bytes of weights that one token reads: all matrices and norms, and of the embedding a row.
  int64_t read_bytes_per_token() const;
};

/// The model's own buffers; its products read the f16 mirror where it has one. The model must outlive what uses them.
DecoderWeights weights_where_they_lie(const nn::Llama& model);

/// Copies in `format`: all matrices, the head with them. Norms stay f32, and so does the embedding's table, of which a token reads one row.
/// A matrix whose rows are no whole blocks of Q8_0 is kept in F16.
DecoderWeights upload_weights(device::Stream& stream, const nn::LlamaConfig& config, const nn::ReadWeight& read,
                              WeightFormat format);

}  // namespace athanor::generate
