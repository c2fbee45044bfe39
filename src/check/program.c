/* SPDX-License-Identifier: MIT */
/* Users' programs for the exhaustive driver; see program.h. */
#include "check/program.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

struct run {
    const struct baton_check_program *program;
    void (*tell)(void *arg, const char *line);
    void *tell_arg;
    void *state;
};

struct member {
    struct run *run;
    unsigned number;
};

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct member *m = arg;
    return m->run->program->threads[m->number].body(ep, m->run->state);
}

static const char *at_end(void *arg)
{
    const struct run *r = arg;
    return r->program->final(r->state);
}

static void tell(void *arg, const char *line)
{
    const struct run *r = arg;
    if (r->tell)
        r->tell(r->tell_arg, line);
}

static int check(const struct baton_check_program *p, unsigned *threads)
{
    if (p->size != sizeof(*p))
        return baton_fail(-EINVAL, "the program was made for another version of baton/check.h");
    if (p->state_bytes % 8)
        return baton_fail(-EINVAL, "a state of %zu bytes: a multiple of 8 is needed",
                          p->state_bytes);
    for (*threads = 0; *threads < BATON_CHECK_THREADS_MAX && p->threads[*threads].body; ++*threads)
        if (p->threads[*threads].node >= (p->nodes ? p->nodes : 2))
            return baton_fail(-EINVAL, "thread %u is on node %u, which is not there", *threads,
                              p->threads[*threads].node);
    return *threads ? 0 : baton_fail(-EINVAL, "the program has no threads");
}

static int run_in(struct baton_cluster *cluster, struct run *r, struct sim_explore *x,
                  unsigned threads)
{
    struct member members[BATON_CHECK_THREADS_MAX];
    struct baton_team teams[BATON_CHECK_THREADS_MAX];
    for (unsigned t = 0; t < threads; t++) {
        members[t] = (struct member){r, t};
        teams[t] = (struct baton_team){r->program->threads[t].node, 1, body, &members[t]};
    }
    r->tell = x->tell;
    r->tell_arg = x->arg;
    x->tell = tell;
    x->arg = r;
    x->ghost = r->state;
    x->ghost_bytes = r->program->state_bytes;
    x->by_hand = x->ghost_bytes != 0;
    x->final = r->program->final ? at_end : NULL;
    int rc = sim_explore_attach(cluster, x);
    if (!rc)
        rc = baton_run(cluster, teams, threads);
    x->tell = r->tell;
    x->arg = r->tell_arg;
    return rc == -EPROTO && x->verdict == SIM_VIOLATED ? 0 : rc;
}

int check_program_run(const struct baton_check_program *program, struct sim_explore *x)
{
    struct run r = {.program = program};
    struct baton_cluster *cluster;
    unsigned threads = 0;
    int rc = check(program, &threads);
    if (rc)
        return rc;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = "sim";
    opts.options = "driver=exhaustive";
    opts.nodes = program->nodes ? program->nodes : 2;
    opts.arena_bytes = 64 << 10;
    opts.flags = program->flags;
    r.state = calloc(program->state_bytes / 8 + 1, 8);
    if (!r.state)
        return -ENOMEM;
    rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        goto free_state;
    if (program->init) {
        rc = program->init(cluster, r.state);
        if (rc)
            (void)baton_fail(rc, "the program's init has failed: %s", baton_strerror(rc));
    }
    if (!rc)
        rc = run_in(cluster, &r, x, threads);
    (void)baton_cluster_close(cluster);
free_state:
    free(r.state);
    return rc;
}
