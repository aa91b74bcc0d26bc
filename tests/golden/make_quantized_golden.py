#!/usr/bin/env python3
"""Makes quantized.safetensors: quantised rows and what MLX reads in them, to judge our layouts.

Run with mlx, numpy and safetensors (tests/requirements.txt):
    build/deps/venv/bin/python tests/golden/make_quantized_golden.py
affine_BITS_GROUP.{q,scales,biases}: mlx.core.quantize of normal values (U16 scales are bf16); .values: mlx.core.dequantize of them.
q8_0, q4_0, q4_1, q4_k, q6_k.blocks: random bytes in ggml's block layouts, with scales of sensible size in their places, so that every
bit of a block counts; .values: what MLX's GGUF reader finds in a file of these blocks. It keeps Q8_0, Q4_0 and Q4_1 as integers with
f16 scales, which are multiplied out here in float64, and gives Q4_K and Q6_K as f16. MLX 0.32.4 reads the odd parts of Q4_K (the upper
halves of the bytes) with the scale and minimum of the part before them, against ggml's definition: those values are left at 0.
"""
import struct
import tempfile
from pathlib import Path

import mlx.core as mx
import numpy as np
from safetensors.numpy import save_file

AFFINE_TYPES = {(4, 32): "F16", (4, 64): "BF16", (4, 128): "F32", (8, 32): "BF16", (8, 64): "F32", (8, 128): "F16"}
MLX_TYPES = {"F16": mx.float16, "BF16": mx.bfloat16, "F32": mx.float32}
# Name: ggml's number of the type, values and bytes of a block, byte offsets of its f16 scales.
BLOCKS = {"q4_0": (2, 32, 18, [0]), "q4_1": (3, 32, 20, [0, 2]), "q8_0": (8, 32, 34, [0]),
          "q4_k": (12, 256, 144, [0, 2]), "q6_k": (14, 256, 210, [208])}
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


def write_gguf(path, tensors):
    info, data = b"", b""
    for name, (number, blocks) in tensors.items():
        data += b"\0" * (-len(data) % 32)
        info += struct.pack("<Q", len(name)) + name.encode()
        info += struct.pack("<IQQIQ", 2, COLUMNS, ROWS, number, len(data))
        data += blocks.tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 0) + info
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)


def read_gguf(path, name):
    found = mx.load(str(path))
    if name + ".scales" not in found:
        return np.array(found[name].astype(mx.float32))
    words = np.array(found[name])
    bits = 8 if words.shape[1] * 4 == COLUMNS else 4
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    q = (words[:, :, None] >> shifts & (2**bits - 1)).reshape(ROWS, -1, 32)
    scales, biases = (np.array(found[name + part]).astype(np.float64)[:, :, None] for part in (".scales", ".biases"))
    return (q * scales + biases).reshape(ROWS, COLUMNS).astype(np.float32)


def main():
    mx.random.seed(7)
    generator = np.random.default_rng(7)
    tensors = {}
    affine(tensors)
    blocks = {name: random_blocks(generator, values, size, offsets)
              for name, (_, values, size, offsets) in BLOCKS.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks.gguf"
        write_gguf(path, {name: (BLOCKS[name][0], blocks[name]) for name in BLOCKS})
        for name in BLOCKS:
            tensors[name + ".blocks"] = blocks[name]
            tensors[name + ".values"] = read_gguf(path, name)
        tensors["q4_k.values"].reshape(ROWS, -1, 2, 32)[:, :, 1] = 0
    save_file(tensors, Path(__file__).parent / "quantized.safetensors")


if __name__ == "__main__":
    main()
