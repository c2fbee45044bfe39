/* SPDX-License-Identifier: MIT */
/*
 * An implementation's loops, for the axioms. A loop that looks at several words ends with one of them, and
 * nothing else of its last round matters. So a lowered program is as many programs as there are ways to
 * choose, for each such loop, the word that ends it; in each of them a loop is one load that reads a
 * certain value.
 */
#ifndef BATON_MODEL_AWAIT_H
#define BATON_MODEL_AWAIT_H

#include "model/program.h"

struct baton_await_choice {
    struct baton_program lowered; /* with the words chosen */
    unsigned n;                   /* loops */
    struct baton_op **op;
    unsigned *chosen; /* of the loop's set */
};

/* Lowers the program to the implementations and makes the first choice. 0 or a negative errno. */
int baton_await_choice_init(struct baton_await_choice *choice, const struct baton_program *program);
void baton_await_choice_fini(struct baton_await_choice *choice);

/* The next choice; false when all have been made. */
bool baton_await_choice_next(struct baton_await_choice *choice);

#endif
