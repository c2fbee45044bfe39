/* SPDX-License-Identifier: MIT */
/*
 * usage: conformance --list
 *        conformance --world WORLD [--group GROUP] [--case NAME[,NAME]] [--lock KIND|all] [--seed S]
 *                    [--options FABRIC-OPTIONS] [--slower N]
 *                    [--namespaces PREFIX --meet SETTINGS]
 *
 * Runs every case of the group (all groups when there is none) that makes sense in that world, each in a
 * process of its own under a watchdog. The cases about locks run for each kind that --lock names. S may be
 * "clock". Exit status: 0 all hold, 1 one does not, 2 wrong use, 77 a case could not run here (and none failed).
 */
#include "suite.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/net_place.h"

#define CASE_SECONDS 300

static const struct conf_world worlds[] = {
    {"step", "step", CONF_STEP, 0, NULL},
    {"step-swap", "step", CONF_SWAP, BATON_CLUSTER_SWAP, NULL},
    {"sim", "sim", CONF_STEP, 0, "driver=random"},
    {"sim-swap", "sim", CONF_SWAP, BATON_CLUSTER_SWAP, "driver=random"},
    {"timed", "sim", CONF_TIMED, 0, "driver=timed"},
    {"shm", "shm", CONF_SHM, 0, NULL},
    {"shm-processes", "shm", CONF_PROCS, 0, NULL},
    {"verbs", "verbs", CONF_VERBS, 0, NULL},
    {"ucx-am", "ucx", CONF_UCX, 0, "mode=am,tls=tcp"},
    {"ucx-rma", "ucx", CONF_UCX_RMA, 0, "mode=rma,tls=tcp,allow_torn=1"},
    {"ucx-am-processes", "ucx", CONF_PROCS, 0, "mode=am,tls=tcp"},
    {"ucx-rma-processes", "ucx", CONF_PROCS, 0, "mode=rma,tls=tcp,allow_torn=1"},
};
#define WORLDS (sizeof(worlds) / sizeof(worlds[0]))

struct group {
    const char *name;
    const struct conf_case *cases;
    bool locks;
};

static const struct group groups[] = {
    {"calls", conf_calls_cases, false},
    {"memory", conf_memory_cases, false},
    {"count", conf_count_cases, false},
    {"order", conf_order_cases, false},
    {"faults", conf_faults_cases, false},
    {"wait", conf_wait_cases, false},
    {"lock", conf_lock_cases, true},
    {"lock-contract", conf_lock_contract_cases, true},
    {"lock-faults", conf_lock_fault_cases, true},
    {"lock-death", conf_lock_death_cases, true},
};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* ---- What cases call */

int conf_fail(const char *file, int line, const char *format, ...)
{
    static uint64_t said;
    if (baton_word_faa(&said, 1) < 20) {
        char text[512];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        const char *base = strrchr(file, '/');
        printf("  %s:%d: %s\n", base ? base + 1 : file, line, text);
        fflush(stdout);
    }
    return -EPROTO;
}

int conf_skip(const char *why)
{
    printf("  skipped: %s\n", why);
    return CONF_SKIP;
}

/* Files of a shared-memory cluster; `remove` when a case has failed in the middle. */
static size_t leftovers(const struct conf *c, bool remove)
{
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "/dev/shm/baton.%u.%s*", (unsigned)getuid(),
             c->cluster_name);
    size_t n = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    for (size_t i = 0; i < n && remove; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
    return n;
}

int conf_leftovers(const struct conf *c)
{
    size_t n = leftovers(c, false);
    return n ? conf_fail(__FILE__, __LINE__, "%zu files of the cluster %s are left", n,
                         c->cluster_name)
             : 0;
}

/* As ip netns exec does it: what /sys tells of interfaces is of the namespace that it was mounted in. */
static int go_to_namespace(const char *prefix, int node)
{
    char path[128];
    snprintf(path, sizeof(path), "/run/netns/%s%d", prefix, node);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
             mount("", "/", "none", MS_SLAVE | MS_REC, NULL) || umount2("/sys", MNT_DETACH) ||
             mount("sysfs", "/sys", "sysfs", 0, NULL);
    close(fd);
    return rc;
}

