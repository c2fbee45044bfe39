# SPDX-License-Identifier: MIT
# cmake -DHEADERS=include/baton -DOUT=baton.map -P map.cmake
#
# Writes the linker's version script of the shared library: the functions and variables that the
# public headers declare, and nothing else. So the headers are the only list of what is public.
file(GLOB headers ${HEADERS}/*.h)
set(names "")
foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" " " text "${text}")
    string(REGEX MATCHALL "baton_[a-z0-9_]+[ \n]*\\(" functions "${text}")
    string(REGEX MATCHALL "extern [a-z0-9_ *]+" variables "${text}")
    foreach(name IN LISTS functions variables)
        string(REGEX MATCH "(baton_[a-z0-9_]+)[ \n(]*$" name "${name}")
        list(APPEND names ${CMAKE_MATCH_1})
    endforeach()
endforeach()
list(SORT names)
list(REMOVE_DUPLICATES names)
set(script "BATON_0 {\n    global:\n")
foreach(name IN LISTS names)
    string(APPEND script "        ${name};\n")
endforeach()
file(WRITE ${OUT} "${script}    local:\n        *;\n};\n")
