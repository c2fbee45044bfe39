/* SPDX-License-Identifier: MIT */
/*
 * Bash completion, printed from the same tables that parse the options, so that the two can not
 * differ. The script finds out which subcommand the line is in, then offers its options, or the
 * values of the option before the cursor where the option's argument names them ("table|json|csv").
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const char head[] = "# SPDX-License-Identifier: MIT\n"
                           "# bash completion for baton, printed by the command itself\n"
                           "_baton()\n"
                           "{\n"
                           "    local cur=${COMP_WORDS[COMP_CWORD]} before=$((COMP_CWORD - 1))\n"
                           "    local path=baton options='' values='' i\n"
                           "    # bash makes three words of --format=json\n"
                           "    [ \"$cur\" != = ] || { cur='' before=$COMP_CWORD; }\n"
                           "    [ \"${COMP_WORDS[before]}\" != = ] || before=$((before - 1))\n"
                           "    local paths='";

static const char middle[] = "|'\n"
                             "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                             "        [[ $paths != *\"|$path ${COMP_WORDS[i]}|\"* ]] ||\n"
                             "            path+=\" ${COMP_WORDS[i]}\"\n"
                             "    done\n"
                             "    case \"$path ${COMP_WORDS[before]}\" in\n";

static const char values_end[] = "    esac\n"
                                 "    case $path in\n";

static const char tail[] = "    esac\n"
                           "    COMPREPLY=()\n"
                           "    if [ -n \"$values\" ]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
                           "    elif [[ $cur == -* || $options != -* ]]; then\n"
                           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
                           "    fi\n"
                           "}\n"
                           "# files where nothing better is known\n"
                           "complete -o default -F _baton baton\n";

/* What is printed about one command; its path is "baton litmus check". */
typedef void (*visit_fn)(const char *path, const struct cmd *cmd);

static void walk(const char *path, const struct cmd *const *subs, visit_fn visit)
{
    for (; *subs; subs++) {
        char full[128];
        snprintf(full, sizeof(full), "%s %s", path, (*subs)->name);
        visit(full, *subs);
        if ((*subs)->sub)
            walk(full, (*subs)->sub, visit);
    }
}

static void print_path(const char *path, const struct cmd *cmd)
{
    printf("|%s", path);
}

static bool is_end(const struct argp_option *o)
{
    return !o->key && !o->name && !o->doc && !o->group;
}

/* Calls `each` for every option that a user may see, those of child parsers too. */
static void each_option(const char *path, const struct argp *argp,
                        void (*each)(const char *path, const struct argp_option *o))
{
    for (const struct argp_option *o = argp->options; o && !is_end(o); o++)
        if (o->name && !(o->flags & (OPTION_HIDDEN | OPTION_DOC)))
            each(path, o);
    for (const struct argp_child *c = argp->children; c && c->argp; c++)
        each_option(path, c->argp, each);
}

/* The words of "NAME,..|all" that stand for themselves: small letters, digits, hyphens. */
static void print_choices(const char *path, const struct argp_option *o)
{
    if (!o->arg || !strchr(o->arg, '|'))
        return;
    bool open = false;
    for (const char *at = o->arg; *at;) {
        size_t n = strcspn(at, "|"), plain = 0;
        while (plain < n && (islower((unsigned char)at[plain]) ||
                             isdigit((unsigned char)at[plain]) || at[plain] == '-'))
            plain++;
        if (n && plain == n) {
            if (!open)
                printf("    \"%s --%s\") values='", path, o->name);
            printf("%s%.*s", open ? " " : "", (int)n, at);
            open = true;
        }
        at += n + (at[n] == '|');
    }
    if (open)
        puts("' ;;");
}

static void print_values(const char *path, const struct cmd *cmd)
{
    if (cmd->argp)
        each_option(path, cmd->argp, print_choices);
}

static void print_option(const char *path, const struct argp_option *o)
{
    printf("--%s ", o->name);
}

static void print_subs(const struct cmd *const *subs)
{
    for (; *subs; subs++)
        printf("%s ", (*subs)->name);
}

static void print_options(const char *path, const struct cmd *cmd)
{
    printf("    \"%s\") options='", path);
    if (cmd->sub)
        print_subs(cmd->sub);
    if (cmd->argp)
        each_option(path, cmd->argp, print_option);
    puts("--help' ;;");
}

int cmd_completion(const struct cmd *const *subs, const char *shell)
{
    if (strcmp(shell, "bash")) {
        fprintf(stderr, "baton: no completion for \"%s\"; there is: bash\n", shell);
        return CMD_USAGE;
    }
    fputs(head, stdout);
    walk("baton", subs, print_path);
    fputs(middle, stdout);
    walk("baton", subs, print_values);
    fputs(values_end, stdout);
    fputs("    baton) options='", stdout);
    print_subs(subs);
    puts("help --help --version' ;;");
    walk("baton", subs, print_options);
    fputs(tail, stdout);
    return CMD_OK;
}
