/* SPDX-License-Identifier: MIT */
/*
 * What an endpoint and the service of a node say to each other. Numbers are in the byte order of the host:
 * the card's magic tells. A request is a head and `count` records, each followed by what its flags say; its
 * answer is a head and the results of the fetches, in order.
 *
 *     hello    the first on a connection, followed by the address of who sends it, where it is answered with
 *              what the connection needs
 *     chain    operations, executed in order by the node's thread
 *     look     rma: where is the segment that holds this offset?
 *
 * Requests of one connection are executed in the order of sending, and answered in that order. A quiet one
 * is answered only if it fails: that all before it were done is what a later answer says.
 */
#ifndef BATON_FABRIC_UCX_WIRE_H
#define BATON_FABRIC_UCX_WIRE_H

#include <baton/fabric.h>

#define UCX_MAGIC UINT64_C(0x4261747555435821)
#define UCX_VERSION 4u
#define UCX_ADDRESS_MAX 2048u /* bytes of a worker's address */

/* How a node is reached. */
struct ucx_card {
    uint64_t magic;
    uint32_t version;
    uint32_t mode;  /* enum ucx_mode */
    uint64_t life;  /* another one each time the number is taken */
    uint64_t bytes; /* of the address of its service */
    uint8_t address[UCX_ADDRESS_MAX];
};

enum { UCX_TAG_REQUEST = 1, UCX_TAG_ANSWER }; /* tags of messages */

enum ucx_kind { UCX_HELLO = 1, UCX_CHAIN, UCX_LOOK };

/*
 * Connections have tokens, of which no two of a node's life are the same: above, the place of the endpoint among
 * those that are open, and below it a number that rises from connection to connection of the node. Once a hello
 * has come, nothing may happen any more over connections before it in its place.
 */
#define UCX_TOKEN_COUNT_BITS 40u

struct ucx_request {
    uint64_t life;  /* of the node that is meant */
    uint64_t token; /* of the connection */
    uint64_t from_life;
    uint64_t number; /* rises by one from request to request */
    uint64_t offset; /* look */
    uint16_t from;
    uint8_t kind;
    uint8_t flags;
    uint32_t count; /* records; hello: bytes of the address */
};

enum ucx_request_flags {
    UCX_QUIET = 1, /* who sends it waits for no answer */
    UCX_HOLD = 2   /* chain: a struct ucx_hold follows the records */
};

enum ucx_record_flags {
    UCX_RECORD_MASKS = 1, /* cmask and smask follow */
    UCX_RECORD_BYTES = 2  /* the bytes that are put follow */
};

struct ucx_record {
    uint64_t offset;
    uint64_t value, expected;
    uint32_t bytes;
    uint32_t before,
        whole;    /* this is a piece of `whole` bytes that begin as many before `offset` */
    uint8_t kind; /* enum baton_op_kind */
    uint8_t flags;
    uint16_t zero;
};

#define UCX_HOLD_MAX_US 1000000u

/* As struct baton_until; `at` and `plus` are bytes into the results. */
struct ucx_cond {
    uint64_t mask, value;
    uint32_t at, plus; /* plus: UCX_NOTHING, or where it is */
    uint32_t shift;
    uint32_t negate;
};

#define UCX_NOTHING UINT32_MAX

/* The gets at the end of a chain are repeated until a condition holds, or the time is over. */
struct ucx_hold {
    uint32_t us;
    uint32_t conds_n;
    struct ucx_cond conds[BATON_CONDS_MAX];
};

struct ucx_answer {
    uint64_t token;
    uint64_t number;
    uint64_t base, bytes; /* of the segment that refuses, or was looked for */
    uint32_t rights;
    int32_t rc;
    uint32_t failed; /* the first record that was not executed; their count if all were */
    uint16_t node;   /* whose answer it is */
    uint16_t kind;
};

/* rma: behind the answers to hello (of the directory) and look: where memory is, and its packed key. */
struct ucx_memory {
    uint64_t address;
    uint64_t gone; /* how many segments the node has taken back so far */
    uint64_t key_bytes;
    uint8_t key[];
};

_Static_assert(sizeof(struct ucx_request) == 48 && sizeof(struct ucx_record) == 40 &&
                   sizeof(struct ucx_answer) == 48 && sizeof(struct ucx_cond) == 32 &&
                   sizeof(struct ucx_memory) == 24,
               "no hidden padding, and what follows is aligned");

#define UCX_BODY_MAX (32u << 10) /* bytes of operands, and of results, that one message carries */
#define UCX_MESSAGE_MAX (UCX_BODY_MAX + 4096u)

#endif
