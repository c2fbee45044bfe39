# SPDX-License-Identifier: MIT
# Prints "file:line:code" for every line of C, with comments and the insides of strings and characters
# taken out, so that the lints look at code only. With -v keep=1 the strings stay (for #include "...").
function blank(line,    out, c, two) {
    out = ""
    while (line != "") {
        if (inside) {
            c = index(line, "*/")
            if (!c)
                return out
            line = substr(line, c + 2)
            inside = 0
            out = out " "
            continue
        }
        c = match(line, /["'\/]/)
        if (!c)
            return out line
        out = out substr(line, 1, c - 1)
        two = substr(line, c, 2)
        c = substr(line, c)
        if (two == "/*") {
            inside = 1
            line = substr(c, 3)
        } else if (two == "//") {
            return out
        } else if (substr(c, 1, 1) == "/") {
            out = out "/"
            line = substr(c, 2)
        } else if (match(c, /^"([^"\\]|\\.)*"/) || match(c, /^'([^'\\]|\\.)*'/)) {
            out = out (keep ? substr(c, 1, RLENGTH) : "\"\"")
            line = substr(c, RLENGTH + 1)
        } else { # a quote without its partner: an apostrophe in #error text, or in assembly
            out = out substr(c, 1, 1)
            line = substr(c, 2)
        }
    }
    return out
}
FNR == 1 { inside = 0 }
{ print FILENAME ":" FNR ":" blank($0) }
