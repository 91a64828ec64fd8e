#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lfuse-bench --check-choices: the table, its JSON lines, and that a bad choice is found. Whether the library's choices
# are good is no matter here: other tests run at the same time.
. "$top_srcdir/tests/tree/tap.sh"

bench=$top_builddir/bench/lfuse-bench
info=$top_builddir/bench/lfuse-info

refused() # words that it says, arguments
{
    words=$1
    shift
    "$bench" --check-choices "$@" 2>"$work/said" >/dev/null
    test $? -eq 2 && grep "$words" "$work/said"
}
# The library's own kernels compute small products on CPUs faster than CLBlast by far, which the estimate has to take
# here. The exit status is that of the last line.
checks()
{
    status=0
    LFUSE_PROVIDER=vendor "$bench" --check-choices --quick --case gemm:96x96x96 --case gemm:8x8x8:g3 \
        --json "$work/figures" >"$work/said" || status=$?
    beyond=$(sed -n 's/.* of the best, \([0-9]*\) beyond.*/\1/p' "$work/said")
    test $status = $((beyond > 0))
}
has_times() # of a case
{
    lines=$(grep "\"type\":\"choice\",\"case\":\"$1\"" "$work/figures")
    test "$(echo "$lines" | grep -c '"estimate_us":[0-9.e+]*,"measured_us":[0-9.e+]*,')" = "$devices"
}
groups_are_skipped() { test "$(grep -c 'gemm:8x8x8:g3 *skipped: .*one launch' "$work/said")" = "$devices"; }
a_bad_choice_is_found() { grep "\"device\":\"$cpu\",\"best\":\"[a-z]*\",.*\"ok\":false" "$work/figures"; }

ok "no variant of choices" refused "has candidates of its own" --variant plan
ok "no tune of choices" refused "keeps no choice" --tune
ok "nothing to choose in a launch" refused "nothing to choose" --case launch:1
devices=$("$info" --json | grep -o '"name":"[a-z]*:[0-9:]*"' | wc -l)
cpu=$("$info" --json | grep -o '"name":"opencl:[0-9:]*"[^}]*"kind":"CPU"' | head -n 1 | sed 's/^"name":"\([^"]*\)".*/\1/')
if test "$devices" = 0; then
    skip "choices of devices" "no device"
else
    ok "the exit status says whether all choices are good" checks
    ok "times of a product" has_times 'gemm:96x96x96'
    ok "and of one with an epilogue" has_times 'gemm:96x96x96+ep'
    ok "a group has no choice" groups_are_skipped
fi
if test -z "$cpu" || ! "$info" --json | grep -q '"gemm":"CLBlast'; then
    skip "a bad choice is found" "no CPU with CLBlast"
else
    ok "a bad choice is found" a_bad_choice_is_found
fi
done_testing
