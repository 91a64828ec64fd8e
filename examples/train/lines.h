/* SPDX-License-Identifier: Apache-2.0 */
/* The losses as JSON, an object a line, which lfuse-bench --report draws. */
#ifndef EXAMPLES_TRAIN_LINES_H
#define EXAMPLES_TRAIN_LINES_H

#include <libfuse.h>

#include <stdio.h>

/* What the device is: this line stands before those of its epochs. */
void write_machine(FILE *out, const lfuse_device_info *info);
/* The losses after an epoch, and which part of the images is read rightly: of training, and held out. */
void write_epoch(FILE *out, const lfuse_device_info *info, const char *network, int epoch, const double loss[2],
                 const double accuracy[2]);

#endif
