/* SPDX-License-Identifier: MIT */
/*
 * The merge lock's arithmetic against plain 64-bit arithmetic.
 *
 * 1. extend, turn and slots: every function is compared with the obvious computation, for small widths
 *    exhaustively, for the real ones near every place where a field wraps.
 * 2. The whole decision: a small world with 64-bit dispensers and the packed words is run through random
 *    schedules. Each entry is compared with the times at which the two contenders passed their
 *    doorways. Tickets start just below the wraps; at times millions of services pass at once, while a
 *    thread stands between its look at the other dispenser and its own ticket. The same look without
 *    the clamp is decoded beside it and must be wrong at least once, or these schedules show nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "lock/merge.h"
#include "lock/merge_rule.h"

#define ONE ((uint64_t)1)

static int failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition) && ++failures < 20) {                                                     \
            printf("%d: %s: ", __LINE__, #condition);                                              \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

static const uint64_t presets[] = {0, ONE << 19, ONE << 20, ONE << 27, ONE << 28, ONE << 44};
enum { PRESETS = sizeof(presets) / sizeof(presets[0]) };

/* ---- 1. Single functions */

static uint64_t low_bits(uint64_t value, unsigned bits)
{
    return value & ((ONE << bits) - 1);
}

static void test_extend(void)
{
    for (unsigned bits = 2; bits <= 6; bits++)
        for (uint64_t near = 0; near < 300; near++)
            for (int64_t d = -(1 << (bits - 1)); d < 1 << (bits - 1); d++) {
                uint64_t whole = near + (uint64_t)d;
                CHECK(merge_extend(near, low_bits(whole, bits), bits) == whole,
                      "bits %u near %" PRIu64 " d %" PRId64, bits, near, d);
            }
    static const unsigned widths[] = {MERGE_VALUE_BITS, MERGE_HALF_BITS};
    for (unsigned w = 0; w < 2; w++) {
        const unsigned bits = widths[w];
        const int64_t half = (int64_t)1 << (bits - 1);
        const int64_t middles[] = {-half + 10, 0, half - 11};
        for (unsigned p = 0; p < PRESETS; p++)
            for (int64_t around = -12; around <= 12; around++)
                for (unsigned m = 0; m < 3; m++)
                    for (int64_t d = middles[m] - 10; d <= middles[m] + 10; d++) {
                        uint64_t near = presets[p] + (uint64_t)around;
                        uint64_t whole = near + (uint64_t)d;
                        /* What stands above the field must not matter. */
                        CHECK(merge_extend(near, whole ^ (ONE << 60), bits) == whole,
                              "bits %u near %" PRIx64 " d %" PRId64, bits, near, d);
                    }
    }
}

static void test_turn(void)
{
    for (unsigned p = 0; p < PRESETS; p++)
        for (unsigned q = 0; q < PRESETS; q++)
            for (uint64_t i = 0; i < 8; i++)
                for (uint64_t j = 0; j < 8; j++) {
                    uint64_t l = presets[p] + i - 4, r = presets[q] + j - 4;
                    uint64_t turn = merge_turn(l, r);
                    CHECK(!(turn & 0xff), "turn %" PRIx64, turn);
                    for (uint64_t policy = 0; policy < 256; policy += 51) {
                        uint64_t t = turn | policy;
                        CHECK(merge_turn_local(t, l + 3) == l && merge_turn_local(t, l - 3) == l &&
                                  merge_turn_remote(t, r + 3) == r &&
                                  merge_turn_remote(t, r - 3) == r,
                              "turn %" PRIx64, t);
                        for (int64_t a = -2; a <= 2; a++)
                            for (int64_t b = -2; b <= 2; b++)
                                CHECK(merge_turn_is(t, l + (uint64_t)a, r + (uint64_t)b) ==
                                          (!a && !b),
                                      "turn %" PRIx64, t);
                    }
                }
}

