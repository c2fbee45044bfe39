#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Shows what `baton litmus cross` and `gen` do when there is something to say: a disagreement (made by
# giving the axioms another table than the machine) ends with status 1 and the smallest program as a
# test, which shows the same when read back from a file and nothing when both engines have the same
# table. Also that gen and cross mean the same program by an index, and the exit statuses.
#
#   usage: cross_cli.sh BATON
set -u
baton=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

status() { # expected words...
    local want=$1 got
    shift
    "$baton" litmus "$@" >"$dir/out" 2>"$dir/err"
    got=$?
    [ "$got" = "$want" ] || fail "status $got, not $want: $*: $(cat "$dir/out" "$dir/err")"
}

# Writes the program that was printed to a file of its name.
keep() {
    file=$dir/$(sed -n 's/^RDMA //p' "$dir/out").litmus
    sed -n '/^RDMA/,/^exists/p' "$dir/out" >"$file"
}

for model in wait tso; do
    for variant in nrr-nrr nar-nrr nar-nlr; do
        status 1 cross --model "$model" --against "$variant"
        grep -q 'disagreements 1,' "$dir/out" || fail "no count of one disagreement for $variant"
        keep
        status 0 cross --model "$model" "$file"
        status 0 cross --model "$model" --variant "$variant" "$file"
        status 1 cross --model "$model" --against "$variant" "$file"
        cp "$file" "$dir/first"
        keep
        cmp -s "$file" "$dir/first" || fail "the smallest program became smaller"
    done
done

# The same disagreement, whatever the number of threads that look for it.
status 1 cross --random 3000 --against nrr-nrr -j 2
status 1 cross --random 3000 --against nrr-nrr --keep-going -j 2
two=$(sed -n 's/.*disagreements \([0-9]*\),.*/\1/p' "$dir/out")
status 1 cross --random 3000 --against nrr-nrr --keep-going
one=$(sed -n 's/.*disagreements \([0-9]*\),.*/\1/p' "$dir/out")
[ "$one" = "$two" ] || fail "$one disagreements with one thread, $two with two"

# Program 17 of seed 3 is the same alone and in a row.
status 0 gen --random 1 --seed 3 --from 17
cp "$dir/out" "$dir/alone"
status 0 gen --random 20 --seed 3 --output "$dir/many"
cmp -s <(head -n -1 "$dir/alone") "$dir/many/random-3-17.litmus" || fail "program 17 depends on others"
status 0 cross "$dir/many"
grep -q '^Programs 20, disagreements 0, not decided 0$' "$dir/out" || fail "20 files: $(cat "$dir/out")"

# The soak says how to see again what it has found, first in a random program, then in one of all.
for part in --random --locations; do
    cat >"$dir/spoiled" <<END
#!/bin/bash
[[ "\$*" != *cross* ]] && exec "$baton" "\$@"
[[ "\$*" == *$part* ]] && exec "$baton" "\$@" --against nrr-nrr
exit 0
END
    chmod +x "$dir/spoiled"
    BATON_SOAK_SECONDS=5 BATON_SOAK_SEED=9 "${0%/*}/cross_soak.sh" "$dir/spoiled" >"$dir/out" &&
        fail "the soak passes though engines disagree"
    name=$(sed -n 's/ as it was drawn:$//p' "$dir/out")
    [ "$(grep -c "^RDMA $name\$" "$dir/out")" = 2 ] || fail "the soak: $(cat "$dir/out")"
    again=$(sed -n 's/^status 1 of: baton litmus //p' "$dir/out")
    # shellcheck disable=SC2086 # words of a command
    status 1 $again --against nrr-nrr
    grep -q "^$name, under wait" "$dir/out" || fail "$again does not find $name"
done

status 3 cross --random 10 --max-states 2
status 2 cross "$dir/missing.litmus"
echo 'RDMA broken' >"$dir/broken.litmus"
status 2 cross "$dir/broken.litmus"
status 2 cross --kinds store,lode
status 2 gen --nodes 0

# Counting says when it has not counted all; only with a terminal it says how far it is.
status 0 gen --count
grep -q '^27176 programs: ' "$dir/out" || fail "not all counted: $(cat "$dir/out")"
status 0 gen --count --limit 27176
grep -q '^27176 programs: ' "$dir/out" || fail "a limit that is not reached: $(cat "$dir/out")"
status 0 gen --count --limit 1000
grep -q '^at least 1000 programs: ' "$dir/out" || fail "a limit: $(cat "$dir/out")"
status 3 gen --count --timeout 0.2 --threads 4 --ops 4
grep -q '^at least [0-9]* programs when the time was over: ' "$dir/out" || fail "$(cat "$dir/out")"
[ -s "$dir/err" ] && fail "progress without a terminal"
status 2 gen --count --timeout soon
if command -v script >/dev/null; then
    script -qec "'$baton' litmus gen --count --timeout 2 --threads 4 --ops 4" /dev/null >"$dir/out"
    [ $? = 3 ] || fail "on a terminal another status than 3"
    tr '\r\n' '  ' <"$dir/out" | grep -aq '[0-9] programs.*at least' || fail "no progress there"
fi
status 0 gen --random 3 --output "$dir/new"
status 2 gen --random 3 --output "$dir/none/new"
grep -q ": $dir/none/new: No such file" "$dir/err" || fail "$(cat "$dir/err")"
exit $failed
