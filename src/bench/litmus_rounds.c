/* SPDX-License-Identifier: MIT */
/* What the threads of a litmus test's run do. */
#include "bench/litmus_rounds.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/litmus_spread.h"

#define LINE 64u
#define ORDER_INSTANCES LITMUS_NODES_MAX /* the orders below are of the nodes' locations */
#define LOOKS 2000                       /* at the others, before an instance begins without them */
#define LAG 64
#define AHEAD 1000 /* ticks that a start is called ahead, for all to hear of it */

struct worker {
    struct baton_ep *ep;
    const struct litmus_place *place;
    const struct litmus_plan *plan;
    struct litmus_shared *shared;
    unsigned number;                    /* among the workers */
    const struct litmus_thread *thread; /* null: an attendant only */
    const struct litmus_shown *shown;
    bool attends;
    struct litmus_pace pace;
    struct baton_random random;
    uint64_t round;
    uint32_t *slots;     /* by location: its place in an instance */
    uint32_t *instances; /* the order in which they run */
    struct litmus_word *words;
    struct litmus_holder holder;
    uint32_t instance; /* that is running */
    uint64_t begun, deadline_ns;
};

/* ---- Who does what */

unsigned litmus_workers_on(const struct litmus_plan *plan, unsigned node)
{
    unsigned n = 0;
    for (unsigned t = 0; t < plan->threads_n; t++)
        n += plan->thread[t].node == node;
    return n ? n : 1;
}

unsigned litmus_workers(const struct litmus_plan *plan)
{
    unsigned n = 0;
    for (unsigned node = 0; node < plan->nodes; node++)
        n += litmus_workers_on(plan, node);
    return n;
}

static void find_part(struct worker *w, unsigned thread)
{
    unsigned seen = 0;
    for (unsigned node = 0; node < w->place->node; node++)
        w->number += litmus_workers_on(w->plan, node);
    w->number += thread;
    w->attends = thread == 0;
    for (unsigned t = 0; t < w->plan->threads_n; t++)
        if (w->plan->thread[t].node == w->place->node && seen++ == thread) {
            w->thread = &w->plan->thread[t];
            w->shown = &w->plan->shown[t];
        }
}

void litmus_fail(struct litmus_shared *shared, int rc, const char *form, ...)
{
    va_list args;
    if (baton_word_cas(&shared->stop, 0, 1))
        return;
    va_start(args, form);
    vsnprintf(shared->error, sizeof(shared->error), form, args);
    va_end(args);
    shared->rc = rc;
}

static int fail(struct worker *w, int rc, const char *what)
{
    struct baton_ep_fault fault;
    baton_ep_error(w->ep, &fault);
    const char *detail = fault.rc ? fault.text : baton_error_detail();
    litmus_fail(w->shared, rc, "node %u, round %llu: %s: %s%s%s", w->place->node + 1,
                (unsigned long long)w->round, what, baton_strerror(rc), *detail ? "; " : "",
                detail);
    return rc;
}

/* ---- Waiting for each other */

/* Workers that share memory. */
static unsigned workers_here(const struct worker *w)
{
    return w->place->crew ? litmus_workers_on(w->plan, w->place->node) : litmus_workers(w->plan);
}

static int barrier(struct worker *w)
{
    struct litmus_shared *s = w->shared;
    struct crew *crew = w->place->crew;
    uint64_t passed = baton_word_load(&s->passed), patience = w->place->settings->patience_ns;
    if (baton_word_faa(&s->arrived, 1) + 1 == workers_here(w)) {
        int rc = crew ? crew_meet(crew, w->plan->nodes, patience) : 0;
        if (rc)
            return fail(w, rc, "waiting for the other nodes");
        baton_word_store(&s->arrived, 0);
        baton_word_store(&s->passed, passed + 1);
        return 0;
    }
    struct baton_wait wait;
    const struct baton_cond conds[] = {baton_until_not(&s->passed, UINT64_MAX, passed),
                                       baton_until_not(&s->stop, UINT64_MAX, 0)};
    /* Who meets the other nodes for this one is the first to lose patience. */
    baton_wait_begin(w->ep, &wait, baton_now(w->ep) + (crew ? 2 : 1) * patience, NULL);
    int rc = baton_await(w->ep, conds, 2, &wait);
    if (rc)
        return fail(w, rc, "waiting for the other threads");
    return baton_word_load(&s->passed) == passed ? -ECANCELED : 0;
}

