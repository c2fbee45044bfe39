/* SPDX-License-Identifier: MIT */
/* Building a litmus program element by element, and the names of things in it. */
#include "model/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void baton_program_init(struct baton_program *program)
{
    *program = (struct baton_program){0};
}

void baton_program_fini(struct baton_program *program)
{
    for (unsigned t = 0; t < program->n_threads; t++) {
        free(program->thread[t].op);
        free(program->thread[t].reg);
    }
    for (unsigned i = 0; i < program->n_comments; i++)
        free(program->comment[i]);
    free(program->comment);
    free(program->title);
    free(program->loc);
    free(program->sv);
    free(program->lock);
    free(program->decl);
    free(program->id);
    free(program->thread);
    free(program->set);
    free(program->member);
    free(program->cond);
    *program = (struct baton_program){0};
}

/*
 * Room for element n of an array: capacities are the powers of two, so that no array needs to store
 * its own. Returns 0, -E2BIG at the bound, -ENOMEM.
 */
static int make_room(void *array_ptr, unsigned n, unsigned max, size_t size)
{
    void *array;
    memcpy(&array, array_ptr, sizeof(array));
    if (n >= max)
        return -E2BIG;
    if (n & (n - 1) || (n == 0 && array))
        return 0;
    array = realloc(array, (n ? n * 2u : 1u) * size);
    if (!array)
        return -ENOMEM;
    memcpy(array_ptr, &array, sizeof(array));
    return 0;
}

static void set_name(char *to, const char *name, size_t size)
{
    size_t n = strnlen(name, size - 1);
    memcpy(to, name, n);
    to[n] = '\0';
}

int baton_program_add_thread(struct baton_program *program, unsigned node)
{
    int rc = make_room(&program->thread, program->n_threads, BATON_THREADS_MAX,
                       sizeof(*program->thread));
    if (rc)
        return rc;
    program->thread[program->n_threads] = (struct baton_thread){.node = node};
    return (int)program->n_threads++;
}

static int add_decl(struct baton_program *program, enum baton_decl_kind kind, unsigned index)
{
    int rc = make_room(&program->decl, program->n_decls,
                       BATON_LOCS_MAX + BATON_SVS_MAX + BATON_LOCKS_MAX, sizeof(*program->decl));
    if (rc)
        return rc;
    program->decl[program->n_decls++] = (struct baton_decl){kind, index};
    return 0;
}

int baton_program_add_loc(struct baton_program *program, const char *name, enum baton_loc_kind kind,
                          unsigned node, int64_t init)
{
    int rc = make_room(&program->loc, program->n_locs, BATON_LOCS_MAX, sizeof(*program->loc));
    if (!rc && kind != BATON_LOC_COPY)
        rc = add_decl(program, BATON_DECL_LOC, program->n_locs);
    if (rc)
        return rc;
    struct baton_loc *loc = &program->loc[program->n_locs];
    *loc = (struct baton_loc){.kind = kind, .node = node, .init = init};
    set_name(loc->name, name, sizeof(loc->name));
    return (int)program->n_locs++;
}

int baton_program_add_sv(struct baton_program *program, const char *name, int64_t init)
{
    int rc = make_room(&program->sv, program->n_svs, BATON_SVS_MAX, sizeof(*program->sv));
    if (!rc)
        rc = add_decl(program, BATON_DECL_SV, program->n_svs);
    if (rc)
        return rc;
    struct baton_sv *sv = &program->sv[program->n_svs];
    *sv = (struct baton_sv){.copy = program->n_locs, .init = init};
    set_name(sv->name, name, sizeof(sv->name));
    for (unsigned node = 1; node <= program->nodes; node++) {
        char copy[BATON_NAME_MAX + 16];
        snprintf(copy, sizeof(copy), "%s@%u", sv->name, node);
        rc = baton_program_add_loc(program, copy, BATON_LOC_COPY, node, init);
        if (rc < 0)
            return rc;
    }
    return (int)program->n_svs++;
}

int baton_program_add_lock(struct baton_program *program, const char *name,
                           enum baton_lock_kind kind, unsigned node)
{
    int rc = make_room(&program->lock, program->n_locks, BATON_LOCKS_MAX, sizeof(*program->lock));
    if (!rc)
        rc = add_decl(program, BATON_DECL_LOCK, program->n_locks);
    if (rc)
        return rc;
    struct baton_lock_decl *lock = &program->lock[program->n_locks];
    *lock = (struct baton_lock_decl){.kind = kind, .node = node};
    set_name(lock->name, name, sizeof(lock->name));
    return (int)program->n_locks++;
}

int baton_program_add_id(struct baton_program *program, const char *name)
{
    for (unsigned i = 0; *name && i < program->n_ids; i++)
        if (!strcmp(program->id[i], name))
            return (int)i;
    int rc = make_room(&program->id, program->n_ids, BATON_IDS_MAX, sizeof(*program->id));
    if (rc)
        return rc;
    set_name(program->id[program->n_ids], name, sizeof(*program->id));
    return (int)program->n_ids++;
}

int baton_program_add_reg(struct baton_program *program, unsigned thread, const char *name)
{
    struct baton_thread *t = &program->thread[thread];
    for (unsigned i = 0; *name && i < t->n_regs; i++)
        if (!strcmp(t->reg[i], name))
            return (int)i;
    int rc = make_room(&t->reg, t->n_regs, BATON_REGS_MAX, sizeof(*t->reg));
    if (rc)
        return rc;
    set_name(t->reg[t->n_regs], name, sizeof(*t->reg));
    return (int)t->n_regs++;
}

