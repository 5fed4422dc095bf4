/* Batches that a consumer of the lab's jobs has seen, and those it must have seen. */
#ifndef WEIR_TESTS_COMPONENT_PREPROCESS_SEEN_H
#define WEIR_TESTS_COMPONENT_PREPROCESS_SEEN_H

#include "core/base/hash.h"
#include "tests/component/preprocess_lab.h"
#include "tests/support/loop.h"

/* Outcome of a run. */
struct seen {
    unsigned times[LAB_SAMPLES];
    struct weir_hasher *order; /* over ids and tensors, as they came */
    uint64_t batches;
    uint64_t padding; /* bytes by which the lines are shorter than the longest of their batch */
};

/* The line of a sample; returns its length. */
uint64_t seen_line(uint64_t id, char line[64]);
/* One of them, of two numbers a sample. */
void seen_batch(struct seen *seen, const struct weir_batch *batch, bool is_raw);
/* Takes up to `most` batches of two numbers a sample, those of its line if `is_raw`; true at the end. */
bool seen_take(struct seen *seen, struct weir_client *client, uint64_t most, bool is_raw);
/* Commits what the client has consumed. */
void seen_commit(struct weir_client *client, bool final);
void seen_each(const struct seen *seen, unsigned times);
/* Nothing of `set` is lost or duplicated. */
void seen_clean(const struct msg_job_is *audit, uint64_t set);

/* A whole run of a job with so many workers; returns the digest of all that came, in order. */
struct weir_digest seen_whole_run(struct weir_test_postgres *postgres, int workers,
                                  const char *section, uint32_t epochs, bool is_raw);

#endif
