# SPDX-License-Identifier: Apache-2.0
# The rules, each a graph, and the optimizers made of them.
libfuse_core_la_SOURCES += %reldir%/rule.h %reldir%/rules.c %reldir%/hyper.c %reldir%/member.c \
	%reldir%/words.c \
	%reldir%/adafactor.c %reldir%/adagrad.c %reldir%/adam.c %reldir%/adamax.c %reldir%/asgd.c %reldir%/lamb.c \
	%reldir%/sgd.c
libfuse_core_la_SOURCES += %reldir%/optimizer.h %reldir%/apply.c %reldir%/graph.c %reldir%/norm.c \
	%reldir%/optimizer.c %reldir%/part.c %reldir%/schedule.c %reldir%/state.c %reldir%/step.c %reldir%/update.c
libfuse_core_la_SOURCES += %reldir%/train.h %reldir%/train.c %reldir%/train_file.c %reldir%/train_graph.c \
	%reldir%/train_groups.c %reldir%/train_parameters.c %reldir%/train_state.c %reldir%/train_step.c
