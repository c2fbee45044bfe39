/* SPDX-License-Identifier: MIT */
/*
 * Drawing a candidate execution: a box for each thread, a node for each access, program order from top
 * to bottom, and the relations that were decided. Kept program order is drawn only where a cycle uses
 * it, since it would hide everything else.
 */
#include "model/dot.h"

#include <errno.h>
#include <inttypes.h>

#include "model/part_text.h"
#include "model/refute.h"

struct drawing {
    const struct baton_program *program;
    enum baton_model model;
    FILE *to;
    bool drawn;
};

static void quote(FILE *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
}

static void draw_node(const struct drawing *d, struct baton_candidate *c, unsigned part)
{
    char text[BATON_PART_TEXT];
    const struct baton_part *p = &c->part[part];
    int64_t value;
    baton_part_text(c, part, text, sizeof(text));
    fprintf(d->to, "    n%u [label=\"%s: ", part, baton_stamp_name(p->stamp));
    quote(d->to, text);
    if (p->reads && baton_candidate_read_value(c, part, &value))
        fprintf(d->to, ", reads %" PRId64, value);
    if (p->writes && baton_candidate_write_value(c, part, &value))
        fprintf(d->to, ", writes %" PRId64, value);
    fprintf(d->to, "\"];\n");
}

/* One operation with all its parts in a box. */
static void draw_op(const struct drawing *d, struct baton_candidate *c, unsigned op)
{
    char text[BATON_PART_TEXT];
    unsigned first = c->first_part[op], end = c->first_part[op + 1];
    if (first == end)
        return;
    baton_part_op_text(c, d->program, first, text, sizeof(text));
    fprintf(d->to, "   subgraph cluster_op%u {\n    style=rounded; color=gray; label=\"", op);
    quote(d->to, text);
    fprintf(d->to, "\";\n");
    for (unsigned part = first; part < end; part++)
        draw_node(d, c, part);
    fprintf(d->to, "   }\n");
}

static void draw_threads(const struct drawing *d, struct baton_candidate *c)
{
    for (unsigned t = 0; t < c->program->n_threads; t++) {
        fprintf(d->to,
                "  subgraph cluster_thread%u {\n   style=solid; color=black; label=\"P%u@%u\";\n",
                t, t, c->program->thread[t].node);
        for (unsigned op = c->first_op[t]; op < c->first_op[t + 1]; op++)
            draw_op(d, c, op);
        fprintf(d->to, "  }\n");
        int before = -1; /* the last part of the operation before */
        for (unsigned op = c->first_op[t]; op < c->first_op[t + 1]; op++) {
            if (c->first_part[op] == c->first_part[op + 1])
                continue;
            if (before >= 0)
                fprintf(d->to, "  n%d -> n%u [style=dotted, color=gray, weight=8];\n", before,
                        c->first_part[op]);
            before = (int)c->first_part[op + 1] - 1;
        }
    }
}

static const struct {
    const char *label, *color;
} styles[] = {
    [BATON_EDGE_PPO] = {"ppo", "black"},    [BATON_EDGE_IPPO] = {"ippo", "black"},
    [BATON_EDGE_ISO] = {"iso", "gray40"},   [BATON_EDGE_RF] = {"rf", "darkgreen"},
    [BATON_EDGE_RB] = {"rb", "purple"},     [BATON_EDGE_RB_OWN] = {"rbi", "purple"},
    [BATON_EDGE_MO] = {"mo", "brown"},      [BATON_EDGE_NFO] = {"nfo", "blue"},
    [BATON_EDGE_RAO] = {"rao", "orange"},   [BATON_EDGE_RAO_END] = {"rao", "orange"},
    [BATON_EDGE_WAIT] = {"pf", "darkcyan"}, [BATON_EDGE_LOCK] = {"lock", "darkcyan"},
    [BATON_EDGE_SC] = {"sc", "black"},
};

/* Only the order within one operation shapes the picture; other edges may go up as well as down. */
static void draw_edge(const struct drawing *d, enum baton_edge_kind kind, unsigned from,
                      unsigned to, bool red)
{
    const char *color = red ? "red" : styles[kind].color;
    fprintf(d->to, "  n%u -> n%u [label=\"%s\", color=%s, fontcolor=%s%s%s];\n", from, to,
            styles[kind].label, color, color, red ? ", penwidth=2.5" : "",
            kind == BATON_EDGE_ISO ? "" : ", constraint=false");
}

