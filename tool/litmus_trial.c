/* SPDX-License-Identifier: MIT */
/* What was seen of a litmus test on a fabric, and what the model says to it. */
#include "litmus_trial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crew.h"
#include "bench/litmus_pace.h"
#include "bench/litmus_spread.h"
#include "cmd.h"
#include "json.h"
#include "litmus_print.h"

/* ---- Judging */

static int expected_of(const struct baton_program *p, enum baton_model model)
{
    for (unsigned i = 0; i < p->n_results; i++)
        if (p->result[i].model == model)
            return (int)p->result[i].verdict;
    return -1;
}

bool litmus_trial_ask(struct litmus_trial *t, const enum baton_model *model)
{
    const char *reason;
    t->model = model ? *model : BATON_MODEL_TSO;
    if (!model && baton_program_supports(&t->program, t->model, &reason))
        t->model = BATON_MODEL_SPEC;
    if (baton_program_supports(&t->program, t->model, &t->skipped))
        return false;
    t->skipped = NULL;
    t->expected = expected_of(&t->program, t->model);
    struct baton_engine_opts opts = {.max_states = t->all->max_states};
    /* The machine does not know spec, and the axioms do not know impl. */
    t->engine_rc = (t->model == BATON_MODEL_SPEC ? baton_axioms_run : baton_machine_run)(
        &t->program, t->model, &opts, &t->allowed, &t->stats);
    return true;
}

static bool writes(const struct baton_op *op, int loc)
{
    switch (op->kind) {
    case BATON_OP_STORE:
    case BATON_OP_CAS:
    case BATON_OP_FAA:
    case BATON_OP_PUT:
        return op->loc == loc;
    case BATON_OP_GET:
    case BATON_OP_RCAS:
    case BATON_OP_RFAA:
        return op->local == loc;
    default:
        return false;
    }
}

static bool is_written(const struct baton_program *p, int loc)
{
    for (unsigned t = 0; t < p->n_threads; t++)
        for (unsigned i = 0; i < p->thread[t].n_ops; i++)
            if (writes(&p->thread[t].op[i], loc))
                return true;
    return false;
}

/* A remote cas works on a word that something else writes than cards' read-modify-writes. */
static bool may_undo(const struct baton_program *p)
{
    for (unsigned t = 0; t < p->n_threads; t++)
        for (unsigned i = 0; i < p->thread[t].n_ops; i++) {
            const struct baton_op *op = &p->thread[t].op[i];
            if (op->kind == BATON_OP_RCAS && is_written(p, op->loc))
                return true;
        }
    return false;
}

static enum litmus_class class_of(const struct litmus_trial *t, const int64_t *row)
{
    if (!t->engine_rc && baton_outcomes_has(&t->allowed, row))
        return LITMUS_ALLOWED;
    for (unsigned k = 0; k < t->program.width; k++)
        if (litmus_is_torn(row[k]))
            return LITMUS_TORN;
    if (t->engine_rc)
        return LITMUS_UNKNOWN;
    return t->tally->undoes && may_undo(&t->program) ? LITMUS_UNDONE : LITMUS_FORBIDDEN;
}

static bool same(const struct litmus_trial *t, const struct litmus_group *a,
                 const struct litmus_group *b)
{
    return a->class == b->class && !memcmp(a->row, b->row, t->program.width * sizeof(*a->row));
}

static void add_group(struct litmus_trial *t, const struct litmus_group *g)
{
    for (size_t i = 0; i < t->groups_n; i++) {
        struct litmus_group *known = &t->group[i];
        if (!same(t, known, g))
            continue;
        known->count += g->count;
        if (g->first < known->first) {
            known->first = g->first;
            known->state = g->state;
        }
        return;
    }
    t->group[t->groups_n++] = *g;
}

static int compare(const void *a, const void *b, void *width)
{
    const struct litmus_group *x = a, *y = b;
    for (unsigned k = 0; k < *(const unsigned *)width; k++)
        if (x->row[k] != y->row[k])
            return x->row[k] < y->row[k] ? -1 : 1;
    return (int)x->class - (int)y->class;
}

