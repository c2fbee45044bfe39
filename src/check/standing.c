/* SPDX-License-Identifier: MIT */
/* The standing set; see standing.h. */
#include "check/standing.h"

#include <string.h>

/*
 * A kind with parameters. Those that come first of their kind are explored in all sizes, the others, which
 * differ in a corner or in how threads come in, in small ones.
 */
struct variant {
    const char *kind;
    const char *settings[BATON_LOCK_PARAMS_MAX];
    uint64_t first_ticket;
    bool swap, corner;
    enum check_enter local, remote;
};

/* Everybody, or one class while the other acquires: who comes in vain must leave nothing that hurts those. */
#define ENTERS(how, ...)                                                                           \
    {__VA_ARGS__, .local = (how), .remote = (how)}, {__VA_ARGS__, .local = (how)},                 \
    {                                                                                              \
        __VA_ARGS__, .remote = (how)                                                               \
    }

static const struct variant variants[] = {
    {.kind = "ts"},
    {.kind = "ts", .swap = true, .corner = true},
    {.kind = "ticket"},
    {.kind = "ticket", .swap = true, .corner = true},
    {.kind = "ticket", .first_ticket = UINT64_MAX, .corner = true},
    {.kind = "mcs"},
    {.kind = "mcs", .swap = true, .corner = true},
    {.kind = "alock", .settings = {"budget_local=1", "budget_remote=1"}},
    {.kind = "alock", .settings = {"budget_local=2", "budget_remote=2"}, .corner = true},
    {.kind = "alock",
     .settings = {"budget_local=1", "budget_remote=1"},
     .swap = true,
     .corner = true},
    {.kind = "farlock"},
    {.kind = "farlock", .settings = {"chain=off"}, .corner = true},
    {.kind = "farlock", .swap = true, .corner = true},
    {.kind = "farlock", .first_ticket = UINT64_MAX, .corner = true},
    {.kind = "farlock-g", .settings = {"group_local=2", "group_remote=2"}},
    {.kind = "farlock-g",
     .settings = {"group_local=2", "group_remote=2", "chain=off"},
     .corner = true},
    {.kind = "farlock-g",
     .settings = {"group_local=2", "group_remote=2"},
     .swap = true,
     .corner = true},
    {.kind = "merge", .settings = {"slots=2"}},
    {.kind = "merge", .settings = {"slots=1"}, .corner = true},
    {.kind = "merge", .settings = {"slots=2"}, .swap = true, .corner = true},
    {.kind = "merge", .settings = {"slots=2", "bypass=1"}, .corner = true},
    {.kind = "merge",
     .settings = {"slots=2"},
     .first_ticket = (UINT64_C(1) << 28) - 1,
     .corner = true},
    {.kind = "merge",
     .settings = {"slots=2"},
     .first_ticket = (UINT64_C(1) << 44) - 1,
     .corner = true},
    ENTERS(CHECK_TRY, .kind = "ts"),
    ENTERS(CHECK_DEADLINE, .kind = "ts"),
    ENTERS(CHECK_TRY, .kind = "ticket"),
    ENTERS(CHECK_TRY, .kind = "mcs"),
    ENTERS(CHECK_TRY, .kind = "alock", .settings = {"budget_local=1", "budget_remote=1"}),
    ENTERS(CHECK_TRY, .kind = "farlock"),
    ENTERS(CHECK_TRY, .kind = "farlock-g", .settings = {"group_local=2", "group_remote=2"}),
    ENTERS(CHECK_TRY, .kind = "merge", .settings = {"slots=2"}),
};

struct size {
    unsigned local, remote, rounds;
};

static const struct size quick[] = {{1, 1, 2}, {2, 1, 1}, {2, 2, 1}};
static const struct size full[] = {{1, 1, 3}, {2, 1, 2}, {1, 2, 2},
                                   {2, 2, 1}, {3, 1, 1}, {1, 3, 1}};
static const struct size corners[] = {{1, 1, 2}, {2, 1, 1}, {1, 2, 1}};

static void fill(const struct variant *v, const struct size *s, enum check_data data,
                 struct check_lock *out)
{
    *out = (struct check_lock){.kind = baton_lock_kind(v->kind),
                               .first_ticket = v->first_ticket,
                               .local = s->local,
                               .remote = s->remote,
                               .rounds = s->rounds,
                               .data = data,
                               .local_enters = v->local,
                               .remote_enters = v->remote,
                               .no_fcfs = data != CHECK_DATA_CPU,
                               .swap = v->swap};
    baton_lock_param_defaults(out->kind, out->params);
    for (unsigned i = 0; i < BATON_LOCK_PARAMS_MAX && v->settings[i]; i++)
        (void)baton_lock_param_set(out->kind, out->params, v->settings[i]);
}

/* In how many sizes, and with how many kinds of section, a variant is explored. */
static void extent(const struct variant *v, enum check_level level, const struct size **sizes,
                   unsigned *sizes_n, unsigned *data_n)
{
    const bool enters = v->local || v->remote;
    if (level == CHECK_QUICK) {
        *sizes = quick;
        *sizes_n = v->corner                         ? 0
                   : enters                          ? v->local == v->remote
                   : !strncmp(v->kind, "farlock", 7) ? 2
                                                     : 3;
        *data_n = 1;
        return;
    }
    *sizes = v->corner || enters ? corners : full;
    *sizes_n = v->corner || enters ? 3 : 6;
    *data_n = enters ? CHECK_DATA_PUT + 1 : CHECK_DATA_KINDS;
}

bool check_standing(enum check_level level, unsigned index, struct check_lock *out)
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        const struct size *sizes;
        unsigned sizes_n, data_n;
        extent(&variants[i], level, &sizes, &sizes_n, &data_n);
        if (index < sizes_n * data_n) {
            fill(&variants[i], &sizes[index / data_n], (enum check_data)(index % data_n), out);
            return true;
        }
        index -= sizes_n * data_n;
    }
    return false;
}
