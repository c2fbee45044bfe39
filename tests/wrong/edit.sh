#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: edit.sh EDIT DIR
#
# Prints the source of a broken lock: a source of DIR (src/lock) changed as the file EDIT says, as a kind of its
# own that is called like the file, with what has to find it. EDIT has
#
#     any lines        what is wrong with it
#     source FILE KIND
#     check L+RxROUNDS DATA [swap] [no-gfence] [NAME=VALUE]
#     finds WORDS      an extended regular expression for what the check must say
#     -line            lines of the source that stand together, without regard to how far they are indented;
#     +line            what takes their place
#
# and more of such pairs. A line "@N" before a pair means its Nth place; otherwise there must be exactly one.
# Fails where there is nothing to change any more, so that no lock can be taken for broken that is not.
set -eu
awk -v edit="$1" -v dir="$2" '
    function fail(text) {
        print "edit.sh: " edit ": " text > "/dev/stderr"
        failed = 1
        exit 1
    }
    function trim(line) {
        sub(/^[ \t]+/, "", line)
        return line
    }
    function read(file,   line, found) {
        while ((getline line < file) > 0) {
            found = 1
            if (line == "#include \"lock/merge_rule.h\"") # so that the rule can be changed as well
                read(dir "/merge_rule.h")
            else
                text[++lines] = line
        }
        if (!found)
            fail("no " file)
        close(file)
    }
    function matches(at,   i) {
        for (i = 1; i <= olds; i++)
            if (trim(text[at + i - 1]) != trim(old[i]))
                return 0
        return 1
    }
    function change(   at, i, seen, place, n, out) {
        if (!olds)
            return
        for (at = 1; at + olds - 1 <= lines; at++)
            if (matches(at) && ++seen && (!nth || seen == nth) && !place)
                place = at
        if (!place || (!nth && seen > 1))
            fail(seen + 0 " places for: " old[1])
        for (i = 1; i < place; i++)
            out[++n] = text[i]
        for (i = 1; i <= news; i++)
            out[++n] = fresh[i]
        for (i = place + olds; i <= lines; i++)
            out[++n] = text[i]
        for (i = 1; i <= n; i++)
            text[i] = out[i]
        lines = n
        olds = news = nth = 0
        changed = 1
    }
    BEGIN {
        name = edit
        sub(/.*\//, "", name)
        sub(/\.edit$/, "", name)
        symbol = name
        gsub(/-/, "_", symbol)
        while ((getline line < edit) > 0) {
            if (line ~ /^source /) {
                split(line, word, " ")
                kind = word[3]
                read(dir "/" word[2])
            } else if (line ~ /^check /) {
                check = substr(line, 7)
            } else if (line ~ /^finds /) {
                finds = substr(line, 7)
            } else if (line ~ /^@/) {
                change()
                nth = substr(line, 2) + 0
            } else if (line ~ /^-/) {
                if (news)
                    change()
                old[++olds] = substr(line, 2)
            } else if (line ~ /^\+/) {
                fresh[++news] = substr(line, 2)
            }
        }
        change()
        plain = kind
        gsub(/-/, "_", plain)
        print "#include \"wrong.h\""
        print "extern const struct baton_lock_ops wrong_ops_" symbol ";"
        for (i = 1; i <= lines; i++) {
            line = text[i]
            if (line ~ "^const struct baton_lock_ops baton_lock_" plain " = ") {
                sub("baton_lock_" plain " ", "wrong_ops_" symbol " ", line)
                inside = 1
            } else if (line ~ /^const struct baton_lock_ops baton_lock_/) { # another kind of the same file
                sub("baton_lock_ops baton_lock_", "baton_lock_ops wrong_beside_" symbol "_", line)
                inside = 0
            }
            if (inside && sub("\\.name = \"" kind "\"", ".name = \"" name "\"", line))
                renamed = 1
            print line
        }
        if (!changed || !renamed || !check || !finds)
            fail("nothing changed, or no kind " kind ", or it does not say what finds it")
        print "const struct wrong_lock wrong_lock_" symbol " = {&wrong_ops_" symbol ", \"" check "\", \"" finds "\"};"
    }
    END { exit failed }' /dev/null
