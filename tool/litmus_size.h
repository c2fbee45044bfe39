/* SPDX-License-Identifier: MIT */
/* The options that gen and cross share: which programs to generate. An argp child of both. */
#ifndef BATON_TOOL_LITMUS_SIZE_H
#define BATON_TOOL_LITMUS_SIZE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/generate.h"
#include "model/program.h"

struct litmus_size {
    struct baton_gen_size size; /* 0 in a field: not given, until litmus_size_finish */
    enum baton_model model;     /* tso or wait: poll is a kind of tso only */
    bool random;
    uint64_t count; /* random: how many */
    uint64_t seed;  /* random */
    uint64_t from;  /* index of the first one */
    uint64_t limit; /* all: at most this many; UINT64_MAX: no limit */
};

void litmus_size_init(struct litmus_size *s);

/* argp's input for this parser is a struct litmus_size. */
extern const struct argp litmus_size_argp;

/* Fills in what was not given. */
void litmus_size_finish(struct litmus_size *s);

enum { LITMUS_NAME_MAX = 48 };

/* The name of program `index`: "all-17", "random-1-17" (seed, index). */
void litmus_size_name(const struct litmus_size *s, uint64_t index, char name[LITMUS_NAME_MAX]);

/* One line that says which programs these are. */
void litmus_size_describe(const struct litmus_size *s, char *buf, size_t size);

#endif
