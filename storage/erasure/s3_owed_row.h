/* Columns and states of `owed` that s3_owed.c and s3_owed_plan.c share. */
#ifndef WEIR_STORAGE_S3_OWED_ROW_H
#define WEIR_STORAGE_S3_OWED_ROW_H

#include <stdint.h>

enum { OWED_TRIES = 5 };          /* that an erasure waits for */
#define OWED_NOT_YET_US INT64_MAX /* next_us, before the mirror is overwritten */

#endif
