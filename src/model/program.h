/* SPDX-License-Identifier: MIT */
/*
 * A litmus test after parsing: nodes, locations, threads of operations, the condition. Both
 * engines, the generator and the formatter work on this one structure, so it holds what was written
 * and nothing that only one engine wants.
 *
 * Everything is resolved to an index: a register is an index into its thread's registers, a
 * location an index into the program's locations, a value in the condition a column of an outcome
 * (outcome.h). An sv is resolved to one location per node (copies `s@1`, `s@2`, ..); `sc` locations
 * are ordinary rows of the location table.
 *
 * Lowering (baton_program_lower) appends hidden locations, registers and work ids behind the
 * declared ones, and so never moves a column: outcomes of a lowered and of a written program can be
 * compared as they are.
 */
#ifndef BATON_MODEL_PROGRAM_H
#define BATON_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/nic.h"
#include <stdio.h>

/* Bounds of the language. The parser refuses what is larger; lowering refuses (-E2BIG) what becomes
 * larger. */
enum {
    BATON_NODES_MAX = 16,
    BATON_THREADS_MAX = 16,
    BATON_OPS_MAX = 255,   /* per thread */
    BATON_LOCS_MAX = 1024, /* hidden ones included */
    BATON_REGS_MAX = 127,  /* per thread, hidden ones included */
    BATON_IDS_MAX = 127,   /* work ids, hidden ones included */
    BATON_LOCKS_MAX = 32,
    BATON_SVS_MAX = 32,
    BATON_RESULTS_MAX = 16,
    BATON_TERMS_MAX = 8,   /* per expression */
    BATON_CONDS_MAX = 512, /* nodes of the condition tree */
    BATON_COND_DEPTH_MAX = 64,
    BATON_NAME_MAX = 63, /* letters in a name, the test's included */
};

enum baton_model {
    BATON_MODEL_TSO,
    BATON_MODEL_WAIT,
    BATON_MODEL_SPEC,
    BATON_MODEL_IMPL,
    BATON_MODELS,
};

enum baton_verdict { BATON_NEVER, BATON_SOMETIMES, BATON_ALWAYS };

/* A sum of constants and registers; evaluated by the CPU when it executes the operation. */
struct baton_term {
    int64_t value; /* the constant, or the index of the register */
    bool is_reg;
    bool negative; /* subtracted */
};

struct baton_expr {
    unsigned n; /* at least 1 when the expression is used */
    struct baton_term term[BATON_TERMS_MAX];
};

enum baton_op_kind {
    /* CPU */
    BATON_OP_STORE,  /* loc = a */
    BATON_OP_LOAD,   /* reg = loc */
    BATON_OP_LET,    /* reg = a */
    BATON_OP_CAS,    /* reg = cas loc, a, b */
    BATON_OP_FAA,    /* reg = faa loc, a */
    BATON_OP_MFENCE, /* mfence */
    BATON_OP_ASSUME, /* assume a == b: an execution where it does not hold is no execution */
    /* NIC; `loc` is the remote location, `local` the one on the thread's node */
    BATON_OP_PUT,  /* put loc, local #id; a constant put has local = -1 and the value a */
    BATON_OP_GET,  /* get local, loc #id; lowered loops give the value a that ends them, see lower.c
                    */
    BATON_OP_RCAS, /* rcas local, loc, a, b #id */
    BATON_OP_RFAA, /* rfaa local, loc, a #id */
    BATON_OP_WAIT, /* wait id */
    BATON_OP_POLL, /* poll node */
    BATON_OP_RFENCE, /* rfence node */
    BATON_OP_GFENCE, /* gfence nodes */
    /* libraries */
    BATON_OP_ACQ,     /* acq lock */
    BATON_OP_REL,     /* rel lock */
    BATON_OP_SCWRITE, /* scwrite loc, a */
    BATON_OP_SCREAD,  /* reg = scread loc */
    BATON_OP_SCCAS,   /* reg = sccas loc, a, b */
    BATON_OP_SCFAA,   /* reg = scfaa loc, a */
    BATON_OP_SVWRITE, /* svwrite sv, a (the copy on the thread's node) */
    BATON_OP_SVREAD,  /* reg = svread sv */
    BATON_OP_BCAST,   /* bcast sv, nodes #id; no nodes written: all others */
    /* only made by lowering to the implementations */
    BATON_OP_AWAIT, /* goes on once some location of set `set` holds the value a; reads by the CPU
                     */
    BATON_OP_KINDS,
};

