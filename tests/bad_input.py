#!/usr/bin/env python3
"""Bad input ends with exit 1 (2 for a command line that cannot be understood), one line that says what and what to do, and no
file left behind; what was there before is untouched.

Usage: bad_input.py --athanor build/release/athanor --deps build/deps
Leaves nothing behind.
"""

import gzip
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

from program import LIBRARIES, SMALL_MODEL, Checks, Program, flags, make_text, parser

SETTINGS = {**SMALL_MODEL, "max-steps": 4, "save-steps": 2, "eval-steps": 2, "per-device-train-batch-size": 2, "device": "cpu"}
TURKISH = "Ankara'dan İstanbul'a giden çalışkan öğrenciler şarkı söylüyordu; IĞDIR'da güneş doğdu. "
RUSSIAN = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему. "
CHINESE = "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。"
FRENCH = "Le garçon a mangé une crêpe à l'été près de la forêt. "


def listing(folder):
    """Every file with a hash of its bytes, and every folder."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            for path in sorted(folder.rglob("*"))}


class Judge:
    def __init__(self, program, deps, folder):
        self.program = program
        self.deps = pathlib.Path(deps).resolve()
        self.folder = pathlib.Path(folder)
        self.checks = Checks()
        self.text = self.folder / "text.txt"
        self.text.write_text(make_text(20000))
        self.tokenizer = self.folder / "tokenizer.json"
        program.must("tokenizer", "train", "--vocab-size", 320, "-o", self.tokenizer, self.text)
        self.run = self.folder / "run"
        program.must(*self.train(), "-q")
        self.out = self.folder / "out"  # what refused commands would write; must never appear

    def train(self, *inputs, out=None, **settings):
        """A training command of the small model; settings' names with _ for -."""
        given = {**SETTINGS, **{name.replace("_", "-"): value for name, value in settings.items()}}
        return ["train", *(inputs or [self.text]), "-o", out or self.run, *flags(given)]

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def copy(self, name):
        """A copy of the run to spoil."""
        path = self.folder / name
        shutil.copytree(self.run, path)
        return path

    def refuse(self, name, args, *says, code=1, env=None, data=None, may_leave=()):
        """Adds the check that a command is refused, its message holding each of `says`, and that no file changed."""
        self.checks.check(name, self.check_refused, args, says, code, env, data, may_leave)

    def check_refused(self, args, says, code=1, env=None, data=None, may_leave=()):
        before = listing(self.folder)
        done = self.program.run(*args, env=env, data=data, folder=self.folder)
        assert done.returncode == code, f"exit {done.returncode} instead of {code}: {done.stderr or done.stdout}"
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(errors) == 1 and done.stderr.rstrip("\n").endswith(errors[0]), f"not one error line at the end: {done.stderr!r}"
        assert done.stdout == "", f"on stdout: {done.stdout!r}"
        for words in says:
            assert str(words) in errors[0], f"it does not say \"{words}\": {errors[0]}"
        assert re.search(r"; \S|\?$|, only |--", errors[0]), f"it does not say what to do: {errors[0]}"
        after = listing(self.folder)
        changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        changed = [path for path in changed if path not in may_leave]
        self.clear()
        assert not changed, f"changed or left behind: {changed}"
        return errors[0].replace(str(self.folder), "DIR")

    def accept(self, name, args, *says, env=None):
        """Adds the check that a command succeeds and says each of `says` on stderr."""
        def run():
            done = self.program.run(*args, env=env, folder=self.folder)
            assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
            for words in says:
                assert words in done.stderr, f"it does not say \"{words}\": {done.stderr}"
            self.clear()
        self.checks.check(name, run)

    def clear(self):
        """What a command wrote that was to be refused must not disturb the checks that follow."""
        if self.out.is_dir():
            shutil.rmtree(self.out)
        else:
            self.out.unlink(missing_ok=True)


