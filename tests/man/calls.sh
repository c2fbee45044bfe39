#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: calls.sh C-COMPILER SOURCE-ROOT
#
# Shows that each call of the headers that programs use stands in a manual page of section 3, and that
# no page names a call that does not exist. What is declared is asked of the compiler.
set -u
cc=$1 root=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
printf '#include <baton/%s.h>\n' error fabric lock >"$work/all.c"
"$cc" -std=c11 -I"$root/include" -fsyntax-only -aux-info "$work/aux" "$work/all.c" || exit 1
called() { # headers
    sed -nE "s,^/\* [^ ]*/include/baton/($1)\.h:.* \*/ .*[ *](baton_[a-z0-9_]*) \(.*,\2,p" "$work/aux" | sort -u
}
# The inline calls of the header go through these where a world is not native.
called 'error|fabric|lock' | grep -v -x -E 'baton_ep_(load|store|swap|cas|faa|mfence)|baton_settle_slow' >"$work/needed"
called '[a-z]+' >"$work/declared"
grep -h -o -E '^\.F[no] "?baton_[a-z0-9_]+' "$root"/man/*.3 | sed 's/^.* "\{0,1\}//' | sort -u >"$work/told"
[ -s "$work/needed" ] || exit 1
status=0
comm -23 "$work/needed" "$work/told" | sed 's/$/: in no page/' >"$work/wrong"
comm -13 "$work/declared" "$work/told" | sed 's/$/: in a page, but there is no such call/' >>"$work/wrong"
[ ! -s "$work/wrong" ] || status=1
cat "$work/wrong"
exit $status
