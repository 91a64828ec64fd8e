# SPDX-License-Identifier: Apache-2.0
# --with-cuda: the headers of the driver API, NVRTC and cuBLASLt. Their libraries are loaded at run time.
AC_ARG_VAR([CUDA_PATH], [folder of the CUDA toolkit; CUDA_HOME is taken too])
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the CUDA backend, headers in DIR/include (default: if found)])],
    [], [with_cuda=auto])
LFUSE_HEADERS([cuda], [$with_cuda], [cuda.h nvrtc.h cublasLt.h],
    ["${CUDA_PATH:-/nonexistent}" "${CUDA_HOME:-/nonexistent}" "" /usr/local/cuda /opt/cuda],
    [
#if CUDA_VERSION < 12000
#error "CUDA 12 or newer is needed"
#endif
])
AS_IF([test $lfuse_have_cuda = yes], [AC_DEFINE([HAVE_CUDA], [1], [Define to 1 to build the CUDA backend.])])
AM_CONDITIONAL([HAVE_CUDA], [test $lfuse_have_cuda = yes])
AC_SUBST([CUDA_CPPFLAGS], [$lfuse_cuda_cppflags])
