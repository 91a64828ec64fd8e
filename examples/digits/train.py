#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits example's network and writes its weights as .npy files beside this script.

Needs NumPy alone. Deterministic: the same NumPy gives the same files. The network is
64 -> 128 -> 128 -> 10 with relu between, its input the pixels divided by 16. Every fifth image
(index 0, 5, 10 ...: 360 of 1797) is held out and never seen here.
"""
import gzip
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = [64, 128, 128, 10]
EPOCHS, BATCH, RATE, DECAY, SEED = 120, 64, 2e-3, 1e-3, 1998


def load():
    with gzip.open(HERE / "digits.csv.gz", "rt") as f:
        table = np.loadtxt(f, delimiter=",")
    held = np.arange(len(table)) % 5 == 0
    x, y = table[:, :64] / 16.0, table[:, 64].astype(int)
    return x[~held], y[~held], x[held], y[held]


def jitter(rng, x):
    """Shifts each 8 x 8 image by at most one pixel, so that few images go a long way."""
    images = np.pad(x.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    dy, dx = rng.integers(0, 3, len(x)), rng.integers(0, 3, len(x))
    keep = rng.random(len(x)) < 0.5
    dy[keep], dx[keep] = 1, 1
    rows = dy[:, None] + np.arange(8)
    columns = dx[:, None] + np.arange(8)
    return images[np.arange(len(x))[:, None, None], rows[:, :, None], columns[:, None, :]].reshape(len(x), 64)


def forward(params, x):
    """Activations of every layer; the last one holds the logits."""
    layers = [x]
    for i, (w, b) in enumerate(params):
        z = layers[-1] @ w + b
        layers.append(np.maximum(z, 0) if i + 1 < len(params) else z)
    return layers


def gradients(params, x, y):
    layers = forward(params, x)
    p = np.exp(layers[-1] - layers[-1].max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    delta, grads = p / len(y), []
    for i in reversed(range(len(params))):
        grads.append((layers[i].T @ delta + DECAY * params[i][0], delta.sum(0)))
        if i:
            delta = (delta @ params[i][0].T) * (layers[i] > 0)
    return grads[::-1]


def adam(params, grads, state, step, rate):
    for (w, g, s) in zip(params, grads, state):
        for j in range(2):
            s[j][0] = 0.9 * s[j][0] + 0.1 * g[j]
            s[j][1] = 0.999 * s[j][1] + 0.001 * g[j] ** 2
            m = s[j][0] / (1 - 0.9**step)
            v = s[j][1] / (1 - 0.999**step)
            w[j] -= rate * m / (np.sqrt(v) + 1e-8)


def main():
    rng = np.random.default_rng(SEED)
    x, y, held_x, held_y = load()
    params = [[rng.normal(0, np.sqrt(2 / m), (m, n)), np.zeros(n)] for m, n in zip(WIDTHS, WIDTHS[1:])]
    state = [[[0.0, 0.0], [0.0, 0.0]] for _ in params]
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        rate = RATE * (1 - epoch / EPOCHS)
        for start in range(0, len(x), BATCH):
            pick = order[start:start + BATCH]
            step += 1
            adam(params, gradients(params, jitter(rng, x[pick]), y[pick]), state, step, rate)
    params = [[a.astype(np.float32) for a in layer] for layer in params]
    right = (forward(params, held_x)[-1].argmax(1) == held_y).mean()
    print(f"held-out accuracy {100 * right:.2f} % of {len(held_y)}")
    for i, (w, b) in enumerate(params):
        np.save(HERE / f"w{i}.npy", w)
        np.save(HERE / f"b{i}.npy", b)


if __name__ == "__main__":
    main()
