# SPDX-License-Identifier: Apache-2.0
# Calls go one way, from the first of these down to the last: tests/tree/calls.sh.
libfuse_core_la_SOURCES += \
	%reldir%/cache.c %reldir%/cache.h %reldir%/evaluate.c %reldir%/foreach.c %reldir%/foreach.def \
	%reldir%/foreach.h %reldir%/foreach_numbers.c %reldir%/immediate.c %reldir%/instance.h %reldir%/options.c \
	%reldir%/plan.c %reldir%/rates.c %reldir%/rates.h %reldir%/run.h %reldir%/runs.c \
	%reldir%/safetensors.c %reldir%/safetensors.h %reldir%/safetensors_header.c %reldir%/scratch.c \
	%reldir%/transfer.c
libfuse_core_la_SOURCES += \
	%reldir%/record/rebind.c %reldir%/record/record.c %reldir%/record/record_variants.c \
	%reldir%/record/record_replay.c %reldir%/record/recording.h
libfuse_core_la_SOURCES += \
	%reldir%/launch/instance.c %reldir%/launch/launch.c %reldir%/launch/launch.h %reldir%/launch/replay.c
libfuse_core_la_SOURCES += \
	%reldir%/instantiate/bundle.c %reldir%/instantiate/candidates.c %reldir%/instantiate/candidates.h \
	%reldir%/instantiate/candidates_name.c %reldir%/instantiate/candidates_network.c \
	%reldir%/instantiate/candidates_stage.c %reldir%/instantiate/gemm.c %reldir%/instantiate/instantiate.c \
	%reldir%/instantiate/instantiate.h %reldir%/instantiate/loop.c %reldir%/instantiate/loop.h \
	%reldir%/instantiate/matrix.c %reldir%/instantiate/matrix.h %reldir%/instantiate/network.c \
	%reldir%/instantiate/pointwise.c %reldir%/instantiate/product.c %reldir%/instantiate/rows.c \
	%reldir%/instantiate/scatter.c %reldir%/instantiate/strassen.c %reldir%/instantiate/together.c \
	%reldir%/instantiate/walk.c
libfuse_core_la_SOURCES += \
	%reldir%/lists/chunks.c %reldir%/lists/chunks.h %reldir%/lists/list_args.c %reldir%/lists/list_groups.c \
	%reldir%/lists/list_launch.c %reldir%/lists/list_lines.c %reldir%/lists/list_members.c \
	%reldir%/lists/list_op.h %reldir%/lists/list_products.c %reldir%/lists/list_tables.c \
	%reldir%/lists/list_transport.c %reldir%/lists/list_unified.c %reldir%/lists/lists.c %reldir%/lists/lists.h \
	%reldir%/lists/table_write.c
libfuse_core_la_SOURCES += \
	%reldir%/operations/look_ups.c %reldir%/operations/operations.c %reldir%/operations/operations.h
libfuse_core_la_SOURCES += \
	%reldir%/bind/bind.c %reldir%/bind/bind.h %reldir%/bind/groups.c %reldir%/bind/overlap.c \
	%reldir%/bind/sizes.c
libfuse_core_la_SOURCES += \
	%reldir%/compile/body.c %reldir%/compile/body.h %reldir%/compile/bundle.h %reldir%/compile/classes.c \
	%reldir%/compile/compile.c %reldir%/compile/copies.c %reldir%/compile/entry.h \
	%reldir%/compile/network_classes.c %reldir%/compile/plan_references.c %reldir%/compile/product_classes.c \
	%reldir%/compile/programs.c %reldir%/compile/share.c %reldir%/compile/steps.c %reldir%/compile/steps.h \
	%reldir%/compile/wants.c %reldir%/compile/warm_up.c
libfuse_core_la_SOURCES += \
	%reldir%/tensors/list.c %reldir%/tensors/tensor.c %reldir%/tensors/tensor.h
