/* SPDX-License-Identifier: MIT */
/*
 * Litmus programs made by machine: every program up to a size, each once up to renaming, and random
 * programs that a seed and an index name. Both come out as the text of a .litmus file, so that what
 * is run is exactly what can be printed, saved and read back.
 *
 * Two programs are the same up to renaming when a permutation of the nodes, of the threads and of
 * the data locations of each node turns one into the other. Result words, work ids and constants
 * follow from the place of the operation that uses them, so that they add no further choice.
 */
#ifndef BATON_MODEL_GENERATE_H
#define BATON_MODEL_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BATON_GEN_NODES_MAX = 4,
    BATON_GEN_THREADS_MAX = 4,
    BATON_GEN_OPS_MAX = 6,
    BATON_GEN_LOCATIONS_MAX = 3,
    BATON_GEN_TEXT_MAX = 8192, /* no program of these sizes is longer */
};

enum baton_gen_kind {
    BATON_GEN_STORE,
    BATON_GEN_LOAD,
    BATON_GEN_PUT,
    BATON_GEN_GET,
    BATON_GEN_RFAA,
    BATON_GEN_RCAS,
    BATON_GEN_WAIT,
    BATON_GEN_RFENCE,
    BATON_GEN_GFENCE,
    BATON_GEN_MFENCE,
    BATON_GEN_CAS,
    BATON_GEN_FAA,
    BATON_GEN_POLL,
    BATON_GEN_KINDS
};

/* The first ten kinds: those that every exhaustive set uses unless told otherwise. */
#define BATON_GEN_KINDS_DEFAULT ((1u << BATON_GEN_CAS) - 1)

extern const char *const baton_gen_kind_names[BATON_GEN_KINDS];

struct baton_gen_size {
    int nodes;      /* declared nodes */
    int threads;    /* 1 to this many; a thread without operations does not count as one */
    int ops;        /* 1 to this many for each thread */
    int ops_total;  /* at most this many in the program; 0: no such limit */
    int locations;  /* data locations on each node */
    uint32_t kinds; /* bit 1 << kind for each kind that may occur */
    bool loopback;  /* remote operations may name the thread's own node */
};

/* 0, or -EINVAL when a field is out of range. */
int baton_gen_size_check(const struct baton_gen_size *size);

struct baton_gen;

/* All programs of `size`, in an order that does not change from run to run. */
int baton_gen_create(const struct baton_gen_size *size, struct baton_gen **gen);
void baton_gen_destroy(struct baton_gen *gen);

/*
 * The next program: 1 and its text (terminated, at most BATON_GEN_TEXT_MAX bytes) under the name
 * `name`, or 0 when there is none left. With `text` null the program is counted and not written.
 */
int baton_gen_next(struct baton_gen *gen, const char *name, char *text);

/* Program `index` of `seed`: a function of its arguments alone, whatever was made before. */
void baton_gen_random(const struct baton_gen_size *size, uint64_t seed, uint64_t index,
                      const char *name, char *text);

#endif
