/* SPDX-License-Identifier: MIT */
/*
 * `baton clean` removes what a killed cluster left and says so, touches nothing of a living one, and
 * knows the difference between "nothing to do" and "may not". `baton info --clusters` shows who is alive
 * before anybody has noticed the death. argv[1] is the command.
 */
#include "fabric/shm.h"

#include "shm_test.h"

static const char *command;
static char output[1 << 20]; /* others' clusters are listed too */

static int run(const char *arguments)
{
    char line[512];
    snprintf(line, sizeof(line), "'%s' %s 2>&1", command, arguments);
    FILE *p = popen(line, "r");
    CHECK(p, "%s", line);
    size_t n = fread(output, 1, sizeof(output) - 1, p);
    output[n] = 0;
    int status = pclose(p);
    CHECK(WIFEXITED(status), "%s: 0x%x", line, status);
    return WEXITSTATUS(status);
}

static int run_clean(const char *name)
{
    char arguments[64];
    snprintf(arguments, sizeof(arguments), "clean %s", name);
    return run(arguments);
}

static void be_node(const char *name, uint64_t *ready)
{
    struct baton_cluster *c;
    baton_gptr at;
    CHECK_RC(test_open(name, 4, -1, 1, &c), 0);
    CHECK_RC(baton_segment_create(baton_cluster_self(c), 1 << 20, BATON_READ, NULL, 0, &at), 0);
    baton_word_faa(ready, 1);
    for (;;)
        pause();
}

static int look(void *arg, const struct baton_shm_cluster *c)
{
    const char *name = arg;
    if (strcmp(c->name, name))
        return 0;
    CHECK(c->known && c->places == 4 && c->alive == 1 && c->dead == 1 && c->members_count == 2,
          "%u places, %u alive, %u dead", c->places, c->alive, c->dead);
    for (unsigned i = 0; i < 2; i++)
        if (c->members[i].state == BATON_NODE_ALIVE)
            CHECK(c->members[i].segments == 2 && c->members[i].bytes == 65536 + (1 << 20), "%u",
                  c->members[i].segments);
    return 4711;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2, "usage: clean_test COMMAND");
    command = argv[1];
    const char *name = test_name("clean");
    char file[160], line[128];
    uint64_t *ready = test_shared(8);
    pid_t a, b;
    if (!(a = test_fork()))
        be_node(name, ready);
    if (!(b = test_fork()))
        be_node(name, ready);
    test_until(ready, 2);
    CHECK(test_files(name, "") == 5, "%u", test_files(name, ""));

    test_kill(a);
    CHECK_RC(baton_shm_clusters(look, (void *)(uintptr_t)name), 4711);
    snprintf(line, sizeof(line), "cluster %s: 4 places, 1 alive, 1 dead", name);
    CHECK(run("info --clusters") == 0 && strstr(output, line), "%s", output);
    CHECK(run_clean(name) == 1 && strstr(output, name) && strstr(output, "alive"), "%s", output);
    CHECK(test_files(name, "ctl") == 1 && test_files(name, "") >= 3, "%u", test_files(name, ""));

    test_kill(b);
    CHECK(run_clean(name) == 0 && strstr(output, name) && strstr(output, "removed"), "%s", output);
    CHECK(!test_files(name, ""), "%u", test_files(name, ""));
    CHECK(run_clean(name) == 1 && strstr(output, "no cluster"), "%s", output);
    CHECK(run_clean("'not a name'") == 2, "%s", output);

    /* Segments alone, as a kill in the middle of a cleaning may leave them; found without being named. */
    snprintf(file, sizeof(file), "/dev/shm/baton.%u.%s.3.1000", (unsigned)geteuid(), name);
    FILE *f = fopen(file, "w");
    CHECK(f && !fclose(f), "%s", file);
    CHECK(run_clean("") == 0 && strstr(output, name), "%s", output);
    CHECK(!test_files(name, ""), "%u", test_files(name, ""));
    return 0;
}
