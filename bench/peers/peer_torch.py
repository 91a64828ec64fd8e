#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The problems of lfuse-bench in PyTorch: eager calls and, where device time is concerned, CUDA graphs of them."""

import functools

import numpy as np
import torch
import torch.nn.functional as F

import harness
import problems
import training

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
         "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
ACTIVATIONS = {"relu": torch.relu_, "gelu": F.gelu, "gelu_tanh": functools.partial(F.gelu, approximate="tanh")}


def double(tensor):
    return tensor.detach().to("cpu", torch.float64).numpy()


class Peer:
    def __init__(self, options):
        self.kind = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.compile = options.compile
        self.is_gpu = self.kind == "cuda"
        torch.backends.cudnn.allow_tf32 = False
        # Products of f16 and bf16 are sums of f32 here and there, in all of their parts.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        self.random = torch.Generator(device=self.kind)
        self.random.manual_seed(1)

    # ---- the device ----

    def synchronize(self):
        if self.is_gpu:
            torch.cuda.synchronize()

    def clean(self):
        if self.is_gpu:
            torch.cuda.empty_cache()

    def capture(self, variant, runs, sets):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(runs):
                variant.run(i % sets)
        return graph

    def time_device(self, variant, runs, sets, rounds):
        """Microseconds of a run, of many in one graph over their number; on CPUs of many calls."""
        samples, graph, how = [], None, "" if self.is_gpu else "wall time"
        if self.is_gpu and not variant.note:
            try:
                graph = self.capture(variant, runs, sets)
            except RuntimeError:
                self.synchronize()
        if self.is_gpu and not graph:
            how = "many calls at the host's pace"
        for _ in range(rounds):
            self.synchronize()
            start = harness.now_us()
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if graph else None
            if graph:
                events[0].record()
                graph.replay()
                events[1].record()
            else:
                for i in range(runs):
                    variant.run(i % sets)
            self.synchronize()
            elapsed = events[0].elapsed_time(events[1]) * 1e3 if graph else harness.now_us() - start
            samples.append(elapsed / runs)
        return samples, how

    def machine(self):
        product = torch.cuda.get_device_name() if self.is_gpu else "CPU"
        n = 4096 if self.is_gpu else 512
        a, b = self.uniform((n, n), "f32", 1), self.uniform((n, n), "f32", 1)
        copy_from = self.uniform((1 << 27 if self.is_gpu else 1 << 24,), "f32", 1)
        copy_to = torch.empty_like(copy_from)
        one = torch.zeros(1, device=self.kind)
        times = {}
        for name, call in (("product", lambda: torch.mm(a, b)), ("copy", lambda: copy_to.copy_(copy_from)),
                           ("empty", lambda: one.add_(1))):
            variant = harness.Variant(name, lambda s, call=call: call(), None, 1)
            variant.run(0)
            times[name] = harness.median(harness.time_host(self, variant, 11)[0])
        return {"device": f"{self.kind}:0" if self.is_gpu else "cpu", "backend": "pytorch", "product": product,
                "driver": f"CUDA {torch.version.cuda}" if self.is_gpu else "", "compiler": "", "gemm": "",
                "library": f"PyTorch {torch.__version__}", "empty_us": times["empty"],
                "copy_gbs": 8e-3 * copy_from.numel() / times["copy"], "gemm_gflops": 2e-3 * n**3 / times["product"],
                "timer_us": None}

    def uniform(self, shape, type, scale):
        x = torch.empty(shape, dtype=torch.float32, device=self.kind)
        x.uniform_(-scale, scale, generator=self.random)
        return x.to(TYPES[type])

    def between(self, shape, low, high):
        return self.uniform(shape, "f32", (high - low) / 2) + (high + low) / 2

    # ---- the problems ----

    def variants(self, problem):
        torch.backends.cuda.matmul.allow_tf32 = problem.precision == "tf32"
        return getattr(self, problem.suite)(problem)

    def graph_of(self, name, run, result, sets):
        """The whole run as a graph of its own, which is replayed."""
        variant = harness.Variant(name, run, result, sets)
        for s in range(sets):
            run(s)
        self.synchronize()
        graphs = []
        for s in range(sets):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run(s)
            graphs.append(graph)
        variant.run = lambda s: graphs[s].replay()
        variant.note = "one graph a call"
        return variant

    def ways(self, problem, name, function, inputs, result):
        """Eager, as one graph, and compiled: function(*inputs[set]) -> y; result(y) -> (got, want, bound)."""
        sets, kept = len(inputs), {}

        def make(suffix, call):
            def run(s):
                kept[s] = call(*inputs[s])

            return lambda: harness.Variant(name + suffix, run, lambda: result(kept[0]), sets)

        yield make("", function)
        if self.is_gpu and problem.suite in ("dense", "stack"):
            run = lambda s: kept.__setitem__(s, function(*inputs[s]))
            yield lambda: self.graph_of(name + "-graph", run, lambda: result(kept[0]), sets)
        if self.compile and problem.suite != "gemm":
            yield make("-compile", torch.compile(function))

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

        one = torch.ones((), device=self.kind)

        def bare(a, b, bias):
            a, b = stored(a, b)
            if t in problems.FP8:  # by cuBLASLt, whose operands of 8 bits have to lie along k
                return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.float32)
            return torch.matmul(a, b)

        def with_epilogue(a, b, bias):
            if t in problems.FP8:
                return ACTIVATIONS[problem.activation](bare(a, b, bias) + bias)
            a, b = stored(a, b)
            y = torch.baddbmm(bias, a, b) if batch else torch.addmm(bias, a, b)
            return ACTIVATIONS[problem.activation](y)

        yield from self.ways(problem, "pytorch", bare, inputs, lambda y: result(y, False))
        yield from self.ways(problem, "pytorch+ep", with_epilogue, inputs, lambda y: result(y, True))

    def dense(self, problem):
        layers, width, batch = problem.sizes
        scale, t, inputs = (6.0 / width) ** 0.5, problem.type, []
        for _ in range(min(8, harness.choose_sets(problem.bytes))):
            weights = [self.uniform((width, width), t, scale) for _ in range(layers)]
            inputs.append((self.uniform((batch, width), t, 1), weights,
                           [self.uniform((width,), t, 0.1) for _ in range(layers)]))
        chosen = problems.sample(batch)

        def network(x, weights, biases):
            for w, b in zip(weights, biases):
                x = torch.addmm(b, x, w).relu_()
            return x

        @functools.cache
        def truth():
            x, weights, biases = inputs[0]
            return problems.dense(double(x[chosen]), map(double, weights), map(double, biases), problem)

        def result(y):
            return (double(y[chosen]), *truth())

        yield from self.ways(problem, "pytorch", network, inputs, result)

    def stack(self, problem):
        slices, count, width = problem.sizes
        inputs = [(self.uniform((slices, count, width), "f32", 2), self.uniform((width,), "f32", 1),
                   self.uniform((width,), "f32", 1), self.uniform((width, 1), "f32", 1), self.uniform((1,), "f32", 1))
                  for _ in range(harness.choose_sets(problem.bytes))]

        def one(x, scale, shift):
            return torch.tanh(F.layer_norm(x, (width,), scale, shift, problems.EPSILON))

        def split(x, scale, shift, w, b):
            parts = [one(part, scale, shift) for part in x.unbind(0)]
            return torch.relu(torch.matmul(torch.stack(parts), w) + b)

        def combined(x, scale, shift, w, b):
            return torch.relu(torch.matmul(one(x, scale, shift), w) + b)

        def result(y):
            return (double(y), *problems.stack(problem, *(double(x) for x in inputs[0])))

        yield from self.ways(problem, "pytorch-split", split, inputs, result)
        yield from self.ways(problem, "pytorch-combined", combined, inputs, result)

    def rows(self, problem):
        count, length = problem.sizes
        t, shape = problem.type, (length,)
        inputs = [(self.uniform((count, length), t, 4), self.uniform(shape, t, 1), self.uniform(shape, t, 1),
                   self.uniform((count, length), t, 1) if problem.function == "layernorm_gelu_residual" else None)
                  for _ in range(min(8, harness.choose_sets(problem.bytes)))]
        functions = {
            "softmax": lambda x, scale, shift, r: F.softmax(x, -1),
            "logsumexp": lambda x, scale, shift, r: torch.logsumexp(x, -1),
            "rmsnorm": lambda x, scale, shift, r: F.rms_norm(x, shape, scale, problems.EPSILON),
            "layernorm": lambda x, scale, shift, r: F.layer_norm(x, shape, scale, shift, problems.EPSILON),
            "layernorm_gelu_residual":
                lambda x, scale, shift, r: F.gelu(F.layer_norm(x, shape, scale, shift, problems.EPSILON)) + r,
        }
        chosen = problems.sample(count)

        def result(y):
            x, scale, shift, r = inputs[0]
            return (double(y[chosen]), *problems.rows(problem, double(x[chosen]), double(scale), double(shift),
                                                      None if r is None else double(r[chosen])))

        yield from self.ways(problem, "pytorch", functions[problem.function], inputs, result)

    def adamw(self, problem):
        for name in ("foreach", "fused"):
            yield lambda name=name: self.adamw_variant(problem, name)

    def adamw_variant(self, problem, name):
        h, optimizers = problems.ADAMW, []
        sets = min(4, harness.choose_sets(16 * sum(problem.members)))
        for _ in range(sets):
            members = [torch.nn.Parameter(self.uniform((n,), "f32", 1)) for n in problem.members]
            for p in members:
                p.grad = self.uniform(p.shape, "f32", 1)
            optimizers.append(torch.optim.AdamW(members, lr=h["lr"], betas=(h["beta1"], h["beta2"]), eps=h["eps"],
                                                weight_decay=h["weight_decay"], capturable=self.is_gpu, **{name: True}))
        first = optimizers[0].param_groups[0]["params"]
        shown = [p for p in first if p.numel() <= 1 << 22]
        before = np.concatenate([double(p) for p in shown]) if shown else np.zeros(0)

        def result():
            want, bound = problems.adamw(before, np.concatenate([double(p.grad) for p in shown]))
            return np.concatenate([double(p) for p in shown]), want, bound

        return harness.Variant("pytorch-" + name, lambda s: optimizers[s].step(), result, sets)

    # ---- training steps ----

    def train(self, problem):
        ways = [("pytorch", False, False)] + self.is_gpu * [("pytorch-graph", False, True)]
        for name, compiled, graph in ways + self.compile * [("pytorch-compile", True, self.is_gpu)]:
            yield lambda name=name, compiled=compiled, graph=graph: self.train_variant(problem, name, compiled, graph)

    def train_variant(self, problem, name, compiled, graph):
        sets = [Training(self, problem, compiled) for _ in range(min(8, harness.choose_sets(problem.bytes)))]
        first = sets[0]
        x = double(first.x)
        target = first.target.cpu().numpy() if problem.function == "digits" else double(first.target)
        variant = harness.Variant(name, lambda s: sets[s].step(), lambda: first.result(problem, x, target), len(sets))
        if graph:
            self.graph_steps(variant, sets)
        elif compiled:
            first.step()
            first.start()
        return variant

    def graph_steps(self, variant, sets):
        """Steps are replayed; they warm up on a stream of their own, as PyTorch's notes on CUDA graphs have it."""
        graphs, side = [], torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for each in sets:
                for _ in range(3):
                    each.step()
        torch.cuda.current_stream().wait_stream(side)
        for each in sets:
            graph = torch.cuda.CUDAGraph()
            each.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(graph):
                each.step()
            each.start()
            graphs.append(graph)
        variant.run = lambda s: graphs[s].replay()
        variant.note = "one graph a call"


