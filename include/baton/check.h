/* SPDX-License-Identifier: MIT */
/*
 * Programs that `baton check` explores: every schedule of their threads, and every order that the NIC may
 * choose, of the code as it is. A program is a shared object with one variable:
 *
 *     static int init(struct baton_cluster *cluster, void *state) { ... }     segments, pointers to them
 *     static int left(struct baton_ep *ep, void *state) { ... }               a thread
 *     static int right(struct baton_ep *ep, void *state) { ... }              another one
 *     static const char *final(void *state) { ... }                           null: all is well
 *
 *     BATON_CHECK_PROGRAM(.name = "example", .nodes = 2, .state_bytes = sizeof(struct state), .init = init,
 *                         .final = final, .threads = {{0, left}, {1, right}});
 *
 *     cc -shared -fPIC example.c -o example.so && baton check ./example.so
 *
 * init runs once, alone, with a zeroed state. The bodies then run in every possible way; each run must end,
 * every body must return 0, and final must find nothing. A thread that waits for ever is a deadlock; an operation
 * that has failed, and that nobody has waited for, is wrong, too. The stack of a body has 64 KiB.
 *
 * So that runs can be taken back, bodies keep what they know in local variables, in memory from baton_ep_alloc
 * (called before the first operation of the body), and in the state; no static variables, no malloc, no files,
 * no clock of their own. They wait through baton_await and baton_relax only. The state is for what observers
 * keep, like "somebody is inside": it is seen by all threads at once, as no real memory is, so the protocol
 * itself must not live there. Bodies look at it and change it right after a call of the contract has returned: a
 * call that loads, stores, fences, rings or waits. Between two of these others may run, and at no other time.
 */
#ifndef BATON_CHECK_H
#define BATON_CHECK_H

#include <baton/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_CHECK_THREADS_MAX 8

struct baton_check_thread {
    unsigned node;
    int (*body)(struct baton_ep *ep, void *state);
};

struct baton_check_program {
    size_t size; /* sizeof(struct baton_check_program) */
    const char *name;
    unsigned nodes;     /* of the cluster; 0: 2 */
    unsigned flags;     /* BATON_CLUSTER_SWAP: posts that nothing orders may change places */
    size_t state_bytes; /* a multiple of 8 */
    int (*init)(struct baton_cluster *cluster, void *state);    /* null: nothing to prepare */
    const char *(*final)(void *state);                          /* null: nothing to look at */
    struct baton_check_thread threads[BATON_CHECK_THREADS_MAX]; /* ended by a null body, if fewer */
};

#define BATON_CHECK_PROGRAM(...)                                                                   \
    const struct baton_check_program baton_check_program = {                                       \
        .size = sizeof(struct baton_check_program), __VA_ARGS__}

/* The variable's name, for who loads a program. */
#define BATON_CHECK_SYMBOL "baton_check_program"

/* In a body: the program is wrong, and this says why. Elsewhere it does nothing. */
void baton_check_fail(struct baton_ep *ep, const char *text);

/* In a body: a line for the story of a violation. */
void baton_check_note(struct baton_ep *ep, const char *text);

#ifdef __cplusplus
}
#endif
#endif
