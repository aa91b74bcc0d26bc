#!/usr/bin/env python3
"""Runs repeat bit for bit, go on bit for bit where they were stopped, and agree between devices.

Usage: runs.py --athanor build/release/athanor --deps build/deps --part cpu|stop|kills|guard|webgpu|long
  cpu     the same run twice; other thread counts; batch 1 x 4 against 4 x 1; recomputation
  stop    killed, interrupted and stopped at step 10, then resumed, in no more memory than the start took
  kills   ended by SIGKILL at named points of the step and of the checkpoint, for each optimizer and precision, then resumed
  guard   infinite gradients, a learning rate that ruins the weights, batches without a target, early stopping, longer runs, an average
          of the weights
  webgpu  software Vulkan through --library: twenty steps against the CPU, twice, and resumed
  long    ten runs of 200 steps through --library (slow)
Leaves nothing behind.
"""

import filecmp
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import tempfile
import time

from program import SMALL_MODEL, Checks, Program, flags, make_text, parser, software_vulkan

STEPS = 20
SETTINGS = {**SMALL_MODEL, "max-steps": STEPS, "save-steps": 10, "save-total-limit": 0, "eval-steps": 10, "warmup-steps": 5,
            "per-device-train-batch-size": 4, "learning-rate": 0.003}
# Sizes that fit no tile of a shader; small, since on software Vulkan a step takes longer than anything else here.
ODD_SIZES = {"model-config.hidden-size": 40, "model-config.intermediate-size": 100, "model-config.max-position-embeddings": 37,
             "per-device-train-batch-size": 3}
SAME_BYTES = ("model.safetensors", "optimizer.safetensors")
LOST_AT = 100  # submissions: after the first checkpoint, before the last step
LOSS_AGREEMENT = 1e-3  # between devices, relative, at each step
FIRST_LOSS_AGREEMENT = 1e-6  # between micro-batches of one step


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


def check_cpu(runs, checks):
    settings = {**SETTINGS, "device": "cpu"}
    first = runs.train("first", settings)
    checks.check("the loss falls", lambda: falls(first))
    checks.check("the same seed gives the same bytes", lambda: same_bytes(runs.train("second", settings), first, (10, STEPS)))
    checks.check("another seed gives others", lambda: differs(runs.train("other", {**settings, "seed": 2}), first))
    for threads in (1, 2, 3):
        checks.check(f"{threads} threads give the same bytes",
                     lambda: same_bytes(runs.train(f"threads-{threads}", {**settings, "threads": threads}), first))
    checks.check("recomputed blocks give the same bytes",
                 lambda: same_bytes(runs.train("recomputed", {**settings, "gradient-checkpointing": "true"}), first))
    checks.check("batch 1 x 4 has the loss of 4 x 1", lambda: accumulates(runs, settings, first))
    checks.check("checkpoints written at the save have the bytes of those written beside the steps",
                 lambda: same_bytes(runs.train("at-the-save", {**settings, "save-in-background": "false"}), first, (10, STEPS)))
    checks.check("norms of each tensor are logged where asked for and change no byte", lambda: norms_are_logged(runs, settings, first))
    checks.check("dropout in the model, recomputed and in micro-batches, gives the same masks", lambda: drops(runs, settings, first))
    checks.check("config.yaml alone repeats a run of a preset with a batch in tokens, and stands above the environment and below flags",
                 lambda: repeated_by_its_config(runs, settings))
    checks.check("no file is left over", lambda: no_leftovers(first))


def falls(run):
    values = losses(run)
    assert values[-1] < values[0] - 0.5, f"loss {values[0]:.3f} to {values[-1]:.3f}"
    return f"{values[0]:.3f} to {values[-1]:.3f}"


def accumulates(runs, settings, whole):
    run = runs.train("accumulated", {**settings, "per-device-train-batch-size": 1, "gradient-accumulation-steps": 4})
    first = abs(losses(run)[0] - losses(whole)[0]) / losses(whole)[0]
    assert first < FIRST_LOSS_AGREEMENT, f"the first losses differ by {first:.1e}"
    later = largest_difference(run, whole)
    assert later < LOSS_AGREEMENT, f"the losses differ by {later:.1e}"
    tokens = [line["trained_tokens"] for line in metrics(run)]
    assert tokens == [line["trained_tokens"] for line in metrics(whole)], f"trained_tokens {tokens[:3]}"
    return f"first step {first:.1e}, all {later:.1e}"


