#!/usr/bin/env python3
"""What packing short documents naively costs or gains on real text: the table of docs/training.md.

    bench/packing.py [--athanor build/release/athanor] [--plays build/deps/shakespeare] [--steps 400]
Each speech of Shakespeare's plays is a document; those of Macbeth and The Tempest are judged by `athanor eval`, each by itself.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import tempfile

JUDGED = ("macbeth", "the-tempest")
MODEL = ["--model-config.hidden-size", 128, "--model-config.num-hidden-layers", 4, "--model-config.num-attention-heads", 4,
         "--model-config.num-key-value-heads", 4, "--model-config.max-position-embeddings", 128, "--per-device-train-batch-size", 8,
         "--learning-rate", 3e-3, "--sample-tokens", 0, "--eval-steps", 0, "--save-steps", 0, "--device", "cpu", "-q"]


def speeches(play):
    parts = re.split(r"^(?=\*\*[^*\n]+\*\*\s*$)", play.read_text(), flags=re.M)
    return [part.strip() for part in parts[1:] if part.strip()]


def write(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--athanor", default="build/release/athanor")
    parser.add_argument("--plays", default="build/deps/shakespeare", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=400)
    a = parser.parse_args()
    run = lambda *words: subprocess.run([a.athanor, *map(str, words)], check=True, capture_output=True, text=True).stdout
    plays = sorted(a.plays.glob("*.md"))
    train = [text for play in plays if play.stem not in JUDGED for text in speeches(play)]
    judged = [text for play in plays if play.stem in JUDGED for text in speeches(play)]
    print(f"{len(train)} speeches to train on, {len(judged)} to judge by")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test = write(folder / "judged.jsonl", judged)
        tokenizer = folder / "tokenizer.json"
        run("tokenizer", "train", *[play for play in plays if play.stem not in JUDGED], "-o", tokenizer, "--vocab-size", 2048)
        shuffled = train[:]
        random.Random(1).shuffle(shuffled)
        for order, texts in (("in their order", train), ("shuffled", shuffled)):
            data = write(folder / "train.jsonl", texts)
            for packing in ("documents", "naive"):
                out = folder / f"{order[:3]}-{packing}"
                run("train", data, "-o", out, "--tokenizer", tokenizer, "--packing", packing, "--max-steps", a.steps, *MODEL)
                total = json.loads(run("eval", "-m", out, test, "--json", "--device", "cpu", "-q"))["total"]
                print(f"{order}, {packing}: {total['loss']:.3f} nats a token, {total['bits_per_byte']:.3f} bits a byte", flush=True)


main()
