# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/backend.h %reldir%/device.h %reldir%/internal.h \
	%reldir%/blocks.c \
	%reldir%/build.c \
	%reldir%/cache.c \
	%reldir%/device.c \
	%reldir%/event.c \
	%reldir%/gemm.c \
	%reldir%/graph.c \
	%reldir%/nodes.c \
	%reldir%/kernel.c \
	%reldir%/memory.c \
	%reldir%/pending.c \
	%reldir%/program.c \
	%reldir%/registry.c %reldir%/registry.h \
	%reldir%/report.c \
	%reldir%/state.c \
	%reldir%/stream.c \
	%reldir%/transfer.c \
	%reldir%/watch.c
