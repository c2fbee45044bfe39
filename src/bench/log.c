/* SPDX-License-Identifier: MIT */
/* The record of a simulated run. */
#include "bench/log.h"

#include <errno.h>
#include <stdlib.h>

int bench_log_add(struct bench_log *log, const struct bench_entry *entry)
{
    if (log->count == log->room) {
        size_t room = log->room ? 2 * log->room : 4096;
        struct bench_entry *more = realloc(log->entries, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        log->entries = more;
        log->room = room;
    }
    log->entries[log->count++] = *entry;
    return 0;
}

void bench_log_free(struct bench_log *log)
{
    free(log->entries);
    *log = (struct bench_log){0};
}
