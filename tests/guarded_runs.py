#!/usr/bin/env python3
"""Runs that something goes wrong in, and runs that end otherwise than planned: infinite gradients, a learning rate that ruins the weights,
batches without a target, damaged checkpoints, early stopping, longer runs, an average of the weights.

Usage: guarded_runs.py --athanor build/release/athanor
Leaves nothing behind.
"""

import filecmp
import json
import re
import shutil
import struct
import tempfile

from program import Checks, Program, flags, parser
from training_runs import SAME_BYTES, SETTINGS, Runs, losses, metrics, no_leftovers, same_bytes


def check_guard(runs, checks):
    settings = {**SETTINGS, "device": "cpu", "max-steps": 60, "save-steps": 10, "eval-steps": 20}
    clean = runs.train("clean", settings)
    checks.check("an infinite gradient changes nothing, is named, and the run ends within 1 % of the clean one's loss",
                 lambda: infinite_gradient(runs, settings, clean))
    checks.check("infinite gradients in a row are survived by a rollback", lambda: infinite_in_a_row(runs, settings, clean))
    checks.check("a learning rate of 1000 at one step is survived by a rollback", lambda: huge_rate(runs, settings, clean))
    checks.check("a learning rate of 1000 at the very last step is seen before the run is called good", lambda: huge_at_the_end(runs, settings, clean))
    checks.check("killed after a rollback and resumed it has the same bytes", lambda: killed_after_rollback(runs, settings))
    checks.check("batches without a target change no weight and are warned of", lambda: without_targets(runs, settings))
    checks.check("ruined before the first checkpoint the run begins again", lambda: ruined_early(runs, settings))
    checks.check("with guard_action stop it ends and names what is good", lambda: stops(runs, settings))
    checks.check("patience stops early and keeps the best", lambda: stops_early(runs, settings))
    checks.check("a longer run keeps the last rate and says so", lambda: goes_on(runs, settings))
    checks.check("a longer schedule of warmup_stable_decay starts at the last stable checkpoint", lambda: is_stretched(runs, settings))
    checks.check("the average of the weights is evaluated, saved and generated from", lambda: averaged(runs, settings))
    checks.check("damaged checkpoints are passed over and named", lambda: damaged(runs, settings, clean))
    checks.check("another optimizer is refused", lambda: refuses_optimizer(runs, clean))
    checks.check("no file is left over", lambda: no_leftovers(clean))


def faulty(runs, name, settings, fault, code=0):
    done = runs.program.run(*[a for a in runs.arguments(name, settings) if a != "-q"], env={"ATHANOR_FAULT": fault})
    assert done.returncode == code, f"exit {done.returncode}: {done.stderr}"
    return done.stderr


def near(run, clean):
    ours, theirs = (sum(losses(r)[-5:]) / 5 for r in (run, clean))
    assert abs(ours - theirs) <= 0.01 * theirs, f"loss {ours:.4f}, of the clean run {theirs:.4f}"
    return f"{ours:.4f} and {theirs:.4f}"


def infinite_gradient(runs, settings, clean):
    said = faulty(runs, "infinite", settings, "infinite-gradient:31:31")
    assert re.search(r"step 31: a gradient is not finite, first in model\.layers\.\d+\.\S+; the step changed nothing \(rows 120 to 123 of the run, document 0\)",
                     said), said
    lines = metrics(runs.folder / "infinite")
    assert [line["step"] for line in lines if line.get("refused") == "not finite"] == [31], lines[30]
    return near(runs.folder / "infinite", clean)


def infinite_in_a_row(runs, settings, clean):
    said = faulty(runs, "in-a-row", settings, "infinite-gradient:34:36")
    assert re.search(r"the run goes back to \S+checkpoint-30 \(step 30\) and on with 0\.5 of the learning rate \(rollback 1 of at most 3\)", said), said
    rates = [line["learning_rate"] for line in metrics(runs.folder / "in-a-row")]
    of_clean = [line["learning_rate"] for line in metrics(clean)]
    assert rates[29] == of_clean[29] and abs(rates[30] - of_clean[30] / 2) < 1e-12, rates[28:32]
    state = json.loads((runs.folder / "in-a-row" / "checkpoint-60" / "trainer_state.json").read_text())
    assert state["guard"]["rollbacks"] == 1 and state["guard"]["rate_factor"] == 0.5, state["guard"]
    # The batches of steps 31 to 36 are not taken again.
    assert state["guard"]["skipped_batches"] == 6 and "the 6 batches taken since are left out" in said, (state["guard"], said)
    assert losses(runs.folder / "in-a-row")[30] != losses(clean)[30], "the same batch was taken again"


