#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The problems of lfuse-bench in JAX: jitted functions. Device time is that of many calls, at the host's pace."""

import functools
import math
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import harness  # noqa: E402
import problems  # noqa: E402
import training  # noqa: E402

TYPES = {"f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16, "e4m3": jnp.float8_e4m3fn,
         "e5m2": jnp.float8_e5m2}
ACTIVATIONS = {"relu": jax.nn.relu, "gelu": functools.partial(jax.nn.gelu, approximate=False),
               "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True)}


def double(x):
    return np.asarray(x.astype(jnp.float32)).astype(np.float64)


def normalise(x, scale, shift):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + problems.EPSILON) * scale + shift


def step(parameters, gradients, first, second, count):
    h = problems.ADAMW
    count = count + 1
    correct1, correct2 = (-jnp.expm1(count * math.log(h[beta])) for beta in ("beta1", "beta2"))  # 1 - beta^count
    first = [h["beta1"] * m + (1 - h["beta1"]) * g for m, g in zip(first, gradients)]
    second = [h["beta2"] * v + (1 - h["beta2"]) * g * g for v, g in zip(second, gradients)]
    parameters = [p * (1 - h["lr"] * h["weight_decay"]) - h["lr"] * (m / correct1) /
                  (jnp.sqrt(v / correct2) + h["eps"]) for p, m, v in zip(parameters, first, second)]
    return parameters, first, second, count


