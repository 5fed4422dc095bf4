/* Writes to buckets that erasures have pending: every object that an erased sample came from, or came from once, is
 * deleted with all its versions (`on_erase: unlink`), or written again from the mirror, where the sample has been
 * overwritten, and loses its older versions (`scrub`: it holds other people's samples too).
 *
 * Each is a row of the table `owed` from before the first byte of its erasure is overwritten until it is done;
 * they are worked off one at a time beside everything else, scans included. What fails is tried again after pauses
 * that double, for ever: the first five times the erasure waits for it, then the receipt names it and goes on without
 * it. A death anywhere repeats work that is harmless to repeat. Owned by struct storage. */
#ifndef WEIR_STORAGE_S3_PENDING_H
#define WEIR_STORAGE_S3_PENDING_H

#include "storage/erasure/erasure_record.h"

struct pending_writes;

struct pending_writes *storage_pending_new(struct eraser *eraser);
void storage_pending_free(struct pending_writes *pending);
/* Begins with what is due, if nothing is under way. */
void storage_pending_pump(struct pending_writes *pending);

/* Returns the wait until `due_us`: never longer than the longest pause between two attempts. Pure. */
int64_t storage_pending_wait_ms(int64_t due_us, int64_t now_us);

/* s3_pending_plan.c, a bounded piece of work: adds the rows that the erasure's page needs, before its files change. */
enum weir_status storage_pending_plan(struct store *store, struct erasure_record *erasure,
                                      bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* Makes the erasure's rows due, now that its files are overwritten. */
enum weir_status storage_pending_release(struct eraser *eraser, struct erasure_record *erasure,
                                         struct weir_error *err) WEIR_MUST_USE;
/* *ret_settled: all its rows are done or has failed five times; storage is pumped when that may have changed. */
enum weir_status storage_pending_is_settled(struct eraser *eraser, struct erasure_record *erasure,
                                            bool *ret_settled,
                                            struct weir_error *err) WEIR_MUST_USE;
/* Remarks on what is still there, inside the caller's transaction. */
enum weir_status storage_pending_remark(struct store *store, const struct erasure_record *erasure,
                                        const struct id_list *numbers,
                                        struct weir_error *err) WEIR_MUST_USE;

/* Obstacles, one of each erasure that has any, in `arena`; at most 1000. */
struct pending_troubles {
    struct pending_trouble {
        uint64_t erasure;
        const char *text;
    } * at;
    size_t count;
};
enum weir_status storage_pending_troubles(struct store *store, struct weir_arena *arena,
                                          struct pending_troubles *ret_troubles,
                                          struct weir_error *err) WEIR_MUST_USE;

#endif
