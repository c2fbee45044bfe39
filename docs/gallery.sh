#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Writes gallery.md: the examples on which the memory model was explained first, each with its verdict and
# the command's own explanation. A test compares the file with a fresh one; to rewrite it:
#
#   docs/gallery.sh build/baton >docs/gallery.md
set -euo pipefail
baton=$1
tests=$(dirname "$(readlink -f "$0")")/../tests/litmus

heading() {
    printf '\n## %s\n' "$*"
}

# The explanation is what follows the line that names the model, up to the total.
explanation() {
    awk '/^[0-9]+ tests, /{exit} seen{line[++n] = $0} /^Model /{seen = 1}
         END{while (n && line[n] == "") n--
             for (i = 1; i <= n; i++) if (i > 1 || line[i] != "") print line[i]}' "$out"
}

# Prints one test: what it is about, the program, and for each model the verdict with its reasons.
show() { # name, about
    local file=$tests/$1.litmus models model verdict reasons before='' promised=''
    printf '\n### %s\n\n%s\n\n%s\n' "$1" "$2" "$fence"
    grep -v -e '^(\* Result' -e '^"' "$file"
    echo "$fence"
    # Under tso and wait the reasons are the same where both are stated.
    models=$(sed -n 's/^(\* Result \([a-z]*\):.*/\1/p' "$file")
    [[ $models == *wait* ]] && models='wait'
    for model in $models; do
        "$baton" litmus check --model "$model" --explain "$file" >"$out"
        verdict=$(sed -n "s/^Observation $1 \([A-Za-z]*\) .*/\1/p" "$out")
        reasons=$(explanation)
        if [ "$reasons" = "$before" ]; then
            printf '\n**%s under %s,** by the same run.\n' "$verdict" "$model"
        elif [ "$model" = impl ] && [ "$verdict" = Never ] && [ "$promised" = Never ]; then
            printf '\n**Never under impl,** which keeps what spec promises.\n'
        else
            printf '\n**%s under %s.**\n\n%s\n%s\n%s\n' "$verdict" "$model" "$fence" "$reasons" "$fence"
        fi
        before=$reasons
        promised=$verdict
    done
}

fence='```'
out=$(mktemp)
trap 'rm -f "$out"' EXIT

cat <<'END'
<!-- SPDX-License-Identifier: MIT -->
<!-- Written by docs/gallery.sh: change that, not this. -->
# Gallery of small RDMA programs

Each program asks whether it can end in the way that its last line names. The answers and the reasons
are those of `baton litmus check --explain`: for what is possible a shortest run, for what is
impossible the circle of reasons in which it would end. The models are described in
baton-memory-model(7), the language in baton-litmus(5). The tests are numbered as the figures of the
paper in which the model was published.
END

heading 'Waiting for a put'
show fig2a 'A put that has been polled for has read its source: the store that follows is too late.'
show fig2b 'One poll takes one completion, the oldest. The second put may still have to read.'
show fig2c 'Two polls, two completions.'
show fig2d 'The same as the first, with an id instead of counting.'
show fig2e 'Another put in between does not change what the wait is for.'
show intro-put-race 'Without any wait: the put may read what was stored after it was posted.'

heading 'Broadcasts'
show fig4a 'A broadcast and a put to the same node arrive in order.'
show fig4b 'A third node that saw the broadcast tells the second, faster than the put arrives there.'

heading 'Completed is not visible'
show fig5 'Both threads wait for their put and then read: both may miss the other, as in store buffering.'
show fig5-gfence 'A global fence waits until the put is in memory.'

heading 'Remote atomic operations'
show cpu-rmw 'A compare and swap of the processor is atomic for stores of other processors.'
show fig6a 'A remote one is not: the store falls between its read and its write.'
show fig6b 'Nor is it for a put of another node.'
show fig6c 'Among each other, remote atomic operations are atomic.'
show fig7a 'A get may read after a later put of the same thread has been seen.'
show fig7b 'A remote fetch and add does not.'
show fig7c 'Its write behaves like that of a put: waiting does not make it visible.'

heading 'Critical sections'
show fig8a 'A weak lock and a processor on both sides: nothing can go wrong.'
show fig8b 'Puts in the section of a weak lock may arrive after its release. The implementation is stronger than its promise here, since the release goes the same way as the puts.'
show fig8c 'A global fence without a lock does not keep the reader out.'
show fig8d 'A weak lock and a global fence together do what one wants.'
show fig8e 'A strong lock has the fence built in.'
show fig8f 'A node lock protects the words of its own node.'
show s24-nlock-z 'It orders nothing for the thread that released it: the put may read even later.'
show s24-slock-z 'A strong lock does.'
show fig11a 'Gets in a section of a weak lock may read after its release.'
show fig11b 'Waiting for them before the release helps.'
show fig11c 'So does a strong lock.'
show fig12a 'After the release of a strong lock, the put is visible to everybody.'
show fig12b 'After that of a node lock it is not, to one who does not take the lock,'
show fig12c-b 'but it is to one who does.'

heading 'Sequentially consistent memory'
show fig15a 'Message passing.'
show fig15b 'Store buffering.'
show fig15c 'Atomic for plain writes too.'
show fig15d 'It does not order the puts of others before it,'
show fig15e 'nor their gets.'
