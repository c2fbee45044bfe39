/* SPDX-License-Identifier: MIT */
/*
 * Shows that a fabric that breaks the contract is caught: runs a test on step with one call of the contract made
 * to do nothing, and looks for a final state that the model forbids. As a check of the check, there is none when
 * the call does what it should. Tests with locks run with the lock ticket.
 *
 *   usage: broken_test CALL FILE     CALL: order, rfence or wait
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>

#include "bench/litmus_fleet.h"
#include "litmus_file.h"
#include "model/engine.h"

enum { RUNS = 3000 };

static const char *dropped = "";

struct baton_ep;

/* The linker puts these in the place of the contract's, which it leaves under their real names. */
#define WRAP(call, parameters, arguments)                                                          \
    int __real_baton_##call parameters;                                                            \
    int __wrap_baton_##call parameters;                                                            \
    int __wrap_baton_##call parameters                                                             \
    {                                                                                              \
        return strcmp(dropped, #call) ? __real_baton_##call arguments : 0;                         \
    }

WRAP(order, (struct baton_ep * ep, unsigned node), (ep, node))
WRAP(rfence, (struct baton_ep * ep, unsigned node), (ep, node))
WRAP(wait, (struct baton_ep * ep, uint16_t id), (ep, id))

static uint64_t forbidden(const struct baton_program *p, bool swap)
{
    const struct litmus_fleet_opts opts = {.fabric = "step",
                                           .kind = "ticket",
                                           .swap = swap,
                                           .settings = {.seed = 7, .batch = 1, .round = -1}};
    struct litmus_fleet *fleet = litmus_fleet_create(&opts);
    const struct litmus_tally *tally;
    struct baton_outcomes allowed;
    const char *reason;
    uint64_t count = 0;
    bool locks = baton_program_supports(p, BATON_MODEL_TSO, &reason) != 0;
    if (!fleet ||
        litmus_fleet_add(fleet, p, locks ? LITMUS_SPEC : LITMUS_PRIMITIVE, RUNS, &reason) ||
        litmus_fleet_start(fleet) || litmus_fleet_run(fleet, 0, &tally) ||
        (locks ? baton_axioms_run(p, BATON_MODEL_SPEC, NULL, &allowed, NULL)
               : baton_machine_run(p, BATON_MODEL_TSO, NULL, &allowed, NULL))) {
        printf("it does not run: %s\n", baton_error_detail());
        exit(1);
    }
    for (unsigned i = 0; i < tally->states_n; i++)
        if (!baton_outcomes_has(&allowed, litmus_tally_row(tally, i)))
            count += tally->state[i].count;
    baton_outcomes_fini(&allowed);
    litmus_fleet_destroy(fleet);
    return count;
}

int main(int argc, char **argv)
{
    struct baton_program program;
    if (argc != 3 || litmus_read(argv[2], &program))
        return 2;
    bool swap = !strcmp(argv[1], "order");
    uint64_t whole = forbidden(&program, swap);
    dropped = argv[1];
    uint64_t broken = forbidden(&program, swap);
    printf("%s: of %d runs %llu end as the model forbids, without %s %llu\n", program.name, RUNS,
           (unsigned long long)whole, dropped, (unsigned long long)broken);
    baton_program_fini(&program);
    return whole || !broken;
}
