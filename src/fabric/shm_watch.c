/* SPDX-License-Identifier: MIT */
/*
 * The watcher: one thread per process that looks ten times a second which nodes' locks the kernel has
 * given back, and tells the local nodes, whose waits end then. It waits for no other process. It blocks all
 * signals: they are the program's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fabric/shm_world.h"

#define LOOK_NS 100000000

/* Also of deaths that another process has marked, or of a number that has found a new owner since. */
static void tell(struct shm_world *w)
{
    unsigned used = (unsigned)baton_word_load(&w->control.header->used);
    for (unsigned i = 0; i < used; i++) {
        uint64_t deaths = shm_deaths_of(baton_word_load(&w->control.nodes[i].state));
        if (deaths == w->deaths[i])
            continue;
        w->deaths[i] = deaths;
        for (unsigned n = 0; n < w->cluster->nodes; n++)
            if (w->cluster->local[n])
                baton_node_note_death(w->cluster->local[n], i);
    }
}

static void *watch(void *arg)
{
    struct shm_world *w = arg;
    bool unclean = false;
    pthread_mutex_lock(&w->watch_lock);
    while (!w->watch_stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&w->watch_end, &w->watch_lock, &until);
        if (w->watch_stop)
            break;
        pthread_mutex_unlock(&w->watch_lock);
        unclean |= baton_shm_mark_deaths(&w->control);
        tell(w);
        if (unclean)
            unclean = !baton_shm_clean_dead(&w->control);
        pthread_mutex_lock(&w->watch_lock);
    }
    pthread_mutex_unlock(&w->watch_lock);
    return NULL;
}

int baton_shm_watch_begin(struct shm_world *w)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    w->deaths = calloc(w->cluster->nodes, sizeof(*w->deaths));
    if (!w->deaths)
        return -ENOMEM;
    /* What died before this process came is nothing that its waits could depend on. */
    for (unsigned i = 0; i < w->cluster->nodes; i++)
        w->deaths[i] = shm_deaths_of(baton_word_load(&w->control.nodes[i].state));
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->watch_lock, NULL);
    pthread_cond_init(&w->watch_end, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&w->watcher, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc) {
        pthread_cond_destroy(&w->watch_end);
        pthread_mutex_destroy(&w->watch_lock);
        free(w->deaths);
        return baton_fail(rc, "the thread that watches for deaths can not be made");
    }
    return 0;
}

void baton_shm_watch_end(struct shm_world *w)
{
    pthread_mutex_lock(&w->watch_lock);
    w->watch_stop = true;
    pthread_cond_signal(&w->watch_end);
    pthread_mutex_unlock(&w->watch_lock);
    pthread_join(w->watcher, NULL);
    pthread_cond_destroy(&w->watch_end);
    pthread_mutex_destroy(&w->watch_lock);
    free(w->deaths);
}
