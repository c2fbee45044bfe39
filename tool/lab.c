/* SPDX-License-Identifier: MIT */
/* `baton lab`: whole evaluations in one command, each into a folder of its own. */
#include "lab.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "bench/lab.h"

enum { OPT_OUT = 256, OPT_QUICK, OPT_LENGTH, OPT_SEEDS, OPT_JOBS, OPT_PROFILE };

static const struct argp_option options[] = {
    {"out", OPT_OUT, "DIR", 0, "folder to write to (default lab-farlock)", 0},
    {"profile", OPT_PROFILE, "NAME", 0, "cx3, cx5, cx6 (default) or a file; see baton info", 0},
    {"seeds", OPT_SEEDS, "N", 0, "runs of each point, with the seeds 1 to N (default 3; quick: 1)",
     0},
    {"length", OPT_LENGTH, "FACTOR", 0, "on all simulated times (default 1)", 0},
    {"jobs", OPT_JOBS, "N", 0, "runs at a time (default: one a processor)", 0},
    {"quick", OPT_QUICK, NULL, 0,
     "few and short runs, to see that it works: their figures mean nothing", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct lab_options *o = state->input;
    switch (key) {
    case OPT_OUT:
        o->folder = arg;
        break;
    case OPT_PROFILE:
        o->profile = arg_setting(state, "profile", arg);
        break;
    case OPT_SEEDS:
        o->seeds = (unsigned)arg_whole(state, "seeds", arg, 1, 100);
        break;
    case OPT_LENGTH:
        o->length = arg_number(state, "length", arg, 0.01, 1000);
        break;
    case OPT_JOBS:
        o->jobs = (unsigned)arg_whole(state, "jobs", arg, 1, 1024);
        break;
    case OPT_QUICK:
        o->quick = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"; all is said by options", arg);
        break;
    case ARGP_KEY_END:
        o->seeds = o->seeds ? o->seeds : o->quick ? 1 : 3;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Runs the published evaluation of fair asymmetric locks on simulated machines: 10 nodes of 12 "
    "threads, 1 to 240 locks on one of them, all kinds, sizes of groups, and what explains the "
    "tails. Writes report.md, which sets the published figures beside the ones it found, with "
    "pictures (needs gnuplot) and the figures as CSV."
    "\vThe same options write the same files. Exit status: 0; 1 when a run failed or its checks "
    "found "
    "something; 2 for wrong use.",
    NULL,
    NULL,
    NULL};

static void progress(unsigned done, unsigned all)
{
    fprintf(stderr, "\r%u of %u runs\033[K", done, all);
    if (done == all)
        fprintf(stderr, "\r\033[K");
}

static int run(const struct cmd *self, int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct lab_options o = {.folder = "lab-farlock",
                            .profile = "cx6",
                            .length = 1,
                            .jobs = processors > 0 ? (unsigned)processors : 1};
    char settings[ARG_SETTING_MAX + 32];
    (void)self;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    snprintf(settings, sizeof(settings), "driver=timed,profile=%s", o.profile);
    if (arg_sim(argv[0], settings) || arg_folder(argv[0], o.folder))
        return CMD_USAGE;
    if (isatty(STDERR_FILENO))
        o.progress = progress;
    bool drawn;
    int rc = lab_farlock(&o, &drawn);
    if (rc) {
        fprintf(stderr, "%s: %s\n", argv[0],
                *baton_error_detail() ? baton_error_detail() : baton_strerror(rc));
        return CMD_NOT_AS_EXPECTED;
    }
    if (!drawn)
        fprintf(stderr, "%s: no pictures: gnuplot is not installed (package gnuplot-nox)\n",
                argv[0]);
    printf("%s/report.md\n", o.folder);
    return CMD_OK;
}

static const struct cmd farlock = {
    "farlock", "fair asymmetric locks: tails, throughput, order, groups", NULL, &argp, run};

static const struct cmd *const subs[] = {&farlock, NULL};

static int dispatch(const struct cmd *self, int argc, char **argv)
{
    return cmd_dispatch(self->sub, argv[0], argc, argv);
}

const struct cmd lab_cmd = {"lab", "whole evaluations on simulated machines", subs, NULL, dispatch};
