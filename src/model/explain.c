/* SPDX-License-Identifier: MIT */
/*
 * Tells a run of the machine. The explorer gives the steps in some order; steps that do not touch
 * each other are first put into an order in which one actor goes on as long as it can, because that
 * is how people read. Then the run is played once more and each step is told from the state in
 * which it happens: that state shows what is still in a buffer, and so why a read sees an old
 * value.
 */
#include "model/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/explore.h"
#include "model/reduce.h"

enum { TEXT = 4096 };

struct story {
    const struct baton_machine *m;
    const struct baton_program *written; /* before lowering */
    int64_t *state;
    FILE *to;
    unsigned number;
};

struct goal {
    const struct baton_program *program;
    bool negate;
};

static int reaches_goal(void *arg, const struct baton_machine *m, const int64_t *state)
{
    const struct goal *goal = arg;
    int64_t row[BATON_THREADS_MAX * BATON_REGS_MAX + BATON_LOCS_MAX];
    baton_machine_outcome(m, state, row);
    return baton_outcome_holds(goal->program, row) != goal->negate;
}

static const struct baton_op *op_of(const struct baton_machine *m, const struct baton_step *s)
{
    return &m->program->thread[s->thread].op[s->op];
}

static const char *loc_name(const struct story *s, int loc)
{
    return s->m->program->loc[loc].name;
}

static unsigned node_of(const struct story *s, unsigned thread)
{
    return s->m->program->thread[thread].node;
}

/* "P0's `put z, x #d`" */
static const char *op_text(const struct story *s, unsigned thread, unsigned op, char buf[TEXT])
{
    int n = snprintf(buf, TEXT, "P%u's `", thread);
    baton_op_print(s->m->program, thread, &s->m->program->thread[thread].op[op], buf + n,
                   TEXT - (size_t)n - 1);
    return strcat(buf, "`");
}

/*
 * Writes to a location that were begun and are not in memory yet: where they are says why a reader
 * of memory does not see them.
 */
static void tell_pending(const struct story *s, int loc, const struct baton_step *reader)
{
    const struct baton_machine *m = s->m;
    const char *between = " because ";
    char text[TEXT];
    for (unsigned t = 0; t < m->program->n_threads; t++) {
        for (unsigned i = 0; i < m->program->thread[t].n_ops; i++) {
            const struct baton_op *op = &m->program->thread[t].op[i];
            const struct baton_machine_op *mo = &m->op[t][i];
            if (mo->drain < 0 || !baton_machine_is_done(m, s->state, (unsigned)mo->exec) ||
                (t == reader->thread && (i == reader->op || op->kind == BATON_OP_STORE)))
                continue;
            bool remote =
                baton_op_is_remote(op->kind) && op->kind != BATON_OP_GET && op->loc == loc;
            bool local =
                baton_op_is_remote(op->kind) && op->kind != BATON_OP_PUT && op->local == loc;
            bool drained = baton_machine_is_done(m, s->state, (unsigned)mo->drain);
            if (op->kind == BATON_OP_STORE && op->loc == loc && !drained) {
                fprintf(s->to, "%s%s is still in its store buffer", between,
                        op_text(s, t, i, text));
                between = " and ";
            }
            int write = remote ? mo->step[BATON_NIC_COMMIT] : local ? mo->step[BATON_NIC_LAND] : -1;
            if (write < 0 || baton_machine_is_done(m, s->state, (unsigned)write))
                continue;
            int start = mo->step[remote ? BATON_NIC_START : BATON_NIC_LEAVE];
            const char *where = !drained ? "is still in its store buffer"
                                : !baton_machine_is_done(m, s->state, (unsigned)start)
                                    ? "is not done by the NIC yet"
                                : remote ? "has its write still in the remote write buffer"
                                         : "has its write still in the local write buffer";
            fprintf(s->to, "%s%s %s", between, op_text(s, t, i, text), where);
            between = " and ";
        }
    }
}

