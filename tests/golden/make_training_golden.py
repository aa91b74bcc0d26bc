#!/usr/bin/env python3
"""Makes training.safetensors: one update of AdamW and of Muon on given gradients, and a hundred losses under each.

Run in the judges' environment: build/deps/venv/bin/python tests/golden/make_training_golden.py (mlx 0.32.4 made the committed file).
Everything is f32 in plain MLX ops: the model, both optimizers, clipping. Weights, gradients and the configuration are those of
llama_gqa.safetensors. The file holds: every weight after one update with those gradients, unclipped ("adamw.", "muon."); a hundred
batches of tokens in which each follows from the one before and a little chance ("tokens", (steps, rows, length + 1)); and the losses
of a hundred steps on them ("losses.adamw", "losses.muon").
"""
import json
import math
from pathlib import Path

import mlx.core as mx
import numpy as np

FOLDER = Path(__file__).parent
STEPS, ROWS, LENGTH = 100, 3, 16
LEARNING_RATE, MUON_RATIO, WEIGHT_DECAY, CLIP = 1e-2, 2.0, 0.1, 1.0
BETA1, BETA2, EPSILON, MOMENTUM = 0.9, 0.999, 1e-8, 0.95


def rms_norm(x, weight, eps):
    return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rope(x, theta):
    """x: (B, H, T, D); halves rotated."""
    length, d = x.shape[-2:]
    inverse = 1.0 / (theta ** (np.arange(0, d, 2, dtype=np.float32) / d)).astype(np.float32)
    angle = np.arange(length, dtype=np.float64)[:, None] * inverse.astype(np.float64)[None, :]
    cos = mx.array(np.concatenate([np.cos(angle)] * 2, -1).astype(np.float32))
    sin = mx.array(np.concatenate([np.sin(angle)] * 2, -1).astype(np.float32))
    half = mx.concatenate([-x[..., d // 2:], x[..., : d // 2]], axis=-1)
    return x * cos + half * sin


def loss_of(w, ids, targets, c):
    """Mean of -log softmax at the targets."""
    b, t = ids.shape
    h, hkv, d = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    x = w["model.embed_tokens.weight"][ids]
    mask = mx.triu(mx.full((t, t), -math.inf), 1)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        n = rms_norm(x, w[p + "input_layernorm.weight"], c["rms_norm_eps"])
        q, k, v = ((n @ w[p + f"self_attn.{name}_proj.weight"].T).reshape(b, t, heads, d).transpose(0, 2, 1, 3)
                   for name, heads in (("q", h), ("k", hkv), ("v", hkv)))
        q, k = rope(q, c["rope_theta"]), rope(k, c["rope_theta"])
        k, v = mx.repeat(k, h // hkv, axis=1), mx.repeat(v, h // hkv, axis=1)
        scores = (q @ k.transpose(0, 1, 3, 2)) / math.sqrt(d) + mask
        mixed = (mx.softmax(scores, axis=-1) @ v).transpose(0, 2, 1, 3).reshape(b, t, h * d)
        x = x + mixed @ w[p + "self_attn.o_proj.weight"].T
        n = rms_norm(x, w[p + "post_attention_layernorm.weight"], c["rms_norm_eps"])
        gate, up = n @ w[p + "mlp.gate_proj.weight"].T, n @ w[p + "mlp.up_proj.weight"].T
        x = x + (gate * mx.sigmoid(gate) * up) @ w[p + "mlp.down_proj.weight"].T
    logits = rms_norm(x, w["model.norm.weight"], c["rms_norm_eps"]) @ w["lm_head.weight"].T
    at = mx.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return mx.mean(mx.logsumexp(logits, axis=-1) - at)


def adamw(w, g, state, step):
    """Loshchilov and Hutter 2019; vectors are not decayed. step counts from 1."""
    m, v = state or (mx.zeros_like(w), mx.zeros_like(w))
    m = BETA1 * m + (1 - BETA1) * g
    v = BETA2 * v + (1 - BETA2) * g * g
    if w.ndim > 1:
        w = w - LEARNING_RATE * WEIGHT_DECAY * w
    w = w - LEARNING_RATE * (m / (1 - BETA1**step)) / (mx.sqrt(v / (1 - BETA2**step)) + EPSILON)
    return w, (m, v)


def orthogonal(x):
    """Five Newton-Schulz steps. Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/."""
    is_tall = x.shape[0] > x.shape[1]
    x = x.T if is_tall else x
    x = x / (mx.sqrt(mx.sum(x * x)) + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * (gram @ gram)) @ x
    return x.T if is_tall else x


def muon(w, g, state, step):
    """w: [out, in]. Nesterov's momentum as an average, decay apart from the step."""
    rate = LEARNING_RATE * MUON_RATIO
    m = MOMENTUM * (mx.zeros_like(w) if state is None else state) + (1 - MOMENTUM) * g
    x = orthogonal(MOMENTUM * m + (1 - MOMENTUM) * g)
    w = w - rate * WEIGHT_DECAY * w
    return w - rate * math.sqrt(max(1.0, w.shape[0] / w.shape[1])) * x, m


def rule_of(optimizer, name):
    """Muon takes the matrices between embedding and head, AdamW the rest."""
    return muon if optimizer == "muon" and "_proj." in name else adamw


def update(optimizer, weights, gradients, states, step):
    done = {name: rule_of(optimizer, name)(w, gradients[name], states.get(name), step) for name, w in weights.items()}
    return {name: w for name, (w, _) in done.items()}, {name: state for name, (_, state) in done.items()}


def clipped(gradients):
    norm = mx.sqrt(sum(mx.sum(g * g) for g in gradients.values()))
    scale = mx.minimum(1.0, CLIP / (norm + 1e-6))
    return {name: g * scale for name, g in gradients.items()}


def make_tokens(vocab_size):
    rng = np.random.default_rng(5)
    tokens = np.empty((STEPS, ROWS, LENGTH + 1), dtype=np.int32)
    tokens[..., 0] = rng.integers(0, vocab_size, (STEPS, ROWS))
    for i in range(LENGTH):
        tokens[..., i + 1] = (tokens[..., i] * 5 + 7 + rng.integers(0, 4, (STEPS, ROWS))) % vocab_size
    return tokens


def main():
    mx.set_default_device(mx.cpu)
    given, metadata = mx.load(str(FOLDER / "llama_gqa.safetensors"), return_metadata=True)
    config = json.loads(metadata["config"])
    weights = {name.removeprefix("weight."): value for name, value in given.items() if name.startswith("weight.")}
    gradients = {name: given[f"gradient.{name}"] for name in weights}
    tokens = mx.array(make_tokens(config["vocab_size"]))
    out = {"tokens": tokens}
    for optimizer in ("adamw", "muon"):
        for name, value in update(optimizer, weights, gradients, {}, 1)[0].items():
            out[f"{optimizer}.{name}"] = value
        w, states, losses = weights, {}, []
        loss_and_gradients = mx.value_and_grad(loss_of)
        for step in range(STEPS):
            loss, g = loss_and_gradients(w, tokens[step, :, :-1], tokens[step, :, 1:], config)
            w, states = update(optimizer, w, clipped(g), states, step + 1)
            mx.eval(loss, w, states)
            losses.append(loss.item())
        out[f"losses.{optimizer}"] = mx.array(losses)
        print(optimizer, [round(losses[i], 4) for i in (0, 1, 9, 49, 99)])
    mx.save_safetensors(str(FOLDER / "training.safetensors"), out,
                        dict(learning_rate=str(LEARNING_RATE), muon_rate_ratio=str(MUON_RATIO), weight_decay=str(WEIGHT_DECAY),
                             max_grad_norm=str(CLIP)))


main()
