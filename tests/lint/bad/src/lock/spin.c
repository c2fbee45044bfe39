/* A sample of what the lints must find; never built. Not a word of volatile, atomic_load( or malloc( in
 * a comment or "a string" counts. */
#include <stdatomic.h>
#include <baton/sim.h>
#include "../bench/histogram.h"
#include "sim/step.h"

static const char *const text = "malloc( volatile // \" time(";
static atomic_int word;
static volatile int flag;

int baton_bad_acquire(struct baton_ep *ep)
{
    while (baton_load(ep, &word) != 0)
        ;
    for (;;) {
        uint64_t v = baton_get64(ep, place);
        if (v == 0)
            break;
    }
    do {
        if (flag)
            usleep(1);
        else
            sched_yield();
    } while (baton_load(ep, &word));
    char *p = malloc(8);
    return rand() + (int)time(NULL) + p[0];
}

int baton_good_acquire(struct baton_ep *ep)
{
    uint64_t seen = 0;
    for (;;) {
        if (baton_load(ep, &word) == 0)
            break;
        baton_relax(ep);
    }
    while (seen != want) {
        want = baton_load(ep, &word);
        seen = baton_rcas64(ep, place, want, 1);
    }
    for (int i = 0; i < 8; i++)
        seen += baton_load(ep, &word);
    while (seen--)
        daytime(seen);
    do
        baton_await(ep, &word, test, NULL);
    while (baton_load(ep, &word));
    return 0;
}