int baton_program_add_op(struct baton_program *program, unsigned thread, const struct baton_op *op)
{
    struct baton_thread *t = &program->thread[thread];
    int rc = make_room(&t->op, t->n_ops, BATON_OPS_MAX, sizeof(*t->op));
    if (rc)
        return rc;
    t->op[t->n_ops] = *op;
    return (int)t->n_ops++;
}

int baton_program_add_cond(struct baton_program *program, const struct baton_cond *cond)
{
    int rc = make_room(&program->cond, program->n_conds, BATON_CONDS_MAX, sizeof(*program->cond));
    if (rc)
        return rc;
    program->cond[program->n_conds] = *cond;
    return (int)program->n_conds++;
}

int baton_program_add_set(struct baton_program *program)
{
    int rc = make_room(&program->set, program->n_sets, BATON_LOCS_MAX, sizeof(*program->set));
    if (rc)
        return rc;
    program->set[program->n_sets] = (struct baton_loc_set){.first = program->n_members};
    return (int)program->n_sets++;
}

int baton_program_add_member(struct baton_program *program, unsigned loc)
{
    int rc = make_room(&program->member, program->n_members, BATON_LOCS_MAX * BATON_THREADS_MAX,
                       sizeof(*program->member));
    if (rc)
        return rc;
    program->member[program->n_members++] = loc;
    program->set[program->n_sets - 1].n++;
    return 0;
}

void baton_program_seal(struct baton_program *program)
{
    unsigned column = 0;
    for (unsigned t = 0; t < program->n_threads; t++) {
        program->thread[t].column = column;
        program->thread[t].n_shown = program->thread[t].n_regs;
        column += program->thread[t].n_regs;
    }
    program->loc_column = column;
    program->n_shown_locs = program->n_locs;
    program->width = column + program->n_locs;
}

struct baton_op baton_op_make(enum baton_op_kind kind)
{
    return (struct baton_op){
        .kind = kind, .reg = -1, .loc = -1, .local = -1, .id = -1, .lock = -1, .sv = -1};
}

struct baton_expr baton_expr_const(int64_t value)
{
    return (struct baton_expr){.n = 1, .term = {{.value = value}}};
}

struct baton_expr baton_expr_reg(unsigned reg)
{
    return (struct baton_expr){.n = 1, .term = {{.value = reg, .is_reg = true}}};
}

int baton_program_column_name(const struct baton_program *program, unsigned column, char *buf,
                              size_t size)
{
    if (column >= program->loc_column)
        return snprintf(buf, size, "%s", program->loc[column - program->loc_column].name);
    unsigned t = 0;
    while (column >= program->thread[t].column + program->thread[t].n_shown)
        t++;
    return snprintf(buf, size, "%u:%s", t,
                    program->thread[t].reg[column - program->thread[t].column]);
}

bool baton_program_cond_uses(const struct baton_program *program, unsigned column)
{
    for (unsigned i = 0; i < program->n_conds; i++) {
        const struct baton_cond *c = &program->cond[i];
        if (c->kind != BATON_COND_EQ && c->kind != BATON_COND_NE)
            continue;
        if ((c->a.is_column && c->a.value == column) || (c->b.is_column && c->b.value == column))
            return true;
    }
    return false;
}

static const char *const model_names[BATON_MODELS] = {
    [BATON_MODEL_TSO] = "tso",
    [BATON_MODEL_WAIT] = "wait",
    [BATON_MODEL_SPEC] = "spec",
    [BATON_MODEL_IMPL] = "impl",
};

const char *baton_model_name(enum baton_model model)
{
    return model_names[model];
}

int baton_model_parse(const char *name)
{
    for (int m = 0; m < BATON_MODELS; m++)
        if (!strcmp(model_names[m], name))
            return m;
    return -EINVAL;
}

const char *baton_verdict_name(enum baton_verdict verdict)
{
    static const char *const names[] = {"Never", "Sometimes", "Always"};
    return names[verdict];
}

static const struct {
    enum baton_variant variant;
    const char *name;
} variants[] = {
    {BATON_VARIANT_NRR_NRR, "nrr-nrr"},
    {BATON_VARIANT_NAR_NRR, "nar-nrr"},
    {BATON_VARIANT_NAR_NLR, "nar-nlr"},
};

const char *baton_variant_name(enum baton_variant variant)
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
        if (variants[i].variant == variant)
            return variants[i].name;
    return "unknown";
}

int baton_variant_parse(const char *name)
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++)
        if (!strcmp(variants[i].name, name))
            return variants[i].variant;
    return -EINVAL;
}

int baton_program_supports(const struct baton_program *program, enum baton_model model,
                           const char **reason)
{
    for (unsigned t = 0; t < program->n_threads; t++) {
        for (unsigned i = 0; i < program->thread[t].n_ops; i++) {
            enum baton_op_kind kind = program->thread[t].op[i].kind;
            if (kind == BATON_OP_POLL && model != BATON_MODEL_TSO) {
                *reason = "\"poll\" exists only under tso; use \"wait\"";
                return -EOPNOTSUPP;
            }
            if (kind >= BATON_OP_ACQ && kind <= BATON_OP_SCFAA &&
                (model == BATON_MODEL_TSO || model == BATON_MODEL_WAIT)) {
                *reason = "locks and sequentially consistent memory exist only under spec and impl";
                return -EOPNOTSUPP;
            }
        }
    }
    return 0;
}
