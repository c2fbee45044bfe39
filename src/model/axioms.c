/* SPDX-License-Identifier: MIT */
/*
 * The axioms engine: which outcomes have a consistent candidate execution?
 *
 * The search decides first where every read takes its value, read by read, then which write to each
 * location is the last; with that the outcome is known. Whether the remaining pairs can be ordered
 * matters only once per outcome, so an outcome that is known already ends the branch. After every
 * decision all that follows from it is decided too, and a branch is left as soon as a cycle is there.
 */
#include "model/axioms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/await.h"
#include "model/candidate.h"

struct search {
    struct baton_candidate candidate;
    const struct baton_engine_opts *opts;
    struct baton_outcomes *set;
    uint64_t explored;
    int64_t *row;
    bool *known;
    void **saved; /* one copy of the state per depth, made when a depth is first reached */
    unsigned depth, max_depth;
};

static int save(struct search *s)
{
    struct baton_candidate *c = &s->candidate;
    if (s->depth == s->max_depth) {
        unsigned max = s->max_depth ? s->max_depth * 2 : 16;
        void **saved = realloc(s->saved, max * sizeof(*saved));
        if (!saved)
            return -ENOMEM;
        memset(saved + s->max_depth, 0, (max - s->max_depth) * sizeof(*saved));
        s->saved = saved;
        s->max_depth = max;
    }
    if (!s->saved[s->depth]) {
        s->saved[s->depth] = malloc(baton_candidate_state_max(c));
        if (!s->saved[s->depth])
            return -ENOMEM;
    }
    memcpy(s->saved[s->depth++], c->state, c->state_size);
    return 0;
}

/* Back to the newest copy, which stays. */
static void restore(struct search *s)
{
    struct baton_candidate *c = &s->candidate;
    memcpy(c->state, s->saved[s->depth - 1], c->state_size);
    c->age++;
}

static int count(struct search *s)
{
    s->explored++;
    if (s->opts->max_states && s->explored > s->opts->max_states)
        return -E2BIG;
    if (s->opts->stop && s->explored % 1024 == 0 && s->opts->stop(s->opts->stop_arg))
        return -ETIME;
    return 0;
}

/* What follows from a decision. The naive search leaves it for later decisions to run into. */
static bool follow(struct search *s)
{
    return s->opts->naive || baton_candidate_propagate(&s->candidate);
}

/* Can every open pair be ordered? 1, 0, or an error. */
static int order_pairs(struct search *s, unsigned from)
{
    struct baton_candidate *c = &s->candidate;
    while (from < c->n_pairs && c->decided[from] != BATON_PAIR_OPEN)
        from++;
    if (from == c->n_pairs)
        return 1;
    int rc = save(s);
    for (int way = BATON_PAIR_FORWARD; way <= BATON_PAIR_BACKWARD && rc == 0; way++) {
        rc = count(s);
        if (!rc && baton_candidate_decide(c, from, way) && follow(s))
            rc = order_pairs(s, from + 1);
        restore(s);
    }
    s->depth--;
    return rc;
}

/* Every read and every last write is decided. */
static int finish(struct search *s)
{
    if (!baton_candidate_outcome(&s->candidate, s->row, s->known))
        return 0; /* a value that only depends on itself */
    if (!s->opts->naive && baton_outcomes_has(s->set, s->row))
        return 0;
    int rc = order_pairs(s, 0);
    if (rc == 1)
        rc = baton_outcomes_add(s->set, s->row);
    return rc < 0 ? rc : 0;
}

static int choose_last(struct search *s, unsigned loc)
{
    struct baton_candidate *c = &s->candidate;
    while (loc < c->program->n_shown_locs && baton_candidate_last_write(c, loc) != -2)
        loc++;
    if (loc == c->program->n_shown_locs)
        return finish(s);
    int rc = save(s);
    for (unsigned i = c->first_write[loc]; i < c->first_write[loc + 1] && !rc; i++) {
        unsigned last = c->write[i];
        bool ok = true;
        for (unsigned p = 0; p < c->n_pairs && ok; p++)
            if (c->pair[p].kind == BATON_PAIR_MO && c->decided[p] == BATON_PAIR_OPEN &&
                (c->pair[p].a == last || c->pair[p].b == last))
                ok = baton_candidate_decide(
                    c, p, c->pair[p].b == last ? BATON_PAIR_FORWARD : BATON_PAIR_BACKWARD);
        /* A pair that was decided before may have `last` as the earlier one. */
        rc = count(s);
        if (!rc && ok && baton_candidate_last_write(c, loc) == (int)last && follow(s))
            rc = choose_last(s, loc + 1);
        restore(s);
    }
    s->depth--;
    return rc;
}

