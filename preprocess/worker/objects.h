/* Objects of stores that this worker reads itself, by grants of storage (storage/reading/grants.h): over connections of
 * its own, a bounded number at a time, in the order of the batch. An answer counts if it is the part that was granted,
 * of the version that was granted; what does not come so is storage's to read. Where more than a single object is in
 * the way, because the store refuses, is not reached or not to be believed, no grants are used for a while, which
 * doubles. Owned by struct worker. */
#ifndef WEIR_PREPROCESS_WORKER_OBJECTS_H
#define WEIR_PREPROCESS_WORKER_OBJECTS_H

#include "core/loop/loop.h"
#include "preprocess/worker/fetched.h"

enum {
    OBJECTS_AT_ONCE = 32,
    OBJECT_PAUSE_MS = 1000,          /* the first … */
    OBJECT_PAUSE_MAX_MS = 64 * 1000, /* … and the longest */
    AUTHORITIES_MAX = 16,            /* known at the same time; the one known longest makes room */
    AUTHORITY_BYTES_MAX = 256 << 10,
};

struct objects;

struct objects *preprocess_objects_new(struct weir_loop *loop);
/* NULL is fine for both; no read is under way. */
void preprocess_objects_free(struct objects *objects);
/* Closes its connections: bytes that were received lie in their memory. */
void preprocess_objects_wipe(struct objects *objects);

/* False while no grants are used; of NULL always. */
bool preprocess_objects_use_grants(const struct objects *objects);
/* Samples that have come by grants, and those that were granted and have not. */
struct objects_tally {
    uint64_t come, refused;
};
struct objects_tally preprocess_objects_tally(const struct objects *objects);

/* Returns the hash of certificates that the answer needs and that are not known; NULL: there are none among the first
 * AUTHORITIES_MAX of the answer. What others vouch for is left to storage. */
const char *preprocess_objects_lack(const struct objects *objects,
                                    const struct msg_granted *answer);
/* Keeps the certificates that have this hash. INVALID for too many bytes. */
enum weir_status preprocess_objects_learn(struct objects *objects, const char *hash,
                                          struct weir_bytes pem,
                                          struct weir_error *err) WEIR_MUST_USE;

/* A read of all that one answer grants. */
struct objects_read;

struct object_part {
    uint32_t sample; /* the caller's number */
    bool is_there;
    uint8_t *bytes; /* of the granted length, if it is there */
};

struct objects_job {
    const struct msg_granted *answer;
    const uint32_t *samples; /* as preprocess_fetched_note_grants() numbers them */
    void (*done)(void *owner);
    void *owner;
};
/* Reads what was granted; NULL when that is nothing. `done` is called once, never from inside. INVALID for columns that
 * do not fit each other. */
enum weir_status preprocess_objects_read(struct objects *objects, const struct objects_job *job,
                                         struct objects_read **ret_read,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Its parts, in the order of the answer, once it is done. */
const struct object_part *preprocess_objects_parts(const struct objects_read *read,
                                                   size_t *ret_count);
/* Frees it, done or not: `done` is no longer called. NULL is fine. */
void preprocess_objects_end(struct objects_read *read);

#endif
