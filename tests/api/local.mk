# SPDX-License-Identifier: Apache-2.0
api_tests = tests/api/check_bad_graphs tests/api/check_bad_input tests/api/check_bad_products \
	tests/api/check_messages
check_PROGRAMS += $(api_tests)
TESTS += $(api_tests)
tests_api_check_bad_graphs_SOURCES = %reldir%/check_bad_graphs.c %reldir%/rig.h
tests_api_check_bad_graphs_LDADD = tests/stub/libstub.la $(LDADD)
tests_api_check_bad_input_SOURCES = %reldir%/check_bad_input.c %reldir%/rig.h
tests_api_check_bad_input_LDADD = tests/stub/libstub.la $(LDADD)
tests_api_check_bad_products_SOURCES = %reldir%/check_bad_products.c %reldir%/rig.h
tests_api_check_bad_products_LDADD = tests/stub/libstub.la $(LDADD)
tests_api_check_messages_SOURCES = %reldir%/check_messages.c %reldir%/rig.h
tests_api_check_messages_LDADD = tests/stub/libstub.la $(LDADD)
