#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dense networks of f16 and bf16 on the devices of this machine: every variant is verified, or left out with a reason.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
types="f16 bf16"
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
    "$bench" --device all --quick --json "$work/figures" --case dense:L2:H48:B5:f16 --case dense:L2:H48:B5:bf16
}
# Variants that every device has.
verified()
{
    for device in $(devices); do
        for type in $types; do
            for variant in unfused fused replay native; do
                all result | grep "\"case\":\"dense:L2:H48:B5:$type\",\"variant\":\"$variant\",\"device\":\"$device\"" |
                    grep '"tol":[0-9.e-]*,.*"ok":true' || return 1
            done
        done
    done
}
# A product that is fused with its bias and relu is one launch: of two layers two, or one.
fused()
{
    all result | grep '"variant":"fused"' > "$work/fused" && ! grep -v '"launches":[12],' "$work/fused"
}
left_out() # variant, reason
{
    for type in $types; do
        all skipped | grep "\"case\":\"dense:L2:H48:B5:$type\",\"variant\":\"$1\"" > "$work/left" &&
            ! grep -v "$2" "$work/left" || return 1
    done
}
vendor_is_there_or_said_to_be_missing()
{
    for type in $types; do
        test "$(grep -c "\"case\":\"dense:L2:H48:B5:$type\",\"variant\":\"vendor\"" "$work/figures")" = \
            "$(devices | grep -c .)" || return 1
    done
}
is_reported()
{
    "$bench" --report "$work/page" "$work/figures" &&
        grep "dense:L2:H48:B5:bf16 strassen2: the plan says" "$work/page/index.html"
}
refused()
{
    ! LFUSE_WISDOM=$work/wisdom "$bench" --tune --case dense:L2:H48:B5:f17 > "$work/said" 2>&1 &&
        grep 'expected dense:L' "$work/said"
}

if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "dense networks of narrow types" "no device"
else
    ok "all that is run is right" runs
    ok "unfused, fused, replay and native are verified" verified
    ok "fused is one launch a layer at most" fused
    for variant in strassen1 strassen2 auto; do
        ok "$variant is declined by the plan" left_out "$variant" "neither f32 nor f64"
    done
    ok "the vendor's is there, or left out" vendor_is_there_or_said_to_be_missing
    ok "a report has what is left out" is_reported
    ok "an unknown type is refused" refused
fi
done_testing
