/* SPDX-License-Identifier: MIT */
/* Schedule files, written and read; see schedule.h. */
#include "check/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/nic.h"

#define TITLE "# baton check schedule 1"

static const char *const step_names[BATON_NIC_STEPS] = {"read",  "start", "commit",
                                                        "leave", "land",  "poll"};

static void write_step(FILE *to, const struct sim_step *s)
{
    static const char *const indent[] = {"", "    ", "  "};
    fputs(indent[s->quiet], to);
    switch (s->kind) {
    case SIM_STEP_BEGIN:
        fprintf(to, "begin");
        break;
    case SIM_STEP_THREAD:
        fprintf(to, "thread %u", s->thread);
        break;
    case SIM_STEP_TIMEOUT:
        fprintf(to, "timeout %u", s->thread);
        break;
    case SIM_STEP_STORE:
        fprintf(to, "store %u", s->thread);
        break;
    default:
        fprintf(to, "nic %u %u %u %s", s->thread, s->node, s->at, step_names[s->step]);
        break;
    }
    for (unsigned i = 0; i < s->choices_n; i++)
        fprintf(to, "%s%u", i ? " " : " / ", s->choice[i]);
    fprintf(to, "\n");
}

static void write_lock(FILE *to, const struct check_lock *c)
{
    fprintf(to, "lock %s %u+%ux%u %s\n", c->kind->name, c->local, c->remote, c->rounds,
            check_data_names[c->data]);
    for (unsigned i = 0; c->kind->params && i < BATON_LOCK_PARAMS_MAX && c->kind->params[i].name;
         i++) {
        const struct baton_lock_param *p = &c->kind->params[i];
        if (p->on_off)
            fprintf(to, "param %s=%s\n", p->name, c->params[i] ? "on" : "off");
        else
            fprintf(to, "param %s=%" PRIu64 "\n", p->name, c->params[i]);
    }
    if (c->local_enters)
        fprintf(to, "%s local\n", check_enter_names[c->local_enters]);
    if (c->remote_enters)
        fprintf(to, "%s remote\n", check_enter_names[c->remote_enters]);
    if (c->swap)
        fprintf(to, "swap\n");
    if (c->first_ticket)
        fprintf(to, "first-ticket %" PRIu64 "\n", c->first_ticket);
    if (c->no_gfence)
        fprintf(to, "no-gfence\n");
    if (c->no_fcfs)
        fprintf(to, "no-fcfs\n");
}

int check_schedule_write(FILE *to, const struct check_schedule *schedule)
{
    fprintf(to, TITLE "\n");
    if (schedule->program[0])
        fprintf(to, "program %s\n", schedule->program);
    else
        write_lock(to, &schedule->config);
    if (schedule->violation[0])
        fprintf(to, "violation %s\n", schedule->violation);
    for (size_t i = 0; i < schedule->steps_n; i++)
        write_step(to, &schedule->steps[i]);
    return ferror(to) ? -EIO : 0;
}

static bool read_choices(struct sim_step *s, const char *text)
{
    while (*text == ' ' || *text == '/')
        text++;
    while (*text && *text != '\n') {
        char *end;
        unsigned long v = strtoul(text, &end, 10);
        if (end == text || s->choices_n == SIM_CHOICES_MAX || v > UINT8_MAX)
            return false;
        s->choice[s->choices_n++] = (uint8_t)v;
        text = end;
        while (*text == ' ')
            text++;
    }
    return true;
}

