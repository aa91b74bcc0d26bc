#!/usr/bin/env python3
"""Makes ops.safetensors: what PyTorch computes for every op of src/tensor/ops.h that has a gradient.

Run with any PyTorch from 1.13 (Debian's python3-torch 1.13 made the committed file):
    python3 tests/golden/make_ops_golden.py
A case holds its inputs and the gradient that reaches its output in f32, and what PyTorch makes of them in float64: CASE.x, CASE.d_out,
CASE.out, CASE.d_x. src/tensor/golden_test.cpp holds the same cases with the same constants.
"""
import json
import math
import struct
from pathlib import Path

import torch
import torch.nn.functional as F

EPS = 1e-5
IGNORE = -100
MASKED = -3e38
out = {}


generator = torch.Generator().manual_seed(5)


def n(*shape, std=1.0):
    """The next normal values, exact in f32."""
    return torch.randn(*shape, generator=generator, dtype=torch.float32) * std


def case(name, function, **inputs):
    """Runs the function on float64 copies; integers are passed on. A function may give several outputs as a dict."""
    leaves = {key: value.double().requires_grad_() if value.is_floating_point() else value.long() for key, value in inputs.items()}
    outputs = function(**leaves)
    if not isinstance(outputs, dict):
        outputs = {"out": outputs}
    loss = 0
    for key, value in outputs.items():
        value = value.reshape(1) if value.dim() == 0 else value
        gradient = n(*value.shape)
        loss = loss + (value * gradient.double()).sum()
        out[f"{name}.{key}"] = value.detach()
        out[f"{name}.d_{key}"] = gradient
    loss.backward()
    for key, value in inputs.items():
        out[f"{name}.{key}"] = value if value.is_floating_point() else value.to(torch.int32)
        if leaves[key].requires_grad:
            out[f"{name}.d_{key}"] = leaves[key].grad


def rms_norm(x, weight, offset=0.0):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * (weight + offset)


def elementwise():
    for name, op in dict(add=torch.add, sub=torch.sub, mul=torch.mul).items():
        case(name, lambda a, b, op=op: op(a, b), a=n(7, 13), b=n(7, 13))
        case(name + "_vector", lambda a, b, op=op: op(a, b), a=n(3, 23, 12), b=n(12))
    case("relu", lambda x: F.relu(x), x=n(5, 17))
    case("silu", lambda x: F.silu(x), x=n(5, 17, std=3))
    case("gelu_erf", lambda x: F.gelu(x), x=n(5, 17, std=3))
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), x=n(5, 17, std=3))
    case("silu_gate", lambda gate, up: F.silu(gate) * up, gate=n(5, 18, std=2), up=n(5, 18))
    case("gelu_gate_erf", lambda gate, up: F.gelu(gate) * up, gate=n(5, 18, std=2), up=n(5, 18))
    case("gelu_gate_tanh", lambda gate, up: F.gelu(gate, approximate="tanh") * up, gate=n(5, 18, std=2), up=n(5, 18))
    case("dropout", lambda x: F.dropout(x, 0.0), x=n(4, 9))


def rows():
    masked = n(6, 21, std=2)
    masked[1, 4] = masked[1, 20] = masked[5, 0] = MASKED
    case("softmax", lambda x: F.softmax(x, -1), x=masked)
    case("rms_norm", lambda x, weight: rms_norm(x, weight), x=n(2, 5, 36), weight=1 + n(36, std=0.3))
    case("rms_norm_offset", lambda x, weight: rms_norm(x, weight, 1.0), x=n(9, 21), weight=n(21, std=0.3))
    def residual(x, residual, weight):
        y = x + residual
        return dict(out=rms_norm(y, weight), y=y)
    case("rms_norm_residual", residual, x=n(9, 20), residual=n(9, 20), weight=1 + n(20, std=0.3))
    ids = torch.tensor([3, 0, 3, 10, 7, 3, 10])
    case("embedding", lambda table, ids: F.embedding(ids, table), table=n(11, 9), ids=ids)
    case("rope", lambda x: rope(x, heads=3, d=8, length=5, first=3, theta=10000.0), x=n(10, 24))
    case("conv1d", lambda x, weight, bias: F.conv1d(x, weight[:, None, :], bias, padding=1, groups=4),
         x=n(3, 4, 15), weight=n(4, 3), bias=n(4))


