/* SPDX-License-Identifier: MIT */
/*
 * The explorer: states to do in buckets by the number of steps that led to them, states seen in a
 * hash set. Taking the newest state of one bucket is a depth-first walk; taking the shallowest of
 * many finds shortest runs.
 */
#include "model/explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/reduce.h"

/* The keys of all states seen, side by side, and a table of their numbers + 1. */
struct seen {
    unsigned width;
    size_t n, cap;
    int64_t *keys;
    uint32_t *slot;
    size_t n_slots;
};

static uint64_t key_hash(const int64_t *key, unsigned width)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < width; i++) {
        h = (h ^ (uint64_t)key[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 29;
    }
    return h ^ h >> 32;
}

static int seen_grow(struct seen *s)
{
    size_t cap = s->cap ? s->cap * 2 : 64;
    if (cap > UINT32_MAX / 4)
        return -ENOMEM;
    int64_t *keys = realloc(s->keys, cap * s->width * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    s->keys = keys;
    uint32_t *slot = calloc(cap * 2, sizeof(*slot));
    if (!slot)
        return -ENOMEM;
    free(s->slot);
    s->slot = slot;
    s->cap = cap;
    s->n_slots = cap * 2;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = key_hash(s->keys + i * s->width, s->width) & (s->n_slots - 1);
        while (s->slot[at])
            at = (at + 1) & (s->n_slots - 1);
        s->slot[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* 1: new, 0: known, -ENOMEM. */
static int seen_add(struct seen *s, const int64_t *key)
{
    if (s->n == s->cap) {
        int rc = seen_grow(s);
        if (rc)
            return rc;
    }
    size_t at = key_hash(key, s->width) & (s->n_slots - 1);
    for (; s->slot[at]; at = (at + 1) & (s->n_slots - 1))
        if (!memcmp(s->keys + (size_t)(s->slot[at] - 1) * s->width, key, s->width * sizeof(*key)))
            return 0;
    memcpy(s->keys + s->n * s->width, key, s->width * sizeof(*key));
    s->slot[at] = (uint32_t)++s->n;
    return 1;
}

/* States to do. Each is followed by a word that the shortest search uses for the way there. */
struct bucket {
    size_t n, cap;
    int64_t *states;
};

static int bucket_push(struct bucket *b, const int64_t *state, unsigned n_words, size_t way)
{
    size_t stride = n_words + 1;
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 16;
        int64_t *states = realloc(b->states, cap * stride * sizeof(*states));
        if (!states)
            return -ENOMEM;
        b->states = states;
        b->cap = cap;
    }
    int64_t *at = b->states + b->n++ * stride;
    memcpy(at, state, n_words * sizeof(*at));
    at[n_words] = (int64_t)way;
    return 0;
}

static size_t bucket_pop(struct bucket *b, int64_t *state, unsigned n_words)
{
    const int64_t *at = b->states + --b->n * (n_words + 1);
    memcpy(state, at, n_words * sizeof(*at));
    return (size_t)at[n_words];
}

struct walk {
    const struct baton_machine *m;
    struct baton_reduction reduction;
    struct seen seen;
    int64_t *state, *next; /* the one at hand, and a successor */
    unsigned *steps;
    uint64_t max_states, ticks;
    const struct baton_engine_opts *opts;
};

static int walk_init(struct walk *w, const struct baton_machine *m,
                     const struct baton_engine_opts *opts)
{
    *w = (struct walk){.m = m, .opts = opts};
    w->max_states = opts && opts->max_states ? opts->max_states : UINT64_MAX;
    w->seen.width = m->n_key_words;
    int rc = baton_reduction_init(&w->reduction, m, opts && opts->naive);
    if (rc)
        return rc;
    w->state = malloc(m->n_words * sizeof(*w->state) + 1);
    w->next = malloc(m->n_words * sizeof(*w->next) + 1);
    w->steps = malloc(m->n_steps * sizeof(*w->steps) + 1);
    return w->state && w->next && w->steps ? 0 : -ENOMEM;
}

static void walk_fini(struct walk *w)
{
    baton_reduction_fini(&w->reduction);
    free(w->seen.keys);
    free(w->seen.slot);
    free(w->state);
    free(w->next);
    free(w->steps);
}

/* Enters the state at hand as seen: 1 when it is new, 0 when known, or the reason to give up. */
static int walk_enter(struct walk *w)
{
    int rc = seen_add(&w->seen, w->state);
    if (rc == 1 && w->seen.n > w->max_states)
        return -E2BIG;
    /* A clock is not read for every state. */
    if (rc == 1 && w->opts && w->opts->stop && w->ticks++ % 1024 == 0 &&
        w->opts->stop(w->opts->stop_arg))
        return -ETIME;
    return rc;
}

/* Goes on from the state at hand until it branches or ends; pushes the branches. */
static int walk_down(struct walk *w, struct bucket *todo, baton_explore_fn visit, void *arg)
{
    const struct baton_machine *m = w->m;
    for (;;) {
        unsigned n = baton_reduction_choose(&w->reduction, w->state, w->steps);
        if (n == 0)
            return baton_machine_is_final(m, w->state) ? visit(arg, m, w->state) : 0;
        /* States without a choice need not be remembered: each leads to one state only. */
        if (n == 1) {
            baton_reduction_apply(&w->reduction, w->state, w->steps[0]);
            continue;
        }
        int rc = walk_enter(w);
        if (rc <= 0)
            return rc;
        for (unsigned i = 0; i < n; i++) {
            memcpy(w->next, w->state, m->n_words * sizeof(*w->next));
            baton_reduction_apply(&w->reduction, w->next, w->steps[i]);
            rc = bucket_push(todo, w->next, m->n_words, 0);
            if (rc)
                return rc;
        }
        return 0;
    }
}

int baton_explore(const struct baton_machine *m, const struct baton_engine_opts *opts,
                  baton_explore_fn visit, void *arg, struct baton_engine_stats *stats)
{
    struct walk w;
    struct bucket todo = {0};
    int rc = walk_init(&w, m, opts);
    if (!rc && !m->stuck) {
        baton_machine_start(m, w.state);
        rc = walk_down(&w, &todo, visit, arg);
        while (!rc && todo.n) {
            bucket_pop(&todo, w.state, m->n_words);
            rc = walk_down(&w, &todo, visit, arg);
        }
    }
    if (stats)
        stats->explored = w.seen.n + 1; /* the first state is one even when it has no choice */
    free(todo.states);
    walk_fini(&w);
    return rc;
}

/* How a state was reached: the step, and the way before it. Number 0 is the start. */
struct way {
    size_t before;
    unsigned step;
};

struct search {
    struct walk walk;
    struct bucket *todo; /* by depth */
    struct way *ways;
    size_t n_ways, cap_ways;
};

static int new_way(struct search *s, size_t before, unsigned step, size_t *way)
{
    if (s->n_ways == s->cap_ways) {
        size_t cap = s->cap_ways ? s->cap_ways * 2 : 256;
        struct way *ways = realloc(s->ways, cap * sizeof(*ways));
        if (!ways)
            return -ENOMEM;
        s->ways = ways;
        s->cap_ways = cap;
    }
    s->ways[s->n_ways] = (struct way){before, step};
    *way = s->n_ways++;
    return 0;
}

static int push_successors(struct search *s, unsigned depth, size_t way, unsigned n)
{
    struct walk *w = &s->walk;
    for (unsigned i = 0; i < n; i++) {
        size_t next_way;
        memcpy(w->next, w->state, w->m->n_words * sizeof(*w->next));
        unsigned taken = baton_reduction_apply(&w->reduction, w->next, w->steps[i]);
        int rc = new_way(s, way, w->steps[i], &next_way);
        if (!rc && taken == 2)
            rc = new_way(s, next_way, baton_reduction_partner(&w->reduction, w->steps[i]),
                         &next_way);
        if (!rc)
            rc = bucket_push(&s->todo[depth + taken], w->next, w->m->n_words, next_way);
        if (rc)
            return rc;
    }
    return 0;
}

static int take_steps(const struct search *s, size_t way, unsigned depth, unsigned **steps,
                      unsigned *n_steps)
{
    unsigned *taken = malloc((depth + 1) * sizeof(*taken));
    if (!taken)
        return -ENOMEM;
    for (unsigned i = depth; i-- > 0; way = s->ways[way].before)
        taken[i] = s->ways[way].step;
    *steps = taken;
    *n_steps = depth;
    return 1;
}

static int search_run(struct search *s, baton_explore_fn visit, void *arg, unsigned **steps,
                      unsigned *n_steps)
{
    struct walk *w = &s->walk;
    size_t start;
    baton_machine_start(w->m, w->state);
    int rc = new_way(s, 0, 0, &start);
    if (!rc)
        rc = bucket_push(&s->todo[0], w->state, w->m->n_words, start);
    for (unsigned depth = 0; !rc && depth <= w->m->n_steps; depth++) {
        while (!rc && s->todo[depth].n) {
            size_t way = bucket_pop(&s->todo[depth], w->state, w->m->n_words);
            rc = walk_enter(w);
            if (rc <= 0)
                continue;
            unsigned n = baton_reduction_choose(&w->reduction, w->state, w->steps);
            if (n)
                rc = push_successors(s, depth, way, n);
            else
                rc = baton_machine_is_final(w->m, w->state) ? visit(arg, w->m, w->state) : 0;
            if (rc == 1)
                return take_steps(s, way, depth, steps, n_steps);
        }
    }
    return rc;
}

int baton_explore_shortest(const struct baton_machine *m, const struct baton_engine_opts *opts,
                           baton_explore_fn visit, void *arg, unsigned **steps, unsigned *n_steps)
{
    struct search s = {0};
    int rc = walk_init(&s.walk, m, opts);
    s.todo = calloc(m->n_steps + 1, sizeof(*s.todo));
    if (!rc && !s.todo)
        rc = -ENOMEM;
    if (!rc && !m->stuck)
        rc = search_run(&s, visit, arg, steps, n_steps);
    for (unsigned i = 0; s.todo && i <= m->n_steps; i++)
        free(s.todo[i].states);
    free(s.todo);
    free(s.ways);
    walk_fini(&s.walk);
    return rc;
}

static int collect(void *arg, const struct baton_machine *m, const int64_t *state)
{
    struct baton_outcomes *set = arg;
    int64_t row[BATON_THREADS_MAX * BATON_REGS_MAX + BATON_LOCS_MAX];
    baton_machine_outcome(m, state, row);
    int rc = baton_outcomes_add(set, row);
    return rc < 0 ? rc : 0;
}

int baton_machine_run(const struct baton_program *program, enum baton_model model,
                      const struct baton_engine_opts *opts, struct baton_outcomes *set,
                      struct baton_engine_stats *stats)
{
    struct baton_program lowered;
    struct baton_machine m;
    if (stats)
        *stats = (struct baton_engine_stats){0};
    if (model == BATON_MODEL_SPEC)
        return -EOPNOTSUPP;
    int rc = baton_program_lower(program, model, &lowered);
    if (rc)
        return rc;
    rc = baton_machine_init(&m, &lowered, opts ? opts->variants : 0);
    if (!rc) {
        baton_outcomes_init(set, program->width);
        rc = baton_explore(&m, opts, collect, set, stats);
        if (rc)
            baton_outcomes_fini(set);
        baton_machine_fini(&m);
    }
    baton_program_fini(&lowered);
    return rc;
}
