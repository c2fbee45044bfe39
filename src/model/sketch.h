/* SPDX-License-Identifier: MIT */
/*
 * A generated program before it has names: places are (node, word) pairs and values say where they
 * come from. Small enough to be compared under every renaming.
 */
#ifndef BATON_MODEL_SKETCH_H
#define BATON_MODEL_SKETCH_H

#include "model/generate.h"

/*
 * A word of a node. Words below BATON_GEN_LOCATIONS_MAX are data locations; the others are the
 * result words, one for each operation that has a result: sketch_result() gives its number.
 */
struct sketch_place {
    uint8_t node;
    uint8_t word;
};

enum sketch_form {
    SKETCH_NONE,
    SKETCH_ZERO,     /* the initial value of every location */
    SKETCH_OWN,      /* the constant of this operation, like no other */
    SKETCH_NEVER,    /* a constant that nothing writes */
    SKETCH_PLACE,    /* what the place holds (a put's source) */
    SKETCH_CONSTANT, /* the constant of another operation: thread, op */
    SKETCH_REGISTER, /* the register of an earlier operation of the thread: op */
};

struct sketch_value {
    uint8_t form;
    struct sketch_place place;
    uint8_t thread, op;
};

struct sketch_op {
    uint8_t kind;
    uint8_t ref;                /* wait: the operation whose id it names; poll, rfence: the node */
    uint8_t nodes;              /* gfence: bit 1 << node */
    uint8_t id;                 /* the operation (of this thread) whose id it carries */
    struct sketch_place local;  /* store, load, cas, faa: the place; get, rfaa, rcas: the result */
    struct sketch_place remote; /* put, get, rfaa, rcas */
    struct sketch_value value;  /* what is written or added */
    struct sketch_value expect; /* cas, rcas */
};

struct sketch_thread {
    uint8_t node;
    uint8_t ops;
    struct sketch_op op[BATON_GEN_OPS_MAX];
};

struct sketch {
    uint8_t nodes, threads, locations;
    struct sketch_thread thread[BATON_GEN_THREADS_MAX];
};

static inline uint8_t sketch_result(int thread, int op)
{
    return (uint8_t)(BATON_GEN_LOCATIONS_MAX + thread * BATON_GEN_OPS_MAX + op);
}

/* put, get, rfaa, rcas: what goes to a queue pair, carries an id and can be polled for. */
bool baton_sketch_is_remote(uint8_t kind);

/* get, rfaa, rcas: has a result word. */
bool baton_sketch_has_result(uint8_t kind);

/* Whether `s` is the least of all its renamings: true for exactly one program of each class. */
bool baton_sketch_is_least(const struct sketch *s);

/* Writes the .litmus text of `s`; `text` has room for BATON_GEN_TEXT_MAX bytes. */
void baton_sketch_print(const struct sketch *s, const char *name, char *text);

#endif
