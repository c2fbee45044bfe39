#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: lint.sh RULE ROOT
#
# The rules of this tree that a compiler does not know. Prints "file:line: what is wrong" for each
# breach; exit status 1 if there was one. The rules look at code with comments and strings taken out.
#   spdx     every source opens with its licence
#   atomics  one header maps purposes to atomics; nobody else orders memory by hand
#   locks    a lock takes clock, randomness, memory and waiting from the contract, so that the same
#            source runs in every world
#   waits    nobody spins by hand: a lock's loop on a shared word waits through the contract
#   quiet    the library neither prints nor ends the process
#   layers   a folder uses only those below it
#   shell    shellcheck on every script
#   man      mandoc on every manual page
set -u
export LC_ALL=C
rule=$1
here=$(cd "$(dirname "$0")" && pwd)
cd "$2" || exit 2

# Sources under the given folders; the samples of bad code are only looked at as a root of their own.
sources() { # pattern folder...
    pattern=$1
    shift
    for folder; do
        [ -d "$folder" ] && find "$folder" -type f -name "$pattern" -not -path 'tests/lint/bad/*'
    done | sort
}

# "file:line:code" of the C under the given folders.
code() {
    sources '*.[ch]' "$@" | xargs -r awk -f "$here/code.awk"
}

# Prints the lines of code in which one of the words stands, as whole words.
words() { # message extended-regex
    grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_])?($2)" |
        sed -E "s/^([^:]*:[0-9]*):[ \t]*/\1: $1: /"
}

scripts() {
    find . -type f -not -path './build*' -not -path './.git/*' -not -path './tests/lint/bad/*' \
        -exec sh -c 'for f; do
            case $(head -c 20 "$f" | tr -d "\0" | head -n 1) in
            "#!"*/sh | "#!"*/bash) printf "%s\n" "${f#./}" ;;
            esac
        done' sh {} + | sort
}

spdx() {
    find . -type f -not -path './build*' -not -path './.git/*' -not -path './tests/lint/bad/*' \
        \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' -o -name '*.cmake' -o -name '*.in' \
        -o -name CMakeLists.txt -o -name '*.gp' -o -name '*.py' -o -name '*.map' \
        -o -path './man/*.[0-9]' \) | sed 's,^\./,,' >"$list"
    scripts >>"$list"
    sort -u "$list" | while read -r file; do
        first=$(sed -n '1p' "$file")
        case $first in
        '#!'*) first=$(sed -n '2p' "$file") ;;
        esac
        case $first in
        *"SPDX-License-Identifier: MIT"*) ;;
        *) echo "$file:1: no SPDX line" ;;
        esac
    done
}

# The coroutine switch is the one place that needs assembly: nothing else can change stacks.
atomics() {
    code include src tool bench examples tests |
        grep -v -e '^include/baton/barrier\.h:' -e '^src/sim/coro[a-z0-9_]*\.[ch]:' |
        words "memory order by hand" \
            '__atomic_|__sync_|_Atomic|atomic_(load|store|exchange|compare_exchange|fetch_|thread_fence|signal_fence|flag|init|is_lock_free|u?int|u?long|size_t|ptrdiff_t|bool)|(asm|__asm|__asm__|volatile|__volatile__)([^A-Za-z0-9_]|$)|stdatomic\.h'
}

locks() {
    code src/lock |
        words "not from the contract" \
            'baton_(word|fence|cpu)_[a-z_]+[ \t]*\(|(usleep|nanosleep|clock_nanosleep|sched_yield|pthread_yield|clock_gettime|gettimeofday|time|rand|random|rand_r|malloc|calloc|realloc)[ \t]*\('
}

waits() {
    code src/lock | awk -f "$here/waits.awk"
}

quiet() {
    code include src/base src/model src/fabric src/sim src/lock |
        words "the library does not print or exit" \
            '(printf|puts|putchar|perror|exit|_exit|abort|err|warn)[ \t]*\(|(stdout|stderr)([^A-Za-z0-9_]|$)'
}

layers() {
    sources '*.[ch]' src tool | xargs -r awk -v keep=1 -f "$here/code.awk" | awk -f "$here/layers.awk"
}

shell() {
    scripts | xargs -r shellcheck
}

# A page may refer to its neighbours, which mandoc looks for among the installed ones only.
man() {
    for page in man/*.[0-9]; do
        [ -f "$page" ] || continue
        mandoc -T lint "$page" | while read -r line; do
            target=$(echo "$line" | sed -n 's/.*referenced manual not found: Xr \([^ ]*\) \([0-9]\).*/\1.\2/p')
            [ -n "$target" ] && [ -f "man/$target" ] || echo "$line"
        done
    done
}

list=$(mktemp) && found=$(mktemp) || exit 2
trap 'rm -f "$list" "$found"' EXIT
case $rule in
spdx | atomics | locks | waits | quiet | layers | shell | man) "$rule" >"$found" ;;
*) echo "lint.sh: no rule \"$rule\"" >&2 && exit 2 ;;
esac
cat "$found"
[ ! -s "$found" ]
