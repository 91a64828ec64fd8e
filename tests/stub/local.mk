# SPDX-License-Identifier: Apache-2.0
# The stub backend. Tests that use it: PROGRAM_LDADD = tests/stub/libstub.la $(LDADD)
check_LTLIBRARIES += tests/stub/libstub.la
tests_stub_libstub_la_SOURCES = %reldir%/batch.c %reldir%/faults.c %reldir%/faults.h %reldir%/gemm.c \
	%reldir%/internal.h %reldir%/memory.c %reldir%/program.c %reldir%/stream.c %reldir%/stub.c %reldir%/stub.h
nodist_tests_stub_libstub_la_SOURCES = %reldir%/prelude.k.h
BUILT_SOURCES += %reldir%/prelude.k.h
CLEANFILES += %reldir%/prelude.k.h
EXTRA_DIST += %reldir%/crews.k %reldir%/prelude.k
%reldir%/prelude.k.h: %reldir%/crews.k backends/dialect.k backends/fp8.k backends/functions.k
