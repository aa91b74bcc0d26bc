#!/usr/bin/env python3
"""What `athanor plan` predicts against runs that are made: peak memory within 10 % or 64 MiB, time within 20 % of the median of the runs.

Usage: plan_against_runs.py [--athanor build/release/athanor] [--device cpu|webgpu] [--models tiny,small,llama-15m] [--variants all] [--runs 3]
  --batch-tokens N   a smaller step than the presets', where the device is slow    --max-length N   likewise of a row
  --steps N          of each run, with an evaluation and a checkpoint at half and at the end, and two samples
  --runs 0           memory alone: one run each, its time not judged
The plan and a run take turns, so that what else the machine does falls on both. On a GPU:
  bench/plan_against_runs.py --device webgpu --models tiny,small,llama-15m,llama-138m --steps 200
Memory is what the device layer held on WebGPU, VmHWM without file pages on the CPU. Ends with 1 when a prediction is off.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

VARIANTS = {
    "f32": [],
    "mixed": ["--precision", "mixed"],
    "adamw_8bit": ["--optim", "adamw_8bit"],
    "muon": ["--optim", "muon"],
    "recomputed": ["--gradient-checkpointing", "true"],
    "averaged": ["--ema-decay", "0.999"],
    "all of these": ["--precision", "mixed", "--optim", "adamw_8bit", "--gradient-checkpointing", "true", "--ema-decay", "0.999"],
}
MEMORY_SHARE, MEMORY_BYTES, TIME_SHARE = 0.10, 64 << 20, 0.20


def athanor(options, *args):
    done = subprocess.run([options.athanor, "-q", *map(str, args)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"athanor {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def judge(options, scratch, model, name):
    tokens = scratch / f"{model}.tokens"
    given = [tokens, "--preset", model, "--device", options.device, "--max-steps", options.steps, "--eval-steps", max(1, options.steps // 2),
             "--save-steps", max(1, options.steps // 2), "--eval-batches", 2, *VARIANTS[name]]
    if options.batch_tokens:
        given += ["--batch-tokens", options.batch_tokens]
    if options.max_length:
        given += ["--max-length", options.max_length]
    planned, ran = [], []
    for turn in range(max(1, options.runs)):
        plan = json.loads(athanor(options, "plan", "--json", "--seconds", options.seconds, *given))["devices"][0]
        run = json.loads(athanor(options, "train", "--json", *given, "-o", scratch / f"{model}-{name}-{turn}"))
        planned.append(plan)
        ran.append(run)
    on_cpu = planned[0]["backend"] == "cpu"
    said = planned[0]["process_peak_bytes"] if on_cpu else planned[0]["memory"]["device_bytes"]
    held = max(run["peak_memory_bytes" if on_cpu else "device_peak_memory_bytes"] for run in ran)
    memory_is_good = abs(said - held) <= max(MEMORY_SHARE * held, MEMORY_BYTES)
    seconds_said = statistics.median(plan["time"]["seconds"] for plan in planned)
    seconds = statistics.median(run["seconds"] for run in ran)
    time_is_good = options.runs == 0 or abs(seconds_said - seconds) <= TIME_SHARE * seconds
    marks = ("" if memory_is_good else " MEMORY OFF") + ("" if time_is_good else " TIME OFF")
    print(f"| {model} | {name} | {said / 2**20:.1f} | {held / 2**20:.1f} | {(said - held) / 2**20:+.1f} ({(said / held - 1) * 100:+.1f} %) "
          f"| {seconds_said:.2f} | {seconds:.2f} | {(seconds_said / seconds - 1) * 100:+.0f} % |{marks}", flush=True)
    return memory_is_good and time_is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--athanor", default="build/release/athanor")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", default="tiny,small,llama-15m")
    parser.add_argument("--variants", default="all", help=", ".join(VARIANTS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2, help="for each plan's measurement")
    parser.add_argument("--batch-tokens", type=int, default=0)
    parser.add_argument("--max-length", type=int, default=0)
    parser.add_argument("--text", default="build/deps/shakespeare", help="text files or folders")
    options = parser.parse_args()
    names = list(VARIANTS) if options.variants == "all" else options.variants.split(",")
    models = options.models.split(",")
    print(f"{options.device}, load {os.getloadavg()[0]:.1f}; {options.steps} steps\n"
          "| model | variant | plan MiB | held MiB | difference | plan s | run s | difference |\n|---|---|---|---|---|---|---|---|", flush=True)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for model in models:
            vocabulary = {"tiny": 2048, "small": 4096}.get(model, 32000)
            tokenizer = scratch / f"{vocabulary}.json"
            if not tokenizer.exists():
                athanor(options, "tokenizer", "train", "--vocab-size", vocabulary, "-o", tokenizer, options.text)
            athanor(options, "data", "prepare", "-t", tokenizer, "-o", scratch / f"{model}.tokens", options.text)
            for name in names:
                good = judge(options, scratch, model, name) and good
    print("every prediction holds" if good else "some predictions are off")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