/* Has the operation done something that others can see, beyond being posted or buffered? */
static bool took_effect(const struct story *s, unsigned t, unsigned i)
{
    const struct baton_machine *m = s->m;
    const struct baton_machine_op *mo = &m->op[t][i];
    switch (m->program->thread[t].op[i].kind) {
    case BATON_OP_LOAD:
    case BATON_OP_CAS:
    case BATON_OP_FAA:
        return baton_machine_is_done(m, s->state, (unsigned)mo->exec);
    case BATON_OP_STORE:
        return baton_machine_is_done(m, s->state, (unsigned)mo->drain);
    case BATON_OP_PUT:
    case BATON_OP_RCAS:
    case BATON_OP_RFAA:
        return baton_machine_is_done(m, s->state, (unsigned)mo->step[BATON_NIC_COMMIT]);
    case BATON_OP_GET:
        return baton_machine_is_done(m, s->state, (unsigned)mo->step[BATON_NIC_READ]);
    default:
        return false;
    }
}

/* Is there an operation of one of two kinds between two operations of a thread? */
static bool between(const struct story *s, const struct baton_step *step, unsigned later,
                    enum baton_op_kind a, enum baton_op_kind b)
{
    for (unsigned i = step->op + 1; i < later; i++) {
        enum baton_op_kind kind = s->m->program->thread[step->thread].op[i].kind;
        if (kind == a || kind == b)
            return true;
    }
    return false;
}

/* Does a wait or poll before operation `later` cover the step's operation? */
static bool is_waited_for(const struct story *s, const struct baton_step *step, unsigned later)
{
    const struct baton_op *ops = s->m->program->thread[step->thread].op;
    const struct baton_machine_op *mo = s->m->op[step->thread];
    for (unsigned i = step->op + 1; i < later; i++)
        if ((ops[i].kind == BATON_OP_WAIT && ops[i].id == ops[step->op].id) ||
            (ops[i].kind == BATON_OP_POLL && mo[i].entry == mo[step->op].entry))
            return true;
    return false;
}

/* Why a step may come after an effect of operation `later` of the same thread. */
static const char *why_overtaken(const struct story *s, const struct baton_step *step,
                                 unsigned later)
{
    const struct baton_op *op = op_of(s->m, step);
    bool waited = is_waited_for(s, step, later);
    if (op->kind == BATON_OP_STORE)
        return "a store stays in the buffer until an mfence, a gfence or a CPU atomic empties it";
    if (step->nic == BATON_NIC_COMMIT && waited)
        return op->kind == BATON_OP_PUT
                   ? "a wait or poll is over once a put's remote write has started; only a gfence "
                     "waits until it is in memory"
                   : "a wait or poll is over once an atomic's result is there; only a gfence waits "
                     "for its remote write";
    if (step->nic == BATON_NIC_READ && op->kind == BATON_OP_GET &&
        s->m->program->thread[step->thread].op[later].kind != BATON_OP_LOAD)
        return "a get is not ordered before later operations of the NIC unless an rfence, a wait "
               "or "
               "a gfence stands between";
    if (between(s, step, later, BATON_OP_WAIT, BATON_OP_POLL) ||
        between(s, step, later, BATON_OP_RFENCE, BATON_OP_GFENCE))
        return "what stands between them does not order the two";
    return "nothing between them orders the two";
}

/* When something later in the program came first, says so, and why it may. */
static void tell_overtaken(const struct story *s, const struct baton_step *step)
{
    char text[TEXT];
    for (unsigned i = s->m->program->thread[step->thread].n_ops; i-- > step->op + 1;) {
        if (!took_effect(s, step->thread, i))
            continue;
        fprintf(s->to, "; %s, later in the program, came first because %s",
                op_text(s, step->thread, i, text), why_overtaken(s, step, i));
        return;
    }
}

static void begin(struct story *s)
{
    fprintf(s->to, "%3u. ", ++s->number);
}

static void end(struct story *s)
{
    fputs(".\n", s->to);
}

static int64_t register_of(const struct story *s, unsigned thread, int reg)
{
    return s->state[s->m->at_reg[thread] + (unsigned)reg];
}

static bool reads_own_buffer(const struct story *s, unsigned t, unsigned op, int loc)
{
    const struct baton_machine *m = s->m;
    for (unsigned i = 0; i < op; i++)
        if (m->program->thread[t].op[i].kind == BATON_OP_STORE &&
            m->program->thread[t].op[i].loc == loc &&
            !baton_machine_is_done(m, s->state, (unsigned)m->op[t][i].drain))
            return true;
    return false;
}

