/* SPDX-License-Identifier: MIT */
/* What the commands that explore have in common; see check_common.h. */
#include "check_common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <baton/error.h>

#include "args.h"
#include "check_picture.h"
#include "json.h"

static const char *const verdicts[] = {"Verified", "Violated", "Unknown"};

bool check_common_option(int key, char *arg, struct argp_state *state, struct check_common *c)
{
    struct sim_explore *x = &c->explore;
    switch (key) {
    case OPT_MAX_RUNS:
        x->runs_max = arg_whole(state, "max-runs", arg, 0, UINT64_MAX);
        return true;
    case OPT_MAX_STATES:
        x->states_max = arg_whole(state, "max-states", arg, 0, UINT64_MAX);
        return true;
    case OPT_TIMEOUT:
        x->seconds_max = arg_seconds(state, "timeout", arg);
        return true;
    case OPT_CONTEXT_BOUND:
        x->context_bound = (int)arg_whole(state, "context-bound", arg, 0, 1000);
        return true;
    case OPT_SELF_CHECK:
        x->self_check = true;
        return true;
    case OPT_DIGESTS:
        x->digests = true;
        return true;
    case OPT_NAIVE:
        x->naive = true;
        return true;
    case OPT_NO_FUTURE:
        x->no_future = true;
        return true;
    case OPT_JSON:
        c->json = true;
        return true;
    case OPT_SCHEDULE:
        c->schedule = arg;
        return true;
    case OPT_REPLAY:
        c->replay = arg;
        return true;
    case OPT_DOT:
        c->dot = arg;
        return true;
    case OPT_SVG:
        c->svg = arg;
        return true;
    default:
        return false;
    }
}

/* ---- Stories and schedules */

struct story {
    unsigned n;
    bool aloud;
    struct check_picture *picture; /* or null */
};

/* The subject's own argument comes back with the line; stories are told one at a time. */
static struct story story;

static void tell(void *arg, const char *line)
{
    if (story.picture)
        check_picture_line(story.picture, line);
    if (!story.aloud)
        return;
    if (*line == ' ')
        printf("      %s\n", line);
    else
        printf("%4u  %s\n", ++story.n, line);
}

static int failed(const char *name, const char *what, int rc)
{
    fprintf(stderr, "%s: %s%s%s%s%s\n", name, what ? what : "", what ? ": " : "",
            baton_strerror(rc), *baton_error_detail() ? "; " : "", baton_error_detail());
    return CMD_USAGE;
}

/* Writes the picture as it is to `dot`, and through the program of that name to `svg`. */
static void draw(const char *name, const struct check_common *c, struct check_picture *picture)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory)
        return;
    check_picture_end(picture, memory);
    fclose(memory);
    FILE *to = c->dot ? fopen(c->dot, "w") : NULL;
    if (c->dot && (!to || fputs(text, to) < 0 || fclose(to)))
        failed(name, c->dot, -errno);
    if (c->svg) {
        setenv("BATON_PICTURE", c->svg, 1);
        FILE *dot = popen("dot -Tsvg -o \"$BATON_PICTURE\"", "w");
        if (!dot || fputs(text, dot) < 0 || pclose(dot))
            fprintf(stderr, "%s: %s: the program dot (graphviz) failed\n", name, c->svg);
    }
    free(text);
}

static int status_of(const struct sim_explore *x)
{
    return x->verdict == SIM_VERIFIED   ? CMD_OK
           : x->verdict == SIM_VIOLATED ? CMD_NOT_AS_EXPECTED
                                        : CMD_GAVE_UP;
}

