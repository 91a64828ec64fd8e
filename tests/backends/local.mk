# SPDX-License-Identifier: Apache-2.0
# Each backend slot by slot.

if HAVE_OPENCL
layer_tests = tests/backends/check_opencl tests/backends/check_opencl_failures tests/backends/check_opencl_products \
	tests/backends/check_opencl_addresses tests/backends/check_opencl_addresses_failures
check_PROGRAMS += $(layer_tests)
TESTS += $(layer_tests)
layer_flags = $(AM_CPPFLAGS) -DLFUSE_TEST_LAYER='"$(abs_top_builddir)/tests/layer/opencl_layer.so"'
slot_flags = $(layer_flags) -DLFUSE_TEST_ADDRESSES='"never"'
address_flags = $(layer_flags) -DLFUSE_TEST_ADDRESSES='"all"'
tests_backends_check_opencl_SOURCES = %reldir%/check_opencl.c %reldir%/opencl_rig.h %reldir%/sub_buffer.h
tests_backends_check_opencl_CPPFLAGS = $(slot_flags)
EXTRA_tests_backends_check_opencl_DEPENDENCIES = tests/layer/opencl_layer.so
tests_backends_check_opencl_failures_SOURCES = %reldir%/check_opencl_failures.c %reldir%/opencl_rig.h
tests_backends_check_opencl_failures_CPPFLAGS = $(slot_flags)
EXTRA_tests_backends_check_opencl_failures_DEPENDENCIES = tests/layer/opencl_layer.so
tests_backends_check_opencl_products_SOURCES = %reldir%/check_opencl_products.c %reldir%/opencl_rig.h
tests_backends_check_opencl_products_CPPFLAGS = $(slot_flags)
EXTRA_tests_backends_check_opencl_products_DEPENDENCIES = tests/layer/opencl_layer.so

check_PROGRAMS += tests/backends/check_ptx
TESTS += tests/backends/check_ptx
tests_backends_check_ptx_SOURCES = %reldir%/check_ptx.c

check_PROGRAMS += tests/backends/check_unfit_opencl
TESTS += tests/backends/check_unfit_opencl
tests_backends_check_unfit_opencl_SOURCES = %reldir%/check_unfit_opencl.c
tests_backends_check_unfit_opencl_CPPFLAGS = $(layer_flags)
EXTRA_tests_backends_check_unfit_opencl_DEPENDENCIES = tests/layer/opencl_layer.so

check_PROGRAMS += tests/backends/check_other_gpu
TESTS += tests/backends/check_other_gpu
tests_backends_check_other_gpu_SOURCES = %reldir%/check_other_gpu.c
tests_backends_check_other_gpu_CPPFLAGS = $(layer_flags)
EXTRA_tests_backends_check_other_gpu_DEPENDENCIES = tests/layer/opencl_layer.so

# The same where kernels reach buffers by their addresses, on every driver that lets them.
tests_backends_check_opencl_addresses_SOURCES = $(tests_backends_check_opencl_SOURCES)
tests_backends_check_opencl_addresses_CPPFLAGS = $(address_flags)
EXTRA_tests_backends_check_opencl_addresses_DEPENDENCIES = tests/layer/opencl_layer.so
tests_backends_check_opencl_addresses_failures_SOURCES = $(tests_backends_check_opencl_failures_SOURCES)
tests_backends_check_opencl_addresses_failures_CPPFLAGS = $(address_flags)
EXTRA_tests_backends_check_opencl_addresses_failures_DEPENDENCIES = tests/layer/opencl_layer.so
endif

# The caller's own memory, queues, contexts and captures.
if HAVE_OPENCL
foreign_opencl_tests = tests/backends/check_foreign_opencl tests/backends/check_foreign_lists
check_PROGRAMS += $(foreign_opencl_tests)
TESTS += $(foreign_opencl_tests)
tests_backends_check_foreign_opencl_SOURCES = %reldir%/check_foreign_opencl.c %reldir%/opencl_devices.h
tests_backends_check_foreign_lists_SOURCES = %reldir%/check_foreign_lists.c %reldir%/opencl_devices.h \
	%reldir%/sub_buffer.h
check_PROGRAMS += tests/backends/check_launches_opencl
TESTS += tests/backends/check_launches_opencl
tests_backends_check_launches_opencl_SOURCES = %reldir%/check_launches_opencl.c
tests_backends_check_launches_opencl_CPPFLAGS = $(AM_CPPFLAGS) \
	-DLFUSE_TEST_LAYER='"$(abs_top_builddir)/tests/layer/opencl_layer.so"'
EXTRA_tests_backends_check_launches_opencl_DEPENDENCIES = tests/layer/opencl_layer.so
endif
if HAVE_CUDA
foreign_tests = tests/backends/check_cuda_products tests/backends/check_early_weights \
	tests/backends/check_foreign_cuda tests/backends/check_foreign_order
check_PROGRAMS += $(foreign_tests)
TESTS += $(foreign_tests)
tests_backends_check_cuda_products_SOURCES = %reldir%/check_cuda_products.c
tests_backends_check_cuda_products_LDADD = $(LDADD) -lm
tests_backends_check_early_weights_SOURCES = %reldir%/check_early_weights.c
tests_backends_check_foreign_cuda_SOURCES = %reldir%/check_foreign_cuda.c
tests_backends_check_foreign_order_SOURCES = %reldir%/check_foreign_order.c
endif

# CUDA over a driver in host memory, which the program loads before the library looks for the real one.
if HAVE_CUDA
fake_tests = tests/backends/check_cuda_fake tests/backends/check_fake_faults tests/backends/check_fake_graphs \
	tests/backends/check_fake_products tests/backends/check_fake_wisdom
check_PROGRAMS += $(fake_tests)
TESTS += $(fake_tests)
fake_flags = $(AM_CPPFLAGS) -DLFUSE_TEST_FAKE='"$(abs_top_builddir)/tests/fake-cuda"'
tests_backends_check_cuda_fake_SOURCES = %reldir%/check_cuda_fake.c %reldir%/fake_rig.h
tests_backends_check_cuda_fake_CPPFLAGS = $(fake_flags)
tests_backends_check_cuda_fake_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_cuda_fake_DEPENDENCIES = $(fake_cuda)
tests_backends_check_fake_faults_SOURCES = %reldir%/check_fake_faults.c %reldir%/fake_rig.h
tests_backends_check_fake_faults_CPPFLAGS = $(fake_flags)
tests_backends_check_fake_faults_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_fake_faults_DEPENDENCIES = $(fake_cuda)
tests_backends_check_fake_graphs_SOURCES = %reldir%/check_fake_graphs.c %reldir%/fake_rig.h
tests_backends_check_fake_graphs_CPPFLAGS = $(fake_flags)
tests_backends_check_fake_graphs_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_fake_graphs_DEPENDENCIES = $(fake_cuda)
tests_backends_check_fake_products_SOURCES = %reldir%/check_fake_products.c %reldir%/fake_rig.h
tests_backends_check_fake_products_CPPFLAGS = $(fake_flags)
tests_backends_check_fake_products_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_fake_products_DEPENDENCIES = $(fake_cuda)
tests_backends_check_fake_wisdom_SOURCES = %reldir%/check_fake_wisdom.c %reldir%/fake_rig.h
tests_backends_check_fake_wisdom_CPPFLAGS = $(fake_flags)
tests_backends_check_fake_wisdom_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_fake_wisdom_DEPENDENCIES = $(fake_cuda)
endif
