/* SPDX-License-Identifier: MIT */
/*
 * Shows that the parser refuses what is malformed, at the place where it is malformed, and that the
 * printer gives back what was parsed: each line of the table damages a good test in one place and
 * names line, column and words of the message. Round trips: random programs and one test with every
 * construct come back the same from print and parse, and printing is idempotent.
 *
 * Argument: the seed of the random programs, 1 unless given; it is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/generate.h"
#include "model/parse.h"

/* A good test. Each damage replaces the first text by the second. */
static const char good[] = "RDMA good\n"
                           "\"a title\"\n"
                           "(* Result tso: Never *)\n"
                           "(* a remark *)\n"
                           "{\n"
                           " nodes 2;\n"
                           " x@1 = 1;\n"
                           " y@2 = -2;\n"
                           " sc c@2 = 0;\n"
                           " sv s = 0;\n"
                           " lock l : nlock @ 2;\n"
                           "}\n"
                           " P0@1                   | P1@2 ;\n"
                           " x = 1                  | a = y ;\n"
                           " put y, x #d            | acq l ;\n"
                           " rcas x, y, 1, 2 #e     | rel l ;\n"
                           " wait d                 | mfence ;\n"
                           "exists (0:r=1 /\\ y!=-2)\n";

static const struct damage {
    const char *from, *to;
    unsigned line, column;
    const char *message;
} damages[] = {
    {"RDMA good", "RDMB good", 1, 1, "begins with \"RDMA\""},
    {"RDMA good", "RDMA go/od", 1, 8, "a test's name holds"},
    {"RDMA good", "RDMA", 2, 1, "a test's name holds"},
    {"\"a title\"", "\"a title", 2, 1, "the string has no end"},
    {"Result tso", "Result tsu", 3, 11, "names a model"},
    {"tso: Never", "tso: Newer", 3, 16, "Never, Sometimes or Always"},
    {"(* a remark *)", "(* Result tso: Never *)", 4, 11, "a second result for the model tso"},
    {"(* a remark *)", "(* Result tso: Never x *)", 4, 11, "a second result"},
    {"(* a remark *)", "(* a remark", 4, 1, "the comment has no end"},
    {" nodes 2;", " x@1 = 0;", 6, 2, "the first declaration is \"nodes\""},
    {" nodes 2;", " nodes 0;", 6, 8, "must be from 1 to 16"},
    {" nodes 2;", " nodes 17;", 6, 8, "must be from 1 to 16"},
    {" nodes 2;", " nodes 2", 7, 2, "';' expected"},
    {" x@1 = 1;", " x@3 = 1;", 7, 4, "must be from 1 to 2"},
    {" x@1 = 1;", " x@1 = z;", 7, 8, "a number expected"},
    {" x@1 = 1;", " x@1 = 9223372036854775808;", 7, 8, "does not fit into 64 bits"},
    {" x@1 = 1;", " x@1 = 99999999999999999999;", 7, 8, "does not fit into 64 bits"},
    {" x@1 = 1;", " x@1 = 1a;", 7, 8, "cannot run into a name"},
    {" x@1 = 1;", " put@1 = 1;", 7, 2, "is a word of the language"},
    {" y@2 = -2;", " x@2 = -2;", 8, 2, "\"x\" is declared twice"},
    {"lock l : nlock", "lock l : block", 11, 11, "a wlock, an slock or an nlock"},
    {"lock l : nlock @ 2;", "nodes 2;", 11, 2, "\"nodes\" is declared twice"},
    {" P0@1 ", " P1@1 ", 13, 2, "the thread \"P0\""},
    {" P1@2 ;", " P1@4 ;", 13, 30, "must be from 1 to 2"},
    {" x = 1 ", " y = 1 ", 14, 2, "\"y\" is on node 2, and must be on the thread's node 1"},
    {" x = 1 ", " x = y ", 14, 6, "\"y\" is a location; load it"},
    {" x = 1 ", " x == 1", 14, 2, "there is no operation \"x\""},
    {" x = 1 ", " c = 1 ", 14, 2, "\"c\" is sc"},
    {" x = 1 ", " s = 1 ", 14, 2, "\"s\" is no register"},
    {" x = 1 ", " x = $ ", 14, 6, "the character '$' has no meaning"},
    {" x = 1 ", " x = \001 ", 14, 6, "the byte 0x01 has no meaning"},
    {" x = 1 ", " mfenc ", 14, 2, "there is no operation \"mfenc\""},
    {"| a = y ;", "| a = x ;", 14, 31, "\"x\" is on node 1, and must be on the thread's node 2"},
    {"| a = y ;", "| a = y | b = y ;", 14, 33, "more columns than there are threads"},
    {"| a = y ;", "| a = y", 15, 2, "'|' or ';' expected"},
    {"put y, x #d", "put y, y #d", 15, 9, "must be on the thread's node 1"},
    {"put y, x #d", "put z, x #d", 15, 6, "\"z\" is not declared as a location"},
    {"put y, x #d", "put l, x #d", 15, 6, "\"l\" is a lock, not a location"},
    {"put y, x #d", "put s, x #d", 15, 6, "\"s\" is an sv"},
    {"put y, x #d", "put y, x + 1", 15, 9, "\"x\" is a location; load it"},
    {"put y, x #d", "put y x #d", 15, 8, "',' expected"},
    {"put y, x #d", "put y, x #1", 15, 12, "a work id after '#'"},
    {"put y, x #d", "get x, y + 1", 15, 11, "'|' or ';' expected"},
    {"rcas x, y, 1, 2 #e", "rcas x, y, 1 #e", 16, 15, "',' expected"},
    {"rcas x, y, 1, 2 #e", "r = cas x, 1", 16, 19, "',' expected"},
    {"rcas x, y, 1, 2 #e", "r = faa y, 1", 16, 10, "must be on the thread's node 1"},
    {"rcas x, y, 1, 2 #e", "r = scread y", 16, 13, "\"y\" is not declared as sc"},
    {"rcas x, y, 1, 2 #e", "bcast x", 16, 8, "\"x\" is not declared as an sv"},
    {"rcas x, y, 1, 2 #e", "assume 1 = 2", 16, 11, "\"==\" expected"},
    {"rcas x, y, 1, 2 #e", "poll 3", 16, 7, "must be from 1 to 2"},
    {"rcas x, y, 1, 2 #e", "r = 1+1+1+1+1+1+1+1+1", 16, 22, "more than 8 terms"},
    {"| rel l ;", "| rel x ;", 16, 31, "\"x\" is not declared as a lock"},
    {"exists", "exits", 18, 1, "there is no operation \"exits\""},
    {"exists (", "~forall (", 18, 2, "\"exists\", \"~exists\" or \"forall\""},
    {"0:r=1", "2:r=1", 18, 9, "there is no thread P2"},
    {"0:r=1", "0:x=1", 18, 11, "\"x\" is a location"},
    {"0:r=1", "r=1", 18, 9, "a register is written THREAD:NAME"},
    {"0:r=1", "s=1", 18, 9, "name one copy"},
    {"0:r=1", "s@3=1", 18, 11, "must be from 1 to 2"},
    {"0:r=1", "x@1=1", 18, 10, "no sv"},
    {"0:r=1", "0:r", 18, 13, "'=' or \"!=\" expected"},
    {"y!=-2)", "y!=-2", 18, 23, "')' expected"},
    {"y!=-2)", "y!=-2) x", 18, 25, "nothing may follow"},
};

