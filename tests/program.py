"""What the tests written in Python share: running athanor, text to train on, and a checker that counts what failed."""

import argparse
import os
import pathlib
import random
import subprocess
import sys

LIBRARIES = ("wgpu_native", "webgpu_dawn")

# A model that trains in a second, with grouped queries. The keys of settings come as flags.
SMALL_MODEL = {
    "model-config.hidden-size": 64, "model-config.intermediate-size": 96, "model-config.num-hidden-layers": 2,
    "model-config.num-attention-heads": 4, "model-config.num-key-value-heads": 2,
    "model-config.max-position-embeddings": 64, "vocab-size": 320, "sample-tokens": 0,
}


class Program:
    """The athanor program with an environment free of what the caller's shell says about athanor."""

    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("ATHANOR_", "VK_"))}
        self.environment["NO_COLOR"] = "1"

    def run(self, *args, data=None, env=None, folder=None, timeout=600):
        """Code, stdout and stderr, both as text."""
        done = subprocess.run([self.path, *map(str, args)], input=data, capture_output=True, check=False, cwd=folder,
                              env={**self.environment, **(env or {})}, timeout=timeout)
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
        return done

    def must(self, *args, **options):
        """stdout of a run that has to succeed."""
        done = self.run(*args, **options)
        if done.returncode != 0:
            raise AssertionError(f"athanor {' '.join(map(str, args))}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def start(self, *args, env=None):
        return subprocess.Popen([self.path, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env={**self.environment, **(env or {})})


def software_vulkan(deps, library):
    """Environment under which --device webgpu is software Vulkan through one WebGPU library."""
    deps = pathlib.Path(deps).resolve()
    paths = {"ATHANOR_WEBGPU_LIBRARY": deps / "webgpu/lib" / f"lib{library}.so",
             "VK_DRIVER_FILES": deps / "mesa/lavapipe_icd.json"}
    for path in paths.values():
        assert path.exists(), f"{path} is missing; run scripts/setup.sh --tests"
    return {name: str(path) for name, path in paths.items()}


def flags(settings):
    """{"max-steps": 3} to ["--max-steps", "3"]."""
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def make_text(size, seed=1):
    """About `size` bytes of sentences over 300 made-up words, each with its few usual followers: something to learn."""
    rng = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(300)]
    followers = [rng.sample(range(300), 6) for _ in words]
    out, length, at = [], 0, 0
    while length < size:
        sentence = []
        for _ in range(rng.randint(4, 12)):
            at = rng.choice(followers[at])
            sentence.append(words[at])
        line = " ".join(sentence).capitalize() + rng.choice((". ", ", and so. ", "!\n", ".\n\n"))
        out.append(line)
        length += len(line)
    return "".join(out)


class Checks:
    """Runs named checks one after the other, so that one failure does not hide the rest."""

    def __init__(self):
        self.count = 0
        self.failures = []

    def check(self, name, function, *args):
        self.count += 1
        try:
            detail = function(*args)
        except Exception as error:  # any: it is a failed check, with its reason
            self.failures.append(name)
            print(f"FAILED  {name}: {type(error).__name__ + ': ' if not isinstance(error, AssertionError) else ''}{error}", flush=True)
            return
        print(f"ok      {name}{f': {detail}' if detail else ''}", flush=True)

    def finish(self):
        print(f"{self.count - len(self.failures)} of {self.count} checks passed")
        sys.exit(1 if self.failures else 0)


def parser(description, *names):
    """--athanor PATH and the other paths named."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("athanor", *names):
        result.add_argument(f"--{name}", required=True)
    return result
