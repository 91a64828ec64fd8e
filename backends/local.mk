# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += %reldir%/table.c

if HAVE_OPENCL
libfuse_core_la_SOURCES += \
	%reldir%/opencl/backend.h %reldir%/opencl/internal.h %reldir%/opencl/functions.def \
	%reldir%/opencl/address.c \
	%reldir%/opencl/backend.c \
	%reldir%/opencl/error.c \
	%reldir%/opencl/facts.c \
	%reldir%/opencl/graph.c \
	%reldir%/opencl/launch.c \
	%reldir%/opencl/library.c \
	%reldir%/opencl/local_memory.c \
	%reldir%/opencl/memory.c \
	%reldir%/opencl/probe.c \
	%reldir%/opencl/program.c \
	%reldir%/opencl/ptx.c %reldir%/opencl/ptx.h \
	%reldir%/opencl/stream.c \
	%reldir%/opencl/tensor_map.c
if HAVE_CLBLAST
libfuse_core_la_SOURCES += %reldir%/opencl/gemm.c %reldir%/opencl/gemm_paths.c %reldir%/opencl/gemm_paths.h
else
libfuse_core_la_SOURCES += %reldir%/opencl/gemm_none.c
endif
BUILT_SOURCES += %reldir%/opencl/prelude.k.h
endif
CLEANFILES += %reldir%/opencl/prelude.k.h
EXTRA_DIST += %reldir%/opencl/prelude.k

if HAVE_CUDA
libfuse_core_la_SOURCES += \
	%reldir%/cuda/backend.h %reldir%/cuda/internal.h %reldir%/cuda/program.h %reldir%/cuda/functions.def \
	%reldir%/cuda/backend.c \
	%reldir%/cuda/error.c \
	%reldir%/cuda/facts.c \
	%reldir%/cuda/gemm.c %reldir%/cuda/gemm.h %reldir%/cuda/gemm_heuristic.c \
	%reldir%/cuda/graph.c \
	%reldir%/cuda/launch.c \
	%reldir%/cuda/library.c \
	%reldir%/cuda/memory.c \
	%reldir%/cuda/program.c \
	%reldir%/cuda/stream.c %reldir%/cuda/tensor_map.c
BUILT_SOURCES += %reldir%/cuda/prelude.k.h
endif
CLEANFILES += %reldir%/cuda/prelude.k.h
EXTRA_DIST += %reldir%/cuda/prelude.k %reldir%/dialect.k %reldir%/fp8.k %reldir%/functions.k %reldir%/nvidia.k
%reldir%/cuda/prelude.k.h %reldir%/opencl/prelude.k.h: %reldir%/dialect.k %reldir%/fp8.k %reldir%/functions.k \
	%reldir%/nvidia.k
