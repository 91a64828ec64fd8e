# SPDX-License-Identifier: Apache-2.0
"""What the peers have in common: the command line, timing, verification, and the JSON lines of lfuse-bench."""

import argparse
import json
import statistics
import sys
import time

import numpy as np

import problems

CACHE_BYTES = 64e6  # taken for the last-level cache where nothing tells it, as lfuse-bench does
MOST_SETS = 32
ROUNDS = 15
BATCH_US = 8000.0
LONG_US = 30e3
MOST_RUNS = 256
SUSTAINED_FLOPS, SUSTAINED_US, SETTLING_TURNS, TURNS = 1e10, 20e3, 3, 5  # as lfuse-bench has them, but for the order
TIMES = tuple(f"{time}_us{spread}" for time in ("wall", "gpu", "cold", "sustained", "enqueue")
              for spread in ("", "_20", "_80"))


class Skipped(Exception):
    """The problem cannot be run here, for the reason that it says."""


class Variant:
    """One way to do the work. run(set) does it once; result() gives (got, want, bound) of what run(0) left, and behind
    them [(name, length)] where these are several tensors, one after the other."""

    def __init__(self, name, run, result, sets, note=""):
        self.name, self.run, self.result, self.sets, self.note = name, run, result, sets, note


def choose_sets(bytes_of_one):
    return int(min(MOST_SETS, max(2, 3 * CACHE_BYTES // max(1, bytes_of_one) + 1)))


def now_us():
    return time.perf_counter() * 1e6


def median(samples):
    return statistics.median(samples)


def quantile(samples, q):
    return float(np.quantile(np.array(samples), q))


def largest(error, bound):
    """The error that is most of its bound, and that bound."""
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error / np.maximum(bound, 1e-300))))
    return float(error.flat[worst]), float(bound.flat[worst])


def faults(error, bound, parts):
    """What is wrong with which tensors, a line for each."""
    at = 0
    for name, length in parts:
        e, b = error[at : at + length], bound[at : at + length]
        at += length
        beyond = int(np.sum(~(e <= b)))  # of NaN too
        if beyond:
            yield "{}: {} of {} elements are out of bound, worst error {:g}, bound {:g}".format(
                name, beyond, length, *largest(e, b))


def verify(variant):
    """Largest error as error and bound, whether every element is within its own, and what is wrong in words."""
    got, want, bound, *parts = variant.result()
    error = np.abs(np.asarray(got, dtype=np.float64) - want)
    bound = np.broadcast_to(bound, error.shape)
    good = bool(np.all(error <= bound))  # false for NaN
    return *largest(error, bound), good, list(faults(error, bound, parts[0])) if parts else []


def time_host(peer, variant, rounds):
    wall, enqueue = [], []
    for _ in range(rounds):
        peer.synchronize()
        start = now_us()
        variant.run(0)
        enqueue.append(now_us() - start)
        peer.synchronize()
        wall.append(now_us() - start)
    return wall, enqueue


def spread(key, us):
    """The median, and the 20 and 80 percentiles; of nothing None."""
    return {key + name: quantile(us, q) if us else None for name, q in (("", 0.5), ("_20", 0.2), ("_80", 0.8))}


def time_sustained(peer, problem, variant, run_us):
    """Microseconds of a run on a GPU that is kept busy by this variant; of small problems and on CPUs none."""
    if problem.flops < SUSTAINED_FLOPS or not peer.is_gpu:
        return []
    runs = int(SUSTAINED_US / run_us) + 1
    return peer.time_device(variant, runs, 1, SETTLING_TURNS + TURNS)[0][SETTLING_TURNS:]


def measure(peer, problem, variant):
    """Figures of a variant that was verified: lfuse-bench(1) says what they are."""
    for s in range(variant.sets):
        variant.run(s)
    peer.synchronize()
    wall, _ = time_host(peer, variant, 3)
    runs = int(min(MOST_RUNS, max(1, BATCH_US // max(1.0, median(wall)))))
    rounds = 3 if median(wall) > LONG_US else ROUNDS
    wall, enqueue = time_host(peer, variant, rounds)
    cold = variant.sets * problem.bytes > 3 * CACHE_BYTES
    warm_us, how = peer.time_device(variant, runs, 1, rounds)
    cold_runs = -(-runs // variant.sets) * variant.sets
    cold_us = peer.time_device(variant, cold_runs, variant.sets, rounds)[0] if cold else []
    return {
        **spread("wall_us", wall), **spread("gpu_us", warm_us), **spread("cold_us", cold_us),
        **spread("sustained_us", time_sustained(peer, problem, variant, median(warm_us))),
        **spread("enqueue_us", enqueue), "note": "; ".join(x for x in (how, variant.note) if x),
    }


def floor_us(machine, problem):
    move = problem.bytes / (1e3 * machine["copy_gbs"]) if machine["copy_gbs"] else 0
    rate = machine["gemm_gflops"] if problem.type == "f32" else 0
    compute = problem.flops / (1e3 * rate) if rate else 0
    return max(move, compute)


class Writer:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None

    def line(self, **members):
        members = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in members.items()}
        if self.file:
            self.file.write(json.dumps(members, separators=(",", ":"), ensure_ascii=False) + "\n")
            self.file.flush()


def run_variant(peer, machine, problem, variant, writer):
    start = now_us()
    variant.run(0)
    peer.synchronize()
    first_us = now_us() - start
    error, bound, good, wrong = verify(variant)
    figures = measure(peer, problem, variant) if good else {}
    note = figures.pop("note", "")
    writer.line(type="result", case=problem.text, variant=variant.name, device=machine["device"],
                backend=machine["backend"], **{k: figures.get(k) for k in TIMES}, first_us=first_us,
                floor_us=floor_us(machine, problem), launches=None, bytes=float(problem.bytes),
                flops=float(problem.flops), max_err=error, tol=bound, note=note, ok=good)
    shown = figures.get("cold_us") or figures.get("gpu_us") or float("nan")
    rate = f"{1e-3 * problem.flops / shown:10.0f} GFLOP/s" if problem.flops and figures else ""
    print(f"  {problem.text:<40} {variant.name:<18} wall {figures.get('wall_us', float('nan')):10.1f} us, device "
          f"{shown:10.1f} us {rate} {'ok' if good else 'WRONG'} {note}", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)
    return good


def run_problem(peer, machine, text, writer):
    """Whether nothing was wrong."""
    good = True
    try:
        problem = problems.parse(text)
        for make in peer.variants(problem):
            variant = make()
            good &= run_variant(peer, machine, problem, variant, writer)
            del variant
            peer.clean()
    except (Skipped, problems.Unknown) as reason:
        print(f"  {text:<40} skipped: {reason}", flush=True)
        writer.line(type="skipped", case=text, device=machine["device"], reason=str(reason))
    return good


def main(description, make_peer):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="as of lfuse-bench; default: a list of these")
    parser.add_argument("--json", metavar="FILE", help="also write the figures as JSON lines")
    parser.add_argument("--device", default=None, help="cuda or cpu; default: cuda where there is one")
    parser.add_argument("--compile", action="store_true", help="PyTorch: also what torch.compile makes of it")
    options = parser.parse_args()
    peer = make_peer(options)
    writer = Writer(options.json)
    machine = peer.machine()
    writer.line(type="machine", **machine)
    print(f"{machine['device']}  {machine['product']}  {machine['library']}", flush=True)
    good = True
    for text in options.problems or problems.DEFAULT:
        good &= run_problem(peer, machine, text, writer)
    return 0 if good else 1


def exit_with(description, make_peer):
    sys.exit(main(description, make_peer))
