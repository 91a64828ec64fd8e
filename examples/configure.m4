# SPDX-License-Identifier: Apache-2.0
# zlib reads the example's data set; the library itself does not use it.
AC_ARG_WITH([zlib], [AS_HELP_STRING([--with-zlib], [build examples/digits, which needs zlib (default: try)])],
            [], [with_zlib=auto])
lfuse_have_zlib=no
AS_IF([test "x$with_zlib" != xno],
      [AC_CHECK_HEADER([zlib.h], [AC_CHECK_LIB([z], [gzgets], [lfuse_have_zlib=yes])])])
AS_IF([test "x$with_zlib" = xyes && test $lfuse_have_zlib = no],
      [AC_MSG_ERROR([--with-zlib was given, but zlib.h or libz is missing (Debian package: zlib1g-dev)])])
AM_CONDITIONAL([HAVE_ZLIB], [test $lfuse_have_zlib = yes])
