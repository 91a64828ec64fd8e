#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list of mutants does not rot: what it names is there, and every patch still fits the sources, one line each.
. "$top_srcdir/tests/tree/tap.sh"
here=$top_srcdir/tests/mutants

names() { sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' "$here/list"; }
patched() { sed -n 's,^+++ b/,,p' "$here/$1.patch"; }

listed()
{
    names | sort >"$work/names"
    (cd "$here" && ls ./*.patch) | sed 's,^\./,,; s,\.patch$,,' | sort | diff "$work/names" -
}
programs()
{
    sed -n 's/^[a-z][a-z0-9-]*: *//p' "$here/list" | tr ' ' '\n' | sed 's/@.*//' | sort -u | while read -r program; do
        test -e "$top_srcdir/$program.c" || echo "$program"
    done | { ! grep .; }
}
# At most one line goes, and at most one comes.
small()
{
    for patch in "$here"/*.patch; do
        awk '/^-/ && !/^--- / { less++ } /^\+/ && !/^\+\+\+ / { more++ }
            END { exit less > 1 || more > 1 || !(less + more) }' "$patch" || echo "$patch"
    done | { ! grep .; }
}
# Every folder of the library has some.
covered()
{
    (cd "$top_srcdir" && ls -d common/*/ backends/*/) | while read -r folder; do
        grep -q "^+++ b/$folder" "$here"/*.patch || echo "$folder"
    done | { ! grep .; }
}
# In a copy, since the sources may be read-only; without fuzz, as the runner applies them.
fits()
{
    names | while read -r name; do
        file=$(patched "$name")
        rm -rf "$work/copy"
        mkdir -p "$work/copy/$(dirname "$file")"
        cp "$top_srcdir/$file" "$work/copy/$file" && chmod u+w "$work/copy/$file"
        patch -d "$work/copy" -p1 -s -f -F0 -r - <"$here/$name.patch" >/dev/null 2>&1 ||
            echo "$name no longer fits $file: write it anew for what stands there now, or take it off the list"
    done | { ! grep .; }
}

ok "every patch is in the list, and every mutant of the list has a patch" listed
ok "the programs of the list exist" programs
ok "a mutant is one line" small
ok "every folder of common/ and backends/ has mutants" covered
if command -v patch >/dev/null; then
    ok "every patch fits" fits
else
    skip "every patch fits" "no patch"
fi
done_testing