static bool read_step(const char *line, struct sim_step *s)
{
    unsigned thread = 0, node, at;
    char step[16];
    int used = 0;
    size_t indent = strspn(line, " ");
    *s = (struct sim_step){.quiet = indent >= 4 ? SIM_QUIET_OWN
                                    : indent    ? SIM_QUIET_FUTURE
                                                : SIM_QUIET_NOT};
    line += indent;
    if (!strncmp(line, "begin", 5)) {
        s->kind = SIM_STEP_BEGIN;
        used = 5;
    } else if (sscanf(line, "thread %u%n", &thread, &used) == 1) {
        s->kind = SIM_STEP_THREAD;
    } else if (sscanf(line, "timeout %u%n", &thread, &used) == 1) {
        s->kind = SIM_STEP_TIMEOUT;
    } else if (sscanf(line, "store %u%n", &thread, &used) == 1) {
        s->kind = SIM_STEP_STORE;
    } else if (sscanf(line, "nic %u %u %u %15[a-z]%n", &thread, &node, &at, step, &used) == 4) {
        while (s->step < BATON_NIC_STEPS && strcmp(step, step_names[s->step]))
            s->step++;
        s->kind = SIM_STEP_NIC;
        s->node = (uint16_t)node;
        s->at = (uint8_t)at;
        if (s->step == BATON_NIC_STEPS || node > UINT16_MAX || at > UINT8_MAX)
            return false;
    } else {
        return false;
    }
    s->thread = (uint8_t)thread;
    return thread < SIM_THREADS_MAX && read_choices(s, line + used);
}

static bool read_lock(const char *line, struct check_schedule *out)
{
    struct check_lock *c = &out->config;
    char data[16];
    if (sscanf(line, "lock %39s %u+%ux%u %15s", out->kind, &c->local, &c->remote, &c->rounds,
               data) != 5)
        return false;
    c->kind = baton_lock_kind(out->kind);
    if (!c->kind)
        return false;
    baton_lock_param_defaults(c->kind, c->params);
    for (c->data = 0; c->data < CHECK_DATA_KINDS; c->data++)
        if (!strcmp(data, check_data_names[c->data]))
            return true;
    return false;
}

/* One line of the head; false: it is none, or it is wrong. */
static bool read_head(const char *line, struct check_schedule *out)
{
    char word[256];
    if (!strncmp(line, "lock ", 5))
        return read_lock(line, out);
    if (sscanf(line, "program %255[^\n]", out->program) == 1)
        return true;
    if (sscanf(line, "param %255s", word) == 1)
        return out->config.kind &&
               !baton_lock_param_set(out->config.kind, out->config.params, word);
    if (sscanf(line, "first-ticket %" SCNu64, &out->config.first_ticket) == 1)
        return true;
    for (unsigned e = CHECK_TRY; e < CHECK_ENTER_KINDS; e++) {
        size_t n = strlen(check_enter_names[e]);
        if (!strncmp(line, check_enter_names[e], n) && line[n] == ' ')
            return check_lock_enter_read(&out->config, (enum check_enter)e, line + n + 1);
    }
    if (!strcmp(line, "swap"))
        return out->config.swap = true;
    if (!strcmp(line, "no-gfence"))
        return out->config.no_gfence = true;
    if (!strcmp(line, "no-fcfs"))
        return out->config.no_fcfs = true;
    return sscanf(line, "violation %239[^\n]", out->violation) == 1;
}

int check_schedule_read(FILE *from, struct check_schedule *out)
{
    char line[512];
    size_t room = 0, number = 0;
    *out = (struct check_schedule){0};
    while (fgets(line, sizeof(line), from)) {
        struct sim_step step;
        line[strcspn(line, "\n")] = 0;
        number++;
        if (number == 1 && strcmp(line, TITLE))
            break;
        if (!line[0] || line[0] == '#' || read_head(line, out))
            continue;
        if (!read_step(line, &step)) {
            free(out->steps);
            return baton_fail(-EINVAL, "line %zu of the schedule: \"%.60s\"", number, line);
        }
        if (out->steps_n == room) {
            struct sim_step *more = realloc(out->steps, (room = 2 * room + 64) * sizeof(*more));
            if (!more) {
                free(out->steps);
                return -ENOMEM;
            }
            out->steps = more;
        }
        out->steps[out->steps_n++] = step;
    }
    if (out->steps_n && (out->kind[0] || out->program[0]))
        return 0;
    free(out->steps);
    return baton_fail(-EINVAL, "not a schedule of baton check: it begins with \"%s\"", TITLE);
}
