/* The sums of a store at work, between sums.c (their course), sums_plan.c (what is to be read), sums_damage.c (what was
 * found) and sums_open.c (what is overwritten). */
#ifndef WEIR_STORAGE_SUMS_STATE_H
#define WEIR_STORAGE_SUMS_STATE_H

#include "storage/keys/id_list.h"
#include "storage/store/store.h"
#include "storage/sums/block_set.h"
#include "storage/sums/first_reads.h"
#include "storage/sums/sum_job.h"
#include "storage/sums/sums.h"

/* A block that somebody is going to change. */
struct open_block {
    const void *owner;
    struct block_at at;
    uint32_t length; /* bytes under its sum; 0: it had none */
};

struct sums {
    struct store *store;
    struct first_reads *reads;
    struct id_list chunks;     /* first ids of those that were asked for as a whole, */
    size_t chunk_at;           /* from this one on */
    struct block_set suspects; /* found damaged once */
    struct block_set damaged;

    struct open_block *open;
    size_t open_count, open_capacity;
    struct block_set open_blocks; /* the same in order */
    struct block_set touched;     /* opened since the job began */

    struct sum_job job;
    struct weir_work *work; /* NULL: the job is not under way */
    bool has_more;          /* there is more to plan */
    bool is_void;           /* its result is no longer wanted */

    size_t sweep_dataset; /* all files are gone over once: index in the catalog, */
    uint64_t sweep_file;  /* and the next number */
    bool has_missed;      /* something could not be read */
    uint64_t edition, ticks;
    uint64_t tick_timer, soon_timer;
};

/* sums.c: datasets whose files storage owns, and holds. */
bool storage_sums_are_for(const struct dataset *dataset);
/* sums.c: the file of a block, as it is known now; NULL when the block is not to have a sum. */
const struct stored_file *storage_sums_file(const struct sums *sums, const struct block_at *at,
                                            const struct dataset **ret_dataset);

/* sums_plan.c, a short piece of work: what is to be read next, as tasks of the job. True when there is more to plan. */
bool storage_sums_plan(struct sums *sums);
/* sums_plan.c: all files are gone over once more. */
void storage_sums_sweep_again(struct sums *sums);

/* sums_damage.c: the block does not hold what was written to it; or it does, again. */
void storage_sums_note_damage(struct sums *sums, const struct block_at *at);
void storage_sums_note_good(struct sums *sums, const struct block_at *at);

#endif
