/* SPDX-License-Identifier: MIT */
/*
 * Writes timelines, event by event: a run has too many acquisitions to keep them as a tree of JSON. All names
 * in it are made of letters that JSON takes as they are.
 */
#include "bench/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"

int bench_timeline_open(struct bench_timeline *t, const char *path)
{
    *t = (struct bench_timeline){.file = fopen(path, "w"), .path = path};
    if (!t->file)
        return baton_fail(-errno, "%s: %s", path, strerror(errno));
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":\"simulated\"},\"traceEvents\":[",
          t->file);
    return 0;
}

static void next_event(struct bench_timeline *t)
{
    fputs(t->comma ? ",\n" : "\n", t->file);
    t->comma = true;
}

/* Viewers want numbers of processes that are not 0, and those of several runs must differ. */
static unsigned process_of(const struct bench_timeline *t, const struct bench_config *c,
                           unsigned node)
{
    return 1 + t->runs * c->nodes + node;
}

static void name_process(struct bench_timeline *t, const struct bench_config *c,
                         const struct baton_lock_ops *kind, unsigned node)
{
    next_event(t);
    fprintf(
        t->file,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":\"%s: node %u%s\"}}",
        process_of(t, c, node), kind->name, node, (int)node == c->host ? " (host)" : "");
}

static void name_thread(struct bench_timeline *t, const struct bench_config *c, unsigned thread)
{
    unsigned index, node = bench_thread_node(c, thread, &index);
    next_event(t);
    fprintf(t->file,
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
            "\"args\":{\"name\":\"thread %u\"}}",
            process_of(t, c, node), index + 1, index);
}

/* The format counts in microseconds, with a fraction. */
static void span(struct bench_timeline *t, const struct bench_config *c, const char *name,
                 uint64_t begin, uint64_t end, const struct bench_entry *e)
{
    unsigned index, node = bench_thread_node(c, e->thread, &index);
    uint64_t ns = end - begin;
    next_event(t);
    fprintf(t->file,
            "{\"ph\":\"X\",\"cat\":\"lock\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
            "\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64 ".%03u,"
            "\"args\":{\"lock\":%u,\"class\":\"%s\",\"measured\":%s}}",
            name, process_of(t, c, node), index + 1, begin / 1000, (unsigned)(begin % 1000),
            ns / 1000, (unsigned)(ns % 1000), e->lock, e->local ? "local" : "remote",
            e->measured ? "true" : "false");
}

void bench_timeline_add(struct bench_timeline *t, const struct bench_config *c,
                        const struct baton_lock_ops *kind, const struct bench_log *log)
{
    unsigned threads = bench_threads(c);
    for (unsigned n = 0; n < c->nodes; n++)
        name_process(t, c, kind, n);
    for (unsigned i = 0; i < threads; i++)
        name_thread(t, c, i);
    for (size_t i = 0; i < log->count; i++) {
        const struct bench_entry *e = &log->entries[i];
        span(t, c, "acquire", e->begin, e->entered, e);
        if (e->doorway >= e->begin && e->doorway <= e->entered)
            span(t, c, "doorway", e->begin, e->doorway, e); /* viewers draw it inside of acquire */
        span(t, c, "hold", e->entered, e->leaving, e);
        span(t, c, "release", e->leaving, e->left, e);
    }
    t->runs++;
}

int bench_timeline_close(struct bench_timeline *t)
{
    fputs("\n]}\n", t->file);
    int failed = ferror(t->file);
    if (fclose(t->file) || failed)
        return baton_fail(-EIO, "%s could not be written whole", t->path);
    return 0;
}
