/* SPDX-License-Identifier: MIT */
/*
 * The registry of lock kinds and their parameters: what is refused is refused with words that say what
 * is possible, and what is accepted can be found again.
 */
#include "check.h"

static int nothing(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait)
{
    return 0;
}

static int nothing_released(const struct baton_lock *lock, struct baton_ep *ep,
                            struct baton_waiter *waiter)
{
    return 0;
}

static struct baton_lock_ops good(const char *name)
{
    return (struct baton_lock_ops){.size = sizeof(struct baton_lock_ops),
                                   .name = name,
                                   .summary = "a kind of a test",
                                   .acquire = nothing,
                                   .release = nothing_released};
}

static void says(const char *words)
{
    if (!strstr(baton_error_detail(), words)) {
        printf("\"%s\" does not say \"%s\"\n", baton_error_detail(), words);
        exit(1);
    }
}

static void registering(void)
{
    static struct baton_lock_ops own, other, more[64];
    static const struct baton_lock_param bad[] = {{"a", 5, 0, 4, false}, {0}};
    static const struct baton_lock_param many[] = {{"a", 0, 0, 1, false}, {"b", 0, 0, 1, false},
                                                   {"c", 0, 0, 1, false}, {"d", 0, 0, 1, false},
                                                   {"e", 0, 0, 1, false}, {0}};

    CHECK_RC(baton_lock_register(NULL), -EINVAL);
    other = good("other");
    other.size--;
    CHECK_RC(baton_lock_register(&other), -EINVAL);
    const char *names[] = {NULL, "", "Big", "a b", "a.b", "a23456789012345678901234567890123"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        other = good(names[i]);
        CHECK_RC(baton_lock_register(&other), -EINVAL);
    }
    other = good("other");
    other.release = NULL;
    CHECK_RC(baton_lock_register(&other), -EINVAL);
    says("acquire and release");
    other = good("other");
    other.caps = BATON_LOCK_TRY;
    CHECK_RC(baton_lock_register(&other), -EINVAL);
    other = good("other");
    other.params = bad;
    CHECK_RC(baton_lock_register(&other), -EINVAL);
    other.params = many;
    CHECK_RC(baton_lock_register(&other), -EINVAL);
    CHECK(!baton_lock_kind("other"));

    own = good("own");
    CHECK_RC(baton_lock_register(&own), 0);
    CHECK(baton_lock_kind("own") == &own);
    CHECK_RC(baton_lock_register(&own), -EEXIST);
    other = good("ts");
    CHECK_RC(baton_lock_register(&other), -EEXIST);

    int rc = 0;
    char text[64][16];
    for (unsigned i = 0; i < 64 && !rc; i++) {
        snprintf(text[i], sizeof text[i], "kind-%u", i);
        more[i] = good(text[i]);
        rc = baton_lock_register(&more[i]);
        CHECK(rc == -ENOMEM || baton_lock_kind(text[i]) == &more[i]);
    }
    CHECK(rc == -ENOMEM);
}

static void listing(void)
{
    const char *const wanted[] = {"ts", "ticket", "mcs", "alock"};
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const struct baton_lock_ops *ops = baton_lock_kind(wanted[i]);
        CHECK(ops && !strcmp(ops->name, wanted[i]) && ops->summary[0]);
        bool listed = false;
        for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
            listed = listed || *k == ops;
        CHECK(listed);
    }
    CHECK(!baton_lock_kind("no-such-kind"));
}

static void setting(void)
{
    const struct baton_lock_ops *alock = baton_lock_kind("alock"), *mcs = baton_lock_kind("mcs");
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    baton_lock_param_defaults(alock, params);
    CHECK(params[0] == 20 && params[1] == 5 && params[2] == 0);
    CHECK_RC(baton_lock_param_set(alock, params, "budget_local=7"), 0);
    CHECK(params[0] == 7 && params[1] == 5);

    const char *const wrong[] = {"budget_local",        "budget_local=",
                                 "budget_local=0",      "budget_local=-1",
                                 "budget_local= 3",     "budget_local=3x",
                                 "budget_local=0x10",   "budget_local=99999999999999999999999",
                                 "budget_local=1048577"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_RC(baton_lock_param_set(alock, params, wrong[i]), -EINVAL);
        says("1 to 1048576");
    }
    CHECK_RC(baton_lock_param_set(alock, params, "budget=3"), -EINVAL);
    says("budget_remote");
    CHECK_RC(baton_lock_param_set(alock, params, ""), -EINVAL);
    CHECK_RC(baton_lock_param_set(mcs, params, "slots=3"), -EINVAL);
    says("none");
    CHECK(params[0] == 7 && params[1] == 5);
}

static void on_and_off(void)
{
    static const struct baton_lock_param params[] = {{"chain", 1, 0, 1, true}, {0}};
    static struct baton_lock_ops switched;
    uint64_t values[BATON_LOCK_PARAMS_MAX];
    switched = good("switched");
    switched.params = params;
    baton_lock_param_defaults(&switched, values);
    CHECK(values[0] == 1);
    CHECK_RC(baton_lock_param_set(&switched, values, "chain=off"), 0);
    CHECK(values[0] == 0);
    CHECK_RC(baton_lock_param_set(&switched, values, "chain=on"), 0);
    CHECK(values[0] == 1);
    CHECK_RC(baton_lock_param_set(&switched, values, "chain=1"), -EINVAL);
    says("on or off");
}

int main(void)
{
    listing();
    setting();
    on_and_off();
    registering();
    return 0;
}