/* A clock that all threads read alike, in steps as fine as can be had. */
static uint64_t tick(struct worker *w)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return baton_now(w->ep);
#endif
}

static void pause_below(struct worker *w, unsigned most)
{
    uint64_t n = most ? baton_random_below(&w->random, most + 1) : 0;
    while (n--)
        baton_cpu_pause();
}

/* As short as a store takes to leave its buffer. */
static void lag(struct worker *w)
{
    for (uint64_t n = baton_random_below(&w->random, LAG); n; n--)
        (void)baton_word_peek(&w->begun);
}

/* One more look at the others; false: enough of them. */
static bool look(unsigned *looks)
{
    if (++*looks > LOOKS)
        return false;
    if (*looks % 64 == 0)
        sched_yield();
    else
        baton_cpu_pause();
    return true;
}

/* The first thread says when, once all are there. */
static void call_start(struct worker *w)
{
    struct litmus_progress *all = w->shared->progress;
    unsigned looks = 0;
    for (unsigned other = 0; other < w->plan->threads_n; other++)
        while (baton_word_load(&all[other].begun) < w->begun && look(&looks))
            ;
    baton_word_store(&all[0].start, tick(w) + (looks <= LOOKS ? AHEAD : 0));
    baton_word_store(&all[0].started, w->begun);
}

/* The word of thread `t` in this node's memory. */
static uint64_t *far_begun(const struct worker *w, unsigned t)
{
    return (uint64_t *)(w->place->memory + w->place->far.begun) + t;
}

/* Without a common clock: each is told of all others, and looks for a while. */
static int meet_far(struct worker *w)
{
    unsigned self = (unsigned)(w->thread - w->plan->thread), looks = 0;
    int rc = 0;
    for (unsigned node = 0; node < w->plan->nodes && !rc; node++) {
        uint64_t offset = w->place->far.begun + 8 * self;
        if (node == w->place->node)
            baton_store(w->ep, far_begun(w, self), w->begun);
        else
            rc = baton_put64(w->ep, w->shared->base[node] + offset, w->begun, 0);
    }
    if (!rc)
        rc = baton_flush(w->ep);
    for (unsigned t = 0; t < w->plan->threads_n; t++)
        while (!rc && baton_load(w->ep, far_begun(w, t)) < w->begun && look(&looks))
            ;
    lag(w);
    return rc;
}

/*
 * The threads begin an instance at one moment, if that can be had: with fewer processors than threads somebody
 * is not there, and would not come as long as the others look for him.
 */
static int meet(struct worker *w)
{
    struct litmus_progress *all = w->shared->progress;
    unsigned looks = 0;
    w->begun++;
    if (w->place->crew)
        return meet_far(w);
    baton_word_store(&all[w->thread - w->plan->thread].begun, w->begun);
    if (w->thread == w->plan->thread)
        call_start(w);
    while (baton_word_load(&all[0].started) < w->begun && look(&looks))
        ;
    if (baton_word_load(&all[0].started) == w->begun) {
        uint64_t start = baton_word_load(&all[0].start);
        for (unsigned i = 0; i < AHEAD && tick(w) < start; i++)
            ;
    }
    lag(w);
    return 0;
}

/* ---- Words */

size_t litmus_segment_bytes(const struct litmus_plan *plan, unsigned batch)
{
    return (size_t)batch * (plan->locs_n + 1) * LITMUS_STRIDE_MAX * LINE;
}

