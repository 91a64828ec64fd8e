/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled and run by make installcheck against the installed tree: header and library are of one version. */
#include <libfuse.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    if (lfuse_version() != LFUSE_VERSION || strcmp(lfuse_version_string(), LFUSE_VERSION_STRING)) {
        fprintf(stderr, "headers of %s, library of %s\n", LFUSE_VERSION_STRING, lfuse_version_string());
        return 1;
    }
    puts(lfuse_version_string());
    return 0;
}
