/* SPDX-License-Identifier: MIT */
/* Sketches of generated programs: the least one of a class of renamings, and the text of one. */
#include "model/sketch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const baton_gen_kind_names[BATON_GEN_KINDS] = {
    [BATON_GEN_STORE] = "store",   [BATON_GEN_LOAD] = "load",     [BATON_GEN_PUT] = "put",
    [BATON_GEN_GET] = "get",       [BATON_GEN_RFAA] = "rfaa",     [BATON_GEN_RCAS] = "rcas",
    [BATON_GEN_WAIT] = "wait",     [BATON_GEN_RFENCE] = "rfence", [BATON_GEN_GFENCE] = "gfence",
    [BATON_GEN_MFENCE] = "mfence", [BATON_GEN_CAS] = "cas",       [BATON_GEN_FAA] = "faa",
    [BATON_GEN_POLL] = "poll",
};

bool baton_sketch_is_remote(uint8_t kind)
{
    return kind == BATON_GEN_PUT || baton_sketch_has_result(kind);
}

bool baton_sketch_has_result(uint8_t kind)
{
    return kind == BATON_GEN_GET || kind == BATON_GEN_RFAA || kind == BATON_GEN_RCAS;
}

/* A renaming: what each node, thread and data location becomes. */
struct renaming {
    uint8_t node[BATON_GEN_NODES_MAX];
    uint8_t thread[BATON_GEN_THREADS_MAX];     /* old to new */
    uint8_t thread_old[BATON_GEN_THREADS_MAX]; /* new to old */
    uint8_t location[BATON_GEN_NODES_MAX][BATON_GEN_LOCATIONS_MAX];
};

enum { CODE_BYTES_PER_OP = 16 };

struct code {
    int length;
    uint8_t bytes[BATON_GEN_THREADS_MAX * (2 + BATON_GEN_OPS_MAX * CODE_BYTES_PER_OP)];
};

static void encode_place(struct code *c, const struct renaming *r, struct sketch_place p)
{
    c->bytes[c->length++] = r->node[p.node];
    if (p.word < BATON_GEN_LOCATIONS_MAX) {
        c->bytes[c->length++] = r->location[p.node][p.word];
        return;
    }
    int result = p.word - BATON_GEN_LOCATIONS_MAX;
    c->bytes[c->length++] =
        sketch_result(r->thread[result / BATON_GEN_OPS_MAX], result % BATON_GEN_OPS_MAX);
}

static void encode_value(struct code *c, const struct renaming *r, const struct sketch_value *v)
{
    c->bytes[c->length++] = v->form;
    if (v->form == SKETCH_PLACE) {
        encode_place(c, r, v->place);
    } else if (v->form == SKETCH_CONSTANT) {
        c->bytes[c->length++] = r->thread[v->thread];
        c->bytes[c->length++] = v->op;
    } else if (v->form == SKETCH_REGISTER) {
        c->bytes[c->length++] = v->op;
    }
}

static void encode_op(struct code *c, const struct renaming *r, const struct sketch_op *op,
                      int nodes)
{
    c->bytes[c->length++] = op->kind;
    switch (op->kind) {
    case BATON_GEN_MFENCE:
        break;
    case BATON_GEN_WAIT:
        c->bytes[c->length++] = op->ref;
        break;
    case BATON_GEN_POLL:
    case BATON_GEN_RFENCE:
        c->bytes[c->length++] = r->node[op->ref];
        break;
    case BATON_GEN_GFENCE: {
        uint8_t set = 0;
        for (int n = 0; n < nodes; n++)
            if (op->nodes >> n & 1)
                set |= (uint8_t)(1u << r->node[n]);
        c->bytes[c->length++] = set;
        break;
    }
    default:
        if (baton_sketch_is_remote(op->kind)) {
            c->bytes[c->length++] = op->id;
            encode_place(c, r, op->remote);
        }
        if (op->kind != BATON_GEN_PUT)
            encode_place(c, r, op->local);
        encode_value(c, r, &op->value);
        encode_value(c, r, &op->expect);
    }
}

static void encode(struct code *c, const struct renaming *r, const struct sketch *s)
{
    c->length = 0;
    for (int t = 0; t < s->threads; t++) {
        const struct sketch_thread *thread = &s->thread[r->thread_old[t]];
        c->bytes[c->length++] = r->node[thread->node];
        c->bytes[c->length++] = thread->ops;
        for (int i = 0; i < thread->ops; i++)
            encode_op(c, r, &thread->op[i], s->nodes);
    }
}