def norms_are_logged(runs, settings, first):
    run = runs.train("norms", {**settings, "log-layer-norms-steps": 4, "logging-steps": 3})
    for step in (10, STEPS):
        assert filecmp.cmp(run / f"checkpoint-{step}" / "model.safetensors", first / f"checkpoint-{step}" / "model.safetensors", shallow=False)
    norms = {line["step"]: line["tensor_norms"] for line in metrics(run) if "tensor_norms" in line}
    assert list(norms) == [4, 8, 12, 16, 20], list(norms)
    names = norms[4].keys()
    assert "model.layers.1.mlp.down_proj.weight" in names and "model.norm.weight" in names, names
    for step, of_tensor in norms.items():
        whole = sum(norm["grad"] ** 2 for norm in of_tensor.values()) ** 0.5
        logged = next(line["grad_norm"] for line in metrics(run) if line["step"] == step)
        assert abs(whole - logged) < 1e-4 * logged, f"step {step}: {whole} of {logged}"
        assert all(0 < norm["update"] < norm["weight"] for norm in of_tensor.values()), of_tensor
    return f"{len(names)} tensors"


def drops(runs, settings, first):
    own = {**settings, "model-config.resid-pdrop": 0.2, "model-config.embd-pdrop": 0.1}
    whole = runs.train("dropped", own)
    differs(whole, first)
    same_bytes(runs.train("dropped-recomputed", {**own, "gradient-checkpointing": "true", "threads": 1}), whole)
    config = json.loads((whole / f"checkpoint-{STEPS}" / "config.json").read_text())
    assert config["resid_pdrop"] == 0.2 and config["embd_pdrop"] == 0.1, config
    refused = runs.program.run(*runs.arguments("refused", {**settings, "model-config.attention-dropout": 0.1}))
    assert refused.returncode == 1 and "attention_dropout is 0.1" in refused.stderr and "resid_pdrop" in refused.stderr, refused.stderr
    shutil.rmtree(runs.folder / "accumulated")  # of the run without dropout
    return accumulates(runs, own, whole)


def repeated_by_its_config(runs, settings):
    own = {name: value for name, value in settings.items() if name != "per-device-train-batch-size"}
    run = runs.train("preset", {**own, "preset": "tiny", "batch-tokens": 500})
    config = (run / "config.yaml").read_text()
    for line in ("preset: tiny", "hidden_size: 64", "batch_tokens: 512", "per_device_train_batch_size: 8", "gradient_accumulation_steps: 1"):
        assert line in config, f"{line} is not in config.yaml"
    again = runs.folder / "preset-again"
    runs.program.must("train", run / "config.yaml", "-o", again, "-q")
    same_bytes(again, run, (10, STEPS))
    seed = {"ATHANOR_SEED": "2"}
    runs.program.must("train", run / "config.yaml", "-o", runs.folder / "preset-variable", "-q", env=seed)
    same_bytes(runs.folder / "preset-variable", run, (10, STEPS))
    runs.program.must("train", run / "config.yaml", "-o", runs.folder / "preset-flag", "-q", "--seed", 2)
    differs(runs.folder / "preset-flag", run)


def check_stop(runs, checks):
    # Steps of some length, so that a signal arrives in mid-run.
    settings = {**SETTINGS, "device": "cpu", "gradient-accumulation-steps": 8}
    whole = runs.train("whole", settings)
    checks.check("a run killed after checkpoint 10 and resumed has the bytes of the uninterrupted one",
                 lambda: killed(runs, settings, whole))
    checks.check("a run interrupted by Ctrl-C saves, says how to go on, leaves with 130, and goes on",
                 lambda: interrupted(runs, settings, whole))
    checks.check("a run that was never begun starts at step 0 under --resume", lambda: resumed_from_nothing(runs, settings, whole))
    checks.check("resuming a finished run changes nothing", lambda: finished(runs, whole))
    checks.check("resuming takes no more memory than the start", lambda: resumed_in_its_memory(runs, settings))
    checks.check("no file is left over", lambda: no_leftovers(whole))


