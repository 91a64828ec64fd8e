# SPDX-License-Identifier: Apache-2.0
# Each backend slot by slot.

if HAVE_OPENCL
check_PROGRAMS += %reldir%/check_opencl
TESTS += %reldir%/check_opencl
tests_backends_check_opencl_SOURCES = %reldir%/check_opencl.c
tests_backends_check_opencl_CPPFLAGS = $(AM_CPPFLAGS) \
	-DLFUSE_TEST_LAYER='"$(abs_top_builddir)/tests/layer/.libs/opencl_layer.so"'
EXTRA_tests_backends_check_opencl_DEPENDENCIES = tests/layer/opencl_layer.la
endif

# The caller's own memory, queues, contexts and captures.
if HAVE_OPENCL
check_PROGRAMS += tests/backends/check_foreign_opencl
TESTS += tests/backends/check_foreign_opencl
tests_backends_check_foreign_opencl_SOURCES = %reldir%/check_foreign_opencl.c
check_PROGRAMS += tests/backends/check_launches_opencl
TESTS += tests/backends/check_launches_opencl
tests_backends_check_launches_opencl_SOURCES = %reldir%/check_launches_opencl.c
tests_backends_check_launches_opencl_CPPFLAGS = $(AM_CPPFLAGS) \
	-DLFUSE_TEST_LAYER='"$(abs_top_builddir)/tests/layer/.libs/opencl_layer.so"'
EXTRA_tests_backends_check_launches_opencl_DEPENDENCIES = tests/layer/opencl_layer.la
endif
if HAVE_CUDA
check_PROGRAMS += tests/backends/check_foreign_cuda
TESTS += tests/backends/check_foreign_cuda
tests_backends_check_foreign_cuda_SOURCES = %reldir%/check_foreign_cuda.c
endif

# CUDA over a driver in host memory, which the program loads before the library looks for the real one.
if HAVE_CUDA
check_PROGRAMS += tests/backends/check_cuda_fake
TESTS += tests/backends/check_cuda_fake
tests_backends_check_cuda_fake_SOURCES = %reldir%/check_cuda_fake.c
tests_backends_check_cuda_fake_CPPFLAGS = $(AM_CPPFLAGS) \
	-DLFUSE_TEST_FAKE='"$(abs_top_builddir)/tests/fake-cuda/.libs"'
tests_backends_check_cuda_fake_LDADD = $(LDADD) -lm
EXTRA_tests_backends_check_cuda_fake_DEPENDENCIES = tests/fake-cuda/libcuda.la tests/fake-cuda/libcublasLt.la
endif
