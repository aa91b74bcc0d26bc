#!/usr/bin/env python3
"""`athanor tune` on software Vulkan, and what runs make of its tables: used from their start to their end, whatever is measured since.

Usage: tune.py --athanor build/release/athanor --deps build/deps --library webgpu_dawn
Leaves nothing behind.
"""

import filecmp
import json
import pathlib
import shutil
import signal
import tempfile

from program import SMALL_MODEL, Checks, Program, flags, parser, software_vulkan
from training_runs import SETTINGS, STEPS, Runs, differs, same_bytes

RUN = {**SETTINGS, "device": "webgpu"}
MODEL = {**{key: value for key, value in SMALL_MODEL.items() if key != "sample-tokens"}, "per-device-train-batch-size": 4}
KILLED_AT = {"ATHANOR_FAULT": "kill-after-update:15"}


class Tuning:
    def __init__(self, program, environment, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.cache = self.folder / "cache" / "athanor" / "choices"
        self.environment = {**environment, "XDG_CACHE_HOME": str(self.folder / "cache")}
        program.environment.update(self.environment)
        self.runs = Runs(program, self.folder)

    def tune(self, *more):
        return self.program.must("-q", "tune", "--device", "webgpu", "--seconds", 30, *flags(MODEL), *more)

    def user_file(self):
        found = list(self.cache.glob("*.json"))
        assert len(found) == 1, found
        return found[0]

    def table(self):
        return json.loads(self.user_file().read_text())

    def put_table(self, take):
        """The user's table becomes one that takes this everywhere."""
        table = self.table()
        table["choices"] = [{"kernel": kernel, "what": "parts", "sizes": sizes, "take": take} for kernel, sizes in self.calls]
        self.user_file().write_text(json.dumps(table))

    def says_that_the_cpu_has_nothing(self):
        out = self.program.must("tune", "--device", "cpu")
        assert "nothing to tune on the CPU" in out, out
        report = json.loads(self.program.must("tune", "--device", "cpu", "--json"))
        assert report["calls"] == [] and report["choices"] == 0 and report["file"] is None, report
        report = json.loads(self.program.must("tune", "--device", "cpu", "--json", "--forget"))
        assert report["removed"] is False and report["file"] is None, report
        done = self.program.run("tune", "--device", "cpu", "--json", "-o", self.folder / "cpu.json")
        assert done.returncode == 1 and "cpu.json is not written" in done.stderr and not done.stdout, done
        assert not self.cache.exists() and not (self.folder / "cpu.json").exists()

    def takes_variables_as_flags(self):
        cpu = {"ATHANOR_DEVICE": "cpu"}
        assert "nothing to tune on the CPU" in self.program.must("tune", env={**cpu, "ATHANOR_CHOICES": "none"})
        done = self.program.run("bench", "train", "--json", "--steps", 1, *flags(MODEL), env=cpu)
        assert json.loads(done.stdout)["backend"] == "cpu", done
        done = self.program.run("bench", "train", "--steps", 1, *flags(MODEL), env={**cpu, "ATHANOR_CHOICES": "nothere"})
        assert done.returncode == 1 and "nothere" in done.stderr, done.stderr

    def says_first_where_nothing_can_be_written(self):
        mine = self.folder / "words.txt"
        mine.write_text("my own words\n", encoding="utf-8")
        for path, words in ((self.folder / "no" / "table.json", "there is no folder"), (self.folder, "is a folder"), (mine, "is no JSON")):
            done = self.program.run("tune", "--device", "webgpu", "--seconds", 600, *flags(MODEL), "-o", path, timeout=60)
            assert done.returncode == 1 and words in done.stderr and "tune: 1 of" not in done.stderr, done.stderr
        assert mine.read_text(encoding="utf-8") == "my own words\n" and not (self.folder / "no").exists()

    def keeps_to_its_time(self):
        done = self.program.run("tune", "--device", "webgpu", "--seconds", 0.001, *flags(MODEL), "-o", self.folder / "short.json", timeout=60)
        assert done.returncode == 1 and "none of" in done.stderr and "a larger --seconds" in done.stderr, done.stderr
        assert not (self.folder / "short.json").exists()

    def is_interrupted(self):
        path = self.folder / "interrupted.json"
        process = self.program.start("tune", "--device", "webgpu", "--seconds", 600, *flags(MODEL), "-o", path)
        said = ""
        while "tune: 1 of" not in said:
            line = process.stderr.readline().decode()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=300)[1].decode()
        assert process.returncode == 130, f"exit {process.returncode}: {said}"
        kept = f"what was measured until then is kept in {path}" in said
        assert kept == path.exists() and (kept or "nothing is kept" in said), said
        if kept:
            json.loads(path.read_text())
        return "some calls are kept" if kept else "nothing is kept"

    def measures(self):
        report = json.loads(self.tune("--json"))
        assert report["calls"] and report["file"] == str(self.user_file()), report
        for call in report["calls"]:
            ways = [way["way"] for way in call["ways"]]
            assert len(ways) > 1 and ways[0] == call["rule"] and call["best"] in ways, call
            assert call["ways"][0]["milliseconds"] > 0, call
            assert not any("error" in way for way in call["ways"]), call
        self.calls = [(call["kernel"], call["sizes"]) for call in report["calls"]]
        table = self.table()
        assert table["version"] == 1 and table["adapter"] == report["device"] and table["shaders"], table
        assert len(table["choices"]) == report["choices"], table
        assert not list(self.cache.glob("*.partial*"))
        return f"{len(self.calls)} calls, {report['choices']} choices"

    def prints(self):
        out = self.tune("-o", self.folder / "elsewhere.json")
        for word in ("kernel", "by rule", "gain %", "matmul_at", "a run with --choices"):
            assert word in out, out
        assert json.loads((self.folder / "elsewhere.json").read_text())["adapter"] == self.table()["adapter"]

    def bench(self, *more):
        return self.program.run("bench", "train", "--device", "webgpu", "--steps", 1, *flags(MODEL), *more)

    def takes_no_damaged_file(self):
        whole = self.user_file().read_text()
        for odd in ("{", "[]", '{"version": 1}', "[" * 100000, "\0" * 50, whole[: len(whole) // 2], '{"version": 99, "choices": []}'):
            self.user_file().write_text(odd)
            done = self.bench()
            assert done.returncode == 0 and "it is not used: athanor tune makes it anew" in done.stderr, f"{odd[:30]}: {done.stderr}"
            assert "tok/s" in done.stdout, done.stdout
        self.user_file().write_text(whole.replace(json.loads(whole)["shaders"], "0" * 32))
        done = self.bench()
        assert done.returncode == 0 and "measured with other shaders" in done.stderr, done.stderr
        self.user_file().write_text(whole)
        assert "is no table" not in self.bench().stderr

    def takes_no_answer_that_is_not_admitted(self):
        none = self.runs.train("rule", {**RUN, "choices": "none"})
        whole = self.user_file().read_text()
        for odd in (2**64 - 1, 0, "units", "-3", "1e9", "x" * 60):
            self.put_table(odd)
            shutil.rmtree(self.folder / "odd", ignore_errors=True)
            same_bytes(self.runs.train("odd", RUN), none)
        self.user_file().write_text(whole)

    def is_kept_in_a_run(self):
        self.put_table(4)
        run = self.runs.train("tuned", RUN)
        differs(run, self.folder / "rule")
        assert "\nchoices: choices.json\n" in (run / "config.yaml").read_text()
        kept = json.loads((run / "choices.json").read_text())["choices"]
        assert kept and all(choice["take"] == "4" for choice in kept), kept

    def is_used_to_the_end(self):
        done = self.program.run(*self.runs.arguments("killed", RUN), env=KILLED_AT)
        assert done.returncode == -9, f"{done.returncode}: {done.stderr}"
        assert not (self.folder / "killed" / f"checkpoint-{STEPS}").exists()
        self.put_table(2)
        self.runs.resume(self.folder / "killed")
        same_bytes(self.folder / "killed", self.folder / "tuned", (10, STEPS))
        assert filecmp.cmp(self.folder / "killed" / "choices.json", self.folder / "tuned" / "choices.json", shallow=False)
        differs(self.runs.train("later", RUN), self.folder / "tuned")

    def repeats_by_its_config(self):
        self.program.must("train", self.folder / "tuned" / "config.yaml", "-o", self.folder / "again", "-q")
        same_bytes(self.folder / "again", self.folder / "tuned", (10, STEPS))

    def refuses_to_go_on_with_another_one(self):
        run = self.folder / "killed"
        own = (run / "choices.json").read_text()
        state = json.loads((run / f"checkpoint-{STEPS}" / "trainer_state.json").read_text())
        (run / "choices.json").write_text(own.replace('"take":"4"', '"take":"2"'))
        done = self.program.run("train", "--resume", "-o", run, "--max-steps", STEPS + 1)
        assert done.returncode == 1, done.stderr
        for words in (f"was made with the table of choices {state['choices']}", "choices.json is table ", "--choices none"):
            assert words in done.stderr, done.stderr
        (run / "choices.json").write_text(own)

    def refuses_to_go_on_with_a_damaged_one(self):
        run = self.folder / "killed"
        (run / "choices.json").write_text("{")
        done = self.program.run("train", "--resume", "-o", run)
        assert done.returncode == 1 and "choices.json: is no JSON" in done.stderr and "--choices none" in done.stderr, done.stderr
        (run / "choices.json").unlink()
        done = self.program.run("train", "--resume", "-o", run)
        assert done.returncode == 1 and "--choices none" in done.stderr, done.stderr
        for more in (("--choices", "none"), ()):  # said once, it holds
            done = self.program.run("train", "--resume", "-o", run, *more)
            assert done.returncode == 0 and "not with the very same bits" in done.stderr, done.stderr
        assert "\nchoices: none\n" in (run / "config.yaml").read_text() and not (run / "choices.json").exists()
        (run / "choices.json").write_text((self.folder / "tuned" / "choices.json").read_text())
        done = self.program.run("train", "--resume", "-o", run)
        assert done.returncode == 1 and "the settings say choices: none" in done.stderr, done.stderr

    def uses_none_in_a_run_that_began_without(self):
        run = self.folder / "rule"
        assert not (run / "choices.json").exists()
        config = (run / "config.yaml").read_text()
        (run / "config.yaml").write_text("".join(line for line in config.splitlines(True) if not line.startswith("choices:")))
        shutil.rmtree(run / f"checkpoint-{STEPS}")
        self.runs.resume(run)
        assert "\nchoices: none\n" in (run / "config.yaml").read_text() and not (run / "choices.json").exists()
        differs(run, self.folder / "tuned")
        same_bytes(run, self.folder / "odd")

    def removes_no_file_of_the_user(self):
        mine = self.folder / "mine.txt"
        mine.write_text("my own words\n", encoding="utf-8")
        done = self.program.run("tune", "--device", "webgpu", "--forget", "-o", mine)
        assert done.returncode == 1 and "takes no --output" in done.stderr, done.stderr
        assert mine.read_text(encoding="utf-8") == "my own words\n"

    def warns_once_of_a_folder_in_its_place(self):
        file = self.user_file()
        whole = file.read_text()
        file.unlink()
        file.mkdir()
        done = self.program.run("tune", "--device", "webgpu", *flags(MODEL))
        assert done.returncode == 1 and "is a folder in the place of the table" in done.stderr, done.stderr
        assert done.stderr.count("it is not used: athanor tune makes it anew") == 1, done.stderr
        file.rmdir()
        file.write_text(whole)

    def takes_no_table(self):
        done = self.program.run("tune", "--device", "webgpu", "--choices", "none")
        assert done.returncode == 1 and "--choices is for what uses a table" in done.stderr, done.stderr

    def is_forgotten(self):
        file = self.user_file()
        whole = file.read_text()
        for word in ("removed", "is not there"):
            out = self.program.must("tune", "--device", "webgpu", "--forget")
            assert word in out, out
        file.write_text(whole)
        for was_there in (True, False):
            report = json.loads(self.program.must("tune", "--device", "webgpu", "--forget", "--json"))
            assert report["removed"] is was_there and report["file"] == str(file), report
        assert not list(self.cache.iterdir())


def main():
    arguments = parser(__doc__, "deps", "library").parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        tuning = Tuning(Program(arguments.athanor), software_vulkan(arguments.deps, arguments.library), folder)
        checks.check("the CPU has nothing to tune", tuning.says_that_the_cpu_has_nothing)
        checks.check("variables stand for flags", tuning.takes_variables_as_flags)
        checks.check("what stands in the way of the table is said first", tuning.says_first_where_nothing_can_be_written)
        checks.check("it ends in its time, and says what it lacked", tuning.keeps_to_its_time)
        checks.check("Ctrl-C keeps what was measured and leaves with 130", tuning.is_interrupted)
        checks.check("every way of every call is timed, and the table is kept", tuning.measures)
        checks.check("the table is printed, and written elsewhere if asked", tuning.prints)
        checks.check("a damaged file, and one of other shaders, is not used", tuning.takes_no_damaged_file)
        checks.check("an answer that a launch does not admit is not taken", tuning.takes_no_answer_that_is_not_admitted)
        checks.check("a run uses the user's table and keeps it", tuning.is_kept_in_a_run)
        checks.check("a run that goes on uses its own, to the very bits", tuning.is_used_to_the_end)
        checks.check("config.yaml repeats a run with its table", tuning.repeats_by_its_config)
        checks.check("a run whose table was replaced by another is refused", tuning.refuses_to_go_on_with_another_one)
        checks.check("a run whose table is damaged is refused, and goes on without when told", tuning.refuses_to_go_on_with_a_damaged_one)
        checks.check("a run that began without a table uses none", tuning.uses_none_in_a_run_that_began_without)
        checks.check("a table is not what tune measures with", tuning.takes_no_table)
        checks.check("a folder in the table's place is named once", tuning.warns_once_of_a_folder_in_its_place)
        checks.check("a file that the user names is not removed", tuning.removes_no_file_of_the_user)
        checks.check("the user's table is forgotten", tuning.is_forgotten)
    checks.finish()


if __name__ == "__main__":
    main()
