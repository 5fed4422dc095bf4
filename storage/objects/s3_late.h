/* Rewriting of the tables that name objects of a bucket, when one was settled after the receipt: no seal follows that
 * would, and their dead rows hold its key. Runs beside the loop; a death leaves it to the next seal. */
#ifndef WEIR_STORAGE_S3_LATE_H
#define WEIR_STORAGE_S3_LATE_H

#include "storage/store/store.h"

struct s3_late;

struct s3_late *storage_s3_late_new(struct store *store);
void storage_s3_late_free(struct s3_late *late); /* NULL is fine */
/* Rewrites the tables now, or once more when they are being rewritten. */
void storage_s3_late_rewrite(struct s3_late *late);

#endif
