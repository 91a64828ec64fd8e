# SPDX-License-Identifier: Apache-2.0
# A driver and a cuBLASLt in host memory. The version numbers give them the sonames of the real ones, libcuda.so.1 and
# libcublasLt.so.13 (and, of an NVRTC that is of no use, libnvrtc.so.13), so that a test that loads them first has the
# library find them; the rpath makes libtool share them.
if HAVE_CUDA
check_LTLIBRARIES += tests/fake-cuda/libcuda.la tests/fake-cuda/libcublasLt.la
tests_fake_cuda_libcuda_la_SOURCES = %reldir%/fakecuda.c %reldir%/fakecuda.h %reldir%/internal.h \
	%reldir%/memory.c %reldir%/programs.c %reldir%/streams.c
tests_fake_cuda_libcuda_la_LDFLAGS = -version-info 1:0:0 -shared -rpath $(abs_builddir)/tests/fake-cuda
tests_fake_cuda_libcuda_la_LIBADD =
tests_fake_cuda_libcublasLt_la_SOURCES = %reldir%/fakeblas.c
tests_fake_cuda_libcublasLt_la_LDFLAGS = -version-info 13:0:0 -shared -rpath $(abs_builddir)/tests/fake-cuda
tests_fake_cuda_libcublasLt_la_LIBADD = -lm
check_LTLIBRARIES += tests/fake-cuda/libnvrtc.la
tests_fake_cuda_libnvrtc_la_SOURCES = %reldir%/fakenvrtc.c
tests_fake_cuda_libnvrtc_la_LDFLAGS = -version-info 13:0:0 -shared -rpath $(abs_builddir)/tests/fake-cuda
tests_fake_cuda_libnvrtc_la_LIBADD =
endif