static void tell_wait(const struct story *s, unsigned t, unsigned wait)
{
    const struct baton_op *ops = s->m->program->thread[t].op;
    bool puts = false, others = false;
    for (unsigned i = 0; i < wait; i++) {
        if (!baton_op_is_remote(ops[i].kind) || ops[i].id != ops[wait].id)
            continue;
        puts |= ops[i].kind == BATON_OP_PUT;
        others |= ops[i].kind != BATON_OP_PUT;
    }
    fputs(" returns", s->to);
    if (puts)
        fputs(", since the remote write has started, wherever it is now", s->to);
    if (others)
        fprintf(s->to, "%s what was read is in local memory", puts ? ", and" : ", since");
}

/* A step of the CPU. A load is told from the state before it, the others from the state after. */
static void tell_exec(struct story *s, unsigned number, bool drains_next)
{
    const struct baton_step *step = &s->m->step[number];
    const struct baton_op *op = op_of(s->m, step);
    unsigned t = step->thread;
    char text[TEXT];
    begin(s);
    fprintf(s->to, "P%u", t);
    const struct baton_op *written = &s->written->thread[t].op[op->source];
    if (written->kind >= BATON_OP_ACQ || written->kind != op->kind) {
        baton_op_print(s->written, t, written, text, sizeof(text));
        fprintf(s->to, ", in `%s`", text);
    }
    baton_op_print(s->m->program, t, op, text, sizeof(text));
    fprintf(s->to, ": `%s`", text);
    bool own = op->kind == BATON_OP_LOAD && reads_own_buffer(s, t, step->op, op->loc);
    if (op->kind != BATON_OP_LOAD)
        baton_machine_apply(s->m, s->state, number);
    switch (op->kind) {
    case BATON_OP_STORE:
        if (drains_next)
            fprintf(s->to, " goes through the store buffer to memory: %s = %" PRId64,
                    loc_name(s, op->loc), s->state[s->m->op[t][step->op].buffer]);
        else
            fprintf(s->to, " waits in P%u's store buffer, and P%u goes on", t, t);
        break;
    case BATON_OP_LOAD:
        if (own) {
            baton_machine_apply(s->m, s->state, number);
            fprintf(s->to, " reads %" PRId64 " from P%u's own store buffer",
                    register_of(s, t, op->reg), t);
        } else {
            fprintf(s->to, " reads %" PRId64 " from memory", s->state[op->loc]);
            tell_pending(s, op->loc, step);
            baton_machine_apply(s->m, s->state, number);
        }
        break;
    case BATON_OP_LET:
        fprintf(s->to, " gives %" PRId64, register_of(s, t, op->reg));
        break;
    case BATON_OP_CAS:
    case BATON_OP_FAA:
        fprintf(s->to, " reads %" PRId64 ", and leaves %s = %" PRId64 " in memory at once",
                register_of(s, t, op->reg), loc_name(s, op->loc), s->state[op->loc]);
        break;
    case BATON_OP_MFENCE:
        fputs(" goes on, since the store buffer is empty", s->to);
        break;
    case BATON_OP_ASSUME:
        fputs(" holds", s->to);
        break;
    case BATON_OP_WAIT:
        tell_wait(s, t, step->op);
        break;
    case BATON_OP_POLL:
        fprintf(
            s->to, " takes the completion of %s",
            op_text(s, t, s->m->step[s->m->entry_op[s->m->op[t][step->op].entry]->exec].op, text));
        break;
    case BATON_OP_GFENCE:
        fputs(" returns: nothing towards these nodes is in a pipe or buffer any more", s->to);
        break;
    case BATON_OP_AWAIT:
        fputs(" goes on: its turn has come", s->to);
        break;
    default:
        fprintf(s->to, "%s",
                drains_next ? " is posted to the NIC, and the CPU does not wait for it"
                            : " waits in the store buffer, behind older stores");
        break;
    }
    end(s);
}

static void tell_drain(struct story *s, unsigned number, bool told)
{
    const struct baton_step *step = &s->m->step[number];
    const struct baton_op *op = op_of(s->m, step);
    char text[TEXT];
    op_text(s, step->thread, step->op, text);
    if (!told) {
        begin(s);
        if (op->kind == BATON_OP_STORE)
            fprintf(s->to, "%s leaves the store buffer: %s = %" PRId64 " is in memory", text,
                    loc_name(s, op->loc), s->state[s->m->op[step->thread][step->op].buffer]);
        else
            fprintf(s->to, "%s leaves the store buffer and is posted to the NIC", text);
        if (op->kind == BATON_OP_STORE)
            tell_overtaken(s, step);
        end(s);
    }
    baton_machine_apply(s->m, s->state, number);
}

