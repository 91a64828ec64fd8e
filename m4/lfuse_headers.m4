# SPDX-License-Identifier: Apache-2.0

# LFUSE_HEADERS(NAME, ARGUMENT, HEADERS, FOLDERS, BODY)
# -----------------------------------------------------
# Looks for what an optional part needs to be built: headers only, since its libraries are loaded at run time.
# ARGUMENT is --with-NAME's: "no" leaves the part out, "auto" tries, "yes" and a folder insist. A folder DIR means
# DIR/include alone; otherwise the compiler's own search path and FOLDERS/include are tried, in this order: folders
# that the user named in the environment, the compiler's path, well-known folders. FOLDERS is a shell list in which
# "" stands for the compiler's path. BODY is a program that must compile after the headers.
# Sets lfuse_have_NAME (yes, no), lfuse_NAME_cppflags and lfuse_NAME_summary.
AC_DEFUN([LFUSE_HEADERS], [
lfuse_have_$1=no
lfuse_$1_cppflags=
AS_CASE([$2],
    [no], [lfuse_$1_summary="no (--without-$1)"; lfuse_folders=none],
    [yes|auto], [lfuse_folders='$4'],
    [lfuse_folders="\"$2\""])
AS_IF([test "x$lfuse_folders" != xnone], [
    AC_MSG_CHECKING([for $3])
    lfuse_save_CPPFLAGS=$CPPFLAGS
    eval "set x $lfuse_folders"; shift
    for lfuse_folder
    do
        AS_IF([test -n "$lfuse_folder"],
            [AS_IF([test -d "$lfuse_folder/include"], [], [continue])
             lfuse_flags="-idirafter $lfuse_folder/include"], [lfuse_flags=])
        CPPFLAGS="$lfuse_save_CPPFLAGS $lfuse_flags"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([m4_foreach_w([lfuse_header], [$3], [
@%:@include <lfuse_header>])], [$5])],
            [lfuse_have_$1=yes
             lfuse_$1_cppflags=$lfuse_flags
             lfuse_$1_place=${lfuse_folder:-"the compiler's search path"}
             break])
    done
    CPPFLAGS=$lfuse_save_CPPFLAGS
    AS_IF([test $lfuse_have_$1 = yes],
        [AC_MSG_RESULT([in $lfuse_$1_place])
         lfuse_$1_summary="yes (headers in $lfuse_$1_place)"],
        [AC_MSG_RESULT([no])
         AS_CASE([$2],
             [auto], [lfuse_$1_summary="no ($3 not found; --with-$1=DIR)"],
             [yes], [AC_MSG_ERROR([--with-$1: $3 not found, or too old, in the usual folders; give --with-$1=DIR])],
             [AC_MSG_ERROR([--with-$1=$2: $3 not found, or too old, in $2/include])])])
])
])
