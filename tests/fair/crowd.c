/* SPDX-License-Identifier: MIT */
/* The crowd around one lock; see crowd.h. */
#include "crowd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"

#define NODES 8u
#define THREADS_MOST 12u

/* Everything here is plain memory of the one thread that all coroutines share. */
struct visitor {
    bool waiting, local;
    unsigned passed;      /* since a remote one was in */
    uint64_t began, door; /* door 0: still in the doorway */
};

struct scene {
    const struct crowd *crowd;
    struct crowd_result *result;
    struct visitor visitors[THREADS_MOST];
    unsigned visitors_n;
    unsigned inside;
    uint64_t clock, token, count;
    baton_gptr counter;
    struct baton_random random;
};

struct part {
    struct scene *scene;
    unsigned first; /* index of the team's first visitor */
};

struct mark {
    struct scene *scene;
    struct visitor *me;
};

static void at_door(void *arg, struct baton_ep *ep, struct baton_waiter *waiter)
{
    struct mark *mark = arg;
    mark->me->door = ++mark->scene->clock;
}

static void entered(struct scene *scene, struct visitor *me, const struct baton_waiter *waiter)
{
    struct crowd_result *result = scene->result;
    bool seen = false;
    result->together += scene->inside++ != 0;
    me->waiting = false;
    me->passed = 0;
    for (unsigned i = 0; i < scene->visitors_n; i++) {
        struct visitor *other = &scene->visitors[i];
        seen |= other->waiting;
        if (!me->local)
            other->passed = 0;
        if (!scene->crowd->fcfs || !other->waiting || !other->door || other->door > me->began)
            continue;
        if (me->local && !other->local && other->passed < scene->crowd->bypass) {
            other->passed++;
            result->passed++;
        } else {
            result->bypasses++;
        }
    }
    result->contended += seen;
    result->entries++;
    uint64_t token = baton_lock_token(waiter);
    result->token += token <= scene->token;
    scene->token = token;
}

/* Adds one to the counter on the host, and may leave a put or a get behind. Returns what it was. */
static uint64_t section(struct scene *scene, struct baton_ep *ep, uint64_t *operand, unsigned way)
{
    const unsigned host = baton_gptr_node(scene->counter);
    void *words;
    uint64_t was;
    if (ep->node == host && way < 2 && !baton_ptr(baton_ep_node(ep), scene->counter, 8, &words)) {
        was = baton_load(ep, words);
        if (way == 0)
            baton_store(ep, words, was + 1);
        else
            baton_put64(ep, scene->counter, was + 1, 0);
        return was;
    }
    baton_get(ep, &operand[0], scene->counter, 8, 1);
    baton_wait(ep, 1);
    was = operand[0];
    baton_put64(ep, scene->counter, was + 1, way & 1 ? 2 : 0);
    if (way & 1)
        baton_wait(ep, 2);
    baton_order(ep, host);
    baton_get(ep, &operand[1], scene->counter, 8, 3);
    return was;
}

static int visit(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct part *part = arg;
    struct scene *scene = part->scene;
    struct visitor *me = &scene->visitors[part->first + thread];
    struct mark mark = {scene, me};
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    uint64_t *operand = baton_ep_alloc(ep, 64, 64);
    int rc = baton_table_open(ep, "crowd", BATON_NEVER, &table);
    if (!rc)
        rc = baton_table_lock(table, 1, &lock);
    if (!rc)
        rc = baton_waiter_open(ep, &waiter);
    if (rc)
        return rc;
    me->local = lock.local != NULL;
    waiter->doorway = at_door;
    waiter->doorway_arg = &mark;
    for (unsigned i = 0; i < scene->crowd->rounds;) {
        bool trying = baton_random_below(&scene->random, 4) == 0;
        me->door = 0;
        me->began = ++scene->clock;
        me->waiting = true;
        rc = trying ? baton_lock_try(&lock, ep, waiter) : baton_lock_acquire(&lock, ep, waiter);
        if (rc == -EBUSY && trying) {
            me->waiting = false;
            continue;
        }
        if (rc)
            return rc;
        entered(scene, me, waiter);
        uint64_t was = section(scene, ep, operand, (unsigned)baton_random_below(&scene->random, 4));
        scene->result->lost += was != scene->count;
        scene->count = was + 1;
        scene->inside--;
        rc = baton_lock_release(&lock, ep, waiter);
        if (rc)
            return rc;
        /* The get that was not waited for belongs to the section all the same. */
        rc = baton_wait(ep, 3);
        if (rc)
            return rc;
        scene->result->leaked += operand[1] > was + 1;
        operand[1] = 0;
        i++;
    }
    if (ep->node != baton_gptr_node(scene->counter)) {
        struct baton_stats stats;
        baton_ep_stats(ep, &stats);
        scene->result->sleeps += stats.awaits_blocked;
    }
    rc = baton_waiter_close(ep, waiter);
    int closed = baton_table_close(ep, table);
    baton_ep_free(ep, operand);
    return rc ? rc : closed;
}

