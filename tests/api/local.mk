# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/api/check_bad_input
TESTS += tests/api/check_bad_input
tests_api_check_bad_input_SOURCES = %reldir%/check_bad_input.c
tests_api_check_bad_input_LDADD = tests/stub/libstub.la $(LDADD)
