/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <math.h>

/* ,"key":"text" */
static void text(FILE *out, const char *key, const char *value)
{
    fprintf(out, ",\"%s\":\"", key);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\') fprintf(out, "\\%c", *c);
        else if (*c < 0x20) fprintf(out, "\\u%04x", *c);
        else putc(*c, out);
    }
    putc('"', out);
}

/* JSON has no words for what is not finite. */
static void number(FILE *out, const char *key, double value)
{
    if (isfinite(value)) fprintf(out, ",\"%s\":%.9g", key, value);
    else fprintf(out, ",\"%s\":null", key);
}

void write_machine(FILE *out, const lfuse_device_info *info)
{
    fputs("{\"type\":\"machine\"", out);
    text(out, "device", info->name);
    text(out, "backend", info->backend);
    text(out, "product", info->product);
    text(out, "driver", info->driver);
    text(out, "compiler", info->compiler);
    text(out, "gemm", info->gemm);
    text(out, "library", lfuse_version_string());
    fputs("}\n", out);
}

void write_epoch(FILE *out, const lfuse_device_info *info, const char *network, int epoch, const double loss[2],
                 const double accuracy[2])
{
    fputs("{\"type\":\"epoch\",\"example\":\"train\"", out);
    text(out, "network", network);
    text(out, "device", info->name);
    fprintf(out, ",\"epoch\":%d", epoch);
    number(out, "loss", loss[0]);
    number(out, "accuracy", accuracy[0]);
    number(out, "held_loss", loss[1]);
    number(out, "held_accuracy", accuracy[1]);
    fputs("}\n", out);
}
