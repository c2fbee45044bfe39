/* SPDX-License-Identifier: MIT */
/*
 * Schedule files: a way through a program, to be followed again, by hand or under a debugger.
 *
 *     # baton check schedule 1
 *     lock merge 1+1x2 cpu
 *     param slots=1
 *     try local              threads of the host try; deadline remote: remote ones have deadlines
 *     swap
 *     first-ticket 5
 *     no-gfence
 *     violation deadlock: ...
 *     begin
 *     thread 0               takes its next act, or goes on after an await
 *     timeout 0              the deadline of its wait has come
 *     store 0                its oldest store leaves the store buffer
 *     nic 1 0 2 read         entry 2 of the queue pair from thread 1 to node 0 reads
 *     nic 1 0 0 commit / 0 1 the same with choices: where posts or pieces change places
 *
 * Steps that are indented were taken at once: nothing depends on when they happen.
 * A program of a user has "program NAME" instead of "lock".
 */
#ifndef BATON_CHECK_SCHEDULE_H
#define BATON_CHECK_SCHEDULE_H

#include <stdio.h>

#include "check/lock_check.h"

struct check_schedule {
    struct check_lock config;
    char kind[40];     /* empty: not of a lock */
    char program[256]; /* empty: not of a user's program */
    char violation[240];
    struct sim_step *steps; /* to be freed */
    size_t steps_n;
};

int check_schedule_write(FILE *to, const struct check_schedule *schedule);

/* -EINVAL with the line in the error detail; -ENOMEM. */
int check_schedule_read(FILE *from, struct check_schedule *out);

#endif
