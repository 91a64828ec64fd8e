# SPDX-License-Identifier: Apache-2.0
"""The problems of the suite train: their parameters, and a step in double precision with the errors it may have.

The bounds are those of lfuse-bench: 8 deviations of independent roundings. Chains of layers carry the variance of every
element. Transformers are computed with random roundings too: how far their gradients are from those without gives the
deviation of the elements of each row and column.
"""

import math
from dataclasses import dataclass

import numpy as np

UNIT = 2.0**-24
EPSILON = 1e-5
DEVIATIONS = 8
SAMPLES = 3  # of a transformer's roundings
STEP = 10  # the number of the step that is verified
ADAMW = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 1e-2}
VERIFIED_WORK = 2.0**31
LEAST_ROWS = 64


@dataclass
class Parameter:
    """Uniform from low to high; its gradient is about of size `gradient`, and so are its moments."""

    shape: tuple
    low: float
    high: float
    gradient: float


def widths(problem):
    if problem.function == "digits":
        return (64, 128, 10)
    if problem.function == "layer":
        return (problem.sizes[0],) * 2
    return (problem.sizes[1],) * (problem.sizes[0] + 1)


def rows(problem):
    """Rows of x: of transformers batch, tokens."""
    if problem.function == "digits":
        return (64,)
    return problem.sizes[:2:-1] if problem.function == "transformer" else problem.sizes[-1:]


def width(problem):
    """Of x."""
    return problem.sizes[0] if problem.function == "transformer" else widths(problem)[0]


def parameters(problem):
    """In the order of lfuse-bench: weights and bias of each layer; of a block as bench/step_block.h has them."""
    if problem.function == "transformer":
        return problem.sizes[2] * block_parameters(problem)
    batch, last = math.sqrt(rows(problem)[0]), widths(problem)[-1]
    size = {"chain": 1 / (batch * last), "digits": 0.2 / batch, "layer": batch / 3}[problem.function]
    made = []
    for k, n in zip(widths(problem), widths(problem)[1:]):
        scale = math.sqrt(6 / k)
        made += [Parameter((k, n), -scale, scale, size), Parameter((n,), -0.1, 0.1, size)]
    return made


def block_parameters(problem):
    n = problem.sizes[0]
    size, scale = 1 / (math.sqrt(math.prod(rows(problem))) * n), math.sqrt(3 / n)
    square, vector = Parameter((n, n), -scale, scale, size), Parameter((n,), -0.1, 0.1, size)
    norm = [Parameter((n,), 0.5, 1.5, size), vector]
    return norm + 4 * [square] + [vector] + norm + [
        Parameter((n, 4 * n), -scale, scale, size), Parameter((4 * n,), -0.1, 0.1, size),
        Parameter((4 * n, n), -scale / 2, scale / 2, size), vector]


BLOCK = ("scale1", "shift1", "wq", "wk", "wv", "wo", "bo", "scale2", "shift2", "w1", "b1", "w2", "b2")


def names(problem):
    """Of the parameters, as lfuse-bench calls them."""
    if problem.function == "transformer":
        return [f"{block}.{name}" for block in range(problem.sizes[2]) for name in BLOCK]
    return [f"{name}{layer}" for layer in range(len(widths(problem)) - 1) for name in "wb"]


def count(problem):
    return sum(math.prod(p.shape) for p in parameters(problem))


def flops(problem):
    """Of the products: forward, and both gradients of each, without that of the input."""
    if problem.function == "transformer":
        n, _, blocks, tokens, _ = problem.sizes
        return 6 * blocks * math.prod(rows(problem)) * (12 * n * n + 2 * tokens * n)
    sizes, batch = widths(problem), rows(problem)[0]
    if problem.function == "layer":
        return 2 * batch * sizes[0] * sizes[1]
    return sum((6 if layer else 4) * batch * k * n for layer, (k, n) in enumerate(zip(sizes, sizes[1:])))


def moved(problem):
    """Bytes: parameters and moments are read and written, x and the target read."""
    x = math.prod(rows(problem)) * width(problem)
    target = 2 * rows(problem)[0] if problem.function == "digits" else x  # labels of 8 bytes
    return 24 * count(problem) + 4 * (x + target)


# ---- the step of AdamW ----


