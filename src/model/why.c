/* SPDX-License-Identifier: MIT */
/*
 * Telling a refutation as a story: what is supposed, the accesses that matter, each with a letter, and
 * the edges that lead from one of them back to itself.
 */
#include "model/why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/await.h"
#include "model/part_text.h"
#include "model/refute.h"
#include "model/story_set.h"

/* Longer stories are read by nobody: what is beyond is counted. */
enum { STORIES_MAX = 16 };

/* More ways of an implementation to go wrong than these take too long to prove. */
enum { WAYS_MAX = 4096 };

/* More values than these of one column are not listed. */
enum { VALUES_MAX = 4 };

/* The values that a column has where the proposition does not hold. */
struct seen {
    bool open; /* or too many */
    unsigned n;
    int64_t value[VALUES_MAX];
};

struct why {
    const struct baton_program *program;
    const struct baton_program *written; /* before it was lowered to `program`; else null */
    bool negate;
    FILE *to;
    struct seen *seen; /* per column */
    unsigned stories;
    struct baton_story_set once; /* lowered: the stories, to be told at the end */
    unsigned n_letters;
    uint16_t letter[BATON_ORDER_MAX]; /* per part: its number + 1, or 0 */
};

/* A, B, .. Z, A1, B1, .. */
static const char *letter_text(unsigned number, char buf[16])
{
    if (number < 26)
        snprintf(buf, 16, "%c", (char)('A' + number));
    else
        snprintf(buf, 16, "%c%u", (char)('A' + number % 26), number / 26);
    return buf;
}

static const char *letter(const struct why *w, unsigned part, char buf[16])
{
    return letter_text(w->letter[part] - 1u, buf);
}

/* Of an implementation, what it implements comes first: `P0 "acq l" (wait acquire.)`. */
static void op_text(const struct why *w, const struct baton_candidate *c, unsigned part,
                    char buf[BATON_PART_TEXT])
{
    baton_part_op_text(c, w->program, part, buf, BATON_PART_TEXT);
    if (!w->written)
        return;
    unsigned thread = c->part[part].thread;
    const struct baton_op *op = baton_candidate_op(c, part);
    char plain[BATON_PART_TEXT / 2], whole[BATON_PART_TEXT / 2];
    baton_op_print(w->program, thread, op, plain, sizeof(plain));
    baton_op_print(w->written, thread, &w->written->thread[thread].op[op->source], whole,
                   sizeof(whole));
    if (strcmp(plain, whole) != 0)
        snprintf(buf, BATON_PART_TEXT, "P%u \"%.200s\" (%.200s)", thread, whole, plain);
}

static void introduce(struct why *w, const struct baton_candidate *c, unsigned part)
{
    if (w->letter[part])
        return;
    w->letter[part] = (uint16_t)++w->n_letters;
    char op[BATON_PART_TEXT], text[BATON_PART_TEXT], buf[16];
    op_text(w, c, part, op);
    baton_part_text(c, part, text, sizeof(text));
    fprintf(w->to, "    %s  %s: %s\n", letter(w, part, buf), op, text);
}

static void introduce_all(struct why *w, const struct baton_candidate *c,
                          const struct baton_proof *proof)
{
    if (proof->pair >= 0) {
        introduce(w, c, c->pair[proof->pair].a);
        introduce(w, c, c->pair[proof->pair].b);
        introduce_all(w, c, proof->way[0]);
        introduce_all(w, c, proof->way[1]);
    }
    for (unsigned i = 0; i < proof->n_steps; i++)
        introduce(w, c, proof->cycle[i].edge.from);
}

static void indent(const struct why *w, unsigned depth)
{
    fprintf(w->to, "%*s", (int)(2 + 2 * depth), "");
}

static void tell_table(const struct why *w, const struct baton_candidate *c,
                       const struct baton_edge *e, const char *verb)
{
    enum baton_stamp from = c->part[e->from].stamp, to = c->part[e->to].stamp;
    char cell = c->stamps.cell[from][to];
    fprintf(w->to, "because a %s %s before a later %s%s", baton_stamp_words(from), verb,
            baton_stamp_words(to), cell == 's' || cell == 'n' ? " towards the same node" : "");
}

