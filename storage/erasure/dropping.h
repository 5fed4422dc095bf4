/* An order to drop what became no sample (`weir erase request --drop-refused`): refused records and duplicates that
 * still stand in files that Weir may overwrite, all copies and files of sources that declare on_erase: scrub. It goes
 * over the files that the quarantine names, and over all of a dataset while duplicates are in it, whose files nobody
 * has noted. A file is done with one transaction; what cannot be overwritten yet is tried again, after pauses that
 * double. */
#ifndef WEIR_STORAGE_DROPPING_H
#define WEIR_STORAGE_DROPPING_H

#include "storage/erasure/erasure_record.h"

/* Parts the orders from the erasure when others are in it, which do not wait for files that stand in the way of them;
 * NULL: all are orders. */
struct erasure_record *storage_drop_part(struct erasure_record *erasure);
/* A bounded piece of work for all requests of the erasure, each of which is such an order; erasure->is_dropped when
 * nothing is left that can be overwritten. */
enum weir_status storage_drop_step(struct eraser *eraser, struct erasure_record *erasure,
                                   struct weir_error *err) WEIR_MUST_USE;
/* The obstacle, for a person, in `arena`; "": nothing. It may name a file. */
const char *storage_drop_trouble(const struct dropping *dropping, struct weir_arena *arena);
/* NULL when what is refused in the dataset can be dropped; else why not. */
const char *storage_drop_obstacle(const struct dataset *dataset);

#endif
