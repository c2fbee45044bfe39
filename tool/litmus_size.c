/* SPDX-License-Identifier: MIT */
/* The options that say which programs to generate. */
#include "litmus_size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "args.h"

enum {
    OPT_MODEL = 'm',
    OPT_RANDOM = 'r',
    OPT_SEED = 's',
    OPT_FROM = 256,
    OPT_LIMIT,
    OPT_NODES,
    OPT_THREADS,
    OPT_OPS,
    OPT_TOTAL,
    OPT_LOCATIONS,
    OPT_KINDS,
    OPT_LOOPBACK,
};

static const struct argp_option options[] = {
    {"model", OPT_MODEL, "MODEL", 0, "tso or wait (wait)", 1},
    {"random", OPT_RANDOM, "N", 0, "N random programs instead of all programs of the size", 1},
    {"seed", OPT_SEED, "S", 0, "Seed of the random programs (1)", 1},
    {"from", OPT_FROM, "I", 0, "Begin with program I (0)", 1},
    {"limit", OPT_LIMIT, "N", 0, "Of all programs of the size, at most N", 1},
    {"nodes", OPT_NODES, "N", 0, "Nodes (2; random: up to 3)", 2},
    {"threads", OPT_THREADS, "N", 0, "Threads, at most (2; random: 4)", 2},
    {"ops", OPT_OPS, "N", 0, "Operations of each thread, at most (2; random: 5)", 2},
    {"total", OPT_TOTAL, "N", 0, "Operations of the program, at most (no limit; random: 8)", 2},
    {"locations", OPT_LOCATIONS, "N", 0, "Data locations of each node (1; random: 2)", 2},
    {"kinds", OPT_KINDS, "KIND,..", 0,
     "Operations: store load put get rfaa rcas wait rfence gfence mfence, and cas faa poll, which "
     "only random programs use unless named here",
     2},
    {"loopback", OPT_LOOPBACK, NULL, 0,
     "Remote operations may go to the thread's own node (random ones always may)", 2},
    {0},
};

static uint32_t kinds(struct argp_state *state, const char *arg)
{
    uint32_t set = 0;
    while (*arg) {
        size_t n = strcspn(arg, ",");
        int k = 0;
        while (k < BATON_GEN_KINDS && (strlen(baton_gen_kind_names[k]) != n ||
                                       strncmp(baton_gen_kind_names[k], arg, n) != 0))
            k++;
        if (k == BATON_GEN_KINDS)
            argp_error(state, "--kinds: no operation \"%.*s\"", (int)n, arg);
        set |= 1u << k;
        arg += n + (arg[n] == ',');
    }
    if (!set)
        argp_error(state, "--kinds needs at least one operation");
    return set;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct litmus_size *s = state->input;
    int model;
    switch (key) {
    case OPT_MODEL:
        model = baton_model_parse(arg);
        if (model != BATON_MODEL_TSO && model != BATON_MODEL_WAIT)
            argp_error(state, "--model takes tso or wait, not \"%s\"", arg);
        s->model = (enum baton_model)model;
        return 0;
    case OPT_RANDOM:
        s->random = true;
        s->count = arg_whole(state, "random", arg, 0, UINT64_MAX);
        return 0;
    case OPT_SEED:
        s->seed = arg_whole(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case OPT_FROM:
        s->from = arg_whole(state, "from", arg, 0, UINT64_MAX);
        return 0;
    case OPT_LIMIT:
        s->limit = arg_whole(state, "limit", arg, 0, UINT64_MAX);
        return 0;
    case OPT_NODES:
        s->size.nodes = (int)arg_whole(state, "nodes", arg, 1, BATON_GEN_NODES_MAX);
        return 0;
    case OPT_THREADS:
        s->size.threads = (int)arg_whole(state, "threads", arg, 1, BATON_GEN_THREADS_MAX);
        return 0;
    case OPT_OPS:
        s->size.ops = (int)arg_whole(state, "ops", arg, 1, BATON_GEN_OPS_MAX);
        return 0;
    case OPT_TOTAL:
        s->size.ops_total =
            (int)arg_whole(state, "total", arg, 1, BATON_GEN_THREADS_MAX * BATON_GEN_OPS_MAX);
        return 0;
    case OPT_LOCATIONS:
        s->size.locations = (int)arg_whole(state, "locations", arg, 1, BATON_GEN_LOCATIONS_MAX);
        return 0;
    case OPT_KINDS:
        s->size.kinds = kinds(state, arg);
        return 0;
    case OPT_LOOPBACK:
        s->size.loopback = true;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

const struct argp litmus_size_argp = {.options = options, .parser = parse};

void litmus_size_init(struct litmus_size *s)
{
    *s = (struct litmus_size){.model = BATON_MODEL_WAIT, .seed = 1, .limit = UINT64_MAX};
}

static void or_else(int *field, int value)
{
    if (!*field)
        *field = value;
}

void litmus_size_finish(struct litmus_size *s)
{
    bool random = s->random;
    or_else(&s->size.nodes, random ? 3 : 2);
    or_else(&s->size.threads, random ? 4 : 2);
    or_else(&s->size.ops, random ? 5 : 2);
    or_else(&s->size.ops_total, random ? 8 : 0);
    or_else(&s->size.locations, random ? 2 : 1);
    if (!s->size.kinds) {
        s->size.kinds = random ? (1u << BATON_GEN_KINDS) - 1 : BATON_GEN_KINDS_DEFAULT;
        if (s->model != BATON_MODEL_TSO)
            s->size.kinds &= ~(1u << BATON_GEN_POLL);
    }
    if (random)
        s->size.loopback = true;
}

void litmus_size_name(const struct litmus_size *s, uint64_t index, char name[LITMUS_NAME_MAX])
{
    if (s->random)
        snprintf(name, LITMUS_NAME_MAX, "random-%" PRIu64 "-%" PRIu64, s->seed, index);
    else
        snprintf(name, LITMUS_NAME_MAX, "all-%" PRIu64, index);
}

void litmus_size_describe(const struct litmus_size *s, char *buf, size_t size)
{
    int n;
    if (s->random)
        n = snprintf(buf, size, "random programs %" PRIu64 " to %" PRIu64 " of seed %" PRIu64,
                     s->from, s->from + s->count - (s->count > 0), s->seed);
    else
        n = snprintf(buf, size, "all programs once up to renaming");
    if (n < 0 || (size_t)n >= size)
        return;
    buf += n;
    size -= (size_t)n;
    n = snprintf(buf, size, ", %s%d nodes, at most %d threads of %d operations",
                 s->random ? "up to " : "", s->size.nodes, s->size.threads, s->size.ops);
    if (s->size.ops_total && n > 0 && (size_t)n < size)
        n += snprintf(buf + n, size - (size_t)n, " and %d in all", s->size.ops_total);
    if (n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, ", %d data location%s a node%s", s->size.locations,
                 s->size.locations == 1 ? "" : "s", s->size.loopback ? ", loopback" : "");
}
