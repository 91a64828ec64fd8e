# SPDX-License-Identifier: Apache-2.0
# How PoCL compiles for shell tests; sourced.

# As test_without_optimisation: a script whose time is that of PoCL's compiler, and not that of its kernels, asks for it.
without_optimisation()
{
    test -n "${LFUSE_TEST_ALL-}" || export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
}
