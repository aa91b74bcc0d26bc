#!/usr/bin/env python3
"""Compares athanor's tokenizer with the PyPI package tokenizers: ids from our tokenizer.json, and training.

Usage: tokenizer_judge.py --athanor build/release/athanor --plays FOLDER [--report]
Every comparison is exact; --report also prints times side by side. Leaves nothing behind.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import time
import unicodedata

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

SPLITS = ("tekken", "gpt2", "llama3")
ENGLISH = "It was the best of times, it wasn't the worst of times; DON'T say I'll, we've, they'd or 'tis. 1,234.5 (e.g.)\n\n\tEnd  "
TURKISH = "ığüşöç İI: Ankara'dan İstanbul'a gittik; çalışkan öğrencilerin ödevleri IĞDIR'da."
CHINESE = "天地玄黄,宇宙洪荒。日月盈昃,辰宿列张。ABC中文123混合。「引号」"
EMOJI = "👩‍👩‍👧‍👦 family, 🏳️‍🌈 flag, 👍🏽 thumb, e\u0301 combining, 🇹🇷🇨🇳"
CODE = "for (int i = 0; i < n; ++i) {\n\treturn x[i] / 2;  // half\r\n}\n\n\ndef f(self, *a): # TODO\n    return {'k': a[0:3]}\n"


def random_texts(count):
    """Latin-1 strings, and strings over all assigned characters."""
    rng = random.Random(1)
    assigned = [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Cn", "Co")]
    ascii_mix = " \n\t\r'aZ1/.sSdl"
    for _ in range(count):
        yield bytes(rng.randrange(256) for _ in range(rng.randrange(200))).decode("latin-1")
        yield "".join(rng.choice(assigned) for _ in range(rng.randrange(100)))
        yield "".join(rng.choice(assigned) if rng.random() < 0.2 else rng.choice(ascii_mix) for _ in range(rng.randrange(150)))


class Judge:
    def __init__(self, athanor, plays, folder, report):
        self.athanor = athanor
        self.folder = pathlib.Path(folder)
        self.report = report
        self.files = sorted(pathlib.Path(plays).rglob("*.md"))
        assert len(self.files) >= 30, f"{plays} holds {len(self.files)} plays"
        self.texts = [file.read_bytes().decode() for file in self.files]

    def run(self, *args, data=None):
        done = subprocess.run([self.athanor, *args], input=data, capture_output=True, check=False)
        assert done.returncode == 0, f"{args}: {done.stderr.decode()}"
        return done.stdout

    def train(self, split, size):
        path = self.folder / f"{split}-{size}.json"
        begin = time.perf_counter()
        self.run("tokenizer", "train", "--vocab-size", str(size), "--split", split, "-o", str(path), *map(str, self.files))
        return path, time.perf_counter() - begin

    def train_peer(self, path, size):
        """The same pre-tokenizer, special token, alphabet and least frequency as athanor's."""
        pattern = json.loads(path.read_text())["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
        peer = Tokenizer(models.BPE())
        peer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ])
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<|endoftext|>"], min_frequency=2, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        begin = time.perf_counter()
        peer.train_from_iterator((file.read_bytes().decode() for file in self.files), trainer)
        return peer, time.perf_counter() - begin

    def ids(self, path, text, *options):
        return json.loads(self.run("tokenizer", "encode", "-t", str(path), "--json", *options, "-", data=text.encode()))

    def compare_ids(self, path, name, text):
        reader = Tokenizer.from_file(str(path))
        reader.encode_special_tokens = True
        ours = self.ids(path, text)
        theirs = reader.encode(text).ids
        assert ours == theirs, f"{path.name}: {name}: {first_difference(ours, theirs)}"
        assert reader.decode(ours, skip_special_tokens=False) == text, f"{path.name}: {name}: their decoding differs"
        back = self.run("tokenizer", "decode", "-t", str(path), "-", data=json.dumps(ours).encode())
        assert back == text.encode(), f"{path.name}: {name}: our decoding differs"

    def compare_special(self, path):
        text = "a<|endoftext|>b <|endoftext|>"
        theirs = Tokenizer.from_file(str(path)).encode(text).ids
        assert self.ids(path, text, "--parse-special") == theirs
        assert 0 in theirs and 0 not in self.ids(path, text)

    def compare_training(self, split, size):
        path, seconds = self.train(split, size)
        peer, peer_seconds = self.train_peer(path, size)
        ours = Tokenizer.from_file(str(path))
        texts = self.texts if self.report else self.texts[::6]  # the peer takes its time
        count = sum(len(encoding.ids) for encoding in ours.encode_batch(texts))
        peer_count = sum(len(encoding.ids) for encoding in peer.encode_batch(texts))
        same = ours.get_vocab() == peer.get_vocab()
        print(f"{split} {size}: {count} tokens, tokenizers {peer_count} ({count / peer_count - 1:+.3%}); "
              f"the same vocabulary: {same}; trained in {seconds:.2f} s, tokenizers {peer_seconds:.2f} s")
        assert ours.get_vocab_size() <= size
        assert count <= 1.01 * peer_count, "compresses worse than the trainer of tokenizers by more than 1 %"
        if not self.report:
            return path
        assert seconds <= peer_seconds, "trains slower than tokenizers"
        return path


def first_difference(ours, theirs):
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    return f"ids differ from {at}: {ours[at:at + 5]} against {theirs[at:at + 5]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--athanor", required=True)
    parser.add_argument("--plays", required=True)
    parser.add_argument("--report", action="store_true", help="also 16k vocabularies, and refuse to be slower")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(options.athanor, options.plays, folder, options.report)
        for split in SPLITS:
            for size in (2048, 16384) if options.report else (2048,):
                path = judge.compare_training(split, size)
            # One text of all random ones costs one process; the parts meet at a line's end, in other places than alone.
            texts = {"English": ENGLISH, "Turkish": TURKISH, "Chinese": CHINESE, "emoji": EMOJI, "code": CODE,
                     "random": "\n".join(random_texts(300)), "Shakespeare": "".join(judge.texts[:2]),
                     "a special token as text": "x<|endoftext|>y", "one letter": "x" * 20000, "spaces": " " * 20000 + "x"}
            for name, text in texts.items():
                judge.compare_ids(path, name, text)
            judge.compare_special(path)
    print("ids and training agree with tokenizers")


if __name__ == "__main__":
    main()
