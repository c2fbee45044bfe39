/* SPDX-License-Identifier: MIT */
/* Controlled arrivals: reading them, running them, telling who was served when. */
#include "bench/arrivals.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <baton/sim.h>

#include "base/error.h"

#define SCHEMA "baton.bench.arrivals/1"
#define GAP_NS UINT64_C(50000) /* several times what the longest doorway takes */
#define LAST_NS 1000000000u    /* of a file; all who wait may poll until then */

/* ---- Reading */

static int add(struct bench_arrivals *a, uint64_t at_ns, unsigned node)
{
    if (a->count == BENCH_ARRIVALS_MAX)
        return baton_fail(-EINVAL, "more than %u arrivals", BENCH_ARRIVALS_MAX);
    if (!a->list && !(a->list = calloc(BENCH_ARRIVALS_MAX, sizeof(*a->list))))
        return -ENOMEM;
    a->list[a->count++] = (struct bench_arrival){.at_ns = at_ns, .node = node};
    return 0;
}

/* "12local-12remote": 1 if it is no such words at all. */
static int read_words(const char *spec, const struct bench_config *c, struct bench_arrivals *out)
{
    unsigned host = (unsigned)c->host, other = host;
    for (const char *p = spec; *p; p += *p == '-') {
        char *end;
        unsigned long count = strtoul(p, &end, 10);
        bool local = !strncmp(end, "local", 5);
        if (!isdigit((unsigned char)*p) || (!local && strncmp(end, "remote", 6)))
            return 1;
        p = end + (local ? 5 : 6);
        if (*p && *p != '-')
            return 1;
        for (unsigned long i = 0; i < count; i++) {
            do
                other = (other + 1) % c->nodes;
            while (!local && other == host);
            int rc = add(out, (out->count + 1) * GAP_NS, local ? host : other);
            if (rc)
                return rc;
        }
    }
    return out->count ? 0 : 1;
}

/* As the file has them where the times are the same. */
static void sort(struct bench_arrivals *all)
{
    for (unsigned i = 1; i < all->count; i++) {
        const struct bench_arrival a = all->list[i];
        unsigned to = i;
        for (; to && all->list[to - 1].at_ns > a.at_ns; to--)
            all->list[to] = all->list[to - 1];
        all->list[to] = a;
    }
}

/* The number that begins the text, with nothing but blanks behind it if `last`; false: none up to `most`. */
static bool take_number(const char **text, uint64_t most, bool last, uint64_t *out)
{
    char *end;
    const char *p = *text + strspn(*text, " \t");
    errno = 0;
    *out = strtoull(p, &end, 10);
    *text = end + strspn(end, " \t");
    return isdigit((unsigned char)*p) && !errno && *out <= most && (last ? !**text : *text != end);
}

static int read_file(const char *path, const struct bench_config *c, struct bench_arrivals *out)
{
    FILE *f = fopen(path, "r");
    char line[256];
    int rc = 0;
    if (!f)
        return baton_fail(-ENOENT,
                          "arrivals \"%s\": neither of the form 12local-12remote nor a file: %s",
                          path, strerror(errno));
    for (unsigned number = 1; !rc && fgets(line, sizeof(line), f); number++) {
        const char *text = line;
        uint64_t at, node;
        bool whole = strlen(line) < sizeof(line) - 1 || line[sizeof(line) - 2] == '\n';
        line[strcspn(line, "#\r\n")] = 0;
        if (whole && !line[strspn(line, " \t")])
            continue;
        if (!whole || !take_number(&text, LAST_NS, false, &at) ||
            !take_number(&text, c->nodes - 1, true, &node))
            rc = baton_fail(
                -EINVAL,
                "%s:%u: \"nanoseconds node\" is needed, nanoseconds 0 to %u, nodes 0 to %u", path,
                number, LAST_NS, c->nodes - 1);
        else
            rc = add(out, at, (unsigned)node);
    }
    if (!rc && ferror(f))
        rc = baton_fail(-EINVAL, "%s: %s", path, strerror(errno));
    fclose(f);
    if (!rc && !out->count)
        rc = baton_fail(-EINVAL, "%s: nobody arrives", path);
    if (!rc)
        sort(out);
    return rc;
}

int bench_arrivals_read(const char *spec, const struct bench_config *config,
                        struct bench_arrivals *out)
{
    memset(out, 0, sizeof(*out));
    if (config->nodes < 2)
        return baton_fail(-EINVAL, "controlled arrivals need at least two nodes");
    int rc = read_words(spec, config, out);
    if (rc == 1) {
        bench_arrivals_free(out);
        rc = read_file(spec, config, out);
    }
    if (rc)
        bench_arrivals_free(out);
    return rc;
}

void bench_arrivals_free(struct bench_arrivals *arrivals)
{
    free(arrivals->list);
    memset(arrivals, 0, sizeof(*arrivals));
}

/* ---- Running */

