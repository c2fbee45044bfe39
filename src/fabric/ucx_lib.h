/* SPDX-License-Identifier: MIT */
/*
 * The calls of UCX, found when the world is first used.
 *
 * UCX is not linked, because merely loading it installs handlers for SIGSEGV and its kin, reads dozens of
 * variables, and takes longer than whole runs of the other worlds. What is loaded here gives its handlers
 * back, prints nothing, and does not end the process, unless the user's own UCX_ERROR_SIGNALS, UCX_LOG_LEVEL
 * or UCX_HANDLE_ERRORS ask for it. When UCX is in the process already, through MPI for example, its settings
 * are somebody else's and stay as they are.
 */
#ifndef BATON_FABRIC_UCX_LIB_H
#define BATON_FABRIC_UCX_LIB_H

#include <ucp/api/ucp.h>

#define UCX_CALLS(F)                                                                               \
    F(ucp_atomic_op_nbx)                                                                           \
    F(ucp_cleanup)                                                                                 \
    F(ucp_config_modify)                                                                           \
    F(ucp_config_read)                                                                             \
    F(ucp_config_release)                                                                          \
    F(ucp_ep_close_nbx)                                                                            \
    F(ucp_ep_create)                                                                               \
    F(ucp_ep_flush_nbx)                                                                            \
    F(ucp_ep_rkey_unpack)                                                                          \
    F(ucp_get_nbx)                                                                                 \
    F(ucp_init_version)                                                                            \
    F(ucp_mem_map)                                                                                 \
    F(ucp_mem_unmap)                                                                               \
    F(ucp_put_nbx)                                                                                 \
    F(ucp_request_check_status)                                                                    \
    F(ucp_request_free)                                                                            \
    F(ucp_rkey_buffer_release)                                                                     \
    F(ucp_rkey_destroy)                                                                            \
    F(ucp_rkey_pack)                                                                               \
    F(ucp_tag_msg_recv_nbx)                                                                        \
    F(ucp_tag_probe_nb)                                                                            \
    F(ucp_tag_send_nbx)                                                                            \
    F(ucp_worker_arm)                                                                              \
    F(ucp_worker_create)                                                                           \
    F(ucp_worker_destroy)                                                                          \
    F(ucp_worker_fence)                                                                            \
    F(ucp_worker_get_address)                                                                      \
    F(ucp_worker_get_efd)                                                                          \
    F(ucp_worker_progress)                                                                         \
    F(ucp_worker_release_address)                                                                  \
    F(ucp_worker_signal)                                                                           \
    F(ucs_status_string)

struct ucx_calls {
#define UCX_CALL(name) __typeof__(&name) name;
    UCX_CALLS(UCX_CALL)
#undef UCX_CALL
};

/* Filled by baton_ucx_load. UCX(ucp_worker_progress)(worker) */
extern struct ucx_calls baton_ucx_calls;
#define UCX(name) (baton_ucx_calls.name)

/* Null: the calls are there; else why not. */
const char *baton_ucx_load(void);

#endif
