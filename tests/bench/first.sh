#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first result of a process: verified, in processes of their own, of which nothing is left but the figures.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
without_optimisation
mkdir "$work/places"
export TMPDIR="$work/places"
runs()
{
    "$bench" --device all --quick --json "$work/figures" --case first:gemm:9x7x5 --case first:batch:L2:H6:B4 \
        --case first:train:L2:H6:B4
}
of_each_device() # case, variant
{
    test "$(grep "^{\"type\":\"first\",\"case\":\"$1\",\"variant\":\"$2\".*\"first_us\":[1-9].*\"ok\":true}" \
        "$work/figures" | wc -l)" = "$(grep -c '^{"type":"machine"' "$work/figures")"
}
nothing_left()
{
    test -z "$(ls "$TMPDIR")"
}
wrong() # all of them, in a machine without a place for caches
{
    ! TMPDIR="$work/nowhere" "$bench" --quick --case first:gemm:9x7 --case first:dense:L17:H8:B8 \
        --case first:train:L17:H8:B8 --case first:gemm:9x7x5 > "$work/said" 2>&1
}
said() # words
{
    grep "$1" "$work/said"
}
reported()
{
    "$bench" --report "$work/page" "$work/figures" && grep -q "first:gemm:9x7x5" "$work/page/index.html"
}

if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "first results" "no device"
else
    ok "first results are right" runs
    ok "with empty caches" of_each_device first:gemm:9x7x5 cold
    ok "and with full ones" of_each_device first:gemm:9x7x5 disk
    ok "of a plan for several sizes, too" of_each_device first:batch:L2:H6:B4 cold
    ok "of a training step, too" of_each_device first:train:L2:H6:B4 disk
    ok "their folders are gone" nothing_left
    ok "they are in a report" reported
    ok "what cannot be is an error" wrong
    ok "a problem that is none" said "first:gemm:9x7: expected first:gemm:"
    ok "a layer too many" said "first:dense:L17:H8:B8: expected first:gemm:"
    ok "a layer too many of a training" said "train:L17:H8:B8: expected train:"
    ok "no place for caches" said "nowhere/lfuse-first-.*: No such file"
fi
done_testing