def check_files(judge):
    no = judge.folder / "nosuch"
    empty = judge.file("empty.txt", b"")
    (judge.folder / "hollow").mkdir()
    judge.file("only_binary/a.bin", b"\0\1\2" * 100)
    for name, args in {"train": judge.train(no, out=judge.out),
                       "tokenizer train": ["tokenizer", "train", "--vocab-size", 300, "-o", judge.out, no],
                       "tokenizer encode": ["tokenizer", "encode", "-t", judge.tokenizer, no],
                       "data prepare": ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out, no],
                       "data prepare -t": ["data", "prepare", "-t", no, "-o", judge.out, judge.text],
                       "data show": ["data", "show", no],
                       "generate -m": ["generate", "-m", no, "-p", "x", "--device", "cpu"],
                       "generate -f": ["generate", "-m", judge.run, "-f", no, "--device", "cpu"],
                       "train --tokenizer": judge.train(out=judge.out, tokenizer=no),
                       "train with settings": ["train", f"{no}.yaml", "-o", judge.out]}.items():
        judge.refuse(f"no such file: {name}", args, no)
    for name, args in {"train": judge.train(empty, out=judge.out),
                       "tokenizer train": ["tokenizer", "train", "--vocab-size", 300, "-o", judge.out, empty],
                       "data prepare": ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out, empty]}.items():
        judge.refuse(f"an empty file: {name}", args, empty, "empty")
    judge.refuse("a folder without files", judge.train(judge.folder / "hollow", out=judge.out), "hollow")
    judge.refuse("a folder of binary files", judge.train(judge.folder / "only_binary", out=judge.out), "only_binary", "1 binary")
    mark = judge.file("mark.txt", b"\xef\xbb\xbf")
    judge.refuse("a byte-order mark alone", judge.train(mark, out=judge.out), mark, "empty")
    prepare = ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out]
    judge.refuse("a line that is no JSON", [*prepare, judge.file("bad.jsonl", '{"text": "x"}\nnot json\n')], "bad.jsonl: line 2")
    judge.refuse("a line without the text", [*prepare, judge.file("other.jsonl", '{"body": "x"}\n')], "other.jsonl: line 1", "body", "--text-field")
    judge.refuse("lines without any text", judge.train(judge.file("none.jsonl", '{"text": ""}\n' * 3), out=judge.out, tokenizer=judge.tokenizer),
                 "nothing usable", "none.jsonl")
    judge.refuse("a gzip file that is cut off", [*prepare, judge.file("cut.gz", gzip.compress(judge.text.read_bytes())[:2000])], "cut.gz", "end early")
    judge.refuse("a folder that holds a run alone", judge.train(judge.run, out=judge.out), "training run")
    short = judge.file("short.txt", "Too short to make a block. ")
    judge.refuse("text shorter than one block", judge.train(short, out=judge.out, tokenizer=judge.tokenizer), "tokens", "65")
    judge.refuse("validation text shorter than one block", judge.train(out=judge.out, validation_data=short), "tokens", "65")
    loop = judge.folder / "loop"
    loop.symlink_to(loop)
    for name, path in {"a link to itself": loop, "a name that is too long": judge.folder / ("x" * 300)}.items():
        judge.refuse(f"{name}: train", judge.train(path, out=judge.out), path, "check the path")
        judge.refuse(f"{name}: data prepare", [*prepare, path], path, "check the path")
        judge.refuse(f"{name}: train -o", judge.train(out=path), path, "check the path")
    loop.unlink()
    judge.refuse("a damaged tokenizer.json",
                 ["tokenizer", "encode", "-t", judge.file("cut.json", judge.tokenizer.read_bytes()[:3000]), judge.text], "cut.json")
    judge.refuse("a tokenizer.json of another kind",
                 ["tokenizer", "encode", "-t", judge.file("word.json", '{"model": {"type": "WordPiece"}}'), judge.text], "WordPiece")


