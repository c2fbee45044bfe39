/* SPDX-License-Identifier: MIT */
/*
 * Where the nodes of a command are processes: it starts them itself, on this machine, or it is one of them, in a
 * cluster that others have started by the same command, by hand or by a launcher.
 */
#ifndef BATON_TOOL_MEMBERS_H
#define BATON_TOOL_MEMBERS_H

#include <argp.h>
#include <stdbool.h>

#include "bench/crew.h"

/* Where a cluster meets; an argp of its own, for a command's children, with this as its input. */
struct place {
    const char *rendezvous, *secret;
};
extern const struct argp place_argp;

#define SETTINGS_ROOM 4096

/* The settings of the fabric with those of the place before them; ends the command if they are too long. */
const char *place_settings(struct argp_state *state, const struct place *place,
                           const char *settings, char room[SETTINGS_ROOM]);

/* The place, and --spawn, likewise. */
struct members {
    struct place place;
    unsigned spawn; /* 0: not given */
    bool given;     /* after members_check: the processes are there, and this is one of them */
    char settings[SETTINGS_ROOM];
};
extern const struct argp members_argp;

/*
 * At the end of parsing, when all else is known: whether it goes together. `nodes`: as --nodes says, 0 if it does
 * not; `apart`: nodes may be processes. Returns --spawn or --nodes.
 */
unsigned members_check(struct argp_state *state, struct members *members, const char *fabric,
                       const char *options, unsigned nodes, bool apart);

/* Where `given`: all come in. On failure prints why, and returns null. */
struct crew *members_open(const char *command, const struct members *members, const char *fabric,
                          unsigned nodes, size_t arena_bytes);

#endif
