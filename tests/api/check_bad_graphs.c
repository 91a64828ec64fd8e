/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in graphs of views and reductions: refused with their own status when the plan is made. On the stub. */
#include "tests/api/rig.h"

/* y = f(x), for x f32 [n, 6], i i32 [6] and n from 0 on; each row is one mistake. */
typedef lfuse_value mistake(lfuse_value a, lfuse_value i, lfuse_size n);
#define MISTAKE(name, value)                                                                                           \
    static lfuse_value name(lfuse_value a, lfuse_value i, lfuse_size n)                                                \
    {                                                                                                                  \
        (void)a, (void)i, (void)n;                                                                                     \
        return value;                                                                                                  \
    }
static lfuse_value first_part(lfuse_value a, int count, const lfuse_size *sizes)
{
    lfuse_value parts[4];
    lfuse_split(a, 1, count, sizes, parts);
    return parts[0];
}
static lfuse_value too_many(lfuse_value v)
{
    for (int i = 0; i < 70000; i++) v = lfuse_neg(v);
    return v;
}
static lfuse_value of_another_graph(lfuse_value a)
{
    lfuse_graph *strange = new_graph();
    const lfuse_value both[2] = {a, lfuse_input(strange, "x", F32(1, 6))};
    return lfuse_concat(2, both, 0);
}
MISTAKE(axis_range, lfuse_sum(a, 1, (const int[]){2}, 0))
MISTAKE(axis_below, lfuse_softmax(a, 1, (const int[]){-3}))
MISTAKE(axis_twice, lfuse_var(a, 2, (const int[]){1, -1}, 1, 0))
MISTAKE(reshape_literal, lfuse_reshape(i, SHAPE(4, 2)))
MISTAKE(reshape_symbolic, lfuse_reshape(a, SHAPE(n, 7)))
MISTAKE(reshape_open, lfuse_reshape(i, SHAPE(4, LFUSE_REST)))
MISTAKE(step_zero, lfuse_slice(a, 1, 0, 1, 0))
MISTAKE(step_back, lfuse_slice(a, 1, 0, 2, -1))
MISTAKE(slice_range, lfuse_slice(a, 1, 5, 2, 1))
MISTAKE(slice_variable, lfuse_slice(a, 0, 0, 1, 1))
MISTAKE(split_sizes, first_part(a, 2, LFUSE_DIMS(3, 4)))
MISTAKE(concat_shapes, lfuse_concat(2, (const lfuse_value[]){a, lfuse_slice(a, 1, 0, 5, 1)}, 0))
MISTAKE(concat_types, lfuse_concat(2, (const lfuse_value[]){a, lfuse_cast(a, LFUSE_F16)}, 0))
MISTAKE(concat_ranks, lfuse_concat(2, (const lfuse_value[]){lfuse_cast(a, LFUSE_I32), i}, 0))
MISTAKE(index_type, lfuse_gather(a, lfuse_cast(i, LFUSE_F32)))
MISTAKE(index_rank, lfuse_gather(lfuse_sum(a, LFUSE_ALL_AXES, NULL, 0), i))
MISTAKE(scatter_rows, lfuse_scatter_add(a, i, 3))
MISTAKE(empty_literal, lfuse_amax(lfuse_slice(a, 1, 0, 0, 1), 1, (const int[]){1}, 0))
MISTAKE(weight_shape, lfuse_layernorm(a, 1, lfuse_slice(lfuse_cast(i, LFUSE_F32), 0, 0, 5, 1), lfuse_none(), 1e-5))
MISTAKE(group_count, lfuse_groupnorm(a, 4, lfuse_none(), lfuse_none(), 1e-5))
MISTAKE(integer_mean, lfuse_mean(i, LFUSE_ALL_AXES, NULL, 0))
MISTAKE(values_without_end, too_many(a))
MISTAKE(foreign_part, of_another_graph(a))

