/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optim/train_rig.h"

#include "bench/data.h"

const char *const weight_names[WEIGHTS] = { "w1", "w2", "b1", "b2" };
static const int64_t shapes[WEIGHTS][2] = { { INS, HIDDEN }, { HIDDEN, OUTS }, { HIDDEN }, { OUTS } };

static void fill(lfuse_tensor *tensor, int salt, int t, double factor)
{
    const int64_t n = lfuse_tensor_elements(tensor);
    void *host = malloc((size_t)n * 8 + 1);

    for (int64_t i = 0; i < n; i++)
        lfuse__data_put(lfuse_tensor_type(tensor), host, i, factor * rig_gradient(salt, i * 5 + i / 7, t + 1));
    OK(lfuse_tensor_write(tensor, NULL, host));
    free(host);
}

network network_of(lfuse_device *device, lfuse_type type)
{
    network n = { .device = device, .stream = new_stream(device), .type = type, .g = new_graph() };
    const lfuse_size of_x[] = { ROWS, INS }, of_y[] = { ROWS, OUTS };
    const lfuse_value x = lfuse_input(n.g, "x", type, 2, of_x), y = lfuse_input(n.g, "y", type, 2, of_y);
    lfuse_value h, e;

    for (int i = 0; i < WEIGHTS; i++) {
        n.w[i] = lfuse_input(n.g, weight_names[i], type, i < 2 ? 2 : 1, shapes[i]);
        n.weights[i] = new_tensor(device, type, i < 2 ? 2 : 1, shapes[i]);
        n.parameters[i] = (lfuse_training_parameter){ weight_names[i], n.weights[i] };
        fill(n.weights[i], i, 0, 0.75);
    }
    h = lfuse_relu(lfuse_add(lfuse_matmul(x, n.w[0]), n.w[2]));
    e = lfuse_sub(lfuse_add(lfuse_matmul(h, n.w[1]), n.w[3]), y);
    e = lfuse_cast(e, type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32);
    n.loss = lfuse_mean(lfuse_mul(e, e), LFUSE_ALL_AXES, NULL, 0);
    n.x = new_tensor(device, type, 2, of_x);
    n.y = new_tensor(device, type, 2, of_y);
    return n;
}

static void destroy_training(void *object)
{
    lfuse_training_destroy(object);
}

void network_train(network *n, int groups, const lfuse_training_group *group, const lfuse_training_options *options)
{
    OK(lfuse_training_create(n->device, n->g, n->loss, WEIGHTS, n->parameters, groups, group, options, &n->training));
    objects_own(n->training, destroy_training);
}

void network_data(network *n, int t, double factor)
{
    OK(lfuse_stream_synchronize(n->stream));
    fill(n->x, 7, t, factor);
    fill(n->y, 9, t, factor);
}

void network_step(network *n, int t)
{
    network_data(n, t, 1);
    OK(lfuse_training_step(n->training, n->stream, BINDINGS(BIND("x", n->x), BIND("y", n->y))));
}

static int64_t read_one(network *n, const lfuse_tensor *tensor, double *to)
{
    const int64_t count = lfuse_tensor_elements(tensor);
    void *host = malloc((size_t)count * 8 + 1);

    OK(lfuse_stream_synchronize(n->stream));
    OK(lfuse_tensor_read(tensor, NULL, host));
    for (int64_t i = 0; i < count; i++) to[i] = lfuse__data_get(lfuse_tensor_type(tensor), host, i);
    free(host);
    return count;
}

void network_weights(network *n, double *to)
{
    for (int i = 0; i < WEIGHTS; i++) to += read_one(n, n->weights[i], to);
}

double network_number(network *n, const lfuse_tensor *tensor)
{
    double number;

    ck_assert_int_eq(read_one(n, tensor, &number), 1);
    return number;
}

lfuse_tensor *network_tensor(network *n, const char *name)
{
    for (int i = 0; i < lfuse_training_tensor_count(n->training); i++)
        if (!strcmp(lfuse_training_tensor_name(n->training, i), name)) return lfuse_training_tensor(n->training, i);
    ck_abort_msg("there is no tensor \"%s\"", name);
    return NULL;
}