def adamw(p, m, v, g, e, single):
    """From a gradient that may be off by e: [(want, bound)] of the parameter and its moments.

    single: the rule's numbers are float32 too, as in PyTorch's fused kernel for CUDA (fused_adam_utils.cuh casts betas
    to opmath_t and computes 1 - beta^step of these). The formula is the documented one, with other betas: of 0.999 in
    float32 1 - beta is smaller by 1.3e-5 of it, and so is 1 - beta^10. That step is the one to compare with. CUDA's
    powf may be off by 4 ulp, which are 2 u for 0.9^10 and 4 u for 0.999^10; the root halves what the second comes to.
    """
    h, (b1, b2) = ADAMW, ((float(np.float32(ADAMW[b])) if single else ADAMW[b]) for b in ("beta1", "beta2"))
    correct1, correct2 = 1 - b1**STEP, 1 - b2**STEP
    of_powers = UNIT * (2 / correct1 + 2 / correct2) if single else 0
    new_m, new_v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    off_m = (1 - b1) * e + 4 * UNIT * (np.abs(m) + np.abs((1 - b1) * g))
    off_v = (1 - b2) * (2 * np.abs(g) + e) * e + 6 * UNIT * new_v
    divisor = np.sqrt(new_v / correct2) + h["eps"]
    least = np.maximum(np.sqrt(np.maximum(new_v - off_v, 0) / correct2) + h["eps"] - 6 * UNIT * divisor, h["eps"])
    rate = h["lr"] / correct1
    change = rate * new_m / divisor
    off = rate * ((np.abs(new_m) + off_m) / least - np.abs(new_m) / divisor) + (8 * UNIT + of_powers) * np.abs(change)
    return [(p * (1 - h["lr"] * h["weight_decay"]) - change, off + 4 * UNIT * (np.abs(p) + np.abs(change))),
            (new_m, off_m), (new_v, off_v)]


# ---- chains of layers ----


def sum_variance(terms, squares, value):
    """Of a sum's own roundings; Higham's partial sums, as bench/step_truth.h has it. Parts may be added up."""
    return UNIT**2 * (terms + 2) * (squares + value**2 / 3)


def multiply(a, variance, w):
    """a w and the variance of its errors, the sum of variance times square by the mean square of w's columns."""
    product, k = a @ w, len(w)
    load = (variance + sum_variance(k, a**2, 0)).sum(1, keepdims=True)
    return product, load * (w * w).mean(0) + sum_variance(k, 0, product)


def forward(problem, x, weights, biases):
    """Values and variances of all layers, and where relu passes and may err."""
    values, variances, passes, unsure = [x], [np.zeros_like(x)], [], []
    for layer, (w, b) in enumerate(zip(weights, biases)):
        product, variance = multiply(values[-1], variances[-1], w)
        z = product + b
        variance = variance + UNIT**2 * (product**2 + z**2)
        relu = problem.function == "chain" or layer < len(weights) - 1
        passes.append(z > 0 if relu else np.ones_like(z, bool))
        unsure.append(np.abs(z) <= DEVIATIONS * np.sqrt(variance) if relu else np.zeros_like(z, bool))
        values.append(np.maximum(z, 0) if relu else z)
        variances.append(np.where(passes[-1] | unsure[-1], variance, 0))
    return values, variances, passes, unsure


def mean_square(y, variance, target):
    d = y - target
    g = 2 * d / d.size
    loss = (d * d).mean()
    off = (g * g * (variance + UNIT**2 * d * d)).sum() + 4 * UNIT**2 * loss**2
    return loss, DEVIATIONS * math.sqrt(off), g, 4 * variance / d.size**2 + 9 * UNIT**2 * g * g


def cross_entropy(z, variance, labels):
    batch = len(z)
    most = z.max(1, keepdims=True)
    total = np.exp(z - most).sum(1, keepdims=True)
    share, hot = np.exp(z - most) / total, np.eye(z.shape[1])[labels]
    g = (share - hot) / batch
    whole = (share**2 * variance).sum(1, keepdims=True)
    rounded = (4 * UNIT * (np.abs(most) + np.log(total) + 1)) ** 2
    loss = (most + np.log(total) - (z * hot).sum(1, keepdims=True)).mean()
    off = ((variance * hot).sum(1, keepdims=True) + whole + rounded).sum() / batch**2 + 4 * UNIT**2 * loss**2
    return loss, DEVIATIONS * math.sqrt(off), g, (share / batch) ** 2 * (2 * (variance + whole) + rounded) + (
        4 * UNIT**2 * g * g)


def chosen_rows(problem, count_of_rows):
    """All, or of large problems as many as 2^31 multiplications pay for, 64 at least."""
    work = flops(problem) / 2 / count_of_rows
    most = max(LEAST_ROWS, int(VERIFIED_WORK / work))
    if count_of_rows <= most:
        return np.arange(count_of_rows)
    return np.unique(np.linspace(0, count_of_rows - 1, most).astype(np.int64))