static int choose_source(struct search *s, unsigned at)
{
    struct baton_candidate *c = &s->candidate;
    if (at == c->n_reads)
        return choose_last(s, 0);
    unsigned read = c->read[at];
    unsigned first = c->first_write[c->part[read].loc];
    unsigned n = c->first_write[c->part[read].loc + 1] - first;
    int rc = save(s);
    for (unsigned i = 0; i <= n && !rc; i++) {
        int source = i ? c->write[first + i - 1] : BATON_SOURCE_INIT;
        rc = count(s);
        if (!rc && baton_candidate_read_from(c, read, source) && follow(s) &&
            baton_candidate_values_agree(c))
            rc = choose_source(s, at + 1);
        restore(s);
    }
    s->depth--;
    return rc;
}

static int search(struct search *s)
{
    int rc = 0;
    uint64_t shapes = UINT64_C(1) << s->candidate.n_choices;
    for (uint64_t shape = 0; shape < shapes && !rc; shape++) {
        rc = count(s);
        if (rc)
            break;
        baton_candidate_shape(&s->candidate, shape);
        if (s->candidate.possible && follow(s) && baton_candidate_values_agree(&s->candidate))
            rc = choose_source(s, 0);
    }
    return rc;
}

int baton_axioms_run_stamps(const struct baton_program *program, enum baton_model model,
                            const struct baton_stamps *stamps, const struct baton_engine_opts *opts,
                            struct baton_outcomes *set, struct baton_engine_stats *stats)
{
    static const struct baton_engine_opts defaults;
    struct search s = {.opts = opts ? opts : &defaults, .set = set};
    if (stats)
        stats->explored = 0;
    int rc = baton_candidate_init(&s.candidate, program, model, stamps);
    if (rc)
        return rc;
    baton_outcomes_init(set, program->width);
    s.row = calloc(program->width + 1, sizeof(*s.row));
    s.known = calloc(program->width + 1, sizeof(*s.known));
    rc = s.row && s.known ? search(&s) : -ENOMEM;
    if (stats)
        stats->explored = s.explored;
    for (unsigned i = 0; i < s.max_depth; i++)
        free(s.saved[i]);
    free(s.saved);
    free(s.row);
    free(s.known);
    baton_candidate_fini(&s.candidate);
    if (rc)
        baton_outcomes_fini(set);
    return rc;
}

static int add_all(struct baton_outcomes *set, const struct baton_outcomes *more)
{
    int rc = 0;
    for (size_t i = 0; i < more->n && rc >= 0; i++)
        rc = baton_outcomes_add(set, baton_outcomes_row(more, i));
    return rc < 0 ? rc : 0;
}

/* What some choice of the words that end the loops has an execution for. */
static int run_implementations(const struct baton_program *program,
                               const struct baton_stamps *stamps,
                               const struct baton_engine_opts *opts, struct baton_outcomes *set,
                               struct baton_engine_stats *stats)
{
    struct baton_await_choice choice;
    if (stats)
        stats->explored = 0;
    int rc = baton_await_choice_init(&choice, program);
    if (rc)
        return rc;
    baton_outcomes_init(set, program->width);
    do {
        struct baton_outcomes more;
        struct baton_engine_stats here;
        rc = baton_axioms_run_stamps(&choice.lowered, BATON_MODEL_WAIT, stamps, opts, &more, &here);
        if (rc)
            break;
        if (stats)
            stats->explored += here.explored;
        rc = add_all(set, &more);
        baton_outcomes_fini(&more);
    } while (!rc && baton_await_choice_next(&choice));
    if (rc)
        baton_outcomes_fini(set);
    baton_await_choice_fini(&choice);
    return rc;
}

int baton_axioms_run(const struct baton_program *program, enum baton_model model,
                     const struct baton_engine_opts *opts, struct baton_outcomes *set,
                     struct baton_engine_stats *stats)
{
    struct baton_stamps stamps = baton_stamps_default;
    baton_stamps_vary(&stamps, opts ? opts->variants : 0);
    if (model == BATON_MODEL_IMPL)
        return run_implementations(program, &stamps, opts, set, stats);
    return baton_axioms_run_stamps(program, model, &stamps, opts, set, stats);
}
