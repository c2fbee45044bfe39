/* SPDX-License-Identifier: MIT */
/*
 * usage: timeline_test FILE RUNS NODES THREADS
 *
 * Whether a timeline of so many runs is JSON of the form that viewers take: every process and thread is
 * named, each thread's acquire, hold and release follow each other without gap or overlap, a doorway lies in its
 * acquire, and no two holds of one run's only lock overlap.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define THREADS_MAX 64
#define HOLDS_MAX 100000

static size_t number;

static int wrong(const char *what)
{
    printf("event %zu: %s\n", number, what);
    return 1;
}

struct thread {
    bool named;
    unsigned phase; /* of the next span: acquire, hold, release */
    long long end, acquire, spans;
};

static struct hold {
    long long run, begin, end;
} holds[HOLDS_MAX];
static size_t holds_n;

static int by_time(const void *a, const void *b)
{
    const struct hold *x = a, *y = b;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int overlaps(void)
{
    qsort(holds, holds_n, sizeof(*holds), by_time);
    for (size_t i = 1; i < holds_n; i++)
        if (holds[i].run == holds[i - 1].run && holds[i].begin < holds[i - 1].end)
            return 1;
    return 0;
}

static const char *const phases[] = {"acquire", "hold", "release"};

static long long ns(const json_t *event, const char *key)
{
    return (long long)(json_real_value(json_object_get(event, key)) * 1000 + 0.5);
}

static int take_span(const json_t *event, struct thread *t, const char *name, long long run)
{
    long long begin = ns(event, "ts"), end = begin + ns(event, "dur");
    const json_t *args = json_object_get(event, "args");
    if (!json_is_integer(json_object_get(args, "lock")) ||
        !json_is_string(json_object_get(args, "class")))
        return wrong("no lock or class");
    if (!strcmp(name, "doorway"))
        return t->phase == 1 && begin == t->acquire && end <= t->end ? 0
                                                                     : wrong("a doorway outside");
    if (strcmp(name, phases[t->phase]))
        return wrong("not the span that is next");
    if (t->phase ? begin != t->end : begin < t->end)
        return wrong("a gap, or an overlap, between the spans of a thread");
    if (t->phase == 1) {
        if (holds_n == HOLDS_MAX)
            return wrong("more than this test can keep");
        holds[holds_n++] = (struct hold){run, begin, end};
    }
    t->acquire = begin;
    t->end = end;
    t->phase = (t->phase + 1) % 3;
    t->spans++;
    return 0;
}

int main(int argc, char **argv)
{
    static struct thread threads[THREADS_MAX];
    json_error_t error;
    if (argc != 5)
        return 2;
    unsigned runs = (unsigned)atoi(argv[2]), nodes = (unsigned)atoi(argv[3]);
    unsigned per_node = (unsigned)atoi(argv[4]), processes = 0;
    json_t *root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error), *event;
    if (!root) {
        printf("%s:%d: %s\n", argv[1], error.line, error.text);
        return 1;
    }
    json_array_foreach(json_object_get(root, "traceEvents"), number, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *kind = json_string_value(json_object_get(event, "ph"));
        long long pid = json_integer_value(json_object_get(event, "pid"));
        long long tid = json_integer_value(json_object_get(event, "tid"));
        if (!name || !kind || pid < 1 || pid > runs * nodes)
            return wrong("no name, kind or process");
        if (!strcmp(name, "process_name")) {
            processes++;
            continue;
        }
        if (tid < 1 || tid > per_node)
            return wrong("no thread");
        struct thread *t = &threads[(pid - 1) * per_node + tid - 1];
        if (!strcmp(name, "thread_name"))
            t->named = true;
        else if (strcmp(kind, "X") || take_span(event, t, name, (pid - 1) / nodes))
            return wrong("the span is not as it should be");
    }
    if (processes != runs * nodes)
        return wrong("processes without a name");
    for (unsigned i = 0; i < runs * nodes * per_node; i++)
        if (!threads[i].named || !threads[i].spans || threads[i].phase)
            return wrong("a thread without a name, or without all its spans");
    if (overlaps())
        return wrong("two hold the lock");
    json_decref(root);
    printf("%zu events\n", number);
    return 0;
}
