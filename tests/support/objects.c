/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/objects.h"

#include "tests/support/main.h"

typedef struct made {
    void *object;
    void (*destroy)(void *object);
    struct made *before;
} made;

static made *last;
static bool owned; /* whether tests have their objects destroyed */

void *objects_own(void *object, void (*destroy)(void *object))
{
    if (!owned)
        return object;
    made *m = malloc(sizeof *m);
    ck_assert_ptr_nonnull(m);
    *m = (made){object, destroy, last};
    last = m;
    return object;
}

void objects_drop(void *object, void (*destroy)(void *object))
{
    for (made **at = &last; *at; at = &(*at)->before) {
        made *m = *at;
        if (m->object != object)
            continue;
        *at = m->before;
        free(m);
        break;
    }
    destroy(object);
}

void drop_all(void)
{
    while (last)
        objects_drop(last->object, last->destroy);
}

/* Where tests share a process, one that failed has left its objects to nobody. */
void objects_begin(void)
{
    last = NULL;
    owned = true;
}

static void must(test_place at, lfuse_status status)
{
    if (status)
        ck_abort_msg("%s:%d: %s: %s", at.file, at.line, lfuse_status_name(status), lfuse_last_error());
}

/* What destroys a kind, and the functions that make one by a call that leaves it in `made_`. */
#define MAKER(kind, name, parameters, call)                                                                            \
    lfuse_##kind *objects_##name parameters                                                                            \
    {                                                                                                                  \
        lfuse_##kind *made_ = NULL;                                                                                    \
        must(at, call);                                                                                                \
        return objects_own(made_, objects_destroy_##kind);                                                             \
    }
#define KIND(kind)                                                                                                     \
    void objects_destroy_##kind(void *object)                                                                          \
    {                                                                                                                  \
        lfuse_##kind##_destroy(object);                                                                                \
    }
KIND(tensor) KIND(list) KIND(stream) KIND(event) KIND(graph) KIND(plan) KIND(instance) KIND(recording) KIND(optimizer)

MAKER(tensor, tensor,
      (test_place at, lfuse_device *device, lfuse_type type, int rank, const int64_t *shape),
      lfuse_tensor_create(device, type, rank, shape, &made_))
MAKER(tensor, view,
      (test_place at, const lfuse_tensor *parent, int rank, const int64_t *shape, const int64_t *strides,
       int64_t offset),
      lfuse_tensor_view(parent, rank, shape, strides, offset, &made_))
MAKER(list, list,
      (test_place at, lfuse_device *device, lfuse_type type, int64_t count, lfuse_tensor *const *members),
      lfuse_list_create(device, type, count, members, &made_))
MAKER(stream, stream, (test_place at, lfuse_device *device), lfuse_stream_create(device, &made_))
MAKER(event, event, (test_place at, lfuse_device *device), lfuse_event_create(device, &made_))
MAKER(plan, plan,
      (test_place at, lfuse_device *device, const lfuse_graph *graph, const lfuse_plan_options *options),
      lfuse_plan_create(device, graph, options, &made_))
MAKER(instance, instance,
      (test_place at, lfuse_plan *plan, lfuse_stream *stream, const lfuse_binding *bindings, int count),
      lfuse_instance_create(plan, stream, bindings, count, &made_))
MAKER(recording, recording, (test_place at, lfuse_stream *stream),
      lfuse_record_end(stream, &made_))
MAKER(optimizer, optimizer,
      (test_place at, lfuse_device *device, const lfuse_optimizer_options *options, int count,
       const lfuse_group *groups),
      lfuse_optimizer_create(device, options, count, groups, &made_))

MAKER(device, device, (test_place at, const char *name), lfuse_device_open(name, &made_))

void objects_destroy_device(void *object)
{
    lfuse_device_close(object);
}

lfuse_graph *new_graph(void)
{
    return objects_own(lfuse_graph_create(), objects_destroy_graph);
}

void *objects_memory(test_place at, size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    must(at, memory ? LFUSE_OK : LFUSE_ERR_MEMORY);
    return objects_own(memory, free);
}

lfuse_device_counters objects_counters(test_place at, const lfuse_device *device)
{
    lfuse_device_counters counters;
    must(at, lfuse_device_get_counters(device, &counters));
    return counters;
}

lfuse_device_info objects_info(test_place at, const lfuse_device *device)
{
    lfuse_device_info info;
    must(at, lfuse_device_get_info(device, &info));
    return info;
}

lfuse_tensor *own_tensor(lfuse_tensor *tensor)
{
    return objects_own(tensor, objects_destroy_tensor);
}
