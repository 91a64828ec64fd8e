# SPDX-License-Identifier: Apache-2.0
"""The problem strings of lfuse-bench, and what their results are in double precision."""

import math
import re
from dataclasses import dataclass, field

import numpy as np

import training

UNITS = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8, "f64": 2.0**-53}
UNIT_TF32 = 2.0**-10  # of operands, which are rounded or cut to 10 bits behind the point
FP8_CUT = 2.0**-8  # of a sum of products of 8 bits, which tensor cores may cut to 13 bits, and of the sum of the sizes
FP8 = ("e4m3", "e5m2")
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "e4m3": 1, "e5m2": 1}
EPSILON = 1e-5
LEAST_ROWS = 64
ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 1e-2}

DEFAULT = (
    [f"gemm:{n}x{n}x{n}" for n in (256, 512, 1024, 2048, 4096, 8192)]
    + [f"gemm:{m}x4096x4096" for m in (1, 2, 4, 8, 16)]
    + ["gemm:1024x1024x1024:tn", "gemm:1024x1024x1024:nt", "gemm:256x256x256:b64", "gemm:64x64x64:b512"]
    + [f"dense:L8:H{h}:B{b}" for h, b in ((128, 64), (512, 1), (512, 64), (1024, 64), (2048, 64), (4096, 64))]
    + [f"dense:L8:H{h}:B64:{t}" for h in (128, 512, 4096) for t in ("f16", "bf16")] + ["dense:L8:H4096:B4096:f16"]
    + ["stack:16x1024x256", "rows:softmax:16384x4096", "rows:layernorm:16384x4096", "rows:rmsnorm:16384x4096"]
    + ["rows:logsumexp:16384x4096", "rows:layernorm_gelu_residual:16384x4096"]
    + ["adamw:1000x1024", "adamw:resnet50", "adamw:gpt2-small"]
    + [f"train:L8:H{h}:B{b}" for h, b in ((128, 64), (512, 64), (1024, 64), (1024, 1024), (4096, 4096))]
    + [f"gemm:{n}x{n}x{n}:f16:gelu" for n in (1024, 2048, 4096, 8192)] + ["gemm:8192x1024x4096:f16:gelu"]
    + [f"gemm:{n}x{n}x{n}:f16:gelu_tanh" for n in (1024, 2048)]
    + [f"gemm:{n}x{n}x{n}:f32x3" for n in (2048, 4096, 8192)]
    + [f"gemm:{n}x{n}x{n}:{t}" for n in (4096, 8192) for t in ("tf32", "nt:e4m3")]
    + ["dense:L8:H4096:B4096:f32x3", "dense:L8:H1024:B1024:f32x3", "train:L8:H4096:B4096:f32x3"]
    + ["train:layer:H1024:B64", "train:digits", "train:transformer:D256:H4:L2:T128:B16"]
)

# A precision that splits operands into words: their type, or that of the product, and how many products of words.
SPLIT = r"b?f\d+x\d"


class Unknown(Exception):
    """The text is no problem of these suites."""


@dataclass
class Problem:
    text: str
    suite: str
    type: str = "f32"
    sizes: tuple = ()
    function: str = ""
    turns: str = "nn"  # of a product: t where an operand is stored transposed
    batch: int = 0  # of products; 0: no batch axis
    precision: str = ""  # tf32, or one that splits, which is f32 to the peers: they split no operands
    activation: str = "relu"  # of a product's epilogue; gelu: by erf, gelu_tanh
    members: list = field(default_factory=list)  # elements of each tensor of a list

    @property
    def bytes(self):
        """Of the inputs and outputs, each once; of a step of AdamW what it reads and writes."""
        each = SIZES[self.type]
        if self.suite == "gemm":
            m, n, k = self.sizes
            return max(1, self.batch) * (each * (m * k + k * n) + SIZES[self.stored] * m * n)
        if self.suite == "dense":
            layers, width, batch = self.sizes
            return each * (layers * (width + 1) * width + 2 * batch * width)
        if self.suite == "stack":
            slices, rows, width = self.sizes
            return each * (slices * rows * (width + 1) + 3 * width + 1)
        if self.suite == "rows":
            rows, length = self.sizes
            full = 3 if self.function == "layernorm_gelu_residual" else 1 if self.function == "logsumexp" else 2
            return each * rows * length * full
        if self.suite == "train":
            return training.moved(self)
        return 28 * sum(self.members)

    @property
    def stored(self):
        """The type of a product's result, f32 of operands of 8 bits."""
        return "f32" if self.type in FP8 else self.type

    @property
    def flops(self):
        if self.suite == "gemm":
            return 2 * max(1, self.batch) * math.prod(self.sizes)
        if self.suite == "dense":
            layers, width, batch = self.sizes
            return 2 * layers * batch * width * width
        if self.suite == "train":
            return training.flops(self)
        return 0


