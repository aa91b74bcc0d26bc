#!/usr/bin/env python3
"""Prints what MLX's optimizers make of fifteen weights in two steps: the numbers in the tests of muon_update, sgd_update and adamw_update.

Run in the judges' environment: build/deps/venv/bin/python tests/golden/make_optimizer_golden.py (mlx 0.32.4 gave the committed ones).
Muon's weights lie [out, in] there, so that they are turned on the way in and out; its decay is left out, since MLX adds it to the gradient.
"""
import mlx.core as mx
import mlx.optimizers as optimizers
import numpy as np


def gradients(step):
    """Step 0 or 1: tenths that look like nothing in particular."""
    factor, modulus, middle = ((7, 11, 5), (5, 13, 6))[step]
    return np.array([(i * factor % modulus - middle) / 10 for i in range(15)], dtype=np.float32)


def show(name, values):
    print(name, ", ".join(f"{value:.6f}F" for value in np.array(values).reshape(-1)))


for rows, columns in ((3, 5), (5, 3)):
    muon = optimizers.Muon(learning_rate=0.1, weight_decay=0)
    weights = {"w": mx.zeros((columns, rows))}
    for step in range(2):
        weights = muon.apply_gradients({"w": mx.array(gradients(step).reshape(rows, columns).T)}, weights)
    show(f"muon, in {rows}, out {columns}:", np.array(weights["w"]).T)

for name, optimizer in (("sgd", optimizers.SGD(learning_rate=0.1, momentum=0.9, weight_decay=0.1, nesterov=True)),
                        ("adamw", optimizers.AdamW(learning_rate=0.1, weight_decay=0.1, bias_correction=True))):
    weights = {"w": mx.array(np.arange(15, dtype=np.float32) / 10)}
    for step in range(2):
        weights = optimizer.apply_gradients({"w": mx.array(gradients(step))}, weights)
    show(f"{name}:", weights["w"])
