#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The peers of lfuse-bench are Python, and their default problems are ones that lfuse-bench takes. PyTorch and JAX are
# not needed for that.
. "$top_srcdir/tests/tree/tap.sh"

compiles()
{
    PYTHONPYCACHEPREFIX=$work python3 -m py_compile "$1"
}
# Without numpy, which the module imports for more than this.
problems()
{
    sed -n '/^DEFAULT = (/,/^)/p' "$top_srcdir/bench/peers/problems.py" > "$work/default.py"
    grep -q adamw "$work/default.py" && echo 'print("\n".join(DEFAULT))' >> "$work/default.py" &&
        python3 "$work/default.py" > "$work/peers"
}
# lfuse-bench says that no suite makes a problem before it looks for a device.
known()
{
    problems && while read -r problem; do
        "$top_builddir/bench/lfuse-bench" --device none --case "$problem" 2>&1 | grep "no suite makes" && return 1
    done < "$work/peers"
    return 0
}
unknown()
{
    "$top_builddir/bench/lfuse-bench" --device none --case "nothing:1" 2>&1 | grep "no suite makes"
}

if command -v python3 >/dev/null 2>&1; then
    for file in "$top_srcdir"/bench/peers/*.py; do
        ok "$(basename "$file") compiles" compiles "$file"
    done
    ok "lfuse-bench knows the default problems of the peers" known
    ok "and tells one that it does not know" unknown
else
    skip "the peers compile" "no python3"
fi
done_testing
