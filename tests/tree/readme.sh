#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C program of README.md is complete, at most 40 lines long, and does what it says, compiled by README's own line
# against this build.
. "$top_srcdir/tests/tree/tap.sh"

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$top_srcdir/README.md" >"$work/first.c"
line=$(sed -n 's/^ *\(cc first\.c .*pkg-config.*\)$/\1/p' "$top_srcdir/README.md" | head -n 1)
PKG_CONFIG_PATH=$top_builddir
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

short() { lines=$(wc -l <"$work/first.c") && echo "$lines lines" && test "$lines" -gt 10 && test "$lines" -le 40; }
compiles()
{
    echo "$line"
    test -n "$line" || return 1
    command=$(printf '%s\n' "$line" | sed "s|^cc|$CC $CFLAGS -Wall -Wextra -Werror|; s|pkg-config|$PKG_CONFIG|")
    (cd "$work" && eval "$command")
}
runs() { (cd "$work" && ./first >out 2>&1); status=$?; cat "$work/out"; return $status; }
prints() { cat "$work/out"; grep -qxF "$(sed -n 's/^prints: `\(.*\)`$/\1/p' "$top_srcdir/README.md")" "$work/out"; }

ok "README's program has at most 40 lines" short
if ! shared; then
    skip "README's line compiles it" "no shared library was built"
    done_testing
    exit 0
fi
ok "README's line compiles it" compiles
if test -x "$work/first" && ! runs >/dev/null && grep -q "no device" "$work/out"; then
    skip "it runs" "no device"
else
    ok "it runs" runs
    ok "it prints what README says" prints
fi
done_testing
