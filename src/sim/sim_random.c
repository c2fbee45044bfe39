/* SPDX-License-Identifier: MIT */
/*
 * The random driver: at every moment one of all that may happen, chosen with weights drawn per run, so that
 * some runs have a NIC that lags far behind and others one that is always ahead. Faults come with odds drawn
 * per run too, and a quarter of those asked for stay off, so that one fault does not always hide another.
 *
 * One step takes STEP_NS of virtual time. When nothing can happen, time jumps to the next deadline or end of
 * a delay; when there is none, all that wait get -EDEADLK.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "sim/sim.h"

#define STEP_NS 100u

enum fault_kind { KILL_THREAD, KILL_NODE, DROP, DELAY, PAUSE, FAULT_KINDS };

struct fault {
    unsigned odds; /* once in so many steps on average; 0: never */
    unsigned left; /* how many more may come */
};

struct random_state {
    unsigned weight_thread, weight_flush, weight_nic; /* 1 .. 16 */
    struct fault faults[FAULT_KINDS];
    uint64_t *paused; /* by thread: until when; null outside of a run */
};

static const struct {
    const char *name;
    unsigned rarest, most; /* odds up to 2^rarest; the number is drawn up to `most` */
} fault_kinds[FAULT_KINDS] = {
    [KILL_THREAD] = {"kill-thread", 15, 2},
    [KILL_NODE] = {"kill-node", 15, 2},
    [DROP] = {"drop", 15, 4},
    [DELAY] = {"delay", 12, 1000000},
    [PAUSE] = {"pause", 12, 1000000},
};

static int take_fault(unsigned *mask, const char *name, size_t n)
{
    if (n == 3 && !strncmp(name, "all", 3)) {
        *mask = (1u << FAULT_KINDS) - 1;
        return 0;
    }
    for (unsigned k = 0; k < FAULT_KINDS; k++)
        if (strlen(fault_kinds[k].name) == n && !strncmp(fault_kinds[k].name, name, n)) {
            *mask |= 1u << k;
            return 0;
        }
    return baton_fail(-EINVAL,
                      "no fault \"%.*s\"; there is: kill-thread kill-node drop delay pause all",
                      (int)n, name);
}

static int random_open(struct sim *s, const char *options)
{
    char list[128] = "";
    unsigned mask = 0;
    int rc = 0;
    baton_option(options, "faults", list, sizeof(list));
    for (const char *p = list; *p && !rc; p += strcspn(p, "+"), p += *p == '+')
        rc = take_fault(&mask, p, strcspn(p, "+"));
    if (rc)
        return rc;
    struct random_state *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->weight_thread = 1u << baton_random_below(&s->random, 5);
    r->weight_flush = 1u << baton_random_below(&s->random, 5);
    r->weight_nic = 1u << baton_random_below(&s->random, 5);
    for (unsigned k = 0; k < FAULT_KINDS; k++) {
        if (!(mask >> k & 1) || !baton_random_below(&s->random, 4))
            continue;
        r->faults[k].odds = 1u << (7 + baton_random_below(&s->random, fault_kinds[k].rarest - 6));
        r->faults[k].left = 1 + (unsigned)baton_random_below(&s->random, fault_kinds[k].most);
    }
    s->driver_state = r;
    s->immediate_ack = true;
    return 0;
}

static void random_close(struct sim *s)
{
    free(s->driver_state);
}

static void random_describe(struct sim *s, char *out, size_t bytes)
{
    const struct random_state *r = s->driver_state;
    size_t n = 0;
    n += (size_t)snprintf(out, bytes, "weights thread %u store %u nic %u", r->weight_thread,
                          r->weight_flush, r->weight_nic);
    for (unsigned k = 0; k < FAULT_KINDS && n < bytes; k++)
        if (r->faults[k].odds)
            n += (size_t)snprintf(out + n, bytes - n, ", %s 1/%u", fault_kinds[k].name,
                                  r->faults[k].odds);
}

