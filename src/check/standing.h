/* SPDX-License-Identifier: MIT */
/*
 * What is explored of every kind of lock before anything is released: numbers of threads and rounds, what the
 * sections work on, and parameters so small that a few threads reach every path. The order of service does not
 * depend on what a section works on, and looking at it takes several times more states: it is looked at with
 * sections that work by CPU. Tries and deadlines, of all threads and of one class, are explored in small sizes.
 */
#ifndef BATON_CHECK_STANDING_H
#define BATON_CHECK_STANDING_H

#include "check/lock_check.h"

enum check_level {
    CHECK_QUICK, /* 1+1x2 and 2+1x1 of every kind, 2+2x1 of all but the farlocks; one kind of section;
                    tries and deadlines of all threads with 1+1x2 */
    CHECK_FULL /* 1+1x3, 2+1x2, 1+2x2, 2+2x1, 3+1x1, 1+3x1, every kind of section; variants smaller */
};

/* Case number `index` of the set, in no order that means anything; false: there are no more. */
bool check_standing(enum check_level level, unsigned index, struct check_lock *out);

#endif
