#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example over another library's buffers, on each backend that has a device.
set -u
table=$("$top_builddir/examples/borrowed/borrowed" 2>&1)
status=$?
printf '%s\n' "$table" | sed 's/^/# /'
if [ $status -ne 0 ] && printf '%s\n' "$table" | grep -q '^no device'; then
    echo "ok 1 - borrowed # SKIP no device"
    echo 1..1
    exit
fi
printf '%s\n' "$table" | awk '
    { print ($NF == "ok" ? "ok " : "not ok ") NR " - borrowed from " $1 }
    END { print "1.." NR }'
