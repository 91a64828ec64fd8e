# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += %reldir%/list.c %reldir%/need.h %reldir%/record.c %reldir%/tensor.c
libfuse_core_la_SOURCES += %reldir%/device.c %reldir%/status.c
libfuse_core_la_SOURCES += %reldir%/foreach.c %reldir%/immediate.c %reldir%/optimizer.c %reldir%/plan.c \
	%reldir%/safetensors.c %reldir%/training.c %reldir%/wisdom.c
