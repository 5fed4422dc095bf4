/* Samples that storage read for a worker, because the worker cannot open their files: no permission,
 * or a file that has grown since. One batch at a time. Owned by struct worker, one per
 * lease slot. */
#ifndef WEIR_PREPROCESS_WORKER_FETCHED_H
#define WEIR_PREPROCESS_WORKER_FETCHED_H

#include "core/base/bits.h"
#include "preprocess/worker/kept_rows.h"

enum { FETCH_IDS_MAX = 4096 }; /* of one request */

struct fetched_sample {
    uint64_t id;
    uint64_t offset; /* in `bytes` */
    uint64_t length;
    uint32_t state; /* enum weir_sample_state */
};

struct fetched {
    struct weir_bits files;         /* of `located`, that storage reads */
    uint64_t batch;                 /* that the samples are of; meaningless while there are none */
    struct fetched_sample *samples; /* NULL: of no batch */
    size_t count;                   /* wanted, in the order of the batch */
    size_t known;                   /* number of samples, from the first, that are there */
    size_t next;                    /* that preprocess_fetched_next() looks at first */
    struct weir_buf bytes;
};

/* From now on storage reads this file of `located`. */
void preprocess_fetched_add_file(struct fetched *fetched, uint32_t file);
bool preprocess_fetched_has_file(const struct fetched *fetched, uint32_t file);
/* Lists the live samples of the batch that lie in such files, and of which nothing is kept; nothing is known of them
 * yet. */
void preprocess_fetched_begin(struct fetched *fetched, uint64_t batch,
                              const struct located_sample *samples, size_t count,
                              const struct kept_rows *kept);
/* Ids to ask for next; 0: everything is known. The ids are borrowed from `ids`. */
size_t preprocess_fetched_wanted(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX]);
/* INVALID for an answer that is not of the ids wanted; nothing is taken then. */
enum weir_status preprocess_fetched_take(struct fetched *fetched, const struct msg_read_is *answer,
                                         struct weir_bytes payload,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Storage refuses to read the samples that are not known yet: they are gone. */
void preprocess_fetched_give_up(struct fetched *fetched);
/* The batch is read from its beginning. */
void preprocess_fetched_rewind(struct fetched *fetched);
/* True when all that storage can say of the batch is there. */
bool preprocess_fetched_has_batch(const struct fetched *fetched, uint64_t batch);
/* The sample, or NULL; samples are asked for in the order of the batch. */
const struct fetched_sample *preprocess_fetched_next(struct fetched *fetched, uint64_t id);
/* Drops the bytes; files are kept. */
void preprocess_fetched_drop(struct fetched *fetched);
void preprocess_fetched_fini(struct fetched *fetched); /* zeroed is fine, and what it leaves */

#endif
