#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of optimizers, for tests/optim/check_trajectories.c:

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python make_trajectories.py >trajectories.txt

Rules that PyTorch has are run by torch.optim (single-tensor forms, f64, on the CPU); the others are written down below
from their papers, in f64, with nothing in common with the library. Twenty steps over two parameters of 7 and 2 x 3
elements. Parameters and gradients are small dyadic fractions, exact in every type, which the test makes by the same
formulas. Two rows of a file belong together: what was run, and what came out, in hexadecimal.
"""
import math
import platform

import torch

STEPS = 20
SHOWN = (1, 2, 5, 10, 20)
SHAPES = ((7,), (2, 3))


def parameter(member, i):
    return ((i * 11 + member * 5) % 13 - 6.5) / 8


def gradient(member, i, t):
    k = i + 3 * member
    return ((k * 7 + t * 13) % 17 - 8) / 16 + ((k * t) % 5 - 2) / 32


def count(shape):
    return math.prod(shape)


def tensors(make):
    return [torch.tensor([make(m, i) for i in range(count(s))], dtype=torch.float64).reshape(s)
            for m, s in enumerate(SHAPES)]


def show(word, lists):
    print(word, *(float(x).hex() for values in lists for x in values))


def flat(values):
    return [v.reshape(-1).tolist() for v in values]


def head(name, rule, switches, numbers, more):
    fields = [f"{k}={float(v)!r}" for k, v in numbers.items()] + [f"{k}={v}" for k, v in more.items()]
    print("row", name, rule, ",".join(switches) if switches else "-", *fields)


# ---- PyTorch ----

TORCH = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "adagrad": torch.optim.Adagrad,
         "rmsprop": torch.optim.RMSprop, "adadelta": torch.optim.Adadelta, "adamax": torch.optim.Adamax,
         "nadam": torch.optim.NAdam, "radam": torch.optim.RAdam, "asgd": torch.optim.ASGD, "rprop": torch.optim.Rprop}
PAIRS = {"betas": ("beta1", "beta2"), "etas": ("eta_minus", "eta_plus"), "step_sizes": ("step_min", "step_max")}
SINGLES = {"initial_accumulator_value": "initial_accumulator"}
SWITCHES = {"nesterov": "nesterov", "amsgrad": "amsgrad", "centered": "centered", "maximize": "maximize",
            "decoupled_weight_decay": "decoupled"}
STATES = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "sum", "square_avg", "grad_avg", "acc_delta",
          "exp_inf", "ax", "prev", "step_size")


def translate(rule, arguments):
    numbers, switches = {}, []
    for key, value in arguments.items():
        if key in PAIRS:
            numbers.update(zip(PAIRS[key], value))
        elif key in SWITCHES:
            if value:
                switches.append(SWITCHES[key])
        else:
            numbers[SINGLES.get(key, key)] = value
    return numbers, switches


def by_torch(name, rule, clip=None, halve_at=0, **arguments):
    """clip: ("value" or "norm", limit); halve_at: from this step on half the learning rate."""
    numbers, switches = translate(rule, arguments)
    more = {}
    if clip:
        more[f"clip_{clip[0]}"] = repr(float(clip[1]))
    if halve_at:
        more["halve_at"] = halve_at
    head(name, rule, switches, numbers, more)
    params = [torch.nn.Parameter(p) for p in tensors(parameter)]
    opt = TORCH[rule](params, foreach=False, **arguments)
    for t in range(1, STEPS + 1):
        for p, g in zip(params, tensors(lambda m, i: gradient(m, i, t))):
            p.grad = g
        if clip and clip[0] == "value":
            torch.nn.utils.clip_grad_value_(params, clip[1], foreach=False)
        if clip and clip[0] == "norm":
            torch.nn.utils.clip_grad_norm_(params, clip[1], foreach=False)
        if clip and clip[0] == "member":
            for p in params:
                torch.nn.utils.clip_grad_norm_([p], clip[1], foreach=False)
        if t == halve_at:
            for group in opt.param_groups:
                group["lr"] *= 0.5
        opt.step()
        if t in SHOWN:
            show(f"p {t}", flat([p.data for p in params]))
    for state in STATES:
        if state in opt.state[params[0]] and opt.state[params[0]][state] is not None:
            show(f"state {state}", flat([opt.state[p][state] for p in params]))


def torch_rows():
    for rule in TORCH:
        by_torch(f"{rule}", rule, lr=0.05)
        by_torch(f"{rule}-maximize", rule, lr=0.05, maximize=True)
        if rule != "rprop":
            by_torch(f"{rule}-decay", rule, lr=0.05, weight_decay=0.1)
        by_torch(f"{rule}-schedule", rule, lr=0.05, halve_at=8) if rule != "asgd" else None
    by_torch("sgd-momentum", "sgd", lr=0.05, momentum=0.9)
    by_torch("sgd-dampening", "sgd", lr=0.05, momentum=0.9, dampening=0.25, weight_decay=0.1)
    by_torch("sgd-nesterov", "sgd", lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1)
    by_torch("sgd-all", "sgd", lr=0.05, momentum=0.8, dampening=0.5, weight_decay=0.1, maximize=True)
    by_torch("sgd-clip-value", "sgd", clip=("value", 0.25), lr=0.05, momentum=0.9)
    by_torch("sgd-clip-member", "sgd", clip=("member", 0.5), lr=0.05, momentum=0.9)
    by_torch("sgd-clip-norm", "sgd", clip=("norm", 0.5), lr=0.05, momentum=0.9)
    for rule in ("adam", "adamw"):
        by_torch(f"{rule}-amsgrad", rule, lr=0.05, amsgrad=True, weight_decay=0.1)
        by_torch(f"{rule}-all", rule, lr=0.05, amsgrad=True, maximize=True, weight_decay=0.1, betas=(0.8, 0.9), eps=1e-3)
        by_torch(f"{rule}-betas", rule, lr=0.05, betas=(0.25, 0.5))
        by_torch(f"{rule}-clip-norm", rule, clip=("norm", 0.5), lr=0.05)
    by_torch("adam-decoupled", "adam", lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)
    by_torch("adagrad-all", "adagrad", lr=0.05, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.25, eps=1e-3,
             maximize=True)
    by_torch("rmsprop-momentum", "rmsprop", lr=0.05, momentum=0.9)
    by_torch("rmsprop-centered", "rmsprop", lr=0.05, centered=True, alpha=0.9, eps=1e-3)
    by_torch("rmsprop-all", "rmsprop", lr=0.05, centered=True, momentum=0.5, alpha=0.9, eps=1e-3, weight_decay=0.1,
             maximize=True)
    by_torch("adadelta-all", "adadelta", lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True)
    by_torch("adamax-all", "adamax", lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True)
    by_torch("nadam-decoupled", "nadam", lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)
    by_torch("nadam-all", "nadam", lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, momentum_decay=0.5,
             maximize=True)
    by_torch("radam-decoupled", "radam", lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)
    by_torch("radam-all", "radam", lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True)
    by_torch("asgd-all", "asgd", lr=0.05, lambd=0.1, alpha=0.5, t0=3, weight_decay=0.1, maximize=True)
    by_torch("rprop-all", "rprop", lr=0.05, etas=(0.4, 1.5), step_sizes=(0.01, 0.2), maximize=True)


# ---- papers: every element a Python float ----

def members():
    return [[parameter(m, i) for i in range(count(s))] for m, s in enumerate(SHAPES)]


def norm(x):
    return math.sqrt(math.fsum(v * v for v in x))


def by_paper(name, rule, switches, numbers, update, states, more=None):
    """update(p, g, state, t, h): one member's new parameters; changes its state."""
    head(name, rule, switches, numbers, more or {})
    p = members()
    kept = [{"shape": s} for s in SHAPES]
    for t in range(1, STEPS + 1):
        for m, s in enumerate(SHAPES):
            g = [gradient(m, i, t) for i in range(count(s))]
            p[m] = update(p[m], g, kept[m], t, numbers)
        if t in SHOWN:
            show(f"p {t}", p)
    for state in states:
        show(f"state {state}", [k[state] for k in kept])


