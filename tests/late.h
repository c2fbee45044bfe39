/* SPDX-License-Identifier: MIT */
/*
 * How late this machine is. A process beside the test sleeps again and again for a moment and notes by how
 * much it has overslept at most: bounds in real time that the library promises are checked with that much
 * patience, so that a busy machine does not break them and a quiet one still shows when they are broken.
 *
 * A process and no thread, because tests fork. It ends with the thread that has called late_watch().
 */
#ifndef BATON_TESTS_LATE_H
#define BATON_TESTS_LATE_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <baton/barrier.h>

/* Between a signal and a call that returns are a few switches of processes, each late by that much. */
enum { LATE_FACTOR = 10 };

static uint64_t *late_most; /* shared by all who are forked behind late_watch() */

static inline uint64_t late_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void late_sleep_ns(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

static inline void late_watch(void)
{
    const uint64_t nap_ns = 2000000;
    pid_t parent = getpid();
    late_most = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = late_most == MAP_FAILED ? -1 : fork();
    if (child < 0) {
        perror("late_watch");
        exit(1);
    }
    if (child)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    uint64_t before = late_clock_ns();
    while (getppid() == parent) {
        late_sleep_ns(nap_ns);
        uint64_t now = late_clock_ns();
        if (now - before > nap_ns + *late_most)
            baton_word_store(late_most, now - before - nap_ns);
        before = now;
    }
    _exit(0);
}

/* What is to be added to a bound. */
static inline uint64_t late_ns(void)
{
    return late_most ? LATE_FACTOR * baton_word_load(late_most) : 0;
}

/* Sleeps until others have surely got as far as they get within that time where they are not kept from it. */
static inline void late_rest_ns(uint64_t ns)
{
    uint64_t begin = late_clock_ns();
    while (late_clock_ns() - begin < ns + late_ns())
        late_sleep_ns(1000000);
}

#endif
