# SPDX-License-Identifier: MIT
# Libraries that fabrics need and that a machine may lack: what is found is compiled in, and `baton info`
# says why the rest is not. BATON_FABRIC_LIBRARIES is what the library then links.
include(CheckCSourceCompiles)
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

option(BATON_WITH_UCX "Build the fabric ucx where the headers of UCX are found" ON)
set(BATON_UCX OFF)
if(BATON_WITH_UCX)
    # The newest thing that is used: what has it has all others.
    check_c_source_compiles("#include <ucp/api/ucp.h>\nint main(void) { return UCP_OP_ATTR_FIELD_MEMH == 0; }"
                            BATON_HAVE_UCX)
    if(BATON_HAVE_UCX)
        set(BATON_UCX ON)
        list(APPEND BATON_FABRIC_LIBRARIES ${CMAKE_DL_LIBS})
    endif()
endif()

# Clusters of processes. libsodium guards the rendezvous; libpmix asks mpirun and Slurm for it.
option(BATON_WITH_SODIUM "Build clusters of processes where libsodium is found" ON)
option(BATON_WITH_PMIX "Let mpirun and Slurm start clusters where libpmix is found" ON)
set(BATON_SODIUM OFF)
set(BATON_PMIX OFF)
if(BATON_WITH_SODIUM)
    set(CMAKE_REQUIRED_LIBRARIES sodium)
    check_symbol_exists(crypto_aead_chacha20poly1305_ietf_encrypt sodium.h BATON_HAVE_SODIUM)
    unset(CMAKE_REQUIRED_LIBRARIES)
    if(BATON_HAVE_SODIUM)
        set(BATON_SODIUM ON)
        list(APPEND BATON_FABRIC_LIBRARIES sodium)
    endif()
endif()
if(BATON_WITH_PMIX AND BATON_SODIUM)
    # Debian keeps the header away from the usual folders, since several versions may be installed.
    find_path(BATON_PMIX_INCLUDE pmix.h PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)
    find_library(BATON_PMIX_LIBRARY pmix)
    if(BATON_PMIX_INCLUDE AND BATON_PMIX_LIBRARY)
        set(BATON_PMIX ON)
        list(APPEND BATON_FABRIC_LIBRARIES pmix)
    endif()
endif()