class Peer:
    def __init__(self, options):
        if options.device:
            jax.config.update("jax_platforms", options.device)
        jax.config.update("jax_default_matmul_precision", "highest")
        self.device = jax.devices()[0]
        self.is_gpu = self.device.platform == "gpu"
        self.key = jax.random.PRNGKey(1)
        self.last = None

    # ---- the device ----

    def synchronize(self):
        if self.last is not None:
            jax.block_until_ready(self.last)

    def clean(self):
        self.last = None

    def time_device(self, variant, runs, sets, rounds):
        samples = []
        for _ in range(rounds):
            self.synchronize()
            start = harness.now_us()
            for i in range(runs):
                variant.run(i % sets)
            self.synchronize()
            samples.append((harness.now_us() - start) / runs)
        return samples, "many calls at the host's pace"

    def machine(self):
        gpu = self.is_gpu
        n = 4096 if gpu else 512
        a, b = self.uniform((n, n), "f32", 1), self.uniform((n, n), "f32", 1)
        x = self.uniform((1 << 27 if gpu else 1 << 24,), "f32", 1)
        times = {}
        for name, function, inputs in (("product", jnp.matmul, (a, b)), ("copy", jnp.negative, (x,)),
                                       ("empty", jnp.negative, (a[0, :1],))):
            call = jax.jit(function)
            variant = harness.Variant(name, lambda s, call=call, inputs=inputs: self.keep(call(*inputs)), None, 1)
            variant.run(0)
            times[name] = harness.median(harness.time_host(self, variant, 11)[0])
        return {"device": "cuda:0" if gpu else "cpu", "backend": "jax",
                "product": self.device.device_kind if gpu else "CPU", "driver": "", "compiler": "XLA", "gemm": "",
                "library": f"JAX {jax.__version__}", "empty_us": times["empty"],
                "copy_gbs": 8e-3 * x.size / times["copy"], "gemm_gflops": 2e-3 * n**3 / times["product"],
                "timer_us": None}

    def keep(self, y):
        self.last = y
        return y

    def uniform(self, shape, type, scale):
        self.key, key = jax.random.split(self.key)
        return jax.random.uniform(key, shape, jnp.float32, -scale, scale).astype(TYPES[type])

    # ---- the problems ----

    def variants(self, problem):
        if problem.type not in TYPES:
            raise harness.Skipped(f"{problem.type} is not compared")
        return getattr(self, problem.suite)(problem)

    def way(self, name, function, inputs, result):
        kept, call = {}, jax.jit(function)

        def run(s):
            kept[s] = self.keep(call(*inputs[s]))

        return lambda: harness.Variant(name, run, lambda: result(kept[0]), len(inputs))

    def gemm(self, problem):
        m, n, k = problem.sizes
        t, batch = problem.type, (problem.batch,) if problem.batch else ()
        turn_a, turn_b = (x == "t" for x in problem.turns)
        inputs = [(self.uniform(batch + ((k, m) if turn_a else (m, k)), t, 1),
                   self.uniform(batch + ((n, k) if turn_b else (k, n)), t, 1),
                   self.uniform((n,), problem.stored, k**0.5))
                  for _ in range(harness.choose_sets(problem.bytes))]
        chosen = problems.sample(m)

        def stored(a, b):
            return a.mT if turn_a else a, b.mT if turn_b else b

        def result(y, epilogue):
            a, b = stored(*inputs[0][:2])
            if batch:  # the last product of the batch
                a, b, y = a[-1], b[-1], y[-1]
            bias = double(inputs[0][2]) if epilogue else None
            return (double(y[chosen]), *problems.gemm(double(a[chosen]), double(b), bias, problem))

        def product(a, b, bias):
            a, b = stored(a, b)
            return jnp.matmul(a, b, precision="tensorfloat32" if problem.precision == "tf32" else None,
                              preferred_element_type=TYPES[problem.stored])

        def with_epilogue(a, b, bias):
            return ACTIVATIONS[problem.activation](product(a, b, bias) + bias)

        yield self.way("jax", product, inputs, lambda y: result(y, False))
        yield self.way("jax+ep", with_epilogue, inputs, lambda y: result(y, True))

    def dense(self, problem):
        layers, width, batch = problem.sizes
        scale, t = (6.0 / width) ** 0.5, problem.type
        inputs = [(self.uniform((batch, width), t, 1), [self.uniform((width, width), t, scale) for _ in range(layers)],
                   [self.uniform((width,), t, 0.1) for _ in range(layers)])
                  for _ in range(min(8, harness.choose_sets(problem.bytes)))]
        chosen = problems.sample(batch)

        def network(x, weights, biases):
            for w, b in zip(weights, biases):
                x = jax.nn.relu(x @ w + b)
            return x

        def result(y):
            x, weights, biases = inputs[0]
            return (double(y[chosen]), *problems.dense(double(x[chosen]), map(double, weights), map(double, biases),
                                                      problem))

        yield self.way("jax", network, inputs, result)

    def stack(self, problem):
        slices, count, width = problem.sizes
        inputs = [(self.uniform((slices, count, width), "f32", 2), self.uniform((width,), "f32", 1),
                   self.uniform((width,), "f32", 1), self.uniform((width, 1), "f32", 1), self.uniform((1,), "f32", 1))
                  for _ in range(harness.choose_sets(problem.bytes))]

        def split(x, scale, shift, w, b):
            parts = [jnp.tanh(normalise(x[i], scale, shift)) for i in range(slices)]
            return jax.nn.relu(jnp.stack(parts) @ w + b)

        def combined(x, scale, shift, w, b):
            return jax.nn.relu(jnp.tanh(normalise(x, scale, shift)) @ w + b)

        def result(y):
            return (double(y), *problems.stack(problem, *(double(x) for x in inputs[0])))

        yield self.way("jax-split", split, inputs, result)
        yield self.way("jax-combined", combined, inputs, result)

    def rows(self, problem):
        count, length = problem.sizes
        t = problem.type
        inputs = [(self.uniform((count, length), t, 4), self.uniform((length,), t, 1), self.uniform((length,), t, 1),
                   self.uniform((count, length), t, 1) if problem.function == "layernorm_gelu_residual" else None)
                  for _ in range(min(8, harness.choose_sets(problem.bytes)))]
        functions = {
            "softmax": lambda x, scale, shift, r: jax.nn.softmax(x, -1),
            "logsumexp": lambda x, scale, shift, r: jax.nn.logsumexp(x, -1),
            "rmsnorm": lambda x, scale, shift, r:
                x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + problems.EPSILON) * scale,
            "layernorm": lambda x, scale, shift, r: normalise(x, scale, shift),
            "layernorm_gelu_residual": lambda x, scale, shift, r:
                jax.nn.gelu(normalise(x, scale, shift), approximate=False) + r,
        }
        chosen = problems.sample(count)

        def result(y):
            x, scale, shift, r = inputs[0]
            return (double(y[chosen]), *problems.rows(problem, double(x[chosen]), double(scale), double(shift),
                                                      None if r is None else double(r[chosen])))

        yield self.way("jax", functions[problem.function], inputs, result)

    def adamw(self, problem):
        if len(problem.members) > 500:
            raise harness.Skipped(f"{len(problem.members)} tensors take XLA too long to compile")
        yield lambda: self.adamw_variant(problem)

    def adamw_variant(self, problem):
        call = functools.partial(jax.jit, donate_argnums=(0, 2, 3, 4))(step)
        states = []
        for _ in range(min(4, harness.choose_sets(16 * sum(problem.members)))):
            p, g = ([self.uniform((n,), "f32", 1) for n in problem.members] for _ in range(2))
            states.append((p, g, [jnp.zeros_like(x) for x in p], [jnp.zeros_like(x) for x in p], jnp.float32(0)))
        shown = [i for i, n in enumerate(problem.members) if n <= 1 << 22]
        before = np.concatenate([double(states[0][0][i]) for i in shown])

        def run(s):
            p, g, first, second, count = states[s]
            p, first, second, count = self.keep(call(p, g, first, second, count))
            states[s] = (p, g, first, second, count)

        def result():
            want, bound = problems.adamw(before, np.concatenate([double(states[0][1][i]) for i in shown]))
            return np.concatenate([double(states[0][0][i]) for i in shown]), want, bound

        return harness.Variant("jax", run, result, len(states))

    # ---- training steps ----

    def train(self, problem):
        yield lambda: self.train_variant(problem)

    def between(self, parameter, low, high):
        return self.uniform(parameter.shape, "f32", (high - low) / 2) + (high + low) / 2

    def train_set(self, problem):
        """Parameters, moments, the number of steps, x and the target."""
        of, rows = training.parameters(problem), training.rows(problem)
        x, target = (self.uniform((*rows, training.width(problem)), "f32", 1) for _ in range(2))
        if problem.function == "digits":
            target = jax.random.randint(self.key, rows, 0, 10)
        return ([self.between(p, p.low, p.high) for p in of], [self.between(p, -p.gradient, p.gradient) for p in of],
                [self.between(p, p.gradient**2 / 4, p.gradient**2) for p in of], jnp.float32(training.STEP - 1), x,
                target)

    def train_variant(self, problem):
        @functools.partial(jax.jit, donate_argnums=(0, 1, 2, 3))
        def call(parameters, first, second, count, x, target):
            if problem.function == "layer":
                loss, gradients = jnp.float32(0), [x.T @ target, target.sum(0)]
            else:
                loss, gradients = jax.value_and_grad(lambda p: loss_of(problem, x, target, p))(parameters)
            return loss, *step(parameters, gradients, first, second, count)

        sets = [self.train_set(problem) for _ in range(min(8, harness.choose_sets(problem.bytes)))]
        starts = [tuple(double(part) for part in parts) for parts in zip(*sets[0][:3])]
        x, target = double(sets[0][4]), np.asarray(sets[0][5])
        losses = {}

        def run(s):
            losses[s], *state = self.keep(call(*sets[s]))
            sets[s] = (*state, *sets[s][4:])

        def result():
            ends = (map(double, parts) for parts in zip(*sets[0][:3]))
            return training.result(problem, x, target.astype(np.float64) if target.ndim > 1 else target, starts,
                                   double(losses[0]), ends)

        return harness.Variant("jax", run, result, len(sets))