static void tell_read(struct story *s, unsigned number)
{
    const struct baton_step *step = &s->m->step[number];
    const struct baton_op *op = op_of(s->m, step);
    const struct baton_nic_entry *e = &s->m->entry[step->entry];
    char text[TEXT];
    unsigned node = node_of(s, step->thread);
    op_text(s, step->thread, step->op, text);
    if (op->kind == BATON_OP_PUT && e->constant) { /* nothing is read that anyone could change */
        baton_machine_apply(s->m, s->state, number);
        return;
    }
    int loc = op->kind == BATON_OP_PUT ? op->local : op->loc;
    begin(s);
    fprintf(s->to, "NIC of node %u: %s reads %s = %" PRId64,
            op->kind == BATON_OP_PUT ? node : s->m->program->loc[loc].node, text, loc_name(s, loc),
            s->state[loc]);
    tell_pending(s, loc, step);
    tell_overtaken(s, step);
    baton_machine_apply(s->m, s->state, number);
    const struct baton_machine_op *mo = &s->m->op[step->thread][step->op];
    if (op->kind == BATON_OP_RCAS &&
        baton_machine_is_done(s->m, s->state, (unsigned)mo->step[BATON_NIC_COMMIT]))
        fputs("; that is not what it expects, so it writes nothing there", s->to);
    else if (op->kind == BATON_OP_RCAS || op->kind == BATON_OP_RFAA)
        fprintf(s->to,
                "; its write comes later, and only other remote atomics are kept out until then");
    end(s);
}

/* A step of the NIC. What only moves an entry from one queue to the next without being seen is not
 * told. */
static void tell_nic(struct story *s, unsigned number, bool commits_next)
{
    const struct baton_step *step = &s->m->step[number];
    const struct baton_op *op = op_of(s->m, step);
    const struct baton_nic_value *v =
        (const struct baton_nic_value *)(s->state + s->m->at_value) + step->entry;
    char text[TEXT];
    op_text(s, step->thread, step->op, text);
    unsigned node = node_of(s, step->thread);
    switch (step->nic) {
    case BATON_NIC_READ:
        tell_read(s, number);
        return;
    case BATON_NIC_START:
        if (commits_next)
            break;
        begin(s);
        fprintf(s->to,
                "NIC of node %u: the write of %s starts, %s = %" PRId64
                " is in the remote write buffer%s",
                node, text, loc_name(s, op->loc), v->to_remote,
                op->kind == BATON_OP_PUT ? ", and the put counts as acknowledged" : "");
        end(s);
        break;
    case BATON_NIC_COMMIT:
        begin(s);
        fprintf(s->to, "NIC of node %u: the write of %s arrives, %s = %" PRId64 " is in memory",
                s->m->program->loc[op->loc].node, text, loc_name(s, op->loc), v->to_remote);
        tell_overtaken(s, step);
        end(s);
        break;
    case BATON_NIC_LEAVE:
        if (op->kind != BATON_OP_RFENCE)
            break;
        begin(s);
        fprintf(
            s->to,
            "NIC of node %u: %s lets pass what is behind it, since all before it has left the pipe",
            node, text);
        end(s);
        break;
    case BATON_NIC_LAND:
        begin(s);
        fprintf(s->to, "NIC of node %u: the result of %s is written, %s = %" PRId64 " is in memory",
                node, text, loc_name(s, op->local), v->to_local);
        end(s);
        break;
    default:
        break;
    }
    baton_machine_apply(s->m, s->state, number);
}

/* Who does a step: the CPU of a thread, or the NIC for one of its operations. */
static bool same_actor(const struct baton_machine *m, unsigned a, unsigned b)
{
    const struct baton_step *x = &m->step[a], *y = &m->step[b];
    if (x->thread != y->thread)
        return false;
    if (x->op == y->op)
        return true;
    return x->kind != BATON_STEP_NIC && y->kind != BATON_STEP_NIC;
}

static bool ordered(const struct baton_reduction *r, unsigned a, unsigned b)
{
    unsigned words = r->m->n_set_words;
    const uint64_t *sets[] = {r->must + (size_t)b * words, r->dep + (size_t)a * words,
                              r->dep + (size_t)b * words};
    return (sets[0][a / 64] >> a % 64 & 1) || (sets[1][b / 64] >> b % 64 & 1) ||
           (sets[2][a / 64] >> a % 64 & 1);
}

/* Among the steps that nothing before them in the run still holds back: the rest of the operation
 * at hand, else the same actor, else the earliest. */
