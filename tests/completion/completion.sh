#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: completion.sh COMMAND...
# COMMAND prints the completion script of the commands in sample.c. Shows that the script offers what
# the tables hold, at each place of a line, and nothing that they hide.
set -u
script=$("$@") || exit 1
eval "$script"
status=0

# The line ends where the cursor is; its words are given as bash splits them.
offers() { # expected word...
    local expected=$1 got
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _baton
    got=${COMPREPLY[*]}
    [ "$got" = "$expected" ] && return
    echo "at \"$*\": offered \"$got\", expected \"$expected\""
    status=1
}
offers 'bench info help --help --version' baton ''
offers 'bench' baton b
offers 'bench' baton help b
offers 'lock --help' baton bench ''
offers '--format --form --lock --pin --seed --help' baton bench lock --
offers '--pin' baton bench lock --seed 3 --p
offers '' baton bench lock ''
offers 'table json csv' baton bench lock --format ''
offers 'json' baton bench lock --format = j
offers 'table json csv' baton bench lock --format =
offers 'all' baton bench lock --pin --lock a
offers '--seed --help' baton info -
offers '' baton info --seed ''
exit $status
