#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls obey the order of the folders as includes do (sources.sh): what an object needs is defined in its own folder or
# in one that it may include. The public headers declare functions of several folders, so includes alone do not show it.
. "$top_srcdir/tests/tree/tap.sh"

# "name folder" of what the objects of a folder define, and of what they need.
symbols() # folder, nm's option
{
    # shellcheck disable=SC2086 # NM may have options
    find "$top_builddir/$1" -name '*.o' -exec $NM -g "$2" {} + 2>/dev/null |
        awk -v folder="$1" 'NF > 1 && $NF ~ /^lfuse_/ { print $NF, folder }' | sort -u
}
folders=$(cd "$top_srcdir" && ls -d common/*/ backends/cuda/ backends/opencl/ | sed 's,/$,,')
for folder in $folders; do
    symbols "$folder" --defined-only
done | sort >"$work/defined"
for folder in $folders; do
    symbols "$folder" --undefined-only >"$work/needed-$(basename "$folder")"
done

something() { test "$(wc -l <"$work/defined")" -gt 500; }
# The objects of the first folder need nothing that the folders of an expression define.
calls_none() # folder, expression of folders
{
    join "$work/needed-$(basename "$1")" "$work/defined" | awk -v others="^($2)$" '$3 ~ others' | { ! grep .; }
}

ok "the library's objects define something" something
ok "base calls nothing" calls_none common/base 'common/(graph|plan|kernels|matmul|device|tune|run|optim|api)|backends/.*'
ok "graph calls base alone" calls_none common/graph 'common/(plan|kernels|matmul|device|tune|run|optim|api)|backends/.*'
ok "plan does not call down" calls_none common/plan 'common/(matmul|device|tune|run|optim|api)|backends/.*'
# Families of products are defined there: families.def lists them.
grep -vE '^lfuse__family_[a-z_]* ' "$work/needed-kernels" >"$work/needed-own" && mv "$work/needed-own" "$work/needed-kernels"
ok "kernels do not call down" calls_none common/kernels 'common/(matmul|device|tune|run|optim|api)|backends/.*'
ok "matmul does not call down" calls_none common/matmul 'common/(device|tune|run|optim|api)|backends/.*'
ok "device calls no graph" calls_none common/device 'common/(graph|plan|kernels|matmul|tune|run|optim|api)|backends/.*'
ok "tune calls no graph" calls_none common/tune 'common/(graph|plan|kernels|matmul|run|optim|api)|backends/.*'
ok "run does not call its callers" calls_none common/run 'common/(optim|api)|backends/.*'
ok "optimizers call graphs and runs" calls_none common/optim 'common/(plan|kernels|matmul|api)|backends/.*'
callers='common/(graph|plan|kernels|matmul|tune|run|optim|api)'
ok "backends call the waist and base alone: cuda" calls_none backends/cuda "$callers|backends/opencl"
ok "backends call the waist and base alone: opencl" calls_none backends/opencl "$callers|backends/cuda"

# What is below first; the files beside these folders are above them all.
order="tensors compile bind operations lists instantiate launch record"
for part in $order; do symbols "common/run/$part" --defined-only; done | sort >"$work/defined-parts"
{
    awk '$2 == "common/run"' "$work/defined" | join -v 1 - "$work/defined-parts"
    cat "$work/defined-parts"
} | sort >"$work/defined-run"
# What the objects of a part need is defined in none of those above it.
calls_none_above() # part, expression of parts
{
    symbols "common/run/$1" --undefined-only >"$work/needed-part"
    test -s "$work/needed-part" || return 1
    join "$work/needed-part" "$work/defined-run" | awk -v above="^common/run(/($2))?\$" '$3 ~ above' | { ! grep .; }
}
listed() { (cd "$top_srcdir/common/run" && ls -d */) | sed 's,/$,,' | sort | diff - "$work/order"; }

printf '%s\n' $order | sort >"$work/order"
ok "every folder of run has its place" listed
above=$order
for part in $order; do
    above=${above#"$part"}
    above=${above# }
    ok "run: calls of $part do not go up" calls_none_above "$part" "$(echo "${above:-none}" | tr ' ' '|')"
done
done_testing
