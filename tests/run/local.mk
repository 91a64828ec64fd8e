# SPDX-License-Identifier: Apache-2.0

# Tensors, recordings and threads on the stub.
stub_run_tests = \
	tests/run/check_fork tests/run/check_large tests/run/check_record tests/run/check_refused_records \
	tests/run/check_strided tests/run/check_tensor tests/run/check_threads
check_PROGRAMS += $(stub_run_tests)
TESTS += $(stub_run_tests)
tests_run_check_fork_SOURCES = %reldir%/check_fork.c
tests_run_check_fork_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_large_SOURCES = %reldir%/check_large.c
tests_run_check_large_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_refused_records_SOURCES = %reldir%/check_refused_records.c %reldir%/records.h
tests_run_check_refused_records_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_record_SOURCES = %reldir%/check_record.c %reldir%/records.h
tests_run_check_record_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_strided_SOURCES = %reldir%/check_strided.c %reldir%/tensors.h
tests_run_check_strided_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_tensor_SOURCES = %reldir%/check_tensor.c %reldir%/tensors.h
tests_run_check_tensor_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_threads_SOURCES = %reldir%/check_threads.c
tests_run_check_threads_LDADD = tests/stub/libstub.la $(LDADD)
thread_tests += tests/run/check_threads

check_PROGRAMS += tests/run/check_list
TESTS += tests/run/check_list
tests_run_check_list_SOURCES = %reldir%/check_list.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_list_LDADD = tests/stub/libstub.la $(LDADD) -lm

# Pure.
check_PROGRAMS += tests/run/check_chunks
TESTS += tests/run/check_chunks
tests_run_check_chunks_SOURCES = %reldir%/check_chunks.c tests/kernels/classes.c tests/kernels/classes.h

# Plans and instances on the stub.
plan_run_tests = \
	tests/run/check_failures tests/run/check_kept tests/run/check_lists tests/run/check_losses tests/run/check_overlaps \
	tests/run/check_native tests/run/check_products tests/run/check_programs tests/run/check_record_sizes \
	tests/run/check_replay tests/run/check_replay_failures \
	tests/run/check_strassen tests/run/check_precision \
	tests/run/check_replay_products \
	tests/run/check_together tests/run/check_scratch tests/run/check_share \
	tests/run/check_rows tests/run/check_run tests/run/check_safetensors tests/run/check_scans tests/run/check_split \
	tests/run/check_transports tests/run/check_unified tests/run/check_walks
check_PROGRAMS += $(plan_run_tests)
TESTS += $(plan_run_tests)
tests_run_check_failures_SOURCES = %reldir%/check_failures.c
tests_run_check_failures_LDADD = tests/stub/libstub.la $(LDADD)
tests_run_check_kept_SOURCES = %reldir%/check_kept.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_kept_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_lists_SOURCES = %reldir%/check_lists.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_lists_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_programs_SOURCES = %reldir%/check_programs.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_programs_LDADD = tests/stub/libstub.la $(LDADD) -lm
thread_tests += tests/run/check_programs
tests_run_check_scratch_SOURCES = %reldir%/check_scratch.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_scratch_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_share_SOURCES = %reldir%/check_share.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_share_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_together_SOURCES = %reldir%/check_together.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_together_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_overlaps_SOURCES = %reldir%/check_overlaps.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_overlaps_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_strassen_SOURCES = %reldir%/check_strassen.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_strassen_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm
tests_run_check_native_SOURCES = %reldir%/check_native.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_native_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_precision_SOURCES = %reldir%/check_precision.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_precision_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_products_SOURCES = %reldir%/check_products.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_products_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_record_sizes_SOURCES = %reldir%/check_record_sizes.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_record_sizes_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_replay_SOURCES = %reldir%/check_replay.c %reldir%/replays.h %reldir%/rig.c %reldir%/rig.h
tests_run_check_replay_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_replay_failures_SOURCES = %reldir%/check_replay_failures.c %reldir%/replays.h %reldir%/rig.c \
	%reldir%/rig.h
tests_run_check_replay_failures_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_replay_products_SOURCES = %reldir%/check_replay_products.c %reldir%/replays.h %reldir%/rig.c \
	%reldir%/rig.h
