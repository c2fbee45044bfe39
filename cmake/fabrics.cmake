# SPDX-License-Identifier: MIT
# Libraries that fabrics need and that a machine may lack: what is found is compiled in, and `baton info`
# says why the rest is not. BATON_FABRIC_LIBRARIES is what the library then links.
include(CheckSymbolExists)
set(BATON_FABRIC_LIBRARIES "")

option(BATON_WITH_IBVERBS "Build the fabric verbs where libibverbs is found" ON)
set(BATON_IBVERBS OFF)
if(BATON_WITH_IBVERBS)
    set(CMAKE_REQUIRED_LIBRARIES ibverbs)
    # The newest call that is used: what has it has all others.
    check_symbol_exists(ibv_query_qp_data_in_order infiniband/verbs.h BATON_HAVE_IBVERBS)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(BATON_HAVE_IBVERBS)
        set(BATON_IBVERBS ON)
        list(APPEND BATON_FABRIC_LIBRARIES ibverbs)
    endif()
endif()