def check_encodings(judge):
    samples = {"windows-1252": FRENCH, "windows-1254": TURKISH, "windows-1251": RUSSIAN, "GB18030": CHINESE}
    for encoding, sentence in samples.items():
        content = ("plain " + sentence * 200).encode(encoding)
        path = judge.file(f"{encoding}.txt", content)
        try:
            content.decode()
            raise AssertionError(f"the sample of {encoding} is UTF-8")
        except UnicodeDecodeError as error:
            offset = error.start
        says = (path, f"offset {offset}", f"--encoding {encoding}")
        judge.refuse(f"{encoding} text is not UTF-8: train", judge.train(path, out=judge.out), *says)
        judge.refuse(f"{encoding} text is not UTF-8: data prepare", ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out, path], *says)
        judge.refuse(f"{encoding} text is not UTF-8: tokenizer train",
                     ["tokenizer", "train", "--vocab-size", 300, "-o", judge.out, path], *says)
        judge.checks.check(f"tokenizer encode and decode keep {encoding} bytes", keeps_bytes, judge, path)
        judge.checks.check(f"--encoding {encoding} is the same as UTF-8 text", same_as_utf8, judge, path, ("--encoding", encoding))
    utf8 = ("plain " + TURKISH * 200).encode()
    for encoding, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-8", b"\xef\xbb\xbf")):
        path = judge.file(f"{encoding}.txt", mark + utf8.decode().encode(encoding))
        judge.checks.check(f"{encoding} with a byte-order mark is read", same_as_utf8, judge, path, ())
    path = judge.folder / "windows-1252.txt"
    judge.refuse("an encoding that nobody knows", judge.train(path, out=judge.out, encoding="windows-9999"), "windows-9999", "iconv -l")
    judge.refuse("the wrong encoding", judge.train(path, out=judge.out, encoding="SHIFT_JIS"), path, "offset", "--encoding")
    judge.refuse("random bytes", judge.train(judge.file("random.txt", bytes(range(256)) * 50), out=judge.out), "random.txt", "offset 128")


def keeps_bytes(judge, path):
    ids = judge.program.must("tokenizer", "encode", "-t", judge.tokenizer, path)
    judge.file("ids.txt", ids)
    # Not through program.run, which takes the output for text.
    done = subprocess.run([judge.program.path, "tokenizer", "decode", "-t", str(judge.tokenizer), str(judge.folder / "ids.txt")],
                          capture_output=True, check=True, env=judge.program.environment)
    assert done.stdout == path.read_bytes(), f"{len(done.stdout)} bytes came back of {path.stat().st_size}, or others"


def same_as_utf8(judge, path, options):
    names = {"windows-1252": FRENCH, "windows-1254": TURKISH, "windows-1251": RUSSIAN, "GB18030": CHINESE}
    expected = judge.file("expected.txt", "plain " + names.get(path.stem, TURKISH) * 200)
    tokens = []
    for source, extra in ((path, options), (expected, ())):
        judge.program.must("data", "prepare", "-t", judge.tokenizer, "-o", judge.out, *extra, source)
        tokens.append(judge.out.read_bytes())
        judge.out.unlink()
    assert tokens[0] == tokens[1], "other tokens than the same text in UTF-8"


def check_vocabulary(judge):
    for size in (257, 256, 1, 0):
        judge.refuse(f"a vocabulary of {size}: tokenizer train", ["tokenizer", "train", "--vocab-size", size, "-o", judge.out, judge.text],
                     size, 258)
    judge.refuse("a vocabulary of 200: train", judge.train(out=judge.out, vocab_size=200), 200, 258)
    judge.refuse("a vocabulary of 258 with two special tokens",
                 ["tokenizer", "train", "--vocab-size", 258, "--special", "<a>", "--special", "<b>", "-o", judge.out, judge.text], 258, 259)
    judge.accept("a vocabulary of 258", ["tokenizer", "train", "--vocab-size", 258, "-o", judge.out, judge.text])
    poor = judge.file("poor.txt", "ab" * 3000)
    judge.checks.check("text too small for the vocabulary is a warning with the size reached: tokenizer train", small_text, judge, poor)
    judge.accept("text too small for the vocabulary is a warning: train", judge.train(out=judge.out, vocab_size=5000), "warning:", "5000")


def small_text(judge, poor):
    done = judge.program.run("tokenizer", "train", "--vocab-size", 1000, "-o", judge.out, poor, "--json")
    assert done.returncode == 0, done.stderr
    size = json.loads(done.stdout)["vocab_size"]
    assert 257 < size < 300, f"{size} entries from a text of two letters"
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert len(warnings) == 1 and str(size) in warnings[0] and "1000" in warnings[0], f"no warning with {size} and 1000: {done.stderr}"
    judge.out.unlink()
    return warnings[0]


