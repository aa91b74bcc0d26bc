#!/usr/bin/env python3
"""Makes quantized.safetensors: quantised rows and what MLX and ggml's own Python package read in them, to judge our layouts.

Run with mlx, numpy and safetensors (tests/requirements.txt) and gguf 0.19.0 beside them:
    build/deps/venv/bin/pip install --no-deps --target /tmp/gguf gguf==0.19.0
    PYTHONPATH=/tmp/gguf build/deps/venv/bin/python tests/golden/make_quantized_golden.py
affine_BITS_GROUP.{q,scales,biases}: mlx.core.quantize of normal values (U16 scales are bf16); .values: mlx.core.dequantize of them.
q8_0, q4_0, q4_1, q4_k, q6_k.blocks: random bytes in ggml's block layouts, with scales of sensible size in their places, so that every
bit of a block counts; .values: gguf.quants.dequantize of them. (MLX 0.32.4 reads every second part of Q4_K with the scale of the part
before it, so it is no judge of that one.)
"""
from pathlib import Path

import gguf
import mlx.core as mx
import numpy as np
from safetensors.numpy import save_file

AFFINE_TYPES = {(4, 32): "F16", (4, 64): "BF16", (4, 128): "F32", (8, 32): "BF16", (8, 64): "F32", (8, 128): "F16"}
MLX_TYPES = {"F16": mx.float16, "BF16": mx.bfloat16, "F32": mx.float32}
# Name: values and bytes of a block, byte offsets of its f16 scales.
BLOCKS = {"q4_0": (32, 18, [0]), "q4_1": (32, 20, [0, 2]), "q8_0": (32, 34, [0]), "q4_k": (256, 144, [0, 2]),
          "q6_k": (256, 210, [208])}
ROWS, COLUMNS = 3, 512


def raw(array):
    """An MLX array with the bits it has; numpy and safetensors' numpy side have no bfloat16."""
    return np.array(array.view(mx.uint16)) if array.dtype == mx.bfloat16 else np.array(array)


def affine(tensors):
    for (bits, group), name in AFFINE_TYPES.items():
        values = mx.random.normal((3, 384)).astype(MLX_TYPES[name])
        q, scales, biases = mx.quantize(values, group_size=group, bits=bits)
        key = f"affine_{bits}_{group}."
        tensors[key + "q"] = np.array(q)
        tensors[key + "scales"] = raw(scales)
        tensors[key + "biases"] = raw(biases)
        read = mx.dequantize(q, scales, biases, group_size=group, bits=bits)
        tensors[key + "values"] = np.array(read.astype(mx.float32))


def random_blocks(generator, values, size, scale_offsets):
    blocks = generator.integers(0, 256, (ROWS, COLUMNS // values, size), dtype=np.uint8)
    for offset in scale_offsets:
        scale = generator.uniform(0.001, 0.02, blocks.shape[:2]) * generator.choice([-1, 1], blocks.shape[:2])
        blocks[:, :, offset:offset + 2] = scale.astype(np.float16)[:, :, None].view(np.uint8)
    return blocks.reshape(ROWS, -1)


def main():
    mx.random.seed(7)
    generator = np.random.default_rng(7)
    tensors = {}
    affine(tensors)
    for name, (values, size, offsets) in BLOCKS.items():
        blocks = random_blocks(generator, values, size, offsets)
        tensors[name + ".blocks"] = blocks
        tensors[name + ".values"] = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name.upper()])
    save_file(tensors, Path(__file__).parent / "quantized.safetensors")


if __name__ == "__main__":
    main()
