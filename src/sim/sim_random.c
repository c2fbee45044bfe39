/* SPDX-License-Identifier: MIT */
/*
 * The random driver: at every moment one of all that may happen, chosen with weights drawn per run, so that
 * some runs have a NIC that lags far behind and others one that is always ahead.
 *
 * One step takes STEP_NS of virtual time. When nothing can happen, time jumps to the next deadline or end of
 * a delay; when there is none, all that wait get -EDEADLK.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/sim.h"

#define STEP_NS 100u

struct random_state {
    unsigned weight_thread, weight_flush, weight_nic; /* 1 .. 16 */
};

static int random_open(struct sim *s, const char *options)
{
    struct random_state *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->weight_thread = 1u << baton_random_below(&s->random, 5);
    r->weight_flush = 1u << baton_random_below(&s->random, 5);
    r->weight_nic = 1u << baton_random_below(&s->random, 5);
    s->driver_state = r;
    s->immediate_ack = true;
    return 0;
}

static void random_close(struct sim *s)
{
    free(s->driver_state);
}

static uint64_t random_now(struct sim *s)
{
    return s->now;
}

static unsigned random_choose(struct sim *s, unsigned n)
{
    return (unsigned)baton_random_below(&s->random, n);
}

static bool random_at_once(struct sim *s, struct sim_thread *t)
{
    /* Nobody sees a store or a post before it leaves the buffer. */
    return t->next.act == SIM_ACT_STORE || t->next.act == SIM_ACT_RING;
}

static int random_relax(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    return sim_relax_until_changed(s, t, wait);
}

static bool qp_step(struct sim *s, struct sim_qp *q)
{
    unsigned begin = (unsigned)baton_random_below(&s->random, q->nic.n);
    for (unsigned i = 0; i < q->nic.n; i++) {
        unsigned at = (begin + i) % q->nic.n;
        unsigned first = (unsigned)baton_random_below(&s->random, BATON_NIC_POLL);
        for (unsigned k = 0; k < BATON_NIC_POLL; k++) {
            enum baton_nic_step step = (first + k) % BATON_NIC_POLL;
            if (sim_nic_ready(s, q, at, step, NULL)) {
                sim_nic_apply(s, q, at, step);
                return true;
            }
        }
    }
    return false;
}

/* A queue pair may have no step while another one holds the RMW unit: then the next one is asked. */
static bool nic_step(struct sim *s)
{
    size_t begin = s->busy_n ? (size_t)baton_random_below(&s->random, s->busy_n) : 0;
    for (size_t i = 0; i < s->busy_n; i++)
        if (qp_step(s, s->busy[(begin + i) % s->busy_n]))
            return true;
    return false;
}

static struct sim_thread *draw_thread(struct sim *s, bool (*can)(struct sim *, struct sim_thread *))
{
    size_t begin = (size_t)baton_random_below(&s->random, s->threads_n);
    for (size_t i = 0; i < s->threads_n; i++) {
        struct sim_thread *t = s->threads[(begin + i) % s->threads_n];
        if (can(s, t))
            return t;
    }
    return NULL;
}

static bool any_step(struct sim *s)
{
    struct random_state *r = s->driver_state;
    unsigned total = r->weight_thread + r->weight_flush + r->weight_nic;
    unsigned draw = (unsigned)baton_random_below(&s->random, total);
    unsigned what = draw < r->weight_thread ? 0 : draw < r->weight_thread + r->weight_flush ? 1 : 2;
    for (unsigned i = 0; i < 3; i++, what = (what + 1) % 3) {
        struct sim_thread *t;
        if (what == 0 && (t = draw_thread(s, sim_runnable))) {
            sim_resume(s, t);
            return true;
        }
        if (what == 1 && (t = draw_thread(s, sim_can_flush))) {
            sim_flush(s, t);
            return true;
        }
        if (what == 2 && nic_step(s))
            return true;
    }
    return false;
}

/* Wakes who waits for a time that has come, or everybody when nothing else can happen any more. */
static void pass_time(struct sim *s)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < s->threads_n; i++) {
        struct sim_thread *t = s->threads[i];
        if ((t->state == SIM_CONDS || t->state == SIM_RELAX || t->state == SIM_DELAY) &&
            t->until < next)
            next = t->until;
    }
    if (next != UINT64_MAX)
        s->now = next > s->now ? next : s->now;
    else
        s->hopeless = true;
    for (size_t i = 0; i < s->threads_n; i++)
        sim_try_wake(s, s->threads[i]);
}

static void wake_due(struct sim *s)
{
    for (size_t i = 0; i < s->threads_n; i++) {
        struct sim_thread *t = s->threads[i];
        if (t->state >= SIM_CONDS && t->state <= SIM_DELAY && t->until <= s->now)
            sim_try_wake(s, t);
    }
}

static int random_run(struct sim *s)
{
    while (s->alive || s->busy_n) {
        s->now += STEP_NS;
        wake_due(s);
        if (!any_step(s))
            pass_time(s);
    }
    return 0;
}

const struct sim_driver sim_driver_random = {
    .name = "random",
    .open = random_open,
    .close = random_close,
    .run = random_run,
    .now = random_now,
    .at_once = random_at_once,
    .relax = random_relax,
    .choose = random_choose,
};
