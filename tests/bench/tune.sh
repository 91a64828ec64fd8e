#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lfuse-bench --tune and what lfuse-info says of its file, on the devices of this machine.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
info=$top_builddir/bench/lfuse-info
tune() { LFUSE_WISDOM=$1 "$bench" --tune --case gemm:8x16x16; }

refused() # words that it says, arguments
{
    words=$1
    shift
    "$bench" "$@" 2>"$work/said" >/dev/null
    test $? -eq 2 && grep "$words" "$work/said"
}
without_a_file() { ! tune 0 >/dev/null 2>"$work/said" && grep 'no wisdom file: off (LFUSE_WISDOM=0)' "$work/said"; }
precious() { echo precious >"$work/other" && ! tune "$work/other" && test "$(cat "$work/other")" = precious; }
makes_a_file()
{
    tune "$work/wisdom" >"$work/said" && grep "choices for .* in $work/wisdom" "$work/said" &&
        test "$(head -n 1 "$work/wisdom")" = "libfuse wisdom 1" && grep '^end [0-9]* [0-9a-f]*$' "$work/wisdom"
}
measures_nothing() { cp "$work/wisdom" "$work/before" && tune "$work/wisdom" && cmp "$work/before" "$work/wisdom"; }
is_shown() { LFUSE_WISDOM=$work/wisdom "$info" | grep "^  $work/wisdom: [0-9]* choices"; }
is_shown_as_json() { LFUSE_WISDOM=$work/wisdom "$info" --json | grep "\"wisdom\":{\"file\":\"$work/wisdom\",\"choices\":[0-9]"; }
damage_is_shown() { LFUSE_WISDOM=$work/other "$info" | grep "not used: wisdom $work/other holds no wisdom"; }

ok "no figures of a tune" refused "writes no figures" --tune --json "$work/figures"
ok "no variant of a tune" refused "writes no figures" --tune --variant fused
ok "nothing to tune in a launch" refused "nothing to tune" --tune --case launch:1
if "$info" --json | grep -q '"devices":\[\]'; then
    skip "the wisdom of devices" "no device"
else
    ok "without a file nothing is measured" without_a_file
    ok "a file that holds something else stays" precious
    ok "the file is made" makes_a_file
    ok "what is known is not measured again" measures_nothing
    ok "lfuse-info shows the file" is_shown
    ok "and so in JSON" is_shown_as_json
    ok "and says why one is not used" damage_is_shown
fi
done_testing
