/* SPDX-License-Identifier: MIT */
/* Configurations of the check in words; see configs.h. */
#include "configs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const config_sizes[] = {"1+1x1", "0+2x1", "2+0x1", "1+1x2", "0+2x2", "2+0x2", "2+1x1",
                                    "1+2x1", "0+3x1", "1+1x3", "2+1x2", "1+2x2", "2+2x1", NULL};

static bool data_read(struct check_lock *out, const char *name)
{
    for (unsigned d = 0; d < CHECK_DATA_KINDS; d++)
        if (!strcmp(name, check_data_names[d])) {
            out->data = (enum check_data)d;
            return true;
        }
    return false;
}

bool config_read(struct check_lock *out, const struct baton_lock_ops *kind, const char *text)
{
    char copy[160], *rest;
    bool good = true;
    *out = (struct check_lock){.kind = kind};
    baton_lock_param_defaults(kind, out->params);
    snprintf(copy, sizeof(copy), "%s", text);
    char *word = strtok_r(copy, " ", &rest);
    if (!word || sscanf(word, "%u+%ux%u", &out->local, &out->remote, &out->rounds) != 3)
        return false;
    while (good && (word = strtok_r(NULL, " ", &rest))) {
        if (!strcmp(word, "swap"))
            out->swap = true;
        else if (!strcmp(word, "no-gfence"))
            out->no_gfence = true;
        else if (!strncmp(word, "try=", 4))
            good = check_lock_enter_read(out, CHECK_TRY, word + 4);
        else if (!strncmp(word, "deadline=", 9))
            good = check_lock_enter_read(out, CHECK_DEADLINE, word + 9);
        else if (strchr(word, '='))
            good = !baton_lock_param_set(kind, out->params, word);
        else
            good = data_read(out, word);
    }
    return good;
}

bool config_check(const struct check_lock *config, double seconds, struct sim_explore *out)
{
    *out = (struct sim_explore)SIM_EXPLORE_STANDARD;
    out->seconds_max = seconds;
    int rc = check_lock_run(config, out);
    free(out->found);
    out->found = NULL;
    if (rc)
        printf("it can not be checked: %s; %s\n", baton_strerror(rc), baton_error_detail());
    return !rc;
}
