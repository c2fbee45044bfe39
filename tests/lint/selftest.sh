#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that every lint fires on the samples in bad/, at the lines it should and at no others.
# usage: selftest.sh; compares with expected/RULE, which lists the lines by file and number.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
status=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for expected in "$here"/expected/*; do
    rule=${expected##*/}
    "$here/lint.sh" "$rule" "$here/bad" >"$out" && {
        echo "$rule: exit status 0 on bad code"
        status=1
    }
    sed -nE 's/^(mandoc: )?([^ :]*):([0-9]+):.*/\2:\3/p; s/^In (.*) line ([0-9]+):/\1:\2/p' \
        "$out" | sort -u | diff "$expected" - || {
        echo "$rule: other lines than in expected/$rule"
        status=1
    }
done
exit $status
