#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: options.sh BATON MAN-FOLDER
#
# Shows that each command has its manual page, and that page and command know the same options: the
# long names that `baton help` prints, from the tables that parse them, against those that the page
# names. The page of a command with subcommands is that of all of them together.
set -u
baton=$1 folder=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

# The names of the commands that help lists below the given ones.
commands() {
    "$baton" help "$@" | awk '/^Commands:/{on = 1; next} on && /^  /{print $1; next} {on = 0}'
}

# The long options of a command, and of those below it.
known() {
    local sub
    # shellcheck disable=SC2046  # names are words
    set -- "$@" -- $(commands "$@")
    local path=()
    while [ "$1" != -- ]; do path+=("$1") && shift; done
    shift
    "$baton" help "${path[@]}" | sed -n 's/^ \{2,6\}\(-., \)\?--\([a-z][a-z-]*\).*/\2/p'
    for sub; do known "${path[@]}" "$sub"; done
}

for command in $(commands); do
    page=$folder/baton-$command.1
    [ -f "$page" ] || {
        echo "baton $command has no page $(basename "$page")"
        status=1
        continue
    }
    known "$command" | sort -u >"$work/known"
    cat "$work/known" >>"$work/all"
    sed -n '/^\.It Fl/p' "$page" | grep -o 'Fl -[a-z][a-z-]*' | sed 's/Fl -//' | sort -u >"$work/told"
    if ! diff "$work/known" "$work/told" >"$work/diff"; then
        echo "options of baton $command (<) and of its page (>) differ:"
        grep '^[<>]' "$work/diff"
        status=1
    fi
    grep -q "^\.It Cm $command\$" "$folder/baton.1" || {
        echo "baton(1) does not tell of $command"
        status=1
    }
done
if [ "$(commands | wc -l)" -lt 3 ] || [ ! -s "$work/all" ]; then
    echo "the commands could not be listed"
    status=1
fi
exit $status
