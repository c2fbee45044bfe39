/* SPDX-License-Identifier: MIT */
/* A list of different stories. */
#include "model/story_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int baton_story_set_add(struct baton_story_set *set, char *text, bool across)
{
    for (unsigned i = 0; i < set->n; i++)
        if (!strcmp(set->story[i].text, text)) {
            free(text);
            return 0;
        }
    if (set->n == set->max) {
        unsigned max = set->max ? 2 * set->max : 16;
        struct baton_story *story = realloc(set->story, max * sizeof(*story));
        if (!story) {
            free(text);
            return -ENOMEM;
        }
        set->story = story;
        set->max = max;
    }
    set->story[set->n++] = (struct baton_story){text, across};
    return 0;
}

void baton_story_set_print(const struct baton_story_set *set, unsigned most, FILE *to)
{
    unsigned across = 0, printed = 0;
    for (unsigned i = 0; i < set->n; i++)
        across += set->story[i].across;
    for (unsigned i = 0; i < set->n && printed < most; i++)
        if (set->story[i].across || !across) {
            fputs(set->story[i].text, to);
            printed++;
        }
    unsigned told = across ? across : set->n, within = set->n - told;
    if (told > printed)
        fprintf(to, "  %u more end in a contradiction too.\n", told - printed);
    if (within)
        fprintf(to, "  %u more stay within one thread, which would not keep to its own order.\n",
                within);
}

void baton_story_set_fini(struct baton_story_set *set)
{
    for (unsigned i = 0; i < set->n; i++)
        free(set->story[i].text);
    free(set->story);
    *set = (struct baton_story_set){0};
}