static int fails;

static void expect_error(const struct damage *d)
{
    char text[2 * sizeof(good)];
    const char *at = strstr(good, d->from);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, d->to, at + strlen(d->from));
    struct baton_program program;
    struct baton_parse_error error;
    if (!baton_program_parse(text, strlen(text), &program, &error)) {
        printf("accepted: \"%s\" for \"%s\"\n", d->to, d->from);
        baton_program_fini(&program);
        fails++;
    } else if (error.line != d->line || error.column != d->column ||
               !strstr(error.message, d->message)) {
        printf("\"%s\" for \"%s\": expected %u:%u \"%s\", got\n", d->to, d->from, d->line,
               d->column, d->message);
        baton_parse_error_print(&error, "test", stdout);
        fails++;
    }
}

/* The line that is shown is whole, and the caret is below the place, also inside of comments and at the
 * end of the text. */
static void expect_shown(const char *text, const char *excerpt, unsigned caret)
{
    struct baton_program program;
    struct baton_parse_error error;
    if (!baton_program_parse(text, strlen(text), &program, &error)) {
        printf("accepted: %s\n", text);
        baton_program_fini(&program);
        fails++;
    } else if (strcmp(error.excerpt, excerpt) || error.caret != caret) {
        printf("expected \"%s\" and a caret at %u, got\n", excerpt, caret);
        baton_parse_error_print(&error, "test", stdout);
        fails++;
    }
}

/* Parses and prints; null when it does not parse. */
static char *reprint(const char *text, size_t size)
{
    struct baton_program program;
    struct baton_parse_error error;
    if (baton_program_parse(text, size, &program, &error)) {
        baton_parse_error_print(&error, "test", stdout);
        return NULL;
    }
    char *out = NULL;
    size_t n;
    FILE *to = open_memstream(&out, &n);
    if (!to)
        abort();
    baton_program_print(&program, to);
    fclose(to);
    baton_program_fini(&program);
    return out;
}

