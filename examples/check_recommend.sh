#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recommendation examples on every device. In recommend, fused and unfused results must agree with the host. In
# learn, the loss on the held-out rows must come as near to the least one as a good fit does, and the epochs must lead
# there: from the first losses, which are worse than knowing only the mean, down.
set -u
. "$top_srcdir/tests/tree/pocl.sh"
without_optimisation # as users have it runs check_digits.sh
table=$("$top_builddir/examples/recommend/recommend" 2>&1)
status=$?
printf '%s\n' "$table" | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - recommend # SKIP no device"
    echo 1..1
    exit
fi
learned=$("$top_builddir/examples/recommend/learn" 2>&1)
printf '%s\n' "$learned" | sed 's/^/# /'
rows=$(printf '%s\n' "$table" | sed 1,2d)
printf '%s\n' "$rows" | awk '
    { good = $NF == "ok" && 10 * $2 < $4; print (good ? "ok " : "not ok ") NR " - recommend on " $1 }'
printf '%s\n' "$learned" | awk -v n="$(printf '%s\n' "$rows" | wc -l)" '
    NR == 1 { mean = $NF; next }
    NR == 2 { next }
    NF == 3 && $2 == 0 { falls = $3 > mean; last = $3; next }
    NF == 3 { falls = falls && ($2 > 3 || $3 < last); last = $3; next }
    / above the least loss, / {
        print ($NF == "ok" ? "ok " : "not ok ") ++n " - learn comes near the least loss on " $1
        print (falls && last < mean ? "ok " : "not ok ") ++n " - losses of learn fall on " $1
        seen++
        next
    }
    { print "not ok " ++n " - " $0 }
    END { if (!seen) print "not ok " ++n " - learn told of no device"; print "1.." n }'
