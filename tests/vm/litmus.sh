#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: litmus.sh BATON RUNS SEED MODEL...
#
# Runs in the guest: all litmus tests on the two devices, under the models, in one cluster. Nothing may be seen that a
# model forbids. With packets lost, a fetch may complete without a result on these devices, which the library notices
# and the test then fails for: such tests say nothing, and run again with another seed, a few times at most.
baton=$1 runs=$2 seed=$3
shift 3
models=
for model; do models="$models --model $model"; done
log=/tmp/litmus.$$
trap 'rm -f "$log" "$log".*' EXIT
set -- /t/*.litmus
for try in 1 2 3 4; do
    # shellcheck disable=SC2086 # options
    "$baton" litmus run --json --fabric verbs --in-process --batch 500 --runs "$runs" --seed "$seed" $models \
        --options device=rxe0+rxe1,allow_torn=1,timeout_ms=10000 "$@" >"$log" 2>"$log.summary"
    status=$?
    grep '"observation":"Sometimes"' "$log" | sed 's/.*"test":"\([^"]*\)","model":"\([^"]*\)".*"positive":\([0-9]*\).*/\1 \2: \3/'
    grep -v -e '"ok":true' -e '"skipped":"' "$log" >"$log.bad"
    grep '"error":"[^"]*the device has lost the result' "$log.bad" | grep '"forbidden":0' |
        sed 's/.*"test":"\([^"]*\)".*/\1/' | sort -u >"$log.again"
    if grep -v -e '"error":"[^"]*the device has lost the result' "$log.bad" || grep '"forbidden":[1-9]' "$log.bad"; then
        cat "$log.summary"
        exit 1
    fi
    cat "$log.summary"
    [ -s "$log.again" ] || exit "$status"
    echo "again, since the device has lost a result: $(cat "$log.again")"
    seed=$((seed + 1000000))
    # shellcheck disable=SC2046 # names without spaces
    set -- $(sed 's,.*,/t/&.litmus,' "$log.again")
done
echo "$try times the device has lost a result"
exit 1
