/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/json.h"

void json_string(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c < 0x20) fprintf(out, "\\u%04x", *c);
        else putc(*c, out);
    }
    putc('"', out);
}

void json_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    json_string(out, text);
}
