/* SPDX-License-Identifier: MIT */
/* All states, one after the other; see second.h. */
#include "second.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    uint64_t hash; /* 0: free */
    uint32_t index;
};

struct level {
    struct second_image image;
    struct second_step step[SECOND_STEPS_MAX];
    unsigned n, next;
    uint32_t index;
};

struct naive {
    struct slot *slot;
    size_t mask;
    uint32_t states_n;
    uint32_t (*edge)[2]; /* from, to */
    size_t edges_n, edges_room;
    bool *ends; /* by state: nothing is left to do there, or somewhere behind it */
    size_t ends_room;
    struct level **level;
    size_t depth, room;
};

static void *more(void *at, size_t *room, size_t size)
{
    *room = *room ? 2 * *room : 1024;
    at = realloc(at, *room * size);
    if (!at)
        abort();
    return at;
}

static struct slot *find(struct naive *n, uint64_t hash)
{
    size_t i = hash & n->mask;
    while (n->slot[i].hash && n->slot[i].hash != hash)
        i = (i + 1) & n->mask;
    return &n->slot[i];
}

static void grow(struct naive *n)
{
    struct slot *old = n->slot;
    size_t slots = n->slot ? n->mask + 1 : 0;
    n->mask = slots ? 4 * slots - 1 : 1023;
    n->slot = calloc(n->mask + 1, sizeof(*n->slot));
    if (!n->slot)
        abort();
    for (size_t i = 0; i < slots; i++)
        if (old[i].hash)
            *find(n, old[i].hash) = old[i];
    free(old);
}

/* The state we are in; whether it is new. */
static uint32_t state(struct second *w, struct naive *n, bool *is_new)
{
    if (!n->slot || n->states_n > n->mask / 2)
        grow(n);
    uint64_t hash = second_hash(w);
    struct slot *s = find(n, hash);
    *is_new = !s->hash;
    if (!*is_new)
        return s->index;
    if (n->states_n == n->ends_room)
        n->ends = more(n->ends, &n->ends_room, sizeof(*n->ends));
    n->ends[n->states_n] = false;
    *s = (struct slot){hash, n->states_n};
    return n->states_n++;
}

static void push(struct second *w, struct naive *n, uint32_t index)
{
    if (n->depth == n->room) {
        size_t before = n->room;
        n->level = more(n->level, &n->room, sizeof(*n->level));
        memset(n->level + before, 0, (n->room - before) * sizeof(*n->level));
    }
    if (!n->level[n->depth])
        n->level[n->depth] = calloc(1, sizeof(struct level));
    struct level *l = n->level[n->depth++];
    if (!l)
        abort();
    l->n = second_steps(w, l->step);
    l->next = 0;
    l->index = index;
    second_save(w, &l->image);
    if (!second_ended(w))
        return;
    w->out->runs++;
    n->ends[index] = true;
    w->p->end(w->p->arg);
}

/* Backwards from the ends: who is not met can not end. */
static bool all_can_end(struct naive *n)
{
    for (bool any = true; any;) {
        any = false;
        for (size_t i = n->edges_n; i-- > 0;)
            if (n->ends[n->edge[i][1]] && !n->ends[n->edge[i][0]])
                any = n->ends[n->edge[i][0]] = true;
    }
    for (uint32_t i = 0; i < n->states_n; i++)
        if (!n->ends[i])
            return false;
    return true;
}

static void search(struct second *w)
{
    struct naive n = {0};
    bool is_new;
    push(w, &n, state(w, &n, &is_new));
    while (n.depth && !w->out->failed && w->out->complete) {
        struct level *l = n.level[n.depth - 1];
        if (l->next == l->n) {
            n.depth--;
            continue;
        }
        second_load(w, &l->image);
        second_take(w, &l->step[l->next++]);
        uint32_t to = state(w, &n, &is_new);
        if (n.edges_n == n.edges_room)
            n.edge = more(n.edge, &n.edges_room, sizeof(*n.edge));
        n.edge[n.edges_n][0] = l->index;
        n.edge[n.edges_n++][1] = to;
        if (is_new)
            push(w, &n, to);
        w->out->complete = n.states_n < w->bound;
    }
    if (!w->out->complete)
        snprintf(w->out->text, sizeof(w->out->text), "the bound on states was reached");
    w->out->states = n.states_n;
    w->out->stuck = w->out->complete && !w->out->failed && !all_can_end(&n);
    for (size_t i = 0; i < n.room && n.level[i]; i++) {
        free(n.level[i]->image.at);
        free(n.level[i]);
    }
    free(n.level);
    free(n.edge);
    free(n.ends);
    free(n.slot);
}

int second_naive(const struct second_program *p, uint64_t states_max, struct second_result *out)
{
    struct second w = {
        .p = p, .really_polls = true, .search = search, .out = out, .bound = states_max};
    *out = (struct second_result){0};
    return second_run(&w);
}
