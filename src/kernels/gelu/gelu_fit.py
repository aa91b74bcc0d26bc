"""Fits the rational of gelu_values.wgsl and gelu_values.h: r(a) = e^(a^2/2) * P(-a) with the normal distribution P, for a in [0, 9].

Least squares of the linearised relative error, weighted anew each round by that error (Lawson), which tends to the minimax fit.
Needs numpy. Run: python gelu_fit.py
"""
import math

import numpy as np

ABOVE, BELOW, LARGEST, POINTS, ROUNDS = 4, 5, 9.0, 8000, 600

a = LARGEST * (0.5 - 0.5 * np.cos(np.linspace(0, np.pi, POINTS)))
wanted = np.array([0.5 * math.erfc(v / math.sqrt(2)) * math.exp(v * v / 2) for v in a])
weight = np.ones(POINTS)
below = np.ones(POINTS)
best_error, best = math.inf, None
for _ in range(ROUNDS):
    # above - wanted * (below - 1) = wanted, in units of what below was
    columns = [a**k for k in range(ABOVE + 1)] + [-wanted * a**k for k in range(1, BELOW + 1)]
    matrix = np.stack(columns, 1) / (wanted * below)[:, None]
    size = np.linalg.norm(matrix, axis=0)
    root = np.sqrt(weight)
    solved = np.linalg.lstsq(matrix / size * root[:, None], root / below, rcond=None)[0] / size
    above = sum(solved[k] * a**k for k in range(ABOVE + 1))
    below = 1 + sum(solved[ABOVE + k] * a**k for k in range(1, BELOW + 1))
    error = np.abs(above / below / wanted - 1)
    if error.max() < best_error:
        best_error, best = error.max(), solved
    weight *= error + 1e-3 * error.max()
    weight /= weight.sum()
print("largest relative error", best_error)
print("above", [f"{v:.9g}" for v in best[: ABOVE + 1]])
print("below", ["1"] + [f"{v:.9g}" for v in best[ABOVE + 1 :]])
