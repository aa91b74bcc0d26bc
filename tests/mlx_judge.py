#!/usr/bin/env python3
"""Other programs read what athanor saves: mlx-lm the model, tokenizers the tokenizer, safetensors the rest.

Usage: mlx_judge.py --athanor build/release/athanor --logits build/release/tests/logits_dump
Trains two small grouped-query models on the CPU, one with its own head, one with a tied one. Leaves nothing behind.
"""

import json
import pathlib
import subprocess
import tempfile

import mlx.core as mx
import numpy as np
from mlx_lm import load, stream_generate
from mlx_lm.sample_utils import make_sampler
from safetensors import safe_open
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from program import SMALL_MODEL, Checks, Program, flags, make_text, parser

STEPS = 300
NEW_TOKENS = 32
LARGEST_DIFFERENCE = 1e-3


class Saved:
    """A run and its only checkpoint, with mlx-lm's reading of it."""

    def __init__(self, program, logits, run, text):
        self.program = program
        self.logits = logits
        self.run = run
        self.folder = run / f"checkpoint-{STEPS}"
        self.text = text

    def load(self):
        self.model, self.tokenizer = load(str(self.folder))
        return f"{sum(v.size for _, v in leaves(self.model.parameters()))} weights"

    def greedy(self):
        written = set()
        for begin in (100, 1000, 2000):
            written.update(self.greedy_from(self.text[begin:begin + 50]))
        assert len(written) >= 12, f"only {len(written)} different ids: the model has learned too little to tell models apart"
        return f"3 x {NEW_TOKENS} tokens, {len(written)} different ids"

    def greedy_from(self, prompt):
        ours = json.loads(self.program.must("generate", "-m", self.run, "-p", prompt, "--temp", 0, "-n", NEW_TOKENS, "--json",
                                            "--device", "cpu"))
        assert len(ours["tokens"]) == NEW_TOKENS, f"athanor wrote {len(ours['tokens'])} tokens ({ours['stop']})"
        ids = self.tokenizer.encode(prompt)
        theirs = [r.token for r in stream_generate(self.model, self.tokenizer, ids, max_tokens=NEW_TOKENS, sampler=make_sampler(temp=0))]
        assert ours["tokens"] == theirs, f"after {prompt!r} athanor wrote {ours['tokens']}, mlx-lm {theirs}"
        text = Tokenizer.from_file(str(self.folder / "tokenizer.json")).decode(theirs, skip_special_tokens=False)
        assert ours["text"] == text, f"athanor's text is {ours['text']!r}, theirs {text!r}"
        return theirs

    def same_logits(self):
        ids = self.tokenizer.encode(self.text[:200])[:60]
        done = subprocess.run([self.logits, str(self.folder), *map(str, ids)], capture_output=True, check=False, text=True)
        assert done.returncode == 0, done.stderr
        ours = np.array(json.loads(done.stdout), dtype=np.float64)
        theirs = np.array(self.model(mx.array([ids]))[0].astype(mx.float32), dtype=np.float64)
        assert ours.shape == theirs.shape, f"athanor's logits are {ours.shape}, mlx-lm's {theirs.shape}"
        # Logits that hardly vary would agree whatever the model did.
        assert theirs.std() > 1, f"the logits spread by {theirs.std():.3f} only: the model has learned nothing"
        difference = np.abs(ours - theirs).max()
        assert difference < LARGEST_DIFFERENCE, f"logits differ by {difference:.2e}, more than {LARGEST_DIFFERENCE}"
        return f"{ours.shape[0]} rows differ by at most {difference:.1e}, largest {np.abs(theirs).max():.2f}"

    def same_ids(self):
        texts = ["ığüşöç İI", "天地玄黄,宇宙洪荒。", "👩‍👩‍👧 🇹🇷", "for (int i = 0; i < n; ++i) {\n\treturn x[i];\n}\n", self.text[:3000],
                 bytes(range(256)).decode("latin-1")]
        reader = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        for text in texts:
            ours = json.loads(self.program.must("tokenizer", "encode", "-t", self.folder / "tokenizer.json", "--json", "-",
                                                data=text.encode()))
            theirs = reader.encode(text).ids
            assert ours == theirs, f"{text[:20]!r}: athanor {ours[:8]}, tokenizers {theirs[:8]}"
            assert self.tokenizer.encode(text) == theirs, f"{text[:20]!r}: mlx-lm's tokenizer gives other ids than its file"
            assert reader.decode(ours, skip_special_tokens=False) == text, f"{text[:20]!r}: does not come back"
        return f"{len(texts)} texts"

    def weights(self, tied):
        weights = load_file(self.folder / "model.safetensors")
        config = json.loads((self.folder / "config.json").read_text())
        assert config["tie_word_embeddings"] == tied
        assert ("lm_head.weight" in weights) != tied, f"lm_head.weight with tie_word_embeddings {tied}"
        assert weights["model.layers.1.self_attn.k_proj.weight"].shape == (32, 64)
        assert all(v.dtype == np.float32 and np.isfinite(v).all() for v in weights.values())
        with safe_open(self.folder / "model.safetensors", "np") as file:
            assert file.metadata() == {"format": "pt"}, file.metadata()
        moments = load_file(self.folder / "optimizer.safetensors")
        wanted = {f"{name}.{moment}" for name in weights for moment in ("exp_avg", "exp_avg_sq")}
        assert set(moments) == wanted, f"optimizer.safetensors: {sorted(set(moments) ^ wanted)[:4]} on one side only"
        for name, values in moments.items():
            assert values.size == weights[name.rsplit(".", 1)[0]].size, name
            assert np.isfinite(values).all() and np.abs(values).max() > 0, f"{name} is all zero or not finite"
            assert not name.endswith("_sq") or values.min() >= 0, f"{name} has a negative square"
        return f"{len(weights)} weights, {len(moments)} moments"

    def tokens(self):
        path = self.run / "tokens.safetensors"
        arrays = load_file(path)
        with safe_open(path, "np") as file:
            metadata = file.metadata()
        tokenizer = Tokenizer.from_str(metadata["tokenizer"])
        tokens, documents = arrays["tokens"], arrays["documents"]
        assert tokens.dtype == np.uint16 and documents.dtype == np.uint64, (tokens.dtype, documents.dtype)
        assert documents[0] == 0 and documents[-1] == len(tokens) and (np.diff(documents.astype(np.int64)) > 0).all()
        end = tokenizer.token_to_id("<|endoftext|>")
        assert tokens[-1] == end, f"the document ends with {tokens[-1]}, not with {end}"
        assert tokenizer.decode(tokens[:-1].tolist(), skip_special_tokens=False) == self.text, "the tokens do not decode to the text"
        assert metadata["tokenizer"] == (self.folder / "tokenizer.json").read_text(), "two tokenizers in one run"
        return f"{len(tokens)} tokens"


def leaves(tree, prefix=""):
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for name, value in items:
        if isinstance(value, (dict, list)):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def main():
    options = parser(__doc__, "logits").parse_args()
    program = Program(options.athanor)
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        text = make_text(60000)
        (folder / "text.txt").write_text(text)
        for name, tied in (("its own head", "false"), ("a tied head", "true")):
            run = folder / tied
            program.must("train", folder / "text.txt", "-o", run, "--device", "cpu", "-q", *flags({
                **SMALL_MODEL, "model-config.tie-word-embeddings": tied, "max-steps": STEPS, "learning-rate": 0.005, "warmup-steps": 20}))
            saved = Saved(program, options.logits, run, text)
            checks.check(f"mlx-lm loads a model with {name}", saved.load)
            checks.check(f"greedy continuation with {name} is mlx-lm's", saved.greedy)
            checks.check(f"logits with {name} are mlx-lm's", saved.same_logits)
            checks.check(f"ids of the folder's tokenizer ({name}) are those of tokenizers", saved.same_ids)
            checks.check(f"safetensors reads weights and moments with {name}", saved.weights, tied == "true")
        checks.check("safetensors and tokenizers read the token file", saved.tokens)
    checks.finish()


if __name__ == "__main__":
    main()
