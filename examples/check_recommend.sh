#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recommendation example on every device: fused and unfused results must agree with the host.
set -u
table=$("$top_builddir/examples/recommend/recommend" 2>&1)
status=$?
printf '%s\n' "$table" | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - recommend # SKIP no device"
    echo 1..1
    exit
fi
printf '%s\n' "$table" | sed 1,2d | awk '
    { good = $NF == "ok" && 10 * $2 < $4; print (good ? "ok " : "not ok ") NR " - recommend on " $1 }
    END { print "1.." NR }'
