#!/usr/bin/env python3
"""Data through the program: large and odd texts within bounded memory, a token file larger than memory, packing, mixing, the verdict.

Usage: data.py --athanor build/release/athanor --deps build/deps
Leaves nothing behind.
"""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time

from program import SMALL_MODEL, Checks, Program, flags, make_text, parser

MOST_MEMORY = 200 << 20  # of a preparation, with its file pages, however large the text
SPARSE_BYTES = 10 << 30
SAME_MEMORY_KB = 8192  # what two runs of one size may differ by
RUN = {**SMALL_MODEL, "max-steps": 4, "save-steps": 0, "eval-steps": 0, "eval-batches": 2, "per-device-train-batch-size": 2,
       "device": "cpu", "threads": 2}


class Data:
    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.text = make_text(1 << 20)
        self.small = self.folder / "small.txt"
        self.small.write_text(self.text[:60000])
        self.tokenizer = self.folder / "tokenizer.json"
        program.must("tokenizer", "train", "--vocab-size", 512, "-o", self.tokenizer, self.small)

    def prepare(self, *inputs):
        """Report of a preparation, with its peak of resident memory and its time. The tokens lie in tokens.safetensors."""
        out = self.folder / "tokens.safetensors"
        command = [self.program.path, "data", "prepare", "--json", "--force", "-t", str(self.tokenizer), "-o", str(out), *map(str, inputs)]
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.program.environment)
        said, errors = process.stdout.read(), process.stderr.read()
        process.stdout.close()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, errors.decode()
        report = json.loads(said)
        report["peak"] = usage.ru_maxrss * 1024
        report["seconds"] = time.monotonic() - begin
        return report

    def show(self, *args):
        return json.loads(self.program.must("data", "show", "--json", "-q", *args))


def large_texts(data):
    """One document of 50 MB, and 200,000 tiny ones, half of them packed."""
    large = data.folder / "large.txt"
    with large.open("w") as file:
        for _ in range(50):
            file.write(data.text)
    lines = [json.dumps({"text": data.text[i * 7 % 900000:][:10 + i % 90]}) + "\n" for i in range(100000)]
    (data.folder / "tiny.jsonl").write_text("".join(lines))
    with gzip.open(data.folder / "tiny2.jsonl.gz", "wt", compresslevel=1) as file:
        file.writelines(lines)
    report = data.prepare(large, data.folder / "tiny.jsonl", data.folder / "tiny2.jsonl.gz")
    for name in ("large.txt", "tiny.jsonl", "tiny2.jsonl.gz"):
        (data.folder / name).unlink()
    assert report["documents"] == 200001, report["documents"]
    assert [source["documents"] for source in report["sources"]] == [1, 100000, 100000], report["sources"]
    assert report["text_bytes"] > 50 << 20, report["text_bytes"]
    assert report["peak"] < MOST_MEMORY, f"{report['peak'] >> 20} MiB resident"
    return f"{report['text_bytes'] / 1e6:.0f} MB in {report['seconds']:.1f} s, {report['peak'] >> 20} MiB resident at most"


def unbroken_text(data):
    """Text that offers no place to cut: zeros, and emoji that end across every block."""
    path = data.folder / "unbroken.txt"
    path.write_bytes(b"\0" * (8 << 20) + "x".encode() + "\N{GRINNING FACE}".encode() * (2 << 20))
    report = data.prepare(path)
    path.unlink()
    assert report["documents"] == 1 and report["text_bytes"] == (16 << 20) + 1, report
    assert report["peak"] < MOST_MEMORY, f"{report['peak'] >> 20} MiB resident"
    return f"{report['peak'] >> 20} MiB"


def crlf(data):
    path = data.folder / "crlf.txt"
    path.write_bytes(b"\xef\xbb\xbf" + b"one\r\ntwo\r\n" * 20)
    data.prepare(path)
    rows = data.show(data.folder / "tokens.safetensors", "--max-length", 40, "--rows", 1, "--validation-split", 0.001)["rows"]
    path.unlink()
    text = "".join(segment["text"] for segment in rows[0])
    assert "\ufeff" not in text and "one\r\ntwo\r\n" in text, text


