# SPDX-License-Identifier: Apache-2.0
# What is measured, and wisdom: lines, files, devices that know some.
tune_tests = \
	tests/tune/check_candidates tests/tune/check_tuner tests/tune/check_wisdom tests/tune/check_wisdom_file \
	tests/tune/check_wisdom_lines tests/tune/check_wisdom_place
check_PROGRAMS += $(tune_tests)
TESTS += $(tune_tests)
wisdom_rig = tests/run/rig.c tests/run/rig.h %reldir%/wisdom_rig.c %reldir%/wisdom_rig.h
tests_tune_check_candidates_SOURCES = %reldir%/check_candidates.c $(wisdom_rig)
tests_tune_check_candidates_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_tune_check_tuner_SOURCES = %reldir%/check_tuner.c $(wisdom_rig)
tests_tune_check_tuner_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_tune_check_wisdom_SOURCES = %reldir%/check_wisdom.c $(wisdom_rig)
tests_tune_check_wisdom_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_tune_check_wisdom_file_SOURCES = %reldir%/check_wisdom_file.c
tests_tune_check_wisdom_lines_SOURCES = %reldir%/check_wisdom_lines.c
tests_tune_check_wisdom_place_SOURCES = %reldir%/check_wisdom_place.c $(wisdom_rig)
tests_tune_check_wisdom_place_LDADD = tests/stub/libstub.la $(LDADD) -lm
thread_tests += tests/tune/check_candidates tests/tune/check_wisdom tests/tune/check_wisdom_file
