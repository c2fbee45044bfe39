#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: totals.sh SOURCE-ROOT
#
# Shows that ./dev and .ci/run count right and that their exit status tells: on a small project of
# their own, whose tests pass, fail, skip and run too long as each case asks.
set -u
root=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests" "$work/.ci" && cp "$root/dev" "$root/CMakePresets.json" "$work" &&
    cp "$root/.ci/run" "$work/.ci" && cd "$work" || exit 1
status=0
unset CI BATON_SOAK_SECONDS BATON_SOAK_CI CTEST_PARALLEL_LEVEL CTEST_OUTPUT_ON_FAILURE

project() { # lines of CMake on stdin
    rm -rf build build-*
    {
        printf 'cmake_minimum_required(VERSION 3.25)\nproject(t NONE)\nenable_testing()\n'
        cat
    } >CMakeLists.txt
}

# The test NAME does what the shell COMMAND says.
t() { # name command [property value]...
    printf 'add_test(NAME %s COMMAND sh -c "%s")\n' "$1" "$2"
    printf 'set_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77 %s)\n' "$1" "${*:3}"
}

expect() { # exit-status last-line command...
    local want=$1 line=$2 got last
    shift 2
    "$@" >out 2>&1
    got=$?
    last=$(tail -n 1 out)
    [ "$got" = "$want" ] && [ "$last" = "$line" ] && return
    echo "$*: exit status $got, \"$last\"; expected $want, \"$line\""
    tail -n 20 out
    status=1
}

echo "may-skip no device on this machine" >tests/may-skip

project < <(t one true LABELS 'asan\;tsan') || exit 1
expect 0 "3 passed, 0 failed, 0 skipped" ./dev test
expect 0 "0 passed, 0 failed, 0 skipped" ./dev test no-such-test
expect 0 "0 passed, 0 failed, 0 skipped" ./dev soak 5s

project < <(
    t one true
    t may-skip "exit 77"
    # shellcheck disable=SC2016  # for the test
    t long 'test $BATON_SOAK_SECONDS -gt 0 && echo $CI$BATON_SOAK_CI | grep -qx -e 0 -e true1' LABELS soak
)
expect 0 "1 passed, 0 failed, 1 skipped" ./dev test
expect 0 "1 passed, 0 failed, 0 skipped" ./dev soak 1m
expect 0 "2 passed, 0 failed, 1 skipped" .ci/run

project < <(
    t one true
    t other-skip "exit 77"
)
expect 1 "1 passed, 0 failed, 1 skipped" ./dev test
expect 1 "1 passed, 0 failed, 1 skipped" .ci/run

# A test that prints what looks like a result changes nothing.
project < <(
    t one true
    t bad "echo '<testcase name=x status=run>'; exit 3"
    t slow "sleep 9" TIMEOUT 1
    echo 'add_test(NAME absent COMMAND /no/such/program)'
)
expect 1 "1 passed, 3 failed, 0 skipped" ./dev test
expect 1 "1 passed, 3 failed, 0 skipped" .ci/run

project < <(
    t one true
    # shellcheck disable=SC2016  # for CMake
    echo 'if(BATON_SANITIZE)
        message(FATAL_ERROR "no")
    endif()'
)
expect 1 "1 passed, 2 failed, 0 skipped" ./dev test

expect 2 'dev: no command "tets"; there is: demo test vm-test build bench soak fmt clean help' ./dev tets
expect 2 'dev: a time is a number with s, m or h, such as 20m; not "soon"' ./dev soak soon
expect 2 'dev: "build" takes no arguments' ./dev build all
exit $status
