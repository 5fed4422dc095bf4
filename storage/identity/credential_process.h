/* A program of the user that prints keys: `credential_process` of a profile. */
#ifndef WEIR_STORAGE_IDENTITY_CREDENTIAL_PROCESS_H
#define WEIR_STORAGE_IDENTITY_CREDENTIAL_PROCESS_H

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/loop/work.h"

/* Runs it by the shell; `answer` is what it prints. UNAVAILABLE when it ends otherwise than well, or not within a
 * minute: it is killed then. */
enum weir_status storage_identity_run(const char *command, struct weir_work *work,
                                      struct weir_buf *answer,
                                      struct weir_error *err) WEIR_MUST_USE;

#endif
