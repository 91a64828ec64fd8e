#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twenty steps of three networks on the devices of this machine: each loss is PyTorch's in double, within the bound that
# bench/peers/losses_torch.py --reference prints beside it.
. "$top_srcdir/tests/tree/tap.sh"

losses=$top_builddir/bench/losses
without_optimisation
runs()
{
    "$losses" > "$work/lines" && test -s "$work/lines"
}
# A line for each loss: network, step, loss.
losses_of() # network
{
    grep "\"network\":\"$1\"" "$work/lines" | sed 's/.*"losses":\[\(.*\)\]}/\1/' | tr ',' '\n' |
        awk -v network="$1" '{ print network, (NR - 1) % 20, $1 }'
}
# "$2" is added to each loss.
is_near() # network, number
{
    losses_of "$1" > "$work/losses" && awk -v more="$2" -v network="$1" '
        NR == FNR { if ($1 == network) { want[$2] = $3; bound[$2] = $4; n++ } next }
        { error = $3 + more - want[$2]; if (error < 0) error = -error; if (!(error <= bound[$2])) bad = 1; seen++ }
        END { exit bad || n != 20 || seen < 20 || seen % 20 }' "$top_srcdir/tests/data/losses.txt" "$work/losses"
}
is_far()
{
    ! is_near "$1" 0.00001
}
refused()
{
    ! "$losses" none > "$work/said" 2>&1 && grep "losses: none: mlp: " "$work/said"
}

ok "a device that is not there is told" refused
if "$top_builddir/bench/lfuse-info" --json | grep -q '"devices":\[\]'; then
    skip "losses of twenty steps" "no device"
else
    ok "three networks learn" runs
    for network in mlp embedding transformer; do
        ok "losses of $network are PyTorch's" is_near $network 0
        ok "losses of $network that are 0.00001 off are not" is_far $network
    done
fi
done_testing
