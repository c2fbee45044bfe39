/* SPDX-License-Identifier: MIT */
/*
 * Recursive descent with one token of lookahead. The only recursion is over parentheses in the
 * condition, and it is bounded; every table has a bound too (program.h), so that no input can make
 * the parser run long or deep.
 *
 * The first error ends the parse: `fail` notes it and sets the current token to END, at which every
 * loop stops.
 */
#include "model/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum token {
    END,
    NAME,
    INT,
    STRING,
    COMMENT,
    AND,    /* /\ */
    OR,     /* \/ */
    NEQ,    /* != */
    EQEQ,   /* == */
    SYMBOL, /* any other single character, in p->symbol */
};

struct parser {
    const char *text;
    size_t size, pos;
    size_t whole; /* the size of all the text; `size` ends with a comment while that is read */

    enum token token;
    size_t start, end; /* of the token */
    char symbol;
    uint64_t integer; /* value of INT; at most 2^63 */
    char name[BATON_NAME_MAX + 1];

    struct baton_program *program;
    struct baton_parse_error *error;
    int rc;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Notes the first error, at the byte `at`. Always returns false. */
__attribute__((format(printf, 3, 4))) static bool fail_at(struct parser *p, size_t at,
                                                          const char *format, ...)
{
    if (p->rc)
        return false;
    p->rc = -EINVAL;
    p->token = END;

    struct baton_parse_error *e = p->error;
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof(e->message), format, args);
    va_end(args);

    /* What is missing at the end is missing behind the last thing that is there. */
    if (at == p->whole)
        while (at > 0 && is_space(p->text[at - 1]))
            at--;
    size_t begin = at;
    while (begin > 0 && p->text[begin - 1] != '\n')
        begin--;
    e->line = 1;
    for (size_t i = 0; i < begin; i++)
        e->line += p->text[i] == '\n';
    e->column = (unsigned)(at - begin) + 1;
    if (at - begin >= sizeof(e->excerpt) / 2)
        begin = at - sizeof(e->excerpt) / 2;
    size_t n = 0;
    for (size_t i = begin; i < p->whole && p->text[i] != '\n' && n < sizeof(e->excerpt) - 1; i++)
        e->excerpt[n++] = p->text[i] >= ' ' && p->text[i] <= '~' ? p->text[i] : ' ';
    e->excerpt[n] = '\0';
    e->caret = (unsigned)(at - begin);
    return false;
}

#define fail(p, ...) fail_at(p, (p)->start, __VA_ARGS__)

