/* SPDX-License-Identifier: MIT */
/*
 * The controlled arrivals: a remote thread holds the lock while 12 local and then 12 remote threads ask for
 * it, one after the other, far enough apart that each has its place before the next one comes. Then it
 * leaves, and they go through once each: in their order, if the lock is what it says.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/lab.h"

#define GAP_NS 50000 /* several times what a doorway at published cost takes */

struct rendezvous {
    struct baton_table *tables[2]; /* by node: the host, and the remote node */
    struct lab_arrivals *out;
};

/* Waits for the thread's time, takes the lock, holds it, leaves. */
static int visit(struct baton_ep *ep, struct baton_table *table, uint64_t arrive_ns,
                 uint64_t hold_ns, uint64_t *entered, uint64_t *left)
{
    struct baton_lock lock;
    struct baton_waiter *waiter;
    int rc = baton_waiter_open(ep, &waiter);
    if (rc)
        return rc;
    if (!(rc = baton_table_lock(table, 0, &lock))) {
        if (arrive_ns > baton_now(ep))
            baton_delay(ep, arrive_ns - baton_now(ep));
        if (!(rc = baton_lock_acquire(&lock, ep, waiter))) {
            *entered = baton_now(ep);
            baton_delay(ep, hold_ns);
            *left = baton_now(ep);
            rc = baton_lock_release(&lock, ep, waiter);
        }
    }
    int closed = baton_waiter_close(ep, waiter);
    return rc ? rc : closed;
}

static void note(struct lab_arrivals *out, unsigned who, uint64_t entered)
{
    out->order[out->count++] = who;
    out->entered[who] = entered;
}

static int local_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rendezvous *r = arg;
    uint64_t entered, left;
    int rc = visit(ep, r->tables[0], (thread + 1) * GAP_NS, LAB_LOCAL_CS_NS, &entered, &left);
    if (!rc)
        note(r->out, thread, entered);
    return rc;
}

/* Thread 0 of the remote node is the one who holds the lock while the others come. */
static int remote_body(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct rendezvous *r = arg;
    uint64_t entered, left;
    if (!thread)
        return visit(ep, r->tables[1], 0, (LAB_ARRIVALS + 2) * GAP_NS, &entered, &r->out->opened);
    unsigned who = LAB_THREADS + thread - 1;
    int rc = visit(ep, r->tables[1], (who + 1) * GAP_NS, LAB_REMOTE_CS_NS, &entered, &left);
    if (!rc)
        note(r->out, who, entered);
    return rc;
}

static int run_in(struct baton_cluster *cluster, const struct lab_point *p,
                  const struct baton_lock_ops *kind, struct lab_arrivals *out)
{
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    struct baton_table_opts opts = {
        .size = sizeof(opts), .kind = kind->name, .count = 1, .params = params};
    struct rendezvous r = {.out = out};
    struct baton_team teams[2] = {{0, LAB_THREADS, local_body, &r},
                                  {1, LAB_THREADS + 1, remote_body, &r}};
    struct baton_ep *eps[2] = {NULL, NULL};
    int rc = 0;
    baton_lock_param_defaults(kind, params);
    for (unsigned i = 0; i < p->params_n && !rc; i++)
        rc = baton_lock_param_set(kind, params, strchr(p->params[i], '.') + 1);
    for (unsigned n = 0; n < 2 && !rc; n++)
        rc = baton_ep_open(baton_cluster_node(cluster, n), &eps[n]);
    if (!rc)
        rc = baton_table_create(eps[0], "lab", &opts, &r.tables[0]);
    if (!rc)
        rc = baton_table_open(eps[1], "lab", BATON_NEVER, &r.tables[1]);
    if (!rc)
        rc = baton_run(cluster, teams, 2);
    for (unsigned n = 2; n-- > 0;) {
        if (r.tables[n]) {
            int closed = baton_table_close(eps[n], r.tables[n]);
            rc = rc ? rc : closed;
        }
        if (eps[n]) {
            int closed = baton_ep_close(eps[n]);
            rc = rc ? rc : closed;
        }
    }
    return rc;
}

int lab_arrive(const char *profile, const struct lab_point *p, const struct baton_lock_ops *kind,
               struct lab_arrivals *out)
{
    char options[512];
    struct baton_cluster *cluster;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    snprintf(options, sizeof(options), "driver=timed,profile=%s", profile);
    opts.fabric = "sim";
    opts.name = "lab";
    opts.nodes = opts.local = 2;
    opts.seed = 1;
    opts.options = options;
    memset(out, 0, sizeof(*out));
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    rc = run_in(cluster, p, kind, out);
    int closed = baton_cluster_close(cluster);
    rc = rc ? rc : closed;
    out->in_order = !rc && out->count == LAB_ARRIVALS;
    for (unsigned i = 0; i < out->count; i++)
        out->in_order &= out->order[i] == i;
    if (!rc && kind->caps & BATON_LOCK_FCFS && !out->in_order)
        rc = baton_fail(-EPROTO, "%s did not serve controlled arrivals in their order", kind->name);
    return rc;
}