static const struct {
    mistake *make;
    lfuse_status status;
    const char *words;
} mistakes[] = {
    {axis_range, LFUSE_ERR_SHAPE, "lfuse_sum: axis 2 of rank 2"},
    {axis_below, LFUSE_ERR_SHAPE, "lfuse_softmax: axis -3 of rank 2"},
    {axis_twice, LFUSE_ERR_SHAPE, "lfuse_var: axis 1 is named twice"},
    {reshape_literal, LFUSE_ERR_SHAPE, "i32 [6] does not have as many elements as [4, 2]"},
    {reshape_symbolic, LFUSE_ERR_SHAPE, "f32 [n, 6] does not have as many elements as [n, 7]"},
    {reshape_open, LFUSE_ERR_SHAPE, "i32 [6] does not fit into [4, -1], whatever extent 1 is"},
    {step_zero, LFUSE_ERR_INVALID, "lfuse_slice: the step is 0"},
    {step_back, LFUSE_ERR_SHAPE, "2 elements from 0 on in steps of -1 leave axis 1 of f32 [n, 6]"},
    {slice_range, LFUSE_ERR_SHAPE, "2 elements from 5 on in steps of 1 leave axis 1 of f32 [n, 6]"},
    {slice_variable, LFUSE_ERR_SHAPE, "1 elements from 0 on in steps of 1 may leave axis 0 of f32 [n, 6]"},
    {split_sizes, LFUSE_ERR_SHAPE, "lfuse_split: 2 parts of together 7 elements of axis 1 of f32 [n, 6]"},
    {concat_shapes, LFUSE_ERR_SHAPE, "f32 [n, 6] and f32 [n, 5]"},
    {concat_types, LFUSE_ERR_TYPE, "f32 [n, 6] and f16 [n, 6]"},
    {concat_ranks, LFUSE_ERR_RANK, "i32 [n, 6] and i32 [6]"},
    {index_type, LFUSE_ERR_TYPE, "indices are i32 or i64, not f32"},
    {index_rank, LFUSE_ERR_RANK, "a table of rank 0 has no rows"},
    {scatter_rows, LFUSE_ERR_SHAPE, "f32 [n, 6] does not begin with the shape of the indices i32 [6]"},
    {empty_literal, LFUSE_ERR_SHAPE, "lfuse_amax: axis 1 of f32 [n, 0] is empty"},
    {weight_shape, LFUSE_ERR_SHAPE, "the weight is f32 [5], where [6] is needed"},
    {group_count, LFUSE_ERR_SHAPE, "axis 1 of f32 [n, 6] does not divide into 4 groups"},
    {integer_mean, LFUSE_ERR_TYPE, "lfuse_mean: does not take type i32"},
    {values_without_end, LFUSE_ERR_OVERFLOW, "more than 65536 values"},
    {foreign_part, LFUSE_ERR_INVALID, "lfuse_concat: operand 2 belongs to another graph"},
};

TEST_CASE("bad graphs", .setup = setup, .teardown = teardown)

/* The plan reports the mistake; what was made before and after it in the graph changes nothing. */
TEST(views_and_reductions)
{
    uint64_t before = launches();
    for (size_t k = 0; k < sizeof mistakes / sizeof mistakes[0]; k++) {
        lfuse_plan *p = NULL;
        lfuse_graph *g = new_graph();
        lfuse_size n = lfuse_size_var(g, "n", 0, 9);
        lfuse_value a = lfuse_input(g, "x", F32(n, 6));
        lfuse_value i = lfuse_input(g, "i", I32(6));
        lfuse_output(g, "fine", lfuse_relu(a));
        lfuse_output(g, "y", mistakes[k].make(a, i, n));
        lfuse_output(g, "fine too", lfuse_flip(a, LFUSE_ALL_AXES, NULL));
        FAILS(mistakes[k].status, lfuse_plan_create(device, g, NULL, &p));
        ck_assert_msg(strstr(lfuse_last_error(), mistakes[k].words), "%s instead of %s", lfuse_last_error(),
                      mistakes[k].words);
        ck_assert_ptr_null(p);
    }
    ck_assert_uint_eq(launches(), before);
}

/* What has no identity is refused for the sizes that leave it nothing, and runs for others. */
TEST(empty_reductions)
{
    lfuse_graph *g = new_graph();
    lfuse_size n = lfuse_size_var(g, "n", 0, 9);
    lfuse_value a = lfuse_input(g, "x", F32(4, n));
    lfuse_output(g, "max", lfuse_amax(a, 1, (const int[]){1}, 0));
    lfuse_output(g, "sum", lfuse_sum(a, 1, (const int[]){1}, 0));
    lfuse_plan *p = new_plan(device, g, NULL);
    lfuse_tensor *none = tensor(F32(4, 0)), *some = tensor(F32(4, 3)), *max = tensor(F32(4)), *sum = tensor(F32(4));
    float host[4];
    uint64_t before = launches();
    lfuse_binding b[3] = {BIND("x", none), BIND("max", max), BIND("sum", sum)};
    SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(p, stream, b, 3), "axis 1 has the extent 0");
    ck_assert_uint_eq(launches(), before);
    OK(lfuse_tensor_fill(some, NULL, 2));
    b[0] = BIND("x", some);
    OK(lfuse_plan_run(p, stream, b, 3));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(max, NULL, host));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(host[i], 2);
    OK(lfuse_tensor_read(sum, NULL, host));
    for (int i = 0; i < 4; i++) ck_assert_float_eq(host[i], 6);
}

TEST_SUITE("bad graphs", CK_NOFORK)
