/* SPDX-License-Identifier: MIT */
/*
 * Proofs by cycle and by case. Few cases are better than many, so proofs with one split are tried
 * before those with two, up to a small number; what needs more is proved by following forced choices,
 * and splits that no cycle uses are then left out again.
 */
#include "model/proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SPLITS_MAX = 4, WORK_MAX = 50000 };

struct prover {
    struct baton_candidate *c;
    unsigned work;
    bool out_of_memory;
};

/* A state to come back to. */
struct mark {
    void *state;
    unsigned n_edges;
};

static bool mark_set(struct prover *p, struct mark *mark)
{
    mark->state = malloc(p->c->state_size);
    mark->n_edges = p->c->n_edges;
    if (!mark->state) {
        p->out_of_memory = true;
        return false;
    }
    memcpy(mark->state, p->c->state, p->c->state_size);
    return true;
}

static void mark_return(struct prover *p, const struct mark *mark)
{
    memcpy(p->c->state, mark->state, p->c->state_size);
    p->c->n_edges = mark->n_edges;
    p->c->age++;
}

void baton_proof_free(struct baton_proof *proof)
{
    if (!proof)
        return;
    baton_proof_free(proof->way[0]);
    baton_proof_free(proof->way[1]);
    free(proof->cycle);
    free(proof);
}

static struct baton_proof *new_proof(struct prover *p, int pair)
{
    struct baton_proof *proof = calloc(1, sizeof(*proof));
    if (!proof)
        p->out_of_memory = true;
    else
        proof->pair = pair;
    return proof;
}

/*
 * The shortest cycle among the logged edges. The search walks over (part, order) places: in the order
 * of effect, or in a stretch of issue edges that began at an instantaneous part. Such a stretch counts
 * as one effect edge, so changing over costs nothing.
 */
struct walk {
    const struct baton_candidate *c;
    unsigned *first;  /* per part, its outgoing edges in `out`; one more at the end */
    unsigned *out;    /* edge indices */
    int *via;         /* per place: the edge that led here, -1 when not reached */
    unsigned *from;   /* per place: where that edge began */
    unsigned *length; /* per place */
    unsigned *queue;
};

enum { EFFECT, ISSUE };

static unsigned place(unsigned part, unsigned order)
{
    return part * 2 + order;
}

static bool instant(const struct baton_candidate *c, unsigned part)
{
    return c->instant[part / 64] >> (part % 64) & 1;
}

/*
 * Breadth first from `start` until it is reached again, within `limit` steps. Returns the place where
 * the cycle closes, or -1. With `issue_only` the whole cycle is in the order of issue.
 */
static int walk_from(struct walk *w, unsigned start, bool issue_only, unsigned limit)
{
    unsigned n = w->c->n_parts * 2, head = 0, tail = 0;
    for (unsigned i = 0; i < n; i++)
        w->via[i] = -1;
    unsigned begin[2] = {0, 0}, n_begin = 0;
    if (issue_only) {
        begin[n_begin++] = place(start, ISSUE);
    } else {
        begin[n_begin++] = place(start, EFFECT);
        if (instant(w->c, start))
            begin[n_begin++] = place(start, ISSUE);
    }
    for (unsigned i = 0; i < n_begin; i++) {
        w->length[begin[i]] = 0;
        w->queue[tail++] = begin[i];
    }
    while (head < tail) {
        unsigned at = w->queue[head++], part = at / 2, order = at % 2;
        if (w->length[at] >= limit)
            return -1;
        for (unsigned i = w->first[part]; i < w->first[part + 1]; i++) {
            const struct baton_edge *e = &w->c->edge[w->out[i]];
            if (!(e->orders & (order == ISSUE ? BATON_EDGE_IN_IB : BATON_EDGE_IN_HB)))
                continue;
            /* The end of the edge, and where one may change over to without a step. */
            unsigned reached[2] = {place(e->to, order)}, n_reached = 1;
            if (!issue_only && (order == ISSUE || instant(w->c, e->to)))
                reached[n_reached++] = place(e->to, !order);
            /* From issue to effect always; from effect to issue at an instantaneous part only. From
             * issue to effect and back is no way around that: the stretch just goes on. */
            for (unsigned k = 0; k < n_reached; k++) {
                unsigned to = reached[k];
                if (w->via[to] >= 0)
                    continue;
                w->via[to] = (int)w->out[i];
                w->from[to] = at;
                w->length[to] = w->length[at] + 1;
                if (e->to == start && to == begin[0])
                    return (int)to;
                if (to != begin[0] && (n_begin == 1 || to != begin[1]))
                    w->queue[tail++] = to;
            }
        }
    }
    return -1;
}

