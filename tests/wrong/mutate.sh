#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: mutate.sh SOURCE CALL FUNCTION NTH KIND NAME
#
# Prints the source of a kind of lock without the NTH occurrence of CALL (a fence or a settle, replaced by
# 0) in a function, as a kind of its own that is called wrong-NAME. Fails when there is no such occurrence any more, so
# that a test for a missing fence can not go on with nothing missing.
set -eu
awk -v call="$2" -v function_name="$3" -v nth="$4" -v kind="$5" -v name="wrong-$6" '
    BEGIN { symbol = name; gsub(/-/, "_", symbol); plain = kind; gsub(/-/, "_", plain) }
    {
        if (/^static .*\(/)
            here = $0 ~ "[ *]" function_name "\\("
        at = index($0, call)
        if (here && at && ++seen == nth) {
            $0 = substr($0, 1, at - 1) "0" substr($0, at + length(call))
            done = 1
        }
        if ($0 ~ "^const struct baton_lock_ops baton_lock_" plain " = ") {
            print "extern const struct baton_lock_ops " symbol ";"
            sub("baton_lock_" plain, symbol)
            inside = 1
        } else if (/^const struct baton_lock_ops baton_lock_/) { # another kind of the same file
            sub("baton_lock_ops baton_lock_", "baton_lock_ops " symbol "_beside_")
            inside = 0
        }
        if (inside && sub("\\.name = \"" kind "\"", ".name = \"" name "\""))
            renamed = 1
        print
    }
    END {
        if (!done || !renamed) {
            print "mutate.sh: nothing to change for " name > "/dev/stderr"
            exit 1
        }
    }' "$1"