static void expect_round_trip(const char *text)
{
    char *once = reprint(text, strlen(text));
    char *twice = once ? reprint(once, strlen(once)) : NULL;
    if (!twice || strcmp(once, twice)) {
        printf("no round trip:\n%s", text);
        fails++;
    }
    free(once);
    free(twice);
}

/* The form that fmt gives, with every construct of the language. */
static const char formatted[] =
    "RDMA every-construct\n"
    "\"a title\"\n"
    "(* Result tso: Never *)\n"
    "(* Result impl: Always *)\n"
    "(* a remark\n   of two lines *)\n"
    "{\n"
    " nodes 3;\n"
    " x@1 = -9223372036854775808;\n"
    " sv s = 4;\n"
    " y@2 = 9223372036854775807;\n"
    " lock l : wlock @ 3;\n"
    " sc c@2 = 0;\n"
    " lock m : slock @ 1;\n"
    " lock n : nlock @ 1;\n"
    "}\n"
    " P0@1                       | P1@2             | P2@3 ;\n"
    " x = a + b - 1              | r = sccas c, 0, q |      ;\n"
    " r = x                      | q = scfaa c, -1   |      ;\n"
    " r = -1 - a                 | q = scread c      |      ;\n"
    " r = cas x, r, r + 1        | scwrite c, q      |      ;\n"
    " r = faa x, -3              | svwrite s, 1      |      ;\n"
    " mfence                     | q = svread s      |      ;\n"
    " put y, x #x                | bcast s #d        |      ;\n"
    " put y, r                   | bcast s, 1, 3     |      ;\n"
    " put y, 4 - r #d            | acq l             |      ;\n"
    " get x, y                   | rel l             |      ;\n"
    " rcas x, y, r, 1 - r #longer |                   |      ;\n"
    " rfaa x, y, r               |                   |      ;\n"
    " wait d                     |                   |      ;\n"
    " poll 2                     |                   |      ;\n"
    " rfence 2                   |                   |      ;\n"
    " gfence 1, 3                |                   |      ;\n"
    " assume r - 1 == 3          |                   |      ;\n"
    "forall ((0:r=1 /\\ ~(1:q!=2:none)) \\/ s@3=1 \\/ ~(x=-1 \\/ c=0) \\/ 3=3)\n";

/* Columns are aligned by hand above only roughly: what counts is one form, whatever the blanks
 * were. */
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    *to = '\0';
}

static void expect_formatted(void)
{
    char want[sizeof(formatted)];
    strcpy(want, formatted);
    char *got = reprint(formatted, strlen(formatted));
    if (!got) {
        fails++;
        return;
    }
    squeeze(want);
    squeeze(got);
    if (strcmp(want, got)) {
        printf("formatted as:\n%s", got);
        fails++;
    }
    free(got);
}

/* What would make a careless parser deep, long or large. */
static void expect_bounds(void)
{
    char *text = malloc(1 << 20);
    struct baton_program program;
    struct baton_parse_error error;
    static const char *const parts[] = {"(", "~", "~(", "0=0 /\\ ", "0=0 \\/ ("};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        char *at = text + sprintf(text, "RDMA deep\n{ nodes 1; }\nP0@1 ;\nexists (");
        while (at - text < (1 << 20) - 64)
            at += sprintf(at, "%s", parts[i]);
        if (!baton_program_parse(text, (size_t)(at - text), &program, &error)) {
            printf("accepted a condition of a megabyte of \"%s\"\n", parts[i]);
            baton_program_fini(&program);
            fails++;
        }
    }
    free(text);
}

static void random_round_trips(uint64_t seed)
{
    static char text[BATON_GEN_TEXT_MAX];
    struct baton_gen_size size = {.nodes = 4,
                                  .threads = 4,
                                  .ops = 6,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    printf("seed %" PRIu64 "\n", seed);
    for (uint64_t i = 0; i < 2000; i++) {
        baton_gen_random(&size, seed, i, "random", text);
        expect_round_trip(text);
    }
}

int main(int argc, char **argv)
{
    free(reprint(good, strlen(good)));
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++)
        expect_error(&damages[i]);
    expect_shown("RDMA t\n(* Result tsu: Never *) (* x *)\n", "(* Result tsu: Never *) (* x *)",
                 10);
    expect_shown("RDMA t\n{\n nodes 1;\n}\n P0@1 ;\n x = 1\n\n \n", " x = 1", 6);
    expect_shown("", "", 0);
    expect_round_trip(good);
    expect_formatted();
    expect_bounds();
    random_round_trips(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    printf("%zu malformed tests, %d failures\n", sizeof(damages) / sizeof(*damages), fails);
    return fails != 0;
}
