#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source names its licence, keeps to 120 columns, and no include goes against the direction of dependency.
. "$top_srcdir/tests/tree/tap.sh"
cd "$top_srcdir" || exit 1

folders="include common backends tests bench examples"
sources() { find $folders -name '*.[chk]' -o -name '*.m4' -o -name '*.mk' -o -name '*.sh' -o -name '*.awk'; }
licensed()
{
    sources | grep -v '\.k\.h$' | while read -r file; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"
    done | { ! grep .; }
}
narrow()
{
    sources | grep -E '\.([chk]|mk|m4)$' | while read -r file; do
        LC_ALL=C.UTF-8 awk -v file="$file" 'length > 120 { print file ":" NR }' "$file"
    done | { ! grep .; }
}
# No file of the first folder includes one of the others.
independent() # folder, expression of folders
{
    find "$1" -name '*.[ch]' -exec grep -nE "#include \"($2)/" {} + | { ! grep .; }
}

# Names from outside may be those of pipes and devices: common/base/file.c alone opens files.
opened_in_one_place()
{
    grep -rnE '(^|[^[:alnum:]_>.])(open|openat|creat|fopen|freopen|opendir)\(' common backends --include='*.[ch]' |
        grep -vE '^common/base/file\.c:|:[0-9]+: \*' | { ! grep .; }
}

# What two branches changed is put together by hand, and nothing is left of the marks.
merged()
{
    grep -rnE '^(<<<<<<<|=======|>>>>>>>)( |$)' $folders cmake man m4 Makefile.am configure.ac NEWS ./*.md | { ! grep .; }
}

ok "every source has its SPDX line" licensed
ok "no line is longer than 120 columns" narrow
ok "no mark of a merge is left" merged
ok "base uses nothing" independent common/base 'common/(graph|plan|kernels|matmul|device|tune|run|optim|api)|backends'
ok "graph uses base alone" independent common/graph 'common/(plan|kernels|matmul|device|tune|run|optim|api)|backends'
ok "plan does not reach down" independent common/plan 'common/(matmul|device|tune|run|optim|api)|backends'
ok "kernels do not reach down" independent common/kernels 'common/(matmul|device|tune|run|optim|api)|backends'
ok "matmul does not reach down" independent common/matmul 'common/(device|tune|run|optim|api)|backends'
ok "device knows no graph" independent common/device 'common/(graph|plan|kernels|matmul|tune|run|optim|api)|backends'
ok "tune knows no graph" independent common/tune 'common/(graph|plan|kernels|matmul|run|optim|api)|backends'
ok "run does not know its callers" independent common/run 'common/(optim|api)|backends'
above='' # the folders of run, in the order of calls.sh
for part in record launch instantiate lists operations bind compile tensors; do
    test -z "$above" || ok "run: $part does not know what is above" independent "common/run/$part" "common/run/($above)"
    above=$above${above:+|}$part
done
ok "optimizers are made of graphs and runs" independent common/optim 'common/(plan|kernels|matmul|api)|backends'
ok "api does not know the backends" independent common/api 'backends'
ok "backends use the waist and base alone" independent backends 'common/(graph|plan|kernels|matmul|tune|run|optim|api)'
ok "the backends do not know each other: cuda" independent backends/cuda 'backends/opencl'
ok "the backends do not know each other: opencl" independent backends/opencl 'backends/cuda'
ok "the library does not use tests, bench or examples" independent common 'tests|bench|examples'
# Makefile.am has the compiler include it.
ok "no source includes config.h" sh -c "! grep -rn '#include \"config.h\"' common backends tests bench examples"
ok "files are opened in one place" opened_in_one_place
done_testing