struct scene {
    const struct bench_config *config;
    struct bench_arrivals *arrivals;
    struct baton_ep **eps;
    struct baton_table **tables;
    unsigned served, holder;
};

struct scene_node {
    struct scene *scene;
    unsigned node;
};

/* Whose thread holds the lock meanwhile: the last that is not the host. */
static unsigned holder_node(const struct bench_config *c)
{
    return (unsigned)c->host == c->nodes - 1 ? c->nodes - 2 : c->nodes - 1;
}

/* The thread-th arrival of that node. */
static struct bench_arrival *whose(struct scene *s, unsigned node, unsigned thread)
{
    for (unsigned i = 0; i < s->arrivals->count; i++)
        if (s->arrivals->list[i].node == node && !thread--)
            return &s->arrivals->list[i];
    return NULL;
}

static int visit(struct baton_ep *ep, unsigned thread, void *arg)
{
    struct scene_node *n = arg;
    struct scene *s = n->scene;
    const struct bench_arrivals *all = s->arrivals;
    struct bench_arrival *a = whose(s, n->node, thread); /* null: the first holder */
    uint64_t last = all->list[all->count - 1].at_ns, begin = a ? a->at_ns + GAP_NS : 0;
    uint64_t hold = !a                                     ? last + 2 * GAP_NS
                    : n->node == (unsigned)s->config->host ? s->config->local_cs_ns
                                                           : s->config->remote_cs_ns;
    struct baton_waiter *waiter;
    struct baton_lock lock;
    int rc = baton_waiter_open(ep, &waiter);
    if (rc)
        return rc;
    rc = baton_table_lock(s->tables[n->node], 0, &lock);
    if (begin > baton_now(ep))
        baton_delay(ep, begin - baton_now(ep));
    if (!rc)
        rc = baton_lock_acquire(&lock, ep, waiter);
    if (!rc) {
        if (a) {
            a->entered_ns = baton_now(ep);
            a->served = ++s->served;
        }
        baton_delay(ep, hold);
        if (!a)
            s->arrivals->left_ns = baton_now(ep);
        rc = baton_lock_release(&lock, ep, waiter);
    }
    int closed = baton_waiter_close(ep, waiter);
    return rc ? rc : closed;
}

static int run_scene(struct scene *s, struct baton_cluster *cluster,
                     const struct baton_lock_ops *kind, struct baton_team *teams,
                     struct scene_node *nodes)
{
    const struct bench_config *c = s->config;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    struct baton_table_opts opts = {
        .size = sizeof(opts), .kind = kind->name, .count = 1, .params = params};
    unsigned host = (unsigned)c->host;
    int rc = bench_lock_params(c, kind, params);
    for (unsigned n = 0; n < c->nodes && !rc; n++)
        rc = baton_ep_open(baton_cluster_node(cluster, n), &s->eps[n]);
    if (!rc)
        rc = baton_table_create(s->eps[host], "arrivals", &opts, &s->tables[host]);
    for (unsigned n = 0; n < c->nodes && !rc; n++)
        if (n != host)
            rc = baton_table_open(s->eps[n], "arrivals", BATON_NEVER, &s->tables[n]);
    for (unsigned n = 0; n < c->nodes; n++) {
        nodes[n] = (struct scene_node){s, n};
        teams[n] = (struct baton_team){n, n == s->holder, visit, &nodes[n]};
        for (unsigned i = 0; i < s->arrivals->count; i++)
            teams[n].threads += s->arrivals->list[i].node == n;
    }
    if (!rc)
        rc = baton_run(cluster, teams, c->nodes);
    struct baton_sim_counts counts;
    if (!rc)
        rc = baton_sim_counts(cluster, &counts);
    if (!rc) {
        baton_sim_describe(cluster, s->arrivals->drawn, sizeof(s->arrivals->drawn));
        s->arrivals->unseed = counts.unseed;
    }
    for (int maker = 0; maker < 2; maker++)
        for (unsigned n = 0; n < c->nodes; n++)
            if (s->tables[n] && (n == host) == maker) {
                int closed = baton_table_close(s->eps[n], s->tables[n]);
                rc = rc ? rc : closed;
            }
    for (unsigned n = 0; n < c->nodes; n++)
        if (s->eps[n]) {
            int closed = baton_ep_close(s->eps[n]);
            rc = rc ? rc : closed;
        }
    return rc;
}

int bench_arrivals_run(const struct bench_config *config, const struct baton_lock_ops *kind,
                       struct bench_arrivals *arrivals)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = config->fabric;
    opts.name = "arrivals";
    opts.nodes = opts.local = config->nodes;
    opts.seed = config->seed;
    opts.options = config->options;
    for (unsigned i = 0; i < arrivals->count; i++)
        arrivals->list[i].served = 0;
    int rc = baton_cluster_open(&opts, &cluster);
    if (rc)
        return rc;
    struct scene s = {.config = config, .arrivals = arrivals, .holder = holder_node(config)};
    s.eps = calloc(config->nodes, sizeof(struct baton_ep *));
    s.tables = calloc(config->nodes, sizeof(struct baton_table *));
    struct baton_team *teams = calloc(config->nodes, sizeof(*teams));
    struct scene_node *nodes = calloc(config->nodes, sizeof(*nodes));
    rc = s.eps && s.tables && teams && nodes ? run_scene(&s, cluster, kind, teams, nodes) : -ENOMEM;
    free(nodes);
    free(teams);
    free(s.tables);
    free(s.eps);
    int closed = baton_cluster_close(cluster);
    return rc ? rc : closed;
}

