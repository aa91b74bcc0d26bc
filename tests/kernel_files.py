#!/usr/bin/env python3
"""What `athanor kernels` lists, and shaders of the user in the place of ours (--kernel), on software Vulkan.

Usage: kernel_files.py --athanor build/release/athanor --deps build/deps --library webgpu_dawn
Leaves nothing behind.
"""

import json
import pathlib
import tempfile

from program import SMALL_MODEL, Checks, Program, flags, make_text, parser, software_vulkan

SHORT_RUN = {**SMALL_MODEL, "max-steps": 3, "save-steps": 0, "eval-steps": 0, "per-device-train-batch-size": 1}


class KernelFiles:
    def __init__(self, program, environment, folder):
        self.program = program
        self.environment = environment
        self.folder = pathlib.Path(folder)

    def wrong_add(self):
        """The shader of add, subtracting."""
        right = self.wgsl("add")
        wrong = right.replace("a[index] + b[column]", "a[index] - b[column]")
        assert wrong != right, "the shader of add reads otherwise than this test knows"
        return wrong

    def wgsl(self, name):
        return self.program.must("-q", "kernels", "--device", "cpu", "--wgsl", name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def doctor(self, kernel, path):
        return self.program.run("doctor", "--device", "webgpu", "--kernel", f"{kernel}={path}", env=self.environment)

    def lists_every_kernel(self):
        report = json.loads(self.program.must("kernels", "--device", "cpu", "--json"))
        for kernel in report["kernels"]:
            for part in kernel["passes"]:
                for form in part["forms"]:
                    where = f"{part['name']} {form['variant']}"
                    assert form["bindings"] and form["grid"], f"{where}: no bindings or grid"
                    assert len(form["workgroup_size"]) == 3 and min(form["workgroup_size"]) > 0, f"{where}: workgroup {form['workgroup_size']}"
                    threads = form["workgroup_size"][0] * form["workgroup_size"][1] * form["workgroup_size"][2]
                    assert threads <= 256, f"{where}: {threads} threads"
                    for i, binding in enumerate(form["bindings"]):
                        assert binding["binding"] == i and binding["shape"], f"{where}: binding {i} is {binding}"
            assert kernel["variants"] and kernel["variants"][0] == "portable", f"{kernel['name']}: {kernel['variants']}"
        return f"{len(report['kernels'])} kernels"

    def printed_file_passes(self):
        done = self.doctor("add", self.file("add.wgsl", self.wgsl("add")))
        assert done.returncode == 0, done.stderr
        assert "add.wgsl in the place of add" in done.stdout, done.stdout

    def wrong_file_fails_by_name(self):
        done = self.doctor("add", self.file("wrong.wgsl", self.wrong_add()))
        assert done.returncode == 1, f"exit {done.returncode}"
        assert "not right here: add on" in done.stderr, done.stderr
        assert "FAIL  add " in done.stdout and "FAIL  silu_gate" not in done.stdout, done.stdout

    def wrong_bindings_are_refused(self):
        text = self.wgsl("add").replace("var<storage, read> b:", "var<storage, read_write> b:")
        done = self.doctor("add", self.file("bindings.wgsl", text))
        assert done.returncode == 1 and "add" in done.stderr, done.stderr
        assert "refused" in done.stdout, done.stdout

    def what_is_no_shader_is_refused(self):
        for kernel, path, words in (
                ("add", self.file("empty.wgsl", ""), "0 bytes"),
                ("add", self.folder / "absent.wgsl", "absent.wgsl"),
                ("add", self.file("text.wgsl", "no shader at all"), "refused"),
                ("adx", self.file("add2.wgsl", self.wgsl("add")), "no kernel adx")):
            done = self.doctor(kernel, path)
            assert done.returncode == 1, f"{path}: exit {done.returncode}"
            assert words in done.stderr + done.stdout, f"{path}: {done.stderr}"
        done = self.program.run("doctor", "--device", "webgpu", "--kernel", "add", env=self.environment)
        assert done.returncode == 1 and "NAME=FILE" in done.stderr, done.stderr

    def train_runs_with_it(self):
        text = self.folder / "text.txt"
        text.write_text(make_text(20000))
        shader = self.file("mine.wgsl", self.wgsl("rms_norm") + "\n// mine\n")
        losses = []
        for name, extra in (("ours", []), ("mine", ["--kernel", f"rms_norm={shader}"])):
            run = self.folder / name
            self.program.must("-q", "train", text, "-o", run, "--device", "webgpu", *flags(SHORT_RUN), *extra, env=self.environment)
            lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
            losses.append([line["loss"] for line in lines if "loss" in line])
        assert losses[0] and losses[0] == losses[1], losses
        kept = self.folder / "mine" / "kernels" / "rms_norm.wgsl"
        assert kept.read_text().endswith("// mine\n"), "the run does not hold its shader"
        assert "rms_norm=kernels/rms_norm.wgsl" in (self.folder / "mine" / "config.yaml").read_text()
        # A run that is moved takes its own shader along.
        moved = (self.folder / "mine").rename(self.folder / "moved")
        shader.unlink()
        again = self.folder / "again"
        self.program.must("-q", "train", moved / "config.yaml", "-o", again, env=self.environment)
        assert (again / "kernels" / "rms_norm.wgsl").read_text().endswith("// mine\n")
        self.program.must("-q", "train", "--resume", "-o", moved, "--max-steps", SHORT_RUN["max-steps"] + 1, env=self.environment)
        # A wrong one shows in the loss: it does run.
        wrong = self.file("wrong.wgsl", self.wgsl("rms_norm").replace("+ params.eps)", "+ 1.0 + params.eps)"))
        run = self.folder / "wrong"
        self.program.must("-q", "train", text, "-o", run, "--device", "webgpu", *flags(SHORT_RUN), "--kernel", f"rms_norm={wrong}", env=self.environment)
        first = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
        assert first["loss"] != losses[0][0], "the run did not use the shader"

    def bench_times_it_beside_ours(self):
        shader = self.file("bench.wgsl", self.wgsl("add"))
        report = json.loads(self.program.must("-q", "bench", "kernels", "--json", "--device", "webgpu", "--bytes", "1MiB", "--seconds", "0.05",
                                              "--filter", "gradient_accumulate", env=self.environment))
        assert [row["kernel"] for row in report["kernels"]] == ["gradient_accumulate"], report
        report = json.loads(self.program.must("-q", "bench", "kernels", "--json", "--device", "webgpu", "--bytes", "1MiB", "--seconds", "0.05",
                                              "--filter", "add", "--kernel", f"add={shader}", env=self.environment))
        rows = [row for row in report["kernels"] if row["kernel"] == "add"]
        assert len(rows) == 2 and rows[1]["file"] == str(shader), rows
        for row in rows:
            assert row["milliseconds"] > 0 and row["bytes_per_second"] > 0 and row["share_of_bandwidth"] > 0, row

    def explain_lists_a_step(self):
        model = {"model-config.hidden-size": 64, "model-config.intermediate-size": 96, "model-config.num-hidden-layers": 1,
                 "model-config.num-attention-heads": 4, "max-length": 32, "per-device-train-batch-size": 1, "vocab-size": 64}
        known = {kernel["name"] for kernel in json.loads(self.program.must("kernels", "--device", "cpu", "--json"))["kernels"]}
        for device, environment in (("cpu", {}), ("webgpu", self.environment)):
            report = json.loads(self.program.must("-q", "explain", "--json", "--device", device, *flags(model), env=environment))
            names = [launch["kernel"] for launch in report["launches"]]
            assert names[0] == "embedding" and set(names) <= known, names
            assert abs(sum(launch["share"] for launch in report["launches"]) - 1) < 1e-6
            assert all(launch["operands"] and launch["chapter"].startswith("docs/kernels.md#") for launch in report["launches"])


def main():
    arguments = parser(__doc__, "deps", "library").parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory() as folder:
        tests = KernelFiles(Program(arguments.athanor), software_vulkan(arguments.deps, arguments.library), folder)
        for name in ("lists_every_kernel", "printed_file_passes", "wrong_file_fails_by_name", "wrong_bindings_are_refused",
                     "what_is_no_shader_is_refused", "train_runs_with_it", "bench_times_it_beside_ours", "explain_lists_a_step"):
            checks.check(name.replace("_", " "), getattr(tests, name))
    checks.finish()


if __name__ == "__main__":
    main()