struct baton_op {
    enum baton_op_kind kind;
    int reg;         /* index into the thread's registers, or -1 */
    int loc;         /* location, or -1 */
    int local;       /* location on the thread's node of a NIC operation, or -1 */
    int id;          /* work id, or -1 */
    int lock;        /* or -1 */
    int sv;          /* or -1 */
    unsigned node;   /* poll, rfence: 1.. */
    uint32_t nodes;  /* gfence, bcast: bit n - 1 for node n */
    unsigned set;    /* await: index into program.set */
    unsigned source; /* index of the operation as written, in the program before lowering */
    struct baton_expr a, b;
};

struct baton_thread {
    unsigned node;
    struct baton_op *op;
    unsigned n_ops;
    char (*reg)[BATON_NAME_MAX + 1];
    unsigned n_regs;  /* hidden ones included */
    unsigned n_shown; /* the first n_shown registers are part of an outcome */
    unsigned column;  /* of register 0 */
};

enum baton_loc_kind { BATON_LOC_PLAIN, BATON_LOC_SC, BATON_LOC_COPY /* of an sv */ };

struct baton_loc {
    char name[BATON_NAME_MAX + 8]; /* as printed: copies are "s@2" */
    enum baton_loc_kind kind;
    unsigned node; /* 1.. */
    int64_t init;
};

struct baton_sv {
    char name[BATON_NAME_MAX + 1];
    unsigned copy; /* the copy on node n is location copy + n - 1 */
    int64_t init;
};

enum baton_lock_kind { BATON_LOCK_WLOCK, BATON_LOCK_SLOCK, BATON_LOCK_NLOCK };

struct baton_lock_decl {
    char name[BATON_NAME_MAX + 1];
    enum baton_lock_kind kind;
    unsigned node;
};

/* The declarations in the order written, for the formatter. */
enum baton_decl_kind { BATON_DECL_LOC, BATON_DECL_SV, BATON_DECL_LOCK };
struct baton_decl {
    enum baton_decl_kind kind;
    unsigned index;
};

/* The condition: a tree in an array; the root is cond[cond_root]. */
enum baton_cond_kind {
    BATON_COND_AND,
    BATON_COND_OR,
    BATON_COND_NOT,
    BATON_COND_EQ,
    BATON_COND_NE
};

struct baton_cond_value {
    bool is_column; /* column of an outcome, else the constant */
    int64_t value;
};

struct baton_cond {
    enum baton_cond_kind kind;
    unsigned left, right;         /* and, or; not uses left */
    struct baton_cond_value a, b; /* eq, ne */
};

enum baton_quantifier { BATON_EXISTS, BATON_NOT_EXISTS, BATON_FORALL };

struct baton_result {
    enum baton_model model;
    enum baton_verdict verdict;
};

/* Locations that an await reads. */
struct baton_loc_set {
    unsigned first, n; /* of program.member */
};

struct baton_program {
    char name[BATON_NAME_MAX + 1];
    char *title;    /* the string under the name, without quotes, or null */
    char **comment; /* comments that are no results, "(* .. *)" included, in order */
    unsigned n_comments;
    struct baton_result result[BATON_RESULTS_MAX];
    unsigned n_results;
    unsigned nodes;

    struct baton_loc *loc;
    unsigned n_locs;       /* hidden ones included */
    unsigned n_shown_locs; /* the first n_shown_locs are part of an outcome */
    unsigned loc_column;   /* of location 0 */
    struct baton_sv *sv;
    unsigned n_svs;
    struct baton_lock_decl *lock;
    unsigned n_locks;
    struct baton_decl *decl;
    unsigned n_decls;
    char (*id)[BATON_NAME_MAX + 1];
    unsigned n_ids; /* hidden ones included */

    struct baton_thread *thread;
    unsigned n_threads;

    struct baton_loc_set *set;
    unsigned n_sets;
    unsigned *member;
    unsigned n_members;

