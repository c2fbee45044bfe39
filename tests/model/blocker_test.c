/* SPDX-License-Identifier: MIT */
/*
 * Shows that the reasons which the machine gives for a step that is not ready are true: the
 * reduction and the story of --explain both build on them. Random programs are run at random, step
 * by step, and in every state
 *   - a step that was blocked by another step stays blocked as long as that one is not done,
 *   - no step is ready while one that it must have (reduce.h) is not done,
 *   - a step that was ready is still ready, or done, after any step that it is not dependent on.
 *
 * Arguments: how many programs, and the seed. The seed is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/generate.h"
#include "model/parse.h"
#include "model/reduce.h"

enum { VARIANTS = 8, STATE_MAX = 2048, STEPS = 256 };

static uint64_t looked_at;

static bool in(const uint64_t *set, unsigned step)
{
    return set[step / 64] >> step % 64 & 1;
}

/* What was known of each step in the state before the last step. */
struct memory {
    bool ready[STEPS];
    int blocker[STEPS]; /* step, or -1 */
};

static const char *check_state(const struct baton_reduction *r, int64_t *state, unsigned taken,
                               struct memory *before, unsigned *at)
{
    const struct baton_machine *m = r->m;
    for (unsigned i = 0; i < m->n_steps; i++) {
        const uint64_t *must = r->must + (size_t)i * m->n_set_words;
        const uint64_t *dep = r->dep + (size_t)taken * m->n_set_words;
        const uint64_t *dep_i = r->dep + (size_t)i * m->n_set_words;
        *at = i;
        if (baton_machine_is_done(m, state, i)) {
            before->ready[i] = false;
            before->blocker[i] = -1;
            continue;
        }
        struct baton_machine_blocker why;
        bool ready = baton_machine_ready(m, state, i, &why);
        looked_at++;
        if (ready && before->blocker[i] >= 0 &&
            !baton_machine_is_done(m, state, (unsigned)before->blocker[i]))
            return "is ready though what blocked it is not done";
        bool complete = true;
        for (unsigned k = 0; k < m->n_steps; k++)
            complete = complete && (!in(must, k) || baton_machine_is_done(m, state, k));
        if (ready && !complete && !r->fused[i])
            return "is ready without a step that it must have";
        /* A fused step waits for what its second half must have. */
        if (ready && !complete) {
            ready = false;
            why.by = BATON_BLOCKED_FOR_EVER;
        }
        if (!ready && before->ready[i] && !in(dep, i) && !in(dep_i, taken))
            return "was disabled by a step that it is not dependent on";
        before->ready[i] = ready;
        before->blocker[i] = !ready && why.by == BATON_BLOCKED_BY_STEP ? (int)why.step : -1;
    }
    return NULL;
}

static const char *run(const struct baton_reduction *r, struct baton_random *random, unsigned *at)
{
    const struct baton_machine *m = r->m;
    int64_t state[STATE_MAX];
    struct memory memory;
    memset(&memory, 0, sizeof(memory));
    memset(memory.blocker, 0xff, sizeof(memory.blocker));
    baton_machine_start(m, state);
    const char *wrong = check_state(r, state, 0, &memory, at);
    while (!wrong) {
        unsigned ready[STEPS], n = 0;
        for (unsigned i = 0; i < m->n_steps; i++)
            if (memory.ready[i])
                ready[n++] = i;
        if (!n)
            break;
        unsigned step = ready[baton_random_below(random, n)];
        baton_reduction_apply(r, state, step);
        wrong = check_state(r, state, step, &memory, at);
    }
    return wrong;
}

static int check(const char *text, enum baton_model model, unsigned variants,
                 struct baton_random *random)
{
    struct baton_program program, lowered;
    struct baton_parse_error error;
    struct baton_machine m;
    struct baton_reduction r;
    if (baton_program_parse(text, strlen(text), &program, &error) ||
        baton_program_lower(&program, model, &lowered) ||
        baton_machine_init(&m, &lowered, variants) || baton_reduction_init(&r, &m, false)) {
        fprintf(stderr, "this cannot be run:\n%s", text);
        return 1;
    }
    const char *wrong = NULL;
    unsigned at = 0;
    if (m.n_steps > STEPS || m.n_words > STATE_MAX)
        wrong = "(too large for this test)";
    for (int i = 0; i < 20 && !wrong; i++)
        wrong = run(&r, random, &at);
    if (wrong) {
        const struct baton_step *s = &m.step[at];
        fprintf(stderr, "step %u (P%u, operation %u, kind %d, nic %d) %s; %s, variants %u:\n%s", at,
                s->thread, s->op, s->kind, s->nic, wrong, baton_model_name(model), variants, text);
    }
    baton_reduction_fini(&r);
    baton_machine_fini(&m);
    baton_program_fini(&lowered);
    baton_program_fini(&program);
    return wrong != NULL;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    static char text[BATON_GEN_TEXT_MAX];
    struct baton_gen_size size = {.nodes = 3,
                                  .threads = 3,
                                  .ops = 6,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    struct baton_random random;
    baton_random_init(&random, seed);
    printf("seed %" PRIu64 "\n", seed);
    int bad = 0;
    uint64_t i;
    for (i = 0; i < n && !bad; i++) {
        baton_gen_random(&size, seed, i, "random", text);
        bad = check(text, BATON_MODEL_TSO, i % VARIANTS, &random);
    }
    /* Locks: the values that steps wait for, and the loops that end in a get. */
    static const char locks[] = "RDMA locks\n{ nodes 2; x@1; y@2; a@1; sc s@2; lock l : slock @ 1; "
                                "lock k : nlock @ 2; }\n P0@1 | P1@2 ;\n acq l | acq k ;\n"
                                " put y, 1 | put x, 2 ;\n rel l | rel k ;\n acq k | acq l ;\n"
                                " get a, y | r = scread s ;\n rel k | rel l ;\nexists (0=0)\n";
    for (int k = 0; k < 50 && !bad; k++)
        bad = check(locks, BATON_MODEL_IMPL, 0, &random);
    printf("%" PRIu64 " programs, %" PRIu64 " steps looked at\n", i, looked_at);
    return bad;
}
