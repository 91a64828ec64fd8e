# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/access.c %reldir%/body.c %reldir%/bundle.c %reldir%/bundle.h %reldir%/bundle_text.c \
	%reldir%/carried.c %reldir%/check.c %reldir%/emit.h %reldir%/families.c %reldir%/families.h %reldir%/gather.c \
	%reldir%/items.c %reldir%/kernel.h %reldir%/key.c %reldir%/key.h %reldir%/lanes.c %reldir%/layout.c \
	%reldir%/list.c %reldir%/members.c %reldir%/members.h %reldir%/members_text.c %reldir%/multi.c \
	%reldir%/number.c %reldir%/pointwise.c %reldir%/rows.c %reldir%/rows.h %reldir%/rows_caches.c \
	%reldir%/rows_choose.c %reldir%/rows_chunks.c %reldir%/rows_exchange.c %reldir%/rows_files.c \
	%reldir%/rows_fold.c %reldir%/rows_hold.c %reldir%/rows_item.c %reldir%/rows_look_up.c %reldir%/rows_reduce.c \
	%reldir%/rows_single.c %reldir%/rows_team.c %reldir%/rows_team.h %reldir%/rows_text.c %reldir%/scan.c \
	%reldir%/scatter.c %reldir%/table.c %reldir%/template.c %reldir%/template.h %reldir%/text.c \
	%reldir%/uniform.c

# Kernels, and the strings that are made of them.
kernel_texts = \
	%reldir%/text/gemm_band.k %reldir%/text/gemm_by_number.k \
	%reldir%/text/gemm_f32x3.k %reldir%/text/gemm_f32x3_mma.k %reldir%/text/gemm_f32x3_mma_copy.k \
	%reldir%/text/gemm_f32x3_unscaled.k %reldir%/text/gemm_split_f16.k %reldir%/text/gemm_split_f16_load.k \
	%reldir%/text/gemm_split_f16_operand.k \
	%reldir%/text/gemm_cpu.k %reldir%/text/gemm_cpu_block.k %reldir%/text/gemm_cpu_micro.k \
	%reldir%/text/gemm_cpu_pack.k %reldir%/text/gemm_cpu_transpose.k %reldir%/text/gemm_end.k \
	%reldir%/text/gemm_fp8.k %reldir%/text/gemm_k_part.k \
	%reldir%/text/gemm_mma.k %reldir%/text/gemm_mma_fp8.k %reldir%/text/gemm_mma_operand.k \
	%reldir%/text/gemm_mma_vectors.k \
	%reldir%/text/gemm_pack.k %reldir%/text/gemm_pack_f16.k %reldir%/text/gemm_pack_fp8.k \
	%reldir%/text/gemm_packed.k \
	%reldir%/text/gemm_pipeline.k %reldir%/text/gemm_pipeline_end.k %reldir%/text/gemm_pipeline_meet.k \
	%reldir%/text/gemm_pipeline_part.k %reldir%/text/gemm_pipeline_sums.k %reldir%/text/gemm_prefetch.k \
	%reldir%/text/gemm_rings.k \
	%reldir%/text/gemm_schedule.k %reldir%/text/gemm_simt.k %reldir%/text/gemm_simt_loop.k \
	%reldir%/text/gemm_simt_operand.k %reldir%/text/gemm_skinny.k %reldir%/text/gemm_skinny_store.k \
	%reldir%/text/gemm_split_k.k %reldir%/text/gemm_tma.k %reldir%/text/gemm_wgmma.k \
	%reldir%/text/grid_stride.k %reldir%/text/group_stride.k \
	%reldir%/text/list_broadcast.k %reldir%/text/list_chunk.k %reldir%/text/list_fold.k \
	%reldir%/text/list_lines.k %reldir%/text/list_operand.k %reldir%/text/list_partial.k \
	%reldir%/text/list_pointwise.k %reldir%/text/mlp.k %reldir%/text/mlp_weights.k %reldir%/text/pointwise.k \
	%reldir%/text/pointwise_lanes.k %reldir%/text/pointwise_tile.k %reldir%/text/rows_counter.k \
	%reldir%/text/rows_fold.k %reldir%/text/rows_fold_row.k %reldir%/text/rows_item.k \
	%reldir%/text/rows_item_segment.k %reldir%/text/rows_segments.k %reldir%/text/rows_single.k \
	%reldir%/text/rows_single_segment.k %reldir%/text/rows_team.k %reldir%/text/rows_team_rows.k \
	%reldir%/text/rows_team_segment.k %reldir%/text/rows_team_sweep.k %reldir%/text/scan.k \
	%reldir%/text/scan_operand.k %reldir%/text/scatter.k
BUILT_SOURCES += $(kernel_texts:.k=.k.h)
CLEANFILES += $(kernel_texts:.k=.k.h)
EXTRA_DIST += $(kernel_texts)
