#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installing into a folder where FUSE's libfuse.so is already: it stays, on installing and on uninstalling.
. "$top_srcdir/tests/tree/tap.sh"

if ! shared; then
    skip "installing beside FUSE's libfuse.so" "no shared library was built"
    done_testing
    exit 0
fi
lib=$work$(sed -n 's/^libdir *= *//p' "$top_builddir/libfuse.pc" | sed "s|\${exec_prefix}|\${prefix}|")
prefix=$(sed -n 's/^prefix=//p' "$top_builddir/libfuse.pc")
lib=$(printf '%s\n' "$lib" | sed "s|\${prefix}|$prefix|")
run_make() { (cd "$top_builddir" && unset MAKEFLAGS MAKELEVEL MFLAGS && ${MAKE:-make} "$@" DESTDIR="$work"); }
is_ours() { readlink "$lib/libfuse.so" | grep '^libfuse-gpu\.so\.'; }
is_theirs() { test "$(readlink "$lib/libfuse.so")" = libfuse.so.2.9.9; }
both_names() { test -f "$lib/libfuse-gpu.so.0" && test -f "$lib/libfuse-gpu.so"; }
nothing_left() { ! find "$work$prefix" -name '*libfuse*' ! -name libfuse.so ! -path '*/tests/*' | grep .; }

mkdir -p "$lib" && : >"$lib/libfuse.so.2.9.9" && ln -s libfuse.so.2.9.9 "$lib/libfuse.so"
ok "make install beside FUSE" run_make install
ok "FUSE's libfuse.so is as it was" is_theirs
ok "libfuse-gpu.so is there" both_names
ok "make uninstall" run_make uninstall
ok "FUSE's libfuse.so is still as it was" is_theirs
rm -f "$lib/libfuse.so" "$lib/libfuse.so.2.9.9"
ok "make install alone" run_make install
grep -q '^enable_libfuse_link=no' "$top_builddir/config.log" || ok "libfuse.so is ours" is_ours
ok "make install again" run_make install
ok "both names link" both_names
ok "make uninstall again" run_make uninstall
ok "nothing is left" nothing_left
done_testing
