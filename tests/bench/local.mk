# SPDX-License-Identifier: Apache-2.0
bench_tests = %reldir%/check_openblas %reldir%/check_page %reldir%/check_reader %reldir%/check_sample \
	%reldir%/check_step %reldir%/check_sustained %reldir%/check_timer
check_PROGRAMS += $(bench_tests)
TESTS += $(bench_tests)
tests_bench_check_openblas_SOURCES = %reldir%/check_openblas.c bench/openblas.c bench/openblas.h
tests_bench_check_page_SOURCES = %reldir%/check_page.c %reldir%/xml.c %reldir%/xml.h
tests_bench_check_page_LDADD = bench/libpage.la $(TEST_LIBS)
tests_bench_check_reader_SOURCES = %reldir%/check_reader.c
tests_bench_check_reader_LDADD = bench/libpage.la $(TEST_LIBS)
tests_bench_check_sample_SOURCES = %reldir%/check_sample.c
tests_bench_check_sample_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_bench_check_step_SOURCES = %reldir%/check_step.c bench/step_block.c bench/step_block.h bench/step_chain.c \
	bench/step_product.c bench/step_product.h bench/step_truth.c bench/step_truth.h
tests_bench_check_step_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_bench_check_sustained_SOURCES = %reldir%/check_sustained.c bench/sustained.c
tests_bench_check_sustained_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm
tests_bench_check_timer_SOURCES = %reldir%/check_timer.c bench/timer.c bench/timer.h
bench_scripts = %reldir%/choices.sh %reldir%/dense.sh %reldir%/first.sh %reldir%/gemm.sh %reldir%/losses.sh \
	%reldir%/missing.sh %reldir%/peers.sh %reldir%/report.sh \
	%reldir%/table.sh %reldir%/train.sh %reldir%/tune.sh %reldir%/unfit.sh
TESTS += $(bench_scripts)
EXTRA_DIST += $(bench_scripts) tests/data/losses.txt
