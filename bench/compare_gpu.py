#!/usr/bin/env python3
"""Measures athanor and PyTorch side by side on the GPU of this machine and prints the tables of docs/benchmarks.md.

    bench/compare_gpu.py [--athanor build/release/athanor] [--python python3] [--rounds 3] [--parts products,attention,training]
PyTorch is left out where --python has none with CUDA. Each figure of training is the median of --rounds runs, ours and theirs in turn.
"""
import argparse
import json
import statistics
import subprocess
import sys

SMALL = {"vocab-size": 512, "hidden-size": 256, "layers": 4, "heads": 4, "intermediate-size": 1024, "length": 256}
LARGE = {"vocab-size": 32000, "hidden-size": 768, "layers": 12, "heads": 12, "intermediate-size": 3072, "length": 1024}
BATCH = 16
OURS = [("highest", "f32"), ("high", "f32"), ("medium", "f32"), ("medium", "mixed")]
THEIRS = [("fp32", False), ("fp32", True), ("tf32", True), ("bf16", False), ("bf16", True)]


def run_json(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"  {' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()[-400:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout[done.stdout.index("{"):])


def train_ours(a, model, products, precision):
    keys = {"layers": "num-hidden-layers", "heads": "num-attention-heads", "length": "max-position-embeddings"}
    sizes = [word for key, value in model.items() if key != "vocab-size"
             for word in ("--model-config." + keys.get(key, key), value)]
    return run_json([a.athanor, "bench", "train", "--json", "--device", a.device, "--vocab-size", model["vocab-size"], *sizes,
                     "--model-config.num-key-value-heads", model["heads"], "--model-config.tie-word-embeddings", "true", "--per-device-train-batch-size", BATCH,
                     "--float32-matmul-precision", products, "--precision", precision])


def train_theirs(a, model, precision, compiled):
    sizes = [word for key, value in model.items() for word in ("--" + key, value)]
    return run_json([a.python, "bench/torch_train.py", "--device", "cuda", *sizes, "--kv-heads", model["heads"], "--batch", BATCH,
                     "--precision", precision, *(["--compile"] if compiled else [])])


def training(a):
    for name, model in (("4.3 M weights", SMALL), ("137.8 M weights", LARGE)):
        runs = {}
        for _ in range(a.rounds):
            for setting in OURS:
                runs.setdefault(("athanor", f"{setting[0]}, {setting[1]}"), []).append(train_ours(a, model, *setting))
            for setting in THEIRS if a.has_torch else []:
                label = setting[0] + (", compiled" if setting[1] else "")
                runs.setdefault(("PyTorch", label), []).append(train_theirs(a, model, *setting))
        print(f"\n| {name}, batch {BATCH} | setting | tok/s (median of {a.rounds}) | MiB |\n|---|---|---|---|")
        for (program, label), results in runs.items():
            good = [result for result in results if result]
            if not good:
                continue
            rate = statistics.median(result["tokens_per_second"] for result in good)
            memory = max(result.get("device_peak_memory_bytes", result["peak_memory_bytes"]) for result in good)
            print(f"| {program} | {label} | {rate:,.0f} | {memory / 2**20:,.0f} |")


def kernels(a, names):
    print("\n| kernel | precision | sizes | ms | TFLOP/s | GB/s |\n|---|---|---|---|---|---|")
    for precision in ("highest", "high", "medium"):
        for name in names:
            report = run_json([a.athanor, "bench", "kernels", "--json", "--device", a.device, "--filter", name,
                               "--float32-matmul-precision", precision])
            for row in (report or {}).get("kernels", []):
                print(f"| {row['kernel']} | {precision} | {row['sizes']} | {row['milliseconds']:.3f} | "
                      f"{row['flops_per_second'] / 1e12:.1f} | {row['bytes_per_second'] / 1e9:.0f} |")


TORCH_KERNELS = """
import torch, time
def timed(f, flops, what):
    for _ in range(5): f()
    torch.cuda.synchronize(); start = time.perf_counter()
    for _ in range(30): f()
    torch.cuda.synchronize(); took = (time.perf_counter() - start) / 30
    print(f"| PyTorch | {what} | {took * 1e3:.3f} | {flops / took / 1e12:.1f} |")
for m, n, k in ((4096, 4096, 4096), (16384, 3072, 768), (16384, 768, 3072)):
    for name, dtype, precision in (("fp32", torch.float32, "highest"), ("tf32", torch.float32, "high"), ("fp16", torch.float16, "highest")):
        torch.set_float32_matmul_precision(precision)
        x, w = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(k, n, device="cuda", dtype=dtype)
        timed(lambda: x @ w, 2 * m * n * k, f"matmul {m} x {n} x {k}, {name}")
b, h, t, d = 16, 12, 1024, 64
q, k, v = (torch.randn(b, h, t, d, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
sdpa = torch.nn.functional.scaled_dot_product_attention
timed(lambda: sdpa(q, k, v, is_causal=True), 2 * b * h * t * t * d, "attention forward, fp16")
out = sdpa(q, k, v, is_causal=True)
g = torch.randn_like(out)
timed(lambda: torch.autograd.grad(out, (q, k, v), g, retain_graph=True), 5 * b * h * t * t * d, "attention backward, fp16")
"""


def torch_kernels(a):
    if a.has_torch:
        print("\n| | what | ms | TFLOP/s |\n|---|---|---|---|", flush=True)
        subprocess.run([a.python, "-c", TORCH_KERNELS], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--athanor", default="build/release/athanor")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--device", default="webgpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default="products,attention,training")
    a = parser.parse_args()
    probe = "import torch; raise SystemExit(not torch.cuda.is_available())"
    a.has_torch = subprocess.run([a.python, "-c", probe], capture_output=True).returncode == 0
    parts = a.parts.split(",")
    unknown = set(parts) - {"products", "attention", "training"}
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if "products" in parts:
        kernels(a, ["matmul"])
    if "attention" in parts:
        kernels(a, ["attention"])
    if "products" in parts or "attention" in parts:
        torch_kernels(a)
    if "training" in parts:
        training(a)


main()
