/* SPDX-License-Identifier: MIT */
/*
 * What the NICs of the timed driver take at a time. A NIC works on several operations at once, one a gap; what
 * keeps one queue pair waiting is no concern of the others:
 *   - a get is as quick as alone while another queue pair has a long chain on its way, whether the two share
 *     the target's NIC, whose work on an operation is long here, or the sender's, where the gap between two
 *     operations of one queue pair is;
 *   - a target that many queue pairs keep busy takes one operation a gap, chained or not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <baton/fabric.h>

#define CHAIN 16u
#define RX_GAP_NS 50u
#define BUSY_NS UINT64_C(1000000)

static baton_gptr words; /* on node 0 */

struct part {
    uint64_t took; /* by a lone get */
    uint64_t done; /* gets */
};

static int gets(struct baton_ep *ep, uint64_t *into, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        baton_get(ep, into + i, words + 8 * (uint64_t)i, 8, 1);
    return baton_wait(ep, 1);
}

static int lone(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct part *p = arg;
    uint64_t *into = baton_ep_alloc(ep, 8, 8);
    uint64_t begin = baton_now(ep);
    int rc = gets(ep, into, 1);
    p->took = baton_now(ep) - begin;
    return rc;
}

static int chain(struct baton_ep *ep, unsigned thread, void *arg)
{
    return gets(ep, baton_ep_alloc(ep, 8 * CHAIN, 8), CHAIN);
}

static int busy(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct part *p = arg;
    uint64_t *into = baton_ep_alloc(ep, 8 * CHAIN, 8);
    int rc = 0;
    while (!rc && baton_now(ep) < BUSY_NS) {
        rc = gets(ep, into, CHAIN);
        p->done += CHAIN;
    }
    return rc;
}

static int run(const char *profile, const struct baton_team *teams, unsigned count)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    char options[128];
    snprintf(options, sizeof(options), "driver=timed,profile=%s", profile);
    opts.fabric = "sim";
    opts.options = options;
    opts.nodes = 9;
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    rc = baton_segment_create(baton_cluster_node(cluster, 0), 8 * CHAIN, BATON_READ, NULL, 0,
                              &words);
    if (!rc)
        rc = baton_run(cluster, teams, count);
    baton_cluster_close(cluster);
    return rc;
}

static int complain(const char *what, double found, double wanted)
{
    printf("%s: %.0f, wanted: %.0f\n", what, found, wanted);
    return 1;
}

/* The lone get of node 1 beside the chain of another thread on node `other`. */
static int beside(const char *profile, unsigned other, const char *what)
{
    struct part alone = {0}, shared = {0};
    const struct baton_team one[] = {{1, 1, lone, &alone}};
    const struct baton_team both[] = {{other, 1, chain, NULL}, {1, 1, lone, &shared}};
    if (run(profile, one, 1) || run(profile, both, 2))
        return complain("a run failed", 1, 0);
    /* The NICs' own gaps are the most that it may wait. */
    if (shared.took > alone.took + CHAIN * 8)
        return complain(what, (double)shared.took, (double)alone.took);
    return 0;
}

static int flood(const char *profile)
{
    struct part parts[8] = {{0}};
    struct baton_team teams[8];
    double done = 0, most = (double)BUSY_NS / RX_GAP_NS;
    for (unsigned i = 0; i < 8; i++)
        teams[i] = (struct baton_team){i + 1, 4, busy, &parts[i]};
    if (run(profile, teams, 8))
        return complain("a run failed", 1, 0);
    for (unsigned i = 0; i < 8; i++)
        done += (double)parts[i].done;
    if (done < 0.95 * most || done > 1.05 * most)
        return complain("gets that a busy target has served", done, most);
    return 0;
}

static void write_profile(const char *path, const char *values)
{
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "like cx6\njitter 0\n%s", values) < 0 || fclose(f)) {
        perror(path);
        exit(1);
    }
}

int main(void)
{
    char path[] = "/tmp/baton-load-XXXXXX", values[64];
    int file = mkstemp(path);
    if (file < 0) {
        perror(path);
        return 1;
    }
    close(file);
    write_profile(path, "nic_rx 500\n");
    int bad = beside(path, 2, "ns of a get beside a chain to the same target");
    write_profile(path, "qp_gap 500\n");
    bad |= beside(path, 1, "ns of a get beside a chain from the same node");
    snprintf(values, sizeof(values), "nic_rx 500\nrx_gap %u\n", RX_GAP_NS);
    write_profile(path, values);
    bad |= flood(path);
    unlink(path);
    return bad;
}
