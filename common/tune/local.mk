# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/wisdom.c %reldir%/wisdom.h %reldir%/wisdom_file.c %reldir%/wisdom_lines.c
