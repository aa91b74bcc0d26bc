#!/usr/bin/env python3
"""The peer of `athanor bench train`: the same Llama model and training step in PyTorch, on the CPU in f32 or on a GPU.

    python3 bench/torch_train.py --vocab-size 512 --hidden-size 256 --layers 4 --intermediate-size 1024 --length 256 --batch 4
Prints one JSON object. --threads 0 leaves PyTorch's own choice (Debian's build then says one thread but uses all cores
through oneDNN, its fastest setting on two cores); other numbers go to set_num_threads. On a GPU --device cuda takes --precision
fp32, tf32 or bf16 (autocast, as most trainers do), --compile torch.compile, and attention PyTorch's own fused one.
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        c, d = a.hidden_size, a.hidden_size // a.heads
        self.heads, self.kv_heads, self.d = a.heads, a.kv_heads, d
        linear = lambda i, o: torch.nn.Linear(i, o, bias=False)
        self.q, self.k, self.v, self.o = linear(c, c), linear(c, a.kv_heads * d), linear(c, a.kv_heads * d), linear(c, c)
        self.gate, self.up, self.down = linear(c, a.intermediate_size), linear(c, a.intermediate_size), linear(a.intermediate_size, c)
        self.norm1, self.norm2 = torch.nn.Parameter(torch.ones(c)), torch.nn.Parameter(torch.ones(c))

    def forward(self, x, cos, sin, mask):
        b, t, c = x.shape
        n = rms_norm(x, self.norm1)
        split = lambda y, h: y.view(b, t, h, self.d).transpose(1, 2)
        q, k, v = split(self.q(n), self.heads), split(self.k(n), self.kv_heads), split(self.v(n), self.kv_heads)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if self.heads != self.kv_heads:
            k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        if x.is_cuda:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mixed = ((q @ k.transpose(-1, -2)) * self.d ** -0.5 + mask).softmax(-1) @ v
        x = x + self.o(mixed.transpose(1, 2).reshape(b, t, c))
        n = rms_norm(x, self.norm2)
        return x + self.down(F.silu(self.gate(n)) * self.up(n))


class Llama(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embed = torch.nn.Embedding(a.vocab_size, a.hidden_size)
        self.blocks = torch.nn.ModuleList(Block(a) for _ in range(a.layers))
        self.norm = torch.nn.Parameter(torch.ones(a.hidden_size))
        d = a.hidden_size // a.heads
        angle = torch.arange(a.length)[:, None] / 10000.0 ** (torch.arange(0, d, 2) / d)[None]
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1))
        self.register_buffer("mask", torch.full((a.length, a.length), float("-inf")).triu(1))

    def forward(self, ids, targets):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        logits = rms_norm(x, self.norm) @ self.embed.weight.T  # tied head
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def rms_norm(x, weight):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * weight


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def main():
    parser = argparse.ArgumentParser()
    for name, value in dict(vocab_size=512, hidden_size=256, layers=4, heads=4, kv_heads=4, intermediate_size=1024, length=256,
                            batch=4, steps=12, warmup=3, threads=0).items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=value)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "bf16"])
    parser.add_argument("--compile", action="store_true")
    a = parser.parse_args()
    cuda = a.device == "cuda"
    torch.set_float32_matmul_precision("high" if a.precision == "tf32" else "highest")
    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    model = Llama(a).to(a.device)
    call = torch.compile(model) if a.compile else model
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([dict(params=decayed, weight_decay=0.1), dict(params=plain, weight_decay=0.0)], lr=1e-3,
                                  **(dict(fused=True) if cuda else {}))
    times = []
    for step in range(a.warmup + a.steps):
        tokens = torch.randint(0, a.vocab_size, (a.batch, a.length + 1)).to(a.device)
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(a.device, torch.bfloat16, enabled=a.precision == "bf16"):
            loss = call(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        if step >= a.warmup:
            times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(json.dumps(dict(program="pytorch " + torch.__version__, weights=sum(p.numel() for p in model.parameters()),
                          threads=a.threads, device=torch.cuda.get_device_name() if cuda else "cpu", precision=a.precision,
                          compiled=a.compile, tokens_per_second=a.batch * a.length / median, milliseconds_per_step=1e3 * median,
                          peak_memory_bytes=torch.cuda.max_memory_allocated() if cuda
                          else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)))


main()
