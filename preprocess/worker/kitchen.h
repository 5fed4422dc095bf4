/* Making one batch: bytes from files, through the operators, into the frames that are sent (C8).
 * A position whose sample is erased, gone or cannot be read becomes a hole. */
#ifndef WEIR_PREPROCESS_WORKER_KITCHEN_H
#define WEIR_PREPROCESS_WORKER_KITCHEN_H

#include "preprocess/plan/failures.h"
#include "preprocess/worker/batch.h"
#include "preprocess/worker/crashes.h"
#include "preprocess/worker/fetched.h"
#include "preprocess/worker/flow.h"
#include "preprocess/worker/located.h"

enum { KITCHEN_PATH_MAX = 200, KITCHEN_REASON_MAX = FAILURE_REASON_MAX + KITCHEN_PATH_MAX + 100 };

/* Where batches are made; buffers are kept from one to the next. `crashes` (borrowed, may be NULL) knows the
 * samples that are not tried any more. */
struct kitchen;
struct kitchen *kitchen_new(struct crashes *crashes);
void kitchen_free(struct kitchen *kitchen);

/* What a batch is made of. */
struct recipe {
    uint64_t job;
    struct preprocess_plan *plan;
    const struct located *located;
    struct fetched *fetched;        /* what storage read of it */
    const struct worker_flow *flow; /* knows what was erased since */
    uint64_t batch;
    struct batch_loan *loan; /* memory of the consumer; NULL: none */
};

/* Makes it, in lent memory as far as the sizes of its tensors are known before; the loan goes over to the batch.
 * STALE: a file is not the one located, and the lease has tries left: locate again. UNAVAILABLE: files of it cannot
 * be read from here; `fetched` knows which: have storage read them. TIMEOUT: an operator waits for something: make
 * it again. */
enum weir_status kitchen_make(struct kitchen *kitchen, const struct recipe *recipe,
                              struct worker_batch **ret_batch,
                              struct weir_error *err) WEIR_MUST_USE;
/* Folds its samples into a partial fit instead. */
enum weir_status kitchen_fold(struct kitchen *kitchen, const struct recipe *recipe,
                              struct chain_partial *partial, struct weir_error *err) WEIR_MUST_USE;
/* Bytes read from files so far. */
uint64_t kitchen_bytes_read(const struct kitchen *kitchen);
/* Time spent on that, by the clock. */
int64_t kitchen_read_ns(const struct kitchen *kitchen);
/* Which sample has failed last, where it lies (of a long path the end), and why; "" when none did. */
const char *kitchen_reason(const struct kitchen *kitchen);
/* Samples of the newest batch that failed. */
const struct failures *kitchen_failures(const struct kitchen *kitchen);
/* Files are opened and checked again. */
void kitchen_forget_files(struct kitchen *kitchen);
/* Nothing of the batches made so far is left: neither rows nor reasons. */
void kitchen_wipe(struct kitchen *kitchen);

#endif
