/* SPDX-License-Identifier: Apache-2.0 */
/* The names of statuses and types, and the sizes of types, as the public headers list them. */
#include "libfuse/status.h"
#include "libfuse/types.h"

/* A switch, because the numbers are part of the interface and a table would have to trust that they stay dense. */
const char *lfuse_status_name(lfuse_status status)
{
    switch (status) {
#define ROW(name, number, text)                                                                                        \
    case LFUSE_##name: return "LFUSE_" #name;
        LFUSE_STATUS_MAP(ROW)
#undef ROW
    }
    return "LFUSE_?";
}

const char *lfuse_status_text(lfuse_status status)
{
    switch (status) {
#define ROW(name, number, text)                                                                                        \
    case LFUSE_##name: return text;
        LFUSE_STATUS_MAP(ROW)
#undef ROW
    }
    return "unknown status";
}

const char *lfuse_type_name(lfuse_type type)
{
    switch (type) {
#define ROW(name, number, text, bytes)                                                                                 \
    case LFUSE_##name: return text;
        LFUSE_TYPE_MAP(ROW)
#undef ROW
    case LFUSE_TYPE_NONE: break;
    }
    return "?";
}

size_t lfuse_type_size(lfuse_type type)
{
    switch (type) {
#define ROW(name, number, text, bytes)                                                                                 \
    case LFUSE_##name: return bytes;
        LFUSE_TYPE_MAP(ROW)
#undef ROW
    case LFUSE_TYPE_NONE: break;
    }
    return 0;
}