static void take_cycle(const struct walk *w, int end, struct baton_proof *proof)
{
    unsigned at = (unsigned)end;
    for (unsigned i = proof->n_steps; i-- > 0; at = w->from[at])
        proof->cycle[i] = (struct baton_cycle_step){.edge = w->c->edge[w->via[at]],
                                                    .index = (unsigned)w->via[at],
                                                    .issue = w->from[at] % 2 == ISSUE};
}

static struct baton_proof *cycle_proof(struct prover *p)
{
    const struct baton_candidate *c = p->c;
    struct baton_proof *proof = new_proof(p, -1);
    unsigned n = c->n_parts;
    struct walk w = {.c = c,
                     .first = calloc(n + 2, sizeof(unsigned)),
                     .out = calloc(c->n_edges + 1, sizeof(unsigned)),
                     .via = calloc(2 * n + 1, sizeof(int)),
                     .from = calloc(2 * n + 1, sizeof(unsigned)),
                     .length = calloc(2 * n + 1, sizeof(unsigned)),
                     .queue = calloc(2 * n + 3, sizeof(unsigned))};
    if (!proof || !w.first || !w.out || !w.via || !w.from || !w.length || !w.queue) {
        p->out_of_memory = true;
        goto out;
    }
    for (unsigned i = 0; i < c->n_edges; i++)
        w.first[c->edge[i].from + 2]++;
    for (unsigned i = 1; i < n + 2; i++)
        w.first[i] += w.first[i - 1];
    for (unsigned i = 0; i < c->n_edges; i++)
        w.out[w.first[c->edge[i].from + 1]++] = i;

    unsigned best = 2 * n + 1;
    for (unsigned issue_only = 0; issue_only < 2; issue_only++)
        for (unsigned start = 0; start < n; start++) {
            int end = walk_from(&w, start, issue_only, best - 1);
            if (end < 0)
                continue;
            best = proof->n_steps = w.length[end];
            struct baton_cycle_step *cycle = realloc(proof->cycle, best * sizeof(*cycle));
            if (!cycle) {
                p->out_of_memory = true;
                goto out;
            }
            proof->cycle = cycle;
            take_cycle(&w, end, proof);
        }
out:
    free(w.first);
    free(w.out);
    free(w.via);
    free(w.from);
    free(w.length);
    free(w.queue);
    return proof;
}

static bool decide(struct prover *p, unsigned pair, unsigned way)
{
    p->work++;
    return baton_candidate_decide(p->c, pair, way ? BATON_PAIR_BACKWARD : BATON_PAIR_FORWARD);
}

static struct baton_proof *prove(struct prover *p, unsigned budget);

/* A proof that splits on `pair` first, with at most `budget` splits in all. */
static struct baton_proof *prove_split(struct prover *p, unsigned pair, unsigned budget)
{
    struct mark mark;
    struct baton_proof *way[2] = {NULL, NULL};
    if (!mark_set(p, &mark))
        return NULL;
    bool refused[2];
    for (unsigned i = 0; i < 2; i++) {
        refused[i] = !decide(p, pair, i);
        mark_return(p, &mark);
    }
    budget--;
    /* What is left of the budget is shared between the ways that are still open. */
    for (unsigned first = 0; first <= budget; first++) {
        unsigned share[2] = {first, budget - first};
        bool sensible = true;
        for (unsigned i = 0; i < 2; i++)
            sensible = sensible && (refused[i] ? share[i] == 0 : share[i] > 0);
        if (!sensible && !(refused[0] && refused[1]))
            continue;
        /* Cycles are looked for last: most splits prove nothing. */
        for (unsigned pass = 0; pass < 2; pass++)
            for (unsigned i = 0; i < 2; i++) {
                if (refused[i] != (pass == 1) || (pass == 1 && !refused[!i] && !way[!i]))
                    continue;
                decide(p, pair, i);
                way[i] = refused[i] ? cycle_proof(p) : prove(p, share[i]);
                mark_return(p, &mark);
            }
        if (way[0] && way[1])
            break;
        for (unsigned i = 0; i < 2; i++) {
            baton_proof_free(way[i]);
            way[i] = NULL;
        }
    }
    free(mark.state);
    struct baton_proof *proof = way[0] && way[1] ? new_proof(p, (int)pair) : NULL;
    if (!proof) {
        baton_proof_free(way[0]);
        baton_proof_free(way[1]);
        return NULL;
    }
    proof->way[0] = way[0];
    proof->way[1] = way[1];
    return proof;
}

