#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The training example on every device: each network must learn, and the losses of the first one are those that the same
# training has in double precision (NumPy and torch.optim.AdamW agree on these digits), to 1e-5.
set -u
table=$("$top_builddir/examples/train/train" --data "$top_srcdir/examples/digits" 2>&1)
status=$?
printf '%s\n' "$table" | grep -v ' \([6-9]\|[12][0-9]\) *[0-9.]* *[0-9]* *[0-9.]* *[0-9]*$' | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - train # SKIP no device"
    echo 1..1
    exit
fi
printf '%s\n' "$table" | sed 1d | awk '
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
    END { if (!n) print "not ok " ++n " - the example printed nothing"; print "1.." n }'
