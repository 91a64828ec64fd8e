#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make installcheck: a program is built against the installed tree by pkg-config and by CMake, and run.
# Arguments: the folder DESTDIR (may be empty), the prefix, libdir and bindir.
set -eu
destdir=$1 prefix=$2 libdir=$3 bindir=$4
program=$top_srcdir/tests/tree/installed.c
work=$(mktemp -d "${TMPDIR:-/tmp}/libfuse.XXXXXX")
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=$destdir$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PKG_CONFIG_PATH=$destdir$libdir/pkgconfig PKG_CONFIG_DISABLE_UNINSTALLED=1
export LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_DISABLE_UNINSTALLED

flags=$($PKG_CONFIG --define-variable=prefix="$destdir$prefix" --cflags --libs libfuse)
# shellcheck disable=SC2086 # lists of words
$CC $CFLAGS -o "$work/installed" "$program" $flags
version=$("$work/installed")
test "$version" = "$($PKG_CONFIG --modversion libfuse)"
echo "installed: $version through pkg-config"

"$destdir$bindir/lfuse-info" >/dev/null
"$destdir$bindir/lfuse-bench" --list >/dev/null
echo "installed: lfuse-info and lfuse-bench start"

if test -z "$destdir" && command -v cmake >/dev/null; then
    cat >"$work/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.13)
project(installed C)
find_package(libfuse ${version%.*} CONFIG REQUIRED)
find_package(libfuse CONFIG REQUIRED)
add_executable(with_cmake installed.c)
target_link_libraries(with_cmake libfuse::libfuse)
TEXT
    cp "$program" "$work"
    cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$CFLAGS" \
        -Dlibfuse_DIR="$libdir/cmake/libfuse" >"$work/log" 2>&1 && cmake --build "$work/build" >>"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
    "$work/build/with_cmake" >/dev/null
    echo "installed: $version through CMake"
fi
