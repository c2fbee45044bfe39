/* SPDX-License-Identifier: MIT */
/*
 * Shows that the exhaustive sets hold every program exactly once up to renaming. The renamings are
 * done here on the printed text, with no use of the generator's own comparison: no two programs may
 * have a renaming in common, and the numbers of different renamings of all programs must add up to
 * the number of all named programs, which the comment at named_total() counts by hand. Also that a
 * random program depends on its seed and index alone, and that none repeats its neighbour.
 */
#include "model/generate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, NODES = 2, ROWS = 2, CELL = 48 };

struct table {
    int threads;
    int node[THREADS];
    char cell[THREADS][ROWS][CELL]; /* empty: no operation */
};

static int failures;

static void check(bool ok, const char *what)
{
    if (!ok) {
        printf("FAIL: %s\n", what);
        failures++;
    }
}

static char *trim(char *s)
{
    while (*s == ' ')
        s++;
    size_t n = strlen(s);
    while (n && s[n - 1] == ' ')
        s[--n] = 0;
    return s;
}

/* Reads the columns of a printed program. */
static void read_table(struct table *t, char *text)
{
    memset(t, 0, sizeof(*t));
    char *rows = strstr(text, "}\n") + 2, *line;
    for (int row = -1; (line = strsep(&rows, "\n")) && strncmp(line, "exists", 6); row++) {
        *strrchr(line, ';') = 0;
        char *field;
        for (int k = 0; (field = strsep(&line, "|")); k++) {
            field = trim(field);
            if (row < 0)
                t->node[t->threads++] = atoi(strchr(field, '@') + 1);
            else
                snprintf(t->cell[k][row], CELL, "%s", field);
        }
    }
}

struct renaming {
    bool swap_nodes, swap_threads;
    bool swap_locations[NODES + 1];
};

/* One operation under a renaming. All constants of their own look alike: they differ by place only.
 */
static void rename_cell(char *out, const char *in, const struct renaming *r)
{
    bool fence = !strncmp(in, "rfence", 6) || !strncmp(in, "gfence", 6);
    bool start = true;
    while (*in) {
        if (start && strchr("xyw", in[0]) && isdigit((unsigned char)in[1])) {
            int n = in[1] - '0';
            if (in[0] == 'w') {
                *out++ = 'w';
                *out++ = (char)('0' + (r->swap_threads ? 1 - n : n));
            } else {
                *out++ = (char)(r->swap_locations[n] ? 'x' + 'y' - in[0] : in[0]);
                *out++ = (char)('0' + (r->swap_nodes ? 3 - n : n));
            }
            in += 2;
        } else if (start && isdigit((unsigned char)*in)) {
            int n = atoi(in);
            while (isdigit((unsigned char)*in))
                in++;
            *out++ = fence ? (char)('0' + (r->swap_nodes ? 3 - n : n)) : n ? 'c' : '0';
            continue;
        }
        start = *in == ' ' || *in == ',';
        if (*in)
            *out++ = *in++;
    }
    *out = 0;
}

