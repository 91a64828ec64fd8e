#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dense networks of f16 and bf16, and of f32 that may be split, on the devices of this machine: every variant is verified,
# or left out with a reason.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
without_optimisation
problems="dense:L2:H48:B5:f16 dense:L2:H48:B3:bf16"
split=dense:L2:H48:B7:f32x3
all() # of a type of lines
{
    grep "^{\"type\":\"$1\"" "$work/figures"
}
devices()
{
    all machine | sed 's/.*"device":"\([^"]*\)".*/\1/'
}
runs()
{
    "$bench" --device all --quick --json "$work/figures" --case dense:L2:H48:B5:f16 --case dense:L2:H48:B3:bf16 \
        --case $split
}
is_verified() # problem, variant, device
{
    all result | grep "\"case\":\"$1\",\"variant\":\"$2\",\"device\":\"$3\"" |
        grep '"tol":[0-9.e-]*,.*"ok":true'
}
# Variants that every device has.
verified()
{
    for device in $(devices); do
        for problem in $problems; do
            for variant in unfused fused replay native strassen1; do
                is_verified "$problem" $variant "$device" || return 1
            done
        done
    done
}
split_is_verified()
{
    for device in $(devices); do
        for variant in unfused fused replay native; do is_verified $split $variant "$device" || return 1; done
    done
}
# A product that is fused with its bias and relu is one launch: of two layers two, or one.
fused()
{
    all result | grep '"variant":"fused"' > "$work/fused" && ! grep -v '"launches":[12],' "$work/fused"
}
# 20 and 80 percentiles are on either side of the median, of each time that was measured.
spread()
{
    for time in wall_us gpu_us cold_us sustained_us enqueue_us; do
        all result | grep -v "\"$time\":null" |
            sed "s/.*\"$time\":\([^,]*\),\"${time}_20\":\([^,]*\),\"${time}_80\":\([^,]*\),.*/\2 \1 \3/" > "$work/spread"
        awk 'NF != 3 || !($1 + 0 > 0 && $1 + 0 <= $2 + 0 && $2 + 0 <= $3 + 0) { exit 1 }' "$work/spread" || return 1
    done
    all result | grep -q '"enqueue_us_80":[0-9]'
}
left_out() # variant, problem, reason
{
    all skipped | grep "\"case\":\"$2\",\"variant\":\"$1\"" > "$work/left" && ! grep -v "$3" "$work/left"
}
vendor_is_there_or_said_to_be_missing()
{
    for problem in $problems; do
        test "$(grep -c "\"case\":\"$problem\",\"variant\":\"vendor\"" "$work/figures")" = \
            "$(devices | grep -c .)" || return 1
    done
}
is_reported()
{
    "$bench" --report "$work/page" "$work/figures" &&
        grep "dense:L2:H48:B3:bf16 strassen2: the plan says" "$work/page/index.html"
}
# The corners of what the suite is of.
listed()
{
    "$bench" --list > "$work/list" || return 1
    for problem in dense:L1:H32:B1 dense:L8:H32:B1 dense:L1:H8192:B8192 dense:L8:H8192:B1 dense:L8:H8192:B8192 \
        dense:L8:H8192:B8192:f16; do
        grep -qx "$problem" "$work/list" || return 1
    done
}
refused()
{
    for type in f17 f16:f32x3; do
        LFUSE_WISDOM=$work/wisdom "$bench" --tune --case dense:L2:H48:B5:$type > "$work/said" 2>&1 && return 1
        grep 'expected dense:L' "$work/said" || return 1
    done
}

ok "the suite has the smallest and the largest networks" listed
if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "dense networks of narrow types" "no device"
else
    ok "all that is run is right" runs
    ok "unfused, fused, replay, native and strassen1 are verified" verified
    ok "what may be split is verified" split_is_verified
    ok "fused is one launch a layer at most" fused
    ok "two levels of three rows are declined by the plan" left_out strassen2 dense:L2:H48:B3:bf16 "too few rows"
    ok "the vendor's is there, or left out" vendor_is_there_or_said_to_be_missing
    ok "a report has what is left out" is_reported
    ok "times come with their spread" spread
    ok "an unknown type is refused" refused
fi
done_testing
