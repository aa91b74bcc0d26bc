"""What the tests of whole runs share: the small run, and comparisons of two of them."""

import filecmp
import json
import pathlib

from program import SMALL_MODEL, flags, make_text

STEPS = 20
SETTINGS = {**SMALL_MODEL, "max-steps": STEPS, "save-steps": 10, "save-total-limit": 0, "eval-steps": 10, "warmup-steps": 5,
            "per-device-train-batch-size": 4, "learning-rate": 0.003}
SAME_BYTES = ("model.safetensors", "optimizer.safetensors")


class Runs:
    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.text = self.folder / "text.txt"
        self.text.write_text(make_text(60000))

    def arguments(self, name, settings):
        return ["train", self.text, "-o", self.folder / name, "-q", *flags(settings)]

    def train(self, name, settings, env=None):
        self.program.must(*self.arguments(name, settings), env=env)
        return self.folder / name

    def resume(self, run, env=None):
        self.program.must("train", "--resume", "-o", run, "-q", env=env)


def metrics(run):
    """What metrics.jsonl says that depends on numbers and not on time; each step once and in order."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        line.pop("tokens_per_second")
        assert line.pop("mfu") > 0, line
    return lines


def losses(run):
    return [line["loss"] for line in metrics(run)]


def same_bytes(a, b, steps=(STEPS,)):
    """Weights and moments of two runs, byte for byte, and the log."""
    for step in steps:
        for name in SAME_BYTES:
            x, y = a / f"checkpoint-{step}" / name, b / f"checkpoint-{step}" / name
            assert filecmp.cmp(x, y, shallow=False), f"{name} of step {step} differs between {a.name} and {b.name}"
    ours, theirs = metrics(a), metrics(b)
    assert [line["step"] for line in ours] == list(range(1, max(steps) + 1)), f"{a.name}: steps {[line['step'] for line in ours]}"
    for x, y in zip(ours, theirs, strict=True):
        assert x == y, f"metrics differ: {x} and {y}"


def differs(a, b):
    x, y = (run / f"checkpoint-{STEPS}" / "model.safetensors" for run in (a, b))
    assert not filecmp.cmp(x, y, shallow=False), "two seeds gave the same weights: the comparison shows nothing"


def largest_difference(a, b):
    return max(abs(x - y) / abs(y) for x, y in zip(losses(a), losses(b), strict=True))


def no_leftovers(run):
    left = [str(path) for path in run.parent.rglob("*") if ".partial" in path.name]
    assert not left, f"left behind: {left}"
