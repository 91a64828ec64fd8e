# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/check.c %reldir%/choose.c %reldir%/column_sums.c %reldir%/cpu.c %reldir%/cpu.h \
	%reldir%/cpu_block.c %reldir%/cpu_grouped.c %reldir%/cpu_prologue.c %reldir%/epilogue.c \
	%reldir%/f16_packed.c %reldir%/f32x3.c %reldir%/f32x3.h %reldir%/f32x3_mma.c %reldir%/f32x3_wgmma.c \
	%reldir%/fp8.c %reldir%/fp8.h %reldir%/fp8_packed.c %reldir%/grouped.c \
	%reldir%/grouped.h %reldir%/lanes.c %reldir%/mlp.c %reldir%/mlp.h %reldir%/mlp_text.c %reldir%/mma.c \
	%reldir%/mma.h %reldir%/mma_fp8.c %reldir%/mma_tf32.c %reldir%/packed.c %reldir%/packed.h \
	%reldir%/pipeline.c %reldir%/pipeline_sums.c %reldir%/prefetch.c %reldir%/problem.h %reldir%/provider.c \
	%reldir%/provider.h %reldir%/simt.c %reldir%/simt_grouped.c %reldir%/skinny.c %reldir%/skinny.h \
	%reldir%/skinny_prologue.c %reldir%/solver.h %reldir%/solvers.c %reldir%/split_k.c %reldir%/strassen.c \
	%reldir%/strassen.h %reldir%/strassen_cost.c %reldir%/strassen_items.c %reldir%/strassen_lanes.c \
	%reldir%/strassen_sums.c %reldir%/stream_k.c %reldir%/tile.c %reldir%/tile.h %reldir%/tile_cost.c \
	%reldir%/tma.c %reldir%/tma.h %reldir%/tma_fp8.c %reldir%/tma_rings.c %reldir%/tma_tf32.c %reldir%/wgmma.c \
	%reldir%/words.c
