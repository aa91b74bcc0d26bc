#!/usr/bin/env bash
# Trains the same model with athanor and with PyTorch in turn on the same two cores and prints the ratio of each pair and of the best of each.
#   ./scripts/setup.sh --bench && ./bench/compare_pytorch.sh [pairs]          (needs build/release/athanor)
# PyTorch is tried first with its own thread setting, one and two threads, and with its OpenBLAS choosing a kernel or told one:
# Debian's 0.3.21 takes new processors for a Prescott and then has a third of its speed. The pairs use the fastest.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${1:-3}
cores=${CORES:-0,1}
python=${PYTHON:-/usr/bin/python3}
athanor=${ATHANOR:-build/release/athanor}
"$python" -c 'import torch' 2>/dev/null || { echo "PyTorch is missing; run ./scripts/setup.sh --bench" >&2; exit 1; }
[ -x "$athanor" ] || { echo "$athanor is missing; build it with ./scripts/test.sh or ./scripts/demo.sh" >&2; exit 1; }

ours() { taskset -c "$cores" "$athanor" bench train --device cpu --json --vocab-size 512 --model-config.hidden-size 256 \
  --model-config.num-hidden-layers 4 --model-config.num-attention-heads 4 --model-config.intermediate-size 1024 \
  --model-config.max-position-embeddings 256 --model-config.tie-word-embeddings true --per-device-train-batch-size 4; }
theirs() { env ${2:+OPENBLAS_CORETYPE=$2} taskset -c "$cores" "$python" bench/torch_train.py --threads "$1"; }
field() { "$python" -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

best=0; threads=0; core=
for c in "" Haswell SkylakeX; do
  for t in 0 1 2; do
    rate=$(theirs "$t" "$c" | field tokens_per_second)
    printf 'pytorch, OpenBLAS kernel %s, set_num_threads %s: %.0f tok/s\n' "${c:-its own choice}" "$t" "$rate"
    if awk "BEGIN{exit !($rate > $best)}"; then best=$rate; threads=$t; core=$c; fi
  done
done
best_a=0; best_b=0
for i in $(seq "$pairs"); do
  a=$(ours); b=$(theirs "$threads" "$core")
  ra=$(field tokens_per_second <<<"$a"); rb=$(field tokens_per_second <<<"$b")
  ma=$(field peak_memory_bytes <<<"$a"); mb=$(field peak_memory_bytes <<<"$b")
  awk "BEGIN{printf \"pair $i: athanor %.0f tok/s, %.0f MiB; pytorch %.0f tok/s, %.0f MiB; ratio %.2f\n\", $ra, $ma/1048576, $rb, $mb/1048576, $ra/$rb}"
  best_a=$(awk "BEGIN{print ($ra > $best_a) ? $ra : $best_a}"); best_b=$(awk "BEGIN{print ($rb > $best_b) ? $rb : $best_b}")
done
awk "BEGIN{printf \"best of each: athanor %.0f tok/s, pytorch %.0f tok/s, ratio %.2f\n\", $best_a, $best_b, $best_a/$best_b}"
