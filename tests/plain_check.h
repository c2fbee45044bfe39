/* SPDX-License-Identifier: MIT */
/*
 * The check of tests that are one process: what does not hold is printed with the place, and ends the test. So does
 * that somebody waits for ever, where the time is bound.
 */
#ifndef BATON_TESTS_PLAIN_CHECK_H
#define BATON_TESTS_PLAIN_CHECK_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/fabric.h>

static const char *check_tried = ""; /* what is being tried, for who reads that it has failed */

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("%s:%d: not so: %s [%s] %s\n", __FILE__, __LINE__, #cond, baton_error_detail(), \
                   check_tried);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void check_out_of_time(int signal)
{
    static const char words[] = "somebody waits for ever: ";
    if (write(STDOUT_FILENO, words, sizeof(words) - 1) < 0 ||
        write(STDOUT_FILENO, check_tried, strlen(check_tried)) < 0)
        _exit(2);
    _exit(1);
}

/* From now on; 0 seconds: as long as it takes. */
static inline void check_within(unsigned seconds, const char *tried)
{
    check_tried = tried;
    signal(SIGALRM, check_out_of_time);
    alarm(seconds);
}

#endif
