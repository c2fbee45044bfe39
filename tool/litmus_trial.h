/* SPDX-License-Identifier: MIT */
/* One litmus test run on a fabric by `baton litmus run`: what was seen, judged by the model, and how it is told. */
#ifndef BATON_TOOL_LITMUS_TRIAL_H
#define BATON_TOOL_LITMUS_TRIAL_H

#include <stdio.h>

#include "bench/litmus_fleet.h"
#include "model/engine.h"

/* What is the same for all tests of one call. */
struct litmus_trials {
    struct litmus_fleet_opts fleet;
    uint64_t runs, max_states;
    bool json, show_all;
};

/*
 * Torn: a value that nobody wrote. Undone: forbidden by the model, where a remote cas that fails may undo what another
 * has written, in a program where that can be.
 */
enum litmus_class {
    LITMUS_ALLOWED,
    LITMUS_FORBIDDEN,
    LITMUS_TORN,
    LITMUS_UNDONE,
    LITMUS_UNKNOWN,
    LITMUS_CLASSES
};

/* States that look the same and are of one class. */
struct litmus_group {
    uint64_t count, first;
    enum litmus_class class;
    bool witness;       /* the proposition holds */
    unsigned state;     /* of the tally: the one of `first` */
    const int64_t *row; /* masked */
};

struct litmus_trial {
    const struct litmus_trials *all;
    const char *path;
    struct baton_program program;
    enum baton_model model;
    int expected;        /* enum baton_verdict, or -1 when the test says nothing */
    const char *skipped; /* why it does not run, or null */
    int engine_rc;       /* 0: `allowed` holds what the model allows */
    struct baton_outcomes allowed;
    struct baton_engine_stats stats;
    /* Filled in by litmus_trial_judge. */
    const struct litmus_tally *tally;
    struct litmus_group *group;
    size_t groups_n, allowed_seen;
    int64_t *rows;
    uint64_t count[LITMUS_CLASSES];
    uint64_t positive, negative; /* runs that are neither torn, undone nor void */
    double seconds;
    char error[320]; /* what went wrong on the fabric, or "" */
};

/*
 * Asks the model; null: tso, or spec where a test has libraries. False: this test is skipped, and why.
 */
bool litmus_trial_ask(struct litmus_trial *trial, const enum baton_model *model);

/* Sorts out what was seen; the tally may be null when nothing was. -ENOMEM. */
int litmus_trial_judge(struct litmus_trial *trial, const struct litmus_tally *tally);

/* CMD_OK, CMD_NOT_AS_EXPECTED or CMD_GAVE_UP. */
int litmus_trial_status(const struct litmus_trial *trial);

void litmus_trial_print(const struct litmus_trial *trial, FILE *to);
void litmus_trial_fini(struct litmus_trial *trial);

#endif