static void tell_overwritten(const struct why *w, const struct baton_candidate *c,
                             const struct baton_edge *e, const char *from, const char *to)
{
    char op[BATON_PART_TEXT];
    int source = c->source[e->from];
    if (source < 0) {
        fprintf(w->to, "because %s reads the initial value, which %s overwrites", from, to);
        return;
    }
    op_text(w, c, (unsigned)source, op);
    fprintf(w->to, "because %s reads the value of %s, which %s overwrites", from, op, to);
}

static void tell_reason(const struct why *w, const struct baton_candidate *c,
                        const struct baton_cycle_step *step)
{
    const struct baton_edge *e = &step->edge;
    char buf1[16], buf2[16];
    const char *from = letter(w, e->from, buf1), *to = letter(w, e->to, buf2);
    switch ((enum baton_edge_kind)e->kind) {
    case BATON_EDGE_PPO:
        tell_table(w, c, e, "stays");
        break;
    case BATON_EDGE_IPPO:
        tell_table(w, c, e, "is issued");
        break;
    case BATON_EDGE_ISO:
        if (c->part[e->from].stamp == BATON_STAMP_RF)
            fprintf(w->to, "because a release fences before it writes");
        else
            fprintf(w->to, "because one operation reads before it writes");
        break;
    case BATON_EDGE_RF:
        fprintf(w->to, "because %s reads the value that %s wrote", to, from);
        break;
    case BATON_EDGE_RB:
        tell_overwritten(w, c, e, from, to);
        break;
    case BATON_EDGE_RB_OWN:
        fprintf(w->to, "because %s does not see %s, an earlier store of its thread", from, to);
        break;
    case BATON_EDGE_MO:
        fprintf(w->to, "because that is supposed to be the order of these writes");
        break;
    case BATON_EDGE_NFO:
        fprintf(w->to, "because that is supposed to be the order of these two on their queue pair");
        break;
    case BATON_EDGE_RAO:
        fprintf(w->to, "because that is supposed to be the order of these RMWs");
        break;
    case BATON_EDGE_RAO_END:
        fprintf(w->to, "because an RMW towards a node has written before the next one reads");
        break;
    case BATON_EDGE_WAIT:
        if (e->orders & BATON_EDGE_IN_HB)
            fprintf(w->to, "because %s waits until the result is there", to);
        else
            fprintf(w->to, "because %s waits until the remote write has been issued", to);
        break;
    case BATON_EDGE_LOCK:
        fprintf(w->to, "because the lock is released before it is acquired again");
        break;
    case BATON_EDGE_SC:
        fprintf(w->to, "because SC memory keeps program order");
        break;
    }
}

static void tell_cycle(const struct why *w, const struct baton_candidate *c,
                       const struct baton_proof *proof, unsigned depth)
{
    unsigned n = proof->n_steps;
    char buf1[16], buf2[16];
    if (!n) {
        indent(w, depth);
        fprintf(w->to, "a poll has no operation to answer it and never returns, a contradiction\n");
        return;
    }
    bool effect = false;
    for (unsigned i = 0; i < n; i++)
        effect = effect || !proof->cycle[i].issue;
    for (unsigned i = 0; i < n; i++) {
        const struct baton_cycle_step *step = &proof->cycle[i];
        indent(w, depth);
        fprintf(w->to, "%s %s before %s, ", letter(w, step->edge.from, buf1),
                step->issue ? "is issued" : "takes effect", letter(w, step->edge.to, buf2));
        tell_reason(w, c, step);
        fprintf(w->to, "\n");
        /* A stretch of issue edges ends: what began it takes effect the moment it is issued. */
        if (!step->issue || !effect || (i + 1 < n && proof->cycle[i + 1].issue))
            continue;
        unsigned first = i;
        while (first > 0 && proof->cycle[first - 1].issue)
            first--;
        indent(w, depth);
        fprintf(w->to, "so %s, which takes effect as it is issued, takes effect before %s\n",
                letter(w, proof->cycle[first].edge.from, buf1), letter(w, step->edge.to, buf2));
    }
    indent(w, depth);
    fprintf(w->to, "so %s would %s before itself, a contradiction\n",
            letter(w, proof->cycle[0].edge.from, buf1), effect ? "take effect" : "be issued");
}

