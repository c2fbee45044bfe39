/* SPDX-License-Identifier: MIT */
/*
 * Shows that a program that shows something is shrunk to the operations that matter and no others. The
 * thing shown is made up: "some thread puts to z and later waits for that put". Threads, operations,
 * locations and nodes that have no part in it must go, the wait must keep what it waits for, and the
 * result must be a program that the parser accepts and that still shows it.
 */
#include "model/parse.h"
#include "model/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "RDMA big\n"
    "\"a remark\"\n"
    "(* Result wait: Never *)\n"
    "{\n nodes 4;\n x@1 = 0;\n y@4 = 0;\n z@2 = 0;\n a@3 = 5;\n sv s = 1;\n}\n"
    " P0@3        | P1@1            | P2@4         ;\n"
    " get a, y #d | rfaa x, y, 2 #e | svwrite s, 1 ;\n"
    " wait d      | put z, x #d     | bcast s #d   ;\n"
    " b = a       | r = x           | wait d       ;\n"
    "             | wait e          |              ;\n"
    "             | wait d          |              ;\n"
    "             | x = r + 1       |              ;\n"
    "~exists (1:r=1 /\\ s@2=1 \\/ 0:b=5)\n";

static const char smallest[] = "RDMA big\n{\n nodes 2;\n z@2 = 0;\n x@1 = 0;\n}\n"
                               " P0@1        ;\n put z, x #d ;\n wait d      ;\nexists (0=0)\n";

static int asked;

static bool shows(const struct baton_program *p, void *arg)
{
    asked++;
    for (unsigned t = 0; t < p->n_threads; t++) {
        int id = -1;
        for (unsigned i = 0; i < p->thread[t].n_ops; i++) {
            const struct baton_op *op = &p->thread[t].op[i];
            if (op->kind == BATON_OP_PUT && !strcmp(p->loc[op->loc].name, "z"))
                id = op->id;
            if (op->kind == BATON_OP_WAIT && id >= 0 && op->id == id)
                return true;
        }
    }
    return false;
}

static bool nothing(const struct baton_program *p, void *arg)
{
    return false;
}

static char *print(const struct baton_program *p)
{
    char *buffer = NULL;
    size_t size;
    FILE *f = open_memstream(&buffer, &size);
    if (!f)
        abort();
    baton_program_print(p, f);
    fclose(f);
    return buffer;
}

static int expect(const char *got, const char *want)
{
    if (!strcmp(got, want))
        return 0;
    printf("FAIL: expected\n%sgot\n%s", want, got);
    return 1;
}

int main(void)
{
    struct baton_program p, least, copy;
    struct baton_parse_error error;
    int failures = 0;
    if (baton_program_parse(text, strlen(text), &p, &error)) {
        baton_parse_error_print(&error, "text", stdout);
        return 1;
    }
    if (baton_program_shrink(&p, shows, NULL, &least))
        abort();
    char *got = print(&least);
    printf("asked %d times\n", asked);
    failures += expect(got, smallest);
    free(got);

    /* What cannot be made smaller is left as it is; of its columns z tells these sets apart. */
    if (baton_program_shrink(&least, nothing, NULL, &copy))
        abort();
    struct baton_outcomes a, b;
    baton_outcomes_init(&a, 2);
    baton_outcomes_init(&b, 2);
    baton_outcomes_add(&a, (const int64_t[]){1, 2});
    failures += baton_program_tell_apart(&copy, &a, &a) != 0;
    baton_outcomes_add(&b, (const int64_t[]){1, 2});
    baton_outcomes_add(&b, (const int64_t[]){-7, 2});
    failures += baton_program_tell_apart(&copy, &a, &b) != 2;
    baton_outcomes_fini(&a);
    baton_outcomes_fini(&b);
    got = print(&copy);
    failures += !strstr(got, "exists (z=-7)");
    struct baton_program again;
    failures += baton_program_parse(got, strlen(got), &again, &error) != 0;
    printf("%s", got);
    free(got);
    baton_program_fini(&again);
    baton_program_fini(&copy);
    baton_program_fini(&least);
    baton_program_fini(&p);
    return failures != 0;
}
