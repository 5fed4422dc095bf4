/* Making one batch: bytes from files, through the operators, into the frames that are sent (C8).
 * A position whose sample is erased, gone or cannot be read becomes a hole. */
#ifndef WEIR_PREPROCESS_WORKER_BATCH_MAKER_H
#define WEIR_PREPROCESS_WORKER_BATCH_MAKER_H

#include "preprocess/plan/failures.h"
#include "preprocess/worker/batch.h"
#include "preprocess/worker/crashes.h"
#include "preprocess/worker/fetched.h"
#include "preprocess/worker/flow.h"
#include "preprocess/worker/kept_rows.h"
#include "preprocess/worker/located.h"
#include "preprocess/worker/record_sums.h"

enum {
    BATCH_MAKER_PATH_MAX = 200,
    BATCH_MAKER_PLACE_MAX = BATCH_MAKER_PATH_MAX + 50,
    BATCH_MAKER_REASON_MAX = FAILURE_REASON_MAX + BATCH_MAKER_PLACE_MAX + 50
};

/* A maker of batches; buffers are kept from one to the next. `crashes` (borrowed, may be NULL) knows the
 * samples that are no longer tried. */
struct batch_maker;
struct batch_maker *preprocess_batch_maker_new(struct crashes *crashes);
/* Has it use rows that are kept of samples, and keep those that it makes; borrowed, may be NULL. */
void preprocess_batch_maker_use_kept(struct batch_maker *maker, struct kept *kept);
void preprocess_batch_maker_free(struct batch_maker *maker);

/* Everything needed to make one batch. */
struct batch_request {
    uint64_t job;
    struct preprocess_plan *plan;
    const struct located *located;
    struct fetched *fetched;        /* samples of it that storage read */
    const struct record_sums *sums; /* of its samples in files of another host */
    const struct worker_flow *flow; /* knows what was erased since */
    uint64_t batch;
    struct batch_loan *loan; /* memory of the consumer; NULL: none */
    bool tells_line; /* the first sample that fails is placed by its line, where it has one */
};

/* Makes a batch, in lent memory as far as the sizes of its tensors are known before; the loan goes over to the batch.
 * STALE: a file is not the one located, and the lease has tries left: locate again. UNAVAILABLE: files of it cannot
 * be read from here and are listed in `fetched`: have storage read them. TIMEOUT: an operator waits for something: make
 * it again. */
enum weir_status preprocess_batch_maker_make(struct batch_maker *maker,
                                             const struct batch_request *request,
                                             struct worker_batch **ret_batch,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Folds its samples into a partial fit instead. */
enum weir_status preprocess_batch_maker_fold(struct batch_maker *maker,
                                             const struct batch_request *request,
                                             struct chain_partial *partial,
                                             struct weir_error *err) WEIR_MUST_USE;
/* Returns what is kept of the newest batch. */
const struct kept_rows *preprocess_batch_maker_kept(const struct batch_maker *maker);
/* Bytes of samples read from files so far, and the time spent on that, by the clock. */
struct batch_maker_read {
    uint64_t bytes;
    int64_t ns;
};
struct batch_maker_read preprocess_batch_maker_read(const struct batch_maker *maker);
/* Returns the first sample of the newest batch that failed, with its place (the end of a long path) and the reason; ""
 * when none did. */
const char *preprocess_batch_maker_reason(const struct batch_maker *maker);
/* Returns the files that it reads; borrowed. */
struct files *preprocess_batch_maker_files(struct batch_maker *maker);
/* Files are opened and checked again. */
void preprocess_batch_maker_forget_files(struct batch_maker *maker);
/* Nothing of the batches made so far is left: neither rows nor reasons. */
void preprocess_batch_maker_wipe(struct batch_maker *maker);

#endif
