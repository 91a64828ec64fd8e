# SPDX-License-Identifier: Apache-2.0
base_tests = \
	tests/base/check_costs \
	tests/base/check_env tests/base/check_error tests/base/check_hash tests/base/check_json \
	tests/base/check_library tests/base/check_log \
	tests/base/check_real tests/base/check_strbuf
check_PROGRAMS += $(base_tests)
TESTS += $(base_tests)
tests_base_check_costs_SOURCES = %reldir%/check_costs.c
tests_base_check_env_SOURCES = %reldir%/check_env.c
tests_base_check_error_SOURCES = %reldir%/check_error.c
tests_base_check_hash_SOURCES = %reldir%/check_hash.c
tests_base_check_json_SOURCES = %reldir%/check_json.c
tests_base_check_library_SOURCES = %reldir%/check_library.c
tests_base_check_log_SOURCES = %reldir%/check_log.c
tests_base_check_real_SOURCES = %reldir%/check_real.c
tests_base_check_strbuf_SOURCES = %reldir%/check_strbuf.c

check_PROGRAMS += tests/base/check_arena
TESTS += tests/base/check_arena
tests_base_check_arena_SOURCES = %reldir%/check_arena.c

check_PROGRAMS += tests/base/check_half
TESTS += tests/base/check_half
tests_base_check_half_SOURCES = %reldir%/check_half.c

check_PROGRAMS += tests/base/check_power
TESTS += tests/base/check_power
tests_base_check_power_SOURCES = %reldir%/check_power.c

check_PROGRAMS += tests/base/check_file
TESTS += tests/base/check_file
tests_base_check_file_SOURCES = %reldir%/check_file.c
