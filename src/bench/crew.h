/* SPDX-License-Identifier: MIT */
/*
 * The processes of a cluster that others have started, and that run one command together: each is one node. They
 * share no memory but what they export to each other, and no clock. Node 0 collects what came of it.
 *
 *     crew_open     all come in, and know each other's words
 *     crew_agree    what they have been told to do is the same, or who differs in what is told to all
 *     crew_meet     nobody goes on before all are there
 *     crew_share    one word of each is known to all
 *     crew_gather   bytes of all come to node 0
 *     crew_end      node 0 tells all how it went, and they leave
 *     crew_tell     something has gone wrong: the others hear of it, instead of waiting
 *     crew_fail     in place of crew_end: they do, if they have not yet, and this one leaves
 *
 * Every member makes the same calls in the same order. Each call but the last two ends with an error when
 * somebody has died, failed or left, or when what was put to him is lost, with his words in baton_error_detail. One
 * thread at a time. Costs of a meeting: two puts, one after the other; whether they have arrived is looked after only
 * where the answer takes long, and once at the end.
 */
#ifndef BATON_BENCH_CREW_H
#define BATON_BENCH_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has programs of the model, whose names the contract has too, can use this header. */
struct baton_cluster;
struct baton_ep;
struct crew;

struct crew_opts {
    const char *fabric;
    const char *options; /* of the fabric, with those of the meeting place (fabric/net.h) */
    unsigned nodes; /* not 0: be node 0 of a cluster of so many; started by a launcher: a check */
    size_t arena_bytes; /* as in baton_cluster_opts */
};

/* Whether all nodes are in one process and time is not that of a clock. */
bool crew_is_simulated(const char *fabric);

/* Whether the processes of a cluster with these settings are started by others: a launcher, or by hand. */
bool crew_is_given(const char *fabric, const char *options);

int crew_open(const struct crew_opts *opts, struct crew **out);

struct baton_cluster *crew_cluster(struct crew *crew);
struct baton_ep *crew_ep(struct crew *crew); /* between the calls, for setting up */
unsigned crew_self(const struct crew *crew);
unsigned crew_nodes(const struct crew *crew);

/* `terms`: lines, one a thing that all have to be told alike, such as "--locks 4". -EINVAL */
int crew_agree(struct crew *crew, const char *terms);

/* Patience for somebody who may have much to do; a death is heard of all the same. */
#define CREW_ALWAYS (UINT64_MAX / 2)

/* Of the first `members` nodes, if this is one of them. -ETIMEDOUT */
int crew_meet(struct crew *crew, unsigned members, uint64_t patience_ns);

/* `all` has a word of every node. A meeting. */
int crew_share(struct crew *crew, uint64_t word, uint64_t *all, uint64_t patience_ns);

/*
 * On node 0 `take` is called for each other node in turn, with bytes that are its own until the return; what it
 * returns, if not 0, is returned. Two meetings.
 */
typedef int crew_take_fn(void *arg, unsigned node, const void *bytes, size_t size);
int crew_gather(struct crew *crew, const void *bytes, size_t size, uint64_t patience_ns,
                crew_take_fn *take, void *arg);

/* Never blocks; from any thread: somebody else has failed. */
bool crew_stopped(const struct crew *crew);

/* Returns node 0's `status`. The crew is gone, also after an error. */
int crew_end(struct crew *crew, int *status);

/*
 * `rc` and baton_error_detail are what went wrong. If that is because somebody else has died or failed before, it
 * becomes his error and his words, and returns that.
 */
int crew_tell(struct crew *crew, int rc);

/* The same; the crew is gone. Null is no crew. */
void crew_fail(struct crew *crew, int rc);

#endif
