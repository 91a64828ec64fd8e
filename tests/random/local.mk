# SPDX-License-Identifier: Apache-2.0
# Random graphs on every device found, and on the stub.
check_PROGRAMS += tests/random/check_random
TESTS += tests/random/check_random
tests_random_check_random_SOURCES = %reldir%/attempt.c %reldir%/attempt.h %reldir%/check_random.c \
	%reldir%/coverage.c %reldir%/coverage.h %reldir%/generate.c %reldir%/generate.h \
	%reldir%/generate_gradients.c %reldir%/generate_lists.c %reldir%/generate_pointwise.c \
	%reldir%/generate_rows.c %reldir%/generate_values.c %reldir%/generate_views.c \
	%reldir%/problem.c %reldir%/problem.h %reldir%/shrink.c
tests_random_check_random_LDADD = tests/cases/libtrial.la tests/stub/libstub.la bench/liboracle.la $(LDADD)

# The same graphs with their gradients, which need no device.
check_PROGRAMS += tests/random/check_gradients
TESTS += tests/random/check_gradients
tests_random_check_gradients_SOURCES = %reldir%/check_gradients.c %reldir%/generate.c %reldir%/generate.h \
	%reldir%/generate_gradients.c %reldir%/generate_lists.c %reldir%/generate_pointwise.c \
	%reldir%/generate_rows.c %reldir%/generate_values.c %reldir%/generate_views.c \
	%reldir%/problem.c %reldir%/problem.h
tests_random_check_gradients_LDADD = tests/tape/libtape.la tests/cases/libtrial.la bench/liboracle.la $(LDADD)