def resnet50():
    elements = []

    def convolution(inputs, outputs, side):
        elements.extend([outputs * inputs * side * side, outputs, outputs])

    convolution(3, 64, 7)
    inputs, width = 64, 64
    for blocks in (3, 4, 6, 3):
        for block in range(blocks):
            convolution(inputs, width, 1)
            convolution(width, width, 3)
            convolution(width, 4 * width, 1)
            if block == 0:
                convolution(inputs, 4 * width, 1)
            inputs = 4 * width
        width *= 2
    return elements + [1000 * 2048, 1000]


def gpt2_small():
    w = 768
    layer = [w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w]
    return [50257 * w, 1024 * w] + 12 * layer + [w, w]


def parse_gemm(text):
    """gemm:<m>x<n>x<k> and, in any order: the type, tf32 or a precision that splits, nt, tn or tt, b<count>, gelu
    or gelu_tanh, and frozen."""
    problem = Problem(text, "gemm")
    for word in text.split(":")[1:]:
        if match := re.fullmatch(r"(\d+)x(\d+)x(\d+)", word):
            problem.sizes = tuple(int(x) for x in match.groups())
        elif re.fullmatch("[nt]{2}", word):
            problem.turns = word
        elif re.fullmatch(r"b\d+", word):
            problem.batch = int(word[1:])
        elif word in SIZES:
            problem.type = word
        elif re.fullmatch("tf32|" + SPLIT, word):
            problem.precision = word
        elif word in ("gelu", "gelu_tanh"):
            problem.activation = word
        elif word == "frozen":  # to the peers all operands are alike
            continue
        else:
            raise Unknown(f"{text}: no product of the peers")
    if not problem.sizes:
        raise Unknown(f"{text}: a product without sizes")
    return problem


def parse_train(text):
    """A chain of layers, one layer, the classifier or transformer blocks: sizes as they stand in the text."""
    forms = {"chain": r"train:L(\d+):H(\d+):B(\d+)", "layer": r"train:layer:H(\d+):B(\d+)", "digits": "train:digits",
             "transformer": r"train:transformer:D(\d+):H(\d+):L(\d+):T(\d+):B(\d+)"}
    for function, form in forms.items():
        if match := re.fullmatch(form + f"(?::{SPLIT})?", text):
            return Problem(text, "train", sizes=tuple(int(x) for x in match.groups()), function=function)
    raise Unknown(f"{text}: no training step of the peers")


def parse(text):
    """A Problem; Unknown where the peers have no such one."""
    kind = "(?::(f32|f16|bf16|f64))?"
    if text.startswith("gemm:"):
        return parse_gemm(text)
    if text.startswith("train:"):
        return parse_train(text)
    if match := re.fullmatch(r"dense:L(\d+):H(\d+):B(\d+)" + f"(?::{SPLIT}|{kind})", text):
        return Problem(text, "dense", match[4] or "f32", tuple(int(match[i]) for i in (1, 2, 3)))
    if match := re.fullmatch(r"stack:(\d+)x(\d+)x(\d+)", text):
        return Problem(text, "stack", "f32", tuple(int(match[i]) for i in (1, 2, 3)))
    names = "softmax|layernorm|rmsnorm|logsumexp|layernorm_gelu_residual"
    if match := re.fullmatch(rf"rows:({names}):(\d+)x(\d+)" + kind, text):
        return Problem(text, "rows", match[4] or "f32", (int(match[2]), int(match[3])), match[1])
    if match := re.fullmatch(r"adamw:(?:(\d+)x(\d+)|(resnet50|gpt2-small))", text):
        models = {"resnet50": resnet50, "gpt2-small": gpt2_small}
        members = models[match[3]]() if match[3] else int(match[1]) * [int(match[2])]
        return Problem(text, "adamw", members=members)
    raise Unknown(f"{text}: no problem of the peers")