static void tell_proof(const struct why *w, const struct baton_candidate *c,
                       const struct baton_proof *proof, unsigned depth)
{
    if (proof->pair < 0) {
        tell_cycle(w, c, proof, depth);
        return;
    }
    const struct baton_pair *pair = &c->pair[proof->pair];
    char buf1[16], buf2[16];
    const char *a = letter(w, pair->a, buf1), *b = letter(w, pair->b, buf2);
    indent(w, depth);
    switch (pair->kind) {
    case BATON_PAIR_MO:
        fprintf(w->to, "%s and %s write to one place, one after the other:\n", a, b);
        break;
    case BATON_PAIR_NFO:
        fprintf(w->to, "%s and %s share a queue pair, which orders them one way or the other:\n", a,
                b);
        break;
    case BATON_PAIR_RAO:
        fprintf(w->to, "%s and %s go towards one node, whose RMWs run one at a time:\n", a, b);
        break;
    case BATON_PAIR_LOCK:
        fprintf(w->to, "%s and %s acquire one lock, one after the other:\n", a, b);
        break;
    }
    for (unsigned way = 0; way < 2; way++) {
        indent(w, depth);
        fprintf(w->to, "- if %s comes first:\n", way ? b : a);
        tell_proof(w, c, proof->way[way], depth + 1);
    }
}

/* Calls `look` with every step of the cycles until it says yes. */
static bool any_step(const struct baton_candidate *c, const struct baton_proof *proof,
                     bool (*look)(const struct baton_candidate *c, const struct baton_edge *e,
                                  const void *arg),
                     const void *arg)
{
    for (unsigned i = 0; i < proof->n_steps; i++)
        if (look(c, &proof->cycle[i].edge, arg))
            return true;
    return proof->pair >= 0 &&
           (any_step(c, proof->way[0], look, arg) || any_step(c, proof->way[1], look, arg));
}

static bool leaves(const struct baton_candidate *c, const struct baton_edge *e, const void *op)
{
    const struct baton_part *p = &c->part[e->from];
    return c->first_op[p->thread] + p->op == *(const unsigned *)op;
}

static bool leaves_thread(const struct baton_candidate *c, const struct baton_edge *e,
                          const void *arg)
{
    return c->part[e->from].thread != c->part[e->to].thread;
}

/* Would the edge not be there without what is supposed? */
static bool rests_on(const struct baton_candidate *c, const struct baton_edge *e, const void *arg)
{
    const struct baton_supposition *s = arg;
    bool reads_older = e->kind == BATON_EDGE_RB || e->kind == BATON_EDGE_RB_OWN;
    if (s->is_read)
        return (e->kind == BATON_EDGE_RF && e->to == s->read) ||
               (reads_older && e->from == s->read);
    return (e->kind == BATON_EDGE_MO || reads_older) && c->part[e->to].loc == (int)s->loc;
}

/* With a proof, only of operations that are in it. */
static void tell_shape(const struct why *w, const struct baton_candidate *c,
                       const struct baton_proof *proof)
{
    for (unsigned t = 0; t < c->program->n_threads; t++)
        for (unsigned i = 0; i < c->program->thread[t].n_ops; i++) {
            unsigned index = c->first_op[t] + i;
            if (!baton_op_may_fail(c->program->thread[t].op[i].kind) ||
                (proof && !any_step(c, proof, leaves, &index)))
                continue;
            char op[BATON_PART_TEXT];
            op_text(w, c, c->first_part[index], op);
            fprintf(w->to, "    %s %s\n", op, c->succeeds[index] ? "succeeds" : "fails");
        }
}

/* The value that the proposition below `at` wants a column to have, if it says so itself. */
static bool asks_for(const struct baton_program *program, unsigned at, unsigned column,
                     int64_t *value)
{
    const struct baton_cond *cond = &program->cond[at];
    if (cond->kind == BATON_COND_AND)
        return asks_for(program, cond->left, column, value) ||
               asks_for(program, cond->right, column, value);
    if (cond->kind != BATON_COND_EQ || !cond->a.is_column || cond->b.is_column ||
        cond->a.value != (int64_t)column)
        return false;
    *value = cond->b.value;
    return true;
}

