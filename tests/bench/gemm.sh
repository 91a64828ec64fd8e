#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Products whose result has another type, of another precision, and by Strassen's algorithm: all that is run is verified.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
without_optimisation
export LFUSE_WISDOM="$work/wisdom"
runs()
{
    "$bench" --device all --quick --json "$work/figures" --case gemm:40x24x33:f16:to=f32 --case gemm:48x48x48 \
        --case gemm:24x20x28:tf32 --case gemm:24x20x28:f32x3:nt:frozen --case gemm:24x20x28:f16:gelu \
        --case gemm:24x20x32:nt:e4m3 --case gemm:20x24x40:e5m2 --case gemm:20x24x40:g3:f16:rows
}
all() # of a type of lines, of a case, of a variant
{
    grep "^{\"type\":\"$1\",\"case\":\"$2\",\"variant\":\"$3\"" "$work/figures"
}
devices()
{
    grep -c '^{"type":"machine"' "$work/figures"
}
verified() # case, variants
{
    case=$1
    shift
    for variant; do
        test "$(all result "$case" "$variant" | grep -c '"tol":[0-9.e-]*,.*"ok":true')" = "$(devices)" || return 1
    done
}
tf32_is_there_or_refused()
{
    test "$(grep -c '"case":"gemm:24x20x28:tf32","variant":"plan"' "$work/figures")" = "$(devices)" ||
        grep '"type":"skipped","case":"gemm:24x20x28:tf32"' "$work/figures" | grep -i tf32
}
floor_is_finite() # of e5m2, the last type: the rate of its own products
{
    floors=$(all result gemm:20x24x40:e5m2 native | sed -n 's/.*"floor_us":\([^,]*\),.*/\1/p')
    test "$(echo "$floors" | grep -c '^[0-9][0-9.e+-]*$')" = "$(devices)" && ! grep -i '":-*inf' "$work/figures"
}
bytes() # 40 x 33 and 33 x 24 elements of 2 bytes, 40 x 24 of 4
{
    all result gemm:40x24x33:f16:to=f32 plan | grep '"bytes":8064,'
}
refused()
{
    ! "$bench" --quick --case gemm:8x8x8:to=f31 --case gemm:8x8x8:to=f32:to=f16 --case gemm:8x8x8:f16:tf32 \
        --case gemm:8x8x8:bf16x6:f64 --case gemm:8x8x8:f32x3:tf32 --case gemm:8x8x8:frozen:b2 \
        --case gemm:8x8x8:g3:rows:f16 --case gemm:8x8x8:g3f16 --case gemm:8x8x8:g3::rows > "$work/said" 2>&1 &&
        grep 'to=f31: expected gemm:' "$work/said" && grep 'to=f32:to=f16: expected gemm:' "$work/said" &&
        grep 'f16:tf32: tf32 is of f32 operands' "$work/said" &&
        grep 'bf16x6:f64: bf16x6 is of f32 operands' "$work/said" && grep 'f32x3:tf32: expected gemm:' "$work/said" &&
        grep 'frozen:b2: expected gemm:' "$work/said" && grep 'rows:f16: expected gemm:' "$work/said" &&
        grep 'g3f16: expected gemm:' "$work/said" && grep 'g3::rows: expected gemm:' "$work/said"
}

if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "products of mixed types" "no device"
else
    ok "all that is run is right" runs
    ok "f16 gives f32 that is verified" verified gemm:40x24x33:f16:to=f32 plan plan+ep native native+ep
    ok "e4m3 gives f32 that is verified" verified gemm:24x20x32:nt:e4m3 plan plan+ep native native+ep
    ok "a group that differs in rows alone is verified" verified gemm:20x24x40:g3:f16:rows grouped loop
    ok "the floor of e5m2 is finite" floor_is_finite
    ok "each tensor counts in its type" bytes
    ok "squares by Strassen's algorithm are verified" verified gemm:48x48x48 plan strassen1 strassen2
    ok "f32x3 with a frozen operand is verified everywhere" \
        verified gemm:24x20x28:f32x3:nt:frozen plan plan+ep native native+ep
    ok "tf32 is there, or refused with the reason" tf32_is_there_or_refused
    ok "unknown types, second ones, precisions of other types, frozen batches and rows before types are refused" \
        refused
fi
done_testing