/* A proof with at most `budget` splits, if there is one and it is found soon enough. */
static struct baton_proof *prove(struct prover *p, unsigned budget)
{
    if (!budget)
        return NULL;
    for (unsigned pair = 0; pair < p->c->n_pairs; pair++) {
        if (p->c->decided[pair] != BATON_PAIR_OPEN)
            continue;
        if (p->work > WORK_MAX || p->out_of_memory)
            return NULL;
        struct baton_proof *proof = prove_split(p, pair, budget);
        if (proof)
            return proof;
    }
    return NULL;
}

/* Does a cycle of the proof use an edge that was logged at `from` or later, before `to`? */
static bool uses(const struct baton_proof *proof, unsigned from, unsigned to)
{
    if (proof->pair >= 0)
        return uses(proof->way[0], from, to) || uses(proof->way[1], from, to);
    for (unsigned i = 0; i < proof->n_steps; i++)
        if (proof->cycle[i].index >= from && proof->cycle[i].index < to)
            return true;
    return false;
}

/* The pair to split on next: one that is forced, else any open one. */
static int next_split(const struct baton_candidate *c)
{
    int any = -1;
    for (unsigned i = 0; i < c->n_pairs; i++) {
        if (c->decided[i] != BATON_PAIR_OPEN)
            continue;
        if (baton_candidate_refuses(c, i, BATON_PAIR_FORWARD) ||
            baton_candidate_refuses(c, i, BATON_PAIR_BACKWARD))
            return (int)i;
        if (any < 0)
            any = (int)i;
    }
    return any;
}

/* A proof of any size. Depth is bounded by the number of pairs. */
static struct baton_proof *prove_somehow(struct prover *p)
{
    int pair = next_split(p->c);
    struct mark mark;
    if (pair < 0 || !mark_set(p, &mark))
        return NULL;
    struct baton_proof *way[2] = {NULL, NULL}, *whole = NULL;
    /* The way that is refused at once comes first: its cycle may do without the split. */
    bool backward_first = baton_candidate_refuses(p->c, (unsigned)pair, BATON_PAIR_BACKWARD);
    for (unsigned i = 0; i < 2 && !whole; i++) {
        unsigned side = backward_first ? 1 - i : i;
        bool open = decide(p, (unsigned)pair, side);
        unsigned end = p->c->n_edges;
        way[side] = open ? prove_somehow(p) : cycle_proof(p);
        mark_return(p, &mark);
        if (!way[side])
            break;
        if (!uses(way[side], mark.n_edges, end)) {
            whole = way[side];
            way[side] = NULL;
        }
    }
    free(mark.state);
    if (!whole && way[0] && way[1]) {
        whole = new_proof(p, pair);
        if (whole) {
            whole->way[0] = way[0];
            whole->way[1] = way[1];
            return whole;
        }
    }
    baton_proof_free(way[0]);
    baton_proof_free(way[1]);
    return whole;
}

int baton_proof_find(struct baton_candidate *c, bool broken, struct baton_proof **proof)
{
    struct prover p = {.c = c};
    *proof = broken ? cycle_proof(&p) : NULL;
    for (unsigned budget = 1; !*proof && !broken && budget <= SPLITS_MAX; budget++)
        *proof = prove(&p, budget);
    if (!*proof && !p.out_of_memory)
        *proof = prove_somehow(&p);
    if (*proof && !p.out_of_memory && !c->log_error)
        return 0;
    baton_proof_free(*proof);
    *proof = NULL;
    return -ENOMEM;
}