/* The next permutation of n numbers in lexicographic order; false, and the first one, after the
 * last. */
static bool permute(uint8_t *a, int n)
{
    int i = n - 1;
    while (i > 0 && a[i - 1] >= a[i])
        i--;
    for (int lo = i, hi = n - 1; lo < hi; lo++, hi--) {
        uint8_t swap = a[lo];
        a[lo] = a[hi];
        a[hi] = swap;
    }
    if (i <= 0)
        return false;
    int j = i;
    while (a[j] <= a[i - 1])
        j++;
    uint8_t swap = a[i - 1];
    a[i - 1] = a[j];
    a[j] = swap;
    return true;
}

static bool permute_locations(struct renaming *r, int nodes, int locations)
{
    for (int n = 0; n < nodes; n++)
        if (permute(r->location[n], locations))
            return true;
    return false;
}

bool baton_sketch_is_least(const struct sketch *s)
{
    struct renaming r;
    for (int n = 0; n < BATON_GEN_NODES_MAX; n++) {
        r.node[n] = (uint8_t)n;
        for (int l = 0; l < BATON_GEN_LOCATIONS_MAX; l++)
            r.location[n][l] = (uint8_t)l;
    }
    for (int t = 0; t < BATON_GEN_THREADS_MAX; t++)
        r.thread_old[t] = r.thread[t] = (uint8_t)t;
    struct code self, other;
    encode(&self, &r, s);
    do {
        do {
            for (int t = 0; t < s->threads; t++)
                r.thread[r.thread_old[t]] = (uint8_t)t;
            do {
                encode(&other, &r, s);
                int length = self.length < other.length ? self.length : other.length;
                if (memcmp(other.bytes, self.bytes, (size_t)length) < 0)
                    return false;
            } while (permute_locations(&r, s->nodes, s->locations));
        } while (permute(r.thread_old, s->threads));
    } while (permute(r.node, s->nodes));
    return true;
}

/* Text under construction. The limits of a sketch keep it below BATON_GEN_TEXT_MAX. */
struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

/* Data locations: x1 is the first one of node 1, y1 its second. Result words: w01 is P0's
 * operation 1. */
static void put_place(struct text *t, struct sketch_place p)
{
    if (p.word < BATON_GEN_LOCATIONS_MAX) {
        put(t, "%c%d", 'x' + p.word, p.node + 1);
    } else {
        int result = p.word - BATON_GEN_LOCATIONS_MAX;
        put(t, "w%d%d", result / BATON_GEN_OPS_MAX, result % BATON_GEN_OPS_MAX);
    }
}

/* Powers of two: any sum of fetch-and-adds tells which of them it holds. */
static int64_t constant(const struct sketch *s, int thread, int op)
{
    int k = op;
    for (int t = 0; t < thread; t++)
        k += s->thread[t].ops;
    return INT64_C(1) << k;
}

static void put_value(struct text *t, const struct sketch *s, int thread, int op,
                      const struct sketch_value *v)
{
    switch (v->form) {
    case SKETCH_OWN:
        put(t, "%lld", (long long)constant(s, thread, op));
        break;
    case SKETCH_CONSTANT:
        put(t, "%lld", (long long)constant(s, v->thread, v->op));
        break;
    case SKETCH_NEVER:
        put(t, "-1");
        break;
    case SKETCH_PLACE:
        put_place(t, v->place);
        break;
    case SKETCH_REGISTER:
        put(t, "r%d", v->op);
        break;
    default:
        put(t, "0");
    }
}