/* ---- Telling */

/* The index of the one who was served as `place`-th. */
static unsigned served_at(const struct bench_arrivals *a, unsigned place)
{
    unsigned i = 0;
    while (i + 1 < a->count && a->list[i].served != place)
        i++;
    return i;
}

bool bench_arrivals_in_order(const struct bench_arrivals *arrivals)
{
    for (unsigned place = 2; place <= arrivals->count; place++)
        if (arrivals->list[served_at(arrivals, place)].at_ns <
            arrivals->list[served_at(arrivals, place - 1)].at_ns)
            return false;
    return true;
}

static const char *class_of(const struct bench_config *c, const struct bench_arrival *a)
{
    return a->node == (unsigned)c->host ? "local" : "remote";
}

static void report_json(FILE *to, const struct bench_config *c, const struct baton_lock_ops *kind,
                        const struct bench_arrivals *a)
{
    fprintf(to,
            "{\"schema\":\"" SCHEMA "\",\"fabric\":\"%s\",\"simulated\":true,"
            "\"lock\":\"%s\",\"seed\":%" PRIu64 ",\"nodes\":%u,\"simulation\":{\"drawn\":\"%s\","
            "\"unseed\":\"%016" PRIx64 "\"},\"in_order\":%s,\"served\":[",
            c->fabric, kind->name, c->seed, c->nodes, a->drawn, a->unseed,
            bench_arrivals_in_order(a) ? "true" : "false");
    for (unsigned place = 1; place <= a->count; place++) {
        unsigned i = served_at(a, place);
        const struct bench_arrival *one = &a->list[i];
        fprintf(to,
                "%s{\"arrival\":%u,\"class\":\"%s\",\"node\":%u,\"at_ns\":%" PRIu64
                ",\"entered_ns\":%" PRIu64 "}",
                place > 1 ? "," : "", i + 1, class_of(c, one), one->node, one->at_ns + GAP_NS,
                one->entered_ns);
    }
    fprintf(to, "]}\n");
}

static void report_csv(FILE *to, const struct bench_config *c, const struct baton_lock_ops *kind,
                       const struct bench_arrivals *a, bool first)
{
    if (first)
        fprintf(to, "schema,fabric,simulated,lock,seed,nodes,place,arrival,class,node,at_ns,"
                    "entered_ns\n");
    for (unsigned place = 1; place <= a->count; place++) {
        unsigned i = served_at(a, place);
        const struct bench_arrival *one = &a->list[i];
        fprintf(to, "%s,%s,true,%s,%" PRIu64 ",%u,%u,%u,%s,%u,%" PRIu64 ",%" PRIu64 "\n", SCHEMA,
                c->fabric, kind->name, c->seed, c->nodes, place, i + 1, class_of(c, one), one->node,
                one->at_ns + GAP_NS, one->entered_ns);
    }
}

static void report_table(FILE *to, const struct bench_config *c, const struct baton_lock_ops *kind,
                         const struct bench_arrivals *a, bool first)
{
    if (first)
        fprintf(to,
                "fabric %s (simulated), %u nodes, seed %" PRIu64
                ", %u arrivals while node %u holds the lock; in virtual time\n",
                c->fabric, c->nodes, c->seed, a->count, holder_node(c));
    fprintf(to, "%s: served in %s\n  place arrival class   node    waited after the holder left\n",
            kind->name,
            bench_arrivals_in_order(a) ? "the order of arrival"
                                       : "another order than that of arrival");
    for (unsigned place = 1; place <= a->count; place++) {
        unsigned i = served_at(a, place);
        const struct bench_arrival *one = &a->list[i];
        uint64_t since = one->entered_ns > a->left_ns ? one->entered_ns - a->left_ns : 0;
        fprintf(to, "  %5u %7u %-7s %4u %26.2f us\n", place, i + 1, class_of(c, one), one->node,
                (double)since / 1000);
    }
    fprintf(to, "  %s; unseed %016" PRIx64 "\n", a->drawn, a->unseed);
}

void bench_arrivals_report(FILE *to, enum bench_format format, const struct bench_config *config,
                           const struct baton_lock_ops *kind, const struct bench_arrivals *a,
                           bool first)
{
    if (format == BENCH_JSON)
        report_json(to, config, kind, a);
    else if (format == BENCH_CSV)
        report_csv(to, config, kind, a, first);
    else
        report_table(to, config, kind, a, first);
    fflush(to);
}
