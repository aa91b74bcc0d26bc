#!/usr/bin/env python3
"""Makes llama_gqa.safetensors: what PyTorch computes for a small grouped-query Llama.

Run with any PyTorch (Debian's python3-torch 1.13 made the committed file):
    python3 tests/golden/make_llama_golden.py
The model is written out below in plain PyTorch in float64, so that the file holds the right digits and not one library's
rounding. It holds: the initial weights under Hugging Face's names, three batches of tokens, the logits of the first batch, all
gradients of its loss before any step, and the losses of ten AdamW steps that go through the batches in turn.
"""
import json
import math
import struct
from pathlib import Path

import torch

CONFIG = dict(vocab_size=67, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, head_dim=6, max_position_embeddings=32, rms_norm_eps=1e-5, rope_theta=10000.0,
              tie_word_embeddings=False)
BATCH, LENGTH, STEPS = 3, 19, 10
LEARNING_RATE, WEIGHT_DECAY, CLIP = 1e-2, 0.1, 1.0
IGNORE = -100


def make_weights(c):
    generator = torch.Generator().manual_seed(7)
    def normal(*shape, std=0.08):
        return (torch.randn(*shape, generator=generator, dtype=torch.float32) * std)
    q = c["num_attention_heads"] * c["head_dim"]
    kv = c["num_key_value_heads"] * c["head_dim"]
    weights = {"model.embed_tokens.weight": normal(c["vocab_size"], c["hidden_size"], std=0.5)}
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        weights[p + "input_layernorm.weight"] = 1 + normal(c["hidden_size"])
        weights[p + "self_attn.q_proj.weight"] = normal(q, c["hidden_size"], std=0.3)
        weights[p + "self_attn.k_proj.weight"] = normal(kv, c["hidden_size"], std=0.3)
        weights[p + "self_attn.v_proj.weight"] = normal(kv, c["hidden_size"], std=0.3)
        weights[p + "self_attn.o_proj.weight"] = normal(c["hidden_size"], q, std=0.3)
        weights[p + "post_attention_layernorm.weight"] = 1 + normal(c["hidden_size"])
        weights[p + "mlp.gate_proj.weight"] = normal(c["intermediate_size"], c["hidden_size"], std=0.3)
        weights[p + "mlp.up_proj.weight"] = normal(c["intermediate_size"], c["hidden_size"], std=0.3)
        weights[p + "mlp.down_proj.weight"] = normal(c["hidden_size"], c["intermediate_size"], std=0.3)
    weights["model.norm.weight"] = 1 + normal(c["hidden_size"])
    weights["lm_head.weight"] = normal(c["vocab_size"], c["hidden_size"], std=0.3)
    return weights


def rms_norm(x, weight, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rope(x, theta):
    """x: (B, H, T, D); halves rotated."""
    length, d = x.shape[-2:]
    inverse = 1.0 / (theta ** (torch.arange(0, d, 2, dtype=torch.float32) / d))  # rounded to f32, as transformers keeps it
    angle = torch.arange(length, dtype=torch.float64)[:, None] * inverse.double()[None, :]
    cos = torch.cat([angle.cos(), angle.cos()], -1)
    sin = torch.cat([angle.sin(), angle.sin()], -1)
    half = torch.cat([-x[..., d // 2:], x[..., : d // 2]], -1)
    return x * cos + half * sin


def logits(w, ids, c):
    b, t = ids.shape
    h, hkv, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    x = w["model.embed_tokens.weight"][ids]
    mask = torch.full((t, t), float("-inf"), dtype=torch.float64).triu(1)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        n = rms_norm(x, w[p + "input_layernorm.weight"], c["rms_norm_eps"])
        q = (n @ w[p + "self_attn.q_proj.weight"].T).view(b, t, h, d).transpose(1, 2)
        k = (n @ w[p + "self_attn.k_proj.weight"].T).view(b, t, hkv, d).transpose(1, 2)
        v = (n @ w[p + "self_attn.v_proj.weight"].T).view(b, t, hkv, d).transpose(1, 2)
        q, k = rope(q, c["rope_theta"]), rope(k, c["rope_theta"])
        k, v = k.repeat_interleave(h // hkv, 1), v.repeat_interleave(h // hkv, 1)
        scores = (q @ k.transpose(-1, -2)) / math.sqrt(d) + mask
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, h * d)
        x = x + mixed @ w[p + "self_attn.o_proj.weight"].T
        n = rms_norm(x, w[p + "post_attention_layernorm.weight"], c["rms_norm_eps"])
        gate, up = n @ w[p + "mlp.gate_proj.weight"].T, n @ w[p + "mlp.up_proj.weight"].T
        x = x + (torch.nn.functional.silu(gate) * up) @ w[p + "mlp.down_proj.weight"].T
    return rms_norm(x, w["model.norm.weight"], c["rms_norm_eps"]) @ w["lm_head.weight"].T


def loss_of(w, ids, targets, c):
    return torch.nn.functional.cross_entropy(logits(w, ids, c).flatten(0, 1), targets.flatten(), ignore_index=IGNORE)


def write_safetensors(path, tensors, metadata):
    names = {torch.float32: "F32", torch.int32: "I32"}
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    for name, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    torch.set_num_threads(1)
    weights = make_weights(CONFIG)
    generator = torch.Generator().manual_seed(11)
    tokens = torch.randint(0, CONFIG["vocab_size"], (3, BATCH, LENGTH + 1), generator=generator)
    ids, targets = tokens[:, :, :-1], tokens[:, :, 1:].clone()
    targets[0, 1, 5:9] = IGNORE  # a few rows that do not count
    out = {f"weight.{name}": value for name, value in weights.items()}

    w = {name: value.double().requires_grad_() for name, value in weights.items()}
    out["logits"] = logits(w, ids[0], CONFIG).detach().float()
    first = loss_of(w, ids[0], targets[0], CONFIG)
    first.backward()
    for name, value in w.items():
        out[f"gradient.{name}"] = value.grad.float()

    w = {name: value.double().requires_grad_() for name, value in weights.items()}
    matrices = [v for v in w.values() if v.dim() > 1]
    vectors = [v for v in w.values() if v.dim() == 1]
    optimizer = torch.optim.AdamW([dict(params=matrices, weight_decay=WEIGHT_DECAY), dict(params=vectors, weight_decay=0.0)],
                                  lr=LEARNING_RATE, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(w, ids[step % 3], targets[step % 3], CONFIG)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), CLIP)
        optimizer.step()
        losses.append(loss.item())
    out["losses"] = torch.tensor(losses, dtype=torch.float32)
    out["ids"] = ids.to(torch.int32)
    out["targets"] = targets.to(torch.int32)
    metadata = dict(config=json.dumps(CONFIG), learning_rate=str(LEARNING_RATE), weight_decay=str(WEIGHT_DECAY),
                    max_grad_norm=str(CLIP), torch=torch.__version__)
    write_safetensors(Path(__file__).with_name("llama_gqa.safetensors"), out, metadata)
    print("losses", [round(x, 5) for x in losses])


main()
