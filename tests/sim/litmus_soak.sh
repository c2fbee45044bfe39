#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares the simulated world with the machine until the time is over: first all programs of two threads with
# two operations each, then random ones under seeds that are new each time and in the output: small ones by the
# second explorers, too, ones with a thread that is there twice, and larger ones.
#
#   usage: litmus_soak.sh LITMUS_SIM_TEST, with BATON_SOAK_SECONDS in the environment
set -u
test=$1
end=$((SECONDS + BATON_SOAK_SECONDS))
"$test" all 0 1000000 || exit 1
seed=$(date +%s)
while [ "$SECONDS" -lt "$end" ]; do
    "$test" second "$seed" 1000 || exit 1
    "$test" twins "$seed" 500 || exit 1
    "$test" random "$seed" 500 || exit 1
    seed=$((seed + 1))
done
