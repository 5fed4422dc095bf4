/* Samples that this worker does not read from files, because it cannot open them: no permission, a file that has grown
 * since, or one that is an object of a store. They come from storage, or, by grants of storage (objects.h), from the
 * store. One batch at a time. Owned by struct worker, one per lease slot. */
#ifndef WEIR_PREPROCESS_WORKER_FETCHED_H
#define WEIR_PREPROCESS_WORKER_FETCHED_H

#include "core/base/bits.h"
#include "preprocess/worker/kept_rows.h"

enum {
    FETCH_IDS_MAX = 4096,             /* of one request */
    FETCHED_OBJECT_BYTES_MIN = 16384, /* storage fetches no less at once, and keeps it */
};

#define FETCHED_NONE UINT32_MAX

struct fetched_sample {
    uint64_t id;
    uint64_t offset; /* in `bytes`, once it is there */
    uint64_t length; /* as it was located, then as it came */
    uint32_t state;  /* enum weir_sample_state, once it is there */
    bool is_there;
    bool is_object; /* long enough for a request of its own */
};

struct fetched {
    struct weir_bits files;         /* of `located`, that are not read here … */
    struct weir_bits objects;       /* … and of them, those that may be granted */
    uint64_t batch;                 /* batch of the samples; meaningless while there are none */
    struct fetched_sample *samples; /* NULL: of no batch */
    size_t count;                   /* wanted, in the order of the batch */
    size_t known;                   /* number of samples that are there */
    size_t granted;                 /* samples, from the first, that grants were asked for */
    size_t next;                    /* first one to be looked at by preprocess_fetched_next() */
    struct weir_buf bytes;
};

/* From now on storage reads this file of `located`. */
void preprocess_fetched_add_file(struct fetched *fetched, uint32_t file);
/* The same, unless storage grants what is in it. */
void preprocess_fetched_add_object(struct fetched *fetched, uint32_t file);
bool preprocess_fetched_has_file(const struct fetched *fetched, uint32_t file);
/* Lists the live samples of the batch that lie in such files, and of which nothing is kept; nothing is known of them
 * yet. */
void preprocess_fetched_begin(struct fetched *fetched, uint64_t batch,
                              const struct located_sample *samples, size_t count,
                              const struct kept_rows *kept);
/* Ids to ask grants for next; 0: there are none. */
size_t preprocess_fetched_grantable(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX]);
/* Takes note of which of them were answered. `samples`: for each id of the answer the number by which its sample is
 * put, or FETCHED_NONE where nothing is granted, or not as many bytes as were located. INVALID for an answer that is
 * not of the ids that were asked for; nothing is noted then. */
enum weir_status preprocess_fetched_note_grants(struct fetched *fetched,
                                                const struct msg_granted *answer,
                                                uint32_t samples[FETCH_IDS_MAX],
                                                struct weir_error *err) WEIR_MUST_USE;
/* No more grants are asked for. */
void preprocess_fetched_end_grants(struct fetched *fetched);
/* A sample is there, by its number, of the length it was located with. */
void preprocess_fetched_put(struct fetched *fetched, uint32_t sample, const uint8_t *bytes);
/* Ids to have storage read next; 0: everything is known. The ids are borrowed from `ids`. */
size_t preprocess_fetched_wanted(const struct fetched *fetched, uint64_t ids[FETCH_IDS_MAX]);
/* INVALID for an answer that is not of the ids wanted; nothing is taken then. */
enum weir_status preprocess_fetched_take(struct fetched *fetched, const struct msg_read_is *answer,
                                         struct weir_bytes payload,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Storage refuses to read the samples that are not known yet: they are gone. */
void preprocess_fetched_give_up(struct fetched *fetched);
/* The batch is read from its beginning. */
void preprocess_fetched_rewind(struct fetched *fetched);
/* True when all that there is of the batch is there. */
bool preprocess_fetched_has_batch(const struct fetched *fetched, uint64_t batch);
/* The sample, or NULL, of a batch that is there; samples are asked for in the order of the batch. */
const struct fetched_sample *preprocess_fetched_next(struct fetched *fetched, uint64_t id);
/* Drops the bytes; files are kept. */
void preprocess_fetched_drop(struct fetched *fetched);
void preprocess_fetched_fini(struct fetched *fetched); /* zeroed is fine, and what it leaves */

#endif