def wait_for(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, f"athanor ended with {process.returncode}: {process.stderr.read().decode()}"
        assert time.monotonic() < end, "athanor did not come so far in time"
        time.sleep(0.002)


def killed(runs, settings, whole):
    run = runs.folder / "killed"
    for _ in range(5):  # on a busy machine the run may be over before we see its checkpoint
        shutil.rmtree(run, ignore_errors=True)
        process = runs.program.start(*runs.arguments("killed", settings))
        wait_for((run / "checkpoint-10" / "trainer_state.json").exists, process)
        process.kill()
        process.wait()
        process.stderr.close()
        if not (run / f"checkpoint-{STEPS}").exists():
            break
    else:
        raise AssertionError("the run was over five times before it could be killed; make its steps longer")
    reached = (run / "metrics.jsonl").read_text().count("\n")
    runs.resume(run)
    same_bytes(run, whole, (10, STEPS))
    return f"killed at step {reached}"


def interrupted(runs, settings, whole):
    run = runs.folder / "interrupted"
    process = runs.program.start(*runs.arguments("interrupted", {**settings, "save-steps": 0}))
    wait_for(lambda: (run / "metrics.jsonl").exists() and (run / "metrics.jsonl").read_text().count("\n") >= 3, process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130, f"exit {process.returncode}: {said}"
    wanted = f"athanor train --resume -o {run}"
    assert wanted in said, f"it does not say \"{wanted}\": {said}"
    step = int(re.search(r"interrupted at step (\d+) of", said).group(1))
    assert 3 <= step < STEPS, f"it stopped at step {step}; the signal came too late"
    assert (run / "latest").read_text().strip() == f"checkpoint-{step}", (run / "latest").read_text()
    assert json.loads((run / f"checkpoint-{step}" / "trainer_state.json").read_text())["step"] == step
    runs.program.must("generate", "-m", run, "-p", "So", "-n", 4, "--device", "cpu", "-q")
    runs.resume(run)
    same_bytes(run, whole)
    return f"at step {step}"


def resumed_from_nothing(runs, settings, whole):
    done = runs.program.run(*[a for a in runs.arguments("nothing", settings) if a != "-q"], "--resume")
    assert done.returncode == 0, done.stderr
    assert "starting at step 0" in done.stderr, f"it does not say that it starts at step 0: {done.stderr}"
    same_bytes(runs.folder / "nothing", whole, (10, STEPS))


def finished(runs, whole):
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    done = runs.program.run("train", "--resume", "-o", whole)
    assert done.returncode == 0, done.stderr
    assert "nothing is left to do" in done.stderr, done.stderr
    after = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    changed = [str(path.relative_to(whole)) for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    assert not changed, f"changed: {changed}"


def peak_of(program, *args):
    """Peak of resident memory in MiB."""
    process = program.start(*args)
    said = process.stderr.read().decode()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return usage.ru_maxrss / 1024


def resumed_in_its_memory(runs, settings):
    # Weights and moments that weigh more than all else, and short rows.
    large = {**settings, "model-config.hidden-size": 512, "model-config.intermediate-size": 1024, "max-steps": 2, "save-steps": 1,
             "eval-steps": 2, "per-device-train-batch-size": 1, "gradient-accumulation-steps": 1}
    start = peak_of(runs.program, *runs.arguments("large", large))
    resumed = peak_of(runs.program, "train", "--resume", "-o", runs.folder / "large", "-q", "--max-steps", 4)
    assert resumed <= 1.02 * start, f"{resumed:.0f} MiB, the start {start:.0f} MiB"
    shutil.rmtree(runs.folder / "large")
    return f"{resumed:.0f} MiB, the start {start:.0f} MiB"


# Each point with the number of its call at which the process ends: within the accumulation of step 13, and at the checkpoint of step 10
# (the second one, since a checkpoint of step 5 must be there to go back to).
MICRO_BATCHES = 4
KILL_POINTS = {"kill-after-forward": 12 * MICRO_BATCHES + 3, "kill-after-backward": 12 * MICRO_BATCHES + 2, "kill-after-update": 13,
               "kill-model-written": 2, "kill-optimizer-written": 2, "kill-state-written": 2, "kill-before-latest": 2,
               "kill-after-latest": 2, "kill-before-removal": 2}
# Each point once for AdamW; for the others one within the accumulation and two of the checkpoint.
KILLED_RUNS = {
    "AdamW": ({"optim": "adamw_torch"}, KILL_POINTS),
    "8-bit AdamW, mixed": ({"optim": "adamw_8bit", "precision": "mixed"}, ("kill-after-backward", "kill-state-written")),
    "Muon, averaged": ({"optim": "muon", "ema-decay": 0.9}, ("kill-after-forward", "kill-before-latest")),
    "AdamW, mixed": ({"precision": "mixed"}, ("kill-after-update", "kill-optimizer-written")),
    "AdamW, dropout, written at the save": ({"model-config.resid-pdrop": 0.1, "model-config.embd-pdrop": 0.1, "gradient-checkpointing": "true",
                                             "save-in-background": "false"}, ("kill-after-backward", "kill-model-written")),
    "SGD": ({"optim": "sgd", "learning-rate": 0.1}, ("kill-after-backward",)),
}


def check_kills(runs, checks):
    settings = {**SETTINGS, "device": "cpu", "per-device-train-batch-size": 1, "gradient-accumulation-steps": MICRO_BATCHES, "save-steps": 5,
                "save-total-limit": 2}
    for name, (changed, points) in KILLED_RUNS.items():
        own = {**settings, **changed}
        whole = runs.train(f"whole {name}", own)
        for point in points:
            checks.check(f"{name}: {point}, then resumed, has the bytes of the run that was never killed",
                         lambda: killed_at(runs, own, whole, point))
    checks.check("no file is left over", lambda: no_leftovers(runs.folder / "x"))


def killed_at(runs, settings, whole, point):
    run = runs.folder / "killed-at"
    shutil.rmtree(run, ignore_errors=True)
    done = runs.program.run(*runs.arguments("killed-at", settings), env={"ATHANOR_FAULT": f"{point}:{KILL_POINTS[point]}"})
    assert done.returncode == -signal.SIGKILL, f"it was not killed: exit {done.returncode}: {done.stderr}"
    left = (run / "latest").read_text().strip()
    runs.resume(run)
    same_bytes(run, whole)
    no_leftovers(run)
    return f"resumed from {left}"


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


def check_webgpu(runs, checks, env):
    settings = {**SETTINGS, **ODD_SIZES}
    cpu = runs.train("cpu", {**settings, "device": "cpu"})
    gpu = {**settings, "device": "webgpu"}
    first = []
    checks.check("twenty steps run", lambda: first.append(runs.train("first", gpu, env)))
    if not first:
        return
    checks.check("they agree with the CPU at each step", lambda: agrees(first[0], cpu))
    checks.check("a second run gives the same bytes", lambda: same_bytes(runs.train("second", gpu, env), first[0], (10, STEPS)))
    checks.check("resumed from step 10 gives the same bytes", lambda: cut_and_resumed(runs, first[0], env))
    checks.check("a device lost in mid-run is opened again, and the bytes are the same", lambda: lost(runs, gpu, first[0], env))
    checks.check("a device lost for good ends the run with one error, its checkpoint whole", lambda: lost_for_good(runs, gpu, env))


def agrees(run, cpu):
    largest = largest_difference(run, cpu)
    assert largest < LOSS_AGREEMENT, f"losses differ by {largest:.1e} relative, more than {LOSS_AGREEMENT}"
    return f"by {largest:.1e} relative, loss {losses(run)[0]:.4f} to {losses(run)[-1]:.4f}, CPU {losses(cpu)[-1]:.4f}"


def cut_and_resumed(runs, whole, env):
    """As a run would lie there that was killed right after its checkpoint of step 10, and logged one step more."""
    run = runs.folder / "second"
    for path in (run / f"checkpoint-{STEPS}").iterdir():
        path.unlink()
    (run / f"checkpoint-{STEPS}").rmdir()
    (run / "latest").write_text("checkpoint-10\n")
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:11]))
    runs.resume(run, env)
    same_bytes(run, whole, (10, STEPS))


