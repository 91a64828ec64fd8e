/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings that go on from files: with the bits of those that never stopped; files that are another training's. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/optim/run.h"
#include "tests/optim/train_rig.h"
#include "tests/support/files.h"

static char folder[4000], path[4200];

static void before(void)
{
    open_devices();
    make_folder("training", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/training", folder);
}

static void after(void)
{
    remove_folder(folder);
    close_devices();
}

TEST_CASE("files of trainings", .before = before, .after = after)

TEST_ON_DEVICES(go_on, lfuse_device *device)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    static const lfuse_training_options kinds[] = {
        { .rule = LFUSE_RULE_ADAMW, .clip = LFUSE_CLIP_GLOBAL_NORM, .clip_limit = 0.125 },
        { .rule = LFUSE_RULE_NADAM },
        { .rule = LFUSE_RULE_ADAFACTOR, .micro_batches = 2 },
    };
    int64_t steps;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int micro = kinds[i].micro_batches ? kinds[i].micro_batches : 1;
        network n = network_of(device, LFUSE_F32), m = network_of(device, LFUSE_F32);
        network_train(&n, 0, NULL, &kinds[i]);
        network_train(&m, 0, NULL, &kinds[i]);
        for (int t = 0; t < 4; t++) network_step(&n, t);
        for (int t = 7; t < 10; t++) network_step(&m, t);
        OK(lfuse_training_save(n.training, n.stream, path));
        OK(lfuse_training_load(m.training, m.stream, path));
        OK(lfuse_training_get_steps(m.training, &steps));
        ck_assert_int_eq(steps, 4 / micro);
        for (int t = 4; t < 8; t++) {
            network_step(&n, t);
            network_step(&m, t);
        }
        network_weights(&n, a);
        network_weights(&m, b);
        same(a, b, ALL_WEIGHTS, lfuse_rule_name(kinds[i].rule));
    }
}

/* Any reader finds the parameters by their names. */
TEST(parameters_alone)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD };
    lfuse_safetensors *file;

    network n = network_of(devices[0], LFUSE_F32), m = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    network_step(&n, 1);
    OK(lfuse_training_save(n.training, n.stream, path));
    OK(lfuse_safetensors_open(path, &file));
    ck_assert_int_eq(lfuse_safetensors_count(file), WEIGHTS + 1); /* and "optimizer.steps" */
    ck_assert_str_eq(lfuse_safetensors_metadata(file, "format"), "pt");
    OK(lfuse_safetensors_load(file, WEIGHTS, weight_names, m.weights, LFUSE_SAFETENSORS_PARTIAL));
    lfuse_safetensors_close(file);
    network_weights(&n, a);
    network_weights(&m, b);
    same(a, b, ALL_WEIGHTS, "parameters from a file");
}

/* Files of other trainings change nothing. */
TEST(files_that_do_not_fit)
{
    static double a[ALL_WEIGHTS], b[ALL_WEIGHTS];
    const lfuse_training_options adam = { .rule = LFUSE_RULE_ADAM }, sgd = { .rule = LFUSE_RULE_SGD };
    struct stat whole;

    network n = network_of(devices[0], LFUSE_F32), m = network_of(devices[0], LFUSE_F32);
    network half = network_of(devices[0], LFUSE_F16);
    network_train(&n, 0, NULL, &adam);
    network_train(&m, 0, NULL, &sgd);
    network_train(&half, 0, NULL, &adam);
    network_step(&n, 1);
    network_step(&m, 1);
    network_weights(&n, a);
    OK(lfuse_training_save(m.training, m.stream, path));
    FAILS(LFUSE_ERR_NAME, lfuse_training_load(n.training, n.stream, path));
    OK(lfuse_training_save(half.training, half.stream, path));
    FAILS(LFUSE_ERR_TYPE, lfuse_training_load(n.training, n.stream, path));
    OK(lfuse_training_save(n.training, n.stream, path));
    FAILS(LFUSE_ERR_NAME, lfuse_training_load(m.training, m.stream, path));
    ck_assert_int_eq(stat(path, &whole), 0);
    ck_assert_int_eq(truncate(path, whole.st_size - 1), 0);
    FAILS(LFUSE_ERR_IO, lfuse_training_load(n.training, n.stream, path));
    ck_assert_int_eq(truncate(path, 40), 0);
    FAILS(LFUSE_ERR_IO, lfuse_training_load(n.training, n.stream, path));
    unlink(path);
    FAILS(LFUSE_ERR_IO, lfuse_training_load(n.training, n.stream, path));
    network_weights(&n, b);
    same(a, b, ALL_WEIGHTS, "after files that were refused");
    network_step(&n, 2);
}

TEST(between_micro_batches)
{
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD, .micro_batches = 3 };

    network n = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    network_step(&n, 1);
    SAYS(LFUSE_ERR_STATE, lfuse_training_save(n.training, n.stream, path), "1 of 3 micro-batches");
    for (int i = 0; i < 2; i++) network_step(&n, 1);
    OK(lfuse_training_save(n.training, n.stream, path));
    network_step(&n, 2);
    OK(lfuse_training_load(n.training, n.stream, path)); /* begins the step anew */
    OK(lfuse_training_save(n.training, n.stream, path));
}

TEST(arguments)
{
    const lfuse_training_options options = { .rule = LFUSE_RULE_SGD };

    network n = network_of(devices[0], LFUSE_F32);
    network_train(&n, 0, NULL, &options);
    FAILS(LFUSE_ERR_INVALID, lfuse_training_save(NULL, n.stream, path));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_save(n.training, NULL, path));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_save(n.training, n.stream, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_load(NULL, n.stream, path));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_load(n.training, NULL, path));
    FAILS(LFUSE_ERR_INVALID, lfuse_training_load(n.training, n.stream, NULL));
    FAILS(LFUSE_ERR_CONTEXT, lfuse_training_save(n.training, new_stream(new_device("stub:0")), path));
    FAILS(LFUSE_ERR_IO, lfuse_training_save(n.training, n.stream, "/nowhere/at/all"));
}

TEST_SUITE("optim", CK_NOFORK)
