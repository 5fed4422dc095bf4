/* Records that became no sample, and still stand in files that Weir may overwrite: copies, mirrors of buckets, and
 * files of sources that declare on_erase: scrub. Each erasure overwrites those of the people whom it erases in files
 * that Weir owns, where names tell in which (drop_erased.h): in mirrors, and in copies that an older Weir made; other
 * copies have lost them as they were taken in.
 *
 * An order to drop (`weir erase request --drop-refused`) overwrites all of them. It goes over the files that the
 * quarantine names, and over all of a dataset while duplicates are in it, whose files nobody has noted. A file is done
 * with one transaction; what cannot be overwritten yet is tried again, after pauses that double. */
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
/* The same of what people whom the erasure is about have left in Weir's own files; erasure->is_unrefused in the end. */
enum weir_status storage_drop_erased_step(struct eraser *eraser, struct erasure_record *erasure,
                                          struct weir_error *err) WEIR_MUST_USE;
/* The obstacle, for a person, in `arena`; "": nothing. It may name a file. */
const char *storage_drop_trouble(const struct dropping *dropping, struct weir_arena *arena);
/* NULL when what is refused in the dataset can be dropped; else why not. */
const char *storage_drop_obstacle(const struct dataset *dataset);

#endif