static void put_op(struct text *t, const struct sketch *s, int thread, int i)
{
    const struct sketch_op *op = &s->thread[thread].op[i];
    const char *name = baton_gen_kind_names[op->kind];
    switch (op->kind) {
    case BATON_GEN_STORE:
        put_place(t, op->local);
        put(t, " = ");
        put_value(t, s, thread, i, &op->value);
        break;
    case BATON_GEN_LOAD:
        put(t, "r%d = ", i);
        put_place(t, op->local);
        break;
    case BATON_GEN_CAS:
    case BATON_GEN_FAA:
        put(t, "r%d = %s ", i, name);
        put_place(t, op->local);
        put(t, ", ");
        if (op->kind == BATON_GEN_CAS) {
            put_value(t, s, thread, i, &op->expect);
            put(t, ", ");
        }
        put_value(t, s, thread, i, &op->value);
        break;
    case BATON_GEN_WAIT:
        put(t, "wait d%d", op->ref);
        break;
    case BATON_GEN_POLL:
    case BATON_GEN_RFENCE:
        put(t, "%s %d", name, op->ref + 1);
        break;
    case BATON_GEN_GFENCE:
        put(t, "gfence ");
        for (int n = 0, more = 0; n < s->nodes; n++)
            if (op->nodes >> n & 1)
                put(t, "%s%d", more++ ? ", " : "", n + 1);
        break;
    case BATON_GEN_MFENCE:
        put(t, "mfence");
        break;
    default:
        put(t, "%s ", name);
        if (op->kind != BATON_GEN_PUT) {
            put_place(t, op->local);
            put(t, ", ");
        }
        put_place(t, op->remote);
        if (op->kind == BATON_GEN_RCAS) {
            put(t, ", ");
            put_value(t, s, thread, i, &op->expect);
        }
        if (op->kind != BATON_GEN_GET) {
            put(t, ", ");
            put_value(t, s, thread, i, &op->value);
        }
        put(t, " #d%d", op->id);
    }
}

enum { CELL = 48 };

static void put_rows(struct text *t, const struct sketch *s)
{
    char cell[BATON_GEN_THREADS_MAX][BATON_GEN_OPS_MAX + 1][CELL];
    int width[BATON_GEN_THREADS_MAX], rows = 0;
    for (int k = 0; k < s->threads; k++) {
        const struct sketch_thread *thread = &s->thread[k];
        width[k] = snprintf(cell[k][0], CELL, "P%d@%d", k, thread->node + 1);
        for (int i = 0; i < thread->ops; i++) {
            struct text c = {cell[k][i + 1], CELL};
            put_op(&c, s, k, i);
            int w = (int)(c.at - cell[k][i + 1]);
            if (w > width[k])
                width[k] = w;
        }
        if (thread->ops > rows)
            rows = thread->ops;
    }
    for (int row = 0; row <= rows; row++) {
        for (int k = 0; k < s->threads; k++)
            put(t, "%s%-*s ", k ? "| " : " ", width[k],
                row <= s->thread[k].ops ? cell[k][row] : "");
        put(t, ";\n");
    }
}

static void use(bool used[], struct sketch_place p)
{
    if (p.word < BATON_GEN_LOCATIONS_MAX)
        used[p.node * BATON_GEN_LOCATIONS_MAX + p.word] = true;
}

void baton_sketch_print(const struct sketch *s, const char *name, char *buffer)
{
    struct text t = {buffer, BATON_GEN_TEXT_MAX};
    bool used[BATON_GEN_NODES_MAX * BATON_GEN_LOCATIONS_MAX] = {false};
    for (int k = 0; k < s->threads; k++) {
        for (int i = 0; i < s->thread[k].ops; i++) {
            const struct sketch_op *op = &s->thread[k].op[i];
            if (baton_sketch_is_remote(op->kind))
                use(used, op->remote);
            if (op->kind == BATON_GEN_STORE || op->kind == BATON_GEN_LOAD ||
                op->kind == BATON_GEN_CAS || op->kind == BATON_GEN_FAA ||
                baton_sketch_has_result(op->kind))
                use(used, op->local);
            if (op->value.form == SKETCH_PLACE)
                use(used, op->value.place);
        }
    }
    put(&t, "RDMA %s\n{\n nodes %d;\n", name, s->nodes);
    for (int n = 0; n < s->nodes; n++)
        for (int l = 0; l < s->locations; l++)
            if (used[n * BATON_GEN_LOCATIONS_MAX + l])
                put(&t, " %c%d@%d = 0;\n", 'x' + l, n + 1, n + 1);
    for (int k = 0; k < s->threads; k++)
        for (int i = 0; i < s->thread[k].ops; i++)
            if (baton_sketch_has_result(s->thread[k].op[i].kind) &&
                s->thread[k].op[i].local.word >= BATON_GEN_LOCATIONS_MAX)
                put(&t, " w%d%d@%d = 0;\n", k, i, s->thread[k].node + 1);
    put(&t, "}\n");
    put_rows(&t, s);
    /* There is nothing to ask of a generated program: the condition holds in every final state. */
    put(&t, "exists (0=0)\n");
}
