/* SPDX-License-Identifier: MIT */
/*
 * One connection between two processes, without the socket: bytes in, bytes out.
 *
 *     the one who dials                      the one who listens
 *        hello {version, node, nonce}  ->
 *                                      <-    hello {version, node, nonce}
 *        proof                         ->       a wrong one: closes, and has told nothing
 *                                      <-    proof
 *        frames                       <-->   frames
 *
 * A proof is a keyed hash over its role and both hellos, so each holds for these two nonces, versions,
 * nodes and lives only. A frame is its length (4 bytes) and a sealed message; the keys, one for each
 * direction, are made from the secret and both hellos, and the nonce of a frame is its number. So a
 * frame that is changed, left out, repeated, moved, or from another connection does not open, and the
 * connection has failed.
 */
#ifndef BATON_FABRIC_NET_LINK_H
#define BATON_FABRIC_NET_LINK_H

#include "fabric/net_wire.h"

#define NET_VERSION 1u
#define NET_KEY_BYTES 32u
#define NET_NONCE_BYTES 32u
#define NET_CLUSTER_BYTES 16u
#define NET_FABRIC_MAX 15u
#define NET_HELLO_BYTES 92u
#define NET_PROOF_BYTES 32u
#define NET_SEAL_BYTES 16u
#define NET_FRAME_MAX (4u + NET_MESSAGE_MAX + NET_SEAL_BYTES)
#define NET_OUT_MAX (8u << 20) /* bytes that may wait for somebody who does not read */

enum net_purpose { NET_TO_JOIN = 1, NET_TO_MEET = 2 };

struct net_hello {
    uint16_t version;
    uint8_t purpose;      /* enum net_purpose */
    uint16_t node, count; /* whose hello this is; NET_ANY: has none yet */
    uint16_t to;          /* who is meant */
    uint32_t life, to_life;
    uint8_t cluster[NET_CLUSTER_BYTES]; /* zero: does not know it yet */
    char fabric[NET_FABRIC_MAX + 1];
};

enum net_stage { NET_WAIT_HELLO, NET_WAIT_PROOF, NET_OPEN, NET_FAILED };

struct net_link {
    enum net_stage stage;
    bool listener;
    uint8_t secret[NET_KEY_BYTES];
    uint8_t hellos[2 * NET_HELLO_BYTES]; /* the dialler's, the listener's */
    struct net_hello peer;
    uint8_t send_key[NET_KEY_BYTES], receive_key[NET_KEY_BYTES];
    uint64_t sent, received; /* frames */
    size_t in_size;
    uint8_t in[NET_FRAME_MAX];
    uint8_t plain[NET_MESSAGE_MAX];
    uint8_t *out; /* out_size bytes that wait to be sent */
    size_t out_size, out_room;
};

/* The dialler's hello is put out at once. -ENOMEM; -EIO: no randomness. */
int baton_net_link_init(struct net_link *l, bool listener, const uint8_t secret[NET_KEY_BYTES],
                        const struct net_hello *mine);
void baton_net_link_fini(struct net_link *l); /* also wipes the keys */

/* Where the next bytes that come in go, and how many fit, which is at least one. */
uint8_t *baton_net_link_room(struct net_link *l, size_t *room);
void baton_net_link_came(struct net_link *l, size_t size);

/*
 * 1: a message, whose bytes hold until the next call; the first is NET_OPENED, and l->peer is proved
 * then. 0: more bytes are needed. Else the connection is to be closed: -EPROTO, -EPERM (another
 * secret), -EOPNOTSUPP (another version), -ENOMEM.
 */
int baton_net_link_next(struct net_link *l, struct net_message *m);

/* -ENOMEM; -ENOBUFS: the other end has not read for a long time. */
int baton_net_link_send(struct net_link *l, const struct net_message *m);

/* The first `size` of the bytes that wait have left. */
void baton_net_link_left(struct net_link *l, size_t size);

#endif