static void rename_table(char *out, const struct table *t, const struct renaming *r)
{
    out[0] = 0;
    for (int k = 0; k < t->threads; k++) {
        int from = r->swap_threads ? 1 - k : k;
        out += sprintf(out, "@%d:", r->swap_nodes ? 3 - t->node[from] : t->node[from]);
        for (int row = 0; row < ROWS && t->cell[from][row][0]; row++) {
            rename_cell(out, t->cell[from][row], r);
            out += strlen(out);
            *out++ = ';';
        }
    }
    *out = 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

struct list {
    char (*text)[256];
    size_t count, size;
};

static void append(struct list *l, const char *s)
{
    if (l->count == l->size) {
        l->size = l->size ? 2 * l->size : 1024;
        l->text = realloc(l->text, l->size * sizeof(*l->text));
        if (!l->text)
            abort();
    }
    snprintf(l->text[l->count++], sizeof(*l->text), "%s", s);
}

/* Adds the least renaming of the program to `least` and returns how many different ones it has. */
static int orbit(struct list *least, const struct table *t, int locations)
{
    char all[16][256];
    int n = 0;
    for (int bits = 0; bits < 16; bits++) {
        struct renaming r = {bits & 1, bits & 2, {false, bits & 4, bits & 8}};
        if ((r.swap_threads && t->threads < 2) || (bits >= 4 && locations < 2))
            continue;
        rename_table(all[n++], t, &r);
    }
    qsort(all, (size_t)n, sizeof(*all), compare);
    int different = 1;
    for (int i = 1; i < n; i++)
        different += strcmp(all[i], all[i - 1]) != 0;
    append(least, all[0]);
    return different;
}

/*
 * Programs of one thread with `own` result words, when `other` result words of its node belong to
 * the other thread, for L data locations a node. Alphabet: L store, L + other load, L(1 + L +
 * other) put, and three fences have no result word; L get, L rfaa, 2L rcas have one. After a get or
 * RMW there is one more place to load or put from, and after any remote operation one wait.
 */
static long sequences(int L, int own, int other)
{
    long puts = L * (1 + L + other), plain = L + L + other + puts + 3, results = 4 * L;
    long reads = 1 + L; /* load of, and put from, a new result word */
    switch (own) {
    case 0:
        return plain + plain * plain + puts;
    case 1:
        return results + results * (plain + reads + 1) + plain * results;
    default:
        return results * results;
    }
}

/* All named programs: one thread on either node; two on different nodes (two ways), or on one of
 * two. */
static long named_total(int L)
{
    long alone = 0, apart = 0, together = 0;
    for (int p = 0; p <= 2; p++) {
        alone += sequences(L, p, 0);
        for (int q = 0; q <= 2; q++)
            together += sequences(L, p, q) * sequences(L, q, p);
    }
    apart = alone * alone;
    return 2 * alone + 2 * apart + 2 * together;
}

static void exhaustive(int locations, long expected)
{
    struct baton_gen_size size = {.nodes = NODES,
                                  .threads = THREADS,
                                  .ops = ROWS,
                                  .locations = locations,
                                  .kinds = BATON_GEN_KINDS_DEFAULT};
    struct baton_gen *gen;
    if (baton_gen_create(&size, &gen))
        abort();
    static char text[BATON_GEN_TEXT_MAX];
    struct list least = {0};
    long named = 0;
    while (baton_gen_next(gen, "p", text)) {
        struct table t;
        read_table(&t, text);
        named += orbit(&least, &t, locations);
    }
    baton_gen_destroy(gen);
    qsort(least.text, least.count, sizeof(*least.text), compare);
    for (size_t i = 1; i < least.count; i++)
        if (!strcmp(least.text[i], least.text[i - 1])) {
            printf("twice: %s\n", least.text[i]);
            failures++;
        }
    printf("%d location(s) a node: %zu programs, %ld named ones, %ld counted by hand\n", locations,
           least.count, named, named_total(locations));
    check(named == named_total(locations), "every named program is a renaming of one");
    check((long)least.count == expected, "the number of programs is the documented one");
    free(least.text);
}

static void random_programs(void)
{
    struct baton_gen_size size = {.nodes = 3,
                                  .threads = 3,
                                  .ops = 4,
                                  .ops_total = 6,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    static char a[BATON_GEN_TEXT_MAX], b[BATON_GEN_TEXT_MAX];
    int same = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        baton_gen_random(&size, 1, i, "p", a);
        baton_gen_random(&size, 1, i, "p", b);
        check(!strcmp(a, b), "program i of a seed is always the same");
        baton_gen_random(&size, 1, i + 1, "p", b);
        same += !strcmp(a, b);
        baton_gen_random(&size, 2, i, "p", b);
        same += !strcmp(a, b);
    }
    printf("random: %d of 4000 equal to a neighbour\n", same);
    check(same < 40, "neighbours differ");
}

int main(void)
{
    exhaustive(1, 27176);
    exhaustive(2, 92398);
    random_programs();
    return failures != 0;
}