def check_writing(judge):
    fault = {"ATHANOR_FAULT": "no-write"}
    for name, args in {"tokenizer train": ["tokenizer", "train", "--vocab-size", 300, "-o", judge.out, judge.text],
                       "data prepare": ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out, judge.text],
                       "train": judge.train(out=judge.out)}.items():
        judge.refuse(f"a folder that cannot be written: {name}", args, judge.out, "ermission denied", env=fault)
    judge.refuse("an output below a file: train", judge.train(out=judge.text / "run"), judge.text)
    judge.refuse("an output that is a file: train", judge.train(out=judge.text), judge.text, "-o")
    judge.refuse("an output folder that is not there: data prepare",
                 ["data", "prepare", "-t", judge.tokenizer, "-o", judge.folder / "no" / "tokens", judge.text], judge.folder / "no")
    judge.refuse("an output that exists: tokenizer train",
                 ["tokenizer", "train", "--vocab-size", 300, "-o", judge.tokenizer, judge.text], judge.tokenizer, "--force")
    judge.refuse("an output that exists: data prepare",
                 ["data", "prepare", "-t", judge.tokenizer, "-o", judge.text, judge.text], judge.text, "--force")
    judge.refuse("a system file as a folder", judge.train(out="/proc/no/run"), "/proc/no/run")
    full = {"ATHANOR_FAULT": "disk-full"}
    for name, args in {"tokenizer train": ["tokenizer", "train", "--vocab-size", 300, "-o", judge.out, judge.text],
                       "data prepare": ["data", "prepare", "-t", judge.tokenizer, "-o", judge.out, judge.text],
                       "data prepare --force": ["data", "prepare", "-t", judge.tokenizer, "--force", "-o", judge.tokenizer, judge.text]}.items():
        judge.refuse(f"a full disk: {name}", args, "No space left", env=full)
    judge.refuse("a full disk at the start: train", judge.train(out=judge.out), "No space left", env=full, may_leave=["out"])
    judge.checks.check("a full disk at any write of the later steps keeps the old checkpoint whole", fails_late, judge,
                       "disk-full", "No space left", 10)
    judge.checks.check("a folder that becomes read-only under the later steps keeps the old checkpoint whole", fails_late, judge,
                       "no-write", "ermission denied", 5)


def fails_late(judge, fault, reason, least):
    """The first, second, ... write of the resumed run and all behind it fail, through logs and the checkpoint, until none is met."""
    failed = 0
    for count in range(1, 400):
        run = judge.copy("late")
        old = listing(run / "checkpoint-4")
        done = judge.program.run("train", "--resume", "-o", run, "--max-steps", 6, env={"ATHANOR_FAULT": f"{fault}:{count}"})
        if done.returncode == 0:
            break
        failed += 1
        where = f"write {count}: "
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert done.returncode == 1 and len(errors) == 1, f"{where}exit {done.returncode}: {done.stderr}"
        assert reason in errors[0] and ";" in errors[0], where + errors[0]
        assert listing(run / "checkpoint-4") == old, f"{where}checkpoint-4 changed"
        left = [str(path) for path in run.rglob("*") if ".partial" in path.name]
        assert not left, f"{where}left behind: {left}"
        if (run / "checkpoint-6").exists():  # only `latest` was refused: then the new one is whole
            assert listing(run / "checkpoint-6").keys() == old.keys(), f"{where}checkpoint-6 is not whole"
        if count % 5 == 1:
            judge.program.must("generate", "-m", run, "--checkpoint", 4, "-p", "So", "-n", 2, "-q", "--device", "cpu")
            judge.program.must("train", "--resume", "-o", run, "--max-steps", 6, "-q")
            assert (run / "checkpoint-6").is_dir() and not list(run.rglob("*.partial*"))
        shutil.rmtree(run)
    else:
        raise AssertionError("400 writes and no end")
    shutil.rmtree(run)
    assert failed >= least, f"only {failed} writes failed; the fault does not reach the checkpoint"
    return f"{failed} places"


