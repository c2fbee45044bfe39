/* SPDX-License-Identifier: MIT */
/* `baton info --clusters`: this user's clusters on this machine, and who is in them. */
#include <inttypes.h>
#include <stdio.h>

#include "fabric/shm.h"
#include "info.h"

static const char *const states[] = {[BATON_NODE_ABSENT] = "absent",
                                     [BATON_NODE_ALIVE] = "alive",
                                     [BATON_NODE_DEAD] = "dead",
                                     [BATON_NODE_LEFT] = "left"};

static int show(void *arg, const struct baton_shm_cluster *c)
{
    unsigned *shown = arg;
    ++*shown;
    if (!c->known) {
        printf("cluster %s: layout %" PRIu64 ", which this version does not read\n", c->name,
               c->version);
        return 0;
    }
    printf("cluster %s: %u places, %u alive, %u dead%s\n", c->name, c->places, c->alive, c->dead,
           c->alive ? "" : "; baton clean removes it");
    for (unsigned i = 0; i < c->members_count; i++) {
        const struct baton_shm_member *m = &c->members[i];
        printf("  node %-5u %-6s pid %-7" PRIu64 " %2u segment%s %12" PRIu64 " bytes\n", m->node,
               states[m->state], m->pid, m->segments, m->segments == 1 ? " " : "s", m->bytes);
    }
    return 0;
}

int info_clusters(void)
{
    unsigned shown = 0;
    if (baton_shm_clusters(show, &shown)) {
        fprintf(stderr, "baton info: %s\n", baton_error_detail());
        return CMD_NOT_AS_EXPECTED;
    }
    if (!shown)
        printf("no clusters of this user\n");
    return CMD_OK;
}
