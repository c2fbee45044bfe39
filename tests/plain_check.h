/* SPDX-License-Identifier: MIT */
/* The check of tests that are one process: what does not hold is printed with the place, and ends the test. */
#ifndef BATON_TESTS_PLAIN_CHECK_H
#define BATON_TESTS_PLAIN_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <baton/fabric.h>

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("%s:%d: not so: %s [%s]\n", __FILE__, __LINE__, #cond, baton_error_detail());   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
