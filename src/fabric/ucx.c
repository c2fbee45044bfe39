/* SPDX-License-Identifier: MIT */
/*
 * The world of UCX: any network that it knows.
 *
 * Options: mode=am|rma (standard: rma where UCX has RDMA devices, else am), tls=NAME[+NAME..] (what UCX calls
 * UCX_TLS; standard: rc where there are RDMA devices, unless mode=am; else tcp), dev=NAME (a network interface,
 * or a port of an RDMA device, as mlx5_0:1; see ucx_device.h), timeout_ms=N (how long a node may be silent),
 * allow_torn=1 (rma over tcp: locks may open although UCX promises no whole words), and those of net.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "fabric/ucx_device.h"
#include "fabric/ucx_world.h"

#define CARD_KEY 0u

static struct ucx_world *world_of(struct baton_node *node)
{
    return node->cluster->world;
}

/* ---- Names */

static int world_name_publish(struct baton_node *node, const char *text, baton_gptr at)
{
    return baton_net_name_publish(world_of(node)->net, node->index, text, at);
}

static int world_name_withdraw(struct baton_node *node, const char *text)
{
    return baton_net_name_withdraw(world_of(node)->net, node->index, text);
}

static int world_name_find(struct baton_node *node, const char *text, baton_gptr *at)
{
    return baton_net_name_find(world_of(node)->net, text, at);
}

/* ---- Nodes */

static enum baton_node_state world_node_state(struct baton_cluster *cluster, unsigned index)
{
    const struct ucx_world *w = cluster->world;
    return baton_net_state(w->net, index);
}

static const char *const mode_names[] = {[UCX_MODE_AM] = "am", [UCX_MODE_RMA] = "rma"};

static int card_judge(const struct ucx_world *w, unsigned node, const struct ucx_card *card,
                      size_t size)
{
    if (size != sizeof(*card) || card->bytes > UCX_ADDRESS_MAX || card->magic != UCX_MAGIC ||
        card->version != UCX_VERSION)
        return baton_fail(-EOPNOTSUPP,
                          "node %u has another byte order, or another version of this library",
                          node);
    if (card->mode != w->mode)
        return baton_fail(-EOPNOTSUPP,
                          "node %u uses another mode than %s; give all nodes the same mode=", node,
                          mode_names[w->mode]);
    return 0;
}

int baton_ucx_card(struct ucx_world *w, unsigned node, uint64_t deadline_ns, struct ucx_card *out)
{
    size_t size;
    if (baton_net_state(w->net, node) != BATON_NODE_ALIVE)
        return baton_fail(-EHOSTDOWN, "node %u is dead or absent", node);
    int rc = baton_net_blob_get(w->net, node, CARD_KEY, out, sizeof(*out), &size, deadline_ns);
    if (rc == -ETIMEDOUT || rc == -ENOENT)
        return baton_fail(-EHOSTDOWN, "node %u has not told in time how it is reached", node);
    return rc && rc != -ERANGE ? rc : card_judge(w, node, out, rc ? 0 : size);
}

static void on_gone(void *arg, unsigned node, enum baton_node_state how)
{
    struct ucx_world *w = arg;
    pthread_mutex_lock(&w->lock);
    for (unsigned i = 0; !w->closing && i < w->cluster->nodes; i++)
        if (w->nodes[i])
            baton_ucx_service_sweep(w->nodes[i]);
    pthread_mutex_unlock(&w->lock);
}

/* ---- Settings */

struct settings {
    char tls[128], dev[256];
    enum ucx_mode mode; /* 0: whatever suits */
    long timeout_ms, allow_torn;
};

/* UCX wants commas in its lists, which we have between settings. */
static void list_option(const char *options, const char *name, char *out, size_t room)
{
    *out = 0;
    baton_option(options, name, out, room);
    for (char *p = out; *p; p++)
        if (*p == '+')
            *p = ',';
}

/* What does not tell that a peer has died would leave its callers waiting. */
static int check_tls(const char *tls)
{
    static const char *const mute[] = {"all",  "shm",   "sm",  "mm",   "posix",
                                       "sysv", "xpmem", "cma", "knem", NULL};
    for (const char *const *m = mute; *m; m++)
        for (const char *p = tls; (p = strstr(p, *m)); p++)
            if ((p == tls || p[-1] == ',') && strchr(",", p[strlen(*m)]))
                return baton_fail(-EINVAL,
                                  "tls=%s: it does not report dead peers; use tcp or rc here, and "
                                  "the fabric shm on one machine",
                                  *m);
    return 0;
}

