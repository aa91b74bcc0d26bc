#!/usr/bin/env python3
"""Runs repeat bit for bit, go on bit for bit where they were stopped, and agree between devices.

Usage: runs.py --athanor build/release/athanor --deps build/deps --part cpu|stop|kills|webgpu|long
  cpu     the same run twice; other thread counts; batch 1 x 4 against 4 x 1; recomputation
  stop    killed, interrupted and stopped at step 10, then resumed, in no more memory than the start took
  kills   ended by SIGKILL at named points of the step and of the checkpoint, for each optimizer and precision, then resumed
  webgpu  software Vulkan through --library: twenty steps against the CPU, twice, and resumed
  long    ten runs of 200 steps through --library (slow)
Leaves nothing behind.
"""

import filecmp
import json
import os
import re
import shutil
import signal
import tempfile
import time

from program import Checks, Program, parser, software_vulkan
from training_runs import SETTINGS, STEPS, Runs, differs, largest_difference, losses, metrics, no_leftovers, same_bytes

# Sizes that fit no tile of a shader; small, since on software Vulkan a step takes longer than anything else here.
ODD_SIZES = {"model-config.hidden-size": 40, "model-config.intermediate-size": 100, "model-config.max-position-embeddings": 37,
             "per-device-train-batch-size": 3}
LOST_AT = 100  # submissions: after the first checkpoint, before the last step
LOSS_AGREEMENT = 1e-3  # between devices, relative, at each step
FIRST_LOSS_AGREEMENT = 1e-6  # between micro-batches of one step


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
    reader.add_argument("--part", required=True, choices=("cpu", "stop", "kills", "webgpu", "long"))
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
        else:
            check = check_webgpu if options.part == "webgpu" else check_long
            check(runs, checks, software_vulkan(options.deps, options.library))
    checks.finish()


if __name__ == "__main__":
    main()
