#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of ./bootstrap demo, of one device, of three, of twenty, and of some where something is wrong.
. "$top_srcdir/tests/tree/tap.sh"

kinds="launch:1 launch:8 pointwise:add:64 pointwise:exp:64 gemm:8x8x8 gemm:9x9x9 gemm:7x7x7 dense:L8:H128:B64 stack:1
    rows:softmax:1 embed:1 foreach:add:1 adamw:1 sgd:1 lamb:1 clip+adamw:1"

line() # device, problem, variant, microseconds, ok
{
    printf '{"type":"result","case":"%s","variant":"%s","device":"%s","backend":"x","wall_us":%s,"gpu_us":null,' \
        "$2" "$3" "$1" "$4"
    printf '"launches":1,"ok":%s}\n' "$5"
}
figures() # devices
{
    for device in "$@"; do
        echo "{\"type\":\"machine\",\"device\":\"$device\"}"
        for problem in $kinds; do
            line "$device" "$problem" fused 10 true
            line "$device" "$problem" unfused 25 true
        done
        line "$device" dense:L8:H128:B64 vendor 12 true
        echo "{\"type\":\"skipped\",\"case\":\"gemm:1x1x1\",\"device\":\"$device\",\"reason\":\"too large\"}"
    done
}
table() { awk -f "$top_srcdir/bench/table.awk" "$work/figures" >"$work/table"; }
lines() { test "$(grep -c . "$work/table")" "$@"; }
has() { grep -qE "$1" "$work/table"; }
narrow() { ! grep '.\{121\}' "$work/table"; }

of_one()
{
    figures opencl:0:0 >"$work/figures" && table && lines -eq 16 && narrow &&
        has '^opencl:0:0 +dense:L8:H128:B64 +fused 10.0  unfused 25.0  vendor 12.0  verified$' && ! has gemm:7x7x7
}
of_three()
{
    figures cuda:0 opencl:0:0 opencl:1:0 >"$work/figures" && table && lines -eq 14 && narrow &&
        has '^us for one run +cuda:0 +opencl:0:0 +opencl:1:0$' &&
        has '^dense:L8:H128:B64 +fused and x of unfused( +10.0  2.50x){3}$' && ! has 'launch:8' &&
        has '^99 results on 3 devices, 0 wrong$'
}
wrong_of_three()
{
    { figures cuda:0 opencl:0:0 opencl:1:0; line opencl:1:0 gemm:7x7x7 native null false; } >"$work/figures"
    table && lines -eq 15 && has '^gemm:7x7x7 .*( +10.0  2.50x){2} +WRONG$' && has '^100 results on 3 devices, 1 wrong$'
}
of_twenty()
{
    devices=$(seq -f cuda:%g 0 19)
    # shellcheck disable=SC2086 # a list of words
    { figures $devices; line cuda:17 sgd:1 table null false; } >"$work/figures"
    table && lines -eq 16 && narrow && has '^cuda:17 WRONG: sgd:1$' && has '^and 16 more devices'
}
wrong_of_one()
{
    { figures cuda:0; line cuda:0 gemm:7x7x7 native null false; } >"$work/figures"
    table && lines -eq 17 && has '^cuda:0 +gemm:7x7x7 +fused 10.0  unfused 25.0  native -  WRONG$'
}
of_none() { : >"$work/figures" && table && ! test -s "$work/table"; }

ok "one device" of_one
ok "one device with something wrong" wrong_of_one
ok "three devices" of_three
ok "three devices, something wrong on one" wrong_of_three
ok "twenty devices" of_twenty
ok "no device" of_none
done_testing
