/* SPDX-License-Identifier: MIT */
/* Checks of the tests whose processes are nodes: what does not hold is printed with the place, and ends the process. */
#ifndef BATON_TESTS_NODES_CHECK_H
#define BATON_TESTS_NODES_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <baton/fabric.h>

static int self = -1; /* the node that this process is, once it is one */

#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            if (self >= 0)                                                                         \
                printf("node %d, ", self);                                                         \
            printf("%s:%d: not so: %s; ", __FILE__, __LINE__, #cond);                              \
            printf(__VA_ARGS__);                                                                   \
            printf(" [%s]\n", baton_error_detail());                                               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define RC(call, want)                                                                             \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        CHECK(rc_ == (want), "%s gave %d (%s)", #call, rc_, baton_strerror(rc_));                  \
    } while (0)
#define ALL (BATON_READ | BATON_WRITE | BATON_ATOMIC)

#endif