def lion(p, g, state, t, h):
    """arXiv:2302.06675, algorithm 2."""
    m = state.get("exp_avg", [0.0] * len(p))
    c = [h["beta1"] * a + (1 - h["beta1"]) * b for a, b in zip(m, g)]
    sign = [(x > 0) - (x < 0) for x in c]
    state["exp_avg"] = [h["beta2"] * a + (1 - h["beta2"]) * b for a, b in zip(m, g)]
    return [x - h["lr"] * (s + h["weight_decay"] * x) for x, s in zip(p, sign)]


def lamb(p, g, state, t, h):
    """arXiv:1904.00962, algorithm 2, with phi the identity and bias correction."""
    m = [h["beta1"] * a + (1 - h["beta1"]) * b for a, b in zip(state.get("exp_avg", [0.0] * len(p)), g)]
    v = [h["beta2"] * a + (1 - h["beta2"]) * b * b for a, b in zip(state.get("exp_avg_sq", [0.0] * len(p)), g)]
    state["exp_avg"], state["exp_avg_sq"] = m, v
    m = [x / (1 - h["beta1"] ** t) for x in m]
    v = [x / (1 - h["beta2"] ** t) for x in v]
    r = [a / (math.sqrt(b) + h["eps"]) for a, b in zip(m, v)]
    u = [a + h["weight_decay"] * b for a, b in zip(r, p)]
    trust = norm(p) / norm(u) if norm(p) > 0 and norm(u) > 0 else 1.0
    return [x - h["lr"] * trust * y for x, y in zip(p, u)]


