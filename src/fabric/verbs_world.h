/* SPDX-License-Identifier: MIT */
/*
 * What a process keeps of a verbs cluster.
 *
 * A remote address is the offset in the node's space: every segment is registered so that its bytes
 * are known to the NIC by these numbers. Offsets are never used twice, so a stale key with a stale
 * address can not reach the segment that came later, whatever key the device gives it.
 *
 *     offset 0        the node's directory: which segments there are, with their keys. Everybody
 *                     may read it; an endpoint does so when it meets an offset that it does not know
 *     offset 4096..   segments
 *
 * Queue pairs are one way: the endpoint's own end posts and grants nothing, and the end at the node,
 * which verbs_service.c makes on request, posts nothing and grants what the segments grant.
 */
#ifndef BATON_FABRIC_VERBS_WORLD_H
#define BATON_FABRIC_VERBS_WORLD_H

#include "fabric/net.h"
#include "fabric/verbs_device.h"
#include "fabric/world.h"

/* ---- What a node shows to the others */

#define VERBS_MAGIC UINT64_C(0x42617476)
#define VERBS_VERSION 1u

/* How a node is reached before there is a queue pair. In the byte order of the host: magic tells. */
struct verbs_card {
    uint64_t magic;
    uint32_t version;
    uint32_t life; /* another one each time the number is taken */
    uint8_t gid[16];
    uint16_t lid;
    uint8_t ethernet;
    uint8_t mtu;
    uint32_t service; /* number and key of the service's queue pair */
    uint32_t service_key;
    uint32_t directory_key;
    uint32_t probe_key;
    uint32_t pad;
};

struct verbs_directory_entry {
    uint64_t base; /* 0: free */
    uint64_t bytes;
    uint32_t rights;
    uint32_t key;
    uint64_t sum; /* of the others: an entry that is being changed does not fit */
};

struct verbs_directory {
    uint64_t life;
    uint64_t fence; /* what a gfence gets */
    struct verbs_directory_entry entries[BATON_SEGMENTS_MAX];
};
_Static_assert(sizeof(struct verbs_directory) <= BATON_PAGE, "fits before the first segment");
_Static_assert(offsetof(struct verbs_directory, fence) == 8, "where baton_gfence_word is");

uint64_t baton_verbs_entry_sum(const struct verbs_directory_entry *e);

/* ---- Cluster and nodes */

struct verbs_service;

struct verbs_node {
    struct verbs_world *world;
    struct baton_node *node;
    struct verbs_device *device;
    struct ibv_pd *pd;
    struct verbs_card card;
    struct verbs_directory *directory;
    struct ibv_mr *directory_mr;
    uint64_t *probe; /* a word for each node that connects to us: its self-test works on that one */
    struct ibv_mr *probe_mr;
    pthread_mutex_t slow; /* held for a look into a directory, and for a self-test */
    uint64_t *scratch;    /* results of these */
    struct ibv_mr *scratch_mr;
    uint64_t tokens;  /* given out so far */
    uint32_t *tested; /* by node: the life of that node that has passed the self-test */
    struct verbs_service *service;
};

struct verbs_world {
    struct baton_cluster *cluster;
    struct verbs_device *devices; /* local nodes use them in turn */
    unsigned devices_n;
    unsigned timeout_ms;       /* after which a peer that does not answer is an error */
    struct verbs_node **nodes; /* by number; null where this process is not that node */
    struct baton_net *net;
    pthread_mutex_t lock; /* closing */
    bool closing;
};

/*
 * The card of a node that is alive; waits until the deadline (0: looks once) for one that is just
 * starting. -EHOSTDOWN, -EOPNOTSUPP (another version or byte order).
 */
int baton_verbs_card(struct verbs_world *w, unsigned node, uint64_t deadline_ns,
                     struct verbs_card *out);

int baton_verbs_node_open(struct verbs_world *w, struct baton_node *node,
                          struct verbs_device *device, struct verbs_node **out);
void baton_verbs_node_close(struct verbs_node *n);
int baton_verbs_segment_create(struct verbs_node *n, unsigned slot, struct baton_segment *s);
void baton_verbs_segment_destroy(struct verbs_node *n, unsigned slot, struct baton_segment *s);

/* ---- The service: makes the far ends of queue pairs */

