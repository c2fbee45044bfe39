/* SPDX-License-Identifier: MIT */
/*
 * Work ids of the locks. A lock call waits for every id that it posts before it returns (what nobody
 * waits for has id 0), so all kinds share a few, and locks nest.
 */
#ifndef BATON_LOCK_IDS_H
#define BATON_LOCK_IDS_H

#include <baton/fabric.h>

enum {
    BATON_ID_LOCK = BATON_WID_LOCK,     /* the words of the lock */
    BATON_ID_LOCK2,                     /* what must be told apart from BATON_ID_LOCK */
    BATON_ID_LINK,                      /* a put into another waiter */
    BATON_ID_TABLE = BATON_WID_LOCK + 8 /* the header of a table */
};

#endif