def rope(x, heads, d, length, first, theta):
    inverse = 1.0 / (theta ** (torch.arange(0, d, 2, dtype=torch.float32) / d))  # rounded to f32, as transformers keeps it
    position = first + torch.arange(x.shape[0], dtype=torch.float64) % length
    angle = position[:, None] * inverse.double()[None, :]
    cos, sin = torch.cat([angle.cos()] * 2, -1)[:, None], torch.cat([angle.sin()] * 2, -1)[:, None]
    x = x.view(-1, heads, d)
    half = torch.cat([-x[..., d // 2:], x[..., : d // 2]], -1)
    return (x * cos + half * sin).reshape(-1, heads * d)


def products():
    case("matmul", lambda x, w: x @ w, x=n(2, 7, 20), w=n(20, 13))
    case("matmul_t", lambda x, w: x @ w.T, x=n(2, 7, 20), w=n(13, 20))
    case("swiglu_matmul", lambda gate, up, w: (F.silu(gate) * up) @ w, gate=n(11, 18), up=n(11, 18), w=n(18, 10))


def attention(q, k, v, batch, length, heads, kv_heads, window=None, first_key=None, cap=None):
    d = q.shape[-1] // heads
    split = lambda x, h: x.view(batch, length, h, d).transpose(1, 2)
    q, k, v = split(q, heads), split(k, kv_heads), split(v, kv_heads)
    k, v = k.repeat_interleave(heads // kv_heads, 1), v.repeat_interleave(heads // kv_heads, 1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(d)
    if cap:
        scores = cap * torch.tanh(scores / cap)
    t, u = torch.arange(length)[:, None], torch.arange(length)[None, :]
    seen = (u <= t).expand(batch, length, length)
    if window:
        seen = seen & (u > t - window)
    if first_key is not None:
        seen = seen & (u[None] >= first_key.view(batch, length, 1))
    scores = scores.masked_fill(~seen[:, None], float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch * length, heads * d)


def attentions():
    case("attention", lambda q, k, v: attention(q, k, v, 2, 13, 4, 2), q=n(26, 4 * 6), k=n(26, 2 * 6), v=n(26, 2 * 6))
    starts = torch.tensor([[0] * 5 + [5] * 8, [0] * 2 + [2] + [3] * 10]).flatten()
    case("attention_all", lambda q, k, v, first_key: attention(q, k, v, 2, 13, 4, 2, window=4, first_key=first_key, cap=1.5),
         q=n(26, 4 * 8, std=1.5), k=n(26, 2 * 8), v=n(26, 2 * 8), first_key=starts)


def cross_entropy(logits, targets, smoothing=0.0, z=0.0, cap=0.0):
    if cap:
        logits = cap * torch.tanh(logits / cap)
    loss = F.cross_entropy(logits, targets, ignore_index=IGNORE, label_smoothing=smoothing)
    return loss + z * (logits.logsumexp(-1)[targets != IGNORE] ** 2).mean()


def losses():
    case("mse_loss", lambda prediction, target: F.mse_loss(prediction, target) / 2, prediction=n(6, 7), target=n(6, 7))
    targets = torch.tensor([4, 0, IGNORE, 22, 9, 1, IGNORE, 22])
    terms = dict(plain={}, smoothing=dict(smoothing=0.125), z_loss=dict(z=0.0625), soft_cap=dict(cap=3.0),
                 all=dict(smoothing=0.125, z=0.0625, cap=3.0))
    for name, term in terms.items():
        case("cross_entropy_" + name, lambda logits, targets, term=term: cross_entropy(logits, targets, **term),
             logits=n(8, 23, std=2), targets=targets)
    # The head gives the sum of the rows' losses, and gradients of its mean: the gradient that reaches the sum is 1 / 6.
    x, head = n(8, 12), n(23, 12)
    for name, term in terms.items():
        case_head("cross_entropy_head_" + name, x, head, targets, term)


def case_head(name, x, head, targets, term):
    leaves = [x.double().requires_grad_(), head.double().requires_grad_()]
    loss = cross_entropy(leaves[0] @ leaves[1].T, targets, **term)
    loss.backward()
    out.update({f"{name}.x": x, f"{name}.head": head, f"{name}.targets": targets.to(torch.int32),
                f"{name}.out": (loss.detach() * 6).reshape(1), f"{name}.d_x": leaves[0].grad, f"{name}.d_head": leaves[1].grad})


def write_safetensors(path, tensors, metadata):
    types = {torch.float64: "F64", torch.float32: "F32", torch.int32: "I32"}
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        blob = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": types[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main():
    torch.set_num_threads(1)
    for group in (elementwise, rows, products, attentions, losses):
        group()
    path = Path(__file__).with_name("ops.safetensors")
    write_safetensors(path, out, dict(torch=torch.__version__))
    print(len(out), "tensors,", path.stat().st_size, "bytes")


main()
