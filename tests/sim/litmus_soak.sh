#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares the simulated world with the machine until the time is over, in turns: a slice of all programs of two
# threads with two operations each, from one of the 28 that the clock says, and random ones under seeds that
# are new each time and in the output: small ones by the second explorers, too, ones with a thread that is
# there twice, and larger ones.
#
#   usage: litmus_soak.sh LITMUS_SIM_TEST, with BATON_SOAK_SECONDS in the environment
set -u
test=$1
end=$((SECONDS + BATON_SOAK_SECONDS))
seed=$(date +%s)
turn() {
    echo "again with: litmus_sim_test $*"
    "$test" "$@" || exit 1
}
while [ "$SECONDS" -lt "$end" ]; do
    turn all $((seed % 28 * 1000)) 1000
    turn second "$seed" 50
    turn twins "$seed" 50
    turn self-check random "$seed" 20
    turn random "$seed" 50
    turn future random "$seed" 50
    turn future twins "$seed" 50
    seed=$((seed + 1))
done
