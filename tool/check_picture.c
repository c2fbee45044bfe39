/* SPDX-License-Identifier: MIT */
/* Pictures of stories; see check_picture.h. */
#include "check_picture.h"

#include <stdlib.h>
#include <string.h>

#define ACTORS_MAX 64
#define NAME_MAX_BYTES 64

struct check_picture {
    FILE *body;
    char *text;
    size_t bytes;
    unsigned steps, actors;
    char names[ACTORS_MAX][NAME_MAX_BYTES];
    unsigned last[ACTORS_MAX]; /* step of the actor, 0 none */
};

static void quote(FILE *to, const char *text, size_t n)
{
    for (size_t i = 0; i < n && text[i]; i++) {
        if (text[i] == '"' || text[i] == '\\')
            fputc('\\', to);
        fputc(text[i], to);
    }
}

struct check_picture *check_picture_begin(const char *title)
{
    struct check_picture *p = calloc(1, sizeof(*p));
    if (p)
        p->body = open_memstream(&p->text, &p->bytes);
    if (!p || !p->body) {
        free(p);
        return NULL;
    }
    fprintf(p->body, "    label=\"");
    quote(p->body, title, strlen(title));
    fprintf(p->body, "\";\n");
    return p;
}

static unsigned actor(struct check_picture *p, const char *name, size_t n)
{
    unsigned a = 0;
    while (a < p->actors && (strncmp(p->names[a], name, n) || p->names[a][n]))
        a++;
    if (a == p->actors && a < ACTORS_MAX && n < NAME_MAX_BYTES) {
        memcpy(p->names[a], name, n);
        p->actors++;
    }
    return a;
}

void check_picture_line(struct check_picture *p, const char *line)
{
    const char *colon = strstr(line, ": ");
    if (*line == ' ' || !colon)
        return;
    unsigned a = actor(p, line, (size_t)(colon - line));
    const char *what = colon + 2, *why = strstr(what, ": ");
    if (a == p->actors)
        return;
    p->steps++;
    fprintf(p->body, "    s%u [group=\"a%u\", label=\"%u. ", p->steps, a, p->steps);
    quote(p->body, what, why ? (size_t)(why - what) : strlen(what));
    fprintf(p->body, "\", tooltip=\"");
    quote(p->body, why ? why + 2 : "", why ? strlen(why + 2) : 0);
    fprintf(p->body, "\"];\n");
    if (p->last[a])
        fprintf(p->body, "    s%u -> s%u [weight=10];\n", p->last[a], p->steps);
    else
        fprintf(p->body, "    a%u -> s%u [weight=10, arrowhead=none];\n", a, p->steps);
    if (p->steps > 1)
        fprintf(p->body, "    s%u -> s%u [style=dotted, constraint=true, arrowhead=none];\n",
                p->steps - 1, p->steps);
    p->last[a] = p->steps;
}

void check_picture_end(struct check_picture *p, FILE *to)
{
    fclose(p->body);
    fprintf(to, "digraph story {\n    node [shape=box, fontname=\"sans\", fontsize=10];\n"
                "    { rank=same;\n");
    for (unsigned a = 0; a < p->actors; a++) {
        fprintf(to, "        a%u [group=\"a%u\", shape=plaintext, label=\"", a, a);
        quote(to, p->names[a], NAME_MAX_BYTES);
        fprintf(to, "\"];\n");
    }
    fprintf(to, "    }\n%s}\n", p->text);
    free(p->text);
    free(p);
}
