/* SPDX-License-Identifier: MIT */
/*
 * `baton node`: a process that is a node of a cluster and does nothing else: it lends memory if it is
 * asked to, tells who comes and goes, and leaves in an orderly way when it gets a signal to end.
 */
#include "node.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>
#include <baton/fabric.h>

#include "args.h"
#include "fabric/net_place.h"
#include "members.h"

#define LOOK_MS 100

enum { OPT_FABRIC = 256, OPT_NODES, OPT_NUMBER, OPT_LOCAL, OPT_CLUSTER, OPT_OPTIONS, OPT_MEMORY };

static const struct argp_option options[] = {
    {"fabric", OPT_FABRIC, "NAME", 0, "how the nodes reach each other; see baton info", 0},
    {"nodes", OPT_NODES, "N", 0, "be node 0 of a new cluster of N places", 0},
    {"number", OPT_NUMBER, "N", 0, "be this node (default: the lowest that is free)", 0},
    {"local", OPT_LOCAL, "N", 0, "be as many nodes (default 1)", 0},
    {"cluster", OPT_CLUSTER, "NAME", 0, "shm: the cluster's name", 0},
    {"options", OPT_OPTIONS, "NAME=VALUE,..", 0, "settings of the fabric", 0},
    {"memory", OPT_MEMORY, "BYTES", 0,
     "lend this much memory, under the name memory.N of node N; k, m, g may follow", 0},
    {"quiet", 'q', NULL, 0, "do not tell who comes and goes", 0},
    {0},
};

struct args {
    struct baton_cluster_opts opts;
    struct place place;
    const char *settings;
    char all_settings[SETTINGS_ROOM];
    uint64_t memory;
    bool quiet;
};

static uint64_t bytes(struct argp_state *state, const char *arg)
{
    static const char units[] = "kmg";
    char *end;
    unsigned long long value = strtoull(arg, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (*arg < '0' || *arg > '9' || (*end && (!unit || end[1])) || !value ||
        value > (UINT64_C(1) << 46) >> shift)
        argp_error(state, "\"%s\": a number of bytes is needed, such as 64m", arg);
    return (uint64_t)value << shift;
}

/* A node that nobody can join is of no use. */
static void check_company(struct argp_state *state, const struct baton_cluster_opts *opts)
{
    bool shm = !strcmp(opts->fabric, "shm");
    if (shm != (opts->name != NULL))
        argp_error(state, "--fabric shm and --cluster go together");
    if (shm || baton_fabric_unavailable(opts->fabric))
        return;
    if (!baton_net_meets(opts->fabric))
        argp_error(state, "all nodes of %s are in one process: nobody could join", opts->fabric);
    if (!crew_is_given(opts->fabric, opts->options))
        argp_error(state, "nobody could join: --rendezvous and --secret are needed where no "
                          "launcher has started this");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->place;
        return 0;
    case OPT_FABRIC:
        a->opts.fabric = arg;
        return 0;
    case OPT_NODES:
        a->opts.nodes = (unsigned)arg_whole(state, "nodes", arg, 1, BATON_NODES_MAX);
        return 0;
    case OPT_NUMBER:
        a->opts.first = (int)arg_whole(state, "number", arg, 0, BATON_NODES_MAX);
        return 0;
    case OPT_LOCAL:
        a->opts.local = (unsigned)arg_whole(state, "local", arg, 1, BATON_NODES_MAX);
        return 0;
    case OPT_CLUSTER:
        a->opts.name = arg;
        return 0;
    case OPT_OPTIONS:
        a->settings = arg;
        return 0;
    case OPT_MEMORY:
        a->memory = bytes(state, arg);
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"", arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->opts.fabric)
            argp_error(state, "--fabric is needed");
        if (a->place.rendezvous && a->opts.nodes && a->opts.first > 0)
            argp_error(state, "--nodes makes node 0, which --number %d is not", a->opts.first);
        if (a->place.rendezvous && !a->opts.nodes && a->opts.first == 0)
            argp_error(state, "node 0 needs --nodes");
        a->opts.options = place_settings(state, &a->place, a->settings, a->all_settings);
        check_company(state, &a->opts);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{.argp = &place_argp}, {0}};

static const struct argp argp = {options,
                                 parse,
                                 NULL,
                                 "Is a node of a cluster until it gets SIGINT or SIGTERM. The one "
                                 "with --nodes founds the cluster; "
                                 "the others may start before it.",
                                 children,
                                 NULL,
                                 NULL};

static int fail(void)
{
    fprintf(stderr, "baton node: %s\n", baton_error_detail());
    return CMD_NOT_AS_EXPECTED;
}

static int lend(struct baton_node *node, uint64_t size)
{
    char name[BATON_NAME_MAX + 1];
    baton_gptr at;
    snprintf(name, sizeof(name), "memory.%u", baton_node_index(node));
    int rc = baton_segment_create(node, (size_t)size, BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL,
                                  0, &at);
    return rc ? rc : baton_name_publish(node, name, at);
}

static void tell(struct baton_cluster *cluster, uint8_t *known)
{
    static const char *const words[] = {[BATON_NODE_ABSENT] = "is not there",
                                        [BATON_NODE_ALIVE] = "is there",
                                        [BATON_NODE_DEAD] = "has died",
                                        [BATON_NODE_LEFT] = "has left"};
    for (unsigned i = 0; i < baton_cluster_nodes(cluster); i++) {
        uint8_t state = (uint8_t)baton_node_state(cluster, i);
        if (state != known[i] && !baton_cluster_node(cluster, i))
            printf("node %u %s\n", i, words[state]);
        known[i] = state;
    }
    fflush(stdout);
}

static int serve(struct baton_cluster *cluster, const struct args *a, const sigset_t *ends)
{
    unsigned nodes = baton_cluster_nodes(cluster);
    uint8_t *known = calloc(nodes, 1);
    if (!known)
        return -ENOMEM;
    for (unsigned i = 0; i < nodes; i++) {
        struct baton_node *node = baton_cluster_node(cluster, i);
        int rc = node && a->memory ? lend(node, a->memory) : 0;
        if (rc) {
            free(known);
            return rc;
        }
        if (node)
            printf("node %u of %u, %s\n", i, nodes, a->opts.fabric);
    }
    fflush(stdout);
    struct timespec look = {0, LOOK_MS * 1000000};
    while (sigtimedwait(ends, NULL, &look) < 0)
        if (!a->quiet)
            tell(cluster, known);
    free(known);
    return 0;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {.opts = BATON_CLUSTER_OPTS};
    struct baton_cluster *cluster;
    sigset_t ends;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.place.rendezvous && a.opts.nodes)
        a.opts.first = 0;
    /* Only from the join on: before it there is nothing to leave, and a signal may simply end us. The
     * library's threads take none. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    int rc = baton_cluster_open(&a.opts, &cluster);
    if (rc)
        return fail();
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    int status = serve(cluster, &a, &ends) ? fail() : CMD_OK;
    return baton_cluster_close(cluster) ? fail() : status;
}

const struct cmd node_cmd = {"node", "be a node of a cluster", NULL, &argp, run};
