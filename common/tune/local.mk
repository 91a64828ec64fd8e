# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/fill.c %reldir%/gemm.c %reldir%/measure.c %reldir%/tuner.c %reldir%/tuner.h \
	%reldir%/wisdom.c %reldir%/wisdom.h %reldir%/wisdom_file.c %reldir%/wisdom_lines.c
