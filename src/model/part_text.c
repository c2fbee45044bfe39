/* SPDX-License-Identifier: MIT */
/*
 * Words for the parts of a program. Operations are quoted as written, also those that were lowered.
 */
#include "model/part_text.h"

#include <stdio.h>

void baton_part_op_text(const struct baton_candidate *c, const struct baton_program *program,
                        unsigned part, char *buf, size_t size)
{
    char op[BATON_PART_TEXT];
    unsigned thread = c->part[part].thread, at = c->part[part].op;
    if (c->program != program)
        at = c->program->thread[thread].op[at].source;
    baton_op_print(program, thread, &program->thread[thread].op[at], op, sizeof(op));
    snprintf(buf, size, "P%u \"%s\"", thread, op);
}

void baton_part_text(const struct baton_candidate *c, unsigned part, char *buf, size_t size)
{
    const struct baton_part *p = &c->part[part];
    const char *words = baton_stamp_words(p->stamp);
    if (p->library && p->loc >= 0)
        snprintf(buf, size, "%s of %s", p->writes ? p->reads ? "SC update" : "SC write" : "SC read",
                 c->program->loc[p->loc].name);
    else if (p->loc >= 0)
        snprintf(buf, size, "%s of %s", words, c->program->loc[p->loc].name);
    else if (p->stamp == BATON_STAMP_NLR)
        snprintf(buf, size, "%s of its constant", words);
    else if (p->node)
        snprintf(buf, size, "%s towards node %u", words, p->node);
    else
        snprintf(buf, size, "%s", words);
}
