/* SPDX-License-Identifier: MIT */
/*
 * The memory of a lock table: one segment of the host.
 *
 *     word  0        magic
 *           1        layout version
 *           2        K, the number of locks
 *           3        bytes of one lock
 *           4        bytes before lock 0, a multiple of the page
 *           5        nodes, the number of attach words
 *           6        first ticket
 *           7 - 10   parameters of the kind
 *          11 - 14   name of the kind, ended by 0
 *          15        enum baton_lock_memory of the host
 *          16        state                                       NIC_RMW
 *          17 ...    attach words, one a node                    NIC_RMW
 *     next page on   lock 0, lock 1, ...
 *
 *     state      63         40 39             20 19      4 3     0
 *               +-------------+-----------------+---------+-------+
 *               | incarnation | repairer's life | its node| phase |
 *               +-------------+-----------------+---------+-------+
 *
 *     attach     63                    20 19      0
 *               +------------------------+---------+   handles: how many the node has open. 0 in all:
 *               |  life                  | handles |   it takes no part
 *               +------------------------+---------+
 *
 * Words 0 to 15 do not change once the table is published. Whoever waits for a lock watches `state`,
 * which has to keep the value that it had when the wait began, and, when a node has died, whether
 * that node's attach word says that it took part.
 *
 * The life of a node is where its arena begins. Offsets are not used again while the cluster lives,
 * so a process that takes the number of a dead one has another life, finds its predecessor's attach
 * word, and marks the table if no survivor has done so.
 */
#ifndef BATON_LOCK_TABLE_H
#define BATON_LOCK_TABLE_H

#include <baton/lock.h>

#define BATON_TABLE_MAGIC 0x6261746f6e74626cu
#define BATON_TABLE_VERSION 2u
#define BATON_KIND_NAME_MAX 31u

enum baton_table_word {
    BATON_TABLE_AT_MAGIC,
    BATON_TABLE_AT_VERSION,
    BATON_TABLE_AT_COUNT,
    BATON_TABLE_AT_LINE,
    BATON_TABLE_AT_HEADER,
    BATON_TABLE_AT_NODES,
    BATON_TABLE_AT_FIRST,
    BATON_TABLE_AT_PARAMS,
    BATON_TABLE_AT_KIND = BATON_TABLE_AT_PARAMS + BATON_LOCK_PARAMS_MAX,
    BATON_TABLE_AT_MEMORY = BATON_TABLE_AT_KIND + 4,
    BATON_TABLE_AT_STATE,
    BATON_TABLE_AT_ATTACH
};

/*
 * Wakes who sleeps on the hint of his waiter; rings. A hint that is lost is put again, another way. 0 also
 * when nobody needs it any more: the waiter's node has left or died.
 */
#define BATON_WAITER_HINT (BATON_WAITER_WORDS - 1) /* the word; any change of it wakes */
int baton_lock_hint(struct baton_ep *ep, struct baton_waiter *waiter, baton_gptr who);

/* "ts, ticket, ...", for messages. */
void baton_lock_kinds_text(char *out, size_t bytes);

/* -EINVAL, with the values that are possible, when one is out of range. */
int baton_lock_params_check(const struct baton_lock_ops *ops, const uint64_t *params);

#endif
