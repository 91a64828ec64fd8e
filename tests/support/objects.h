/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that a test makes, and devices that it opens. A call that fails ends the test and names its line; what was
 * made is destroyed when the test is over, the last one first, in front of the case's teardown. Not for threads of a
 * test's own, nor for .before. A test of a suite that is made in Check's own way has to destroy its objects itself.
 */
#ifndef TESTS_SUPPORT_OBJECTS_H
#define TESTS_SUPPORT_OBJECTS_H

#include <libfuse.h>

typedef struct test_place {
    const char *file;
    int line;
} test_place;

#define TEST_HERE ((test_place){__FILE__, __LINE__})

/* With the arguments of lfuse_tensor_create and its like, but for the last. */
#define new_tensor(...) objects_tensor(TEST_HERE, __VA_ARGS__)
#define new_view(...) objects_view(TEST_HERE, __VA_ARGS__)
#define new_list(...) objects_list(TEST_HERE, __VA_ARGS__)
#define new_device(name) objects_device(TEST_HERE, name)
#define new_stream(device) objects_stream(TEST_HERE, device)
#define new_event(device) objects_event(TEST_HERE, device)
#define new_plan(...) objects_plan(TEST_HERE, __VA_ARGS__)
/* Two arguments: an array of these bindings, and how many they are. */
#define BINDINGS(...)                                                                                                  \
    (const lfuse_binding[]){__VA_ARGS__}, (int)(sizeof((const lfuse_binding[]){__VA_ARGS__}) / sizeof(lfuse_binding))
/* A tensor or a list by its name; a run with such bindings. */
#define BIND(name, to) _Generic((to), lfuse_tensor *: lfuse_bind_tensor, lfuse_list *: lfuse_bind_list)(name, to)
#define RUN(plan, stream, ...) OK(lfuse_plan_run(plan, stream, BINDINGS(__VA_ARGS__)))
#define new_instance(...) objects_instance(TEST_HERE, __VA_ARGS__)
#define new_recording(stream) objects_recording(TEST_HERE, stream) /* ends it */
#define new_optimizer(...) objects_optimizer(TEST_HERE, __VA_ARGS__)
lfuse_graph *new_graph(void);
lfuse_tensor *own_tensor(lfuse_tensor *tensor); /* that was made in another way; returns it */
/* Zeroed host memory; as long as the test. */
#define new_memory(bytes) objects_memory(TEST_HERE, bytes)

/* Destroys one before the test is over, whoever made it; of the kinds above. */
#define drop(object)                                                                                                   \
    objects_drop(object, _Generic((object), lfuse_tensor *: objects_destroy_tensor,                                    \
                                  lfuse_list *: objects_destroy_list, lfuse_device *: objects_destroy_device,          \
                                  lfuse_stream *: objects_destroy_stream, lfuse_event *: objects_destroy_event,        \
                                  lfuse_graph *: objects_destroy_graph, lfuse_plan *: objects_destroy_plan,            \
                                  lfuse_instance *: objects_destroy_instance,                                          \
                                  lfuse_recording *: objects_destroy_recording,                                        \
                                  lfuse_optimizer *: objects_destroy_optimizer))
/* All of them: for tests that close the device themselves. */
void drop_all(void);

/* What a device says of itself. */
#define counters_of(device) objects_counters(TEST_HERE, device)
#define info_of(device) objects_info(TEST_HERE, device)

/* From here on what is made is owned: nothing of what was before. */
void objects_begin(void);
/* Of any kind; returns the object. */
void *objects_own(void *object, void (*destroy)(void *object));
void objects_drop(void *object, void (*destroy)(void *object));
void objects_destroy_tensor(void *object);
void objects_destroy_device(void *object);
void objects_destroy_list(void *object);
void objects_destroy_stream(void *object);
void objects_destroy_event(void *object);
void objects_destroy_graph(void *object);
void objects_destroy_plan(void *object);
void objects_destroy_instance(void *object);
void objects_destroy_recording(void *object);
void objects_destroy_optimizer(void *object);

lfuse_device_counters objects_counters(test_place at, const lfuse_device *device);
lfuse_device_info objects_info(test_place at, const lfuse_device *device);
void *objects_memory(test_place at, size_t bytes);
lfuse_tensor *objects_tensor(test_place at, lfuse_device *device, lfuse_type type, int rank, const int64_t *shape);
lfuse_tensor *objects_view(test_place at, const lfuse_tensor *parent, int rank, const int64_t *shape,
                        const int64_t *strides, int64_t offset);
lfuse_list *objects_list(test_place at, lfuse_device *device, lfuse_type type, int64_t count,
                      lfuse_tensor *const *members);
lfuse_device *objects_device(test_place at, const char *name);
lfuse_stream *objects_stream(test_place at, lfuse_device *device);
lfuse_event *objects_event(test_place at, lfuse_device *device);
lfuse_plan *objects_plan(test_place at, lfuse_device *device, const lfuse_graph *graph,
                         const lfuse_plan_options *options);
lfuse_instance *objects_instance(test_place at, lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings,
                              int count);
lfuse_recording *objects_recording(test_place at, lfuse_stream *stream);
lfuse_optimizer *objects_optimizer(test_place at, lfuse_device *device, const lfuse_optimizer_options *options,
                                   int count, const lfuse_group *groups);

#endif
