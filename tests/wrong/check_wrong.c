/* SPDX-License-Identifier: MIT */
/*
 * Every broken lock of locks/ is found by the exhaustive check, for the right reason, in the configuration that
 * its file names and within ten seconds of a processor.
 *
 * check_wrong NAME             that one
 * check_wrong --smallest NAME  the configuration to name: the first that shows it, from few threads to many
 */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <baton/error.h>

#include "configs.h"
#include "wrong.h"
#include "wrong_locks.h"

#define SECONDS 10.0
#define PATIENCE 100.0 /* by the clock: others may use the machine as well */

static const struct wrong_lock *const wrongs[] = {WRONG_LOCKS NULL};

static int check(const struct wrong_lock *wrong)
{
    struct check_lock config;
    struct sim_explore x;
    regex_t finds;
    if (!config_read(&config, wrong->ops, wrong->check) ||
        regcomp(&finds, wrong->finds, REG_EXTENDED | REG_NOSUB)) {
        printf("%s: \"%s\" or \"%s\" can not be understood\n", wrong->ops->name, wrong->check,
               wrong->finds);
        return 1;
    }
    clock_t begin = clock();
    bool good = config_check(&config, PATIENCE, &x);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (good) {
        static const char *const verdicts[] = {"Verified", "Violated", "Unknown"};
        printf("%s %s: %s: %s; %" PRIu64 " states, %.2f s\n", wrong->ops->name, wrong->check,
               verdicts[x.verdict], x.text, x.states, seconds);
        good =
            seconds <= SECONDS && x.verdict == SIM_VIOLATED && !regexec(&finds, x.text, 0, NULL, 0);
    }
    regfree(&finds);
    return !good;
}

/* Tries sizes and sections, with the other words of the lock's own configuration. */
static int smallest(const struct wrong_lock *wrong)
{
    const char *rest = strchr(wrong->check, ' ');
    char text[160];
    rest = rest ? strchr(rest + 1, ' ') : NULL;
    for (unsigned s = 0; config_sizes[s]; s++)
        for (unsigned d = 0; d < CHECK_DATA_KINDS; d++) {
            struct check_lock config;
            struct sim_explore x;
            snprintf(text, sizeof(text), "%s %s%s", config_sizes[s], check_data_names[d],
                     rest ? rest : "");
            if (!config_read(&config, wrong->ops, text) || !config_check(&config, 60, &x))
                return 1;
            if (x.verdict == SIM_UNKNOWN)
                printf("%s %s: %s\n", wrong->ops->name, text, x.text);
            if (x.verdict != SIM_VIOLATED)
                continue;
            printf("%s %s: %s; %" PRIu64 " states, %.2f s\n", wrong->ops->name, text, x.text,
                   x.states, x.seconds);
            return 0;
        }
    printf("%s: nothing found\n", wrong->ops->name);
    return 1;
}

int main(int argc, char **argv)
{
    bool search = argc == 3 && !strcmp(argv[1], "--smallest");
    const char *name = argc > 1 ? argv[argc - 1] : "";
    for (unsigned i = 0; wrongs[i]; i++) {
        if (strcmp(wrongs[i]->ops->name, name))
            continue;
        if (baton_lock_register(wrongs[i]->ops)) {
            printf("%s: %s\n", name, baton_error_detail());
            return 1;
        }
        return search ? smallest(wrongs[i]) : check(wrongs[i]);
    }
    printf("usage: check_wrong [--smallest] NAME\n");
    return 2;
}