static bool in_cycle(const struct baton_proof *cycle, enum baton_edge_kind kind, unsigned from,
                     unsigned to)
{
    for (unsigned i = 0; cycle && i < cycle->n_steps; i++)
        if (cycle->cycle[i].edge.kind == kind && cycle->cycle[i].edge.from == from &&
            cycle->cycle[i].edge.to == to)
            return true;
    return false;
}

static void draw_unless_red(const struct drawing *d, const struct baton_proof *cycle,
                            enum baton_edge_kind kind, unsigned from, unsigned to)
{
    if (!in_cycle(cycle, kind, from, to))
        draw_edge(d, kind, from, to, false);
}

static void draw_pair(const struct drawing *d, const struct baton_candidate *c,
                      const struct baton_proof *cycle, unsigned i)
{
    static const enum baton_edge_kind kinds[] = {[BATON_PAIR_MO] = BATON_EDGE_MO,
                                                 [BATON_PAIR_NFO] = BATON_EDGE_NFO,
                                                 [BATON_PAIR_RAO] = BATON_EDGE_RAO,
                                                 [BATON_PAIR_LOCK] = BATON_EDGE_LOCK};
    const struct baton_pair *pair = &c->pair[i];
    const struct baton_part *a = &c->part[pair->a], *b = &c->part[pair->b];
    if (c->decided[i] == BATON_PAIR_OPEN || (a->thread == b->thread && a->op == b->op))
        return;
    bool forward = c->decided[i] == BATON_PAIR_FORWARD;
    draw_unless_red(d, cycle, kinds[pair->kind], forward ? pair->a : pair->b,
                    forward ? pair->b : pair->a);
}

static void draw_relations(const struct drawing *d, const struct baton_candidate *c,
                           const struct baton_proof *cycle)
{
    for (unsigned op = 0; op < c->n_ops; op++)
        for (unsigned p = c->first_part[op] + 1; p < c->first_part[op + 1]; p++)
            if (c->part[p].stamp != BATON_STAMP_GF)
                draw_unless_red(d, cycle, BATON_EDGE_ISO, c->first_part[op], p);
    for (unsigned i = 0; i < c->n_reads; i++)
        if (c->source[c->read[i]] >= 0)
            draw_unless_red(d, cycle, BATON_EDGE_RF, (unsigned)c->source[c->read[i]], c->read[i]);
    for (unsigned i = 0; i < c->n_pairs; i++)
        draw_pair(d, c, cycle, i);
    for (unsigned i = 0; cycle && i < cycle->n_steps; i++) {
        const struct baton_edge *e = &cycle->cycle[i].edge;
        draw_edge(d, e->kind, e->from, e->to, true);
    }
}

static void draw(struct drawing *d, struct baton_candidate *c, const struct baton_proof *cycle)
{
    fprintf(d->to, "digraph \"");
    quote(d->to, d->program->name);
    fprintf(d->to,
            "\" {\n  label=\"%s: %s under %s\"; node [shape=box, fontname=sans]; edge "
            "[fontname=sans, fontsize=10]; fontname=sans;\n",
            d->program->name, cycle ? "forbidden" : "allowed", baton_model_name(d->model));
    draw_threads(d, c);
    draw_relations(d, c, cycle);
    fprintf(d->to, "}\n");
    d->drawn = true;
}

static void draw_possible(void *arg, struct baton_candidate *c)
{
    draw(arg, c, NULL);
}

static int draw_impossible(void *arg, struct baton_candidate *c,
                           const struct baton_supposition *supposed, unsigned n,
                           const struct baton_proof *proof)
{
    /* One case of a split is enough for a picture: the one that ends in the longer cycle says more. */
    while (proof->pair >= 0) {
        const struct baton_proof *a = proof->way[0], *b = proof->way[1];
        bool second = b->pair >= 0 || (a->pair < 0 && b->n_steps > a->n_steps);
        c->decided[proof->pair] = second ? BATON_PAIR_BACKWARD : BATON_PAIR_FORWARD;
        proof = second ? b : a;
    }
    c->age++;
    draw(arg, c, proof);
    return -ECANCELED;
}

int baton_dot(const struct baton_program *program, enum baton_model model,
              const struct baton_engine_opts *opts, bool negate, FILE *to)
{
    struct drawing d = {.program = program, .model = model, .to = to};
    struct baton_refute_ops possible = {.possible = draw_possible, .arg = &d};
    int rc = baton_refute(program, model, opts, negate, &possible);
    if (rc)
        return rc;
    struct baton_refute_ops impossible = {.impossible = draw_impossible, .arg = &d};
    rc = baton_refute(program, model, opts, negate, &impossible);
    if (rc == -ECANCELED)
        return 0;
    return rc ? rc : -ENOENT;
}