int conf_open_opts(const struct conf *c, struct baton_cluster_opts *opts,
                   struct baton_cluster **out)
{
    opts->fabric = c->world->fabric;
    opts->name = c->cluster_name;
    opts->flags |= c->world->flags;
    opts->options = c->options ? c->options : c->world->options;
    if (!c->meet)
        return baton_cluster_open(opts, out);
    if (c->namespaces && go_to_namespace(c->namespaces, opts->first))
        return conf_fail(__FILE__, __LINE__, "no namespace %s%d", c->namespaces, opts->first);
    char all[512];
    snprintf(all, sizeof(all), "%s,%s", c->meet, opts->options);
    opts->options = all;
    return baton_cluster_open(opts, out);
}

int conf_open(const struct conf *c, unsigned nodes, uint64_t seed, struct baton_cluster **out)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.nodes = opts.local = nodes;
    opts.arena_bytes = 64 << 10; /* small: a case may open thousands of clusters */
    opts.seed = seed;
    return conf_open_opts(c, &opts, out);
}

uint64_t conf_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t conf_soak_ns(const struct conf *c)
{
    const char *seconds = getenv("BATON_SOAK_SECONDS");
    return (seconds ? strtoull(seconds, NULL, 10) : 60) * 1000000000u / (c->kinds ? c->kinds : 1);
}

/* Shared with the process of the case, which may not live to tell. */
static uint64_t *at_seed;

void conf_at_seed(uint64_t seed)
{
    *at_seed = seed;
}

/* ---- Running */

struct tally {
    unsigned passed, failed, skipped;
};

static void run_case(const struct group *g, const struct conf_case *t, struct conf *c,
                     struct tally *tally)
{
    static unsigned serial;
    struct baton_net_place place;
    bool meets = conf_is(c, CONF_PROCS) && baton_net_meets(c->world->fabric) && !c->namespaces;
    if (meets && baton_net_place_make(&place)) {
        fprintf(stderr, "conformance: %s\n", baton_error_detail());
        exit(1);
    }
    if (!c->namespaces)
        c->meet = meets ? place.options : NULL;
    uint64_t begin = conf_clock_ns();
    snprintf(c->cluster_name, sizeof(c->cluster_name), "conformance-%d-%u", (int)getpid(),
             serial++);
    printf("%s %s/%s%s%s seed %" PRIu64 "\n", c->world->name, g->name, t->name, c->kind ? " " : "",
           c->kind ? c->kind->name : "", c->seed);
    fflush(stdout);
    conf_at_seed(c->seed);
    int status = 0;
    pid_t child = fork();
    if (!child) {
        alarm((unsigned)(t->label ? CASE_SECONDS + conf_soak_ns(c) / 1000000000u : CASE_SECONDS));
        int rc = t->run(c);
        fflush(stdout);
        exit(rc == CONF_SKIP ? CONF_SKIP : rc ? 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("conformance");
        exit(1);
    }
    if (meets)
        baton_net_place_remove(&place);
    double ms = (double)(conf_clock_ns() - begin) / 1e6;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) {
        tally->passed++;
        printf("  holds, %.0f ms\n", ms);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == CONF_SKIP) {
        tally->skipped++;
    } else {
        tally->failed++;
        leftovers(c, true);
        if (WIFSIGNALED(status))
            printf("  %s\n", WTERMSIG(status) == SIGALRM ? "still running: stopped by the watchdog"
                                                         : strsignal(WTERMSIG(status)));
        printf("  FAILED, %.0f ms; again with: --world %s --group %s --case %s%s%s --seed %" PRIu64
               "\n",
               ms, c->world->name, g->name, t->name, c->kind ? " --lock " : "",
               c->kind ? c->kind->name : "", *at_seed);
    }
    fflush(stdout);
}

