# SPDX-License-Identifier: Apache-2.0
oracle_tests = %reldir%/check_data %reldir%/check_lines %reldir%/check_network %reldir%/check_nodes \
	%reldir%/check_oracle %reldir%/check_strassen %reldir%/check_sums %reldir%/check_takes
check_PROGRAMS += $(oracle_tests)
TESTS += $(oracle_tests)
tests_oracle_check_data_SOURCES = %reldir%/check_data.c
tests_oracle_check_data_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_sums_SOURCES = %reldir%/check_sums.c %reldir%/rig.h
tests_oracle_check_sums_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_oracle_SOURCES = %reldir%/check_oracle.c %reldir%/rig.h
tests_oracle_check_oracle_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_nodes_SOURCES = %reldir%/check_nodes.c %reldir%/rig.h
tests_oracle_check_nodes_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_lines_SOURCES = %reldir%/check_lines.c %reldir%/rig.h
tests_oracle_check_lines_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_network_SOURCES = %reldir%/check_network.c
tests_oracle_check_network_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_strassen_SOURCES = %reldir%/check_strassen.c
tests_oracle_check_strassen_LDADD = bench/liboracle.la $(TEST_LIBS)
tests_oracle_check_takes_SOURCES = %reldir%/check_takes.c %reldir%/rig.h
tests_oracle_check_takes_LDADD = bench/liboracle.la $(TEST_LIBS)