int litmus_trial_judge(struct litmus_trial *t, const struct litmus_tally *tally)
{
    unsigned width = t->program.width;
    t->tally = tally;
    if (!tally)
        return 0;
    t->group = calloc(tally->states_n + 1, sizeof(*t->group));
    t->rows = calloc((size_t)tally->states_n * width + 1, sizeof(*t->rows));
    if (!t->group || !t->rows)
        return -ENOMEM;
    for (unsigned i = 0; i < tally->states_n; i++) {
        const int64_t *row = litmus_tally_row(tally, i);
        int64_t *masked = t->rows + (size_t)i * width;
        litmus_mask(&t->program, row, t->all->show_all, masked);
        struct litmus_group g = {
            .count = tally->state[i].count,
            .first = tally->state[i].first,
            .class = class_of(t, row),
            .witness = baton_outcome_holds(&t->program, row),
            .state = i,
            .row = masked,
        };
        t->count[g.class] += g.count;
        t->allowed_seen += g.class == LITMUS_ALLOWED;
        if (g.class != LITMUS_TORN && g.class != LITMUS_UNDONE)
            *(g.witness ? &t->positive : &t->negative) += g.count;
        add_group(t, &g);
    }
    qsort_r(t->group, t->groups_n, sizeof(*t->group), compare, &width);
    return 0;
}

/*
 * Is what was seen in keeping with what the test states? That nothing was seen contradicts nothing. Without a result
 * of any model ~exists and forall are statements.
 */
static bool as_stated(const struct litmus_trial *t)
{
    switch (t->expected) {
    case BATON_NEVER:
        return !t->positive;
    case BATON_ALWAYS:
        return !t->negative;
    case BATON_SOMETIMES:
        return true;
    default:
        return t->program.n_results || t->program.quantifier == BATON_EXISTS ||
               baton_quantifier_holds(t->program.quantifier, t->positive, t->negative);
    }
}

int litmus_trial_status(const struct litmus_trial *t)
{
    if (t->skipped)
        return CMD_OK;
    if (*t->error || t->count[LITMUS_FORBIDDEN] || (t->tally && t->tally->lost) || !as_stated(t))
        return CMD_NOT_AS_EXPECTED;
    return t->engine_rc ? CMD_GAVE_UP : CMD_OK;
}

void litmus_trial_fini(struct litmus_trial *t)
{
    if (!t->engine_rc)
        baton_outcomes_fini(&t->allowed);
    free(t->group);
    free(t->rows);
    baton_program_fini(&t->program);
}

/* ---- Telling */

static const char *verdict(const struct litmus_trial *t)
{
    return baton_verdict_name(baton_outcomes_verdict(t->positive, t->negative));
}

static const char *gave_up(const struct litmus_trial *t)
{
    return t->engine_rc == -E2BIG ? "gave up at the limit of states" : strerror(-t->engine_rc);
}

/* As litmus7 prints it. */
static void print_histogram(const struct litmus_trial *t, FILE *to)
{
    fprintf(to, "Histogram (%zu states)\n", t->groups_n);
    for (size_t i = 0; i < t->groups_n; i++) {
        const struct litmus_group *g = &t->group[i];
        fprintf(to, "%-6" PRIu64 "%c>", g->count,
                g->class == LITMUS_TORN     ? '?'
                : g->class == LITMUS_UNDONE ? '!'
                : g->witness                ? '*'
                                            : ':');
        litmus_print_values(&t->program, g->row, t->all->show_all, to);
        putc('\n', to);
    }
}

