#!/usr/bin/env python3
"""Kills training runs at random moments and resumes them, until each ends with the bytes of a run that was never killed. By hand: minutes.

Usage: soak_kills.py --athanor build/release/athanor [--kills 20] [--seed 1] [--only NAME]
For each optimizer and precision one run is killed --kills times by SIGKILL, each time after a random part of the time that the fastest
whole run took, so that steps, evaluations, checkpoints and the first start are all met; what was met is told. Every run that comes to its
end between two kills is compared too.
"""

import random
import shutil
import subprocess
import tempfile
import time

from program import Checks, Program, parser
from training_runs import SETTINGS, Runs, no_leftovers, same_bytes

STEPS = 40
KINDS = {
    "adamw": {"optim": "adamw_torch"},
    "adamw-mixed": {"optim": "adamw_torch", "precision": "mixed"},
    "adamw-8bit": {"optim": "adamw_8bit"},
    "adamw-8bit-mixed": {"optim": "adamw_8bit", "precision": "mixed"},
    "sgd": {"optim": "sgd", "learning-rate": 0.1},
    "muon": {"optim": "muon"},
    "muon-mixed": {"optim": "muon", "precision": "mixed"},
    "muon-averaged": {"optim": "muon", "ema-decay": 0.9},
}


def where_killed(run):
    """The step last logged, and whether a checkpoint was being written."""
    log = run / "metrics.jsonl"
    steps = log.read_text().count("\n") if log.exists() else 0
    return steps, any(".partial" in path.name for path in run.rglob("*"))


def command(runs, run, settings):
    """Begins the run, or goes on with what is there of it."""
    is_begun = (run / "config.yaml").exists()
    return ["train", "--resume", "-o", run, "-q"] if is_begun else runs.arguments(run.name, settings)


def soak(runs, rng, name, settings, kills):
    fastest = float("inf")
    for _ in range(2):
        shutil.rmtree(runs.folder / f"whole-{name}", ignore_errors=True)
        started = time.monotonic()
        whole = runs.train(f"whole-{name}", settings)
        fastest = min(fastest, time.monotonic() - started)
    run = runs.folder / f"killed-{name}"
    steps, writing, finished = [], 0, 0
    while len(steps) < kills:
        process = runs.program.start(*command(runs, run, settings))
        try:
            process.wait(timeout=fastest * rng.uniform(0.02, 0.6))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            step, is_writing = where_killed(run)
            steps.append(step)
            writing += is_writing
        else:
            assert process.returncode == 0, f"after {len(steps)} kills: exit {process.returncode}: {process.stderr.read().decode()}"
            same_bytes(run, whole, (STEPS,))
            no_leftovers(run)
            shutil.rmtree(run)
            finished += 1
        process.stderr.close()
    runs.program.must(*command(runs, run, settings))
    same_bytes(run, whole, (STEPS,))
    no_leftovers(run)
    return (f"{len(steps)} kills over {finished + 1} runs of {fastest:.1f} s, after steps {' '.join(map(str, steps))}; "
            f"{writing} while a checkpoint was being written")


def main():
    reader = parser(__doc__)
    reader.add_argument("--kills", type=int, default=20)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", choices=tuple(KINDS))
    options = reader.parse_args()
    rng = random.Random(options.seed)
    checks = Checks()
    # Large enough that most of the time goes into steps and checkpoints, and not into starting.
    settings = {**SETTINGS, "device": "cpu", "max-steps": STEPS, "save-steps": 5, "save-total-limit": 3, "model-config.hidden-size": 192,
                "model-config.intermediate-size": 512, "model-config.num-hidden-layers": 4,
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
