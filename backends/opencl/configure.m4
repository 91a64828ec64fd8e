# SPDX-License-Identifier: Apache-2.0
# --with-opencl, --with-clblast: headers alone; the OpenCL loader and CLBlast are loaded at run time.
AC_ARG_WITH([opencl],
    [AS_HELP_STRING([--with-opencl@<:@=DIR@:>@], [build the OpenCL backend, headers in DIR/include
                     (default: if found)])],
    [], [with_opencl=auto])
AC_ARG_WITH([clblast],
    [AS_HELP_STRING([--with-clblast@<:@=DIR@:>@], [use CLBlast for products on OpenCL, headers in DIR/include
                     (default: if found)])],
    [], [with_clblast=auto])

# All names of the newest version are wanted from the headers, whatever the devices turn out to have.
OPENCL_VERSION_FLAG=-DCL_TARGET_OPENCL_VERSION=300
lfuse_opencl_save_CPPFLAGS=$CPPFLAGS
CPPFLAGS="$CPPFLAGS $OPENCL_VERSION_FLAG"
LFUSE_HEADERS([opencl], [$with_opencl], [CL/cl.h],
    ["" /usr/local "${CUDA_PATH:-/nonexistent}" "${CUDA_HOME:-/nonexistent}" /usr/local/cuda /opt/cuda],
    [
#ifndef CL_VERSION_3_0
#error "headers of OpenCL 3.0 are needed"
#endif
])
AS_IF([test $lfuse_have_opencl = yes], [
    CPPFLAGS="$CPPFLAGS $lfuse_opencl_cppflags"
    LFUSE_HEADERS([clblast], [$with_clblast], [clblast_c.h], ["" /usr/local], [])
], [
    AS_CASE([$with_clblast], [no|auto], [], [AC_MSG_ERROR([--with-clblast needs the OpenCL backend])])
    lfuse_have_clblast=no
    lfuse_clblast_summary="no (it needs the OpenCL backend)"
])
CPPFLAGS=$lfuse_opencl_save_CPPFLAGS
AS_IF([test $lfuse_have_opencl = yes], [AC_DEFINE([HAVE_OPENCL], [1], [Define to 1 to build the OpenCL backend.])])
AS_IF([test $lfuse_have_clblast = yes], [AC_DEFINE([HAVE_CLBLAST], [1], [Define to 1 to use CLBlast.])])
AM_CONDITIONAL([HAVE_OPENCL], [test $lfuse_have_opencl = yes])
AM_CONDITIONAL([HAVE_CLBLAST], [test $lfuse_have_clblast = yes])
AC_SUBST([OPENCL_CPPFLAGS], ["$OPENCL_VERSION_FLAG $lfuse_opencl_cppflags"])
AC_SUBST([CLBLAST_CPPFLAGS], [$lfuse_clblast_cppflags])
