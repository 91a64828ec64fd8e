# SPDX-License-Identifier: Apache-2.0
matmul_tests = tests/matmul/check_estimates tests/matmul/check_grouped tests/matmul/check_launches \
	tests/matmul/check_mlp tests/matmul/check_provider tests/matmul/check_rows \
	tests/matmul/check_strassen tests/matmul/check_strassen_cost tests/matmul/check_tile_cost tests/matmul/check_tiles
check_PROGRAMS += $(matmul_tests)
TESTS += $(matmul_tests)

tests_matmul_check_estimates_SOURCES = %reldir%/check_estimates.c %reldir%/classes.h $(kernel_cases)
tests_matmul_check_estimates_LDADD = $(LDADD) -lm
tests_matmul_check_grouped_SOURCES = %reldir%/check_grouped.c %reldir%/classes.h $(kernel_cases)
tests_matmul_check_grouped_LDADD = $(LDADD) -lm
tests_matmul_check_launches_SOURCES = %reldir%/check_launches.c %reldir%/classes.h $(kernel_cases)
tests_matmul_check_launches_LDADD = $(LDADD) -lm
tests_matmul_check_mlp_SOURCES = %reldir%/check_mlp.c tests/kernels/classes.c tests/kernels/classes.h \
	tests/kernels/networks.c tests/kernels/networks.h
tests_matmul_check_provider_SOURCES = %reldir%/check_provider.c tests/plan/rig.c tests/plan/rig.h
tests_matmul_check_rows_SOURCES = %reldir%/check_rows.c %reldir%/classes.h tests/kernels/classes.c \
	tests/kernels/classes.h
tests_matmul_check_strassen_SOURCES = %reldir%/check_strassen.c $(kernel_cases)
tests_matmul_check_strassen_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_matmul_check_strassen_cost_SOURCES = %reldir%/check_strassen_cost.c tests/plan/rig.c tests/plan/rig.h
tests_matmul_check_tile_cost_SOURCES = %reldir%/check_tile_cost.c %reldir%/classes.h $(kernel_cases)
tests_matmul_check_tile_cost_LDADD = $(LDADD) -lm
tests_matmul_check_tiles_SOURCES = %reldir%/check_tiles.c %reldir%/classes.h $(kernel_cases)
tests_matmul_check_tiles_LDADD = $(LDADD) -lm
