#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A short set of kernels and calls on the first CUDA device under compute-sanitizer's memcheck: make check-memcheck.
. "$top_srcdir/tests/tree/tap.sh"

# Of every kind of kernel some: pointwise, views, rows, look-ups, joins, lists, updates, products, networks.
cases=misaligned,strided,casts,row_sum_long,few_long,softmax_100,layernorm_f16,look_up_f32,scatters_f64,split_and_stack
cases=$cases,concats,take_,select_,edges_,members_sums,lists_f32,list_,sgd,update_,product_row,product_f32,dense_relu,dense_f16,network
cases=$cases,batch_f32,grouped_f32,prologue_update,strassen_one,strassen_f16_network,sums_
cases=$cases,gradients_step,gradients_attention,gradients_embedding,gradients_lists

find_tool()
{
    for tool in compute-sanitizer "${CUDA_PATH:-/usr/local/cuda}/bin/compute-sanitizer" \
        /usr/local/cuda/bin/compute-sanitizer; do
        command -v "$tool" && return
    done
    return 1
}

# The report is in a file of its own: programs that test print TAP.
clean() # program, arguments
{
    "$tool" --tool memcheck --target-processes all --report-api-errors no --error-exitcode 99 \
        --log-file "$work/report" "$@" >"$work/said" 2>&1
    status=$?
    grep -v '^ok' "$work/said"
    cat "$work/report"
    test $status = 0 && ! grep -q '^not ok' "$work/said" && grep -q 'ERROR SUMMARY: 0 errors' "$work/report" &&
        ! grep 'ERROR SUMMARY' "$work/report" | grep -qv ' 0 errors'
}
all_cases() { LFUSE_TEST_DEVICE=cuda:0 LFUSE_TEST_CASE=$cases clean "$top_builddir/tests/cases/check_cases"; }
digits() { clean "$top_builddir/examples/digits/digits" --data "$top_srcdir/examples/digits" --device cuda:0; }

what="memcheck on cuda:0"
if ! tool=$(find_tool); then
    skip "$what" "no compute-sanitizer in PATH or CUDA_PATH"
elif ! "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[.*"name":"cuda:0".*"unusable"'; then
    skip "$what" "no CUDA device"
else
    ok "$what: cases" all_cases
    if test -e "$top_builddir/examples/digits/digits"; then
        ok "$what: digits" digits
    else
        skip "$what: digits" "built without zlib"
    fi
fi
done_testing