def novograd(average):
    def step(p, g, state, t, h):
        """arXiv:1905.11286, algorithm 1; with `average` NVIDIA's grad_averaging."""
        v = norm(g) ** 2
        if "exp_avg_sq" in state:
            v = h["beta2"] * state["exp_avg_sq"][0] + (1 - h["beta2"]) * v
        u = [(x / (math.sqrt(v) + h["eps"]) + h["weight_decay"] * y) * (1 - h["beta1"] if average else 1)
             for x, y in zip(g, p)]
        m = [h["beta1"] * a + b for a, b in zip(state.get("exp_avg", [0.0] * len(p)), u)]
        state["exp_avg"], state["exp_avg_sq"] = m, [v]
        return [x - h["lr"] * y for x, y in zip(p, m)]
    return step


def moments(g, shape, state, w):
    """What the second moment is taken for, element by element; the state's averages take in the squares of g by w."""
    def mixed(name, fresh):
        state[name] = [a + w * (b - a) for a, b in zip(state.get(name, [0.0] * len(fresh)), fresh)]
        return state[name]
    squares = [x * x for x in g]
    if len(shape) < 2:  # as one row of a matrix, but for what follows
        mixed("row_var", [math.fsum(squares) / len(g)])
        return mixed("col_var", squares), False
    rows, columns = shape
    row = mixed("row_var", [math.fsum(squares[r * columns:(r + 1) * columns]) / columns for r in range(rows)])
    col = mixed("col_var", [math.fsum(squares[c::columns]) / rows for c in range(columns)])
    return [(a * b, math.fsum(row) / rows) for a in row for b in col], True


def adafactor(p, g, state, t, h):
    """torch.optim.Adafactor (arXiv:1804.04235): factored for matrices, not for vectors."""
    rate = max(h["eps2"], norm(p) / math.sqrt(len(p))) * min(h["lr"], 1 / math.sqrt(t))
    p = [x * (1 - h["lr"] * h["weight_decay"]) for x in p]
    v, factored = moments(g, state["shape"], state, t ** h["beta2"])
    if factored:
        v = [product / max(mean, h["eps"]) for product, mean in v]
    u = [b / math.sqrt(max(a, h["eps"] ** 2)) for a, b in zip(v, g)]
    excess = max(1.0, norm(u) / (math.sqrt(len(u)) * h["clip_threshold"]))
    return [x - rate / excess * y for x, y in zip(p, u)]


