/* SPDX-License-Identifier: MIT */
/* The standing set; see standing.h. */
#include "check/standing.h"

#include <string.h>

/*
 * A kind with parameters. Those that come first of their kind are explored in all sizes, the others, which
 * differ in a corner, in small ones.
 */
struct variant {
    const char *kind;
    const char *settings[BATON_LOCK_PARAMS_MAX];
    uint64_t first_ticket;
    bool swap, corner;
};

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
};

struct size {
    unsigned local, remote, rounds;
};

static const struct size quick[] = {{1, 1, 2}, {2, 1, 1}, {2, 2, 1}};
static const struct size full[] = {{1, 1, 3}, {2, 1, 2}, {1, 2, 2},
                                   {2, 2, 1}, {3, 1, 1}, {1, 3, 1}};
static const struct size corners[] = {{1, 1, 2}, {2, 1, 1}, {1, 2, 1}};

static bool is_far(const char *kind)
{
    return !strncmp(kind, "farlock", 7);
}

static void fill(const struct variant *v, const struct size *s, enum check_data data,
                 struct check_lock *out)
{
    *out = (struct check_lock){.kind = baton_lock_kind(v->kind),
                               .first_ticket = v->first_ticket,
                               .local = s->local,
                               .remote = s->remote,
                               .rounds = s->rounds,
                               .data = data,
                               .no_fcfs = data != CHECK_DATA_CPU,
                               .swap = v->swap};
    baton_lock_param_defaults(out->kind, out->params);
    for (unsigned i = 0; i < BATON_LOCK_PARAMS_MAX && v->settings[i]; i++)
        (void)baton_lock_param_set(out->kind, out->params, v->settings[i]);
}

bool check_standing(enum check_level level, unsigned index, struct check_lock *out)
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        const struct variant *v = &variants[i];
        const struct size *sizes = level == CHECK_QUICK ? quick : v->corner ? corners : full;
        unsigned n = level == CHECK_QUICK ? 3 : v->corner ? 3 : 6;
        if (level == CHECK_QUICK && v->corner)
            continue;
        if (level == CHECK_QUICK && is_far(v->kind))
            n = 2;
        for (unsigned k = 0; k < n; k++)
            for (unsigned data = 0; data < (level == CHECK_QUICK ? 1u : CHECK_DATA_KINDS); data++)
                if (!index--) {
                    fill(v, &sizes[k], (enum check_data)data, out);
                    return true;
                }
    }
    return false;
}
