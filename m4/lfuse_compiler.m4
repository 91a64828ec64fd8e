# SPDX-License-Identifier: Apache-2.0

# LFUSE_TRY_CFLAG(VARIABLE, FLAG)
# -------------------------------
# Appends FLAG to VARIABLE where the C compiler takes it without a warning.
AC_DEFUN([LFUSE_TRY_CFLAG], [
AC_MSG_CHECKING([whether $CC takes $2])
lfuse_save_CFLAGS=$CFLAGS
CFLAGS="$CFLAGS -Werror $2"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes]); $1="$$1 $2"], [AC_MSG_RESULT([no])])
CFLAGS=$lfuse_save_CFLAGS
])

# LFUSE_WARNINGS
# --------------
# Sets LFUSE_CFLAGS: warnings, hidden symbols, and no contraction of a * b + c, which the promise of equal bits needs.
AC_DEFUN([LFUSE_WARNINGS], [
LFUSE_CFLAGS=
m4_foreach_w([lfuse_flag], [-fvisibility=hidden -ffp-contract=off -Wall -Wextra -Wshadow -Wstrict-prototypes
                            -Wmissing-prototypes],
             [LFUSE_TRY_CFLAG([LFUSE_CFLAGS], lfuse_flag)])
# Messages name a source by its place in the tree.
lfuse_prefix_map=
LFUSE_TRY_CFLAG([lfuse_prefix_map], [-fmacro-prefix-map=a=b])
AS_IF([test -n "$lfuse_prefix_map"], [LFUSE_CFLAGS="$LFUSE_CFLAGS -fmacro-prefix-map=\$(top_srcdir)/="])
AC_SUBST([LFUSE_CFLAGS])
])

# LFUSE_SANITIZERS
# ----------------
# --enable-sanitizers=LIST adds -fsanitize=LIST to every compilation and link.
AC_DEFUN([LFUSE_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [build everything with -fsanitize=LIST (address,undefined or thread)])],
    [], [enable_sanitizers=no])
AS_CASE([$enable_sanitizers], [yes], [enable_sanitizers=address,undefined], ["no,"*|""], [enable_sanitizers=no])
AS_IF([test "x$enable_sanitizers" != xno], [
    SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"
    AC_MSG_CHECKING([whether $CC links with $SANITIZER_FLAGS])
    # Of the stub's kernels: undefined behaviour is looked for in the library, and would double their compile time.
    lfuse_kernel_sanitizers=`echo ",$enable_sanitizers," | sed 's/,undefined,/,/; s/^,*//; s/,*$//'`
    # A call for each check is compiled in less time than the check itself, and few kernels run for long.
    AS_IF([test -n "$lfuse_kernel_sanitizers"],
          [KERNEL_SANITIZER_FLAGS="-fsanitize=$lfuse_kernel_sanitizers -fno-omit-frame-pointer"
           LFUSE_TRY_CFLAG([KERNEL_SANITIZER_FLAGS], [--param=asan-instrumentation-with-call-threshold=0])])
    CFLAGS="$CFLAGS $SANITIZER_FLAGS"
    CXXFLAGS="$CXXFLAGS $SANITIZER_FLAGS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
                   [AC_MSG_ERROR([--enable-sanitizers=$enable_sanitizers: $CC cannot link with them])])])
AC_SUBST([SANITIZER_FLAGS])
AC_SUBST([KERNEL_SANITIZER_FLAGS])
AC_SUBST([SANITIZERS], [$enable_sanitizers])
])

# LFUSE_PROG_CXX17
# ----------------
# Sets CXX17 to a C++ compiler that takes -std=c++17, or to nothing: only the test of the public headers wants one.
AC_DEFUN([LFUSE_PROG_CXX17], [
AC_MSG_CHECKING([for a C++17 compiler])
CXX17=
AS_IF([test -n "$CXX"], [
    AC_LANG_PUSH([C++])
    lfuse_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -std=c++17"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [CXX17=$CXX])
    CXXFLAGS=$lfuse_save_CXXFLAGS
    AC_LANG_POP([C++])])
AC_MSG_RESULT([${CXX17:-no}])
AC_SUBST([CXX17])
])

# LFUSE_CHECK_LIBRARY
# -------------------
# --with-check: the library that the tests are written with.
AC_DEFUN([LFUSE_CHECK_LIBRARY], [
AC_ARG_WITH([check],
    [AS_HELP_STRING([--with-check], [insist on Check, which the tests need (default: if found)])],
    [], [with_check=auto])
lfuse_have_check=no
AS_IF([test "x$with_check" = xno], [lfuse_check_summary="no (--without-check): make check will refuse"], [
    PKG_CHECK_MODULES([CHECK], [check >= 0.12],
        [lfuse_have_check=yes
         lfuse_check_summary="yes ($($PKG_CONFIG --modversion check))"],
        [AS_IF([test "x$with_check" != xauto],
               [AC_MSG_ERROR([--with-check: pkg-config finds no check >= 0.12 $CHECK_PKG_ERRORS])])
         lfuse_check_summary="no (Check not found): make check will refuse"])])
AM_CONDITIONAL([HAVE_CHECK], [test $lfuse_have_check = yes])
])
