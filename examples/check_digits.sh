#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The digits example on every device: each must reach its accuracy, agree with the host, and compile nothing for another
# batch size. Without the disk cache, in which a kernel of an earlier run would not count.
set -u
table=$(LFUSE_CACHE=0 "$top_builddir/examples/digits/digits" --data "$top_srcdir/examples/digits" 2>&1)
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
