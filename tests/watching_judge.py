#!/usr/bin/env python3
"""What a run tells about itself: TensorBoard's own reader opens the events, eval knows the training text, the trace is JSON.

Usage: watching_judge.py --athanor build/release/athanor   (with the Python of build/deps/venv)
Leaves nothing behind.
"""

import json
import math
import pathlib
import shutil
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from program import SMALL_MODEL, Checks, Program, flags, make_text, parser

STEPS = 10
SETTINGS = {**SMALL_MODEL, "max-steps": STEPS, "save-steps": 4, "save-total-limit": 0, "eval-steps": 5, "warmup-steps": 2,
            "per-device-train-batch-size": 4, "learning-rate": 0.003, "sample-tokens": 12, "device": "cpu"}
TAGS = {"train/loss": "loss", "train/grad_norm": "grad_norm", "train/lr": "learning_rate", "val/loss": "val_loss",
        "val/bits_per_byte": "bits_per_byte", "train/tokens_per_second": "tokens_per_second", "train/mfu": "mfu"}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def scalars(run):
    reader = EventAccumulator(str(run), purge_orphaned_data=True)
    reader.Reload()
    assert set(reader.Tags()["scalars"]) == set(TAGS), reader.Tags()["scalars"]
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in TAGS}


def same_as_metrics(run):
    metrics = lines_of(run / "metrics.jsonl")
    for tag, points in scalars(run).items():
        wanted = [(line["step"], line[TAGS[tag]]) for line in metrics if TAGS[tag] in line]
        assert [step for step, _ in points] == [step for step, _ in wanted], f"{tag}: steps {points} for {wanted}"
        for (step, value), (_, want) in zip(points, wanted, strict=True):
            assert math.isclose(value, want, rel_tol=1e-6), f"{tag} at step {step}: {value} for {want}"
    return f"{len(metrics)} steps"


def goes_back(program, run):
    """As after a kill between checkpoint 4 and the next one."""
    for step in (8, STEPS):
        shutil.rmtree(run / f"checkpoint-{step}")
    (run / "latest").write_text("checkpoint-4\n")
    program.must("train", "--resume", "-o", run, "-q")
    assert len(list(run.glob("events.out.tfevents.*"))) == 2, "a resumed run has a file of its own"
    return same_as_metrics(run)


def bits_follow_from_loss(run, text):
    line = [line for line in lines_of(run / "metrics.jsonl") if "val_loss" in line][-1]
    ratio = line["val_loss"] / math.log(2) / line["bits_per_byte"]  # bytes a token
    assert 1 < ratio < 4, f"{ratio} bytes a token"
    return f"{line['bits_per_byte']:.3f} bits a byte at {ratio:.2f} bytes a token"


def samples_tell_copies(run, prompts):
    lines = lines_of(run / "samples.jsonl")
    assert [line["prompt"] for line in lines] == prompts * 2, [line["prompt"] for line in lines]
    for line in lines:
        assert 0 < line["longest_copy"] <= line["tokens"] <= 12 and line["searched_tokens"] > 1000, line


def knows_what_is_copied(program, run, text, folder):
    # Another seed's text is of other words; the run's own text is copied but for the validation part.
    other = folder / "other.txt"
    other.write_text(make_text(3000, seed=9))
    mixed = folder / "mixed.txt"
    mixed.write_text(text[1000:3000] + make_text(2000, seed=9))
    report = json.loads(program.must("eval", "-m", run, other, mixed, "--json", "--device", "cpu", "-q"))
    shares = [entry["copied_share"] for entry in report["files"]]
    assert shares[0] < 0.05 and 0.4 < shares[1] < 0.65, f"copied shares {shares}"
    return f"{shares[0]:.3f} and {shares[1]:.3f}"


def trace_is_json(program, text, folder):
    trace = folder / "trace.json"
    program.must("train", text, "-o", folder / "profiled", "-q", *flags({**SETTINGS, "profile": trace, "profile-steps": 2}))
    events = json.loads(trace.read_text())["traceEvents"]
    steps = [event["name"] for event in events if event["ph"] == "X" and event["tid"] == 1]
    assert steps == ["step 4", "step 5"], steps
    names = {event["name"] for event in events if event["ph"] == "X" and event["tid"] == 2}
    assert {"adamw_update", "attention", "attention_backward", "rms_norm"} <= names, names
    for event in events:
        assert event["ph"] == "M" or (event["dur"] >= 0 and event["ts"] >= 0), event
    a, b = (lines_of(folder / name / "metrics.jsonl")[-1]["loss"] for name in ("profiled", "run"))
    assert a == b, f"a profiled run ends at {a}, another at {b}"
    return f"{len(events)} events"


def plan_is_held(program, text):
    settings = {key: value for key, value in SETTINGS.items()}
    report = json.loads(program.must("plan", text, "--seconds", 0.3, "--json", "-q", *flags(settings)))
    (device,) = report["devices"]
    assert device["backend"] == "cpu" and device["memory"]["fits"] and device["largest_micro_batch"] > 100, device
    assert device["time"]["seconds"] > 0 and device["process_peak_bytes"] > device["memory"]["device_bytes"] / 2, device


def main():
    arguments = parser(__doc__).parse_args()
    program = Program(arguments.athanor)
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = folder / "text.txt"
        text.write_text(make_text(40000))
        prompts = ["One ", "And so"]
        run = folder / "run"
        program.must("train", text, "-o", run, "-q", *flags(SETTINGS), *(word for prompt in prompts for word in ("--sample-prompts", prompt)))
        checks.check("TensorBoard reads what metrics.jsonl has", same_as_metrics, run)
        checks.check("bits per byte follow from the loss", bits_follow_from_loss, run, text)
        checks.check("samples tell how much they copy", samples_tell_copies, run, prompts)
        checks.check("the trace is JSON with the kernels of its steps, and changes nothing", trace_is_json, program, text, folder)
        checks.check("TensorBoard sees each step once after going back", goes_back, program, run)
        checks.check("eval knows what is copied", knows_what_is_copied, program, run, text.read_text(), folder)
        checks.check("plan tells memory and time", plan_is_held, program, text)
        checks.check("show draws it", lambda: program.must("show", run))
    checks.finish()


if __name__ == "__main__":
    main()
