/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of products on CPUs, for product_panels.c and product_panels_parts.c alone. `name` begins the names. */
#ifndef COMMON_KERNELS_PRODUCT_PANELS_H
#define COMMON_KERNELS_PRODUCT_PANELS_H

#include "common/kernels/product.h"

enum { LFUSE__PANEL_LANES = 16 };

/* name_a(a, lda, rows, depth, to) and name_b(b, ldb, count, depth, to) */
void lfuse__put_pack_a(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c);
void lfuse__put_pack_b(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c);
/* name_suffix(a, b, step, depth, first, to) */
void lfuse__put_multiply(lfuse__strbuf *out, const char *name, const char *suffix, int rows,
                         const lfuse__product_class *p);
/* name_d(a, lda, b, ldb, rows, count, depth, first, to) */
void lfuse__put_dots(lfuse__strbuf *out, const char *name, const lfuse__product_class *p);

#endif