def block(x, p, heads):
    scale1, shift1, wq, wk, wv, wo, bo, scale2, shift2, w1, b1, w2, b2 = p
    h = normalise(x, scale1, shift1)
    q, k, v = (w.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for w in (h @ wq, h @ wk, h @ wv))
    mixed = jax.nn.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v
    x = x + (mixed.swapaxes(1, 2).reshape(x.shape) @ wo + bo)
    h = normalise(x, scale2, shift2)
    return x + (jax.nn.gelu(h @ w1 + b1, approximate=False) @ w2 + b2)


def loss_of(problem, x, target, p):
    if problem.function == "transformer":
        each = len(p) // problem.sizes[2]
        for at in range(0, len(p), each):
            x = block(x, p[at : at + each], problem.sizes[1])
        return ((x - target) ** 2).mean()
    for layer, (w, b) in enumerate(zip(p[::2], p[1::2])):
        x = x @ w + b
        if problem.function == "chain" or layer < len(p) // 2 - 1:
            x = jax.nn.relu(x)
    if problem.function == "digits":
        return -jnp.take_along_axis(jax.nn.log_softmax(x, -1), target[:, None], 1).mean()
    return ((x - target) ** 2).mean()


if __name__ == "__main__":
    harness.exit_with(__doc__, Peer)
