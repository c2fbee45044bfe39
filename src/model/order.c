/* SPDX-License-Identifier: MIT */
/*
 * Closing two partial orders one edge at a time. Almost every program has fewer than 64 parts, so a
 * row is one word, and one edge costs a few dozen instructions.
 */
#include "model/order.h"

#include <string.h>

void baton_order_init(struct baton_order *order, unsigned count, uint64_t *bits)
{
    order->count = count;
    order->words = (count + 63) / 64;
    order->bits = bits;
    memset(bits, 0, baton_order_size(count) * sizeof(*bits));
}

/* The parts that the row holds, together with `part` itself. */
static void collect(const struct baton_order *order, unsigned matrix, unsigned part, uint64_t *set)
{
    memcpy(set, baton_order_row(order, matrix, part), order->words * sizeof(*set));
    set[part / 64] |= UINT64_C(1) << (part % 64);
}

bool baton_order_add_hb(struct baton_order *order, unsigned before, unsigned after)
{
    if (before == after || baton_order_has(order, BATON_ORDER_HB, after, before))
        return false;
    if (baton_order_has(order, BATON_ORDER_HB, before, after))
        return true;
    uint64_t earlier[BATON_ORDER_MAX / 64], later[BATON_ORDER_MAX / 64];
    collect(order, 3, before, earlier);
    collect(order, 2, after, later);
    for (unsigned w = 0; w < order->words; w++) {
        for (uint64_t left = earlier[w]; left; left &= left - 1) {
            uint64_t *row = baton_order_row(order, 2, w * 64 + (unsigned)__builtin_ctzll(left));
            for (unsigned i = 0; i < order->words; i++)
                row[i] |= later[i];
        }
        for (uint64_t left = later[w]; left; left &= left - 1) {
            uint64_t *row = baton_order_row(order, 3, w * 64 + (unsigned)__builtin_ctzll(left));
            for (unsigned i = 0; i < order->words; i++)
                row[i] |= earlier[i];
        }
    }
    return true;
}

bool baton_order_add_ib(struct baton_order *order, const uint64_t *instant, unsigned before,
                        unsigned after)
{
    if (before == after || baton_order_has(order, BATON_ORDER_IB, after, before))
        return false;
    if (baton_order_has(order, BATON_ORDER_IB, before, after))
        return true;
    uint64_t earlier[BATON_ORDER_MAX / 64], later[BATON_ORDER_MAX / 64];
    collect(order, 1, before, earlier);
    collect(order, 0, after, later);
    for (unsigned w = 0; w < order->words; w++)
        for (uint64_t left = later[w]; left; left &= left - 1) {
            uint64_t *row = baton_order_row(order, 1, w * 64 + (unsigned)__builtin_ctzll(left));
            for (unsigned i = 0; i < order->words; i++)
                row[i] |= earlier[i];
        }
    for (unsigned w = 0; w < order->words; w++)
        for (uint64_t left = earlier[w]; left; left &= left - 1) {
            unsigned part = w * 64 + (unsigned)__builtin_ctzll(left);
            uint64_t *row = baton_order_row(order, 0, part);
            bool is_instant = instant[w] >> (part % 64) & 1;
            for (unsigned i = 0; i < order->words; i++) {
                uint64_t fresh = later[i] & ~row[i];
                row[i] |= fresh;
                if (!is_instant)
                    continue;
                for (; fresh; fresh &= fresh - 1)
                    if (!baton_order_add_hb(order, part, i * 64 + (unsigned)__builtin_ctzll(fresh)))
                        return false;
            }
        }
    return true;
}