def attention(h, wq, wk, wv, heads):
    q, k, v = (torch.matmul(h, w).unflatten(-1, (heads, -1)).transpose(1, 2) for w in (wq, wk, wv))
    shares = F.softmax(torch.matmul(q, k.mT) * q.shape[-1] ** -0.5, -1)
    return torch.matmul(shares, v).transpose(1, 2).flatten(2)


def block(x, p, heads):
    scale1, shift1, wq, wk, wv, wo, bo, scale2, shift2, w1, b1, w2, b2 = p
    h = F.layer_norm(x, x.shape[-1:], scale1, shift1, problems.EPSILON)
    x = x + (torch.matmul(attention(h, wq, wk, wv, heads), wo) + bo)
    h = F.layer_norm(x, x.shape[-1:], scale2, shift2, problems.EPSILON)
    return x + (torch.matmul(F.gelu(torch.matmul(h, w1) + b1), w2) + b2)


def loss_of(problem, x, target, p):
    if problem.function == "transformer":
        each = len(p) // problem.sizes[2]
        for at in range(0, len(p), each):
            x = block(x, p[at : at + each], problem.sizes[1])
        return F.mse_loss(x, target)
    for layer, (w, b) in enumerate(zip(p[::2], p[1::2])):
        x = torch.addmm(b, x, w)
        if problem.function == "chain" or layer < len(p) // 2 - 1:
            x = torch.relu(x)
    return F.cross_entropy(x, target) if problem.function == "digits" else F.mse_loss(x, target)


