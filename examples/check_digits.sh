#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The digits example on every device: each must reach its accuracy and agree with the host.
set -u
table=$("$top_builddir/examples/digits/digits" --data "$top_srcdir/examples/digits" 2>&1)
status=$?
printf '%s\n' "$table" | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - digits # SKIP no device"
    echo 1..1
    exit
fi
printf '%s\n' "$table" | sed 1,2d | awk '
    { good = $NF == "ok" && $(NF - 1) == 0; print (good ? "ok " : "not ok ") NR " - digits on " $1 }
    END { print "1.." NR }'
