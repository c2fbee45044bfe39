# SPDX-License-Identifier: MIT
# Reads the output of code.awk and prints the loops that wait by themselves: a `for (;;)`, `while` or
# `do` whose text (with the loops inside it) reads a shared word and neither leaves the waiting to
# baton_await or baton_relax nor tries a compare-and-swap again with the value it just saw.
function word_at(pos, word) {
    return substr(text, pos, length(word)) == word &&
           substr(text, pos - 1, 1) !~ /[A-Za-z0-9_]/ &&
           substr(text, pos + length(word), 1) !~ /[A-Za-z0-9_]/
}
function solid(pos) { # the first place from `pos` on that is not blank
    while (pos <= length(text) && substr(text, pos, 1) ~ /[ \t\n]/)
        pos++
    return pos
}
function behind(pos,    depth, c) { # just behind the partner of the bracket at `pos`
    for (; pos <= length(text); pos++) {
        c = substr(text, pos, 1)
        if (c == "(" || c == "{")
            depth++
        else if ((c == ")" || c == "}") && --depth == 0)
            break
    }
    return pos + 1
}
function condition(pos) { # just behind the bracketed part of an if, for, while at `pos`
    return behind(pos + index(substr(text, pos), "(") - 1)
}
function semicolon(pos,    c) { # just behind the semicolon that ends a plain statement
    while (pos <= length(text)) {
        c = substr(text, pos, 1)
        if (c == ";" || c == "}")
            return pos + 1
        pos = c == "(" || c == "{" ? behind(pos) : pos + 1
    }
    return pos
}
function statement(pos) { # just behind the statement at `pos`
    pos = solid(pos)
    if (substr(text, pos, 1) == "{")
        return behind(pos)
    if (word_at(pos, "do"))
        return semicolon(statement(pos + 2))
    if (word_at(pos, "for") || word_at(pos, "while") || word_at(pos, "switch"))
        return statement(condition(pos))
    if (word_at(pos, "if")) {
        pos = statement(condition(pos))
        return word_at(solid(pos), "else") ? statement(solid(pos) + 4) : pos
    }
    return semicolon(pos)
}
function judge(from, to,    loop, i) {
    loop = substr(text, from, to - from)
    if (loop !~ /baton_(ep_|word_)?(load|get|peek)[A-Za-z0-9_]*[ \t\n]*\(/ ||
        loop ~ /baton_(await|relax|rcas|cas)[A-Za-z0-9_]*[ \t\n]*\(/)
        return
    for (i = lines; at[i] > from; i--)
        ;
    print file ":" i ": waits on a shared word without baton_await or baton_relax"
}
function judge_file(    pos, tail) {
    split("", of_do) # the `while` that ends a do loop, judged with its body already
    for (pos = 1; match(substr(text, pos), /for|while|do/); pos = pos + 2) {
        pos = pos + RSTART - 1
        if (word_at(pos, "do")) {
            tail = solid(statement(pos + 2))
            of_do[tail] = 1
            judge(pos, semicolon(tail))
        } else if (word_at(pos, "while") && !(pos in of_do)) {
            judge(pos, statement(condition(pos)))
        } else if (word_at(pos, "for") &&
                   substr(text, pos, condition(pos) - pos) ~ /^for[^;]*;[ \t\n]*;/) {
            judge(pos, statement(condition(pos)))
        }
    }
}
{
    split($0, part, ":")
    if (part[1] != file) {
        judge_file()
        file = part[1]
        text = ""
        lines = 0
    }
    at[++lines] = length(text) + 1
    text = text substr($0, length(part[1]) + length(part[2]) + 3) "\n"
}
END { judge_file() }
