/* A worker: leases groups from the dispatcher, makes their batches, sends them to consumers. It is
 * stateless: everything here may be lost at any time, and is made again elsewhere. One thread, one
 * loop; long work is cut into batches. The protocol is flow.h; this is its rim. */
#ifndef WEIR_PREPROCESS_WORKER_WORKER_H
#define WEIR_PREPROCESS_WORKER_WORKER_H

#include "core/service/service.h"

enum weir_status preprocess_worker_open(const struct weir_service_options *options,
                                        struct weir_loop *loop, struct weir_rpc_server *server,
                                        void **ret_state, struct weir_error *err) WEIR_MUST_USE;
void preprocess_worker_close(void *state);
extern const struct weir_rpc_handler PREPROCESS_WORKER_HANDLERS[];

#endif
