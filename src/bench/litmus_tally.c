/* SPDX-License-Identifier: MIT */
/* Counts of final states: open addressing, nothing is ever taken out. */
#include "bench/litmus_tally.h"

#include <string.h>

#define SLOTS (2 * LITMUS_STATES_MAX)

size_t litmus_tally_bytes(unsigned width)
{
    return sizeof(struct litmus_tally) + (size_t)LITMUS_STATES_MAX * width * sizeof(int64_t);
}

void litmus_tally_begin(struct litmus_tally *tally, unsigned width)
{
    memset(tally, 0, sizeof(*tally));
    tally->width = width;
}

static uint32_t slot_of(const int64_t *row, unsigned width)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < width; i++) {
        h = (h ^ (uint64_t)row[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return (uint32_t)h % SLOTS;
}

void litmus_tally_add(struct litmus_tally *tally, uint64_t run, const int64_t *row)
{
    size_t bytes = tally->width * sizeof(*row);
    uint32_t at = slot_of(row, tally->width);
    tally->runs++;
    while (tally->slot[at] && memcmp(litmus_tally_row(tally, tally->slot[at] - 1), row, bytes))
        at = (at + 1) % SLOTS;
    if (!tally->slot[at]) {
        if (tally->states_n == LITMUS_STATES_MAX) {
            tally->lost++;
            return;
        }
        memcpy(tally->row + (size_t)tally->states_n * tally->width, row, bytes);
        tally->state[tally->states_n] = (struct litmus_state){0, run};
        tally->slot[at] = ++tally->states_n;
    }
    tally->state[tally->slot[at] - 1].count++;
}
