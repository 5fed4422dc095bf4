/* The task of the built-in trainer, with the configuration understood. */
#ifndef WEIR_TRAINER_CLIENT_RUN_ORDER_H
#define WEIR_TRAINER_CLIENT_RUN_ORDER_H

#include "trainer_client/training.h"

struct run_order {
    struct weir_client_task *task; /* owned; NULL: not there yet */
    struct weir_yaml *document;
    struct training training;
};

/* Takes over `task`. INVALID for a configuration that cannot be read. */
enum weir_status trainer_run_order_take(struct weir_client_task *task, struct run_order *ret_order,
                                        struct weir_error *err) WEIR_MUST_USE;
void trainer_run_order_fini(struct run_order *order); /* zeroed is fine */
/* "DIRECTORY/NAME"; the caller frees it. */
char *trainer_run_order_path(const struct run_order *order, const char *name);

#endif
