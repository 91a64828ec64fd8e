# SPDX-License-Identifier: Apache-2.0
# Gradients by a Wengert list of single elements, to judge lfuse_gradient by.
check_LTLIBRARIES += tests/tape/libtape.la
tests_tape_libtape_la_SOURCES = %reldir%/duality.c %reldir%/subject.c %reldir%/subject.h %reldir%/tape.c \
	%reldir%/tape.h %reldir%/tape_forward.c %reldir%/tape_internal.h %reldir%/tape_lists.c \
	%reldir%/tape_nodes.c %reldir%/tape_partials.c %reldir%/tape_views.c
