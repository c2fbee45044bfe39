/* SPDX-License-Identifier: MIT */
/*
 * Every fence that a lock has is needed: without it the exhaustive check finds something wrong, in the
 * configuration that stands beside it in `places`. Where none was found, it says why the fence is there.
 *
 * check_fences KIND                     the places of that kind's source
 * check_fences --soak KIND              those that take long
 * check_fences --search KIND [PLACE...] looks for the configurations to write there, from few threads to many
 * check_fences --try KIND PLACE CONFIG  looks in that configuration
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>

#include "configs.h"
#include "fences.h"

#define SECONDS 100.0

int fences_left_out = -1;
const char *fences_function, *fences_call;

extern const struct fences_kind fences_ts, fences_ticket, fences_mcs, fences_alock, fences_farlock,
    fences_farlock_g, fences_merge;

static const struct fences_kind *const kinds[] = {
    &fences_ts,      &fences_ticket,    &fences_mcs,   &fences_alock,
    &fences_farlock, &fences_farlock_g, &fences_merge, NULL};

struct place {
    const char *source;
    int place; /* in the order of the source */
    const char *call, *function;
    const char *kind, *check; /* what shows that it is needed; null: nothing did */
    bool soak;                /* takes long */
    const char *why;          /* why it is there although nothing did */
};

#define PLACE(source, place, call, function, kind, check)                                          \
    {source, place, call, function, kind, check, false, NULL},
#define PLACE_SOAK(source, place, call, function, kind, check)                                     \
    {source, place, call, function, kind, check, true, NULL},
#define UNSEEN(source, place, call, function, why)                                                 \
    {source, place, call, function, NULL, NULL, false, why},

static const struct place places[] = {
#include "fences_places.h"
};

static const char *const verdicts[] = {"Verified", "Violated", "Unknown"};

/* Copies with names of their own: the library's kinds are there as well. */
static struct baton_lock_ops copies[sizeof(kinds) / sizeof(kinds[0])];

static bool register_all(void)
{
    static char names[sizeof(kinds) / sizeof(kinds[0])][64];
    for (unsigned k = 0; kinds[k]; k++) {
        copies[k] = *kinds[k]->ops;
        snprintf(names[k], sizeof(names[k]), "%s-fences", copies[k].name);
        copies[k].name = names[k];
        if (baton_lock_register(&copies[k]))
            return false;
    }
    return true;
}

/* By the name that the kind has in the library. */
static int find(const char *name)
{
    for (int k = 0; kinds[k]; k++)
        if (!strcmp(kinds[k]->ops->name, name))
            return k;
    return -1;
}

/* How long one exploration may take: half of a soak's time, which may be too short; 0: as long as it needs. */
static double soak_limit(void)
{
    const char *seconds = getenv("BATON_SOAK_SECONDS");
    return seconds ? atof(seconds) / 2 : 0;
}

static bool explore(const struct place *p, int left_out, struct sim_explore *x)
{
    struct check_lock config;
    fences_left_out = left_out;
    fences_function = fences_call = "";
    return config_read(&config, &copies[find(p->kind)], p->check) &&
           config_check(&config, p->soak ? soak_limit() : SECONDS, x);
}

/* Whether the search has had its time, and has not come to an end: nothing is known. Only a soak's may. */
static bool unfinished(const struct place *p, const struct sim_explore *x)
{
    return p->soak && soak_limit() > 0 && x->verdict == SIM_UNKNOWN;
}

/* Wrong without the fence, and nothing wrong with it. */
static bool is_needed(const struct place *p)
{
    struct sim_explore with, without;
    if (!explore(p, -1, &with) || !explore(p, p->place, &without)) {
        printf("%s: \"%s\" can not be checked\n", p->kind, p->check);
        return false;
    }
    bool right = !strcmp(fences_function, p->function) && !strcmp(fences_call, p->call);
    printf("%s %s: %s; without the %s of %s: %s: %s; %" PRIu64 " states, %.2f s%s\n", p->kind,
           p->check, verdicts[with.verdict], p->call, p->function, verdicts[without.verdict],
           without.text, without.states, without.seconds,
           right ? "" : "; BUT THAT IS ANOTHER PLACE");
    return right && (with.verdict == SIM_VERIFIED || unfinished(p, &with)) &&
           (without.verdict == SIM_VIOLATED || unfinished(p, &without));
}