def chain(problem, x, target, values_of):
    """Loss, its bound, and of each parameter (rows, gradient, bound)."""
    weights, biases = values_of[::2], values_of[1::2]
    values, variances, passes, unsure = forward(problem, x, weights, biases)
    loss, bound, gradients = 0, 1, []
    if problem.function == "layer":
        dy, off = target, np.zeros_like(target)
    else:
        end = cross_entropy if problem.function == "digits" else mean_square
        loss, bound, dy, off = end(values[-1], variances[-1], target)
    for layer in range(len(weights) - 1, -1, -1):
        dz = np.where(passes[layer], dy, 0)
        off = np.where(passes[layer] | unsure[layer], off, 0) + np.where(unsure[layer], dy**2, 0)
        batch, taken = len(x), chosen_rows(problem, len(weights[layer]))
        a, a_off = values[layer][:, taken], variances[layer][:, taken]
        of_w, of_b = a.T @ dz, dz.sum(0)
        off_w = (a_off + sum_variance(batch, a * a, 0)).T @ dz**2 + (a * a).T @ off + sum_variance(batch, 0, of_w)
        off_b = (off + sum_variance(batch, dz**2, 0)).sum(0) + sum_variance(batch, 0, of_b)
        gradients[:0] = [(taken, of_w, off_w), (np.arange(len(dz[0])), of_b, off_b)]
        if layer:
            dy, off = multiply(dz, off, weights[layer].T)
    return loss, bound, [(at, g, DEVIATIONS * np.sqrt(square) + 2 * UNIT * np.abs(g)) for at, g, square in gradients]


# ---- transformer blocks ----


class Roundings:
    """Random ones where float32 has them, each with the deviation that it has there; without a seed none."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed) if seed else None

    def off(self, x, deviation):
        """x with an error of mean 0; the deviation is a function, which an exact step need not call."""
        return x if self.random is None else x + (self.random.random(x.shape) - 0.5) * math.sqrt(12) * deviation()

    def rounded(self, x, times=1):
        return self.off(x, lambda: times * UNIT * np.abs(x))

    def product(self, a, b):
        """For the sum of the products' squares stands the product of the sums of a's row and b's column, over k."""
        c, k = a @ b, a.shape[-1]
        squares = lambda: (a * a).sum(-1)[..., :, None] * (b * b).sum(-2)[..., None, :] / k
        return self.off(c, lambda: np.sqrt(sum_variance(k, squares(), c)))

    def over_rows(self, x):
        x = x.reshape(-1, x.shape[-1])
        total = x.sum(0)
        return self.off(total, lambda: np.sqrt(sum_variance(len(x), (x * x).sum(0), total)))

    def weights_gradient(self, x, g):
        return self.product(x.reshape(-1, x.shape[-1]).T, g.reshape(-1, g.shape[-1]))


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def normalise(x, scale, shift, r):
    mean = x.mean(-1, keepdims=True)
    by = 1 / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + EPSILON)
    centred = r.off((x - mean) * by, lambda: 2 * UNIT * by * (np.abs(x - mean) + np.abs(mean)))
    scaled = centred * scale
    return r.off(scaled + shift, lambda: UNIT * (np.abs(scaled + shift) + np.abs(scaled))), centred, by


def normalise_back(g, centred, by, scale, r):
    q = g * scale
    dx = by * (q - q.mean(-1, keepdims=True) - centred * (q * centred).mean(-1, keepdims=True))
    size = lambda: np.sqrt((q * q).mean(-1, keepdims=True))
    return r.off(dx, lambda: 3 * UNIT * by * (np.abs(q) + size())), [r.over_rows(g * centred), r.over_rows(g)]


def softmax(scores, r):
    scores = scores - scores.max(-1, keepdims=True)
    shares = np.exp(scores)
    shares /= shares.sum(-1, keepdims=True)
    return r.off(shares, lambda: UNIT * (4 + np.abs(scores)) * shares)


def softmax_back(g, shares, r):
    mean = (shares * g).sum(-1, keepdims=True)
    return r.off(shares * (g - mean), lambda: 3 * UNIT * shares * (np.abs(g) + np.abs(mean)))


def heads_of(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def joined(x):
    x = x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], -1)