def huge_rate(runs, settings, clean):
    # The very step before a checkpoint: the ruined checkpoint must go.
    said = faulty(runs, "huge", settings, "huge-rate:30:30")
    assert "checkpoint-30: was saved when the run was in trouble already; it is removed" in said, said
    assert re.search(r"the run goes back to \S+checkpoint-20 \(step 20\)", said), said
    run = runs.folder / "huge"
    assert [line["step"] for line in metrics(run)] == list(range(1, 61))
    # Half of the rate from step 20 on: behind the clean run, and no more than that.
    assert losses(run)[-1] < losses(clean)[-1] + 0.5, f"{losses(run)[-1]} and {losses(clean)[-1]}"
    return f"loss {losses(run)[-1]:.3f}, of the clean run {losses(clean)[-1]:.3f}"


def huge_at_the_end(runs, settings, clean):
    said = faulty(runs, "huge-at-the-end", settings, "huge-rate:60:60")
    assert "step 60: with its weights the loss of the next batches is" in said, said
    assert re.search(r"the run goes back to \S+checkpoint-50 \(step 50\)", said), said
    run = runs.folder / "huge-at-the-end"
    assert [line["step"] for line in metrics(run)] == list(range(1, 61)) and (run / "latest").read_text() == "checkpoint-60\n"
    assert losses(run)[-1] < losses(clean)[-1] + 0.5 and metrics(run)[-1]["val_loss"] < metrics(clean)[-1]["val_loss"] + 0.5, metrics(run)[-1]


def killed_after_rollback(runs, settings):
    run = runs.folder / "killed-after-rollback"
    # As the run would lie there, killed after its checkpoint of step 40.
    shutil.copytree(runs.folder / "in-a-row", run)
    for step in (50, 60):
        shutil.rmtree(run / f"checkpoint-{step}", ignore_errors=True)
    (run / "latest").write_text("checkpoint-40\n")
    runs.resume(run)
    same_bytes(run, runs.folder / "in-a-row", (60,))


def write_tokens(path, tokens, offsets, tokenizer):
    """A token file as docs/formats.md describes it."""
    documents = struct.pack(f"<{len(offsets)}Q", *offsets)
    values = struct.pack(f"<{len(tokens)}H", *tokens)
    header = {"__metadata__": {"tokenizer": tokenizer},
              "documents": {"dtype": "U64", "shape": [len(offsets)], "data_offsets": [0, len(documents)]},
              "tokens": {"dtype": "U16", "shape": [len(tokens)], "data_offsets": [len(documents), len(documents) + len(values)]}}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + documents + values)


def without_targets(runs, settings):
    """Documents of one token each, none an end of text: the token that follows is another document's, so nothing is predicted."""
    tokenizer = runs.folder / "tokenizer.json"
    runs.program.must("tokenizer", "train", "--vocab-size", 320, "-o", tokenizer, runs.text)
    tokens = runs.folder / "single.safetensors"
    count = 2000
    write_tokens(tokens, [1 + i % 319 for i in range(count)], list(range(count + 1)), tokenizer.read_text())
    own = {**settings, "max-steps": 3, "save-steps": 1, "eval-steps": 3, "weight-decay": 0.1, "validation-data": runs.text}
    done = runs.program.run("train", tokens, "-o", runs.folder / "single", *flags(own))
    assert done.returncode == 0, done.stderr
    for step in (1, 2, 3):
        assert f"step {step}: no token of the batch counts for the loss; nothing was changed" in done.stderr, done.stderr
    lines = metrics(runs.folder / "single")
    assert [(line["step"], line["trained_tokens"], line.get("refused")) for line in lines] == [(i, 0, "no targets") for i in (1, 2, 3)], lines
    first, last = (runs.folder / "single" / f"checkpoint-{step}" for step in (1, 3))
    for name in SAME_BYTES:
        assert filecmp.cmp(first / name, last / name, shallow=False), f"{name} changed"


def ruined_early(runs, settings):
    said = faulty(runs, "early", {**settings, "save-steps": 0}, "huge-rate:5:5")
    assert "the run goes back to the beginning (step 0)" in said, said
    assert [line["step"] for line in metrics(runs.folder / "early")] == list(range(1, 61))


def stops(runs, settings):
    said = faulty(runs, "stops", {**settings, "guard-action": "stop"}, "huge-rate:32:32", code=1)
    error = said.splitlines()[-1]
    assert error.startswith("error: train: step") and "checkpoint-30" in error and "--resume" in error, said
    run = runs.folder / "stops"
    assert (run / "latest").read_text() == "checkpoint-30\n" and not (run / "checkpoint-40").exists()


