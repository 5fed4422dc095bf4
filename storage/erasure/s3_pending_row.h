/* Columns and states of the table `owed` that s3_pending.c and s3_pending_plan.c share. */
#ifndef WEIR_STORAGE_S3_PENDING_ROW_H
#define WEIR_STORAGE_S3_PENDING_ROW_H

#include <stdint.h>

enum { PENDING_TRIES = 5 };          /* waited for by an erasure */
#define PENDING_NOT_YET_US INT64_MAX /* next_us, before the mirror is overwritten */

#endif
