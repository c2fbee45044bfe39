/* SPDX-License-Identifier: MIT */
/* A small command table, printed as a completion script, for completion.sh to try. */
#include "cmd.h"

static const struct argp_option more_options[] = {
    {"seed", 's', "N", 0, "seed", 0},
    {"secret", 1, 0, OPTION_HIDDEN, "not for users", 0},
    {0},
};
static const struct argp more = {more_options, 0, 0, 0, 0, 0, 0};
static const struct argp_child children[] = {{&more, 0, 0, 0}, {0}};
static const struct argp_option options[] = {
    {0, 0, 0, 0, "A heading:", 1},        {"format", 'f', "table|json|csv", 0, "output", 0},
    {"form", 0, 0, OPTION_ALIAS, 0, 0},   {"lock", 'l', "NAME,..|all", 0, "kinds", 0},
    {"pin", 'p', 0, 0, "pin threads", 0}, {0},
};
static const struct argp lock_argp = {options, 0, 0, 0, children, 0, 0};
static const struct cmd lock = {"lock", "measure locks", 0, &lock_argp, 0};
static const struct cmd *const bench_subs[] = {&lock, 0};
static const struct cmd bench = {"bench", "measure", bench_subs, 0, 0};
static const struct cmd info = {"info", "tell", 0, &more, 0};
static const struct cmd *const commands[] = {&bench, &info, 0};

int main(void)
{
    return cmd_completion(commands, "bash");
}
