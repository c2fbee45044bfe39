/* SPDX-License-Identifier: MIT */
/* What the tests of shm have in common: checks, a cluster name of their own, its files, processes. */
#ifndef BATON_TESTS_SHM_TEST_H
#define BATON_TESTS_SHM_TEST_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <baton/fabric.h>

#include "base/random.h"

#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s; ", __FILE__, __LINE__, #cond);                     \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, " [%s]\n", baton_error_detail());                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CHECK_RC(call, want)                                                                       \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        CHECK(rc_ == (want), "%s gave %d (%s)", #call, rc_, baton_strerror(rc_));                  \
    } while (0)

static inline uint64_t test_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void test_sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

/* BATON_SEED, or the time; printed, so that a failure can be had again. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("BATON_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : test_now();
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

/* A cluster name that no other test uses at the same time. */
static inline const char *test_name(const char *what)
{
    static char name[BATON_NAME_MAX + 1];
    snprintf(name, sizeof(name), "test-%s-%d", what, (int)getpid());
    return name;
}

/* How many files begin with baton.UID.NAME.SUFFIX. */
static inline unsigned test_files(const char *name, const char *suffix)
{
    char prefix[128];
    size_t n = (size_t)snprintf(prefix, sizeof(prefix), "baton.%u.%s.%s", (unsigned)geteuid(), name,
                                suffix);
    unsigned count = 0;
    DIR *folder = opendir("/dev/shm");
    CHECK(folder, "/dev/shm");
    for (struct dirent *e; (e = readdir(folder));)
        count += !strncmp(e->d_name, prefix, n);
    closedir(folder);
    return count;
}

static inline int test_open(const char *name, unsigned nodes, int first, unsigned local,
                            struct baton_cluster **out)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    o.fabric = "shm";
    o.name = name;
    o.nodes = nodes;
    o.first = first;
    o.local = local;
    o.arena_bytes = 65536;
    return baton_cluster_open(&o, out);
}

/* Memory that a test and its processes share besides the library. */
static inline void *test_shared(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED, "mmap");
    return p;
}

/* The process dies with the test: none is left when a check fails. */
static inline pid_t test_fork(void)
{
    fflush(stdout);
    fflush(stderr);
    pid_t p = fork();
    CHECK(p >= 0, "fork");
    if (!p)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return p;
}

/* The process must have ended by itself with status 0. */
static inline void test_join(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
          "process %d ended with status 0x%x", (int)pid, status);
}

static inline void test_kill(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid, "process %d", (int)pid);
    CHECK(WIFSIGNALED(status) || !WEXITSTATUS(status),
          "process %d had failed before its kill: 0x%x", (int)pid, status);
}

/* Waits until the shared word has the value. */
static inline void test_until(uint64_t *word, uint64_t value)
{
    uint64_t end = test_now() + 100000000000u;
    while (baton_word_load(word) != value) {
        CHECK(test_now() < end, "a word stayed %llu instead of %llu",
              (unsigned long long)baton_word_load(word), (unsigned long long)value);
        test_sleep_us(200);
    }
}

#endif
