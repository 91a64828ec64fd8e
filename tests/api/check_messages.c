/* SPDX-License-Identifier: Apache-2.0 */
/* What messages of refusals say: the object, what it is and what it should be, in numbers. On the stub. */
#include "tests/api/rig.h"

TEST_CASE("words and numbers", .setup = setup, .teardown = teardown)

TEST(context)
{
    static float host[32];
    lfuse_tensor *strange[2] = {x, foreign}, *c;
    lfuse_instance *instance;
    lfuse_list *list;
    lfuse_binding b[2] = {BIND("x", x), BIND("y", y)};
    static const char plan_words[] = "the plan is of device stub:0, the stream of another handle (stub:1)";
    static const char tensor_words[] = "the tensor is of device stub:0, the stream of another handle (stub:1)";
    SAYS(LFUSE_ERR_CONTEXT, lfuse_plan_run(plan, other_stream, b, 2), plan_words);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_instance_create(plan, other_stream, b, 2, &instance), plan_words);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_tensor_write(x, other_stream, host), tensor_words);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_tensor_read(x, other_stream, host), tensor_words);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_tensor_fill(x, other_stream, 0), tensor_words);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_list_create(device, LFUSE_F32, 2, strange, &list),
         "member 1 is of another device handle (stub:1, not stub:0)");
    b[0] = BIND("x", foreign);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_plan_run(plan, stream, b, 2), "\"x\" lies on device stub:1, the plan is of stub:0");
    c = new_tensor(other, F32(4, 4));
    SAYS(LFUSE_ERR_CONTEXT, lfuse_gemm(stream, 0, 0, 1, c, c, 0, c), "\"a\" lies on device stub:1");
    drop(c);
    lfuse_event *event = new_event(device);
    SAYS(LFUSE_ERR_CONTEXT, lfuse_event_record(event, other_stream),
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
    SAYS(LFUSE_ERR_INVALID, lfuse_device_describe(n, &info), words);
    snprintf(words, sizeof words, "device index -7 is not in 0 ... %d", n - 1);
    SAYS(LFUSE_ERR_INVALID, lfuse_device_describe(-7, &info), words);
    SAYS(LFUSE_ERR_INVALID, lfuse_plan_run(plan, stream, NULL, 2), "2 bindings at ");
    SAYS(LFUSE_ERR_INVALID, lfuse_list_create(device, LFUSE_F32, -3, members, &list), "a list of -3 members");
    list = new_list(device, LFUSE_F32, 2, members);
    SAYS(LFUSE_ERR_INVALID, lfuse_list_replace(list, 1, 2, members), "members [1, +2) of a list of 2");
    drop(list);
    SAYS(LFUSE_ERR_INVALID, lfuse_stream_synchronize(NULL), "stream is NULL");
    SAYS(LFUSE_ERR_INVALID, lfuse_tensor_write(x, NULL, NULL), "NULL");
}

TEST(shapes)
{
    lfuse_tensor *t, *wide = tensor(F32(17, 8)), *wide_y = tensor(F32(17, 8));
    lfuse_tensor *thin = tensor(F32(4, 7)), *flat = tensor(F32(32));
    lfuse_binding b[2] = {BIND("x", wide), BIND("y", wide_y)};
    SAYS(LFUSE_ERR_BOUNDS, lfuse_plan_run(plan, stream, b, 2), "size \"batch\" is 17 by x, out of its bounds 2 ... 16");
    b[0] = BIND("x", thin), b[1] = BIND("y", y);
    SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 2), "\"x\" has the shape [4 x 7], not [4 x 8]");
    b[0] = BIND("x", flat);
    SAYS(LFUSE_ERR_RANK, lfuse_plan_run(plan, stream, b, 2), "\"x\" has rank 1, not 2");
    SAYS(LFUSE_ERR_RANK, lfuse_tensor_copy(x, flat, NULL), "from rank 1 to rank 2");
    SAYS(LFUSE_ERR_RANK, lfuse_tensor_create(device, F32(1, 1, 1, 1, 1, 1, 1, 1, 1), &t), "rank 9 is not in 0 ... 8");
    SAYS(LFUSE_ERR_SHAPE, lfuse_tensor_create(device, F32(-5), &t), "axis 0 has extent -5");
    SAYS(LFUSE_ERR_SHAPE, lfuse_tensor_view(x, SHAPE(33), NULL, 0, &t), "the view needs 132 bytes, its memory has 128");
    SAYS(LFUSE_ERR_OVERFLOW, lfuse_tensor_create(device, F64(INT64_MAX / 4), &t),
         "2305843009213693951 elements of f64");
    SAYS(LFUSE_ERR_DEVICE_MEMORY, lfuse_tensor_create(device, F32((int64_t)1 << 45), &t),
         "stub:0: 140737488355328 bytes asked for");
}

TEST(bindings)
{
    lfuse_binding b[2] = {BIND("x", x), BIND("x", x)};
    SAYS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, 1), "nothing is bound to \"y\", an output");
    SAYS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, 2), "\"x\" is bound twice, the second time by binding 1");
    b[1] = BIND("z", y);
    SAYS(LFUSE_ERR_NAME, lfuse_plan_run(plan, stream, b, 2), "binding 1: the graph has no name \"z\"");
    b[1] = BIND("y", x);
    SAYS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 2), "\"y\", which is written, overlaps \"x\": bytes ");
}

TEST_SUITE("messages", CK_NOFORK)