static void test_slots(void)
{
    for (unsigned p = 0; p < PRESETS; p++)
        for (uint64_t i = 0; i < 16; i++) {
            uint64_t ticket = presets[p] + i - 8;
            for (unsigned q = 0; q < PRESETS; q++)
                for (uint64_t j = 0; j < 16; j++) {
                    uint64_t value = presets[q] + j - 8;
                    uint64_t slot = merge_slot(ticket, value);
                    for (int64_t d = -70; d <= 70; d++)
                        CHECK(merge_slot_is(slot, ticket + (uint64_t)d) == !d, "slot %" PRIx64,
                              slot);
                    CHECK(merge_slot_value(slot, value + 5) == value &&
                              merge_slot_value(slot, value - 5) == value,
                          "slot %" PRIx64, slot);
                }
        }
    /* A free lock must not look as if somebody had published. */
    for (uint64_t ticket = 0; ticket < 1000; ticket++)
        CHECK(!merge_slot_is(0, ticket), "ticket %" PRIu64, ticket);
    static const uint64_t counts[] = {1, 2, 3, 8, 64};
    for (unsigned n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
        for (unsigned p = 0; p < PRESETS; p++)
            for (uint64_t i = 0; i < 140; i++) {
                const uint64_t params[BATON_LOCK_PARAMS_MAX] = {counts[n]};
                uint64_t first = presets[p] + i - 70;
                if (presets[p] == 0 && i < 70)
                    continue;
                uint64_t words[512] = {0};
                size_t bytes = baton_lock_merge.line_bytes(params);
                CHECK(bytes % 64 == 0 && bytes <= sizeof(words), "%zu bytes", bytes);
                baton_lock_merge.init(params, words, first);
                CHECK(merge_turn_is(words[1], words[0], words[2]), "first %" PRIx64, first);
                const uint64_t begin = counts[n] > 1 ? 8 : 3;
                /* pre, one behind the other; then post, each with a who behind it. */
                for (uint64_t w = begin; w < begin + 3 * counts[n];
                     w += w < begin + counts[n] ? 1 : 2)
                    for (uint64_t t = first; t < first + 200; t++)
                        CHECK(!merge_slot_is(words[w], t),
                              "slots %" PRIu64 " first %" PRIx64 " ticket +%" PRIu64, counts[n],
                              first, t - first);
            }
}

/*
 * merge_pass over all runs and a few bypasses: it keeps the halves; it never lets more than `bypass` pass
 * before a run is over; it names nobody who has no ticket; a run ends when no remote one waits.
 */
static void test_pass(void)
{
    static const uint64_t limits[] = {1, 2, 64, MERGE_RUN_MOST};
    for (unsigned p = 0; p < PRESETS; p++)
        for (unsigned b = 0; b < sizeof(limits) / sizeof(limits[0]); b++)
            for (uint64_t run = 0; run <= MERGE_RUN_MOST; run++)
                for (uint64_t locals = 0; locals < 3; locals++)
                    for (uint64_t remotes = 0; remotes < 3; remotes++) {
                        const uint64_t l = presets[p] + 5, r = presets[p] + 9;
                        const uint64_t found = merge_turn(l, r) | run << MERGE_RUN_SHIFT;
                        uint64_t turn = merge_pass(found, limits[b], l + locals, r + remotes);
                        uint64_t now = (turn & MERGE_RUN_MASK) >> MERGE_RUN_SHIFT;
                        bool passes = remotes && locals && run < limits[b];
                        CHECK(merge_turn_is(turn, l, r), "turn %" PRIx64, turn);
                        CHECK((turn & MERGE_FLAG) == passes, "turn %" PRIx64, turn);
                        CHECK(now == (!remotes ? 0 : run + passes), "turn %" PRIx64, turn);
                    }
}

/* ---- 2. Decisions */

enum { THREADS = 3, SLOTS_MOST = 8 };
enum stage { IDLE, LOOKED, TICKETED, WAITING, INSIDE };

struct party {
    enum stage stage;
    uint64_t ticket, sight;
    bool published;
    uint64_t began, took, ended; /* local: look, ticket; remote: ticket, look */
    uint64_t turn;               /* remote: as last polled */
};

struct world {
    struct baton_random random;
    uint64_t slots, now, cl, cr, turn, sl, sr; /* sl and sr: what turn means, in 64 bits */
    uint64_t pre[SLOTS_MOST], post[SLOTS_MOST];
    uint64_t plain_pre[SLOTS_MOST]; /* what stood in pre without the clamp */
    struct party local[THREADS], remote[THREADS];
    unsigned inside;
    uint64_t served, token, skipped;
    uint64_t unclamped_wrong;
};

static unsigned pick(struct world *w, unsigned n)
{
    return (unsigned)baton_random_below(&w->random, n);
}

static struct party *holder_of(struct party *side, uint64_t ticket)
{
    for (unsigned i = 0; i < THREADS; i++)
        if (side[i].stage >= TICKETED && side[i].ticket == ticket)
            return &side[i];
    return NULL;
}

/* An entry: alone, by the interval rule, and behind everybody whose doorway ended before it began. */
static void enter(struct world *w, struct party *me, bool local)
{
    CHECK(!w->inside, "two inside at %" PRIx64 " %" PRIx64, w->sl, w->sr);
    CHECK(me->ticket == (local ? w->sl : w->sr), "ticket %" PRIx64, me->ticket);
    const struct party *other = local ? holder_of(w->remote, w->sr) : holder_of(w->local, w->sl);
    if (other) {
        const struct party *l = local ? me : other, *r = local ? other : me;
        bool open = r->stage == TICKETED; /* has not looked yet */
        bool first = l->began < r->took && (open || l->took < r->ended);
        CHECK(first == local, "l %" PRIx64 " r %" PRIx64, w->sl, w->sr);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        const struct party *side[2] = {&w->local[i], &w->remote[i]};
        for (unsigned s = 0; s < 2; s++)
            CHECK(side[s] == me || side[s]->stage != WAITING || side[s]->ended >= me->began,
                  "bypass at %" PRIx64 " %" PRIx64, w->sl, w->sr);
    }
    uint64_t token = w->sl + w->sr + 1;
    CHECK(token > w->token, "token %" PRIx64, token);
    w->token = token;
    me->stage = INSIDE;
    w->inside++;
    w->served++;
}

static void leave(struct world *w, struct party *me, bool local)
{
    w->inside--;
    w->turn = local ? merge_turn(++w->sl, w->sr) : merge_turn(w->sl, ++w->sr);
    me->stage = IDLE;
}

static bool step_local(struct world *w, struct party *me)
{
    uint64_t c;
    switch (me->stage) {
    case IDLE:
        me->sight = w->cr;
        me->began = w->now;
        me->stage = LOOKED;
        return true;
    case LOOKED:
        me->ticket = w->cl++;
        me->took = me->ended = w->now;
        me->published = false;
        me->stage = WAITING;
        return true;
    case WAITING:
        c = w->cr;
        if (!me->published) {
            uint64_t served = merge_turn_remote(w->turn, c);
            CHECK(served == w->sr, "sr %" PRIx64, served);
            if (me->ticket - merge_turn_local(w->turn, me->ticket) >= w->slots)
                return false;
            w->pre[me->ticket % w->slots] = merge_slot(me->ticket, merge_clamp(me->sight, served));
            w->plain_pre[me->ticket % w->slots] = merge_slot(me->ticket, me->sight);
            me->published = true;
            return true;
        }
        if (merge_turn_local(w->turn, me->ticket) != me->ticket)
            return false;
        if (merge_turn_is(w->turn, me->ticket, c)) {
            enter(w, me, true);
            return true;
        }
        uint64_t served = merge_turn_remote(w->turn, c);
        uint64_t slot = w->post[served % w->slots];
        if (me->sight > served || !merge_slot_is(slot, served) ||
            !merge_local_first(me->ticket, me->sight, served, merge_slot_value(slot, me->ticket)))
            return false;
        enter(w, me, true);
        return true;
    default:
        leave(w, me, true);
        return true;
    }
}

static bool step_remote(struct world *w, struct party *me)
{
    switch (me->stage) {
    case IDLE:
        me->ticket = w->cr++;
        me->began = me->took = w->now;
        me->published = false;
        me->stage = TICKETED;
        return true;
    case TICKETED:
        me->sight = w->cl;
        me->turn = w->turn;
        me->ended = w->now;
        me->stage = WAITING;
        return true;
    case WAITING: {
        uint64_t l = merge_turn_local(me->turn, me->sight);
        uint64_t served = merge_turn_remote(me->turn, me->ticket);
        if (!me->published && me->ticket - served < w->slots) {
            w->post[me->ticket % w->slots] = merge_slot(me->ticket, me->sight);
            me->published = true;
            return true;
        }
        if (served == me->ticket && l >= me->sight) {
            enter(w, me, false);
            return true;
        }
        bool same = me->turn == w->turn;
        me->turn = w->turn;
        if (!same)
            return true;
        uint64_t at = l % w->slots;
        if (served != me->ticket || !merge_slot_is(w->pre[at], l))
            return false;
        uint64_t pre = merge_slot_value(w->pre[at], me->ticket);
        bool first = merge_local_first(l, pre, me->ticket, me->sight);
        w->unclamped_wrong +=
            first != merge_local_first(l, merge_slot_value(w->plain_pre[at], me->ticket),
                                       me->ticket, me->sight);
        if (!first)
            enter(w, me, false);
        return !first;
    }
    default:
        leave(w, me, false);
        return true;
    }
}

/* Nobody has an unserved ticket: then any number of services may pass before the next step. */
static void jump(struct world *w)
{
    static const uint64_t far[] = {ONE << 18, ONE << 19,       (ONE << 20) - 1, ONE << 20,
                                   ONE << 27, (ONE << 28) - 2, ONE << 28,       ONE << 40};
    uint64_t by = far[pick(w, sizeof(far) / sizeof(far[0]))] + pick(w, 5);
    if (w->sl != w->cl || w->sr != w->cr || w->skipped + by >= ONE << 43)
        return;
    w->skipped += by;
    if (pick(w, 2))
        w->cr = w->sr += by;
    else
        w->cl = w->sl += by;
    w->turn = merge_turn(w->sl, w->sr);
}

static uint64_t run(uint64_t seed, uint64_t slots, uint64_t first)
{
    struct world w = {.slots = slots, .cl = first, .cr = first, .sl = first, .sr = first};
    unsigned stuck = 0, locals, remotes;
    baton_random_init(&w.random, seed);
    locals = pick(&w, THREADS + 1);
    remotes = locals ? pick(&w, THREADS + 1) : 1 + pick(&w, THREADS);
    w.turn = merge_turn(first, first);
    for (uint64_t i = 0; i < slots; i++)
        w.pre[(first + i) % slots] = w.post[(first + i) % slots] = merge_slot(first + i - slots, 0);
    for (unsigned i = 0; i < 600 && stuck < 2000;) {
        w.now++;
        if (!pick(&w, 20))
            jump(&w);
        unsigned who = pick(&w, locals + remotes);
        bool moved =
            who < locals ? step_local(&w, &w.local[who]) : step_remote(&w, &w.remote[who - locals]);
        stuck = moved ? 0 : stuck + 1;
        i += moved;
    }
    CHECK(stuck < 2000, "stuck: seed %" PRIu64 " slots %" PRIu64 " first %" PRIx64, seed, slots,
          first);
    return w.unclamped_wrong;
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint64_t slots[] = {1, 2, 8};
    uint64_t wrong = 0, runs = 0;

    test_extend();
    test_turn();
    test_pass();
    test_slots();
    for (unsigned s = 0; s < 3; s++)
        for (unsigned p = 0; p < PRESETS; p++)
            for (uint64_t i = 0; i < 1000; i++, runs++)
                wrong += run(seed + runs, slots[s], presets[p] + (presets[p] ? i % 16 - 12 : i));
    printf("seed %" PRIu64 ", %" PRIu64 " schedules, %" PRIu64
           " decisions would be wrong without the clamp\n",
           seed, runs, wrong);
    CHECK(wrong > 0, "the schedules never needed the clamp");
    printf("%d failures\n", failures);
    return failures != 0;
}
