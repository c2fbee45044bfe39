/* SPDX-License-Identifier: MIT */
#include "json.h"

void json_text(FILE *to, const char *text)
{
    putc('"', to);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(to, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(to, "\\u%04x", *text);
        else
            putc(*text, to);
    putc('"', to);
}
