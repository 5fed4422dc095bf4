/* Work that erasures owe to buckets: every object that an erased sample came from, or came from once, is deleted with
 * all its versions (`on_erase: unlink`), or written again from the mirror, where the sample has been overwritten, and
 * loses its older versions (`scrub`: it holds other people's samples too).
 *
 * Each is a row of the table `owed` from before the first byte of its erasure is overwritten until it is done;
 * they are worked off one at a time beside everything else, scans included. What fails is tried again after pauses
 * that double, for ever: the first five times the erasure waits for it, then the receipt names it and goes on without
 * it. A death anywhere repeats work that is harmless to repeat. Owned by struct storage. */
#ifndef WEIR_STORAGE_S3_OWED_H
#define WEIR_STORAGE_S3_OWED_H

#include "storage/erasure/open_erasure.h"

struct owed;

struct owed *storage_owed_new(struct eraser *eraser);
void storage_owed_free(struct owed *owed);
/* Begins with what is due, if nothing is under way. */
void storage_owed_pump(struct owed *owed);

/* How long to wait for what is due at `due_us`: never longer than the longest pause between two attempts. Pure. */
int64_t storage_owed_wait_ms(int64_t due_us, int64_t now_us);

/* s3_owed_plan.c, a bounded piece of work: writes down what is owed for the erasure's page, before its files change. */
enum weir_status storage_owed_plan(struct store *store, struct open_erasure *erasure,
                                   bool *ret_done, struct weir_error *err) WEIR_MUST_USE;
/* Its files are overwritten: what it owes is due. */
enum weir_status storage_owed_release(struct eraser *eraser, struct open_erasure *erasure,
                                      struct weir_error *err) WEIR_MUST_USE;
/* *ret_settled: everything it owes is done or has failed five times; storage is pumped when that may have changed. */
enum weir_status storage_owed_is_settled(struct eraser *eraser, struct open_erasure *erasure,
                                         bool *ret_settled, struct weir_error *err) WEIR_MUST_USE;
/* Remarks on what is still there, inside the caller's transaction. */
enum weir_status storage_owed_remark(struct store *store, const struct open_erasure *erasure,
                                     const struct id_list *numbers,
                                     struct weir_error *err) WEIR_MUST_USE;

/* Obstacles, one of each erasure that has any, in `arena`; at most 1000. */
struct owed_troubles {
    struct owed_trouble {
        uint64_t erasure;
        const char *text;
    } * at;
    size_t count;
};
enum weir_status storage_owed_troubles(struct store *store, struct weir_arena *arena,
                                       struct owed_troubles *ret_troubles,
                                       struct weir_error *err) WEIR_MUST_USE;

#endif
