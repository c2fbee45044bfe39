/* SPDX-License-Identifier: MIT */
/*
 * The stamps of the memory model and the table that orders them. A stamp says what kind of access one
 * part of an operation is; the table says which two accesses of one thread keep their program order.
 * The table is data, so that a variant of the model is another table and a test can damage one cell.
 */
#ifndef BATON_MODEL_STAMPS_H
#define BATON_MODEL_STAMPS_H

#include <stdbool.h>

enum baton_stamp {
    BATON_STAMP_CR,  /* CPU read */
    BATON_STAMP_CW,  /* CPU write */
    BATON_STAMP_CAS, /* CPU read-modify-write */
    BATON_STAMP_MF,  /* memory fence */
    BATON_STAMP_WT,  /* wait or poll */
    BATON_STAMP_NLR, /* NIC local read: a put fetches its value */
    BATON_STAMP_NRW, /* NIC remote write */
    BATON_STAMP_NAR, /* NIC atomic read: a remote RMW reads */
    BATON_STAMP_NRR, /* NIC remote read: a get reads */
    BATON_STAMP_NLW, /* NIC local write: a result arrives */
    BATON_STAMP_RF,  /* remote fence */
    BATON_STAMP_GF,  /* global fence */
    BATON_STAMP_COUNT
};

/*
 * cell[earlier][later], for two operations of one thread in program order:
 *   'Y'  the two take effect in order;
 *   's'  they do if both go towards the same node;
 *   'i'  they may take effect in either order, but are issued in order;
 *   'n'  the same, if both go towards the same node;
 *   '-'  nothing is promised.
 * A CPU stamp goes towards no node, so 's' and 'n' promise nothing when one side is a CPU stamp.
 */
struct baton_stamps {
    char cell[BATON_STAMP_COUNT][BATON_STAMP_COUNT];
};

extern const struct baton_stamps baton_stamps_default;

/* Changes the cells that enum baton_variant bits (program.h) name. */
void baton_stamps_vary(struct baton_stamps *stamps, unsigned variants);

const char *baton_stamp_name(enum baton_stamp stamp);  /* "NRW" */
const char *baton_stamp_words(enum baton_stamp stamp); /* "NIC remote write" */

/* Whether order is kept between two accesses towards `node1` and `node2` (0: towards none). */
static inline bool baton_stamps_ordered(const struct baton_stamps *stamps, enum baton_stamp earlier,
                                        int node1, enum baton_stamp later, int node2)
{
    char cell = stamps->cell[earlier][later];
    return cell == 'Y' || (cell == 's' && node1 && node1 == node2);
}

/* The same for the order of issue, which is kept wherever the order of effect is. */
static inline bool baton_stamps_issued(const struct baton_stamps *stamps, enum baton_stamp earlier,
                                       int node1, enum baton_stamp later, int node2)
{
    char cell = stamps->cell[earlier][later];
    return cell == 'Y' || cell == 'i' || ((cell == 's' || cell == 'n') && node1 && node1 == node2);
}

#endif
