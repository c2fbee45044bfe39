/* SPDX-License-Identifier: MIT */
/* Going through the words that may end the loops of an implementation. */
#include "model/await.h"

#include <errno.h>
#include <stdlib.h>

static void choose(struct baton_await_choice *choice, unsigned loop, unsigned member)
{
    const struct baton_program *p = &choice->lowered;
    choice->chosen[loop] = member;
    choice->op[loop]->loc = (int)p->member[p->set[choice->op[loop]->set].first + member];
}

int baton_await_choice_init(struct baton_await_choice *choice, const struct baton_program *program)
{
    *choice = (struct baton_await_choice){0};
    int rc = baton_program_lower(program, BATON_MODEL_IMPL, &choice->lowered);
    if (rc)
        return rc;
    struct baton_program *p = &choice->lowered;
    unsigned n_ops = 0;
    for (unsigned t = 0; t < p->n_threads; t++)
        n_ops += p->thread[t].n_ops;
    choice->op = calloc(n_ops + 1, sizeof(struct baton_op *));
    choice->chosen = calloc(n_ops + 1, sizeof(*choice->chosen));
    if (!choice->op || !choice->chosen) {
        baton_await_choice_fini(choice);
        return -ENOMEM;
    }
    for (unsigned t = 0; t < p->n_threads; t++)
        for (unsigned i = 0; i < p->thread[t].n_ops; i++)
            if (p->thread[t].op[i].kind == BATON_OP_AWAIT) {
                choice->op[choice->n] = &p->thread[t].op[i];
                choose(choice, choice->n++, 0);
            }
    return 0;
}

void baton_await_choice_fini(struct baton_await_choice *choice)
{
    baton_program_fini(&choice->lowered);
    free(choice->op);
    free(choice->chosen);
    *choice = (struct baton_await_choice){0};
}

bool baton_await_choice_next(struct baton_await_choice *choice)
{
    for (unsigned i = 0; i < choice->n; i++) {
        if (choice->chosen[i] + 1 < choice->lowered.set[choice->op[i]->set].n) {
            choose(choice, i, choice->chosen[i] + 1);
            return true;
        }
        choose(choice, i, 0);
    }
    return false;
}