static void print_again(const struct litmus_trial *t, const struct litmus_group *g, FILE *to)
{
    const struct litmus_fleet_opts *f = &t->all->fleet;
    const struct litmus_settings *s = &f->settings;
    bool simulated = crew_is_simulated(f->fabric);
    struct litmus_pace pace;
    char words[160];
    fprintf(to, "  first in run %" PRIu64, g->first);
    if (!simulated) {
        uint64_t round = g->first / s->batch;
        litmus_pace_draw(&pace, s->seed, s->round < 0 ? round : (uint64_t)s->round);
        litmus_pace_words(&pace, words, sizeof(words));
        fprintf(to, ", instance %" PRIu64 " of round %" PRIu64 ": %s", g->first % s->batch, round,
                words);
    }
    fprintf(to, "\n  again: baton litmus run --fabric %s%s%s%s%s --model %s", f->fabric,
            f->options ? " --options " : "", f->options ? f->options : "", f->swap ? " --swap" : "",
            f->in_process ? " --in-process" : "", baton_model_name(t->model));
    if (t->model == BATON_MODEL_SPEC)
        fprintf(to, " --lock %s", f->kind);
    fprintf(to, " --seed %" PRIu64, s->seed);
    if (!simulated)
        fprintf(to, " --batch %u --round %" PRIu64, s->batch,
                s->round < 0 ? g->first / s->batch : (uint64_t)s->round);
    fprintf(to, " --runs %" PRIu64 " %s\n", t->all->runs, t->path);
}

static void print_class(const struct litmus_trial *t, enum litmus_class class, const char *what,
                        FILE *to)
{
    for (size_t i = 0; i < t->groups_n; i++) {
        const struct litmus_group *g = &t->group[i];
        if (g->class != class)
            continue;
        fprintf(to, "%s: %" PRIu64 " runs, the first of them: ", what, g->count);
        litmus_print_values(&t->program, litmus_tally_row(t->tally, g->state), true, to);
        putc('\n', to);
        print_again(t, g, to);
    }
}

static void print_model(const struct litmus_trial *t, FILE *to)
{
    const struct litmus_fleet_opts *f = &t->all->fleet;
    bool spec = t->model == BATON_MODEL_SPEC;
    fprintf(to, "Model %s (%s: ", baton_model_name(t->model), spec ? "axioms" : "machine");
    if (t->engine_rc)
        fprintf(to, "%s)", gave_up(t));
    else
        fprintf(to, "%" PRIu64 " %s), of its %zu final states seen: %zu", t->stats.explored,
                spec ? "candidates" : "states", t->allowed.n, t->allowed_seen);
    fprintf(to, "\nFabric %s%s, %" PRIu64 " runs, seed %" PRIu64, f->fabric,
            crew_is_simulated(f->fabric) ? " (simulated)" : "", t->tally->runs, f->settings.seed);
    if (spec)
        fprintf(to, ", locks of kind %s", f->kind);
    if (t->tally->voids)
        fprintf(to, ", %" PRIu64 " of them none, by an assume", t->tally->voids);
    putc('\n', to);
}

static void print_block(const struct litmus_trial *t, FILE *to)
{
    static const char *const kinds[] = {"Allowed", "Forbidden", "Required"};
    const struct baton_program *p = &t->program;
    char *cond = baton_cond_text(p);
    bool holds = baton_quantifier_holds(p->quantifier, t->positive, t->negative);
    /* As in herd7: a witness of ~exists is a state in which the proposition does not hold. */
    bool swap = p->quantifier == BATON_NOT_EXISTS;
    fprintf(to, "Test %s %s\n", p->name, kinds[p->quantifier]);
    print_histogram(t, to);
    fprintf(to, "%s\n\nWitnesses\nPositive: %" PRIu64 ", Negative: %" PRIu64 "\n",
            holds ? "Ok" : "No", swap ? t->negative : t->positive,
            swap ? t->positive : t->negative);
    fprintf(to, "Condition %s is %svalidated\n", cond ? cond : "", holds ? "" : "NOT ");
    litmus_print_hash(p, to);
    fprintf(to, "Observation %s %s %" PRIu64 " %" PRIu64 "\nTime %s %.2f\n", p->name, verdict(t),
            t->positive, t->negative, p->name, t->seconds);
    print_model(t, to);
    print_class(t, LITMUS_TORN, "Values that nobody wrote", to);
    print_class(t, LITMUS_UNDONE, "Forbidden, but a failed rcas may undo a write here", to);
    print_class(t, LITMUS_FORBIDDEN, "Forbidden by the model", to);
    if (t->tally->lost)
        fprintf(to, "More than %u final states: %" PRIu64 " runs were not looked at\n",
                LITMUS_STATES_MAX, t->tally->lost);
    if (!as_stated(t) && t->expected >= 0)
        fprintf(to, "Not as stated: Result %s: %s\n", baton_model_name(t->model),
                baton_verdict_name((enum baton_verdict)t->expected));
    else if (!as_stated(t))
        fprintf(to, "Not as stated: %s\n", cond ? cond : "");
    free(cond);
}