def stops_early(runs, settings):
    # A rate so large that the loss goes up and down.
    own = {**settings, "eval-steps": 2, "save-steps": 50, "learning-rate": 0.3, "lr-scheduler-type": "constant", "guard-patience": 0,
           "patience": 2, "save-total-limit": 1}
    done = runs.program.run(*[a for a in runs.arguments("patience", own) if a != "-q"])
    assert done.returncode == 0, done.stderr
    found = re.search(r"val_loss has not fallen for 2 evaluations: the run stops at step (\d+)", done.stderr)
    assert found and int(found.group(1)) < 60, done.stderr
    run = runs.folder / "patience"
    values = {line["step"]: line["val_loss"] for line in metrics(run) if "val_loss" in line}
    best = min(values, key=values.get)
    assert (run / f"checkpoint-{best}").is_dir(), f"the best, {best}, is gone: {sorted(p.name for p in run.glob('checkpoint-*'))}"
    assert int(found.group(1)) == best + 4, (best, found.group(0))
    again = runs.program.run("train", "--resume", "-o", run)
    assert again.returncode == 0 and "nothing is left to do" in again.stderr, again.stderr


def goes_on(runs, settings):
    run = runs.folder / "longer"
    shutil.copytree(runs.folder / "clean", run)
    done = runs.program.run("train", "--resume", "-o", run, "--max-steps", 70)
    assert done.returncode == 0, done.stderr
    assert "the run goes on to step 70 but the rate's schedule ends at step 60 as before: the rate stays at 0.0003" in done.stderr, done.stderr
    rates = [line["learning_rate"] for line in metrics(run)]
    assert all(abs(rate - 0.0003) < 1e-9 for rate in rates[59:]) and len(rates) == 70, rates[58:]
    done = runs.program.run("train", "--resume", "-o", run, "--max-steps", 80, "--lr-scheduler-steps", 80)
    assert done.returncode == 0 and "spans 80 steps from now on, 60 before: step 71 takes" in done.stderr, done.stderr


def is_stretched(runs, settings):
    own = {**settings, "lr-scheduler-type": "warmup_stable_decay", "decay-ratio": 0.25, "save-total-limit": 1, "save-steps": 20}
    run = runs.train("stable", own)
    assert (run / "checkpoint-45").is_dir() and not (run / "checkpoint-20").exists(), sorted(p.name for p in run.glob("checkpoint-*"))
    rates = [line["learning_rate"] for line in metrics(run)]
    assert rates[44] == 0.003 and rates[45] < 0.003 and abs(rates[59] - 0.0003) < 1e-9, rates[43:]
    done = runs.program.run("train", "--resume", "-o", run, "--max-steps", 80, "--lr-scheduler-steps", 80)
    assert done.returncode == 0, done.stderr
    assert re.search(r"going back from step 60 to \S+checkpoint-45, the last checkpoint before the decay", done.stderr), done.stderr
    whole = runs.train("stable-whole", {**own, "max-steps": 80})
    same_bytes(run, whole, (80,))


def averaged(runs, settings):
    run = runs.train("averaged", {**settings, "ema-decay": 0.95})
    assert losses(run) == losses(runs.folder / "clean"), "the average changed the training"
    values = [[line["val_loss"] for line in metrics(r) if "val_loss" in line] for r in (run, runs.folder / "clean")]
    assert values[0] != values[1], "the evaluation did not see the average"
    done = runs.program.run("generate", "-m", run, "-p", "So", "-n", 4, "--device", "cpu")
    assert done.returncode == 0 and "average of the weights" in done.stderr, done.stderr
    done = runs.program.run("eval", "-m", run, runs.text, "--device", "cpu")
    assert done.returncode == 0 and "average of the weights" in done.stderr, done.stderr


def damaged(runs, settings, clean):
    run = runs.folder / "damaged"
    shutil.copytree(clean, run)
    path = run / "checkpoint-60" / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    (run / "latest").write_text("checkpoint-99\n")
    done = runs.program.run("train", "--resume", "-o", run)
    assert done.returncode == 0, done.stderr
    for wanted in (str(path), "checkpoint-99", "going on from", "checkpoint-50"):
        assert wanted in done.stderr, f"{wanted} is not named: {done.stderr}"
    same_bytes(run, clean, (60,))


def refuses_optimizer(runs, clean):
    done = runs.program.run("train", "--resume", "-o", clean, "--max-steps", 70, "--optim", "sgd")
    assert done.returncode == 1 and "was written by another optimizer" in done.stderr, done.stderr


def main():
    options = parser(__doc__).parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        check_guard(Runs(Program(options.athanor), folder), checks)
    checks.finish()


if __name__ == "__main__":
    main()
