# SPDX-License-Identifier: Apache-2.0
# Optimizers on the stub and on every device found.
optim_tests = tests/optim/check_clip tests/optim/check_infinite tests/optim/check_optimizer tests/optim/check_part \
    tests/optim/check_refusals tests/optim/check_schedule tests/optim/check_step \
    tests/optim/check_training tests/optim/check_training_files tests/optim/check_training_refusals \
    tests/optim/check_trajectories \
    tests/optim/check_update tests/optim/check_update_refusals
check_PROGRAMS += $(optim_tests)
TESTS += $(optim_tests)
optim_sources = %reldir%/rig.c %reldir%/rig.h %reldir%/run.c %reldir%/run.h
tests_optim_check_clip_SOURCES = %reldir%/check_clip.c $(optim_sources)
tests_optim_check_clip_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_infinite_SOURCES = %reldir%/check_infinite.c %reldir%/rig.c %reldir%/rig.h
tests_optim_check_infinite_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_optimizer_SOURCES = %reldir%/check_optimizer.c $(optim_sources)
tests_optim_check_optimizer_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_part_SOURCES = %reldir%/check_part.c $(optim_sources)
tests_optim_check_part_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_refusals_SOURCES = %reldir%/check_refusals.c $(optim_sources)
tests_optim_check_refusals_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_schedule_SOURCES = %reldir%/check_schedule.c
tests_optim_check_step_SOURCES = %reldir%/check_step.c $(optim_sources)
tests_optim_check_step_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_trajectories_SOURCES = %reldir%/check_trajectories.c %reldir%/rig.c %reldir%/rig.h
tests_optim_check_trajectories_CPPFLAGS = $(AM_CPPFLAGS) -DTOP_SRCDIR='"$(abs_top_srcdir)"'
tests_optim_check_trajectories_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
train_sources = $(optim_sources) %reldir%/train_rig.c %reldir%/train_rig.h
tests_optim_check_training_SOURCES = %reldir%/check_training.c $(train_sources)
tests_optim_check_training_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_training_files_SOURCES = %reldir%/check_training_files.c $(train_sources)
tests_optim_check_training_files_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_training_refusals_SOURCES = %reldir%/check_training_refusals.c %reldir%/rig.c %reldir%/rig.h \
    %reldir%/train_rig.c %reldir%/train_rig.h
tests_optim_check_training_refusals_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_update_SOURCES = %reldir%/check_update.c $(optim_sources)
tests_optim_check_update_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
tests_optim_check_update_refusals_SOURCES = %reldir%/check_update_refusals.c %reldir%/rig.c %reldir%/rig.h
tests_optim_check_update_refusals_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm
EXTRA_DIST += tests/data/optim/make_trajectories.py tests/data/optim/trajectories.txt