static bool wanted(const struct why *w, int column, int64_t *value)
{
    return column >= 0 && !w->negate && w->program->n_conds &&
           asks_for(w->program, w->program->cond_root, (unsigned)column, value);
}

/* The column that shows what a read or a last write is about, or -1: a read need not be shown. */
static int column_of(const struct baton_candidate *c, const struct baton_supposition *s)
{
    const struct baton_program *program = c->program;
    if (!s->is_read)
        return s->loc < program->n_shown_locs ? (int)(program->loc_column + s->loc) : -1;
    const struct baton_thread *thread = &program->thread[c->part[s->read].thread];
    unsigned op = c->part[s->read].op;
    int reg = thread->op[op].reg;
    if (reg < 0 || (unsigned)reg >= thread->n_shown)
        return -1;
    while (++op < thread->n_ops)
        if (thread->op[op].reg == reg)
            return -1;
    return (int)thread->column + reg;
}

static void tell_supposition(const struct why *w, struct baton_candidate *c,
                             const struct baton_supposition *s)
{
    char reader[BATON_PART_TEXT], writer[BATON_PART_TEXT];
    const char *loc = c->program->loc[s->loc].name;
    int64_t value;
    if (s->is_read)
        op_text(w, c, s->read, reader);
    if (s->write < 0) {
        fprintf(w->to, "    %s reads %s = %" PRId64 ", the initial value\n", reader, loc,
                c->program->loc[s->loc].init);
        return;
    }
    op_text(w, c, (unsigned)s->write, writer);
    /* A story that is told once for many ways has not one value. */
    bool known = !w->written && (baton_candidate_write_value(c, (unsigned)s->write, &value) ||
                                 wanted(w, column_of(c, s), &value));
    if (s->is_read && known)
        fprintf(w->to, "    %s reads %s = %" PRId64 ", written by %s\n", reader, loc, value,
                writer);
    else if (s->is_read)
        fprintf(w->to, "    %s reads %s as written by %s\n", reader, loc, writer);
    else if (known)
        fprintf(w->to, "    the last value of %s is %" PRId64 ", written by %s\n", loc, value,
                writer);
    else
        fprintf(w->to, "    the last value of %s is the one written by %s\n", loc, writer);
}

static void tell_circles(struct why *w, const struct baton_candidate *c,
                         const struct baton_proof *proof)
{
    memset(w->letter, 0, sizeof(w->letter));
    w->n_letters = 0;
    if (proof->pair >= 0 || proof->n_steps)
        fprintf(w->to, "  Look at\n");
    introduce_all(w, c, proof);
    tell_proof(w, c, proof, 0);
}

static int tell(void *arg, struct baton_candidate *c, const struct baton_supposition *supposed,
                unsigned n, const struct baton_proof *proof)
{
    struct why *w = arg;
    w->stories++;
    if (!proof)
        return 0;
    if (n || c->n_choices) {
        fprintf(w->to, "  Suppose that\n");
        tell_shape(w, c, NULL);
        for (unsigned i = 0; i < n; i++)
            tell_supposition(w, c, &supposed[i]);
    }
    tell_circles(w, c, proof);
    return 0;
}

/* A story of an implementation, without what its circles do not rest on. */
static void tell_lean(struct why *w, struct baton_candidate *c,
                      const struct baton_supposition *supposed, unsigned n,
                      const struct baton_proof *proof)
{
    fprintf(w->to, "  Suppose that\n");
    tell_shape(w, c, proof);
    for (unsigned i = 0; i < n; i++)
        if (any_step(c, proof, rests_on, &supposed[i]))
            tell_supposition(w, c, &supposed[i]);
    tell_circles(w, c, proof);
}

static int tell_once(void *arg, struct baton_candidate *c, const struct baton_supposition *supposed,
                     unsigned n, const struct baton_proof *proof)
{
    struct why *w = arg;
    if (w->stories++ == WAYS_MAX)
        return -E2BIG;
    FILE *to = w->to;
    char *text = NULL;
    size_t size;
    w->to = open_memstream(&text, &size);
    if (w->to)
        tell_lean(w, c, supposed, n, proof);
    bool written = w->to && !fclose(w->to);
    w->to = to;
    if (!written) {
        free(text);
        return -ENOMEM;
    }
    return baton_story_set_add(&w->once, text, any_step(c, proof, leaves_thread, NULL));
}

