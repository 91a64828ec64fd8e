#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Training steps on the devices of this machine: loss, new parameters and moments of every variant are verified.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
without_optimisation
steps="train:L2:H24:B5 train:L1:H33:B3 train:digits train:transformer:D16:H2:L1:T6:B2 train:L2:H24:B7:f32x3"
layer=train:layer:H24:B5
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
    set --
    for problem in $steps $layer; do set -- "$@" --case "$problem"; done
    "$bench" --device all --quick --json "$work/figures" "$@"
}
is_verified() # problem, variant
{
    for device in $(devices); do
        all result | grep "\"case\":\"$1\",\"variant\":\"$2\",\"device\":\"$device\"" |
            grep '"scratch":[0-9].*"tol":[0-9.e-]*,.*"ok":true' || return 1
    done
}
verified()
{
    for problem in $steps; do
        for variant in unfused fused replay; do is_verified "$problem" "$variant" || return 1; done
    done
    is_verified $layer separate && is_verified $layer fused
}
is_reported()
{
    "$bench" --report "$work/page" "$work/figures" && grep "$layer, two plans" "$work/page/index.html"
}
refused()
{
    wrong="train:L17:H8:B8 train:L2:H0:B8 train:L2:H8:B8:f16 train:L2:f32x3 train:transformer:D10:H4:L1:T4:B2 train:words"
    set --
    for problem in $wrong; do set -- "$@" --case $problem; done
    "$bench" --quick "$@" > "$work/said" 2>&1 && return 1
    for problem in $wrong; do
        grep -q "FAILED: LFUSE_ERR_INVALID: $problem: expected train:" "$work/said" || return 1
    done
}

if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "training steps" "no device"
else
    ok "all that is run is right" runs
    ok "every variant is verified and tells its scratch memory" verified
    ok "a report compares one plan with two" is_reported
    ok "other problems are refused" refused
fi
done_testing