static void make_table(struct baton_cluster *cluster, struct baton_ep *ep, struct scene *scene,
                       struct baton_table **table)
{
    const struct crowd *crowd = scene->crowd;
    struct crowd_result *result = scene->result;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    const struct baton_lock_ops *ops = baton_lock_kind(crowd->kind);
    if (!ops) {
        result->rc = -ENOENT;
        return;
    }
    baton_lock_param_defaults(ops, params);
    for (unsigned i = 0; i < 3 && crowd->setting[i] && !result->rc; i++)
        result->rc = baton_lock_param_set(ops, params, crowd->setting[i]);
    struct baton_table_opts opts = {sizeof opts, crowd->kind, 3, params, crowd->first_ticket};
    if (!result->rc)
        result->rc = baton_segment_create(baton_cluster_self(cluster), 4096,
                                          BATON_READ | BATON_WRITE, NULL, 0, &scene->counter);
    if (!result->rc)
        result->rc = baton_table_create(ep, "crowd", &opts, table);
}

void crowd_run(const struct crowd *crowd, struct crowd_result *result)
{
    struct scene scene = {.crowd = crowd, .result = result};
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table = NULL;
    struct part parts[NODES];
    struct baton_team teams[NODES];
    unsigned n = 0;

    *result = (struct crowd_result){0};
    baton_random_init(&scene.random, crowd->seed);
    opts.fabric = crowd->sim ? "sim" : "step";
    opts.options = crowd->sim ? "driver=random" : NULL;
    opts.nodes = NODES;
    opts.seed = crowd->seed;
    opts.flags = crowd->swap ? BATON_CLUSTER_SWAP : 0;
    opts.arena_bytes = 1 << 16;
    result->rc = baton_cluster_open(&opts, &cluster);
    if (result->rc)
        return;
    result->rc = baton_ep_open(baton_cluster_self(cluster), &ep);
    if (!result->rc)
        make_table(cluster, ep, &scene, &table);
    if (crowd->local) {
        parts[n] = (struct part){&scene, 0};
        teams[n] = (struct baton_team){0, crowd->local, visit, &parts[n]};
        n++;
    }
    for (unsigned i = 0; i < (crowd->spread ? crowd->remote : crowd->remote != 0); i++, n++) {
        parts[n] = (struct part){&scene, crowd->local + i};
        teams[n] = (struct baton_team){1 + i, crowd->spread ? 1 : crowd->remote, visit, &parts[n]};
    }
    scene.visitors_n = crowd->local + crowd->remote;
    if (!result->rc) {
        result->rc = baton_run(cluster, teams, n);
        void *words;
        if (!result->rc && !baton_ptr(baton_cluster_self(cluster), scene.counter, 8, &words))
            result->lost += *(uint64_t *)words != result->entries;
        int closed = baton_table_close(ep, table);
        result->rc = result->rc ? result->rc : closed;
    }
    baton_ep_close(ep);
    baton_cluster_close(cluster);
}

bool crowd_good(const struct crowd_result *result)
{
    return !result->rc && !result->together && !result->lost && !result->leaked && !result->token &&
           !result->bypasses;
}

void crowd_print(const struct crowd *crowd, const struct crowd_result *result)
{
    printf("%s %s", crowd->sim ? "sim" : "step", crowd->kind);
    for (unsigned i = 0; i < 3 && crowd->setting[i]; i++)
        printf(" %s", crowd->setting[i]);
    printf(", %u + %u threads%s, %u rounds, %s, first ticket %" PRIx64 ", seed %" PRIu64
           ": rc %d, together %u, lost %u, leaked %u, token %u, bypasses %u\n",
           crowd->local, crowd->remote, crowd->spread ? " apart" : "", crowd->rounds,
           crowd->swap ? "swap" : "chain order", crowd->first_ticket, crowd->seed, result->rc,
           result->together, result->lost, result->leaked, result->token, result->bypasses);
}
