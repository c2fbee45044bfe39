# SPDX-License-Identifier: MIT
# baton_test(NAME COMMAND WORD... [LABELS WORD...] [TIMEOUT SECONDS] [SERIAL])
#
# One test, with the habits of this tree: exit status 77 is a skip (and must be named in
# tests/may-skip), SERIAL is for tests that measure time, and the labels say where else a test runs:
#   asan, tsan   in that sanitizer's build too
#   soak         only in ./dev soak; reads its time in seconds from BATON_SOAK_SECONDS
function(baton_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT" "COMMAND;LABELS")
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}")
    if(arg_TIMEOUT)
        set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
    elseif(NOT "soak" IN_LIST arg_LABELS)
        set_tests_properties(${name} PROPERTIES TIMEOUT 900)
    endif()
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()
