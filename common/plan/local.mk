# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/body.h %reldir%/body.c %reldir%/families.def %reldir%/plan.h %reldir%/draft.h %reldir%/draft.c \
	%reldir%/lower.h %reldir%/lower.c %reldir%/values.c %reldir%/distribute.c %reldir%/columns.c \
	%reldir%/sink.c %reldir%/scatter.c %reldir%/scatter_step.c \
	%reldir%/views.c %reldir%/walk.c %reldir%/sizes.c %reldir%/concat.c %reldir%/place.c %reldir%/numbers.c \
	%reldir%/frozen.c %reldir%/signature.c %reldir%/pointwise.c %reldir%/siblings.c %reldir%/phases.c \
	%reldir%/reuse.c %reldir%/counts.c %reldir%/bundle.c %reldir%/build.c %reldir%/split.c \
	%reldir%/rows.c %reldir%/lists.c %reldir%/members.c %reldir%/native.c %reldir%/network.c %reldir%/network_kinds.c \
	%reldir%/product.c %reldir%/product_sums.c %reldir%/prologue.c \
	%reldir%/tail.c %reldir%/tail.h \
	%reldir%/advice.h %reldir%/step.c \
	%reldir%/passes.c %reldir%/passes.h %reldir%/units.c \
	%reldir%/update.c %reldir%/late_sums.c %reldir%/together.c %reldir%/early_updates.c \
	%reldir%/layout.c %reldir%/loop.c %reldir%/print.c %reldir%/plan.c \
	%reldir%/strassen.c %reldir%/strassen_step.c
