#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The manual pages are clean, and lfuse(7) names every environment variable that the library reads.
. "$top_srcdir/tests/tree/tap.sh"

for page in "$top_srcdir"/man/*.[1-9]; do
    if test -n "$MANDOC"; then
        ok "$(basename "$page")" $MANDOC -Tlint -Wwarning "$page"
    else
        skip "$(basename "$page")" "no mandoc"
    fi
done
for name in $(sed -n 's/^ *X(\([A-Z_]*\), [01], ".*/LFUSE_\1/p' "$top_srcdir/common/base/env.c"); do
    ok "lfuse(7) describes $name" grep -q "$name" "$top_srcdir/man/lfuse.7"
done
done_testing