def block(x, p, heads, r):
    """The block's result, and a function from its gradient to those of x and of the parameters."""
    scale1, shift1, wq, wk, wv, wo, bo, scale2, shift2, w1, b1, w2, b2 = p
    h, centred1, by1 = normalise(x, scale1, shift1, r)
    q, k, v = (heads_of(r.product(h, w), heads) for w in (wq, wk, wv))
    factor = 1 / math.sqrt(q.shape[-1])
    shares = softmax(r.rounded(r.product(q, k.swapaxes(-1, -2)) * factor), r)
    mixed = joined(r.product(shares, v))
    y = r.rounded(x + r.rounded(r.product(mixed, wo) + bo))
    h2, centred2, by2 = normalise(y, scale2, shift2, r)
    u = r.rounded(r.product(h2, w1) + b1)
    below = (1 + erf(u / math.sqrt(2))) / 2
    a = r.rounded(u * below, 4)

    def back(g):
        slope = below + u * np.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        du = r.rounded(r.product(g, w2.T) * slope, 4)
        dy, norm2 = normalise_back(r.product(du, w1.T), centred2, by2, scale2, r)
        dy = r.rounded(dy + g)
        dmixed = heads_of(r.product(dy, wo.T), heads)
        dscores = softmax_back(r.product(dmixed, v.swapaxes(-1, -2)), shares, r) * factor
        dq, dk = joined(r.product(dscores, k)), joined(r.product(dscores.swapaxes(-1, -2), q))
        dv = joined(r.product(shares.swapaxes(-1, -2), dmixed))
        dh = r.rounded(r.product(dq, wq.T) + r.product(dk, wk.T) + r.product(dv, wv.T), 2)
        dx, norm1 = normalise_back(dh, centred1, by1, scale1, r)
        return r.rounded(dx + dy), norm1 + [r.weights_gradient(h, d) for d in (dq, dk, dv)] + [
            r.weights_gradient(mixed, dy), r.over_rows(dy)] + norm2 + [
            r.weights_gradient(h2, du), r.over_rows(du), r.weights_gradient(a, g), r.over_rows(g)]

    return r.rounded(y + r.rounded(r.product(a, w2) + b2)), back


def blocks_once(problem, x, target, values_of, r):
    """Loss and gradients."""
    each = len(block_parameters(problem))
    backs, gradients = [], []
    for at in range(0, len(values_of), each):
        x, back = block(x, values_of[at : at + each], problem.sizes[1], r)
        backs.append(back)
    d = x - target
    g = r.rounded(2 * d / d.size, 3)
    for back in reversed(backs):
        g, of_block = back(g)
        gradients[:0] = of_block
    return float((d * d).mean()), gradients


def blocks(problem, x, target, values_of):
    loss, gradients = blocks_once(problem, x, target, values_of, Roundings(0))
    loss_square, squares = 0, [0] * len(gradients)
    for seed in range(1, SAMPLES + 1):
        noisy, others = blocks_once(problem, x, target, values_of, Roundings(seed))
        loss_square += (noisy - loss) ** 2 / SAMPLES
        squares = [square + (other - g) ** 2 / SAMPLES for square, other, g in zip(squares, others, gradients)]
    made = []
    for g, square in zip(gradients, squares):
        of_column = square.mean(0, keepdims=True) if g.ndim > 1 else square
        square = np.maximum(square.mean(-1, keepdims=True), of_column)
        made.append((np.arange(len(g)), g, DEVIATIONS * np.sqrt(square) + 2 * UNIT * np.abs(g)))
    return loss, DEVIATIONS * math.sqrt(loss_square + 4 * UNIT**2 * loss**2), made


def step(problem, x, target, starts, single=False):
    """What a step makes: (loss, bound) and, for each (parameter, moment, moment) of `starts` in double, its chosen
    rows and [(want, bound)] of those three."""
    truth = blocks if problem.function == "transformer" else chain
    loss, bound, gradients = truth(problem, x, target, [p for p, _, _ in starts])
    return (loss, bound), [(taken, adamw(p[taken], m[taken], v[taken], g, e, single))
                           for (p, m, v), (taken, g, e) in zip(starts, gradients)]


def result(problem, x, target, starts, loss, ends, single=False):
    """What a variant's result() gives: of the loss, if there is one, and of what `starts` have become, which `ends`
    gives part by part, each in double."""
    (want, bound), parts = step(problem, x, target, starts, single)
    judged = [] if problem.function == "layer" else [("loss", np.atleast_1d(loss), np.array([want]), np.array([bound]))]
    for name, end, (taken, wanted) in zip(names(problem), ends, parts):
        for suffix, part, (value, off) in zip(("", ".m", ".v"), end, wanted):
            judged.append((name + suffix, part[taken].ravel(), value.ravel(), off.ravel()))
    all_names, *columns = zip(*judged)
    return *map(np.concatenate, columns), list(zip(all_names, map(len, columns[0])))