def odd_texts_train(data):
    """Documents of one byte and of many rows, zeros, a byte-order mark alone, CRLF, emoji: one data set, trained on."""
    folder = data.folder / "odd"
    folder.mkdir()
    for i in range(300):
        (folder / f"tiny{i}.txt").write_text("ab"[i % 2])
    (folder / "long.txt").write_text(data.text[:30000])
    (folder / "mark.txt").write_bytes(b"\xef\xbb\xbf")
    (folder / "lines.txt").write_bytes(b"one\r\ntwo\r\n" * 50)
    (folder / "emoji.txt").write_text("x" + "\N{GRINNING FACE}" * 5000)
    zeros = data.folder / "zeros.txt"
    zeros.write_bytes(b"\0" * 5000)  # in a folder it would be taken for a binary file
    report = data.prepare(folder, zeros)
    assert report["documents"] == 300 + 4, report["documents"]
    for mode in ("documents", "naive"):
        run = data.folder / f"odd-{mode}"
        said = data.program.must("train", folder, zeros, "-o", run, *flags({**RUN, "packing": mode}), "--json")
        assert 0 < json.loads(said)["loss"] < 10, said
    for path in folder.glob("*.txt"):
        if path.name != "mark.txt":
            path.unlink()
    done = data.program.run("train", folder, "-o", data.folder / "nothing", *flags(RUN))
    assert done.returncode == 1 and "no text file" in done.stderr and "1 empty" in done.stderr, done.stderr
    assert not (data.folder / "nothing").exists()


def anonymous_peak(data, tokens, name):
    """Largest RssAnon, in kB, of a training run on a token file."""
    run = data.folder / name
    process = data.program.start("train", tokens, "-o", run, "-q", *flags(RUN))
    peak = 0
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            break
        found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
        peak = max(peak, int(found[0]) if found else 0)
        time.sleep(0.01)
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 0, errors
    assert (run / "checkpoint-4").is_dir()
    return peak


def larger_than_memory(data):
    """10 GB of tokens, nearly all of it a hole of end-of-text tokens in a sparse file."""
    data.prepare(data.small)
    small = data.folder / "tokens.safetensors"
    content = small.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    begin, end = header["tokens"]["data_offsets"]
    tokens = SPARSE_BYTES // 2
    boundaries = [0, (end - begin) // 2, tokens // 3, tokens // 2, tokens]
    header["tokens"] = {"dtype": "U16", "shape": [tokens], "data_offsets": [0, SPARSE_BYTES]}
    header["documents"] = {"dtype": "U64", "shape": [len(boundaries)],
                           "data_offsets": [SPARSE_BYTES, SPARSE_BYTES + 8 * len(boundaries)]}
    metadata = header["__metadata__"]
    metadata["sources"] = json.dumps([{"name": "sparse", "documents": len(boundaries) - 1}])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    large = data.folder / "large.safetensors"
    with large.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content[8 + size + begin:8 + size + end])
        file.seek(8 + len(text) + SPARSE_BYTES)
        file.write(struct.pack(f"<{len(boundaries)}Q", *boundaries))
    assert large.stat().st_blocks * 512 < 64 << 20, "the file is not sparse here"
    with_small = anonymous_peak(data, small, "run-small")
    with_large = anonymous_peak(data, large, "run-large")
    large.unlink()
    assert with_large < with_small + SAME_MEMORY_KB, f"RssAnon {with_small} kB with the small file, {with_large} kB with the large one"
    return f"RssAnon {with_small} kB with 60 kB of text, {with_large} kB with 10 GB of tokens"


def packing(data):
    folder = data.folder / "texts"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i}.txt").write_text(data.text[i * 9000:][:60 + 5 * i])
    losses = {}
    for mode in ("documents", "naive"):
        run = data.folder / f"packed-{mode}"
        data.program.must("train", folder, "-o", run, "-q", *flags({**RUN, "packing": mode}))
        losses[mode] = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    step = 2 * 64  # positions of a step
    assert losses["naive"][0]["trained_tokens"] == step, losses["naive"][0]
    tokens = [line["trained_tokens"] for line in losses["documents"]]
    assert tokens[-1] == 4 * step, f"{tokens}: an end of text predicts the first token of the document behind it"
    assert losses["naive"][0]["loss"] != losses["documents"][0]["loss"]
    return f"{tokens[-1]} of {4 * step} positions have a target"


