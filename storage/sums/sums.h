/* The sums of the blocks of files that storage owns: made soon after a commit, beside the loop; compared when a block
 * is asked for for the first time since the start; taken out before an erasure overwrites something, and made again
 * after it. What is summed of a file is what the store knows of it: those bytes change by an erasure alone.
 *
 * A block that does not hold what was written to it is reported in the log, with its dataset and in examinations, and
 * its samples count as gone until it does again. That is noticed beside the answer that named the block: whoever was
 * told of it first may have read it. Owned by struct storage. */
#ifndef WEIR_STORAGE_SUMS_H
#define WEIR_STORAGE_SUMS_H

#include "core/base/memory.h"
#include "storage/catalog/catalog.h"
#include "storage/formats/format.h"
#include "storage/sums/sum_rows.h"

struct store;
struct sums;

struct sums *storage_sums_new(struct store *store);
void storage_sums_free(struct sums *sums);
/* The catalog was loaded: whatever was under way begins again. */
void storage_sums_reset(struct sums *sums);

/* Number of bytes of the file that have sums or are to have some: 0 when it is not storage's own, or gave no sample. */
uint64_t storage_sums_extent(const struct dataset *dataset, const struct stored_file *file);
/* Grows with every change of a sum. */
uint64_t storage_sums_edition(const struct sums *sums);

/* ---- reading ---- */

/* The location of these bytes is handed out. */
void storage_sums_want(struct sums *sums, const struct dataset *dataset, uint64_t file,
                       uint64_t offset, uint64_t length);
/* … all samples of the chunk that begins with this id. */
void storage_sums_want_chunk(struct sums *sums, uint64_t first_id);
/* True when a damaged block lies in these bytes. */
bool storage_sums_is_damaged(const struct sums *sums, const struct dataset *dataset, uint64_t file,
                             uint64_t offset, uint64_t length);
/* True when one lies in any of these files of the dataset: numbers [first, first + count). */
bool storage_sums_has_damage(const struct sums *sums, const struct dataset *dataset, uint64_t first,
                             uint64_t count);
/* Lines about damaged files of the dataset, for people, at most `max`; returns how many. */
size_t storage_sums_complaints(const struct sums *sums, const struct dataset *dataset,
                               struct weir_arena *arena, const char **ret_texts, size_t max);

/* ---- proving ---- */

/* The worse, the greater. */
enum sum_verdict {
    SUMS_HOLD,     /* the bytes are those that were written */
    SUMS_NONE,     /* nothing tells yet: some of them have no sum */
    SUMS_UNPROVEN, /* unknown: some had none when the store was copied, restored or moved */
    SUMS_DIFFER,   /* a block that some of them lie in is not what was written */
};

/* Blocks that are compared with their sums on the loop, one after the other; valid while nobody changes a sum. */
struct sum_proof {
    struct sums *sums;
    struct sum_rows rows;
    struct block_at last; /* dataset 0: none */
    uint32_t length;      /* … bytes of it that the verdict is of */
    enum sum_verdict verdict;
    uint8_t *buffer;
    int fd; /* of its file; -1: it cannot be read */
};
void storage_sum_proof_begin(struct sums *sums, struct sum_proof *ret_proof);
void storage_sum_proof_end(struct sum_proof *proof);
/* Of bytes of a file. SUMS_HOLD when the dataset's files have no sums. */
enum weir_status storage_sum_proof_of(struct sum_proof *proof, const struct dataset *dataset,
                                      const struct stored_file *file, struct format_range range,
                                      enum sum_verdict *ret_verdict,
                                      struct weir_error *err) WEIR_MUST_USE;

/* The store was copied, restored or moved: blocks of the file that lack a sum of all there is are unproven from now on,
 * and summed again as they are found. In the caller's transaction. */
enum weir_status storage_sums_note_moved(struct sum_rows *rows, const struct dataset *dataset,
                                         const struct stored_file *file,
                                         struct weir_error *err) WEIR_MUST_USE;

/* ---- overwriting ---- */

/* Blocks that `owner` is going to change: each is compared once more, and loses its sum, in a transaction that must
 * have ended well before the first byte changes. */
struct sum_opening {
    struct sums *sums;
    const void *owner;
    struct sum_rows rows;
    uint32_t dataset; /* of the file that is open; 0: none is */
    uint64_t file;
    int fd; /* -1: it cannot be read */
};
enum weir_status storage_sum_opening_begin(struct sums *sums, const void *owner,
                                           struct sum_opening *ret_opening,
                                           struct weir_error *err) WEIR_MUST_USE;
/* The blocks of these bytes, but for those that are open already. */
enum weir_status storage_sum_opening_add(struct sum_opening *opening, const struct dataset *dataset,
                                         const struct stored_file *file, uint64_t offset,
                                         uint64_t length, struct weir_error *err) WEIR_MUST_USE;
/* Commits, unless `status`, that of what came since the begin or the begin's own, is an error: it is returned then. */
enum weir_status storage_sum_opening_end(struct sum_opening *opening, enum weir_status status,
                                         struct weir_error *err) WEIR_MUST_USE;
/* All blocks of these bytes are open. */
bool storage_sums_are_open(const struct sums *sums, const struct dataset *dataset, uint64_t file,
                           uint64_t offset, uint64_t length);
/* The blocks that `owner` had opened hold what they are to hold: they get new sums. NULL: those of all owners, when
 * nobody is overwriting anything. */
void storage_sums_close(struct sums *sums, const void *owner);

#endif