static bool named(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ',') && (!p[n] || p[n] == ','))
            return true;
    return false;
}

static void list_all(void)
{
    for (size_t g = 0; g < GROUPS; g++)
        for (const struct conf_case *t = groups[g].cases; t->name; t++) {
            printf("%s/%s: %s\n    in", groups[g].name, t->name, t->shows);
            for (size_t w = 0; w < WORLDS; w++)
                if (t->worlds & worlds[w].bit)
                    printf(" %s", worlds[w].name);
            printf("%s\n", groups[g].locks ? "; for each kind of lock" : "");
        }
    printf("kinds of lock:");
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
        printf(" %s", (*k)->name);
    printf("\n");
}

static int usage(const char *what)
{
    fprintf(stderr, "conformance: %s; see --list\n", what);
    return 2;
}

/* "clock": another one at every time. */
static uint64_t seed_of(const char *text)
{
    return strcmp(text, "clock") ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 100000;
}

int main(int argc, char **argv)
{
    const char *group = NULL, *cases = NULL, *lock = "all", *world = NULL;
    struct conf c = {.seed = 1, .slower = 1};
#if defined(__SANITIZE_ADDRESS__) || defined(BATON_TSAN)
    c.slower = 10;
#endif
    at_seed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at_seed == MAP_FAILED)
        return usage("no memory");
    for (const struct baton_lock_ops *const *k = conf_own_kinds; *k; k++)
        if (baton_lock_register(*k))
            return usage(baton_error_detail());
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) {
            list_all();
            return 0;
        }
        if (i + 1 == argc)
            return usage("an option without its value");
        if (!strcmp(argv[i], "--world"))
            world = argv[++i];
        else if (!strcmp(argv[i], "--group"))
            group = argv[++i];
        else if (!strcmp(argv[i], "--case"))
            cases = argv[++i];
        else if (!strcmp(argv[i], "--lock"))
            lock = argv[++i];
        else if (!strcmp(argv[i], "--seed"))
            c.seed = seed_of(argv[++i]);
        else if (!strcmp(argv[i], "--options"))
            c.options = argv[++i];
        else if (!strcmp(argv[i], "--namespaces"))
            c.namespaces = argv[++i];
        else if (!strcmp(argv[i], "--meet"))
            c.meet = argv[++i];
        else if (!strcmp(argv[i], "--slower"))
            c.slower = (unsigned)strtoul(argv[++i], NULL, 0);
        else
            return usage("an option that does not exist");
    }
    for (size_t w = 0; w < WORLDS; w++)
        if (world && !strcmp(worlds[w].name, world))
            c.world = &worlds[w];
    if (!c.world)
        return usage("no such world");

    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
        c.kinds += !strcmp(lock, "all") || named(lock, (*k)->name);

    struct tally tally = {0};
    bool any = false;
    for (size_t g = 0; g < GROUPS; g++) {
        if (group && strcmp(group, groups[g].name))
            continue;
        for (const struct conf_case *t = groups[g].cases; t->name; t++) {
            if (cases ? !named(cases, t->name) : t->label != NULL)
                continue;
            if (!(t->worlds & c.world->bit)) {
                if (cases) {
                    printf("%s/%s does not run in world %s\n", groups[g].name, t->name,
                           c.world->name);
                    tally.skipped++;
                    any = true;
                }
                continue;
            }
            if (!groups[g].locks) {
                c.kind = NULL;
                any = true;
                run_case(&groups[g], t, &c, &tally);
                continue;
            }
            for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
                if (!strcmp(lock, "all") || named(lock, (*k)->name)) {
                    c.kind = *k;
                    any = true;
                    run_case(&groups[g], t, &c, &tally);
                }
        }
    }
    if (!any)
        return usage("no such group, case or kind of lock");
    printf("%u hold, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
    return tally.failed ? 1 : tally.skipped ? CONF_SKIP : 0;
}
