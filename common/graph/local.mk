# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/activation.c %reldir%/adopt.c %reldir%/build.c %reldir%/build.h %reldir%/check.c %reldir%/checkpoint.c \
	%reldir%/checkpoint.h %reldir%/compose.c \
	%reldir%/compose.h %reldir%/concat.c %reldir%/extent.c %reldir%/gather.c \
	%reldir%/gather_gradient.c %reldir%/gradient.c %reldir%/gradient.h %reldir%/gradient_shape.c %reldir%/graph.h \
	%reldir%/identity.c %reldir%/identity.def \
	%reldir%/input.c %reldir%/mistake.c %reldir%/name.c \
	%reldir%/lines.c %reldir%/loss.c %reldir%/loss.h %reldir%/loss_cross_entropy.c \
	%reldir%/matmul.c %reldir%/matmul_as.c %reldir%/matmul_gradient.c \
	%reldir%/members.c %reldir%/moments.c \
	%reldir%/nodes.def %reldir%/norm.c %reldir%/number.c %reldir%/op.c %reldir%/op.h %reldir%/ops.def %reldir%/pad.c \
	%reldir%/parse.c %reldir%/pointwise.c %reldir%/pointwise_gradient.c \
	%reldir%/poly.c %reldir%/print.c %reldir%/random.c \
	%reldir%/reduce.c %reldir%/reduce.h %reldir%/reduce_gradient.c %reldir%/reduce_node.c \
	%reldir%/reductions.def %reldir%/reshape.c %reldir%/simplify.c \
	%reldir%/scan.c %reldir%/scan_gradient.c %reldir%/scans.def %reldir%/slice.c \
	%reldir%/slice_gradient.c \
	%reldir%/slice_range.c %reldir%/softmax.c %reldir%/take.c %reldir%/token.c \
	%reldir%/token.h %reldir%/views.c
