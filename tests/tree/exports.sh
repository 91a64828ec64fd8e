#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the library exports, what it is called and what it loads at start.
. "$top_srcdir/tests/tree/tap.sh"

if ! shared; then
    skip "what the library exports and loads" "no shared library was built"
    done_testing
    exit 0
fi
library=$top_builddir/.libs/libfuse-gpu.so.0
$NM -D --defined-only "$library" >"$work/symbols" || exit 1
awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' "$work/symbols" | sort -u >"$work/exported"
grep -v '^#' "$top_srcdir/tests/data/fuse-names.txt" | sort -u >"$work/fuse"
sed -n 's/.*LFUSE_API.*[ *]\(lfuse_[a-z0-9_]*\)(.*/\1/p' "$top_srcdir"/include/libfuse/*.h | sort -u >"$work/declared"

exports_something() { test -s "$work/exported"; }
ours_alone() { ! grep -v '^lfuse_[a-z]' "$work/exported"; }
none_of_fuse() { test -z "$(comm -12 "$work/exported" "$work/fuse" | tee /dev/stderr)"; }
as_declared() { diff "$work/declared" "$work/exported"; }
versioned() { ! grep ' [TDBRVW] ' "$work/symbols" | grep -v '@@LFUSE_0$'; }
soname() { objdump -p "$library" | grep 'SONAME *libfuse-gpu\.so\.0$'; }
# The C library and what the compiler itself brings.
libc_alone()
{
    ! objdump -p "$library" | sed -n 's/^ *NEEDED *//p' |
        grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*|libgcc_s|lib[atu]+b?san)\.so'
}
no_vendor() { ! ldd "$library" | grep -E 'libcuda|libnvrtc|libcublas|libcudart|libOpenCL|libclblast'; }

ok "names are exported" exports_something
ok "exported names begin with lfuse_ and a letter" ours_alone
ok "no exported name is one of FUSE's" none_of_fuse
ok "every function of the public headers is exported, and nothing else" as_declared
ok "names carry the version LFUSE_0" versioned
if command -v objdump >/dev/null; then
    ok "the soname is libfuse-gpu.so.0" soname
    ok "the library needs the C library alone" libc_alone
else
    skip "the soname and the needed libraries" "no objdump"
fi
ok "ldd shows no vendor's library" no_vendor
done_testing