    enum baton_quantifier quantifier;
    struct baton_cond *cond;
    unsigned n_conds;
    unsigned cond_root;

    unsigned
        width; /* columns of an outcome: shown registers thread by thread, then shown locations */
};

/* An empty program: zeroed, no allocation. */
void baton_program_init(struct baton_program *program);
void baton_program_fini(struct baton_program *program);

/*
 * Growing a program: each returns the index of the new element, or -ENOMEM, or -E2BIG beyond the
 * language's bound. Names are cut at the bound (the parser has refused longer ones). Registers are
 * found or added by name.
 */
int baton_program_add_thread(struct baton_program *program, unsigned node);
int baton_program_add_loc(struct baton_program *program, const char *name, enum baton_loc_kind kind,
                          unsigned node, int64_t init);
int baton_program_add_sv(struct baton_program *program, const char *name,
                         int64_t init); /* needs `nodes` */
int baton_program_add_lock(struct baton_program *program, const char *name,
                           enum baton_lock_kind kind, unsigned node);
int baton_program_add_id(struct baton_program *program, const char *name); /* "" always adds */
int baton_program_add_reg(struct baton_program *program, unsigned thread, const char *name);
int baton_program_add_op(struct baton_program *program, unsigned thread, const struct baton_op *op);
int baton_program_add_cond(struct baton_program *program, const struct baton_cond *cond);

/* A new set of locations, and a member for the newest set. */
int baton_program_add_set(struct baton_program *program);
int baton_program_add_member(struct baton_program *program, unsigned loc);

/* Numbers the columns; call once after the last register and location, before conditions name
 * columns. */
void baton_program_seal(struct baton_program *program);

/* An operation with every index absent. */
struct baton_op baton_op_make(enum baton_op_kind kind);
struct baton_expr baton_expr_const(int64_t value);
struct baton_expr baton_expr_reg(unsigned reg);

/* Column names as the condition writes them ("0:r", "x", "s@2"); returns what snprintf would. */
int baton_program_column_name(const struct baton_program *program, unsigned column, char *buf,
                              size_t size);
bool baton_program_cond_uses(const struct baton_program *program, unsigned column);

/* Is the operation posted to the NIC and answered by a completion (put, get, rcas, rfaa)? */
static inline bool baton_op_is_remote(enum baton_op_kind kind)
{
    return kind >= BATON_OP_PUT && kind <= BATON_OP_RFAA;
}

/* The node that a remote operation or an rfence goes towards. */
static inline unsigned baton_op_towards(const struct baton_program *program,
                                        const struct baton_op *op)
{
    return op->kind == BATON_OP_RFENCE || op->kind == BATON_OP_POLL ? op->node
                                                                    : program->loc[op->loc].node;
}

const char *baton_model_name(enum baton_model model);
int baton_model_parse(const char *name); /* -EINVAL when there is none of that name */
const char *baton_verdict_name(enum baton_verdict verdict);
const char *baton_variant_name(enum baton_variant variant);
int baton_variant_parse(const char *name); /* the bit, or -EINVAL */

/*
 * May this program run under this model? 0, or -EOPNOTSUPP and a reason in plain words (static
 * storage): tso and wait take no locks and no SC memory, and only tso takes `poll`.
 */
int baton_program_supports(const struct baton_program *program, enum baton_model model,
                           const char **reason);

/*
 * Makes the program that an engine runs. All models: sv operations become stores, loads and puts
 * (bcast: one put per node, all with the work id of the bcast). impl: locks, SC memory and gfence
 * become their implementations. `out` is initialised here; on error it needs no fini. -ENOMEM,
 * -E2BIG, -EOPNOTSUPP.
 */
int baton_program_lower(const struct baton_program *program, enum baton_model model,
                        struct baton_program *out);

/* Writes the whole test in the form that `baton litmus fmt` gives; parsing the result gives the
 * same program. */
void baton_program_print(const struct baton_program *program, FILE *to);
/* One operation, as written in the language. For await: words. Returns what snprintf would. */
int baton_op_print(const struct baton_program *program, unsigned thread, const struct baton_op *op,
                   char *buf, size_t size);
/* `exists (..)`, allocated; null when out of memory. */
char *baton_cond_text(const struct baton_program *program);

#endif
