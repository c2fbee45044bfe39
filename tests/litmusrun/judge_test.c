/* SPDX-License-Identifier: MIT */
/*
 * Shows how a final state is judged that has been seen on a fabric where a remote cas that fails may undo what another
 * has written: apart, if the program has such a cas, and else as forbidden; and as forbidden on any other fabric.
 *
 *   usage: judge_test FOLDER     with the litmus tests
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/litmus_tally.h"
#include "litmus_file.h"
#include "litmus_trial.h"

/* The class of a state that is all zeros but for `one`, of which column `ones` is 1. */
static int judge(const char *folder, const char *name, unsigned ones, bool undoes,
                 enum litmus_class want)
{
    static const char *const names[] = {"allowed", "forbidden", "torn", "undone", "unknown"};
    struct litmus_trials all = {.fleet = {.fabric = "shm"}};
    struct litmus_trial t = {.all = &all};
    const enum baton_model model = BATON_MODEL_TSO;
    int64_t row[16] = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/%s.litmus", folder, name);
    struct litmus_tally *tally = calloc(1, litmus_tally_bytes(16));
    if (!tally || litmus_read(path, &t.program) || !litmus_trial_ask(&t, &model))
        return 1;
    litmus_tally_begin(tally, t.program.width);
    tally->undoes = undoes;
    row[t.program.loc_column + ones] = 1;
    litmus_tally_add(tally, 0, row);
    int bad = litmus_trial_judge(&t, tally) || t.count[want] != 1 ||
              litmus_trial_status(&t) != (want == LITMUS_FORBIDDEN);
    if (bad)
        printf("%s: not %s where a cas may%s undo\n", name, names[want], undoes ? "" : " not");
    litmus_trial_fini(&t);
    free(tally);
    return bad;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    /* x=0; y=1; a=0; b=0: x has been 1. */
    int bad = judge(argv[1], "get-failrcas", 1, true, LITMUS_UNDONE);
    bad += judge(argv[1], "get-failrcas", 1, false, LITMUS_FORBIDDEN);
    bad += judge(argv[1], "fig5", 0, true, LITMUS_FORBIDDEN);
    bad += judge(argv[1], "fig5", 0, false, LITMUS_FORBIDDEN);
    return bad != 0;
}
