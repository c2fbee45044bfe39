/* SPDX-License-Identifier: MIT */
/* `baton info --profile`: what a simulated machine's times are, and where they come from. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <baton/error.h>

#include "info.h"
#include "sim/profile.h"

static bool is_built_in(const char *name)
{
    for (const struct baton_profile *p = baton_profiles; *p->name; p++)
        if (!strcmp(p->name, name))
            return true;
    return false;
}

int info_profile(const char *name)
{
    struct baton_profile p;
    if (baton_profile_load(name, &p)) {
        fprintf(stderr, "baton info: %s\n", baton_error_detail());
        return CMD_USAGE;
    }
    bool known = is_built_in(name);
    printf("profile %s\n", p.name);
    for (const struct baton_profile_field *f = baton_profile_fields; f->name; f++) {
        printf("  %-14s %6" PRIu64 " %-5s %s\n", f->name, baton_profile_get(&p, f), f->unit,
               f->meaning);
        if (known)
            printf("  %-14s %6s %-5s   source: %s\n", "", "", "", f->source);
    }
    if (!known)
        printf(
            "  Values that the file does not give are those of the profile that it is like, or of "
            "cx6.\n");
    return CMD_OK;
}