static size_t offset_of(const struct worker *w, uint32_t instance, unsigned loc)
{
    return ((size_t)instance * w->plan->locs_n + w->slots[loc]) * w->pace.stride * LINE;
}

static size_t take(size_t *at, size_t bytes)
{
    size_t begin = *at;
    *at += (bytes + LINE - 1) & ~(size_t)(LINE - 1);
    return begin;
}

void litmus_far_lay(struct litmus_far *far, size_t begin, unsigned batch, unsigned width)
{
    size_t rows = (size_t)batch * width * sizeof(int64_t);
    far->end = begin;
    far->begun = take(&far->end, LITMUS_WORKERS_MAX * sizeof(uint64_t));
    far->voids = take(&far->end, batch * sizeof(uint64_t));
    far->rows = take(&far->end, rows);
    far->copy_voids = take(&far->end, batch * sizeof(uint64_t));
    far->copy_rows = take(&far->end, rows);
}

static uint64_t *own_word(const struct worker *w, uint32_t instance, unsigned loc)
{
    return (uint64_t *)(w->place->memory + offset_of(w, instance, loc));
}

static void find_words(struct worker *w, uint32_t instance)
{
    for (unsigned i = 0; i < w->plan->locs_n; i++) {
        unsigned node = w->plan->loc[i].node;
        w->words[i] = (struct litmus_word){
            w->shared->base[node] + offset_of(w, instance, i),
            node == w->place->node ? own_word(w, instance, i) : NULL,
        };
    }
}

static void first_values(struct worker *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (unsigned k = 0; k < w->plan->locs_n; k++)
            if (w->plan->loc[k].node == w->place->node)
                baton_store(w->ep, own_word(w, i, k), (uint64_t)w->plan->loc[k].init);
    baton_mfence(w->ep);
}

static void final_values(struct worker *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = w->shared->rows + (size_t)i * w->plan->width;
        for (unsigned k = 0; k < w->plan->locs_n; k++)
            if (w->plan->loc[k].node == w->place->node && w->plan->loc[k].column != LITMUS_HIDDEN)
                row[w->plan->loc[k].column] = (int64_t)baton_load(w->ep, own_word(w, i, k));
    }
}

/* ---- Running */

static bool before(void *arg, struct baton_ep *ep, unsigned op)
{
    struct worker *w = arg;
    pause_below(w, w->pace.gap);
    return w->pace.ring == 4 || baton_random_below(&w->random, 4) < w->pace.ring;
}

static int lock(void *arg, struct baton_ep *ep, unsigned which, bool acquire)
{
    struct worker *w = arg;
    return litmus_holder_lock(&w->holder, ep, which, w->instance, acquire);
}

/* What the thread leaves in its registers; and whether the run counts. */
static int run_instance(struct worker *w, uint32_t instance)
{
    const struct litmus_harness harness = {before, lock, w};
    int64_t reg[LITMUS_REGS_MAX] = {0};
    w->instance = instance;
    int rc = litmus_thread_run(w->ep, w->thread, w->words, w->deadline_ns, &harness, reg);
    if (rc > 0 && baton_now(w->ep) >= w->deadline_ns)
        return -ETIMEDOUT;
    if (rc < 0)
        return rc;
    if (rc)
        baton_word_store(&w->shared->voids[instance], w->round + 1);
    memcpy(w->shared->rows + (size_t)instance * w->plan->width + w->shown->column, reg,
           w->shown->n * sizeof(*reg));
    return 0;
}

static int drain(struct worker *w)
{
    uint16_t nodes[LITMUS_NODES_MAX];
    for (unsigned n = 0; n < w->plan->nodes; n++)
        nodes[n] = (uint16_t)n;
    int rc = baton_gfence(w->ep, nodes, w->plan->nodes);
    baton_mfence(w->ep);
    return rc;
}

