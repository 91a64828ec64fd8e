# SPDX-License-Identifier: Apache-2.0
# The oracle and the test data, which the tests use too; lfuse-bench and lfuse-info.
noinst_LTLIBRARIES += bench/liboracle.la
bench_liboracle_la_SOURCES = %reldir%/data.c %reldir%/data.h %reldir%/derivative_words.h \
	%reldir%/oracle.c %reldir%/oracle.h %reldir%/oracle_bind.c %reldir%/oracle_compare.c %reldir%/oracle_fold.c \
	%reldir%/oracle_internal.h \
	%reldir%/oracle_matmul.c %reldir%/oracle_node.c %reldir%/oracle_point.c %reldir%/oracle_product.c \
	%reldir%/oracle_lines.c %reldir%/oracle_members.c %reldir%/oracle_network.c \
	%reldir%/oracle_reach.c %reldir%/oracle_reduce.c %reldir%/oracle_round.c %reldir%/oracle_scan.c \
	%reldir%/oracle_strassen.c %reldir%/oracle_shape.c %reldir%/oracle_view.c %reldir%/sample.c %reldir%/sample.h
bench_liboracle_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off

# The report, which reads what lfuse-bench wrote.
noinst_LTLIBRARIES += bench/libpage.la
bench_libpage_la_SOURCES = %reldir%/page/compare.c %reldir%/page/figures.c %reldir%/page/figures.h \
	%reldir%/page/form.c %reldir%/page/form.h %reldir%/page/html.c %reldir%/page/html.h %reldir%/page/losses.c \
	%reldir%/page/page.c %reldir%/page/page.h %reldir%/page/plot.c %reldir%/page/plot.h %reldir%/page/reader.c \
	%reldir%/page/reader.h %reldir%/page/records.c %reldir%/page/records.h %reldir%/page/rows.c \
	%reldir%/page/write.c

bin_PROGRAMS += bench/lfuse-bench bench/lfuse-info
bench_lfuse_bench_SOURCES = %reldir%/main.c %reldir%/bench.h %reldir%/case.c %reldir%/measure.c %reldir%/sustained.c \
	%reldir%/machine.c \
	%reldir%/report.c %reldir%/json.c %reldir%/json.h %reldir%/timer.c %reldir%/timer.h %reldir%/copier.c \
	%reldir%/copier.h %reldir%/fixture.c %reldir%/fixture.h %reldir%/sequence.c %reldir%/strassen.c %reldir%/verify.c \
	%reldir%/native.c %reldir%/native.h %reldir%/suite_launch.c %reldir%/suite_pointwise.c \
	%reldir%/suite_dense.c %reldir%/network_check.c %reldir%/network_check.h %reldir%/suite_gemm.c \
	%reldir%/gemm_check.c %reldir%/gemm_check.h %reldir%/gemm_problem.c %reldir%/gemm_problem.h \
	%reldir%/gemm_vendor.c %reldir%/gemm_host.c %reldir%/gemm_group.c %reldir%/gemm_group.h \
	%reldir%/openblas.c \
	%reldir%/openblas.h %reldir%/suite_stack.c %reldir%/suite_rows.c %reldir%/suite_embed.c \
	%reldir%/choices.c %reldir%/tune.c %reldir%/suite_first.c %reldir%/first.c %reldir%/first.h \
	%reldir%/suite_foreach.c %reldir%/suite_optim.c %reldir%/models.c %reldir%/models.h \
	%reldir%/optim_truth.c %reldir%/optim_truth.h %reldir%/accumulation.c %reldir%/suite_train.c \
	%reldir%/step_block.c %reldir%/step_block.h %reldir%/step_chain.c %reldir%/step_graph.c %reldir%/step_graph.h \
	%reldir%/step_product.c %reldir%/step_product.h %reldir%/step_truth.c %reldir%/step_truth.h
if HAVE_CUDA
bench_lfuse_bench_SOURCES += %reldir%/native_cuda.c
endif
if HAVE_OPENCL
bench_lfuse_bench_SOURCES += %reldir%/native_opencl.c %reldir%/native_opencl.h \
	%reldir%/native_opencl_buffer.c %reldir%/native_opencl_times.c
endif
bench_lfuse_bench_LDADD = bench/liboracle.la bench/libpage.la libfuse_core.la
noinst_PROGRAMS += bench/losses
bench_losses_SOURCES = %reldir%/losses.c %reldir%/step_block.c %reldir%/step_block.h %reldir%/step_graph.c \
	%reldir%/step_graph.h %reldir%/step_product.c %reldir%/step_product.h %reldir%/step_truth.c %reldir%/step_truth.h
bench_losses_LDADD = bench/liboracle.la libfuse_core.la
bench_lfuse_info_SOURCES = %reldir%/info.c %reldir%/json.c %reldir%/json.h
bench_lfuse_info_LDADD = libfuse_core.la

# The same problems in other people's libraries; nothing of it is installed.
EXTRA_DIST += %reldir%/table.awk %reldir%/peers/harness.py %reldir%/peers/losses_torch.py \
	%reldir%/peers/peer_jax.py %reldir%/peers/peer_torch.py %reldir%/peers/problems.py %reldir%/peers/training.py