def sample(rows):
    """All of few rows; else the first, the last, and one of each of equal parts between them."""
    if rows <= LEAST_ROWS:
        return np.arange(rows)
    random = np.random.default_rng(64)
    edges = np.linspace(1, rows - 1, LEAST_ROWS - 1).astype(np.int64)
    between = [int(random.integers(a, max(a + 1, b))) for a, b in zip(edges[:-1], edges[1:])]
    return np.array([0] + between + [rows - 1])


# ---- results of rows, and the errors that they may have ----


def product(x, error, w, unit):
    """x w with the error of x, by the bound of lfuse-bench: max(8, 4 sqrt(k + 2)) u |x| |w|."""
    factor = max(8.0, 4 * math.sqrt(w.shape[0] + 2)) * unit
    size = np.abs(w)
    return x @ w, (error + factor * (np.abs(x) + error)) @ size


def gemm(a, b, bias, problem):
    """A product, with the activation of its sum with the bias where there is one."""
    unit, stored = UNITS["f64" if problem.type == "f64" else "f32"], UNITS[problem.stored]
    y, error = product(a, np.zeros_like(a), b, unit)
    if problem.type in FP8:
        error = error + FP8_CUT * np.abs(a) @ np.abs(b)
    if problem.precision == "tf32":  # each term's relative error; worst cases alone grow by k
        error = error + 2 * UNIT_TF32 * np.abs(a) @ np.abs(b)
    if bias is not None:  # the product, and the sum before the activation, may have been stored
        error = error + stored * (2 * np.abs(y) + np.abs(bias))
        y = ACTIVATIONS[problem.activation](y + bias)
        error = error if problem.activation == "relu" else 1.13 * error  # the largest slope of gelu
    return y, error + 2 * stored * (np.abs(y) + error)


def dense(x, weights, biases, problem):
    """Layers of linear, bias and relu, within 8 deviations of independent roundings, as lfuse-bench has it: worst-case
    bounds grow by the root of the width in every layer."""
    half = problem.type in ("f16", "bf16")
    unit, stored = UNITS["f32" if half else problem.type], UNITS[problem.type]
    variance = np.zeros_like(x)
    for w, b in zip(weights, biases):
        k = w.shape[0]
        each = unit * (math.sqrt(k + 2) + (k / 8 if half else 0))
        variance = (variance + (each * x) ** 2) @ (w * w)
        x = x @ w
        variance = variance + (stored * (np.abs(x) + np.abs(b))) ** 2  # three roundings, a third each
        x = np.maximum(x + b, 0)
    return x, 8 * np.sqrt(variance)


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


def normalise(x, scale, shift):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * scale + shift


def of_row(y, length, type):
    """A sum of n roundings for the largest element of the row, and the rounding of the result."""
    size = np.abs(y).max(-1, keepdims=True) + np.abs(y) if y.ndim > 1 else np.abs(y) + 1
    return max(8.0, 4 * math.sqrt(length + 2)) * UNITS["f32"] * size + 2 * UNITS[type] * np.abs(y)


def rows(problem, x, scale, shift, residual):
    name, length = problem.function, problem.sizes[1]
    if name == "softmax":
        y = np.exp(x - x.max(-1, keepdims=True))
        y = y / y.sum(-1, keepdims=True)
    elif name == "logsumexp":
        most = x.max(-1, keepdims=True)
        y = (most + np.log(np.exp(x - most).sum(-1, keepdims=True)))[..., 0]
    elif name == "rmsnorm":
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * scale
    else:
        y = normalise(x, scale, shift)
        if name == "layernorm_gelu_residual":
            y = y * 0.5 * (1 + erf(y / math.sqrt(2))) + residual
    return y, of_row(y, length, problem.type)


def stack(problem, x, scale, shift, w, b):
    h = np.tanh(normalise(x, scale, shift))
    z = h @ w + b
    width = problem.sizes[2]
    bound = max(8.0, 4 * math.sqrt(width + 2)) * UNITS["f32"] * 8 * (np.abs(h) + 1) @ np.abs(w)
    return np.maximum(z, 0), bound


def adamw(p, g):
    """The first step, whose corrected moments are g and g^2."""
    h = ADAMW
    y = p * (1 - h["lr"] * h["weight_decay"]) - h["lr"] * g / (np.abs(g) + h["eps"])
    return y, np.full_like(y, 64 * UNITS["f32"] * 2)
