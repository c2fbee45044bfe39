#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares the engines until the time is over: first the exhaustive set over two data locations a node
# for both models, then larger random programs under seeds that are new each time. The seed of a
# disagreement is in the output.
#
#   usage: cross_soak.sh BATON, with BATON_SOAK_SECONDS in the environment
set -u
baton=$1
jobs=$(nproc)
end=$((SECONDS + BATON_SOAK_SECONDS))
for model in wait tso; do
    "$baton" litmus cross --model $model --locations 2 -j "$jobs" || exit 1
done
seed=$(date +%s)
while [ "$SECONDS" -lt "$end" ]; do
    for model in wait tso; do
        "$baton" litmus cross --model $model --random 20000 --seed "$seed" -j "$jobs" || exit 1
        "$baton" litmus cross --model $model --random 4000 --seed "$seed" --ops 6 --total 11 -j "$jobs" ||
            exit 1
    done
    seed=$((seed + 1))
done