static int run_instances(struct worker *w, uint32_t n)
{
    w->deadline_ns = baton_now(w->ep) + w->place->settings->patience_ns;
    for (uint32_t i = 0; i < n; i++) {
        find_words(w, w->instances[i]);
        int rc = w->pace.meet ? meet(w) : 0;
        pause_below(w, w->pace.stagger);
        if (!rc)
            rc = run_instance(w, w->instances[i]);
        if (rc)
            return fail(w, rc, "an operation");
    }
    int rc = drain(w);
    return rc ? fail(w, rc, "the last gfence") : 0;
}

static void draw(struct worker *w, uint32_t n)
{
    const struct litmus_settings *s = w->place->settings;
    uint64_t round = s->round < 0 ? w->round : (uint64_t)s->round;
    litmus_pace_draw(&w->pace, s->seed, round);
    litmus_pace_order(&w->pace, s->seed, round, 0, w->slots, w->plan->locs_n);
    litmus_pace_order(&w->pace, s->seed, round, 1, w->instances, n);
    litmus_pace_thread(&w->random, s->seed, round, w->number);
}

static void count(struct litmus_shared *s, const struct litmus_plan *plan, uint64_t first,
                  uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t *row = s->rows + (size_t)i * plan->width;
        if (baton_word_load(&s->voids[i])) {
            baton_word_store(&s->voids[i], 0);
            s->tally->runs++;
            s->tally->voids++;
            continue;
        }
        for (unsigned k = 0; k < plan->width; k++)
            row[k] = litmus_gather(row[k]);
        litmus_tally_add(s->tally, first + i, row);
    }
}

/* What a node knows of the final states: the registers of its threads, and its words. */
static void merge(struct worker *w, unsigned node, uint32_t n)
{
    const struct litmus_plan *plan = w->plan;
    const struct litmus_far *far = &w->place->far;
    const uint64_t *voids = (const uint64_t *)(w->place->memory + far->copy_voids);
    const int64_t *rows = (const int64_t *)(w->place->memory + far->copy_rows);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *from = rows + (size_t)i * plan->width;
        int64_t *to = w->shared->rows + (size_t)i * plan->width;
        if (voids[i] == w->round + 1)
            w->shared->voids[i] = voids[i];
        for (unsigned t = 0; t < plan->threads_n; t++)
            if (plan->thread[t].node == node)
                memcpy(to + plan->shown[t].column, from + plan->shown[t].column,
                       plan->shown[t].n * sizeof(*to));
        for (unsigned k = 0; k < plan->locs_n; k++)
            if (plan->loc[k].node == node && plan->loc[k].column != LITMUS_HIDDEN)
                to[plan->loc[k].column] = from[plan->loc[k].column];
    }
}

static int collect(struct worker *w, uint32_t n)
{
    const struct litmus_far *far = &w->place->far;
    size_t bytes = (size_t)n * w->plan->width * sizeof(int64_t);
    int rc = 0;
    for (unsigned node = 1; node < w->plan->nodes && !rc; node++) {
        baton_gptr base = w->shared->base[node];
        rc = baton_get(w->ep, w->place->memory + far->copy_voids, base + far->voids, 8 * n, 1);
        if (!rc && bytes)
            rc = baton_get(w->ep, w->place->memory + far->copy_rows, base + far->rows, bytes, 1);
        if (!rc)
            rc = baton_wait(w->ep, 1);
        if (!rc)
            merge(w, node, n);
    }
    return rc ? fail(w, rc, "getting the final states") : 0;
}

/*
 * Rows are written again behind the next barrier only, which worker 0 reaches when it has counted.
 */
