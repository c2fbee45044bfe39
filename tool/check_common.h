/* SPDX-License-Identifier: MIT */
/* What the commands that explore have in common: bounds, ways to explore, verdicts, stories, schedules. */
#ifndef BATON_TOOL_CHECK_COMMON_H
#define BATON_TOOL_CHECK_COMMON_H

#include "check/schedule.h"
#include "cmd.h"

enum {
    OPT_MAX_RUNS = 512,
    OPT_MAX_STATES,
    OPT_TIMEOUT,
    OPT_CONTEXT_BOUND,
    OPT_SELF_CHECK,
    OPT_DIGESTS,
    OPT_NAIVE,
    OPT_NO_FUTURE,
    OPT_JSON,
    OPT_SCHEDULE,
    OPT_REPLAY,
    OPT_DOT,
    OPT_SVG,
};

#define CHECK_COMMON_OPTIONS                                                                       \
    {"max-runs", OPT_MAX_RUNS, "N", 0, "give up after so many runs", 0},                           \
        {"max-states", OPT_MAX_STATES, "N", 0, "give up after so many states", 0},                 \
        {"timeout", OPT_TIMEOUT, "S", 0, "give up after so many seconds", 0},                      \
        {"context-bound", OPT_CONTEXT_BOUND, "N", 0, "only runs with so many preemptions", 0},     \
        {"self-check", OPT_SELF_CHECK, NULL, 0, "check that equal states mean equal bytes", 0},    \
        {"digests", OPT_DIGESTS, NULL, 0, "let digests forget nothing by themselves", 0},          \
        {"naive", OPT_NAIVE, NULL, 0, "take no step at once", 0},                                  \
        {"no-future", OPT_NO_FUTURE, NULL, 0, "do not look at what threads may still do", 0},      \
        {"json", OPT_JSON, NULL, 0, "one JSON object for each exploration", 0},                    \
        {"schedule", OPT_SCHEDULE, "FILE", 0, "where to write the way to a violation", 0},         \
        {"replay", OPT_REPLAY, "FILE", 0, "follow such a file once, and tell the story", 0},       \
        {"dot", OPT_DOT, "FILE", 0, "draw the way to a violation, for graphviz", 0},               \
    {                                                                                              \
        "svg", OPT_SVG, "FILE", 0, "the same as SVG; needs the program dot", 0                     \
    }

struct check_common {
    struct sim_explore explore;
    bool json;
    const char *schedule, *replay, *dot, *svg;
};

#define CHECK_COMMON                                                                               \
    {                                                                                              \
        .explore = {.context_bound = -1, .shortest = true }                                        \
    }

/* A subject that can be explored: calls check_lock_run or check_program_run, and describes itself. */
struct check_subject {
    int (*run)(void *arg, struct sim_explore *x);
    void *arg;
    char text[160];             /* "merge 1+2x1 cpu" */
    char json[512];             /* members, of a lock: "\"lock\":\"merge\"," */
    struct check_schedule head; /* of schedule files, without steps */
};

/* Takes one of the common options; false: it is none. */
bool check_common_option(int key, char *arg, struct argp_state *state, struct check_common *c);

/* Explores, prints, tells the story of a violation; returns the exit status. */
int check_common_explore(const char *name, const struct check_common *c,
                         struct check_subject *subject);

/* Follows the steps of a schedule, aloud. */
int check_common_follow(const char *name, const struct check_common *c,
                        const struct check_schedule *schedule, struct check_subject *subject);

/* Reads a schedule, or says why not. The steps are to be freed. */
bool check_common_read(const char *name, const char *file, struct check_schedule *out);

#endif