@functools.cache
def numbers_in_single(device):
    """Whether the fused step takes its betas as float32: the second moment tells, which becomes 1 - beta2 here. It does
    for CUDA where it computes in opmath_t (pull request 173227, of 2026); before, and for CPUs, they are double."""
    p = torch.nn.Parameter(torch.zeros(1, device=device))
    p.grad = torch.ones_like(p)
    optimizer = torch.optim.AdamW([p], betas=(0.9, 0.999), fused=True)
    optimizer.step()
    return optimizer.state[p]["exp_avg_sq"].item() < 1 - 0.999 - 1e-9


class Training:
    """One buffer set: parameters, their moments, data, and the step over them."""

    def __init__(self, peer, problem, compiled):
        h, of, rows = problems.ADAMW, training.parameters(problem), training.rows(problem)
        self.x, self.target = (peer.uniform((*rows, training.width(problem)), "f32", 1) for _ in range(2))
        if problem.function == "digits":
            self.target = torch.randint(10, rows, device=peer.kind, generator=peer.random)
        self.starts = [(peer.between(p.shape, p.low, p.high), peer.between(p.shape, -p.gradient, p.gradient),
                        peer.between(p.shape, p.gradient**2 / 4, p.gradient**2)) for p in of]
        self.members = [torch.nn.Parameter(p.clone()) for p, _, _ in self.starts]
        self.optimizer = torch.optim.AdamW(self.members, lr=h["lr"], betas=(h["beta1"], h["beta2"]), eps=h["eps"],
                                           weight_decay=h["weight_decay"], fused=True, capturable=peer.is_gpu)
        self.layer = problem.function == "layer"
        self.loss = None

        def loss(x, target, *p):
            return loss_of(problem, x, target, p)

        def gradients(x, dy):
            return torch.mm(x.mT, dy), dy.sum(0)

        self.work = gradients if self.layer else loss
        if compiled:
            self.work = torch.compile(self.work)
        for p, (_, m, v) in zip(self.members, self.starts):
            self.optimizer.state[p] = {"step": torch.zeros((), device=peer.kind), "exp_avg": m.clone(),
                                       "exp_avg_sq": v.clone()}
        self.start()

    def start(self):
        """What the step that is verified starts from, in the same tensors."""
        with torch.no_grad():
            for p, (start, m, v) in zip(self.members, self.starts):
                state = self.optimizer.state[p]
                for to, source in ((p, start), (state["exp_avg"], m), (state["exp_avg_sq"], v)):
                    to.copy_(source)
                state["step"].fill_(training.STEP - 1)

    def step(self):
        if self.layer:
            for p, g in zip(self.members, self.work(self.x, self.target)):
                p.grad = g
        else:
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.work(self.x, self.target, *self.members)
            loss.backward()
            self.loss = loss.detach()  # what backward ran through must not live until a capture
        self.optimizer.step()

    def result(self, problem, x, target):
        starts = [tuple(double(part) for part in start) for start in self.starts]
        states = [(p, self.optimizer.state[p]) for p in self.members]
        ends = (map(double, (p, state["exp_avg"], state["exp_avg_sq"])) for p, state in states)
        return training.result(problem, x, target, starts, None if self.layer else double(self.loss), ends,
                               numbers_in_single(self.x.device))


if __name__ == "__main__":
    harness.exit_with(__doc__, Peer)
