/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/step_product.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"

typedef double two __attribute__((vector_size(16)));
enum { MOST_THREADS = 32, ROWS = 4, COLUMNS = 4, BLOCK = 32 /* columns of b that a task copies together */ };

typedef struct sharing {
    int64_t count;
    void (*task)(void *context, int64_t i);
    void *context;
    atomic_llong next;
} sharing;

static void *take_tasks(void *pointer)
{
    sharing *s = pointer;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->count;) s->task(s->context, i);
    return NULL;
}

void bench_in_threads(int64_t count, void (*task)(void *context, int64_t i), void *context)
{
    pthread_t threads[MOST_THREADS];
    sharing s = {.count = count, .task = task, .context = context};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < MOST_THREADS && started + 1 < cores && started + 1 < count &&
           !pthread_create(&threads[started], NULL, take_tasks, &s))
        started++;
    take_tasks(&s);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

typedef struct multiplication {
    int64_t m, n, k;
    bench_matrix a, b;
    double *c;
    atomic_bool failed; /* no memory */
} multiplication;

/* `wide` lines of k elements, as a row of so many for each of the k; zeros where there are no more than `lines`. */
static void pack(bench_matrix from, int64_t first, int64_t lines, int wide, int64_t k, double *to)
{
    for (int64_t p = 0; p < k; p++)
        for (int s = 0; s < wide; s++)
            to[p * wide + s] = first + s < lines ? from.at[(first + s) * from.row + p * from.column] : 0;
}

/* ROWS rows by COLUMNS columns stay in registers over all of k. */
static void multiply(int64_t k, const double *a, const double *b, double (*c)[COLUMNS])
{
    two sums[ROWS][2];
    memset(sums, 0, sizeof sums);
    for (int64_t p = 0; p < k; p++) {
        two w[2];
        memcpy(w, b + p * BLOCK, sizeof w);
        for (int r = 0; r < ROWS; r++) {
            const two x = {a[p * ROWS + r], a[p * ROWS + r]};
            sums[r][0] += x * w[0];
            sums[r][1] += x * w[1];
        }
    }
    memcpy(c, sums, sizeof sums);
}

static void store(const multiplication *p, int64_t row, int64_t column, double (*c)[COLUMNS])
{
    for (int r = 0; r < ROWS && row + r < p->m; r++)
        for (int s = 0; s < COLUMNS && column + s < p->n; s++) p->c[(row + r) * p->n + column + s] = c[r][s];
}

/* One block of columns of the result. */
static void multiply_block(void *context, int64_t block)
{
    multiplication *p = context;
    const int64_t column = block * BLOCK;
    const bench_matrix columns = {p->b.at, p->b.column, p->b.row};
    double c[ROWS][COLUMNS], *panel = malloc((size_t)p->k * (BLOCK + ROWS) * sizeof *panel + 1);
    if (!panel) {
        atomic_store(&p->failed, true);
        return;
    }
    double *rows = panel + p->k * BLOCK;
    pack(columns, column, p->n, BLOCK, p->k, panel);
    for (int64_t row = 0; row < p->m; row += ROWS) {
        pack(p->a, row, p->m, ROWS, p->k, rows);
        for (int64_t s = 0; s < BLOCK && column + s < p->n; s += COLUMNS) {
            multiply(p->k, rows, panel + s, c);
            store(p, row, column + s, c);
        }
    }
    free(panel);
}

lfuse_status bench_product(int64_t m, int64_t n, int64_t k, bench_matrix a, bench_matrix b, double *c)
{
    multiplication p = {.m = m, .n = n, .k = k, .a = a, .b = b, .c = c};
    bench_in_threads((n + BLOCK - 1) / BLOCK, multiply_block, &p);
    if (atomic_load(&p.failed)) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a product of doubles");
    return LFUSE_OK;
}
