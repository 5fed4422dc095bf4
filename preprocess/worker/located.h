/* Locations of the samples of one lease, as storage reports them: piece by piece until all of the group,
 * or of one rank's slices of it, is known. Owned by struct worker, one per lease slot. */
#ifndef WEIR_PREPROCESS_WORKER_LOCATED_H
#define WEIR_PREPROCESS_WORKER_LOCATED_H

#include "core/wire/wire.h"
#include "preprocess/plan/plan.h"
#include "preprocess/worker/files.h"

enum {
    LOCATE_IDS_MAX = 8192, /* of one request */
    LOCATE_TRIES_MAX = 5,  /* answers that prove stale; then samples that cannot be read are gone */
    LOCATE_PAUSE_MS = 50,  /* before asking again, doubled each time: a scrub may be under way */
};

#define LOCATED_LENGTH_MAX (((uint64_t)1 << 56) - 1)
#define LOCATED_WHOLE      UINT32_MAX /* instead of a rank: whole batches */

/* One sample at its position. Of small ones there are tens of thousands in a lease: each byte here counts. */
struct located_sample {
    uint64_t id;
    uint64_t offset;
    uint64_t length : 56; /* at most LOCATED_LENGTH_MAX */
    uint64_t state : 8;   /* enum weir_sample_state */
    int64_t label;
    float weight;
    uint32_t file;
};

struct located {
    struct located_sample *samples; /* in the order of positions, from the group's first */
    uint32_t rank;                  /* of the slices; or LOCATED_WHOLE */
    size_t count;
    size_t set; /* of them, the first so many, have their ids: see preprocess_located_set() … */
    uint64_t *indices;        /* … places of these in the set … */
    const uint64_t *set_ids;  /* … borrowed; NULL: all have their ids … */
    const float *set_weights; /* … and NULL: all weigh 1 */
    size_t room;              /* of each of these arrays, which stay from lease to lease */
    uint32_t *unknown;        /* those of `samples` that storage is asked for one by one, … */
    size_t unknown_count;
    size_t known;             /* … the first so many of these are filled in */
    struct file_about *files; /* their paths are owned */
    size_t file_count, file_capacity;
    uint32_t label_kind;
    uint32_t label_width; /* numbers of a label that is a vector; 0: it is none */
    float *values;        /* (count, label_width): of samples[i]; NULL without */
    int64_t *times;       /* event time of samples[i]; NULL: no operator reads it */
    unsigned tries;
};

/* Lists the samples of the group that are in the slices of `rank`, all unknown; nothing of the lease before is left.
 * They get their ids by preprocess_located_set(), which is still the plan's. */
void preprocess_located_begin(struct located *located, const struct preprocess_plan *plan,
                              uint64_t group, uint32_t rank);
/* Gives the first `end` samples their ids and weights, as far as they have none: piece by piece, so that it can be a
 * part of another pass over them. Only preprocess_located_forget() gives them itself. */
void preprocess_located_set(struct located *located, size_t end);
/* Drops the lease, and keeps memory for the next one; zeroed is fine. */
void preprocess_located_end(struct located *located);
void preprocess_located_fini(struct located *located); /* zeroed is fine */
/* Ids to ask for next; 0: everything is known. */
size_t preprocess_located_wanted(const struct located *located, uint64_t ids[LOCATE_IDS_MAX]);
/* Takes in the answer to the last preprocess_located_wanted(), or to the first ids of it: each entry must name the id
 * that was asked for. INVALID when it does not fit the request. */
enum weir_status preprocess_located_take(struct located *located, const struct msg_located *answer,
                                         struct weir_error *err) WEIR_MUST_USE;
/* The label of a sample of `located` that is a vector, of label_width numbers. */
const float *preprocess_located_values(const struct located *located,
                                       const struct located_sample *sample);
/* Forgets where they are: all are unknown. */
void preprocess_located_forget(struct located *located);
/* The same, and none of them is to be asked for. */
void preprocess_located_clear(struct located *located);
/* The same, because storage's answer has proved stale. */
void preprocess_located_again(struct located *located);
/* Returns the index of this file for `samples`; the file is copied unless it is one of the newest. */
uint32_t preprocess_located_file(struct located *located, const struct file_about *about);
/* Everything is filled in. */
bool preprocess_located_is_known(const struct located *located);
/* The samples of one batch of the group, or of its slice. */
const struct located_sample *preprocess_located_batch(const struct located *located,
                                                      const struct preprocess_plan *plan,
                                                      uint64_t batch, size_t *ret_count);

#endif
