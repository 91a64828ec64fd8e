/* SPDX-License-Identifier: Apache-2.0 */
/* What messages of refusals say: the object, what it is and what it should be, in numbers. On the stub. */
#include "tests/api/rig.h"

#define SAYS(call, status, words)                                                                                      \
    do {                                                                                                               \
        REFUSED(call, status);                                                                                         \
        ck_assert_msg(strstr(lfuse_last_error(), words), "%s: \"%s\" lacks \"%s\"", #call, lfuse_last_error(), words); \
    } while (0)

TEST_CASE("words and numbers", .setup = setup, .teardown = teardown)

TEST(context)
{
    static float host[32];
    lfuse_tensor *strange[2] = {x, foreign}, *c;
    lfuse_instance *instance;
    lfuse_list *list;
    lfuse_binding b[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", y)};
    static const char plan_words[] = "the plan is of device stub:0, the stream of another handle (stub:1)";
    static const char tensor_words[] = "the tensor is of device stub:0, the stream of another handle (stub:1)";
    SAYS(lfuse_plan_run(plan, other_stream, b, 2), LFUSE_ERR_CONTEXT, plan_words);
    SAYS(lfuse_instance_create(plan, other_stream, b, 2, &instance), LFUSE_ERR_CONTEXT, plan_words);
    SAYS(lfuse_tensor_write(x, other_stream, host), LFUSE_ERR_CONTEXT, tensor_words);
    SAYS(lfuse_tensor_read(x, other_stream, host), LFUSE_ERR_CONTEXT, tensor_words);
    SAYS(lfuse_tensor_fill(x, other_stream, 0), LFUSE_ERR_CONTEXT, tensor_words);
    SAYS(lfuse_list_create(device, LFUSE_F32, 2, strange, &list), LFUSE_ERR_CONTEXT,
         "member 1 is of another device handle (stub:1, not stub:0)");
    b[0] = lfuse_bind_tensor("x", foreign);
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_CONTEXT, "\"x\" lies on device stub:1, the plan is of stub:0");
    c = new_tensor(other, LFUSE_F32, 2, LFUSE_DIMS(4, 4));
    SAYS(lfuse_gemm(stream, 0, 0, 1, c, c, 0, c), LFUSE_ERR_CONTEXT, "\"a\" lies on device stub:1");
    drop(c);
    lfuse_event *event = new_event(device);
    SAYS(lfuse_event_record(event, other_stream), LFUSE_ERR_CONTEXT,
         "the event is of device stub:0, the stream of another handle (stub:1)");
}

TEST(invalid)
{
    lfuse_device_info info;
    lfuse_tensor *members[2] = {x, y};
    lfuse_list *list;
    char words[64];
    int n;
    OK(lfuse_device_count(&n));
    snprintf(words, sizeof words, "device index %d is not in 0 ... %d", n, n - 1);
    SAYS(lfuse_device_describe(n, &info), LFUSE_ERR_INVALID, words);
    snprintf(words, sizeof words, "device index -7 is not in 0 ... %d", n - 1);
    SAYS(lfuse_device_describe(-7, &info), LFUSE_ERR_INVALID, words);
    SAYS(lfuse_plan_run(plan, stream, NULL, 2), LFUSE_ERR_INVALID, "2 bindings at ");
    SAYS(lfuse_list_create(device, LFUSE_F32, -3, members, &list), LFUSE_ERR_INVALID, "a list of -3 members");
    list = new_list(device, LFUSE_F32, 2, members);
    SAYS(lfuse_list_replace(list, 1, 2, members), LFUSE_ERR_INVALID, "members [1, +2) of a list of 2");
    drop(list);
    SAYS(lfuse_stream_synchronize(NULL), LFUSE_ERR_INVALID, "stream is NULL");
    SAYS(lfuse_tensor_write(x, NULL, NULL), LFUSE_ERR_INVALID, "NULL");
}

TEST(shapes)
{
    lfuse_tensor *t, *wide = tensor(LFUSE_F32, 2, LFUSE_DIMS(17, 8)), *wide_y = tensor(LFUSE_F32, 2, LFUSE_DIMS(17, 8));
    lfuse_tensor *thin = tensor(LFUSE_F32, 2, LFUSE_DIMS(4, 7)), *flat = tensor(LFUSE_F32, 1, LFUSE_DIMS(32));
    lfuse_binding b[2] = {lfuse_bind_tensor("x", wide), lfuse_bind_tensor("y", wide_y)};
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_BOUNDS, "size \"batch\" is 17 by x, out of its bounds 2 ... 16");
    b[0] = lfuse_bind_tensor("x", thin), b[1] = lfuse_bind_tensor("y", y);
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_SHAPE, "\"x\" has the shape [4 x 7], not [4 x 8]");
    b[0] = lfuse_bind_tensor("x", flat);
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_RANK, "\"x\" has rank 1, not 2");
    SAYS(lfuse_tensor_copy(x, flat, NULL), LFUSE_ERR_RANK, "from rank 1 to rank 2");
    SAYS(lfuse_tensor_create(device, LFUSE_F32, 9, LFUSE_DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1), &t), LFUSE_ERR_RANK,
         "rank 9 is not in 0 ... 8");
    SAYS(lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS(-5), &t), LFUSE_ERR_SHAPE, "axis 0 has extent -5");
    SAYS(lfuse_tensor_view(x, 1, LFUSE_DIMS(33), NULL, 0, &t), LFUSE_ERR_SHAPE,
         "the view needs 132 bytes, its memory has 128");
    SAYS(lfuse_tensor_create(device, LFUSE_F64, 1, LFUSE_DIMS(INT64_MAX / 4), &t), LFUSE_ERR_OVERFLOW,
         "2305843009213693951 elements of f64");
    SAYS(lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS((int64_t)1 << 45), &t), LFUSE_ERR_DEVICE_MEMORY,
         "stub:0: 140737488355328 bytes asked for");
}

TEST(bindings)
{
    lfuse_binding b[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("x", x)};
    SAYS(lfuse_plan_run(plan, stream, b, 1), LFUSE_ERR_BINDING, "nothing is bound to \"y\", an output");
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_BINDING, "\"x\" is bound twice, the second time by binding 1");
    b[1] = lfuse_bind_tensor("z", y);
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_NAME, "binding 1: the graph has no name \"z\"");
    b[1] = lfuse_bind_tensor("y", x);
    SAYS(lfuse_plan_run(plan, stream, b, 2), LFUSE_ERR_OVERLAP, "\"y\", which is written, overlaps \"x\": bytes ");
}

TEST_SUITE("messages", CK_NOFORK)
