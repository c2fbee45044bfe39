/* SPDX-License-Identifier: MIT */
/*
 * Death on shm, for every kind of lock, with real processes: the host, a victim that is killed while
 * it holds the lock, or wants to leave with it and ends, and a third that waits for it. The waiter gets
 * -EOWNERDEAD in bounded time, later calls -ENOTRECOVERABLE, also at the host and for a process that has
 * taken the dead one's number; one reinit makes the table usable for all. Before that a process that has
 * nothing to do with the table is killed, and nobody notices.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../late.h"
#include "check.h"

#define JOIN_NS 60000000000u /* for processes to start */

enum stage { STAGE_START, STAGE_HELD, STAGE_WAITS, STAGE_LEAVES, STAGE_TOLD, STAGE_SUCCESSOR };

static uint64_t *stage;
static char name[48];

/* The watcher promises a second. */
static void in_time(uint64_t begin)
{
    CHECK(late_clock_ns() - begin < 1000000000u + late_ns());
}

static void reach(enum stage s)
{
    baton_word_store(stage, s);
}

static void await_stage(enum stage s)
{
    struct timespec ms = {0, 1000000};
    while (baton_word_load(stage) < s)
        nanosleep(&ms, NULL);
}

struct member {
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_lock lock;
    struct baton_waiter *waiter;
};

static struct member join(int number)
{
    struct member m = {0};
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = "shm";
    opts.name = name;
    opts.nodes = 4;
    opts.first = number;
    CHECK_RC(baton_cluster_open(&opts, &m.cluster), 0);
    CHECK_RC(baton_ep_open(baton_cluster_self(m.cluster), &m.ep), 0);
    CHECK_RC(baton_waiter_open(m.ep, &m.waiter), 0);
    return m;
}

static void open_table(struct member *m)
{
    CHECK_RC(baton_table_open(m->ep, "t", baton_now(m->ep) + JOIN_NS, &m->table), 0);
    CHECK_RC(baton_table_lock(m->table, 0, &m->lock), 0);
}

static void leave(struct member *m)
{
    CHECK_RC(baton_waiter_close(m->ep, m->waiter), 0);
    CHECK_RC(baton_table_close(m->ep, m->table), 0);
    CHECK_RC(baton_ep_close(m->ep), 0);
    CHECK_RC(baton_cluster_close(m->cluster), 0);
}

static void bystander(void)
{
    struct member m = join(3);
    (void)m;
    pause();
}

static struct member hold(void)
{
    struct member m = join(1);
    open_table(&m);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), 0);
    reach(STAGE_HELD);
    return m;
}

static void victim(void)
{
    (void)hold();
    pause();
}

/* It does not get far in an orderly way. */
static void leaver(void)
{
    struct member m = hold();
    await_stage(STAGE_LEAVES);
    CHECK_RC(baton_ep_close(m.ep), 0);
    CHECK_RC(baton_cluster_close(m.cluster), -EBUSY);
}

static void third(void)
{
    struct member m = join(2);
    open_table(&m);
    await_stage(STAGE_HELD);
    reach(STAGE_WAITS);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), -EOWNERDEAD);
    CHECK(strstr(baton_error_detail(), "lock table t: node 1 has died"));
    reach(STAGE_TOLD);
    CHECK_RC(baton_waiter_close(m.ep, m.waiter), 0);
    CHECK_RC(baton_waiter_open(m.ep, &m.waiter), 0);
    int rc;
    while ((rc = baton_lock_acquire(&m.lock, m.ep, m.waiter)) == -ENOTRECOVERABLE)
        baton_delay(m.ep, 1000000);
    CHECK_RC(rc, 0);
    CHECK_RC(baton_lock_release(&m.lock, m.ep, m.waiter), 0);
    leave(&m);
}

static void successor(void)
{
    await_stage(STAGE_SUCCESSOR);
    struct member m = join(1);
    open_table(&m);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), -ENOTRECOVERABLE);
    CHECK_RC(baton_table_reinit(m.ep, m.table), 0);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), 0);
    CHECK_RC(baton_lock_release(&m.lock, m.ep, m.waiter), 0);
    leave(&m);
}

static pid_t start(void (*body)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid)
        return pid;
    body();
    exit(0);
}

static void kill_now(pid_t pid)
{
    CHECK(kill(pid, SIGKILL) == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void finish(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In a process of its own: it founds the cluster and hosts the table. */
static const char *host_kind;
static bool leaves;

static void host(void)
{
    pid_t other = start(bystander), dying = start(leaves ? leaver : victim), waiting = start(third),
          next = start(successor);
    struct member m = join(0);
    struct baton_table_opts opts = check_table(host_kind, 3);
    CHECK_RC(baton_table_create(m.ep, "t", &opts, &m.table), 0);
    CHECK_RC(baton_table_lock(m.table, 0, &m.lock), 0);

    await_stage(STAGE_WAITS);
    uint64_t begin = late_clock_ns();
    while (baton_node_state(m.cluster, 3) != BATON_NODE_ALIVE)
        CHECK(late_clock_ns() - begin < JOIN_NS);
    kill_now(other);
    begin = late_clock_ns();
    while (baton_node_state(m.cluster, 3) != BATON_NODE_DEAD)
        in_time(begin);
    late_rest_ns(300000000); /* long enough for the waiter to have looked */
    CHECK(baton_word_load(stage) == STAGE_WAITS);

    reach(STAGE_LEAVES);
    if (leaves)
        finish(dying);
    else
        kill_now(dying);
    begin = late_clock_ns();
    await_stage(STAGE_TOLD);
    in_time(begin);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), -ENOTRECOVERABLE);
    reach(STAGE_SUCCESSOR);
    finish(next);
    finish(waiting);
    CHECK_RC(baton_lock_acquire(&m.lock, m.ep, m.waiter), 0);
    CHECK_RC(baton_lock_release(&m.lock, m.ep, m.waiter), 0);
    leave(&m);
}

int main(void)
{
    const char *why = baton_fabric_unavailable("shm");
    if (why) {
        printf("skipped: shm: %s\n", why);
        return 77;
    }
    stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(stage != MAP_FAILED);
    late_watch();
    for (const struct baton_lock_ops *const *kind = baton_lock_kinds(); *kind; kind++)
        for (int i = 0; i < 2; i++) {
            leaves = i == 1;
            snprintf(name, sizeof name, "test-lock-%d-%s", (int)getpid(), (*kind)->name);
            host_kind = (*kind)->name;
            reach(STAGE_START);
            finish(start(host));
            printf("%s: the waiter was told, the table was repaired\n", host_kind);
        }
    return 0;
}
