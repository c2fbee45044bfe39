#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares the engines until the time is over: first the exhaustive set over two data locations a node
# for both models, then random programs of several sizes under seeds that are new each time. When a
# comparison fails, all that is needed to see it again is printed: the command and its status, what
# it said with the smallest program that shows the disagreement, and the program as it was drawn.
#
#   usage: cross_soak.sh BATON, with BATON_SOAK_SECONDS and perhaps BATON_SOAK_SEED in the environment
set -u
baton=$1
jobs=$(nproc)
seed=${BATON_SOAK_SEED:-$(date +%s)}
end=$((SECONDS + BATON_SOAK_SECONDS))
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT

# The programs that did not pass, before they were made smaller. Their names hold their numbers.
as_drawn() {
    grep -oE '^(random-[0-9]+|all)-[0-9]+' "$said" | sort -u | while read -r name; do
        local one=--limit
        [ "${name%%-*}" = random ] && one=--random
        echo "$name as it was drawn:"
        "$baton" litmus gen "$@" --from "${name##*-}" $one 1
    done
}

cross() {
    local status
    "$baton" litmus cross "$@" -j "$jobs" | tee "$said"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] && return
    echo "status $status of: baton litmus cross $* -j $jobs"
    "$baton" --version
    as_drawn "$@"
    exit 1
}

echo "first seed $seed (BATON_SOAK_SEED=$seed repeats it)"
for model in wait tso; do
    cross --model $model --locations 2
done
while [ "$SECONDS" -lt "$end" ]; do
    for model in wait tso; do
        cross --model $model --random 20000 --seed "$seed"
        cross --model $model --random 4000 --seed "$seed" --ops 6 --total 11
        cross --model $model --random 4000 --seed "$seed" --threads 2 --nodes 1 --ops 6 --total 9
        cross --model $model --random 1000 --seed "$seed" --threads 3 --nodes 3 --ops 6 --total 12
    done
    seed=$((seed + 1))
done
