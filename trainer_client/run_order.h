/* The order of the orchestrator to this trainer: its `run_is`, kept, with the configuration
 * understood. */
#ifndef WEIR_TRAINER_CLIENT_RUN_ORDER_H
#define WEIR_TRAINER_CLIENT_RUN_ORDER_H

#include "core/wire/wire.h"
#include "trainer_client/training.h"

struct run_order {
    struct weir_arena *arena; /* owns everything below */
    struct weir_yaml *document;
    struct training training;
    const char *mode;
    const char *start_from; /* model file; empty: none */
    const char *directory;
    struct weir_strs classes;
    uint64_t job, seed;
    uint32_t label_kind, outputs;
};

/* Keeps a copy of `message`. INVALID for a configuration that cannot be read. */
enum weir_status trainer_run_order_take(const struct msg_run_is *message,
                                        struct run_order *ret_order,
                                        struct weir_error *err) WEIR_MUST_USE;
void trainer_run_order_fini(struct run_order *order); /* zeroed is fine */
/* "DIRECTORY/NAME" in the order's memory. */
const char *trainer_run_order_path(const struct run_order *order, const char *name);

#endif