def check_adafactor():
    """The function above against PyTorch, for a vector and a matrix."""
    for m in range(len(SHAPES)):
        p = torch.nn.Parameter(tensors(parameter)[m])
        opt = torch.optim.Adafactor([p], lr=0.05, weight_decay=0.1, eps=(1e-4, 1e-3), d=1.0, foreach=False)
        mine, state = p.reshape(-1).tolist(), {"shape": SHAPES[m]}
        h = {"lr": 0.05, "beta2": -0.8, "eps": 1e-4, "eps2": 1e-3, "clip_threshold": 1.0, "weight_decay": 0.1}
        for t in range(1, STEPS + 1):
            p.grad = tensors(lambda m, i: gradient(m, i, t))[m]
            opt.step()
            mine = adafactor(mine, p.grad.reshape(-1).tolist(), state, t, h)
        assert max(abs(a - b) for a, b in zip(mine, p.reshape(-1).tolist())) < 1e-13


def decay_last(p, g, state, t, h):
    """Apex's wd_after_momentum."""
    if "momentum_buffer" in state:
        state["momentum_buffer"] = [h["momentum"] * a + (1 - h["dampening"]) * b
                                    for a, b in zip(state["momentum_buffer"], g)]
    else:
        state["momentum_buffer"] = g
    return [x - h["lr"] * (b + h["weight_decay"] * x) for x, b in zip(p, state["momentum_buffer"])]


def averaged(p, g, state, t, h):
    """Plain descent and an average of the parameters."""
    average = state.get("average", p)
    p = [x - h["lr"] * y for x, y in zip(p, g)]
    state["average"] = [h["ema_decay"] * a + (1 - h["ema_decay"]) * b for a, b in zip(average, p)]
    return p


def paper_rows():
    betas = {"beta1": 0.9, "beta2": 0.99}
    by_paper("lion", "lion", [], {"lr": 0.01, **betas, "weight_decay": 0.0}, lion, ["exp_avg"])
    by_paper("lion-decay", "lion", [], {"lr": 0.01, "beta1": 0.95, "beta2": 0.98, "weight_decay": 0.5}, lion, ["exp_avg"])
    moments = ["exp_avg", "exp_avg_sq"]
    by_paper("lamb", "lamb", [], {"lr": 0.05, **betas, "eps": 1e-6, "weight_decay": 0.01}, lamb, moments)
    by_paper("lamb-decay", "lamb", [], {"lr": 0.05, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.5}, lamb,
             moments)
    by_paper("novograd", "novograd", [], {"lr": 0.01, "beta1": 0.95, "beta2": 0.98, "eps": 1e-8, "weight_decay": 0.0},
             novograd(False), ["exp_avg", "exp_avg_sq"])
    by_paper("novograd-all", "novograd", ["averaging"],
             {"lr": 0.05, "beta1": 0.8, "beta2": 0.5, "eps": 1e-3, "weight_decay": 0.1}, novograd(True),
             ["exp_avg", "exp_avg_sq"])
    check_adafactor()
    by_paper("adafactor", "adafactor", [], {"lr": 0.05, "beta2": -0.8, "eps": 2.0 ** -23, "eps2": 1e-3,
                                            "clip_threshold": 1.0, "weight_decay": 0.0}, adafactor, ["row_var", "col_var"])
    by_paper("adafactor-all", "adafactor", [], {"lr": 0.2, "beta2": -0.5, "eps": 1e-2, "eps2": 1e-2,
                                                "clip_threshold": 1.25, "weight_decay": 0.1}, adafactor, ["row_var", "col_var"])
    by_paper("adafactor-small", "adafactor", [], {"lr": 0.1, "beta2": -0.8, "eps": 0.5, "eps2": 1e-3,
                                                  "clip_threshold": 1.0, "weight_decay": 0.0}, adafactor,
             ["row_var", "col_var"])  # means of rows that are less than eps
    by_paper("sgd-decay-last", "sgd", ["decay_last"],
             {"lr": 0.05, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.1}, decay_last, ["momentum_buffer"])
    by_paper("sgd-average", "sgd", ["average"], {"lr": 0.05, "ema_decay": 0.75}, averaged, ["average"])


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    print(f"# make_trajectories.py: PyTorch {torch.__version__}, Python {platform.python_version()}; f64.")
    print("# row NAME RULE SWITCHES numbers; p STEP elements; state NAME elements, after the last step")
    torch_rows()
    paper_rows()
