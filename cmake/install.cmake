# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: libraries, headers, the command with its completion, manual
# pages, and the two ways by which other builds find the library.
include(CMakePackageConfigHelpers)

install(TARGETS baton RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS baton_shared baton_static EXPORT baton-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/baton DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")

foreach(section 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/man/*.${section})
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()

# The command knows its own options; the completion is what it says about them.
set(completion ${CMAKE_BINARY_DIR}/completion/baton)
add_custom_command(
    OUTPUT ${completion}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion
    COMMAND $<TARGET_FILE:baton> --completion bash > ${completion}
    DEPENDS baton
    VERBATIM)
add_custom_target(baton_completion ALL DEPENDS ${completion})
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# The prefix as seen from the file itself, so that an installed tree may move.
file(RELATIVE_PATH pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_up ${pc_up})
set(pc_fabrics "")
foreach(library IN LISTS BATON_FABRIC_LIBRARIES)
    string(APPEND pc_fabrics "-l${library} ")
endforeach()
configure_file(cmake/baton.pc.in ${CMAKE_BINARY_DIR}/baton.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/baton.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/baton)
configure_package_config_file(cmake/baton-config.cmake.in ${CMAKE_BINARY_DIR}/baton-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change calls.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/baton-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/baton-config.cmake ${CMAKE_BINARY_DIR}/baton-config-version.cmake
        DESTINATION ${package_dir})
install(EXPORT baton-targets NAMESPACE baton:: DESTINATION ${package_dir})