static int check(const char *source, int of_source, bool soak)
{
    int wrong = 0, last = -1;
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const struct place *p = &places[i];
        if (strcmp(p->source, source))
            continue;
        if (p->place != last && p->place != last + 1)
            break;
        last = p->place;
        if (!p->check)
            printf("%s: nothing shows the %s of %s: %s\n", source, p->call, p->function, p->why);
        else if (p->soak == soak)
            wrong += !is_needed(p);
    }
    if (last + 1 != of_source) {
        printf("%s has %d places, %d are known here in their order\n", source, of_source, last + 1);
        wrong++;
    }
    return wrong != 0;
}

/* Settings of parameters under which all paths are reached with few threads. */
static const char *const settings[][4] = {{"ts", ""},
                                          {"ticket", ""},
                                          {"mcs", ""},
                                          {"alock", " budget_local=1 budget_remote=1"},
                                          {"farlock", "", " chain=off"},
                                          {"farlock-g", " group_local=2 group_remote=2"},
                                          {"merge", " slots=1", " slots=4"},
                                          {NULL}};

static bool search_size(const struct baton_lock_ops *ops, const char *const *setting,
                        const char *size)
{
    for (unsigned d = 0; d < 3; d++)
        for (unsigned swap = 0; swap < 2; swap++)
            for (unsigned s = 1; setting[s]; s++) {
                char text[160];
                struct check_lock config;
                struct sim_explore x;
                snprintf(text, sizeof(text), "%s %s%s%s", size, check_data_names[d],
                         swap ? " swap" : "", setting[s]);
                if (!config_read(&config, ops, text) || !config_check(&config, SECONDS, &x))
                    return false;
                if (x.verdict == SIM_UNKNOWN)
                    printf("      %s: %s\n", text, x.text);
                if (x.verdict != SIM_VIOLATED)
                    continue;
                printf("{\"%s\", %d, \"%s\", \"%s\", \"%s\"}, /* %s; %" PRIu64
                       " states, %.2f s */\n",
                       setting[0], fences_left_out, fences_call, fences_function, text, x.text,
                       x.states, x.seconds);
                return true;
            }
    return false;
}

static void search(const struct fences_kind *kind, const struct baton_lock_ops *ops, int place)
{
    unsigned k = 0;
    while (strcmp(settings[k][0], kind->ops->name))
        k++;
    fences_left_out = place;
    fences_function = fences_call = "?";
    for (unsigned s = 0; config_sizes[s]; s++) {
        bool found = search_size(ops, settings[k], config_sizes[s]);
        fflush(stdout);
        if (found)
            return;
    }
    printf("%s: place %d, %s in %s: nothing found\n", kind->ops->name, place, fences_call,
           fences_function);
}

static int try(const struct baton_lock_ops *ops, int place, const char *text)
{
    struct check_lock config;
    struct sim_explore x;
    fences_left_out = place;
    fences_function = fences_call = "?";
    if (!config_read(&config, ops, text) || !config_check(&config, 0, &x))
        return 2;
    printf("without the %s of %s, %s: %s: %s; %" PRIu64 " states, %.2f s\n", fences_call,
           fences_function, text, verdicts[x.verdict], x.text, x.states, x.seconds);
    return x.verdict != SIM_VIOLATED;
}

int main(int argc, char **argv)
{
    bool searches = argc > 2 && !strcmp(argv[1], "--search");
    bool tries = argc == 5 && !strcmp(argv[1], "--try");
    bool soak = argc == 3 && !strcmp(argv[1], "--soak");
    int k = argc > 1 ? find(argv[searches || tries || soak ? 2 : 1]) : -1;
    if (k < 0 || !register_all()) {
        printf("usage: check_fences [--soak | --search] KIND [PLACE...]\n");
        return 2;
    }
    if (tries)
        return try(&copies[k], atoi(argv[3]), argv[4]);
    if (!searches)
        return check(argv[argc - 1], kinds[k]->places, soak);
    for (int i = 3; i < argc; i++)
        search(kinds[k], &copies[k], atoi(argv[i]));
    for (int p = 0; argc == 3 && p < kinds[k]->places; p++)
        search(kinds[k], &copies[k], p);
    return 0;
}
