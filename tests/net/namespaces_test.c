/* SPDX-License-Identifier: MIT */
/*
 * Shows that two machines meet, here two network namespaces with a cable (veth) between them: the one
 * that joins listens where node 0 reaches it, not on loopback; and that each knows that the other is
 * gone when the cable is cut, while both processes live. That takes four seconds, also when something is
 * sent after three, from which the kernel counts anew. Six are too many; but a machine that is late in
 * its own short sleeps is only told what was measured. Needs root and ip(8).
 */
#include "net_test.h"

static struct baton_net_place place;
static struct child a, b;

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
    char command[300];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command)) {
        printf("skipped: \"%s\" fails here\n", command);
        baton_net_place_remove(&place);
        exit(77);
    }
}

/* How late a sleep has been at most. */
static uint64_t late;

static void sleep_ms(unsigned ms)
{
    uint64_t due = test_now() + ms * UINT64_C(1000000);
    test_sleep_ms(ms);
    uint64_t now = test_now();
    if (now > due && now - due > late)
        late = now - due;
}

static double since(uint64_t begin)
{
    return (double)(test_now() - begin) * 1e-9;
}

static double dies_after(struct child *c, unsigned node, uint64_t begin)
{
    while (child_ask(c, "state %u", node) != BATON_NODE_DEAD) {
        CHECK(since(begin) < 40);
        sleep_ms(20);
    }
    return since(begin);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    CHECK(!baton_net_place_make(&place));
    a = child_start();
    b = child_start();
    if (child_ask(&a, "netns") || child_ask(&b, "netns")) {
        printf("skipped: no network namespace may be made here\n");
        baton_net_place_remove(&place);
        return 77;
    }
    run("ip link add wire netns %d type veth peer name wire netns %d", (int)a.pid, (int)b.pid);
    for (int i = 0; i < 2; i++) {
        int pid = (int)(i ? b.pid : a.pid);
        run("nsenter -t %d -n ip addr add 10.77.0.%d/24 dev wire", pid, i + 1);
        run("nsenter -t %d -n ip link set wire up", pid);
    }
    CHECK_IS(child_ask(&a, "open rendezvous=10.77.0.1:7000,secret=%s/secret|0|4|0", place.folder),
             0);
    CHECK_IS(child_ask(&b, "open rendezvous=10.77.0.1:7000,secret=%s/secret|-1|0|0", place.folder),
             0);
    CHECK_IS(child_ask(&b, "blob 1 0 far"), 0);
    CHECK_IS(child_ask(&a, "get 1 0 30000"), 0);
    CHECK_IS(child_ask(&a, "publish 0 here 9"), 0);
    CHECK_IS(child_ask(&b, "find here"), 0);

    run("nsenter -t %d -n ip link set wire down", (int)a.pid);
    uint64_t cut = test_now();
    sleep_ms(3000);
    child_tell(&a, "publish 0 alone 9"); /* is over when a knows that b is gone */
    double b_knew = dies_after(&b, 0, cut);
    CHECK_IS(child_hear(&a), 0);
    double a_knew = dies_after(&a, 1, cut);
    printf("a cut cable was noticed after %.1f and %.1f s; sleeps were up to %.0f ms late\n",
           a_knew, b_knew, (double)late * 1e-6);
    if (late < UINT64_C(100000000))
        CHECK(a_knew < 6 && b_knew < 6);
    child_end(&b);
    child_end(&a);
    baton_net_place_remove(&place);
    return 0;
}
