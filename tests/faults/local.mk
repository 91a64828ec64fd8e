# SPDX-License-Identifier: Apache-2.0
# The loop of n-th failures of libc, from the start of a process: check_faults starts `scenario` with interpose.so, a
# module for LD_PRELOAD that needs an rpath to be shared and no other library. It is not built with sanitizers, whose
# run-time library would be a neighbour that it may not have before itself.
check_LTLIBRARIES += tests/faults/interpose.la
tests_faults_interpose_la_SOURCES = %reldir%/interpose.c %reldir%/interpose.h
tests_faults_interpose_la_CFLAGS = -O2 -fno-builtin -Wall -Wextra -Werror -fno-optimize-sibling-calls
tests_faults_interpose_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/tests/faults
tests_faults_interpose_la_LIBADD =

check_PROGRAMS += tests/faults/scenario tests/faults/check_faults
TESTS += tests/faults/check_faults
tests_faults_scenario_SOURCES = %reldir%/scenario.c
tests_faults_scenario_LDADD = tests/stub/libstub.la libfuse_core.la
EXTRA_tests_faults_scenario_DEPENDENCIES = tests/faults/interpose.la
tests_faults_check_faults_SOURCES = %reldir%/check_faults.c
tests_faults_check_faults_CPPFLAGS = $(AM_CPPFLAGS) -DFAULTS_FOLDER='"$(abs_top_builddir)/tests/faults"' \
	-DFAULTS_FAKE='"$(abs_top_builddir)/tests/fake-cuda"'
EXTRA_tests_faults_check_faults_DEPENDENCIES = tests/faults/scenario tests/faults/interpose.la
if HAVE_CUDA
EXTRA_tests_faults_check_faults_DEPENDENCIES += $(fake_cuda)
endif
