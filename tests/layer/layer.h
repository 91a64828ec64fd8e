/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer that counts and refuses calls. The loader puts it between a program and every driver when
 * OPENCL_LAYERS names it. Programs are steered from outside by
 *
 *     LFUSE_LAYER_FAIL=FUNCTION:N:once|always:CODE   the N-th call of FUNCTION ("any": of any that may fail), once or
 *                                                    from then on, returns CODE
 *     LFUSE_LAYER_COUNTS=FILE                        at the end: a line for each function called, "clFinish 3", and for
 *                                                    each kind of object, "live mem 0"
 *     LFUSE_LAYER_SAYS=NUMBER:WORD                   of a device another answer (answers.h)
 *
 * or from inside by the functions below, found by dlsym in the layer's library. Any thread may call them.
 *
 * Always it refuses what NVIDIA's driver (580) does: launches of a kernel object of which an argument was set to shared
 * memory once and to something else later, or to shared memory at NULL. And it does what OpenCL lets a driver do: an
 * argument that was refused is unset, so that no launch is taken until it is set again, and what is written to shared
 * memory while that is mapped for reading alone is lost.
 */
#ifndef TESTS_LAYER_LAYER_H
#define TESTS_LAYER_LAYER_H

/* Arms as LFUSE_LAYER_FAIL does; function NULL disarms. Counting of calls towards `nth` starts anew. */
typedef void lfuse_layer_arm_t(const char *function, long nth, int always, int code);
/* How often the armed failure has happened since it was armed. */
typedef long lfuse_layer_fired_t(void);
/* Calls of a function since the process began, refused ones too. */
typedef long lfuse_layer_calls_t(const char *function);
/*
 * References created and retained minus released, of one kind: "context", "queue", "mem", "program", "kernel", "event",
 * "svm"; NULL: of all.
 */
typedef long lfuse_layer_live_t(const char *kind);
/* The state in which all events are said to be, a code where their work is to have failed; NULL: as drivers answer. */
typedef void lfuse_layer_state_t(const int *state);
/* The `nth` blocking read of a buffer from now on returns its first byte with another lowest bit. 0: none does. */
typedef void lfuse_layer_spoil_t(long nth);

#endif
