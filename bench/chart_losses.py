#!/usr/bin/env python3
"""Draws the validation losses of runs beside each other, with their differences to the first below, as an SVG.

    bench/chart_losses.py -o docs/medium-against-highest.svg highest=RUN/metrics.jsonl medium=OTHER/metrics.jsonl
Needs matplotlib (drawn with 3.10.7).
"""
import argparse
import json

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "athanor"  # the same bytes for the same runs
import matplotlib.pyplot as plt


def validation_losses(path):
    with open(path, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    return [(entry["step"], entry["val_loss"]) for entry in entries if "val_loss" in entry]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("runs", nargs="+", metavar="NAME=metrics.jsonl")
    a = parser.parse_args()
    runs = {name: validation_losses(path) for name, path in (run.split("=", 1) for run in a.runs)}
    figure, (losses, differences) = plt.subplots(2, 1, sharex=True, figsize=(7, 5), height_ratios=(3, 1), layout="constrained")
    first = None
    for name, points in runs.items():
        steps, values = zip(*points)
        losses.plot(steps, values, marker="o", markersize=4, linestyle="-" if first is None else "--",
                    label=f"{name}: {values[-1]:.4f} at the end")
        if first is None:
            first = dict(points)
        else:
            differences.plot(steps, [100 * (value / first[step] - 1) for step, value in points], marker="o", markersize=4, color="C1")
    losses.set_ylabel("validation loss, nats a token")
    losses.legend()
    differences.axhline(0, color="C0")
    differences.set_ylabel("difference, %")
    differences.set_xlabel("step")
    figure.savefig(a.output, metadata={"Date": None})


main()
