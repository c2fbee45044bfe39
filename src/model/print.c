/* SPDX-License-Identifier: MIT */
/* Writes a litmus test back in the language: operations, the condition, and the whole file in
 * aligned columns. */
#include "model/program.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows in a buffer of fixed size; `need` counts on when it is full, as snprintf does. */
struct text {
    char *buf;
    size_t size, need;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = t->need < t->size ? t->size - t->need : 0;
    int n = vsnprintf(room ? t->buf + t->need : NULL, room, format, args);
    va_end(args);
    if (n > 0)
        t->need += (size_t)n;
}

static void add_expr(struct text *t, const struct baton_thread *thread, const struct baton_expr *e)
{
    for (unsigned i = 0; i < e->n; i++) {
        const struct baton_term *term = &e->term[i];
        if (i || term->negative)
            add(t, i ? term->negative ? " - " : " + " : "-");
        if (term->is_reg)
            add(t, "%s", thread->reg[term->value]);
        else
            add(t, "%lld", (long long)term->value);
    }
}

static void add_nodes(struct text *t, uint32_t nodes, const char *first)
{
    for (unsigned n = 1; nodes; n++, nodes >>= 1) {
        if (nodes & 1) {
            add(t, "%s%u", first, n);
            first = ", ";
        }
    }
}

int baton_op_print(const struct baton_program *program, unsigned thread, const struct baton_op *op,
                   char *buf, size_t size)
{
    const struct baton_thread *th = &program->thread[thread];
    struct text out = {buf, size, 0}, *t = &out;
    const char *loc = op->loc >= 0 ? program->loc[op->loc].name : "";
    const char *local = op->local >= 0 ? program->loc[op->local].name : "";
    const char *reg = op->reg >= 0 ? th->reg[op->reg] : "";
    if (size)
        *buf = '\0';
    switch (op->kind) {
    case BATON_OP_STORE:
        add(t, "%s = ", loc);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_LOAD:
        add(t, "%s = %s", reg, loc);
        break;
    case BATON_OP_LET:
        add(t, "%s = ", reg);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_CAS:
    case BATON_OP_SCCAS:
        add(t, "%s = %s %s, ", reg, op->kind == BATON_OP_CAS ? "cas" : "sccas", loc);
        add_expr(t, th, &op->a);
        add(t, ", ");
        add_expr(t, th, &op->b);
        break;
    case BATON_OP_FAA:
    case BATON_OP_SCFAA:
        add(t, "%s = %s %s, ", reg, op->kind == BATON_OP_FAA ? "faa" : "scfaa", loc);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_MFENCE:
        add(t, "mfence");
        break;
    case BATON_OP_ASSUME:
        add(t, "assume ");
        add_expr(t, th, &op->a);
        add(t, " == ");
        add_expr(t, th, &op->b);
        break;
    case BATON_OP_PUT:
        add(t, "put %s, %s", loc, local);
        if (op->local < 0)
            add_expr(t, th, &op->a);
        break;
    case BATON_OP_GET:
        add(t, "get %s, %s", local, loc);
        break;
    case BATON_OP_RCAS:
        add(t, "rcas %s, %s, ", local, loc);
        add_expr(t, th, &op->a);
        add(t, ", ");
        add_expr(t, th, &op->b);
        break;
    case BATON_OP_RFAA:
        add(t, "rfaa %s, %s, ", local, loc);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_WAIT:
        add(t, "wait %s", program->id[op->id]);
        break;
    case BATON_OP_POLL:
        add(t, "poll %u", op->node);
        break;
    case BATON_OP_RFENCE:
        add(t, "rfence %u", op->node);
        break;
    case BATON_OP_GFENCE:
        add(t, "gfence ");
        add_nodes(t, op->nodes, "");
        break;
    case BATON_OP_ACQ:
        add(t, "acq %s", program->lock[op->lock].name);
        break;
    case BATON_OP_REL:
        add(t, "rel %s", program->lock[op->lock].name);
        break;
    case BATON_OP_SCWRITE:
        add(t, "scwrite %s, ", loc);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_SCREAD:
        add(t, "%s = scread %s", reg, loc);
        break;
    case BATON_OP_SVWRITE:
        add(t, "svwrite %s, ", program->sv[op->sv].name);
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_SVREAD:
        add(t, "%s = svread %s", reg, program->sv[op->sv].name);
        break;
    case BATON_OP_BCAST:
        add(t, "bcast %s", program->sv[op->sv].name);
        add_nodes(t, op->nodes, ", ");
        break;
    case BATON_OP_AWAIT:
        add(t, "await ");
        for (unsigned i = 0; i < program->set[op->set].n; i++)
            add(t, "%s%s", i ? " or " : "",
                program->loc[program->member[program->set[op->set].first + i]].name);
        add(t, " == ");
        add_expr(t, th, &op->a);
        break;
    case BATON_OP_KINDS:
        break;
    }
    if (op->id >= 0 && op->kind != BATON_OP_WAIT)
        add(t, " #%s", program->id[op->id]);
    return (int)out.need;
}

static void print_value(const struct baton_program *program, const struct baton_cond_value *v,
                        FILE *to)
{
    if (!v->is_column) {
        fprintf(to, "%lld", (long long)v->value);
        return;
    }
    char name[BATON_NAME_MAX + 16];
    baton_program_column_name(program, (unsigned)v->value, name, sizeof(name));
    fputs(name, to);
}

