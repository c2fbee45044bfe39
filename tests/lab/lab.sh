#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: lab.sh BATON
#
# Shows that `baton lab farlock --quick` writes its whole folder: a report with every section and every
# figure of the plan, CSV files with as many columns as their head line, all the pictures that the report
# shows (where gnuplot is there). Also that the folder depends on the options only, not on how many runs
# go on at a time, that no lock with a strict order is quicker than the bound of strict order, and that
# merge is near it; and that wrong use is told at once.
set -u
baton=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

complain() {
    echo "$*"
    status=1
}

for jobs in 1 3; do
    "$baton" lab farlock --quick --jobs $jobs --out "$work/$jobs" >"$work/out" 2>&1 || {
        cat "$work/out"
        exit 1
    }
done
diff -r "$work/1" "$work/3" >"$work/diff" || complain "two runs differ: $(head -c 1000 "$work/diff")"
cd "$work/1" || exit 1

for section in 'published figures beside ours' 'Tails, throughput, bounces' 'Controlled arrivals' 'Sizes of groups' \
    'bound of first come' 'before and after the doorway' 'What makes a local tail low' 'policy knob'; do
    grep -q "^## .*$section" report.md || complain "report.md has no section \"$section\""
done
for try in budgets 'retries without pauses'; do
    grep -q "^### Tried: .*$try" report.md || complain "report.md does not tell of $try"
done
for figure in 62× 8× 55-5898× 891× 11.9× 2× '14.88 %' '135.30'; do
    grep -q "^|.*| $figure" report.md || complain "report.md does not have the published $figure"
done
for lock in ts ticket mcs alock alock-r20 farlock farlock-pub farlock-g merge; do
    [ "$(grep -c "^| $lock |" report.md)" -ge 7 ] || complain "report.md lacks rows of $lock"
done

for lock in farlock farlock-pub farlock-g merge mcs ticket; do
    grep -q "^| $lock | yes | L12 R12 |" report.md || complain "$lock does not keep controlled arrivals in order"
done
for lock in alock alock-r20; do
    grep -q "^| $lock | no | " report.md || complain "$lock keeps controlled arrivals in order"
done

for csv in runs waits locks-local-p999 locks-switches section-tickets crowd-local-p999; do
    [ "$(awk -F, '{print NF}' $csv.csv | sort -u | wc -l)" = 1 ] || complain "$csv.csv is not a table"
    [ "$(wc -l <$csv.csv)" -ge 3 ] || complain "$csv.csv has no rows"
done

# The lines of a sweep of groups vary what they say.
awk -F, '$1 == "groups-local" {local++; wrong += $4 !~ /group_remote=1$/}
    $1 == "groups-remote" {remote++; wrong += $4 !~ /group_local=1;/}
    END {exit !(local == 4 && remote == 4 && !wrong)}' runs.csv || complain "groups in runs.csv"
! head -1 section-tickets.csv | grep -q alock || complain "alock has no tickets to be shown"

for lock in ticket mcs merge; do
    awk -F, -v lock=$lock '$1 == lock {found = 1; if ($6 + 0 < $7 + 0) exit 1} END {exit !found}' \
        waits.csv || complain "$lock is missing, or quicker than its bound: $(grep "^$lock" waits.csv)"
done

# Nothing decides between the threads of ts but chance: at one lock some of each class get in.
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
    $1 == "locks" && $2 == 1 && $3 == "ts" {found = 1; if (!$at["local_count"] || !$at["remote_count"]) exit 1}
    END {exit !found}' runs.csv || complain "with ts a class never got in"

# At one lock: what merge promises against the bound, the other locks and its own classes, and that farlock
# at published cost has the low local tail that it was published with.
awk -F, '
    NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
    $1 != "locks" || $2 != 1 {next}
    {
        local_tail[$3] = $at["local_p999_ns"]; tail = remote_tail[$3] = $at["remote_p999_ns"]
        least = least == 0 || tail < least ? tail : least
    }
    $3 == "merge" {
        over = $at["all_p999_ns"] / $at["bound_p999_ns"]
        classes = $at["local_p50_ns"] / $at["remote_p50_ns"]
    }
    END {
        if (!(over >= 1 && over <= 1.15)) print "merge: p99.9 is " over " times its bound"
        if (!(classes <= 1.1 && classes >= 1 / 1.1)) print "merge: local p50 is " classes " times remote p50"
        if (!(remote_tail["merge"] <= 1.05 * least)) print "merge: remote p99.9 " remote_tail["merge"] ", least " least
        for (fair in local_tail)
            if ((fair == "mcs" || fair == "ticket") && local_tail[fair] < 10 * local_tail["farlock-pub"])
                print "farlock at published cost: local p99.9 " local_tail["farlock-pub"] ", " fair " " local_tail[fair]
    }' runs.csv >"$work/promises"
[ ! -s "$work/promises" ] || complain "$(cat "$work/promises")"

if command -v gnuplot >/dev/null; then
    grep -q '^!\[' report.md || complain "report.md shows no picture"
    sed -n 's/^!\[.*\](\(.*\))$/\1/p' report.md | while read -r picture; do
        { [ -s "$picture" ] && grep -q '(simulated)' "$picture"; } || echo "$picture"
    done >"$work/missing"
    [ ! -s "$work/missing" ] || complain "missing, or not said to be simulated: $(cat "$work/missing")"
fi

# Wrong use is told before anything runs, and leaves no folder.
wrong() {
    "$baton" lab farlock --quick --out "$work/bad" "$@" >"$work/out" 2>&1
    [ $? = 2 ] || complain "not wrong use: $*"
    [ -s "$work/out" ] || complain "no words about $*"
    [ ! -d "$work/bad" ] || complain "a folder for $*"
}
wrong --profile no-such
wrong --profile cx6,faults=all
wrong --seeds 0
wrong --seeds 1.5
wrong --out "$work/none/bad"
: >"$work/file"
wrong --out "$work/file"
exit $status
