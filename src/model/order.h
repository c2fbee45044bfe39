/* SPDX-License-Identifier: MIT */
/*
 * A pair of partial orders over the parts of a program's operations, kept transitively closed while
 * edges are added: ib (issued before) and hb (takes effect before). Both are bit matrices in one block
 * of memory, so that a search can save and restore them with one copy.
 *
 * An issue edge that leaves an instantaneous part is an effect edge too, since such a part is issued
 * and takes effect at the same time; the closure looks after that.
 */
#ifndef BATON_MODEL_ORDER_H
#define BATON_MODEL_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BATON_ORDER_MAX 256 /* the most parts that one order holds */

struct baton_order {
    unsigned count, words; /* parts; 64-bit words in a row */
    uint64_t *bits;        /* ib forward, ib backward, hb forward, hb backward: count rows each */
};

enum baton_order_which { BATON_ORDER_IB, BATON_ORDER_HB };

/* How many 64-bit words the matrices of `count` parts take. */
static inline size_t baton_order_size(unsigned count)
{
    return (size_t)4 * count * ((count + 63) / 64);
}

/* Starts with empty orders in `bits`, which has baton_order_size(count) words. */
void baton_order_init(struct baton_order *order, unsigned count, uint64_t *bits);

static inline uint64_t *baton_order_row(const struct baton_order *order, unsigned matrix,
                                        unsigned part)
{
    return order->bits + ((size_t)matrix * order->count + part) * order->words;
}

static inline bool baton_order_has(const struct baton_order *order, enum baton_order_which which,
                                   unsigned before, unsigned after)
{
    return baton_order_row(order, 2 * which, before)[after / 64] >> (after % 64) & 1;
}

/*
 * Adds an edge and what follows from it. `instant` is the set of the instantaneous parts. False if the
 * edge closes a cycle; the orders are of no more use then.
 */
bool baton_order_add_hb(struct baton_order *order, unsigned before, unsigned after);
bool baton_order_add_ib(struct baton_order *order, const uint64_t *instant, unsigned before,
                        unsigned after);

#endif