def check_checkpoints(judge):
    generate = lambda run: ["generate", "-m", run, "-p", "So", "-n", 2, "--device", "cpu"]
    resume = lambda run, *more: ["train", "--resume", "-o", run, "--max-steps", 6, *more]
    spoil = {"truncated": lambda content: content[:len(content) // 2], "altered": lambda content: flip(content),
             "empty": lambda content: b""}
    for file in ("model.safetensors", "optimizer.safetensors", "trainer_state.json", "config.json", "tokenizer.json"):
        for name, change in spoil.items():
            run = judge.copy(f"{name}-{file}")
            path = run / "checkpoint-4" / file
            path.write_bytes(change(path.read_bytes()))
            if file in ("model.safetensors", "config.json", "tokenizer.json"):
                judge.refuse(f"generating with {file} {name}", generate(run / "checkpoint-4"), path)
            if file == "optimizer.safetensors":
                judge.accept(f"generating with {file} {name}", generate(run / "checkpoint-4"))
            judge.accept(f"generating from the older checkpoint when {file} is {name}", [*generate(run), "--checkpoint", 2])
            judge.accept(f"resuming with {file} {name}", resume(run), str(path), "going on from", "checkpoint-2")
            shutil.rmtree(run)
    run = judge.copy("no_moments")
    (run / "checkpoint-4" / "optimizer.safetensors").unlink()
    shutil.rmtree(run / "checkpoint-2")
    judge.refuse("resuming without optimizer.safetensors", resume(run), "optimizer.safetensors", "no checkpoint of this run is whole")
    judge.accept("generating without optimizer.safetensors", generate(run))
    run = judge.copy("no_state")
    (run / "checkpoint-4" / "trainer_state.json").unlink()
    shutil.rmtree(run / "checkpoint-2")
    judge.refuse("resuming without trainer_state.json", resume(run), "trainer_state.json", "no checkpoint of this run is whole")
    judge.accept("generating without trainer_state.json", generate(run / "checkpoint-4"))
    run = judge.copy("no_such_checkpoint")
    (run / "latest").write_text("checkpoint-77\n")
    judge.refuse("a latest that names no checkpoint: generate", [*generate(run), "--checkpoint", "latest"], "latest")
    judge.accept("a latest that names no checkpoint: resume goes on from the newest", resume(run))
    (run / "latest").write_text("../elsewhere\n")
    judge.accept("a latest that leads outside: resume goes on from the newest", resume(run), "latest", "no checkpoint of this run")
    judge.refuse("a checkpoint that is not there", [*generate(judge.run), "--checkpoint", 3], "3", "2, 4")
    check_other_models(judge, generate, resume)
    check_hostile(judge, generate)


def check_other_models(judge, generate, resume):
    other = judge.folder / "wider"
    judge.program.must(*judge.train(out=other, **{"model-config.hidden-size": 32}), "-q")
    run = judge.copy("mixed")
    shutil.rmtree(run / "checkpoint-4")
    shutil.copytree(other / "checkpoint-4", run / "checkpoint-4")
    judge.refuse("resuming a checkpoint of another model", resume(run), "checkpoint-4", "two models")
    judge.refuse("resuming as another model", resume(judge.run, "--model-config.hidden-size", 32), "model_config.hidden_size is 32", "was begun with")
    judge.refuse("resuming with another seed", resume(judge.run, "--seed", 9), "seed 1", "9")
    model = judge.folder / "model"
    shutil.copytree(judge.run / "checkpoint-4", model)
    (model / "trainer_state.json").unlink()
    shutil.copy(other / "checkpoint-4" / "config.json", model)
    judge.refuse("weights and config.json of two models", generate(model), "model.safetensors", "two models")
    data = judge.file("other.txt", make_text(20000, seed=5))
    run = judge.copy("other_data")
    (run / "tokens.safetensors").unlink()
    judge.refuse("resuming with other data", resume(run, "--data", data), "data")


def check_hostile(judge, generate):
    """Headers that lie; without trainer_state.json there is no hash that would catch them first."""
    model = judge.folder / "hostile"
    shutil.copytree(judge.run / "checkpoint-4", model)
    (model / "trainer_state.json").unlink()
    weights = model / "model.safetensors"
    good = weights.read_bytes()
    size = struct.unpack("<Q", good[:8])[0]
    header = json.loads(good[8:8 + size])
    first = next(name for name in header if name != "__metadata__")

    def with_header(change):
        changed = json.loads(json.dumps(header))
        change(changed)
        text = json.dumps(changed).encode()
        return struct.pack("<Q", len(text)) + text + good[8 + size:]

    cases = {
        "cut in the header": good[:40],
        "cut in the tensors": good[:-100],
        "a header length beyond the file": struct.pack("<Q", 2**40) + good[8:],
        "offsets beyond the file": with_header(lambda h: h[first].update(data_offsets=[0, 2**40])),
        "offsets that overlap": with_header(lambda h: h[first].update(data_offsets=[4, h[first]["data_offsets"][1]])),
        "a shape that overflows": with_header(lambda h: h[first].update(shape=[2**62, 2**62])),
        "a type that nobody knows": with_header(lambda h: h[first].update(dtype="F99")),
        "a tensor missing": with_header(lambda h: h.pop(first)),
        "no JSON": good[:8] + b"x" * size + good[8 + size:],
    }
    for name, content in cases.items():
        weights.write_bytes(content)
        judge.refuse(f"model.safetensors with {name}", generate(model), weights)
    weights.write_bytes(good)
    judge.accept("the same model undamaged", generate(model))
    tokens = judge.folder / "tokens.safetensors"
    judge.program.must("data", "prepare", "-t", judge.tokenizer, "-o", tokens, judge.text)
    content = tokens.read_bytes()
    for name, changed in {"cut": content[:-7], "with an id outside the vocabulary": content[:-2] + b"\xff\xff"}.items():
        path = judge.file("spoilt.safetensors", changed)
        judge.refuse(f"a token file {name}: train", judge.train(path, out=judge.out), path)
        judge.refuse(f"a token file {name}: data show", ["data", "show", path], path)


def flip(content):
    at = len(content) * 2 // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1:]


def check_settings(judge):
    yaml = lambda text: judge.file("settings.yaml", text)
    judge.refuse("an unknown key with a likely one", ["train", yaml("max_steps: 3\nlearnign_rate: 1\n"), judge.text, "-o", judge.out],
                 "settings.yaml", "learnign_rate", "did you mean learning_rate?")
    judge.refuse("an unknown key of the model", ["train", yaml("model_config: {hiden_size: 3}\n"), judge.text, "-o", judge.out],
                 "hiden_size", "did you mean model_config.hidden_size?")
    judge.refuse("an unknown key without a likely one", ["train", yaml("bananas: 3\n"), judge.text, "-o", judge.out], "bananas", "--help")
    judge.refuse("a value of the wrong kind", ["train", yaml("max_steps: many\n"), judge.text, "-o", judge.out], "max_steps", "many")
    judge.refuse("a key that stands twice", ["train", yaml("max_steps: 3\nseed: 1\nmax_steps: 4\n"), judge.text, "-o", judge.out],
                 "settings.yaml", "max_steps", "lines 1 and 3")
    judge.refuse("a preset that nobody knows", judge.train(out=judge.out, preset="huge"), "huge", "llama-138m")
    judge.refuse("a preset and a depth", judge.train(out=judge.out, preset="tiny", depth=3), "tiny", "3")
    judge.refuse("a batch that is not what its parts make",
                 judge.train(out=judge.out, batch_tokens=1000, gradient_accumulation_steps=1), "1000", "128")
    judge.refuse("a step of fewer than no tokens", judge.train(out=judge.out, batch_tokens=-5), "batch_tokens", "-5")
    judge.refuse("resuming with another preset", ["train", "--resume", "-o", judge.run, "--preset", "tiny"], "preset", "-o")
    judge.refuse("a number below its range", judge.train(out=judge.out, max_steps=-3), "max_steps", "-3")
    judge.refuse("a number above its range", judge.train(out=judge.out, max_steps=10**20), "max_steps", 10**20)
    judge.refuse("threads below none: tokenizer train",
                 ["tokenizer", "train", "--vocab-size", 300, "--threads", -1, "-o", judge.out, judge.text], "--threads", -1)
    judge.refuse("a frequency below one: tokenizer train",
                 ["tokenizer", "train", "--vocab-size", 300, "--min-frequency", -2, "-o", judge.out, judge.text], "--min-frequency", -2)
    judge.refuse("threads below none: data prepare",
                 ["data", "prepare", "-t", judge.tokenizer, "--threads", -1, "-o", judge.out, judge.text], "--threads", -1)
    judge.refuse("settings that are no YAML", ["train", yaml("max_steps: [1\n"), judge.text, "-o", judge.out], "settings.yaml", "line")
    judge.refuse("a learning rate below 0", judge.train(out=judge.out, learning_rate=0), "learning_rate")
    judge.refuse("heads that do not divide the width", judge.train(out=judge.out, **{"model-config.num-attention-heads": 5}), "num_attention_heads 5")
    judge.refuse("no steps and no minutes", ["train", judge.text, "-o", judge.out], "max_steps", "minutes")
    judge.refuse("no output folder", ["train", judge.text, "--max-steps", 3], "-o")
    judge.refuse("a profile over a file that is there", judge.train(out=judge.out, profile=judge.text), judge.text, "--profile")
    judge.refuse("a profile over a file that is there: bench train", ["bench", "train", "--device", "cpu", "--profile", judge.text],
                 judge.text, "--profile")
    judge.refuse("a profile in no folder", judge.train(out=judge.out, profile=judge.folder / "nosuch" / "trace.json"), "nosuch")
    texts = judge.file("texts/a.txt", judge.text.read_bytes()).parent
    judge.refuse("an output folder that is the text", judge.train(texts, out=texts), "texts", "-o")
    judge.refuse("two documents in a settings file", ["train", yaml("max_steps: 3\n---\nseed: 1\n"), judge.text, "-o", judge.out],
                 "settings.yaml", "2 YAML documents")
    judge.refuse("fewer steps than the run has", ["train", "--resume", "-o", judge.run, "--max-steps", 1], "--max-steps 1")
    judge.refuse("minutes beside steps", judge.train(out=judge.out, minutes=1), "--minutes", "--max-steps")
    judge.refuse("resuming nothing", ["train", "--resume"], "-o")
    judge.refuse("resuming what is no run", ["train", "--resume", "-o", judge.out], "no run to go on with")
    judge.refuse("an output folder that holds a run", judge.train(), judge.run, "--resume", "-o")
    context = {"model-config.max-position-embeddings": 32}
    judge.refuse("rows longer than the model's context", judge.train(out=judge.out, max_length=128, **context), "128", "32")
    generate = ["generate", "-m", judge.run, "--device", "cpu"]
    judge.refuse("a context longer than the model's", [*generate, "-p", "x", "-c", 100], "100", "64")
    judge.refuse("a prompt longer than the context", [*generate, "-p", "so on " * 100], "64")
    for name, args in {"no command": [], "an unknown command": ["trian"], "an unknown flag": ["train", "--max-stps", 3],
                       "a flag without a value": ["train", judge.text, "-o"], "a value that is no number": [*generate, "-n", "many"],
                       "a setting that is no number": judge.train(out=judge.out, max_steps="many"),
                       "generate without a model": ["generate", "-p", "x"], "two excluding flags": ["-q", "-v", *generate]}.items():
        judge.refuse(f"exit 2: {name}", args, "--help", code=2)


def check_devices(judge):
    webgpu = judge.train(out=judge.out, device="webgpu")
    generate = ["generate", "-m", judge.run, "-p", "x", "--device", "webgpu"]
    nowhere = {"ATHANOR_WEBGPU_LIBRARY": "/nonexistent"}
    judge.refuse("no WebGPU library: train", webgpu, "/nonexistent", env=nowhere)
    judge.refuse("no WebGPU library: generate", generate, "/nonexistent", env=nowhere)
    judge.accept("--device auto without WebGPU library takes the CPU", judge.train(out=judge.out, device="auto"), "CPU", env=nowhere)
    judge.refuse("a library that is no WebGPU library", generate, judge.text, env={"ATHANOR_WEBGPU_LIBRARY": str(judge.text)})
    for library in LIBRARIES:
        path = judge.deps / "webgpu/lib" / f"lib{library}.so"
        if not path.exists():
            raise SystemExit(f"{path} is missing; run scripts/setup.sh --tests")
        none = {"ATHANOR_WEBGPU_LIBRARY": str(path), "VK_DRIVER_FILES": "/nonexistent.json"}
        judge.refuse(f"no adapter: {library}", webgpu, "adapter", env=none)
    none = {"VK_DRIVER_FILES": "/nonexistent.json"}
    judge.refuse("no adapter: all libraries", generate, "adapter", env=none)
    judge.accept("--device auto without adapter takes the CPU", judge.train(out=judge.out, device="auto"), "CPU", env=none)
    judge.refuse("a device of an unknown name", judge.train(out=judge.out, device="cuda"), "cuda", "webgpu")


def main():
    options = parser(__doc__, "deps").parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Program(options.athanor), options.deps, folder)
        for check in (check_files, check_encodings, check_vocabulary, check_writing, check_checkpoints, check_settings, check_devices):
            check(judge)
        judge.checks.finish()


if __name__ == "__main__":
    main()
