/* SPDX-License-Identifier: MIT */
/*
 * Stories of one explanation, each told once. Those that lead from thread to thread are worth telling;
 * those that stay within one say that it keeps its own order, and are told only where there are no others.
 */
#ifndef BATON_MODEL_STORY_SET_H
#define BATON_MODEL_STORY_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct baton_story {
    char *text;
    bool across; /* more than one thread is in it */
};

struct baton_story_set {
    struct baton_story *story;
    unsigned n, max;
};

/* Takes the text over. A story that is there already is not added again. 0 or -ENOMEM. */
int baton_story_set_add(struct baton_story_set *set, char *text, bool across);

/* Prints at most so many, and a line about those that are left out. */
void baton_story_set_print(const struct baton_story_set *set, unsigned most, FILE *to);

void baton_story_set_fini(struct baton_story_set *set);

#endif
