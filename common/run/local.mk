# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/bind.c %reldir%/body.c %reldir%/body.h %reldir%/bundle.c %reldir%/bundle.h %reldir%/cache.c \
	%reldir%/cache.h %reldir%/candidates.c %reldir%/candidates.h %reldir%/candidates_name.c \
	%reldir%/candidates_network.c %reldir%/candidates_stage.c %reldir%/chunks.c %reldir%/chunks.h \
	%reldir%/classes.c %reldir%/compile.c %reldir%/copies.c %reldir%/entry.h %reldir%/evaluate.c \
	%reldir%/foreach.c %reldir%/foreach.def %reldir%/foreach.h %reldir%/foreach_numbers.c %reldir%/gemm.c \
	%reldir%/groups.c %reldir%/immediate.c %reldir%/instance.c %reldir%/instance.h %reldir%/instantiate.c \
	%reldir%/instantiate.h %reldir%/launch.c %reldir%/list.c %reldir%/list_args.c %reldir%/list_groups.c \
	%reldir%/list_launch.c %reldir%/list_lines.c %reldir%/list_members.c %reldir%/list_products.c \
	%reldir%/list_tables.c %reldir%/list_transport.c %reldir%/list_unified.c %reldir%/lists.c %reldir%/lists.h \
	%reldir%/look_ups.c %reldir%/loop.c %reldir%/loop.h %reldir%/matrix.c %reldir%/matrix.h %reldir%/network.c \
	%reldir%/network_classes.c %reldir%/operations.c %reldir%/options.c %reldir%/overlap.c %reldir%/plan.c \
	%reldir%/plan_references.c %reldir%/pointwise.c %reldir%/product.c %reldir%/product_classes.c \
	%reldir%/programs.c %reldir%/rates.c %reldir%/rates.h %reldir%/rebind.c %reldir%/record.c \
	%reldir%/record_forms.c %reldir%/record_replay.c %reldir%/recording.h %reldir%/replay.c %reldir%/rows.c \
	%reldir%/run.h %reldir%/runs.c %reldir%/scatter.c %reldir%/scratch.c %reldir%/share.c %reldir%/sizes.c \
	%reldir%/steps.c %reldir%/steps.h %reldir%/strassen.c %reldir%/tensor.c %reldir%/tensor.h \
	%reldir%/together.c %reldir%/transfer.c %reldir%/walk.c %reldir%/wants.c %reldir%/warm_up.c
