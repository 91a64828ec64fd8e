# SPDX-License-Identifier: Apache-2.0
# A driver and a cuBLASLt in host memory. They have the sonames of the real ones, libcuda.so.1 and libcublasLt.so.13
# (and, of an NVRTC that is of no use, libnvrtc.so.13), so that a test that loads them first has the library find them.
if HAVE_CUDA
fake_cuda = tests/fake-cuda/libcuda.so.1 tests/fake-cuda/libcublasLt.so.13 tests/fake-cuda/libnvrtc.so.13
check_PROGRAMS += $(fake_cuda)
tests_fake_cuda_libcuda_so_1_SOURCES = %reldir%/fakecuda.c %reldir%/fakecuda.h %reldir%/internal.h \
	%reldir%/memory.c %reldir%/programs.c %reldir%/streams.c
tests_fake_cuda_libcuda_so_1_CFLAGS = $(TEST_MODULE_CFLAGS)
tests_fake_cuda_libcuda_so_1_LINK = $(TEST_MODULE_LINK) -Wl,-soname,libcuda.so.1
tests_fake_cuda_libcuda_so_1_LDADD =
tests_fake_cuda_libcublasLt_so_13_SOURCES = %reldir%/fakeblas.c
tests_fake_cuda_libcublasLt_so_13_CFLAGS = $(TEST_MODULE_CFLAGS)
tests_fake_cuda_libcublasLt_so_13_LINK = $(TEST_MODULE_LINK) -Wl,-soname,libcublasLt.so.13
tests_fake_cuda_libcublasLt_so_13_LDADD = -lm
tests_fake_cuda_libnvrtc_so_13_SOURCES = %reldir%/fakenvrtc.c
tests_fake_cuda_libnvrtc_so_13_CFLAGS = $(TEST_MODULE_CFLAGS)
tests_fake_cuda_libnvrtc_so_13_LINK = $(TEST_MODULE_LINK) -Wl,-soname,libnvrtc.so.13
tests_fake_cuda_libnvrtc_so_13_LDADD =
endif
