#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, as C11 and as C++17, without a warning.
. "$top_srcdir/tests/tree/tap.sh"

warnings="-Wall -Wextra -Werror -pedantic -Wno-c99-extensions"
cd "$top_srcdir/include" || exit 1
for header in libfuse.h libfuse/*.h; do
    echo "#include <$header>" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cc"
    ok "$header as C11" $CC -std=c11 $warnings -I. -fsyntax-only "$work/alone.c"
    if test -n "$CXX17"; then
        ok "$header as C++17" $CXX17 -std=c++17 $warnings -I. -fsyntax-only "$work/alone.cc"
    else
        skip "$header as C++17" "no C++17 compiler"
    fi
done
done_testing
