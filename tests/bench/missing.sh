#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lfuse-bench where CLBlast is missing: what it computes is left out with the reason, all else is measured.
. "$top_srcdir/tests/tree/tap.sh"

# What stands first in the search path and is no library ends the search.
echo "no library" >"$work/libclblast.so.1"
LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

has() { grep -F "$1" "$work/said"; }
measures() # device
{
    "$top_builddir/bench/lfuse-bench" --device "$1" --quick --case dense:L2:H16:B4 --case gemm:8x16x16 \
        --json "$work/figures" >"$work/said" 2>&1 || { cat "$work/said"; false; }
}
tells_both() # variant, case
{
    grep "^  $2 *$1 *left out: .*libclblast" "$work/said" &&
        grep "\"type\":\"skipped\",\"case\":\"$2\",\"variant\":\"$1\".*libclblast" "$work/figures"
}
has_result() # variant, case
{
    grep "\"type\":\"result\",\"case\":\"$2\",\"variant\":\"$1\".*\"ok\":true" "$work/figures"
}

# A device that is neither CPU nor GPU has no products of the library's own either: they are skipped, the rest is not.
skips_products()
{
    OPENCL_LAYERS=$top_builddir/tests/layer/opencl_layer.so LFUSE_LAYER_SAYS=0:other \
        LFUSE_LAYER_COUNTS=$work/counts "$top_builddir/bench/lfuse-bench" --device opencl:0:0 --quick \
        --case gemm:8x16x16 --case pointwise:add:4096 >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
    grep '^  gemm:8x16x16 *skipped: .*libclblast' "$work/said" && grep '^  pointwise:add:4096 *fused .*ok' "$work/said"
}

device=$("$top_builddir/bench/lfuse-info" --json | sed -n 's/.*"devices":\[.*"name":"\(opencl:[0-9:]*\)".*/\1/p')
if test -z "$device"; then
    skip "lfuse-bench without CLBlast" "no OpenCL device"
else
    ok "lfuse-bench succeeds on $device" measures "$device"
    ok "none is wrong" has " 0 wrong"
    ok "a network without the vendor's" tells_both vendor dense:L2:H16:B4
    ok "a product without the vendor's" tells_both vendor gemm:8x16x16
    ok "nor a plan that asks for it" tells_both vendor-plan gemm:8x16x16
    ok "the network is measured" has_result fused dense:L2:H16:B4
    ok "so is the product" has_result plan gemm:8x16x16
    ok "a page is made of it" "$top_builddir/bench/lfuse-bench" --report "$work/page" "$work/figures"
    ok "which tells the reason" grep -q "dense:L2:H16:B4 vendor: .*libclblast" "$work/page/index.html"
fi
OPENCL_LAYERS=$top_builddir/tests/layer/opencl_layer.so LFUSE_LAYER_COUNTS=$work/counts \
    "$top_builddir/bench/lfuse-info" --json >"$work/info"
if test -s "$work/counts" && grep -q '"name":"opencl:0:0","backend":"opencl","product":"[^"]*","kind":"CPU"' "$work/info"
then
    ok "a device without any product" skips_products
else
    skip "a device without any product" "no CPU opencl:0:0 behind the test layer"
fi
done_testing
