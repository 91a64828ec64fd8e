#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C programs of README.md are complete, at most 40 lines long, and do what it says, each compiled by README's own
# line behind it against this build.
. "$top_srcdir/tests/tree/tap.sh"

# The n-th program becomes n.c, the line that compiles it n.line, and what it prints n.prints.
awk -v work="$work" '
    /^```c$/ { inside = 1; n++; next }
    /^```$/ { inside = 0 }
    inside { print > (work "/" n ".c") }
    /^ *cc [a-z]*\.c .*pkg-config/ { sub(/^ */, ""); print > (work "/" n ".line") }
    /^prints: `.*`$/ { gsub(/^prints: `|`$/, ""); print > (work "/" n ".prints") }
    END { print n > (work "/count") }' "$top_srcdir/README.md"
PKG_CONFIG_PATH=$top_builddir
LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

two() { echo "$(cat "$work/count") programs" && test "$(cat "$work/count")" -eq 2; }
short() { lines=$(wc -l <"$work/$n.c") && echo "$lines lines" && test "$lines" -gt 10 && test "$lines" -le 40; }
compiles()
{
    echo "$line"
    test -n "$line" || return 1
    cp "$work/$n.c" "$work/$name.c"
    command=$(printf '%s\n' "$line" | sed "s|^cc|$CC $CFLAGS -Wall -Wextra -Werror|; s|pkg-config|$PKG_CONFIG|")
    (cd "$work" && eval "$command")
}
runs() { (cd "$work" && "./$name" >out 2>&1); status=$?; cat "$work/out"; return $status; }
prints() { cat "$work/out"; grep -qxFf "$work/$n.prints" "$work/out"; }

ok "README has two programs" two
for n in 1 2; do
    line=$(cat "$work/$n.line" 2>/dev/null)
    name=$(printf '%s\n' "$line" | sed 's/^cc \([a-z]*\)\.c.*/\1/')
    ok "program $n has at most 40 lines" short
    if ! shared; then
        skip "README's line compiles program $n" "no shared library was built"
        continue
    fi
    ok "README's line compiles program $n" compiles
    if test -x "$work/$name" && ! runs >/dev/null && grep -q "no device" "$work/out"; then
        skip "program $n runs" "no device"
    else
        ok "program $n runs" runs
        ok "program $n prints what README says" prints
    fi
done
done_testing