def other_order_is_refused(data):
    run = data.folder / "packed-naive"
    done = data.program.run("train", "--resume", "-o", run, "--max-steps", 6, "--packing", "documents")
    assert done.returncode == 1 and "packing naive" in done.stderr and "resume with the same" in done.stderr, done.stderr
    state = run / "checkpoint-4" / "trainer_state.json"
    changed = json.loads(state.read_text())
    del changed["data_order"]
    state.write_text(json.dumps(changed))
    done = data.program.run("train", "--resume", "-o", run, "--max-steps", 6)
    assert done.returncode == 1 and f"{state}: was altered" in done.stderr, done.stderr


def weights(data):
    a, b = data.folder / "a.txt", data.folder / "b.jsonl"
    a.write_text(data.text[:40000])
    b.write_text("".join(json.dumps({"body": data.text[50000 + i * 800:][:800]}) + "\n" for i in range(50)))
    report = data.show(a, b, "-t", data.tokenizer, "--text-field", "body", "--data-weights", "3,1",
                       "--max-steps", 100, "--max-length", 64)
    assert [source["documents"] for source in report["sources"]] == [1, 50], report["sources"]
    rows = 100 * 8
    tokens = report["rows_an_epoch"]
    assert len(report["epochs"]) == 2 and abs(report["epochs"][0] / report["epochs"][1] / 3 - 1) < 0.2, report["epochs"]
    run = data.folder / "mixed"
    mixed = {**RUN, "text-field": "body"}
    data.program.must("train", a, b, "-o", run, "-q", *flags(mixed), "--data-weights", "3,1")
    data.program.must("train", "--resume", "-o", run, "-q", "--max-steps", 6)
    assert "data_weights: [3, 1]" in (run / "config.yaml").read_text()
    done = data.program.run("train", a, b, "-o", data.folder / "refused", *flags(mixed), "--data-weights", 3)
    assert done.returncode == 1 and "1 numbers for 2 of data" in done.stderr, done.stderr
    assert not (data.folder / "refused").exists()
    return f"{rows} rows, {tokens} an epoch"


def verdict(data):
    folder = data.folder / "copies"
    folder.mkdir()
    for i in range(10):
        (folder / f"{i}.txt").write_text(data.text[:5000] if i < 4 else data.text[i * 6000:][:5000])
    report = data.show(folder, "--vocab-size", 400, "--model-config.hidden-size", 64, "--max-length", 64, "--max-steps", 1000, "--rows", 2)
    assert report["documents"] == 10 and report["copies"] == 3, report
    assert report["text_bytes"] == 50000 and report["weights"] > 64 * 400 and 0 < report["tokens_a_weight"] < 1, report
    assert report["epochs"][0] > 4 and len(report["advice"]) == 3, report["advice"]
    assert len(report["rows"]) == 2 and report["rows"][0][-1]["end"] == 64, report["rows"]
    text = data.program.must("data", "show", "-q", folder, "--vocab-size", 400)
    for words in ("copies        3 documents", "tokens a weight", "row 0 of training"):
        assert words in text, text
    left = [path.name for path in pathlib.Path(tempfile.gettempdir()).glob("athanor-data-show-*")]
    assert not left, left


def run_inside_the_data(data):
    folder = data.folder / "own"
    folder.mkdir()
    (folder / "text.txt").write_text(data.text[:60000])
    for name in ("first", "second"):
        done = data.program.run("train", folder, "-o", folder / "runs" / name, *flags(RUN))
        assert done.returncode == 0, done.stderr
    assert "1 folder skipped: it holds a training run" in done.stderr, done.stderr
    first, second = (folder / "runs" / name / "tokens.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def main():
    options = parser(__doc__, "deps").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Data(Program(options.athanor), folder)
        checks = Checks()
        checks.check("50 MB in a document and 200,000 tiny ones are prepared in under 200 MiB", large_texts, data)
        checks.check("text without a place to cut is prepared in under 200 MiB", unbroken_text, data)
        checks.check("a byte-order mark and CRLF are read", crlf, data)
        checks.check("texts of one byte, of many rows, of zeros, marks and emoji train", odd_texts_train, data)
        checks.check("10 GB of tokens train with the memory of few", larger_than_memory, data)
        checks.check("documents are packed each for itself, or naively", packing, data)
        checks.check("a checkpoint whose rows came in another order is refused", other_order_is_refused, data)
        checks.check("sources are mixed by weight, and the run goes on so", weights, data)
        checks.check("data show gives the verdict on text", verdict, data)
        checks.check("a run inside the data folder is not read as text", run_inside_the_data, data)
        checks.finish()


if __name__ == "__main__":
    main()