def lost(runs, settings, whole, env):
    done = runs.program.run(*runs.arguments("lost", {**settings, "save-steps": 5}),
                            env={**env, "ATHANOR_FAULT": f"device-lost:{LOST_AT}:{LOST_AT}"})
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("opening the device again") == 1, f"the device was not lost, or not once: {done.stderr}"
    same_bytes(runs.folder / "lost", whole)


def lost_for_good(runs, settings, env):
    done = runs.program.run(*runs.arguments("lost-for-good", {**settings, "save-steps": 5}),
                            env={**env, "ATHANOR_FAULT": f"device-lost:{LOST_AT}"})
    assert done.returncode == 1, f"exit {done.returncode}: {done.stderr}"
    assert done.stderr.count("error: device lost") == 1 and done.stderr.splitlines()[-1].startswith("error:"), done.stderr
    run = runs.folder / "lost-for-good"
    no_leftovers(run)
    runs.program.must("generate", "-m", run, "-p", "So", "-n", 2, "-q", "--device", "cpu")


def check_long(runs, checks, env):
    settings = {**SETTINGS, **ODD_SIZES, "max-steps": 200, "save-steps": 0, "eval-steps": 0, "device": "webgpu"}
    first = runs.train("run-0", settings, env)
    for i in range(1, 10):
        checks.check(f"run {i + 1} of 200 steps has the bytes of the first",
                     lambda: same_bytes(runs.train(f"run-{i}", settings, env), first, (200,)))


def main():
    reader = parser(__doc__, "deps")
    reader.add_argument("--part", required=True, choices=("cpu", "stop", "kills", "guard", "webgpu", "long"))
    reader.add_argument("--library", default="webgpu_dawn", help="wgpu_native or webgpu_dawn")
    options = reader.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Program(options.athanor), folder)
        if options.part == "cpu":
            check_cpu(runs, checks)
        elif options.part == "stop":
            check_stop(runs, checks)
        elif options.part == "kills":
            check_kills(runs, checks)
        elif options.part == "guard":
            check_guard(runs, checks)
        else:
            check = check_webgpu if options.part == "webgpu" else check_long
            check(runs, checks, software_vulkan(options.deps, options.library))
    checks.finish()


if __name__ == "__main__":
    main()
