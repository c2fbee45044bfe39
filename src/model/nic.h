/* SPDX-License-Identifier: MIT */
/*
 * The rules of the NIC, as explicit steps: the one definition of them in the tree. The explorer of
 * litmus programs and the simulated NIC both ask `baton_nic_ready` what may happen and let
 * `baton_nic_apply` do it.
 *
 * A queue pair is the list of its entries, oldest first. Nothing in a queue pair ever changes
 * place: the pipe, the remote write buffer (wbR) and the local write buffer (wbL) are filled and
 * emptied in the order of posting. So the three queues need no storage of their own, and where an
 * entry is, is said by a byte of flags:
 *
 *     pipe    P --READ--> PV --START--> A --LEAVE-->      put
 *             G --READ--> GV ---------------LEAVE-->      get
 *             R --READ--> GV ---------------LEAVE-->      rcas, rfaa: two parts once the word is
 * read;
 *                     \-> AW --START-->                   a failed rcas has no AW
 *             F --------------------------- LEAVE-->      rfence
 *     wbR     STARTED and not WRITTEN; COMMIT takes the oldest to memory; remote
 *             reads wait until it is empty
 *     wbL     local write: LEFT and not LANDED; LAND takes the oldest to memory
 *             completion:  LEFT and not POLLED
 *
 * Only memory is outside: it is reached through two calls, by locations that mean nothing here.
 * Steps of different queue pairs meet in memory and in the RMW unit of the remote node, which only
 * one RMW towards a node may hold, from its read until its write is in memory.
 */
#ifndef BATON_MODEL_NIC_H
#define BATON_MODEL_NIC_H

#include <stdbool.h>
#include <stdint.h>

enum baton_nic_kind {
    BATON_NIC_PUT,
    BATON_NIC_GET,
    BATON_NIC_RCAS,
    BATON_NIC_RFAA,
    BATON_NIC_FENCE
};

enum baton_nic_step {
    BATON_NIC_READ,   /* put: read the source; get, rcas, rfaa: read the remote word */
    BATON_NIC_START,  /* put, rcas, rfaa: the write enters wbR; a put counts as acknowledged from
                         here */
    BATON_NIC_COMMIT, /* the oldest write of wbR goes to memory */
    BATON_NIC_LEAVE,  /* leaves the head of the pipe: completion, and local write, enter wbL */
    BATON_NIC_LAND,   /* get, rcas, rfaa: the oldest local write of wbL goes to memory */
    BATON_NIC_POLL,   /* by the CPU: takes the completion at the head of wbL */
    BATON_NIC_STEPS,
};

/* Bit `1 << step` is set once the step is done. A failed rcas has START and COMMIT set when it has
 * read. */
enum { BATON_NIC_POSTED = 1 << BATON_NIC_STEPS };

static inline unsigned baton_nic_bit(enum baton_nic_step step)
{
    return 1u << step;
}

/* Masked rcas: the bits compared and replaced. Masked rfaa: `compare` has the top bit of every field. */
struct baton_nic_mask {
    uint64_t compare, swap;
};

/* What never changes about an entry. */
struct baton_nic_entry {
    enum baton_nic_kind kind;
    bool constant; /* put: the value is known, no source is read */
    bool masked;   /* rcas, rfaa: `mask` holds */
    struct baton_nic_mask mask;
    uint64_t remote; /* location; unused by a fence */
    uint64_t local;  /* location: source of a put, destination of the others */
};

/*
 * Values on their way. Before READ: the operands (rcas: `to_local` expected, `to_remote` new; rfaa:
 * `to_remote` the addend; constant put: `to_remote` its value). After READ: what will be written.
 * Zero when there is nothing to keep.
 */
struct baton_nic_value {
    int64_t to_local, to_remote;
};

/* The entries of the stamp order that the sources leave open. Default: none of these bits. */
enum baton_variant {
    BATON_VARIANT_NRR_NRR = 1 << 0, /* nrr-nrr: remote reads of gets towards one node are ordered */
    BATON_VARIANT_NAR_NRR =
        1 << 1, /* nar-nrr: an RMW's read is not ordered before a later get's read */
    BATON_VARIANT_NAR_NLR =
        1 << 2, /* nar-nlr: an RMW's read is ordered before a later put's local read */
};

struct baton_nic_qp {
    unsigned n; /* entries posted or to be posted */
    const struct baton_nic_entry *entry;
    uint8_t *flags;
    struct baton_nic_value *value;
    uint8_t *unit; /* of the remote node: is its RMW unit taken? Shared by all queue pairs towards
                      the node */
    unsigned variants; /* enum baton_variant bits */
    bool free_reads;   /* a fabric that keeps no order of its own: a remote read pushes no younger
                          write into memory. No model of litmus tests has this */
};

struct baton_nic_memory {
    int64_t (*load)(void *arg, uint64_t location);
    void (*store)(void *arg, uint64_t location, int64_t value);
    void *arg;
};

/* Why a step is not ready: the step of an entry that has to come first, or else a reason of another
 * kind. */
struct baton_nic_blocker {
    enum {
        BATON_NIC_BY_STEP, /* `step` of entry `at` */
        BATON_NIC_BY_POST, /* the entry is not posted yet */
        BATON_NIC_BY_UNIT, /* the RMW unit is taken by some RMW of another queue pair */
        BATON_NIC_BY_VALUE /* only if the remote word changes (variant nar-nrr: a later get has read
                              before) */
    } by;
    unsigned at;
    enum baton_nic_step step;
};

/* Does an entry of this kind ever take this step? */
bool baton_nic_has(enum baton_nic_kind kind, enum baton_nic_step step);

/*
 * May entry `at` take `step` now? If not, and `why` is given, one reason: until that has changed,
 * the step stays impossible. The step must not be done already. `memory` is read by nar-nrr only.
 */
bool baton_nic_ready(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                     const struct baton_nic_memory *memory, struct baton_nic_blocker *why);

/* Takes a step that is ready. */
void baton_nic_apply(const struct baton_nic_qp *qp, unsigned at, enum baton_nic_step step,
                     const struct baton_nic_memory *memory);

/*
 * What the CPU may wait for. acked: `wait`: a put has started its remote write, any other has its
 * local write in memory. drained: gfence: the entry is in no pipe and has no write in a buffer.
 * `why` is the first missing step.
 */
bool baton_nic_acked(const struct baton_nic_qp *qp, unsigned at, struct baton_nic_blocker *why);
bool baton_nic_drained(const struct baton_nic_qp *qp, unsigned at, struct baton_nic_blocker *why);

#endif