static void note_values(void *arg, const int64_t *row, const bool *known)
{
    struct why *w = arg;
    for (unsigned column = 0; column < w->program->width; column++) {
        struct seen *seen = &w->seen[column];
        unsigned i = 0;
        while (i < seen->n && seen->value[i] != row[column])
            i++;
        if (!known[column] || i == VALUES_MAX)
            seen->open = true;
        else if (i == seen->n)
            seen->value[seen->n++] = row[column];
    }
}

/* There is no story because no values fit: says what values there are instead. */
static void tell_values(const struct why *w)
{
    char name[2 * BATON_NAME_MAX];
    const char *between = "  Whatever is read and whatever is written last, ";
    for (unsigned column = 0; column < w->program->width; column++) {
        const struct seen *seen = &w->seen[column];
        if (seen->open || !seen->n || !baton_program_cond_uses(w->program, column))
            continue;
        baton_program_column_name(w->program, column, name, sizeof(name));
        fprintf(w->to, "%s%s is", between, name);
        for (unsigned i = 0; i < seen->n; i++)
            fprintf(w->to, "%s %" PRId64, i ? " or" : "", seen->value[i]);
        between = ", ";
    }
    fputs(*between == ',' ? ".\n" : "  No way to combine the values of the program does.\n", w->to);
}

static void tell_proposition(const struct why *w, enum baton_model model)
{
    char *cond = baton_cond_text(w->program);
    fprintf(w->to, "%s: under %s no execution makes this proposition %s.\n", cond ? cond : "",
            baton_model_name(model), w->negate ? "false" : "true");
    free(cond);
}

/* Refutes each choice of the words that end the loops. */
static int refute_choices(struct why *w, struct baton_await_choice *choice,
                          const struct baton_engine_opts *opts)
{
    const struct baton_refute_ops story = {.impossible = tell_once, .unfit = note_values, .arg = w};
    int rc;
    do
        rc = baton_refute(&choice->lowered, BATON_MODEL_WAIT, opts, w->negate, &story);
    while (!rc && baton_await_choice_next(choice));
    return rc;
}

static int why_implementations(struct why *w, const struct baton_engine_opts *opts)
{
    struct baton_await_choice choice;
    int rc = baton_await_choice_init(&choice, w->program);
    if (rc)
        return rc;
    w->written = w->program;
    w->program = &choice.lowered;
    rc = refute_choices(w, &choice, opts);
    if (!rc) {
        tell_proposition(w, BATON_MODEL_IMPL);
        if (w->once.n)
            fputs("In each way to get there, the implementations would do one of these:\n", w->to);
        else
            tell_values(w);
        baton_story_set_print(&w->once, STORIES_MAX, w->to);
    }
    baton_story_set_fini(&w->once);
    baton_await_choice_fini(&choice);
    return rc;
}

static int why(struct why *w, enum baton_model model, const struct baton_engine_opts *opts)
{
    struct baton_refute_ops ask = {0};
    int rc = baton_refute(w->program, model, opts, w->negate, &ask);
    if (rc)
        return rc;
    tell_proposition(w, model);
    struct baton_refute_ops story = {
        .impossible = tell, .unfit = note_values, .arg = w, .max_proofs = STORIES_MAX};
    rc = baton_refute(w->program, model, opts, w->negate, &story);
    if (!rc && !w->stories)
        tell_values(w);
    else if (!rc && w->stories > STORIES_MAX)
        fprintf(w->to, "  %u more ways end in a contradiction too.\n", w->stories - STORIES_MAX);
    return rc;
}

int baton_why(const struct baton_program *program, enum baton_model model,
              const struct baton_engine_opts *opts, bool negate, FILE *to)
{
    struct why w = {.program = program, .negate = negate, .to = to};
    w.seen = calloc(program->width + 1, sizeof(*w.seen));
    if (!w.seen)
        return -ENOMEM;
    int rc = model == BATON_MODEL_IMPL ? why_implementations(&w, opts) : why(&w, model, opts);
    free(w.seen);
    return rc;
}
