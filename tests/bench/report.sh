#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports of the results that the tree has, through the program; and its command line.
. "$top_srcdir/tests/tree/tap.sh"
bench=$top_builddir/bench/lfuse-bench

all()
{
    "$bench" --report "$work/all" "$top_srcdir"/bench/results/*.jsonl && test -s "$work/all/index.html"
}
refused() # status, words, arguments...
{
    wanted=$1
    words=$2
    shift 2
    "$bench" "$@" > "$work/output" 2>&1
    test $? = "$wanted" && grep -F "$words" "$work/output"
}
xml()
{
    xmllint --noout --nonet "$work/all/index.html"
}

if ls "$top_srcdir"/bench/results/*.jsonl >/dev/null 2>&1; then
    ok "a report of all results" all
else
    skip "a report of all results" "this copy of the sources has none"
fi
if test -e "$work/all" && command -v xmllint >/dev/null 2>&1; then
    ok "xmllint finds nothing" xml
else
    skip "xmllint finds nothing" "no xmllint, or no report"
fi
echo '{"type":' > "$work/bad.jsonl"
ok "a truncated line is named" \
    refused 1 "bad.jsonl:1: column 9: the line ends early" --report "$work/r" "$work/bad.jsonl"
ok "so is a file that is not there" refused 1 "none.jsonl: No such file" --report "$work/r" "$work/none.jsonl"
ok "no files" refused 2 "usage" --report "$work/r"
ok "files without a report" refused 2 "usage" "$work/bad.jsonl"
ok "a report that is to measure" refused 2 "takes no other option" --report "$work/r" --quick "$work/bad.jsonl"
ok "nothing was written" test ! -e "$work/r"
done_testing
