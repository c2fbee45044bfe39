/* SPDX-License-Identifier: MIT */
/*
 * What the processes of a cluster tell each other once each has proved that it knows the secret. All
 * messages have one layout, numbers in little-endian order:
 *
 *     type 1 | key 1 | node 2 | count 2 | nodes 2 | life 4 | ticket 4 | rc 4 | at 8
 *     | text length 1 | text | bytes: the rest
 *
 * Fields that a type does not use are zero.
 */
#ifndef BATON_FABRIC_NET_WIRE_H
#define BATON_FABRIC_NET_WIRE_H

#include "fabric/net.h"

enum net_message_type {
    NET_OPENED,   /* never sent: the link says that both have proved the secret */
    NET_JOIN,     /* to node 0. node: wanted, or NET_ANY; count; text: where I listen */
    NET_MEMBER,   /* from node 0: node, count, life; text: where it listens, empty: node 0 itself */
    NET_WELCOME,  /* from node 0, after all members: node, count, life, nodes; bytes: the cluster */
    NET_REFUSE,   /* rc; text. The connection ends */
    NET_BLOB,     /* node, key, bytes */
    NET_SYNCED,   /* all that I had when we met has been sent */
    NET_CLAIM,    /* node wants text as a name; ticket */
    NET_NAME,     /* node has the name text for at; ticket, 0: wants no answer */
    NET_WITHDRAW, /* node gives up the name text; ticket */
    NET_ANSWER,   /* to ticket: rc */
    NET_GONE,     /* from node 0: member node, life is no more. For those who have not met it */
    NET_BYE,      /* I leave */
    NET_TYPES
};

#define NET_ANY 0xffffu
#define NET_TEXT_MAX 160u
#define NET_FIXED_BYTES 29u
#define NET_MESSAGE_MAX (NET_FIXED_BYTES + NET_TEXT_MAX + BATON_NET_BLOB_MAX)

struct net_message {
    uint8_t type, key;
    uint16_t node, count, nodes;
    uint32_t life, ticket;
    int32_t rc;
    uint64_t at;
    char text[NET_TEXT_MAX + 1];
    const uint8_t *bytes; /* of the message that was read */
    size_t size;
};

/* Into `out`, which has NET_MESSAGE_MAX bytes; how many were used. */
size_t baton_net_message_write(const struct net_message *m, uint8_t *out);

/* -EPROTO: no message, with words. */
int baton_net_message_read(const uint8_t *in, size_t size, struct net_message *m);

/* Little-endian numbers of 1 to 8 bytes. */
void baton_net_put(uint8_t *out, uint64_t value, unsigned bytes);
uint64_t baton_net_get(const uint8_t *in, unsigned bytes);

#endif
