#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The peers of lfuse-bench are Python, and their default problems are ones that lfuse-bench takes. PyTorch and JAX are
# not needed for that.
. "$top_srcdir/tests/tree/tap.sh"

compiles()
{
    PYTHONPYCACHEPREFIX=$work python3 -m py_compile "$1"
}
# Without numpy, which the module imports for more than this.
problems()
{
    sed -n '/^DEFAULT = (/,/^)/p' "$top_srcdir/bench/peers/problems.py" > "$work/default.py"
    grep -q adamw "$work/default.py" && echo 'print("\n".join(DEFAULT))' >> "$work/default.py" &&
        python3 "$work/default.py" > "$work/peers"
}
# lfuse-bench says that no suite makes a problem before it looks for a device.
known()
{
    problems && while read -r problem; do
        "$top_builddir/bench/lfuse-bench" --device none --case "$problem" 2>&1 | grep "no suite makes" && return 1
    done < "$work/peers"
    return 0
}
unknown()
{
    "$top_builddir/bench/lfuse-bench" --device none --case "nothing:1" 2>&1 | grep "no suite makes"
}
# Gradients of a layer that a plain loop sums in float32, of terms of one sign, are within the bounds of a step; without
# the last sample they are not, and the peers say which tensors are wrong.
judged()
{
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/bench/peers python3 - <<'end'
import numpy as np
import harness, problems, training

f32, problem = np.float32, problems.parse("train:layer:H24:B4096")
random = np.random.default_rng(1)
x, dy = (random.uniform(0.5, 1, (4096, 24)).astype(f32) for _ in range(2))
starts = [tuple(np.zeros(p.shape) for _ in range(3)) for p in training.parameters(problem)]
w, b = np.zeros((24, 24), f32), np.zeros(24, f32)
for samples in range(4096):
    if samples == 4095:
        lacking = w.copy(), b.copy()
    w += np.multiply.outer(x[samples], dy[samples])
    b += dy[samples]

def ends(gradients):
    return [[part for part, _ in training.adamw(*start, g.astype(float), 0, False)]
            for start, g in zip(starts, gradients)]

def wrong(gradients):
    result = lambda: training.result(problem, x.astype(float), dy.astype(float), starts, None, ends(gradients))
    return harness.verify(harness.Variant("", None, result, 1))[2:]

assert wrong((w, b)) == (True, []), wrong((w, b))
good, lines = wrong(lacking)
assert not good and [line.split(": ")[0] for line in lines] == ["w0.m", "w0.v", "b0.m", "b0.v"], lines
assert all(f"{n} of {n} elements" in line for n, line in zip((576, 576, 24, 24), lines)), lines
end
}
# Operands cut to the bits of tf32 are within its bound, and neither within that of f32 nor with two bits less. What gelu
# makes of a sum that is off by its own bound is within the bound of gelu where the slope is largest, twice as far is not.
products_judged()
{
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$top_srcdir/bench/peers python3 - <<'end'
import numpy as np
import problems

def within(found, a, b, bias, words):
    y, error = problems.gemm(a, b, bias, problems.parse("gemm:24x24x64" + words))
    return np.all(np.abs(found - y) <= error)

def cut(x, bits):
    return (x.astype(np.float32).view(np.uint32) & np.uint32(2**32 - 2 ** (23 - bits))).view(np.float32).astype(float)

random = np.random.default_rng(2)
a, b = (random.uniform(0.5, 1, shape).astype(np.float32).astype(float) / 8 for shape in ((24, 64), (64, 24)))
assert within(a @ b, a, b, None, "") and within(a @ b, a, b, None, ":tf32")
assert within(cut(a, 10) @ cut(b, 10), a, b, None, ":tf32") and not within(cut(a, 10) @ cut(b, 10), a, b, None, "")
assert not within(cut(a, 8) @ cut(b, 8), a, b, None, ":tf32")

bias = np.sqrt(2) - a @ b
y, error = problems.gemm(a, b, bias, problems.parse("gemm:24x24x64"))
for name in "gelu", "gelu_tanh":
    of = problems.ACTIVATIONS[name]
    assert within(of(y), a, b, bias, ":" + name) and within(of(y + 0.92 * error), a, b, bias, ":" + name), name
    assert not within(of(y + 2 * error), a, b, bias, ":" + name) and not within(y, a, b, bias, ":" + name), name
end
}

if command -v python3 >/dev/null 2>&1; then
    for file in "$top_srcdir"/bench/peers/*.py; do
        ok "$(basename "$file") compiles" compiles "$file"
    done
    ok "lfuse-bench knows the default problems of the peers" known
    ok "and tells one that it does not know" unknown
    if python3 -c "import numpy" 2>/dev/null; then
        ok "plain sums are within the bounds of a step, and a missing sample is found" judged
        ok "products in tf32 and their gelu are within bounds of their own" products_judged
    else
        skip "plain sums are within the bounds of a step" "no numpy"
        skip "products in tf32 and their gelu are within bounds of their own" "no numpy"
    fi
else
    skip "the peers compile" "no python3"
fi
done_testing
