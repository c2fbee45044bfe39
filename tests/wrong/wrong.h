/* SPDX-License-Identifier: MIT */
/* Broken locks for the exhaustive check, and the configurations that they are looked for in. */
#ifndef BATON_TEST_WRONG_H
#define BATON_TEST_WRONG_H

#include <baton/lock.h>

/* Made by edit.sh. */
struct wrong_lock {
    const struct baton_lock_ops *ops;
    const char *check; /* the smallest configuration that shows it: "1+2x1 put swap slots=1" */
    const char *finds; /* an extended regular expression for what the check says */
};

#endif
