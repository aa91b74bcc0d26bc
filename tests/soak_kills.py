#!/usr/bin/env python3
"""Kills training runs at random moments and resumes them, until each ends with the bytes of a run that was never killed. By hand: minutes.

Usage: soak_kills.py --athanor build/release/athanor [--kills 20] [--seed 1] [--only NAME]
For each optimizer and precision one run is killed --kills times by SIGKILL, each time after a random part of the time that the whole run
took, so that steps, evaluations, checkpoints and the first start are all met.
"""

import random
import shutil
import subprocess
import tempfile
import time

from program import Checks, Program, parser
from runs import SETTINGS, Runs, no_leftovers, same_bytes

STEPS = 40
KINDS = {
    "adamw": {"optim": "adamw_torch"},
    "adamw-mixed": {"optim": "adamw_torch", "precision": "mixed"},
    "adamw-8bit": {"optim": "adamw_8bit"},
    "adamw-8bit-mixed": {"optim": "adamw_8bit", "precision": "mixed"},
    "sgd": {"optim": "sgd", "learning-rate": 0.1},
    "muon": {"optim": "muon"},
    "muon-averaged": {"optim": "muon", "ema-decay": 0.9},
}


def soak(runs, rng, name, settings, kills):
    started = time.monotonic()
    whole = runs.train(f"whole-{name}", settings)
    seconds = time.monotonic() - started
    run = runs.folder / f"killed-{name}"
    done, finished = 0, 0
    while done < kills:
        if not (run / "config.yaml").exists():
            arguments = runs.arguments(run.name, settings)
        else:
            arguments = ["train", "--resume", "-o", run, "-q"]
        process = runs.program.start(*arguments)
        try:
            process.wait(timeout=seconds * rng.uniform(0.02, 0.4))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            done += 1
        else:
            assert process.returncode == 0, f"after {done} kills: exit {process.returncode}: {process.stderr.read().decode()}"
            same_bytes(run, whole, (STEPS,))
            no_leftovers(run)
            shutil.rmtree(run)
            finished += 1
        process.stderr.close()
    runs.program.must(*(["train", "--resume", "-o", run, "-q"] if (run / "config.yaml").exists() else runs.arguments(run.name, settings)))
    same_bytes(run, whole, (STEPS,))
    no_leftovers(run)
    return f"{done} kills over {finished + 1} runs, a whole one takes {seconds:.1f} s"


def main():
    reader = parser(__doc__)
    reader.add_argument("--kills", type=int, default=20)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", choices=tuple(KINDS))
    options = reader.parse_args()
    rng = random.Random(options.seed)
    checks = Checks()
    settings = {**SETTINGS, "device": "cpu", "max-steps": STEPS, "save-steps": 5, "save-total-limit": 3,
                "per-device-train-batch-size": 1, "gradient-accumulation-steps": 4}
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Program(options.athanor), folder)
        for name, changed in KINDS.items():
            if options.only in (None, name):
                checks.check(f"{name} killed {options.kills} times ends with the bytes of the run that was never killed",
                             lambda: soak(runs, rng, name, {**settings, **changed}, options.kills))
    checks.finish()


if __name__ == "__main__":
    main()