/* What the two ends of a queue pair have to know of each other. */
struct verbs_end {
    uint64_t token; /* names the connection; never used twice by a node's life */
    uint8_t gid[16];
    uint16_t lid;
    uint8_t ethernet;
    uint8_t mtu;
    uint32_t qp;
    uint32_t psn;
    uint8_t reads; /* outstanding at most */
    uint8_t pad[3];
};

int baton_verbs_service_open(struct verbs_node *n);
void baton_verbs_service_close(struct verbs_node *n);

/* Drops the far ends of nodes that are gone, soon. */
void baton_verbs_service_sweep(struct verbs_node *n);

/* Asks node `to` for the far end of `near`. -EHOSTDOWN when it does not answer in time. */
int baton_verbs_service_connect(struct verbs_node *n, unsigned to, const struct verbs_card *card,
                                const struct verbs_end *near, struct verbs_end *far);

/* Tells it that the far end is no longer needed; what is lost here goes when the node does. */
void baton_verbs_service_bye(struct verbs_node *n, unsigned to, const struct verbs_card *card,
                             uint64_t token);

/* The way to a queue pair at the other end, for both services and endpoints. */
void baton_verbs_path(const struct verbs_device *d, const uint8_t gid[16], uint16_t lid,
                      bool ethernet, struct ibv_ah_attr *out);

/* ---- Links: an endpoint's queue pair towards a node */

#define VERBS_PIECES 2u /* of local memory, in one request */
#define LINK_DEPTH 64u
#define VERBS_NONE UINT64_MAX

struct verbs_entry {
    struct baton_op op;
    uint64_t result; /* of a fetch that is guarded: where its last word comes first, */
    uint64_t mark;   /* and what is there until it comes; 0: it is not guarded */
    int rc;
    bool posted;   /* the device has it, or had it */
    bool internal; /* no operation: a piece of one, or a look into a directory */
};

struct verbs_segment {
    uint64_t base, bytes;
    uint32_t rights, key;
};

struct verbs_link {
    struct verbs_node *n; /* ours */
    unsigned node;        /* where it goes */
    struct ibv_qp *qp;    /* null: not connected */
    struct ibv_cq *cq;
    struct ibv_mr *entries_mr; /* only where the device takes nothing inline, or loses results */
    uint32_t inline_max;
    uint64_t token;
    struct verbs_card card;
    uint64_t head, tail; /* entries taken from the ring, entries put in */
    uint64_t over;       /* of those that were posted, the ones below are done */
    uint64_t still_ns;   /* since when nothing is done; 0: something was, or nobody has looked */
    uint64_t failed_at;  /* the entry that failed first, or VERBS_NONE */
    int broken;          /* 0, or why nothing is posted any more */
    int report;          /* what the next entry fails with, if no one has yet */
    int carried;         /* what a piece of the operation under way has failed with */
    char text[256];      /* why it broke */
    unsigned segments_n;
    struct verbs_segment segments[BATON_SEGMENTS_MAX];
    struct verbs_entry entries[LINK_DEPTH];
};

int baton_verbs_link_connect(struct verbs_link *l);

/* Ends the queue pair; nothing of it touches memory any more. */
void baton_verbs_link_disconnect(struct verbs_link *l, bool say_bye);

/* Nothing is posted any more; the first entry that has not been judged yet fails with rc. */
void baton_verbs_link_break(struct verbs_link *l, int rc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Looks for completions and marks entries. */
void baton_verbs_link_poll(struct verbs_link *l);

/* The same after the device or the peer is gone: every entry gets its result now. */
void baton_verbs_link_abandon(struct verbs_link *l, int rc, const char *why);

/* Blocks until the entries below `until` are done; for what has to wait inside a post. */
void baton_verbs_link_drive(struct verbs_link *l, uint64_t until);

/* One turn of such a wait; looks at the peer's health now and then. */
void baton_verbs_link_patience(struct verbs_link *l, uint32_t turn);

/* Posts; on failure the link is broken and every entry has its result. */
void baton_verbs_link_post(struct verbs_link *l, struct ibv_send_wr *first);

int baton_verbs_ep_open(struct baton_epx *ep);
void baton_verbs_ep_close(struct baton_epx *ep);

#endif
