/* SPDX-License-Identifier: MIT */
/*
 * Processes that are nodes of a net and do what they are told: one line in, one line "rc text" out.
 *
 *     open OPTIONS|first|nodes|local    rc; first node, places
 *     publish NODE NAME AT, withdraw NODE NAME, find NAME -> at
 *     blob NODE KEY TEXT, get NODE KEY MS -> text
 *     state NODE, life NODE             the number as rc
 *     gone                              how many have died so far; and how many have left
 *     netns                             goes into a network namespace of its own
 *     close
 */
#ifndef BATON_TESTS_NET_TEST_H
#define BATON_TESTS_NET_TEST_H

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/net.h"
#include "fabric/net_place.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition,            \
                    baton_error_detail());                                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Shows what was found too. */
#define CHECK_IS(value, expected)                                                                  \
    do {                                                                                           \
        long is_ = (long)(value), wanted_ = (long)(expected);                                      \
        if (is_ != wanted_) {                                                                      \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld (%s)\n", __FILE__, __LINE__, #value, is_,   \
                    wanted_, answer);                                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* How long a busy machine may take for what takes milliseconds. */
#define PATIENCE_NS UINT64_C(30000000000)

static char answer[512]; /* the last text that a child has sent, or that of this process */

struct child {
    pid_t pid;
    FILE *in, *out;
};

static inline uint64_t test_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void test_sleep_ms(unsigned ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* ---- What a child does */

struct counts {
    uint64_t died, left;
};

static inline void child_gone(void *arg, unsigned node, enum baton_node_state how)
{
    struct counts *c = arg;
    baton_word_faa(how == BATON_NODE_DEAD ? &c->died : &c->left, 1);
}

static inline int child_open(const char *line, struct baton_net **net)
{
    char options[256];
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    if (sscanf(line, "%255[^|]|%d|%u|%u", options, &opts.first, &opts.nodes, &opts.local) != 4)
        return -EINVAL;
    opts.options = options;
    return baton_net_open(&opts, "test", net);
}

static inline void child_main(FILE *in, FILE *out)
{
    char line[512], word[64], text[300];
    struct baton_net *net = NULL;
    struct counts counts = {0, 0};
    struct baton_cluster cluster = {.nodes = 0};
    cluster.local = calloc(BATON_NODES_MAX, sizeof(*cluster.local));
    while (fgets(line, sizeof(line), in)) {
        unsigned node = 0, key = 0, ms = 0;
        baton_gptr at = 0;
        size_t size = 0;
        int rc = -ENOSYS;
        *text = 0;
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "open ", 5)) {
            rc = child_open(line + 5, &net);
            if (!rc) {
                baton_net_watch(net, &cluster, child_gone, &counts);
                snprintf(text, sizeof(text), "%u %u", baton_net_first(net), baton_net_nodes(net));
            }
        } else if (sscanf(line, "publish %u %47s %" SCNu64, &node, word, &at) == 3) {
            rc = baton_net_name_publish(net, node, word, at);
        } else if (sscanf(line, "withdraw %u %47s", &node, word) == 2) {
            rc = baton_net_name_withdraw(net, node, word);
        } else if (sscanf(line, "find %47s", word) == 1) {
            rc = baton_net_name_find(net, word, &at);
            if (!rc)
                snprintf(text, sizeof(text), "%" PRIu64, at);
        } else if (sscanf(line, "blob %u %u %63s", &node, &key, word) == 3) {
            rc = baton_net_blob_set(net, node, key, word, strlen(word));
        } else if (sscanf(line, "get %u %u %u", &node, &key, &ms) == 3) {
            uint64_t deadline = ms ? test_now() + ms * UINT64_C(1000000) : 0;
            rc = baton_net_blob_get(net, node, key, text, sizeof(text) - 1, &size, deadline);
            text[rc ? 0 : size] = 0;
        } else if (sscanf(line, "state %u", &node) == 1) {
            rc = (int)baton_net_state(net, node);
        } else if (sscanf(line, "life %u", &node) == 1) {
            rc = (int)baton_net_life(net, node);
        } else if (!strcmp(line, "gone")) {
            rc = (int)baton_word_load(&counts.died);
            snprintf(text, sizeof(text), "%d", (int)baton_word_load(&counts.left));
        } else if (!strcmp(line, "netns")) {
            rc = unshare(CLONE_NEWNET) ? -errno : 0;
        } else if (!strcmp(line, "close")) {
            baton_net_close(net);
            net = NULL;
            rc = 0;
        }
        fprintf(out, "%d %s\n", rc, rc < 0 ? baton_error_detail() : text);
        fflush(out);
    }
    if (net)
        baton_net_close(net);
    free(cluster.local);
    exit(0);
}

/* ---- What the test does */

static inline struct child child_start(void)
{
    int pair[2];
    struct child c = {0};
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
    fflush(NULL);
    c.pid = fork();
    CHECK(c.pid >= 0);
    if (!c.pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        child_main(fdopen(pair[1], "r"), fdopen(dup(pair[1]), "w"));
    }
    close(pair[1]);
    c.in = fdopen(pair[0], "r");
    c.out = fdopen(dup(pair[0]), "w");
    return c;
}

static inline void child_tell(struct child *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void child_tell(struct child *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(c->out, format, args);
    va_end(args);
    fputc('\n', c->out);
    fflush(c->out);
}

/* The result of what it was told; the text is in `answer`. */
static inline int child_hear(struct child *c)
{
    char line[600];
    int rc, at = 0;
    if (!fgets(line, sizeof(line), c->in)) {
        snprintf(answer, sizeof(answer), "the child has gone");
        return -ESRCH;
    }
    CHECK(sscanf(line, "%d %n", &rc, &at) == 1);
    line[strcspn(line, "\n")] = 0;
    snprintf(answer, sizeof(answer), "%.500s", line + at);
    return rc;
}

#define child_ask(c, ...) (child_tell((c), __VA_ARGS__), child_hear(c))

static inline void child_reap(struct child *c)
{
    int status;
    fclose(c->in);
    fclose(c->out);
    CHECK(waitpid(c->pid, &status, 0) == c->pid);
    c->pid = 0;
}

static inline void child_kill(struct child *c)
{
    kill(c->pid, SIGKILL);
    child_reap(c);
}

/* Lets it leave, and wants it to end well. */
static inline void child_end(struct child *c)
{
    int status;
    fclose(c->out);
    shutdown(fileno(c->in), SHUT_WR);
    CHECK(waitpid(c->pid, &status, 0) == c->pid);
    fclose(c->in);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    c->pid = 0;
}

/* Asks again and again until the result is there. */
static inline bool child_comes_to(struct child *c, const char *question, int wanted)
{
    uint64_t end = test_now() + PATIENCE_NS;
    int rc;
    do {
        rc = child_ask(c, "%s", question);
        if (rc == wanted)
            return true;
        test_sleep_ms(5);
    } while (test_now() < end);
    fprintf(stderr, "%s: %d, not %d\n", question, rc, wanted);
    return false;
}

#endif
