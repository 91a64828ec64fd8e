#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lfuse-info of devices that cannot be used: answers changed by the layer of tests/layer.
. "$top_srcdir/tests/tree/tap.sh"

info() { "$top_builddir/bench/lfuse-info" "$@"; }
flawed() # number and flaw, arguments
{
    flaw=$1
    shift
    OPENCL_LAYERS=$top_builddir/tests/layer/opencl_layer.so LFUSE_LAYER_SAYS=$flaw info "$@"
}
shows() # flaw, words
{
    flawed "0:$1" >"$work/text" && flawed "0:$1" --json >"$work/json" || return 1
    sed -n '/^devices that cannot be used/,/^$/p' "$work/text" | grep "^    why not  *.*$2" || return 1
    grep "\"unusable\":\[{\"name\":\"opencl:0:0\",.*\"reason\":\"[^\"]*$2" "$work/json" || return 1
    ! sed 's/.*"devices":\[//; s/\],"unusable".*//' "$work/json" | grep '"name":"opencl:0:0"'
}
all_fit() { ! info | grep "cannot be used" && info --json | grep '"unusable":\[\]'; }

# Some loaders know no layers.
LFUSE_LAYER_COUNTS=$work/counts flawed 9:none >/dev/null
if test -s "$work/counts" && info --json | grep -q '"name":"opencl:0:0"'; then
    ok "a device that is not available" shows available "not available"
    ok "a device without a compiler" shows compiler "no compiler"
    ok "a device of OpenCL 1.1" shows version "OpenCL 1.2 is needed"
    ok "without a flaw there is none" all_fit
else
    skip "devices that cannot be used" "no OpenCL device opencl:0:0 behind the test layer"
fi
done_testing