static int settings_read(const char *options, struct settings *s)
{
    static const char *const known[] = {
        "mode", "tls", "dev", "timeout_ms", "allow_torn", BATON_NET_OPTIONS, NULL};
    char mode[16] = "";
    *s = (struct settings){.timeout_ms = 5000};
    int rc = baton_options_check(options, known);
    if (rc)
        return rc;
    list_option(options, "tls", s->tls, sizeof(s->tls));
    *s->dev = 0;
    baton_option(options, "dev", s->dev, sizeof(s->dev));
    baton_option(options, "mode", mode, sizeof(mode));
    if (!strcmp(mode, "am"))
        s->mode = UCX_MODE_AM;
    else if (!strcmp(mode, "rma"))
        s->mode = UCX_MODE_RMA;
    else if (*mode)
        return baton_fail(-EINVAL, "mode=%s: am or rma", mode);
    rc = check_tls(s->tls);
    if (!rc)
        rc = baton_option_number(options, "timeout_ms", 10, 600000, &s->timeout_ms);
    if (!rc)
        rc = baton_option_number(options, "allow_torn", 0, 1, &s->allow_torn);
    return rc;
}

/* ---- UCX */

/*
 * One lane: what is sent first arrives first. Everything eager: a message is whole when it is heard. No probes
 * of silent peers: the net tells who is gone.
 */
static const char *const always[][2] = {{"MAX_EAGER_RAILS", "1"},
                                        {"MAX_RNDV_RAILS", "1"},
                                        {"RNDV_THRESH", "inf"},
                                        {"KEEPALIVE_INTERVAL", "inf"}};

/*
 * Sockets connect without blocking: a thread would wait for hosts that do not answer, and where a connection is
 * lost between connecting and the first bytes, UCX 1.13 ends the process. A message goes in one piece.
 */
static const char *const tcp[][2] = {{"CONN_NB", "y"}, {"TX_SEG_SIZE", "64k"}};

static ucs_status_t context_try(const char *tls, const char *dev, bool rma, ucp_context_h *out)
{
    ucp_config_t *config;
    ucs_status_t status = UCX(ucp_config_read)(NULL, NULL, &config);
    if (status)
        return status;
    status = UCX(ucp_config_modify)(config, "TLS", tls);
    if (!status && *dev)
        status = UCX(ucp_config_modify)(config, "NET_DEVICES", dev);
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && !status; i++)
        status = UCX(ucp_config_modify)(config, always[i][0], always[i][1]);
    for (size_t i = 0; i < sizeof(tcp) / sizeof(tcp[0]) && !status && strstr(tls, "tcp"); i++)
        status = UCX(ucp_config_modify)(config, tcp[i][0], tcp[i][1]);
    ucp_params_t p = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
                      .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP |
                                  (rma ? UCP_FEATURE_RMA | UCP_FEATURE_AMO64 : 0),
                      .mt_workers_shared = 1};
    if (!status)
        status = UCX(ucp_init_version)(UCP_API_MAJOR, UCP_API_MINOR, &p, config, out);
    UCX(ucp_config_release)(config);
    return status;
}

/* Only these are executed by a card; what UCX does itself may tear words, and checks no keys. */
static bool by_card(const char *tls)
{
    for (const char *comma; !strncmp(tls, "rc", 2) || !strncmp(tls, "dc", 2); tls = comma + 1) {
        comma = strchr(tls, ',');
        if (!comma)
            return true;
    }
    return false;
}

/* UCX names its devices by transport: interfaces for tcp, ports for RDMA. Empty: whatever there is. */
static int device_of(const struct settings *s, const struct ucx_device *dev, bool by_card,
                     const char **out)
{
    *out = by_card ? dev->rdma : dev->net;
    if (!*s->dev || **out)
        return 0;
    return by_card
               ? baton_fail(-EHOSTDOWN, "dev=%s: no RDMA device is on that interface, for tls=%s",
                            s->dev, s->tls)
               : baton_fail(-EHOSTDOWN, "dev=%s: that port has no network interface, for tls=%s",
                            s->dev, s->tls);
}

