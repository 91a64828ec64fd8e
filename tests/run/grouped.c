/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of matrices and their products on the rig's device. */
#include "tests/run/grouped.h"

/* Numbers that are whole and small, so that sums are exact; with `odd`, fractions that round. */
grouped_lists grouped_set(int count, const grouped_shape *shapes, int start, bool odd)
{
    grouped_lists s = { .count = count };

    for (int m = 0; m < count; m++) {
        float host[4096];
        s.t[m] = tensor(shapes[m].rank, shapes[m].extents);
        ck_assert_int_le(lfuse_tensor_elements(s.t[m]), 4096);
        for (int64_t i = 0; i < lfuse_tensor_elements(s.t[m]); i++) {
            const float whole = (float)((i * 7 + m + start) % 11 - 5);
            host[i] = odd ? whole / 3 : whole;
        }
        OK(lfuse_tensor_write(s.t[m], NULL, host));
    }
    s.list = new_list(dev, LFUSE_F32, count, s.t);
    return s;
}

void grouped_check_transposed(const lfuse_tensor *a, const lfuse_tensor *b, bool transposed, const lfuse_tensor *c,
                              int64_t m, int64_t n, int64_t k)
{
    float *x = malloc(((size_t)(m * k) + 1) * sizeof *x), *y = malloc(((size_t)(k * n) + 1) * sizeof *y);

    memcpy(x, values(a), (size_t)(m * k) * sizeof *x);
    memcpy(y, values(b), (size_t)(k * n) * sizeof *y);
    const float *z = values(c);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++) sum = fmaf(x[i * k + l], y[transposed ? j * k + l : l * n + j], sum);
            ck_assert_msg(z[i * n + j] == sum, "%lld x %lld x %lld: %.9g at %lld, %lld, not %.9g", (long long)m,
                          (long long)n, (long long)k, (double)z[i * n + j], (long long)i, (long long)j, (double)sum);
        }
    free(y);
    free(x);
}

void grouped_check(const lfuse_tensor *a, const lfuse_tensor *b, const lfuse_tensor *c, int64_t m, int64_t n,
                   int64_t k)
{
    grouped_check_transposed(a, b, false, c, m, n, k);
}

lfuse_graph *grouped_transposed_graph(bool transposed)
{
    lfuse_graph *graph = new_graph();

    const lfuse_value a = lfuse_list_input(graph, "a", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value b = lfuse_list_input(graph, "b", LFUSE_F32, LFUSE_RANK_MATRIX);
    lfuse_output(graph, "c", lfuse_member_matmul(a, 0, b, transposed));
    return graph;
}

lfuse_graph *grouped_graph(void)
{
    return grouped_transposed_graph(false);
}

lfuse_plan *grouped_plan(lfuse_graph *graph, lfuse_transport transport)
{
    const lfuse_plan_options options = { .transport = transport };

    return new_plan(dev, graph, &options);
}

void grouped_fails(const grouped_lists *a, const grouped_lists *b, lfuse_list *c, lfuse_status status,
                   const char *words)
{
    lfuse_graph *graph = grouped_graph();
    lfuse_plan *plan = grouped_plan(graph, LFUSE_TRANSPORT_DEFAULT);

    FAILS(status, lfuse_plan_run(plan, stream, BINDINGS(BIND("a", a->list), BIND("b", b->list), BIND("c", c))));
    ck_assert_msg(strstr(lfuse_last_error(), words), "%s has no %s", lfuse_last_error(), words);
}