static void random_calm(struct sim *s)
{
    struct random_state *r = s->driver_state;
    memset(r->faults, 0, sizeof(r->faults));
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

/* ---- Steps */

static bool qp_step(struct sim *s, struct sim_qp *q)
{
    if (q->held > s->now)
        return false;
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

static bool can_run(struct sim *s, struct sim_thread *t)
{
    const struct random_state *r = s->driver_state;
    if (r->paused[t->number] > s->now)
        return false;
    if (t->state == SIM_READY && t->next.act == SIM_ACT_AWAKE && !sim_runnable(s, t))
        sim_rewatch(s, t); /* what it waited for held and holds no more */
    return sim_runnable(s, t);
}

static bool is_alive(struct sim *s, struct sim_thread *t)
{
    return t->state != SIM_ENDED && t->state != SIM_KILLED;
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
        if (what == 0 && (t = draw_thread(s, can_run))) {
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

/* ---- Faults */

/* Evenly over the orders of magnitude: up to 3 ms. */
static uint64_t draw_time(struct sim *s)
{
    uint64_t order = UINT64_C(1) << baton_random_below(&s->random, 15);
    return STEP_NS * (order + baton_random_below(&s->random, order));
}

static void inject(struct sim *s, enum fault_kind kind)
{
    struct random_state *r = s->driver_state;
    struct sim_thread *t = draw_thread(s, is_alive);
    struct sim_qp *q = s->busy_n ? s->busy[baton_random_below(&s->random, s->busy_n)] : NULL;
    switch (kind) {
    case KILL_THREAD:
        if (t)
            sim_kill_thread(s, t);
        break;
    case KILL_NODE:
        if (t)
            sim_kill_node(s, t->team->node);
        break;
    case DROP:
        if (q)
            sim_qp_fail(s, q, (unsigned)baton_random_below(&s->random, q->nic.n), -EHOSTDOWN,
                        "lost (injected fault)");
        break;
    case DELAY:
        if (q)
            q->held = s->now + draw_time(s);
        break;
    case PAUSE:
        if (t)
            r->paused[t->number] = s->now + draw_time(s);
        break;
    case FAULT_KINDS:
        break;
    }
}

static void draw_faults(struct sim *s)
{
    struct random_state *r = s->driver_state;
    for (unsigned k = 0; k < FAULT_KINDS; k++) {
        struct fault *f = &r->faults[k];
        if (!f->left || baton_random_below(&s->random, f->odds))
            continue;
        f->left--;
        inject(s, k);
    }
}

/* ---- Time */

static void earlier(uint64_t *next, uint64_t time, uint64_t now)
{
    if (time > now && time < *next)
        *next = time;
}

/* Wakes who waits for a time that has come, or everybody when nothing else can happen any more. */
static void pass_time(struct sim *s)
{
    const struct random_state *r = s->driver_state;
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < s->threads_n; i++) {
        struct sim_thread *t = s->threads[i];
        if (t->state == SIM_CONDS || t->state == SIM_RELAX || t->state == SIM_DELAY)
            earlier(&next, t->until, s->now);
        if (is_alive(s, t))
            earlier(&next, r->paused[i], s->now);
    }
    for (size_t i = 0; i < s->busy_n; i++)
        earlier(&next, s->busy[i]->held, s->now);
    if (next != UINT64_MAX)
        s->now = next;
    else
        s->hopeless = true;
    for (size_t i = 0; i < s->threads_n; i++)
        sim_try_wake(s, s->threads[i]);
    s->hopeless = false; /* they have been told; what they do now may give hope */
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
    struct random_state *r = s->driver_state;
    r->paused = calloc(s->threads_n + 1, sizeof(*r->paused));
    if (!r->paused)
        return -ENOMEM;
    while (s->alive || s->busy_n) {
        s->now += STEP_NS;
        wake_due(s);
        draw_faults(s);
        if ((s->alive || s->busy_n) && !any_step(s))
            pass_time(s);
    }
    free(r->paused);
    r->paused = NULL;
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
    .reads = true,
    .describe = random_describe,
    .calm = random_calm,
    .choose = random_choose,
};
