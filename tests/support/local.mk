# SPDX-License-Identifier: Apache-2.0
check_LTLIBRARIES += tests/support/libsupport.la
tests_support_libsupport_la_SOURCES = %reldir%/check.h %reldir%/descriptors.c %reldir%/descriptors.h \
	%reldir%/files.c %reldir%/files.h %reldir%/heard.c %reldir%/heard.h %reldir%/locale.c %reldir%/locale.h \
	%reldir%/main.c %reldir%/main.h %reldir%/objects.c %reldir%/objects.h %reldir%/operators.h %reldir%/shape.h
