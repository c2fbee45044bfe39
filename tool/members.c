/* SPDX-License-Identifier: MIT */
/* Options that say which processes the nodes are. */
#include "members.h"

#include <stdio.h>
#include <string.h>

#include <baton/error.h>

#include "args.h"
#include "base/options.h"
#include "fabric/net.h"
#include "fabric/net_place.h"

enum { OPT_RENDEZVOUS = 0x7000, OPT_SECRET, OPT_SPAWN };

static const struct argp_option place_options[] = {
    {"rendezvous", OPT_RENDEZVOUS, "HOST:PORT", 0,
     "where node 0 is, or shall listen; without HOST: on this machine", 0},
    {"secret", OPT_SECRET, "FILE", 0, "made by baton secret new; the same for all nodes", 0},
    {0},
};

static error_t parse_place(int key, char *arg, struct argp_state *state)
{
    struct place *p = state->input;
    switch (key) {
    case OPT_RENDEZVOUS:
        p->rendezvous = arg;
        return 0;
    case OPT_SECRET:
        p->secret = arg;
        return 0;
    case ARGP_KEY_END:
        if (!p->rendezvous != !p->secret)
            argp_error(state, "--rendezvous and --secret go together");
        if ((p->rendezvous && strchr(p->rendezvous, ',')) || (p->secret && strchr(p->secret, ',')))
            argp_error(state, "a comma can not be part of a host or of the secret's path");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp place_argp = {.options = place_options, .parser = parse_place};

const char *place_settings(struct argp_state *state, const struct place *p, const char *settings,
                           char room[SETTINGS_ROOM])
{
    int n = 0;
    if (p->rendezvous)
        n = snprintf(room, SETTINGS_ROOM, "rendezvous=%s,secret=%s", p->rendezvous, p->secret);
    if (settings && n < SETTINGS_ROOM)
        n += snprintf(room + n, SETTINGS_ROOM - (size_t)n, "%s%s", n ? "," : "", settings);
    if (n >= SETTINGS_ROOM)
        argp_error(state, "the settings are too long");
    return n ? room : NULL;
}

static const struct argp_option member_options[] = {
    {"spawn", OPT_SPAWN, "N", 0, "start N processes on this machine, each a node", 0},
    {0},
};

static error_t parse_member(int key, char *arg, struct argp_state *state)
{
    struct members *m = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &m->place;
        return 0;
    case OPT_SPAWN:
        m->spawn = (unsigned)arg_whole(state, "spawn", arg, 1, BATON_NET_NODES_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child member_children[] = {{.argp = &place_argp}, {0}};
const struct argp members_argp = {
    .options = member_options, .parser = parse_member, .children = member_children};

unsigned members_check(struct argp_state *state, struct members *m, const char *fabric,
                       const char *options, unsigned nodes, bool apart)
{
    char text[2];
    if (baton_option(options, "rendezvous", text, sizeof(text)))
        argp_error(state, "--options: rendezvous and secret have options of their own");
    if (m->place.rendezvous && !baton_net_meets(fabric))
        argp_error(state, "--rendezvous goes with --fabric ucx and verbs");
    if (m->place.rendezvous && (m->spawn || !apart))
        argp_error(state,
                   "--rendezvous: this process is one node of the cluster, so there is no %s",
                   m->spawn ? "--spawn" : "--in-process");
    if (m->spawn && !apart)
        argp_error(state, "--spawn goes with fabrics whose nodes are processes, and not with "
                          "--in-process");
    if (m->spawn && nodes && nodes != m->spawn)
        argp_error(state, "--spawn %u makes so many nodes, not --nodes %u", m->spawn, nodes);
    const char *all = place_settings(state, &m->place, options, m->settings);
    m->given = apart && !m->spawn && crew_is_given(fabric, all);
    return m->spawn ? m->spawn : nodes;
}

struct crew *members_open(const char *command, const struct members *m, const char *fabric,
                          unsigned nodes, size_t arena_bytes)
{
    const struct crew_opts opts = {.fabric = fabric,
                                   .options = *m->settings ? m->settings : NULL,
                                   .nodes = nodes,
                                   .arena_bytes = arena_bytes};
    struct crew *crew = NULL;
    int rc = crew_open(&opts, &crew);
    if (rc)
        fprintf(stderr, "%s: %s%s%s\n", command, baton_strerror(rc),
                *baton_error_detail() ? "; " : "", baton_error_detail());
    return crew;
}
