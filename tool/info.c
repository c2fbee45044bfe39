/* SPDX-License-Identifier: MIT */
/* `baton info`: build, fabrics and why one is not available, kinds of lock, limits, clusters. */
#include "info.h"

#include <stdio.h>
#include <string.h>

#include <baton/lock.h>

#include "fabric/net.h"

static const struct argp_option options[] = {
    {"clusters", 'c', NULL, 0, "list the clusters of this user on this machine", 0},
    {"profile", 'p', "NAME", 0,
     "the times of a simulated NIC (cx3, cx5, cx6 or a file): value, unit, meaning, source", 0},
    {0},
};

struct args {
    bool clusters;
    const char *profile;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    switch (key) {
    case 'c':
        a->clusters = true;
        return 0;
    case 'p':
        a->profile = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse, NULL, "Tells what this build and this machine can do, and why not.",
    NULL,    NULL,  NULL};

static const char *yes(bool b)
{
    return b ? "yes" : "no";
}

static void show_fabric(const char *name)
{
    static const char *const atomics[] = {"none", "through one NIC", "also with the host's CPU"};
    const char *why = baton_fabric_unavailable(name);
    printf("  %-8s %s%s\n", name, why ? "not available: " : "available", why ? why : "");
    if (why)
        return;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    struct baton_caps c;
    opts.fabric = name;
    opts.name = "info-probe";
    opts.nodes = 1;
    if (baton_cluster_open(&opts, &cluster)) {
        printf("           could not be opened: %s\n", baton_error_detail());
        return;
    }
    baton_cluster_caps(cluster, &c);
    baton_cluster_close(cluster);
    printf(
        "           atomics %s; masked %s; words never torn %s; puts land in order %s; chains in "
        "order %s; gets held %s\n",
        atomics[c.atomics], yes(c.masked), yes(c.word_atomic), yes(c.in_order_placement),
        yes(c.chain_order), yes(c.held_gets));
}

static void show_kind(const struct baton_lock_ops *k)
{
    printf("  %-10s %s\n             ", k->name, k->summary);
    printf("try %s; deadline %s; first come, first served %s; fencing token %s\n",
           k->caps & BATON_LOCK_TRY_EXACT ? "exact"
           : k->caps & BATON_LOCK_TRY     ? "yes"
                                          : "no",
           yes(k->caps & BATON_LOCK_DEADLINE), yes(k->caps & BATON_LOCK_FCFS),
           yes(k->caps & BATON_LOCK_TOKEN));
    for (const struct baton_lock_param *p = k->params; p && p->name; p++)
        if (p->on_off)
            printf("             %s.%s on|off, standard %s\n", k->name, p->name,
                   p->standard ? "on" : "off");
        else
            printf("             %s.%s %llu..%llu, standard %llu\n", k->name, p->name,
                   (unsigned long long)p->least, (unsigned long long)p->most,
                   (unsigned long long)p->standard);
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.profile)
        return info_profile(a.profile);
    if (a.clusters)
        return info_clusters();
    printf("baton %s, %s, %s\n\nfabrics\n", BATON_VERSION,
#if defined(__x86_64__)
           "x86-64",
#elif defined(__aarch64__)
           "aarch64",
#else
           "another architecture",
#endif
#ifdef NDEBUG
           "release build");
#else
           "build with assertions");
#endif
    for (const char *const *f = baton_fabrics(); *f; f++)
        show_fabric(*f);
    printf("\nclusters of processes\n  rendezvous %s\n  mpirun, Slurm: %s\n",
           baton_net_unavailable() ? baton_net_unavailable() : "available",
           baton_net_unavailable() ? "need it"
           : baton_net_has_pmix()  ? "available"
                                   : "built without libpmix");
    printf("\nlocks\n");
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
        show_kind(*k);
    printf("\nlimits\n  %u nodes, %u segments a node, %u operations a chain, %u bytes a transfer, "
           "names of %u characters\n",
           BATON_NODES_MAX, BATON_SEGMENTS_MAX, BATON_CHAIN_MAX, BATON_TRANSFER_MAX,
           BATON_NAME_MAX);
    return CMD_OK;
}

const struct cmd info_cmd = {"info", "what this build and machine can do, and why not", NULL, &argp,
                             run};
