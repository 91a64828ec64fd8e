# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/build.c %reldir%/build.h %reldir%/extent.c %reldir%/graph.h %reldir%/input.c %reldir%/matmul.c \
	%reldir%/number.c %reldir%/op.c %reldir%/op.h %reldir%/ops.def %reldir%/pointwise.c %reldir%/print.c \
	%reldir%/reduce.c %reldir%/simplify.c %reldir%/views.c