static void print_json(const struct check_subject *s, const struct sim_explore *x)
{
    const char *comma = "";
    putchar('{');
    if (*s->head.program) {
        printf("\"program\":");
        json_text(stdout, s->head.program);
        putchar(',');
    }
    printf("%s\"verdict\":\"%s\",\"text\":", s->json, verdicts[x->verdict]);
    json_text(stdout, x->text);
    printf(",\"runs\":%" PRIu64 ",\"states\":%" PRIu64 ",\"transitions\":%" PRIu64
           ",\"passes\":%" PRIu64 ",\"depth\":%" PRIu64
           ",\"seconds\":%.3f,\"memory_bytes\":%zu,\"reduction\":\"%s%s\",\"permutations\":%u,"
           "\"bounds\":{",
           x->runs, x->states, x->transitions, x->passes, x->depth, x->seconds, x->memory,
           x->naive ? "states" : "states, steps taken at once",
           x->permutations > 1 ? ", symmetry" : "", x->permutations);
    if (x->runs_max)
        printf("\"runs\":%" PRIu64, x->runs_max), comma = ",";
    if (x->states_max)
        printf("%s\"states\":%" PRIu64, comma, x->states_max), comma = ",";
    if (x->seconds_max > 0)
        printf("%s\"seconds\":%.12g", comma, x->seconds_max), comma = ",";
    if (x->context_bound >= 0)
        printf("%s\"preemptions\":%d", comma, x->context_bound);
    printf("}}\n");
}

int check_common_follow(const char *name, const struct check_common *c,
                        const struct check_schedule *schedule, struct check_subject *subject)
{
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    x.follow = true;
    x.steps = schedule->steps;
    x.steps_n = schedule->steps_n;
    x.tell = tell;
    story = (struct story){.aloud = !c->json};
    if (c->dot || c->svg)
        story.picture = check_picture_begin(schedule->violation);
    int rc = subject->run(subject->arg, &x);
    if (story.picture)
        draw(name, c, story.picture);
    if (rc)
        return failed(name, NULL, rc);
    if (!c->json)
        printf("%s: %s\n", verdicts[x.verdict],
               x.verdict == SIM_VERIFIED ? "nothing wrong on this way" : x.text);
    else if (c->replay)
        print_json(subject, &x);
    return status_of(&x);
}

bool check_common_read(const char *name, const char *file, struct check_schedule *out)
{
    FILE *from = fopen(file, "r");
    int rc = from ? check_schedule_read(from, out) : -errno;
    if (from)
        fclose(from);
    if (rc)
        failed(name, file, rc);
    return !rc;
}

static int write_schedule(const char *file, const struct check_schedule *schedule)
{
    FILE *to = fopen(file, "w");
    if (!to)
        return -errno;
    int rc = check_schedule_write(to, schedule);
    return fclose(to) && !rc ? -errno : rc;
}

/* ---- Verdicts */

static void print_text(const struct check_subject *s, const struct sim_explore *x)
{
    printf("%s: %s%s%s; %" PRIu64 " states, %" PRIu64 " runs, depth %" PRIu64 ", %.2f s, %zu MiB\n",
           s->text, verdicts[x->verdict], x->text[0] ? ": " : "", x->text, x->states, x->runs,
           x->depth, x->seconds, x->memory >> 20);
    if (x->checked)
        printf("%" PRIu64 " digests and states were compared byte by byte\n", x->checked);
}

int check_common_explore(const char *name, const struct check_common *c,
                         struct check_subject *subject)
{
    struct sim_explore x = c->explore;
    int rc = subject->run(subject->arg, &x);
    if (rc)
        return failed(name, subject->text, rc);
    if (c->json)
        print_json(subject, &x);
    else
        print_text(subject, &x);
    fflush(stdout);
    if (x.verdict == SIM_VIOLATED) {
        struct check_schedule schedule = subject->head;
        schedule.steps = x.found;
        schedule.steps_n = x.found_n;
        memcpy(schedule.violation, x.text, sizeof(schedule.violation));
        if (c->schedule)
            rc = write_schedule(c->schedule, &schedule);
        if (rc)
            failed(name, c->schedule, rc);
        else if (!c->json || c->dot || c->svg)
            (void)check_common_follow(name, c, &schedule, subject);
    }
    free(x.found);
    return rc ? CMD_USAGE : status_of(&x);
}
