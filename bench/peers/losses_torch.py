#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of AdamW of three small networks in PyTorch: the losses in front of each step, as lines of JSON.

The networks, starts and data are those of bench/losses.c. With a file of that program's lines each loss there is
compared with PyTorch's in double on the CPU. It may be off by 1e-6 of the loss, and by 8 times the largest distance
so far that PyTorch's own losses in f32 have from those in double.
"""

import argparse
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F

import peer_torch
import problems
import training

STEPS = 20
LR = 0.01
DATA, TARGET = 90, 91
RELATIVE, TIMES = 1e-6, 8


def formula(shape, which, offset=0.0, scale=1.0):
    """In double, rounded to float32 as the other side has it."""
    i = np.arange(np.prod(shape), dtype=np.float64)
    return (offset + scale * np.sin(0.37 * i * i + i + which)).astype(np.float32).reshape(shape)


class Network:
    """The parameters that a network's function asks for, in the order of its calls in the first step."""

    def __init__(self, function, type, device):
        self.function, self.type, self.device, self.members, self.at = function, type, device, [], 0

    def put(self, x):
        return torch.from_numpy(x).to(self.device, self.type)

    def parameter(self, shape, offset, scale):
        if self.at == len(self.members):
            self.members.append(torch.nn.Parameter(self.put(formula(shape, self.at, offset, scale))))
        self.at += 1
        return self.members[self.at - 1]

    def linear(self, x, inner, outer, scale):
        w = self.parameter((inner, outer), 0, scale)
        return torch.addmm(self.parameter((outer,), 0, 0.1), x, w)

    def losses(self):
        made, optimizer = [], None
        for _ in range(STEPS):
            self.at = 0
            loss = self.function(self)
            optimizer = optimizer or torch.optim.AdamW(self.members, lr=LR)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            made.append(float(loss.detach()))
        return made


def mlp(n):
    batch, inner, width, classes = 32, 16, 64, 10
    x = torch.relu(n.linear(n.put(formula((batch, inner), DATA)), inner, width, 0.4))
    x = torch.relu(n.linear(x, width, width, 0.2))
    labels = torch.arange(batch, device=n.device) * 7 % classes
    return F.cross_entropy(n.linear(x, width, classes, 0.2), labels)


def embedding(n):
    batch, lookups, rows, width, numbers, hidden = 64, 3, 50, 8, 4, 32
    i = torch.arange(batch * lookups, device=n.device)
    index = ((i * i + 5 * (i % lookups)) % rows).reshape(batch, lookups)
    found = F.embedding(index, n.parameter((rows, width), 0, 0.5)).reshape(batch, -1)
    x = torch.cat([found, n.put(formula((batch, numbers), DATA))], 1)
    z = n.linear(torch.relu(n.linear(x, lookups * width + numbers, hidden, 0.3)), hidden, 1, 0.3)
    clicked = (torch.arange(batch, device=n.device) * 3 % 7 < 3).to(n.type).reshape(batch, 1)
    return F.binary_cross_entropy_with_logits(z, clicked)


def transformer(n):
    width, heads, tokens, batch = 32, 4, 8, 4
    problem = problems.parse(f"train:transformer:D{width}:H{heads}:L1:T{tokens}:B{batch}")
    p = [n.parameter(p.shape, (p.low + p.high) / 2, (p.high - p.low) / 2) for p in training.parameters(problem)]
    x, target = (n.put(formula((batch, tokens, width), which)) for which in (DATA, TARGET))
    return F.mse_loss(peer_torch.block(x, p, heads), target)


NETWORKS = {"mlp": mlp, "embedding": embedding, "transformer": transformer}


def reference(name):
    """PyTorch's losses in double, and their bounds."""
    want, single = (np.array(Network(NETWORKS[name], type, "cpu").losses()) for type in (torch.float64, torch.float32))
    return want, RELATIVE * np.abs(want) + TIMES * np.maximum.accumulate(np.abs(single - want))


def compare(path):
    """Whether all losses of the file are within their bounds; a line for each network tells how near."""
    good = True
    for line in open(path, encoding="utf-8"):
        got = json.loads(line)
        want, bound = reference(got["network"])
        error = np.abs(np.array(got["losses"]) - want)
        right = len(got["losses"]) == STEPS and bool((error <= bound).all())
        good &= right
        print(f"{got['network']:<12} {got['device']:<12} {want[0]:.6f} to {want[-1]:.6f}, largest error "
              f"{error.max():.3g}, largest part of its bound {(error / bound).max():.3g}: {'ok' if right else 'WRONG'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--reference", action="store_true", help="print tests/data/losses.txt: in double, with bounds")
    parser.add_argument("file", nargs="?", help="lines of bench/losses, to be compared")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    if options.file:
        return 0 if compare(options.file) else 1
    for name, function in NETWORKS.items():
        if options.reference:
            for step, (loss, bound) in enumerate(zip(*reference(name))):
                print(f"{name} {step} {loss:.12g} {bound:.3g}")
            continue
        losses = Network(function, torch.float32, options.device).losses()
        print(json.dumps({"network": name, "device": f"pytorch {options.device}", "losses": losses}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