static const char *const class_names[] = {"allowed", "forbidden", "torn", "undone", "unknown"};

static void print_json_states(const struct litmus_trial *t, FILE *to)
{
    fputs(",\"states\":[", to);
    for (size_t i = 0; i < t->groups_n; i++) {
        const struct litmus_group *g = &t->group[i];
        fprintf(to,
                "%s{\"count\":%" PRIu64 ",\"witness\":%s,\"class\":\"%s\",\"first\":%" PRIu64
                ",\"values\":",
                i ? "," : "", g->count, g->witness ? "true" : "false", class_names[g->class],
                g->first);
        litmus_print_json_values(&t->program, g->row, t->all->show_all, to);
        putc('}', to);
    }
    putc(']', to);
}

static void print_json_text(const char *name, const char *text, FILE *to)
{
    fprintf(to, ",\"%s\":", name);
    if (!text || !*text) {
        fputs("null", to);
        return;
    }
    json_text(to, text);
}

static void print_json(const struct litmus_trial *t, FILE *to)
{
    const struct litmus_fleet_opts *f = &t->all->fleet;
    fprintf(to, "{\"test\":\"%s\",\"model\":\"%s\",\"fabric\":\"%s\",\"simulated\":%s",
            t->program.name, baton_model_name(t->model), f->fabric,
            crew_is_simulated(f->fabric) ? "true" : "false");
    fprintf(to, ",\"seed\":%" PRIu64 ",\"batch\":%u", f->settings.seed, f->settings.batch);
    print_json_text("lock", t->model == BATON_MODEL_SPEC ? f->kind : NULL, to);
    print_json_text("skipped", t->skipped, to);
    print_json_text("error", t->error, to);
    if (t->tally) {
        fprintf(to,
                ",\"observation\":\"%s\",\"runs\":%" PRIu64 ",\"voids\":%" PRIu64
                ",\"positive\":%" PRIu64 ",\"negative\":%" PRIu64,
                verdict(t), t->tally->runs, t->tally->voids, t->positive, t->negative);
        print_json_text(
            "expected",
            t->expected < 0 ? NULL : baton_verdict_name((enum baton_verdict)t->expected), to);
        int status = litmus_trial_status(t);
        fprintf(to, ",\"ok\":%s,\"forbidden\":%" PRIu64 ",\"torn\":%" PRIu64 ",\"undone\":%" PRIu64,
                status == CMD_GAVE_UP ? "null"
                : status == CMD_OK    ? "true"
                                      : "false",
                t->count[LITMUS_FORBIDDEN], t->count[LITMUS_TORN], t->count[LITMUS_UNDONE]);
        if (t->engine_rc)
            fputs(",\"allowed\":null", to);
        else
            fprintf(to, ",\"allowed\":%zu", t->allowed.n);
        fprintf(to, ",\"allowed_seen\":%zu", t->allowed_seen);
        print_json_states(t, to);
        fprintf(to, ",\"seconds\":%.6f", t->seconds);
    }
    fputs("}\n", to);
}

void litmus_trial_print(const struct litmus_trial *t, FILE *to)
{
    if (t->all->json) {
        print_json(t, to);
        return;
    }
    if (t->skipped) {
        fprintf(to, "Skipped %s under %s: %s\n\n", t->program.name, baton_model_name(t->model),
                t->skipped);
        return;
    }
    if (t->tally)
        print_block(t, to);
    else
        fprintf(to, "Test %s\n", t->program.name);
    if (*t->error)
        fprintf(to, "Failed: %s\n", t->error);
    putc('\n', to);
}
