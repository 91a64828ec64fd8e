# SPDX-License-Identifier: Apache-2.0
# One suite of cases over every device found, and over the stub.
check_LTLIBRARIES += tests/cases/libtrial.la
tests_cases_libtrial_la_SOURCES = %reldir%/harness.h %reldir%/trial.c %reldir%/trial.h
check_PROGRAMS += tests/cases/check_cases
TESTS += tests/cases/check_cases
tests_cases_check_cases_SOURCES = %reldir%/check_cases.c %reldir%/cases.c %reldir%/cases.h \
	%reldir%/cases_batches.c %reldir%/cases_gradients.c %reldir%/cases_grouped.c %reldir%/cases_joins.c \
	%reldir%/cases_lines.c \
	%reldir%/cases_losses.c \
	%reldir%/cases_members.c %reldir%/cases_products.c %reldir%/cases_prologues.c %reldir%/cases_rows.c \
	%reldir%/cases_scans.c \
	%reldir%/cases_strassen.c %reldir%/cases_sums.c %reldir%/cases_takes.c %reldir%/cases_views.c %reldir%/harness.c
tests_cases_check_cases_LDADD = tests/cases/libtrial.la tests/stub/libstub.la bench/liboracle.la $(LDADD)

# More than 2^31 elements.
check_PROGRAMS += tests/cases/check_large
TESTS += tests/cases/check_large
tests_cases_check_large_SOURCES = %reldir%/check_large.c
tests_cases_check_large_LDADD = tests/stub/libstub.la $(LDADD)

# What is promised beside right numbers.
check_PROGRAMS += tests/cases/check_spine
TESTS += tests/cases/check_spine
tests_cases_check_spine_SOURCES = %reldir%/check_spine.c
tests_cases_check_spine_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD)

# Lists by each transport.
check_PROGRAMS += tests/cases/check_transports
TESTS += tests/cases/check_transports
tests_cases_check_transports_SOURCES = %reldir%/check_transports.c
tests_cases_check_transports_LDADD = $(LDADD) -lm

# Division, root and fma of what is hard to round.
check_PROGRAMS += tests/cases/check_rounding
TESTS += tests/cases/check_rounding
tests_cases_check_rounding_SOURCES = %reldir%/check_rounding.c
tests_cases_check_rounding_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm

# Every number of 8 bits, and every middle between two.
check_PROGRAMS += tests/cases/check_conversions
TESTS += tests/cases/check_conversions
tests_cases_check_conversions_SOURCES = %reldir%/check_conversions.c
tests_cases_check_conversions_LDADD = tests/stub/libstub.la $(LDADD) -lm
