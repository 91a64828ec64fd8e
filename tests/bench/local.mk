# SPDX-License-Identifier: Apache-2.0
bench_tests = %reldir%/check_sample
check_PROGRAMS += $(bench_tests)
TESTS += $(bench_tests)
tests_bench_check_sample_SOURCES = %reldir%/check_sample.c
tests_bench_check_sample_LDADD = bench/liboracle.la $(TEST_LIBS)
TESTS += %reldir%/peers.sh
EXTRA_DIST += %reldir%/peers.sh