static int context_open(struct ucx_world *w, struct settings *s)
{
    struct ucx_device dev = {{0}, {0}};
    const char *name;
    if (*s->dev)
        baton_ucx_device_find(UCX_DEVICES, s->dev, &dev);
    int rc = baton_ucx_interface(w, dev.net, sizeof(dev.net));
    if (rc)
        return rc;
    /* RDMA devices come first, where there are some. */
    ucs_status_t status = UCS_ERR_NO_DEVICE;
    if (!*s->tls && s->mode != UCX_MODE_AM) {
        if (!*s->dev || *dev.rdma)
            status = context_try("rc", dev.rdma, true, &w->context);
        strcpy(s->tls, status ? "tcp" : "rc");
    } else if (!*s->tls) {
        strcpy(s->tls, "tcp");
    }
    w->software = !by_card(s->tls);
    w->mode = s->mode ? s->mode : w->software ? UCX_MODE_AM : UCX_MODE_RMA;
    if (status && (rc = device_of(s, &dev, !w->software, &name)))
        return rc;
    if (status)
        status = context_try(s->tls, name, w->mode == UCX_MODE_RMA, &w->context);
    if (status)
        return baton_fail(status == UCS_ERR_NO_DEVICE ? -EHOSTDOWN : -EINVAL,
                          "UCX has no way of the kind tls=%s%s%s: %s; ucx_info -d lists what there "
                          "is",
                          s->tls, *s->dev ? " over dev=" : "", s->dev,
                          UCX(ucs_status_string)(status));
    return 0;
}

static struct baton_caps caps_of(const struct ucx_world *w, bool torn_allowed)
{
    struct baton_caps am = {.atomics = BATON_ATOMICS_GLOB,
                            .masked = true,
                            .word_atomic = true,
                            .in_order_placement = true,
                            .chain_order = true,
                            .held_gets = true,
                            .inline_max = 8};
    struct baton_caps rma = {.atomics = BATON_ATOMICS_HCA,
                             .word_atomic = !w->software,
                             .torn_allowed = torn_allowed,
                             .inline_max = 8};
    return w->mode == UCX_MODE_AM ? am : rma;
}

/* ---- Open, close */

static void world_free(struct ucx_world *w)
{
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; w->nodes && i < w->cluster->nodes; i++)
        if (w->nodes[i])
            baton_ucx_node_close(w->nodes[i]);
    if (w->context)
        UCX(ucp_cleanup)(w->context);
    if (w->net)
        baton_net_close(w->net);
    pthread_mutex_destroy(&w->lock);
    free(w->nodes);
    free(w);
}

static int nodes_open(struct ucx_world *w)
{
    unsigned first = baton_net_first(w->net);
    struct ucx_card card;
    w->nodes = calloc(w->cluster->nodes, sizeof(*w->nodes));
    if (!w->nodes)
        return -ENOMEM;
    for (unsigned i = first; i < first + baton_net_local(w->net); i++) {
        struct baton_node *node = baton_cluster_add_node(w->cluster, i);
        if (!node)
            return -ENOMEM;
        node->next_base = baton_net_base(w->net, i);
        int rc = baton_ucx_node_open(w, node, &card, &w->nodes[i]);
        if (!rc)
            rc = baton_net_blob_set(w->net, i, CARD_KEY, &card, sizeof(card));
        if (rc)
            return rc;
    }
    return 0;
}

static int world_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    struct settings settings;
    int rc = settings_read(opts->options, &settings);
    if (rc)
        return rc;
    struct ucx_world *w = calloc(1, sizeof(*w));
    if (!w || pthread_mutex_init(&w->lock, NULL)) {
        free(w);
        return -ENOMEM;
    }
    w->cluster = cluster;
    w->timeout_ms = (unsigned)settings.timeout_ms;
    cluster->world = w;
    rc = baton_net_open(opts, "ucx", &w->net);
    if (!rc)
        rc = context_open(w, &settings);
    if (!rc) {
        cluster->nodes = baton_net_nodes(w->net);
        cluster->caps = caps_of(w, settings.allow_torn);
        rc = nodes_open(w);
    }
    if (rc)
        world_free(w);
    else
        baton_net_watch(w->net, cluster, on_gone, w);
    return rc;
}

static void world_close(struct baton_cluster *cluster)
{
    world_free(cluster->world);
}

static struct ucx_node *node_of(struct baton_node *node)
{
    return world_of(node)->nodes[node->index];
}

static int world_segment_create(struct baton_node *node, unsigned slot, struct baton_segment *s)
{
    return baton_ucx_segment_create(node_of(node), slot, s);
}

static void world_segment_destroy(struct baton_node *node, unsigned slot, struct baton_segment *s)
{
    baton_ucx_segment_destroy(node_of(node), slot, s);
}

const struct baton_world_ops baton_world_ucx = {.size = sizeof(baton_world_ucx),
                                                .name = "ucx",
                                                .unavailable = baton_ucx_load,
                                                .open = world_open,
                                                .close = world_close,
                                                .node_state = world_node_state,
                                                .segment_create = world_segment_create,
                                                .segment_destroy = world_segment_destroy,
                                                .name_publish = world_name_publish,
                                                .name_withdraw = world_name_withdraw,
                                                .name_find = world_name_find,
                                                .ep_open = baton_ucx_ep_open,
                                                .ep_close = baton_ucx_ep_close};
