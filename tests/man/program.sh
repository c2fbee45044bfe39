#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: program.sh C-COMPILER SOURCE-ROOT SHARED-LIBRARY
#
# Shows that the programs in the manual pages work as they stand: each that follows a comment
# "program" is cut out, compiled as strict C11 without a warning, linked with the library and run,
# and says something.
set -u
cc=$1 root=$2 library=$3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0 programs=0
for page in "$root"/man/*.3; do
    grep -q '^\.\\" program$' "$page" || continue
    programs=$((programs + 1))
    awk '/^\.\\" program$/{on = 1; next} on && /^\.Bd/{copy = 1; next} copy && /^\.Ed/{exit} copy' "$page" |
        sed 's/\\e/\\/g; s/^\\&//' >"$work/program.c"
    if ! "$cc" -std=c11 -Wall -Wextra -Werror -pedantic -I"$root/include" "$work/program.c" "$library" \
        "-Wl,-rpath,$(dirname "$library")" -o "$work/program"; then
        echo "the program in $(basename "$page") does not compile"
        status=1
    elif ! "$work/program" >"$work/out" || [ ! -s "$work/out" ]; then
        echo "the program in $(basename "$page") failed"
        status=1
    fi
done
[ "$programs" -ge 2 ] || {
    echo "only $programs programs found"
    status=1
}
exit $status