static unsigned pick(const struct baton_reduction *r, const unsigned *steps, unsigned n,
                     unsigned last)
{
    unsigned best = 0, best_rank = 0;
    for (unsigned i = 0; i < n; i++) {
        bool held = false;
        for (unsigned j = 0; j < i && !held; j++)
            held = ordered(r, steps[j], steps[i]);
        if (held)
            continue;
        const struct baton_step *x = &r->m->step[steps[i]], *y = &r->m->step[last];
        unsigned rank = last == UINT32_MAX                         ? 1
                        : x->thread == y->thread && x->op == y->op ? 3
                        : same_actor(r->m, steps[i], last)         ? 2
                                                                   : 1;
        if (rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

static void order_for_reading(const struct baton_reduction *r, unsigned *steps, unsigned n)
{
    unsigned last = UINT32_MAX;
    for (unsigned i = 0; i < n; i++) {
        unsigned at = i + pick(r, steps + i, n - i, last);
        last = steps[at];
        memmove(steps + i + 1, steps + i, (at - i) * sizeof(*steps));
        steps[i] = last;
    }
}

static void tell(struct story *s, const unsigned *steps, unsigned n)
{
    const struct baton_machine *m = s->m;
    bool told = false;
    baton_machine_start(m, s->state);
    for (unsigned i = 0; i < n; i++) {
        const struct baton_step *step = &m->step[steps[i]];
        const struct baton_machine_op *mo = &m->op[step->thread][step->op];
        int next = i + 1 < n ? (int)steps[i + 1] : -1;
        switch (step->kind) {
        case BATON_STEP_EXEC:
            told = next >= 0 && next == mo->drain;
            tell_exec(s, steps[i], told);
            continue;
        case BATON_STEP_DRAIN:
            tell_drain(s, steps[i], told);
            break;
        case BATON_STEP_NIC:
            tell_nic(s, steps[i], next >= 0 && next == mo->step[BATON_NIC_COMMIT]);
            break;
        }
        told = false;
    }
}

static void tell_end(struct story *s, const struct baton_program *program)
{
    int64_t row[BATON_THREADS_MAX * BATON_REGS_MAX + BATON_LOCS_MAX];
    char name[2 * BATON_NAME_MAX];
    const char *between = "So it ends with ";
    baton_machine_outcome(s->m, s->state, row);
    for (unsigned k = 0; k < program->width; k++) {
        if (!baton_program_cond_uses(program, k))
            continue;
        baton_program_column_name(program, k, name, sizeof(name));
        fprintf(s->to, "%s%s = %" PRId64, between, name, row[k]);
        between = ", ";
    }
    fputs(*between == 'S' ? "So it ends.\n" : ".\n", s->to);
}

static int explain_machine(const struct baton_machine *m, const struct baton_program *program,
                           const struct baton_engine_opts *opts, struct goal *goal,
                           const char *model_name, FILE *to)
{
    unsigned *steps = NULL, n = 0;
    struct baton_reduction reduction;
    int rc = baton_explore_shortest(m, opts, reaches_goal, goal, &steps, &n);
    if (rc <= 0)
        return rc ? rc : -ENOENT;
    struct story story = {
        .m = m, .written = program, .to = to, .state = malloc(m->n_words * sizeof(int64_t) + 1)};
    rc = story.state ? baton_reduction_init(&reduction, m, false) : -ENOMEM;
    if (!rc) {
        order_for_reading(&reduction, steps, n);
        fprintf(to, "Possible under %s, for example so:\n", model_name);
        tell(&story, steps, n);
        tell_end(&story, program);
        baton_reduction_fini(&reduction);
    }
    free(story.state);
    free(steps);
    return rc;
}

int baton_explain(const struct baton_program *program, enum baton_model model,
                  const struct baton_engine_opts *opts, bool negate, FILE *to)
{
    struct baton_program lowered;
    struct baton_machine m;
    struct goal goal = {program, negate};
    if (model == BATON_MODEL_SPEC)
        return -EOPNOTSUPP;
    int rc = baton_program_lower(program, model, &lowered);
    if (rc)
        return rc;
    rc = baton_machine_init(&m, &lowered, opts ? opts->variants : 0);
    if (!rc) {
        rc = explain_machine(&m, program, opts, &goal, baton_model_name(model), to);
        baton_machine_fini(&m);
    }
    baton_program_fini(&lowered);
    return rc;
}