/* `outer` is the kind of the node above: parentheses wherever a reader would want them. */
static void print_cond(const struct baton_program *program, unsigned at, enum baton_cond_kind outer,
                       FILE *to)
{
    const struct baton_cond *c = &program->cond[at];
    bool paren = outer == BATON_COND_NOT ||
                 ((c->kind == BATON_COND_AND || c->kind == BATON_COND_OR) && outer != c->kind);
    if (paren)
        putc('(', to);
    if (c->kind == BATON_COND_EQ || c->kind == BATON_COND_NE) {
        print_value(program, &c->a, to);
        fputs(c->kind == BATON_COND_EQ ? "=" : "!=", to);
        print_value(program, &c->b, to);
    } else if (c->kind == BATON_COND_NOT) {
        putc('~', to);
        print_cond(program, c->left, BATON_COND_NOT, to);
    } else {
        print_cond(program, c->left, c->kind, to);
        fputs(c->kind == BATON_COND_AND ? " /\\ " : " \\/ ", to);
        print_cond(program, c->right, c->kind, to);
    }
    if (paren)
        putc(')', to);
}

static void print_quantified(const struct baton_program *program, FILE *to)
{
    static const char *const words[] = {"exists", "~exists", "forall"};
    fprintf(to, "%s (", words[program->quantifier]);
    /* The root's own kind as the outer one: no second pair of parentheses. */
    if (program->n_conds)
        print_cond(program, program->cond_root,
                   program->cond[program->cond_root].kind == BATON_COND_NOT
                       ? BATON_COND_AND
                       : program->cond[program->cond_root].kind,
                   to);
    else
        fputs("0=0", to);
    putc(')', to);
}

char *baton_cond_text(const struct baton_program *program)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    print_quantified(program, to);
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}

static void print_decls(const struct baton_program *program, FILE *to)
{
    static const char *const locks[] = {"wlock", "slock", "nlock"};
    fprintf(to, "{\n nodes %u;\n", program->nodes);
    for (unsigned i = 0; i < program->n_decls; i++) {
        unsigned at = program->decl[i].index;
        switch (program->decl[i].kind) {
        case BATON_DECL_LOC:
            fprintf(to, " %s%s@%u = %lld;\n", program->loc[at].kind == BATON_LOC_SC ? "sc " : "",
                    program->loc[at].name, program->loc[at].node, (long long)program->loc[at].init);
            break;
        case BATON_DECL_SV:
            fprintf(to, " sv %s = %lld;\n", program->sv[at].name, (long long)program->sv[at].init);
            break;
        case BATON_DECL_LOCK:
            fprintf(to, " lock %s : %s @ %u;\n", program->lock[at].name,
                    locks[program->lock[at].kind], program->lock[at].node);
            break;
        }
    }
    fputs("}\n", to);
}

enum { CELL = 4096 }; /* the longest operation has two expressions of BATON_TERMS_MAX names */

static void print_cell(const struct baton_program *program, unsigned t, const char *text,
                       unsigned width, FILE *to)
{
    fprintf(to, " %-*s %s", (int)width, text, t + 1 < program->n_threads ? "|" : ";\n");
}

static void print_rows(const struct baton_program *program, FILE *to)
{
    unsigned width[BATON_THREADS_MAX], rows = 0;
    char cell[CELL];
    for (unsigned t = 0; t < program->n_threads; t++) {
        const struct baton_thread *thread = &program->thread[t];
        width[t] = (unsigned)snprintf(cell, sizeof(cell), "P%u@%u", t, thread->node);
        for (unsigned i = 0; i < thread->n_ops; i++) {
            unsigned n = (unsigned)baton_op_print(program, t, &thread->op[i], cell, sizeof(cell));
            width[t] = n > width[t] ? n : width[t];
        }
        rows = thread->n_ops > rows ? thread->n_ops : rows;
    }
    for (unsigned t = 0; t < program->n_threads; t++) {
        snprintf(cell, sizeof(cell), "P%u@%u", t, program->thread[t].node);
        print_cell(program, t, cell, width[t], to);
    }
    for (unsigned i = 0; i < rows; i++) {
        for (unsigned t = 0; t < program->n_threads; t++) {
            *cell = '\0';
            if (i < program->thread[t].n_ops)
                baton_op_print(program, t, &program->thread[t].op[i], cell, sizeof(cell));
            print_cell(program, t, cell, width[t], to);
        }
    }
}

void baton_program_print(const struct baton_program *program, FILE *to)
{
    fprintf(to, "RDMA %s\n", program->name);
    if (program->title)
        fprintf(to, "\"%s\"\n", program->title);
    for (unsigned i = 0; i < program->n_results; i++)
        fprintf(to, "(* Result %s: %s *)\n", baton_model_name(program->result[i].model),
                baton_verdict_name(program->result[i].verdict));
    for (unsigned i = 0; i < program->n_comments; i++)
        fprintf(to, "%s\n", program->comment[i]);
    print_decls(program, to);
    print_rows(program, to);
    print_quantified(program, to);
    putc('\n', to);
}
