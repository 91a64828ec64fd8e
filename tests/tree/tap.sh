# SPDX-License-Identifier: Apache-2.0
# TAP for shell tests; sourced. They run with what tests/local.mk exports: top_srcdir, top_builddir, CC and so on.
set -u
. "$top_srcdir/tests/tree/pocl.sh"
count=0

# Runs a command as one test; its output is shown when it fails.
ok() # title, command
{
    title=$1
    shift
    count=$((count + 1))
    if output=$("$@" 2>&1); then
        echo "ok $count - $title"
    else
        echo "not ok $count - $title"
        printf '%s\n' "$output" | sed 's/^/# /'
    fi
}

skip() # title, reason
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# Whether there is a shared library; a build with --disable-shared has none.
shared()
{
    grep -q '^build_libtool_libs=yes' "$top_builddir/libtool"
}

done_testing()
{
    echo "1..$count"
}

# A folder of the test's own, removed at its end.
work=$(mktemp -d "$top_builddir/tests/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
