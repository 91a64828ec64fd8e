#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The training example on every device: each network must learn, and the losses of the first one are those that the same
# training has in double precision (NumPy and torch.optim.AdamW agree on these digits), to 1e-5. The same losses go into
# a file, which lfuse-bench draws.
set -u
. "$top_srcdir/tests/tree/pocl.sh"
without_optimisation # as users have it runs check_digits.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
lines=$work/lines.jsonl
table=$("$top_builddir/examples/train/train" --data "$top_srcdir/examples/digits" --json "$lines" 2>&1)
status=$?
printf '%s\n' "$table" | grep -v ' \([6-9]\|[12][0-9]\) *[0-9.]* *[0-9]* *[0-9.]* *[0-9]*$' | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - train # SKIP no device"
    echo 1..1
    exit
fi
# Losses of the file are those of the table, in its order; both are rounded.
sed -n 's/.*"network":"\([^"]*\)".*"epoch":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2 \3/p' "$lines" > "$work/told"
same=$(printf '%s\n' "$table" | awk 'NR > 1 && NF == 7 { print $2, $3, $4 }' | paste -d ' ' - "$work/told" | awk '
    $1 != $4 || $2 != $5 || $3 - $6 > 1e-7 || $6 - $3 > 1e-7 { other++ }
    END { print NR && !other }')
drawn=$("$top_builddir/bench/lfuse-bench" --report "$work/page" "$lines" 2>&1 &&
    grep -c '<svg ' "$work/page/index.html")
printf '%s\n' "$table" | sed 1d | awk -v same="$same" -v drawn="$drawn" '
    function near(a, b) { return a - b < 1e-5 && b - a < 1e-5 }
    BEGIN {
        split("2.30452804 0.66281840 0.33877900 0.23490178 - 0.14988217", train, " ")
        split("2.30237430 0.75048749 0.44177284 0.31474000 - 0.23573334", held, " ")
    }
    $2 == "relu" && NF == 7 && $3 <= 5 && $3 != 4 {
        good = near($4, train[$3 + 1]) && near($6, held[$3 + 1])
        print (good ? "ok " : "not ok ") ++n " - losses of epoch " $3 " on " $1
    }
    / held-out images after / { print ($NF == "ok" ? "ok " : "not ok ") ++n " - " $2 " learns on " $1 }
    NF != 7 && !/ held-out images after / { print "not ok " ++n " - " $0 }
    END {
        print (same == 1 ? "ok " : "not ok ") ++n " - the losses of the file are those of the table"
        print (drawn == 2 ? "ok " : "not ok ") ++n " - a report draws those of both networks"
        if (n == 2) print "not ok " ++n " - the example printed nothing"
        print "1.." n
    }'