tests_run_check_replay_products_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_losses_SOURCES = %reldir%/check_losses.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_losses_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_safetensors_SOURCES = %reldir%/check_safetensors.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_safetensors_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_scans_SOURCES = %reldir%/check_scans.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_scans_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_split_SOURCES = %reldir%/check_split.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_split_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_rows_SOURCES = %reldir%/check_rows.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_rows_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_run_SOURCES = %reldir%/check_run.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_run_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_transports_SOURCES = %reldir%/check_transports.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_transports_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_unified_SOURCES = %reldir%/check_unified.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_unified_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_walks_SOURCES = %reldir%/check_walks.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_walks_LDADD = tests/stub/libstub.la $(LDADD) -lm

# Numbers on the stub and on the devices of this machine.
number_tests = tests/run/check_groups tests/run/check_numbers tests/run/check_scalars tests/run/check_scatter
check_PROGRAMS += $(number_tests)
TESTS += $(number_tests)
tests_run_check_groups_SOURCES = %reldir%/check_groups.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_groups_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_numbers_SOURCES = %reldir%/check_numbers.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_numbers_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_scalars_SOURCES = %reldir%/check_scalars.c %reldir%/sets.c %reldir%/sets.h
tests_run_check_scalars_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm
tests_run_check_scatter_SOURCES = %reldir%/check_scatter.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_scatter_LDADD = tests/stub/libstub.la $(LDADD) -lm

# Foreach calls, on the stub and on devices.
foreach_tests = tests/run/check_foreach tests/run/check_foreach_calls tests/run/check_foreach_numbers
check_PROGRAMS += $(foreach_tests)
TESTS += $(foreach_tests)
tests_run_check_foreach_SOURCES = %reldir%/check_foreach.c %reldir%/sets.c %reldir%/sets.h
tests_run_check_foreach_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm
tests_run_check_foreach_calls_SOURCES = %reldir%/check_foreach_calls.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_foreach_calls_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_foreach_numbers_SOURCES = %reldir%/check_foreach_numbers.c %reldir%/sets.c %reldir%/sets.h
tests_run_check_foreach_numbers_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm

check_PROGRAMS += tests/run/check_grouped tests/run/check_grouped_packed tests/run/check_grouped_parts
TESTS += tests/run/check_grouped tests/run/check_grouped_packed tests/run/check_grouped_parts
tests_run_check_grouped_SOURCES = %reldir%/check_grouped.c %reldir%/grouped.c %reldir%/grouped.h %reldir%/rig.c \
	%reldir%/rig.h
tests_run_check_grouped_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_grouped_packed_SOURCES = %reldir%/check_grouped_packed.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_grouped_packed_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_run_check_grouped_parts_SOURCES = %reldir%/check_grouped_parts.c %reldir%/grouped.c %reldir%/grouped.h \
	%reldir%/rig.c %reldir%/rig.h
tests_run_check_grouped_parts_LDADD = tests/stub/libstub.la $(LDADD) -lm

# Rows and columns of lists on the stub and on every device found.
check_PROGRAMS += tests/run/check_lines
TESTS += tests/run/check_lines
tests_run_check_lines_SOURCES = %reldir%/check_lines.c tests/optim/rig.c tests/optim/rig.h
tests_run_check_lines_LDADD = tests/stub/libstub.la bench/liboracle.la $(LDADD) -lm

check_PROGRAMS += tests/run/check_network
TESTS += tests/run/check_network
tests_run_check_network_SOURCES = %reldir%/check_network.c %reldir%/networks.c %reldir%/networks.h %reldir%/rig.c \
	%reldir%/rig.h
tests_run_check_network_LDADD = tests/stub/libstub.la $(LDADD) -lm
check_PROGRAMS += tests/run/check_network_runs
TESTS += tests/run/check_network_runs
tests_run_check_network_runs_SOURCES = %reldir%/check_network_runs.c %reldir%/networks.c %reldir%/networks.h \
	%reldir%/rig.c %reldir%/rig.h
tests_run_check_network_runs_LDADD = tests/stub/libstub.la $(LDADD) -lm
check_PROGRAMS += tests/run/check_narrow
TESTS += tests/run/check_narrow
tests_run_check_narrow_SOURCES = %reldir%/check_narrow.c %reldir%/rig.c %reldir%/rig.h
tests_run_check_narrow_LDADD = bench/liboracle.la tests/stub/libstub.la $(LDADD) -lm