/* Turns the code of a baton_program_add_* call into an error of the parse. */
static bool added(struct parser *p, int rc, const char *what)
{
    if (rc >= 0)
        return true;
    if (rc == -E2BIG)
        return fail(p, "too many %s", what);
    p->rc = rc;
    p->token = END;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek_at(const struct parser *p, size_t pos)
{
    return pos < p->size ? p->text[pos] : '\0';
}

static void lex_integer(struct parser *p)
{
    p->token = INT;
    p->integer = 0;
    while (is_digit(peek_at(p, p->pos))) {
        unsigned digit = (unsigned)(p->text[p->pos++] - '0');
        if (p->integer > ((uint64_t)INT64_MAX + 1 - digit) / 10) {
            fail(p, "the number does not fit into 64 bits");
            return;
        }
        p->integer = p->integer * 10 + digit;
    }
    if (is_letter(peek_at(p, p->pos)))
        fail(p, "a number cannot run into a name");
}

static void lex_name(struct parser *p)
{
    size_t n = 0;
    p->token = NAME;
    while (is_letter(peek_at(p, p->pos)) || is_digit(peek_at(p, p->pos))) {
        if (n == BATON_NAME_MAX) {
            fail(p, "the name is longer than %d letters", BATON_NAME_MAX);
            return;
        }
        p->name[n++] = p->text[p->pos++];
    }
    p->name[n] = '\0';
}

/* Comments and strings may not hold control characters: the formatter and JSON give them back as
 * they are. */
static bool is_text(char c)
{
    return (unsigned char)c >= ' ' && c != 127;
}

static void lex_string(struct parser *p)
{
    p->token = STRING;
    p->pos++;
    while (peek_at(p, p->pos) != '"') {
        if (p->pos >= p->size || !is_text(p->text[p->pos])) {
            fail(p, "the string has no end on this line");
            return;
        }
        p->pos++;
    }
    p->pos++;
}

static void lex_comment(struct parser *p)
{
    p->token = COMMENT;
    p->pos += 2;
    while (!(peek_at(p, p->pos) == '*' && peek_at(p, p->pos + 1) == ')')) {
        if (p->pos >= p->size) {
            fail(p, "the comment has no end; \"*)\" is missing");
            return;
        }
        if (!is_text(p->text[p->pos]) && !is_space(p->text[p->pos])) {
            fail_at(p, p->pos, "a control character in a comment");
            return;
        }
        p->pos++;
    }
    p->pos += 2;
}

static void advance(struct parser *p)
{
    if (p->rc)
        return;
    while (p->pos < p->size && is_space(p->text[p->pos]))
        p->pos++;
    p->start = p->pos;
    char c = peek_at(p, p->pos), c2 = peek_at(p, p->pos + 1);
    if (p->pos >= p->size) {
        p->token = END;
    } else if (is_letter(c)) {
        lex_name(p);
    } else if (is_digit(c)) {
        lex_integer(p);
    } else if (c == '"') {
        lex_string(p);
    } else if (c == '(' && c2 == '*') {
        lex_comment(p);
    } else if ((c == '/' && c2 == '\\') || (c == '\\' && c2 == '/') || (c == '!' && c2 == '=') ||
               (c == '=' && c2 == '=')) {
        p->token = c == '/' ? AND : c == '\\' ? OR : c == '!' ? NEQ : EQEQ;
        p->pos += 2;
    } else if (c != '\0' && strchr("{}();:|@=,#+-~", c)) {
        p->token = SYMBOL;
        p->symbol = c;
        p->pos++;
    } else if (is_text(c) && (unsigned char)c < 127) {
        fail(p, "the character '%c' has no meaning here", c);
    } else {
        fail(p, "the byte 0x%02x has no meaning here", (unsigned char)c);
    }
    p->end = p->pos;
}

static bool at_symbol(const struct parser *p, char c)
{
    return p->token == SYMBOL && p->symbol == c;
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->token == NAME && !strcmp(p->name, word);
}

static bool take_symbol(struct parser *p, char c)
{
    if (!at_symbol(p, c))
        return false;
    advance(p);
    return !p->rc;
}

static bool take_word(struct parser *p, const char *word)
{
    if (!at_word(p, word))
        return false;
    advance(p);
    return !p->rc;
}

static bool expect_symbol(struct parser *p, char c, const char *after)
{
    return take_symbol(p, c) || fail(p, "'%c' expected %s", c, after);
}

static bool expect_name(struct parser *p, char name[BATON_NAME_MAX + 1], const char *what)
{
    if (p->token != NAME)
        return fail(p, "%s expected", what);
    memcpy(name, p->name, sizeof(p->name));
    advance(p);
    return !p->rc;
}

/* An unsigned number in low..high. */
static bool expect_int(struct parser *p, unsigned *value, unsigned low, unsigned high,
                       const char *what)
{
    if (p->token != INT)
        return fail(p, "%s expected", what);
    if (p->integer < low || p->integer > high)
        return fail(p, "%s must be from %u to %u", what, low, high);
    *value = (unsigned)p->integer;
    advance(p);
    return !p->rc;
}

static bool expect_node(struct parser *p, unsigned *node)
{
    return expect_int(p, node, 1, p->program->nodes, "a node");
}

static bool expect_sint(struct parser *p, int64_t *value)
{
    bool negative = take_symbol(p, '-');
    if (p->token != INT)
        return fail(p, "a number expected");
    if (!negative && p->integer > INT64_MAX)
        return fail(p, "the number does not fit into 64 bits");
    *value = (int64_t)(negative ? -p->integer : p->integer);
    advance(p);
    return !p->rc;
}

static const char *const keywords[] = {
    "mfence",  "put",    "get",    "rcas",  "rfaa",    "wait",   "poll",
    "rfence",  "gfence", "assume", "acq",   "rel",     "cas",    "faa",
    "scwrite", "scread", "sccas",  "scfaa", "svwrite", "svread", "bcast",
    "exists",  "forall", "nodes",  "sc",    "sv",      "lock",   NULL,
};

static bool is_keyword(const char *name)
{
    for (const char *const *k = keywords; *k; k++)
        if (!strcmp(*k, name))
            return true;
    return false;
}

/* What a name was declared as; copies of an sv have '@' in their names and so are never found. */
static int find_loc(const struct parser *p, const char *name)
{
    for (unsigned i = 0; i < p->program->n_locs; i++)
        if (!strcmp(p->program->loc[i].name, name))
            return (int)i;
    return -1;
}

static int find_sv(const struct parser *p, const char *name)
{
    for (unsigned i = 0; i < p->program->n_svs; i++)
        if (!strcmp(p->program->sv[i].name, name))
            return (int)i;
    return -1;
}

static int find_lock(const struct parser *p, const char *name)
{
    for (unsigned i = 0; i < p->program->n_locks; i++)
        if (!strcmp(p->program->lock[i].name, name))
            return (int)i;
    return -1;
}

/* The name of a thing that is being declared: new, and no word of the language. */
static bool expect_new_name(struct parser *p, char name[BATON_NAME_MAX + 1])
{
    size_t at = p->start;
    if (!expect_name(p, name, "a name"))
        return false;
    if (is_keyword(name))
        return fail_at(p, at, "\"%s\" is a word of the language and cannot name anything", name);
    if (find_loc(p, name) >= 0 || find_sv(p, name) >= 0 || find_lock(p, name) >= 0)
        return fail_at(p, at, "\"%s\" is declared twice", name);
    return true;
}

static bool parse_header(struct parser *p)
{
    if (!take_word(p, "RDMA"))
        return fail(p, "a test begins with \"RDMA\" and its name");
    /* The test's name may hold '-' and '.': it is the file's name. It ends at white space. */
    size_t n = 0, at = p->start;
    while (at < p->size && !is_space(p->text[at])) {
        char c = p->text[at];
        if (!is_letter(c) && !is_digit(c) && (c == '\0' || !strchr("-.+", c)))
            return fail_at(p, at, "a test's name holds letters, digits and \"_-.+\" only");
        if (n == BATON_NAME_MAX)
            return fail_at(p, at, "the name is longer than %d letters", BATON_NAME_MAX);
        p->program->name[n++] = c;
        at++;
    }
    if (!n)
        return fail(p, "the name of the test expected");
    p->pos = at;
    advance(p);
    return !p->rc;
}

static char *copy_text(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

/* Does the comment's text begin, after blanks, with the word "Result"? */
static bool is_result(const struct parser *p)
{
    size_t at = p->start + 2;
    while (at < p->end && is_space(p->text[at]))
        at++;
    return p->end - at > 6 && !memcmp(p->text + at, "Result", 6) && !is_letter(p->text[at + 6]);
}

static bool parse_result(struct parser *p)
{
    /* Reads the comment's inside with the same lexer, then goes on behind it. */
    size_t begin = p->start, end = p->end, size = p->size;
    p->pos = begin + 2;
    p->size = end - 2;
    advance(p);
    advance(p); /* "Result" */
    struct baton_result result;
    int model = p->token == NAME ? baton_model_parse(p->name) : -1;
    if (model < 0)
        return fail(p, "a result names a model: tso, wait, spec or impl");
    result.model = (enum baton_model)model;
    for (unsigned i = 0; i < p->program->n_results; i++)
        if (p->program->result[i].model == result.model)
            return fail(p, "a second result for the model %s", p->name);
    advance(p);
    if (!expect_symbol(p, ':', "after the model"))
        return false;
    if (at_word(p, "Never"))
        result.verdict = BATON_NEVER;
    else if (at_word(p, "Sometimes"))
        result.verdict = BATON_SOMETIMES;
    else if (at_word(p, "Always"))
        result.verdict = BATON_ALWAYS;
    else
        return fail(p, "a result is Never, Sometimes or Always");
    advance(p);
    if (p->token != END)
        return fail(p, "only one result in a comment");
    p->program->result[p->program->n_results++] = result;
    p->size = size;
    p->pos = end;
    advance(p);
    return !p->rc;
}

static bool parse_comments(struct parser *p)
{
    struct baton_program *program = p->program;
    if (p->token == STRING) {
        program->title = copy_text(p->text + p->start + 1, p->end - p->start - 2);
        if (!program->title)
            return added(p, -ENOMEM, "");
        advance(p);
    }
    while (p->token == COMMENT) {
        if (is_result(p)) {
            if (!parse_result(p))
                return false;
            continue;
        }
        char **grown = realloc(program->comment, (program->n_comments + 1) * sizeof(*grown));
        if (!grown)
            return added(p, -ENOMEM, "");
        program->comment = grown;
        grown[program->n_comments] = copy_text(p->text + p->start, p->end - p->start);
        if (!grown[program->n_comments])
            return added(p, -ENOMEM, "");
        program->n_comments++;
        advance(p);
    }
    return !p->rc;
}

static bool parse_decl_loc(struct parser *p, enum baton_loc_kind kind)
{
    char name[BATON_NAME_MAX + 1];
    unsigned node;
    int64_t init = 0;
    if (!expect_new_name(p, name) || !expect_symbol(p, '@', "and a node after the location") ||
        !expect_node(p, &node) || (take_symbol(p, '=') && !expect_sint(p, &init)))
        return false;
    return !p->rc &&
           added(p, baton_program_add_loc(p->program, name, kind, node, init), "locations");
}

static bool parse_decl_sv(struct parser *p)
{
    char name[BATON_NAME_MAX + 1];
    int64_t init = 0;
    if (!expect_new_name(p, name) || (take_symbol(p, '=') && !expect_sint(p, &init)))
        return false;
    return !p->rc && added(p, baton_program_add_sv(p->program, name, init), "shared variables");
}

static bool parse_decl_lock(struct parser *p)
{
    char name[BATON_NAME_MAX + 1];
    unsigned node;
    enum baton_lock_kind kind;
    if (!expect_new_name(p, name) || !expect_symbol(p, ':', "after the lock's name"))
        return false;
    if (at_word(p, "wlock"))
        kind = BATON_LOCK_WLOCK;
    else if (at_word(p, "slock"))
        kind = BATON_LOCK_SLOCK;
    else if (at_word(p, "nlock"))
        kind = BATON_LOCK_NLOCK;
    else
        return fail(p, "a lock is a wlock, an slock or an nlock");
    advance(p);
    return expect_symbol(p, '@', "and a node after the kind of lock") && expect_node(p, &node) &&
           added(p, baton_program_add_lock(p->program, name, kind, node), "locks");
}

static bool parse_decls(struct parser *p)
{
    if (!expect_symbol(p, '{', "before the declarations"))
        return false;
    if (!take_word(p, "nodes"))
        return fail(p, "the first declaration is \"nodes\" and their number");
    if (!expect_int(p, &p->program->nodes, 1, BATON_NODES_MAX, "the number of nodes") ||
        !expect_symbol(p, ';', "after the declaration"))
        return false;
    while (!p->rc && !at_symbol(p, '}')) {
        bool ok;
        if (at_word(p, "nodes"))
            ok = fail(p, "\"nodes\" is declared twice");
        else if (take_word(p, "sc"))
            ok = parse_decl_loc(p, BATON_LOC_SC);
        else if (take_word(p, "sv"))
            ok = parse_decl_sv(p);
        else if (take_word(p, "lock"))
            ok = parse_decl_lock(p);
        else
            ok = parse_decl_loc(p, BATON_LOC_PLAIN);
        if (!ok || !expect_symbol(p, ';', "after the declaration"))
            return false;
    }
    return take_symbol(p, '}');
}

static bool parse_head(struct parser *p)
{
    do {
        char want[16];
        unsigned node = 1;
        snprintf(want, sizeof(want), "P%u", p->program->n_threads);
        if (!take_word(p, want))
            return fail(p, "the thread \"%s\" and its node expected", want);
        if (!expect_symbol(p, '@', "and a node after the thread") || !expect_node(p, &node) ||
            !added(p, baton_program_add_thread(p->program, node), "threads"))
            return false;
    } while (take_symbol(p, '|'));
    return !p->rc && expect_symbol(p, ';', "after the threads");
}

/* Where a location that an operation names must be. */
enum place { ON_THREAD_NODE, ANYWHERE };

static bool check_loc(struct parser *p, size_t at, const char *name, unsigned thread,
                      enum place place, enum baton_loc_kind kind, int *loc)
{
    int found = find_loc(p, name);
    unsigned node = p->program->thread[thread].node;
    if (found < 0 && find_sv(p, name) >= 0)
        return fail_at(p, at, "\"%s\" is an sv; use svwrite, svread and bcast", name);
    if (found < 0 && find_lock(p, name) >= 0)
        return fail_at(p, at, "\"%s\" is a lock, not a location", name);
    if (found < 0)
        return fail_at(p, at, "\"%s\" is not declared as a location", name);
    const struct baton_loc *l = &p->program->loc[found];
    if (l->kind == BATON_LOC_SC && kind == BATON_LOC_PLAIN)
        return fail_at(p, at, "\"%s\" is sc; use scwrite, scread, sccas and scfaa", name);
    if (l->kind == BATON_LOC_PLAIN && kind == BATON_LOC_SC)
        return fail_at(p, at, "\"%s\" is not declared as sc", name);
    if (place == ON_THREAD_NODE && l->node != node)
        return fail_at(p, at, "\"%s\" is on node %u, and must be on the thread's node %u", name,
                       l->node, node);
    *loc = found;
    return true;
}

static bool expect_loc(struct parser *p, unsigned thread, enum place place,
                       enum baton_loc_kind kind, int *loc)
{
    char name[BATON_NAME_MAX + 1];
    size_t at = p->start;
    return expect_name(p, name, "a location") && check_loc(p, at, name, thread, place, kind, loc);
}

/* A name that is used as a register: anything undeclared. */
static bool check_reg(struct parser *p, size_t at, const char *name, unsigned thread, int *reg)
{
    if (is_keyword(name))
        return fail_at(p, at, "\"%s\" is a word of the language, not a register", name);
    if (find_loc(p, name) >= 0)
        return fail_at(p, at, "\"%s\" is a location; load it into a register first", name);
    if (find_sv(p, name) >= 0 || find_lock(p, name) >= 0)
        return fail_at(p, at, "\"%s\" is no register", name);
    *reg = baton_program_add_reg(p->program, thread, name);
    return added(p, *reg, "registers in one thread");
}

/*
 * expr. With `loc` given, a single declared location is taken too: *loc gets its name's index and
 * the expression stays empty.
 */
static bool parse_expr(struct parser *p, unsigned thread, struct baton_expr *expr, int *loc)
{
    bool negative = false;
    expr->n = 0;
    for (;;) {
        struct baton_term term = {.negative = negative};
        if (expr->n == BATON_TERMS_MAX)
            return fail(p, "more than %d terms in an expression", BATON_TERMS_MAX);
        if (p->token == NAME) {
            char name[BATON_NAME_MAX + 1];
            size_t at = p->start;
            int reg;
            if (!expect_name(p, name, "a term"))
                return false;
            bool single = expr->n == 0 && !at_symbol(p, '+') && !at_symbol(p, '-');
            if (loc && single && find_loc(p, name) >= 0)
                return check_loc(p, at, name, thread, ON_THREAD_NODE, BATON_LOC_PLAIN, loc);
            if (!check_reg(p, at, name, thread, &reg))
                return false;
            term.is_reg = true;
            term.value = reg;
        } else if (!expect_sint(p, &term.value)) {
            return false;
        }
        expr->term[expr->n++] = term;
        if (take_symbol(p, '+'))
            negative = false;
        else if (take_symbol(p, '-'))
            negative = true;
        else
            return !p->rc;
    }
}

static bool comma(struct parser *p)
{
    return expect_symbol(p, ',', "between operands");
}

/* [ "#" NAME ] */
static bool parse_id(struct parser *p, int *id)
{
    char name[BATON_NAME_MAX + 1];
    if (!take_symbol(p, '#'))
        return !p->rc;
    if (!expect_name(p, name, "a work id after '#'"))
        return false;
    *id = baton_program_add_id(p->program, name);
    return added(p, *id, "work ids");
}

/* INT {"," INT}: a set of nodes */
static bool parse_nodes(struct parser *p, uint32_t *nodes)
{
    do {
        unsigned node = 1;
        if (!expect_node(p, &node))
            return false;
        *nodes |= 1u << (node - 1);
    } while (take_symbol(p, ','));
    return !p->rc;
}

static bool expect_sv(struct parser *p, int *sv)
{
    char name[BATON_NAME_MAX + 1];
    size_t at = p->start;
    if (!expect_name(p, name, "a shared variable"))
        return false;
    *sv = find_sv(p, name);
    return *sv >= 0 || fail_at(p, at, "\"%s\" is not declared as an sv", name);
}

static bool expect_lock(struct parser *p, int *lock)
{
    char name[BATON_NAME_MAX + 1];
    size_t at = p->start;
    if (!expect_name(p, name, "a lock"))
        return false;
    *lock = find_lock(p, name);
    return *lock >= 0 || fail_at(p, at, "\"%s\" is not declared as a lock", name);
}

/* NAME "=" ..: what stands on the right, and what the name is, say which operation it is. */
static bool parse_assignment(struct parser *p, unsigned t, struct baton_op *op)
{
    char name[BATON_NAME_MAX + 1];
    size_t at = p->start;
    if (!expect_name(p, name, "an operation"))
        return false;
    if (!at_symbol(p, '='))
        return fail_at(p, at, "there is no operation \"%s\"", name);
    advance(p);

    enum baton_op_kind kind = BATON_OP_KINDS;
    if (take_word(p, "cas"))
        kind = BATON_OP_CAS;
    else if (take_word(p, "faa"))
        kind = BATON_OP_FAA;
    else if (take_word(p, "scread"))
        kind = BATON_OP_SCREAD;
    else if (take_word(p, "sccas"))
        kind = BATON_OP_SCCAS;
    else if (take_word(p, "scfaa"))
        kind = BATON_OP_SCFAA;
    else if (take_word(p, "svread"))
        kind = BATON_OP_SVREAD;
    if (p->rc)
        return false;

    if (kind == BATON_OP_KINDS) {
        if (find_loc(p, name) >= 0) {
            *op = baton_op_make(BATON_OP_STORE);
            return check_loc(p, at, name, t, ON_THREAD_NODE, BATON_LOC_PLAIN, &op->loc) &&
                   parse_expr(p, t, &op->a, NULL);
        }
        int loc = -1;
        *op = baton_op_make(BATON_OP_LET);
        if (!check_reg(p, at, name, t, &op->reg) || !parse_expr(p, t, &op->a, &loc))
            return false;
        if (loc >= 0) {
            op->kind = BATON_OP_LOAD;
            op->loc = loc;
        }
        return true;
    }
    *op = baton_op_make(kind);
    if (!check_reg(p, at, name, t, &op->reg))
        return false;
    if (kind == BATON_OP_SVREAD)
        return expect_sv(p, &op->sv);
    bool sc = kind == BATON_OP_SCREAD || kind == BATON_OP_SCCAS || kind == BATON_OP_SCFAA;
    if (!expect_loc(p, t, sc ? ANYWHERE : ON_THREAD_NODE, sc ? BATON_LOC_SC : BATON_LOC_PLAIN,
                    &op->loc))
        return false;
    if (kind == BATON_OP_SCREAD)
        return true;
    if (!comma(p) || !parse_expr(p, t, &op->a, NULL))
        return false;
    if (kind == BATON_OP_FAA || kind == BATON_OP_SCFAA)
        return true;
    return comma(p) && parse_expr(p, t, &op->b, NULL);
}

static bool parse_op(struct parser *p, unsigned t, struct baton_op *op)
{
    if (take_word(p, "mfence")) {
        *op = baton_op_make(BATON_OP_MFENCE);
        return !p->rc;
    }
    if (take_word(p, "put")) {
        *op = baton_op_make(BATON_OP_PUT);
        return expect_loc(p, t, ANYWHERE, BATON_LOC_PLAIN, &op->loc) && comma(p) &&
               parse_expr(p, t, &op->a, &op->local) && parse_id(p, &op->id);
    }
    if (take_word(p, "get")) {
        *op = baton_op_make(BATON_OP_GET);
        return expect_loc(p, t, ON_THREAD_NODE, BATON_LOC_PLAIN, &op->local) && comma(p) &&
               expect_loc(p, t, ANYWHERE, BATON_LOC_PLAIN, &op->loc) && parse_id(p, &op->id);
    }
    bool cas = at_word(p, "rcas");
    if (cas || at_word(p, "rfaa")) {
        advance(p);
        *op = baton_op_make(cas ? BATON_OP_RCAS : BATON_OP_RFAA);
        return expect_loc(p, t, ON_THREAD_NODE, BATON_LOC_PLAIN, &op->local) && comma(p) &&
               expect_loc(p, t, ANYWHERE, BATON_LOC_PLAIN, &op->loc) && comma(p) &&
               parse_expr(p, t, &op->a, NULL) &&
               (!cas || (comma(p) && parse_expr(p, t, &op->b, NULL))) && parse_id(p, &op->id);
    }
    if (take_word(p, "wait")) {
        char name[BATON_NAME_MAX + 1];
        *op = baton_op_make(BATON_OP_WAIT);
        if (!expect_name(p, name, "a work id"))
            return false;
        op->id = baton_program_add_id(p->program, name);
        return added(p, op->id, "work ids");
    }
    bool poll = at_word(p, "poll");
    if (poll || at_word(p, "rfence")) {
        advance(p);
        *op = baton_op_make(poll ? BATON_OP_POLL : BATON_OP_RFENCE);
        return expect_node(p, &op->node);
    }
    if (take_word(p, "gfence")) {
        *op = baton_op_make(BATON_OP_GFENCE);
        return parse_nodes(p, &op->nodes);
    }
    if (take_word(p, "assume")) {
        *op = baton_op_make(BATON_OP_ASSUME);
        if (!parse_expr(p, t, &op->a, NULL))
            return false;
        if (p->token != EQEQ)
            return fail(p, "\"==\" expected in an assumption");
        advance(p);
        return parse_expr(p, t, &op->b, NULL);
    }
    bool acquire = at_word(p, "acq");
    if (acquire || at_word(p, "rel")) {
        advance(p);
        *op = baton_op_make(acquire ? BATON_OP_ACQ : BATON_OP_REL);
        return expect_lock(p, &op->lock);
    }
    if (take_word(p, "scwrite")) {
        *op = baton_op_make(BATON_OP_SCWRITE);
        return expect_loc(p, t, ANYWHERE, BATON_LOC_SC, &op->loc) && comma(p) &&
               parse_expr(p, t, &op->a, NULL);
    }
    if (take_word(p, "svwrite")) {
        *op = baton_op_make(BATON_OP_SVWRITE);
        return expect_sv(p, &op->sv) && comma(p) && parse_expr(p, t, &op->a, NULL);
    }
    if (take_word(p, "bcast")) {
        *op = baton_op_make(BATON_OP_BCAST);
        return expect_sv(p, &op->sv) && (!take_symbol(p, ',') || parse_nodes(p, &op->nodes)) &&
               parse_id(p, &op->id);
    }
    return parse_assignment(p, t, op);
}

static bool at_quantifier(const struct parser *p)
{
    return at_word(p, "exists") || at_word(p, "forall") || at_symbol(p, '~');
}

static bool parse_rows(struct parser *p)
{
    while (!p->rc && !at_quantifier(p)) {
        for (unsigned t = 0;; t++) {
            if (!at_symbol(p, '|') && !at_symbol(p, ';')) {
                struct baton_op op;
                if (!parse_op(p, t, &op))
                    return false;
                op.source = p->program->thread[t].n_ops;
                if (!added(p, baton_program_add_op(p->program, t, &op), "operations in one thread"))
                    return false;
            }
            if (take_symbol(p, ';'))
                break;
            if (!at_symbol(p, '|'))
                return fail(p, "'|' or ';' expected after the operation");
            if (t + 1 == p->program->n_threads)
                return fail(p, "the row has more columns than there are threads");
            advance(p);
        }
    }
    return !p->rc;
}

/* A value before columns are numbered: conditions come last, so that every register is known by
 * then. */
static bool parse_value(struct parser *p, struct baton_cond_value *value, int *thread)
{
    *thread = -1;
    *value = (struct baton_cond_value){0};
    if (p->token == NAME) {
        char name[BATON_NAME_MAX + 1];
        size_t at = p->start;
        if (!expect_name(p, name, "a value"))
            return false;
        int sv = find_sv(p, name), loc = find_loc(p, name);
        value->is_column = true;
        if (sv >= 0) {
            unsigned node = 1;
            if (!take_symbol(p, '@'))
                return fail_at(p, at, "\"%s\" is an sv: name one copy, as in \"%s@1\"", name, name);
            if (!expect_node(p, &node))
                return false;
            value->value = p->program->sv[sv].copy + node - 1;
            return true;
        }
        if (loc < 0)
            return fail_at(p, at, "\"%s\" is not declared; a register is written THREAD:NAME",
                           name);
        if (at_symbol(p, '@'))
            return fail(p, "\"%s\" is no sv and has one copy only", name);
        value->value = loc;
        return true;
    }
    bool negative = at_symbol(p, '-');
    size_t at = p->start;
    int64_t number;
    if (!negative && p->token != INT)
        return fail(p, "a value expected: a number, a location or THREAD:REGISTER");
    if (!expect_sint(p, &number))
        return false;
    if (negative || !at_symbol(p, ':')) {
        value->value = number;
        return true;
    }
    advance(p);
    if (number >= p->program->n_threads)
        return fail_at(p, at, "there is no thread P%lld", (long long)number);
    char name[BATON_NAME_MAX + 1];
    size_t name_at = p->start;
    int reg;
    if (!expect_name(p, name, "a register") || !check_reg(p, name_at, name, (unsigned)number, &reg))
        return false;
    value->is_column = true;
    value->value = reg;
    *thread = (int)number;
    return true;
}

/*
 * A register met for the first time in the condition moves the columns of what follows it, so
 * columns can only be numbered at the end. Until then a column holds (thread + 1) << 32 | index,
 * with thread -1 for a location.
 */
static bool parse_column(struct parser *p, struct baton_cond_value *value)
{
    int thread;
    if (!parse_value(p, value, &thread))
        return false;
    if (value->is_column)
        value->value |= (int64_t)(thread + 1) << 32;
    return true;
}

static void resolve_column(const struct baton_program *program, struct baton_cond_value *value)
{
    if (!value->is_column)
        return;
    int64_t thread = value->value >> 32, index = value->value & 0xffffffff;
    value->value = index + (thread ? program->thread[thread - 1].column : program->loc_column);
}

static bool add_cond(struct parser *p, const struct baton_cond *cond, unsigned *at)
{
    int rc = baton_program_add_cond(p->program, cond);
    if (!added(p, rc, "terms in the condition"))
        return false;
    *at = (unsigned)rc;
    return true;
}

static bool parse_cond(struct parser *p, unsigned depth, unsigned *at);

static bool parse_lit(struct parser *p, unsigned depth, unsigned *at)
{
    unsigned nots = 0;
    while (take_symbol(p, '~'))
        nots++;
    if (at_symbol(p, '(')) {
        if (depth == BATON_COND_DEPTH_MAX)
            return fail(p, "more than %d parentheses open", BATON_COND_DEPTH_MAX);
        advance(p);
        if (!parse_cond(p, depth + 1, at) || !expect_symbol(p, ')', "after the condition"))
            return false;
    } else {
        struct baton_cond cond = {.kind = BATON_COND_EQ};
        if (!parse_column(p, &cond.a))
            return false;
        if (p->token == NEQ)
            cond.kind = BATON_COND_NE;
        else if (!at_symbol(p, '='))
            return fail(p, "'=' or \"!=\" expected in the condition");
        advance(p);
        if (!parse_column(p, &cond.b) || !add_cond(p, &cond, at))
            return false;
    }
    if (nots % 2 == 0)
        return !p->rc;
    return add_cond(p, &(struct baton_cond){.kind = BATON_COND_NOT, .left = *at}, at);
}

static bool parse_conj(struct parser *p, unsigned depth, unsigned *at)
{
    if (!parse_lit(p, depth, at))
        return false;
    while (p->token == AND) {
        struct baton_cond cond = {.kind = BATON_COND_AND, .left = *at};
        advance(p);
        if (!parse_lit(p, depth, &cond.right) || !add_cond(p, &cond, at))
            return false;
    }
    return !p->rc;
}

static bool parse_cond(struct parser *p, unsigned depth, unsigned *at)
{
    if (!parse_conj(p, depth, at))
        return false;
    while (p->token == OR) {
        struct baton_cond cond = {.kind = BATON_COND_OR, .left = *at};
        advance(p);
        if (!parse_conj(p, depth, &cond.right) || !add_cond(p, &cond, at))
            return false;
    }
    return !p->rc;
}

static bool parse_quantified(struct parser *p)
{
    struct baton_program *program = p->program;
    bool negated = take_symbol(p, '~');
    if (take_word(p, "exists"))
        program->quantifier = negated ? BATON_NOT_EXISTS : BATON_EXISTS;
    else if (!negated && take_word(p, "forall"))
        program->quantifier = BATON_FORALL;
    else
        return fail(p, "\"exists\", \"~exists\" or \"forall\" expected");
    if (!expect_symbol(p, '(', "before the condition") || !parse_cond(p, 0, &program->cond_root))
        return false;
    /* Not taken before the end is seen: what follows ')' is an error of its own. */
    if (!expect_symbol(p, ')', "after the condition"))
        return false;
    if (p->token != END)
        return fail(p, "nothing may follow the condition");
    baton_program_seal(program);
    for (unsigned i = 0; i < program->n_conds; i++) {
        resolve_column(program, &program->cond[i].a);
        resolve_column(program, &program->cond[i].b);
    }
    return true;
}

int baton_program_parse(const char *text, size_t size, struct baton_program *program,
                        struct baton_parse_error *error)
{
    struct parser p = {
        .text = text, .size = size, .whole = size, .program = program, .error = error};
    baton_program_init(program);
    *error = (struct baton_parse_error){0};
    advance(&p);
    if (parse_header(&p) && parse_comments(&p) && parse_decls(&p) && parse_head(&p) &&
        parse_rows(&p))
        parse_quantified(&p);
    if (p.rc)
        baton_program_fini(program);
    return p.rc;
}

void baton_parse_error_print(const struct baton_parse_error *error, const char *file, FILE *to)
{
    fprintf(to, "%s:%u:%u: %s\n  %s\n  %*s^\n", file, error->line, error->column, error->message,
            error->excerpt, (int)error->caret, "");
}