static int rounds(struct worker *w)
{
    const struct litmus_job *job = w->place->job;
    uint64_t batch = w->place->settings->batch;
    int rc = 0;
    for (uint64_t done = 0; done < job->runs && !rc; done += batch, w->round++) {
        uint32_t n = (uint32_t)(job->runs - done < batch ? job->runs - done : batch);
        draw(w, n);
        if (w->attends)
            first_values(w, n);
        rc = barrier(w);
        if (!rc && w->thread)
            rc = run_instances(w, n);
        if (!rc)
            rc = barrier(w);
        if (!rc && w->attends)
            final_values(w, n);
        if (!rc)
            rc = barrier(w);
        if (!rc && w->number == 0 && w->place->crew)
            rc = collect(w, n);
        if (!rc && w->number == 0) {
            count(w->shared, w->plan, done, n);
            baton_word_store(&w->shared->round, w->round + 1);
        }
    }
    if (rc)
        return rc;
    rc = litmus_holder_close(&w->holder, w->ep);
    return rc ? fail(w, rc, "a waiter") : barrier(w);
}

static int with_worker(struct baton_ep *ep, unsigned thread, const struct litmus_place *place,
                       int (*run)(struct worker *))
{
    struct worker w = {
        .ep = ep, .place = place, .plan = &place->job->plan, .shared = place->shared};
    find_part(&w, thread);
    w.slots = calloc(w.plan->locs_n + 1, sizeof(*w.slots));
    w.words = calloc(w.plan->locs_n + 1, sizeof(*w.words));
    w.instances = calloc(place->settings->batch, sizeof(*w.instances));
    int rc = w.slots && w.words && w.instances ? 0 : fail(&w, -ENOMEM, "a thread's memory");
    if (!rc &&
        (rc = litmus_holder_open(&w.holder, ep, &place->tables, w.plan, place->settings->batch)))
        fail(&w, rc, "a waiter");
    if (!rc)
        rc = run(&w);
    int close_rc = litmus_holder_close(&w.holder, ep);
    rc = rc ? rc : close_rc;
    free(w.slots);
    free(w.words);
    free(w.instances);
    return rc;
}

int litmus_rounds_body(struct baton_ep *ep, unsigned thread, void *place)
{
    return with_worker(ep, thread, place, rounds);
}

/* ---- Simulated: one run at a time, and the schedule is the world's */

static void lie_in_order(struct worker *w)
{
    w->pace = (struct litmus_pace){.ring = 4, .stride = 1};
    for (unsigned i = 0; i < w->plan->locs_n; i++)
        w->slots[i] = i;
}

static int once(struct worker *w)
{
    lie_in_order(w);
    find_words(w, 0);
    w->deadline_ns = BATON_NEVER;
    int rc = w->thread ? run_instance(w, 0) : 0;
    if (!rc)
        rc = drain(w);
    return rc ? fail(w, rc, "an operation") : 0;
}

int litmus_once_body(struct baton_ep *ep, unsigned thread, void *place)
{
    return with_worker(ep, thread, place, once);
}

static int begin_one(struct worker *w)
{
    lie_in_order(w);
    first_values(w, 1);
    return 0;
}

static int end_one(struct worker *w)
{
    lie_in_order(w);
    final_values(w, 1);
    return 0;
}

void litmus_once_begin(struct litmus_place *places, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        with_worker(places[i].ep, 0, &places[i], begin_one);
}

void litmus_once_end(struct litmus_place *places, unsigned n, uint64_t run)
{
    for (unsigned i = 0; i < n; i++)
        with_worker(places[i].ep, 0, &places[i], end_one);
    count(places[0].shared, &places[0].job->plan, run, 1);
}

/* ---- Numbers */

static void spread_sum(struct litmus_sum *sum)
{
    for (unsigned i = 0; i < sum->n; i++)
        if (!sum->term[i].is_reg)
            sum->term[i].value = litmus_spread(sum->term[i].value);
}

void litmus_plan_spread(struct litmus_plan *plan)
{
    for (unsigned i = 0; i < plan->locs_n; i++)
        plan->loc[i].init = litmus_spread(plan->loc[i].init);
    for (unsigned t = 0; t < plan->threads_n; t++)
        for (unsigned i = 0; i < plan->thread[t].ops_n; i++) {
            spread_sum(&plan->thread[t].op[i].a);
            spread_sum(&plan->thread[t].op[i].b);
        }
}
