/* Partial fits on their way from worker to dispatcher, inside worker_beat.fits (C16). Each holds the
 * state that the fitted operators folded out of one group:
 *
 *     0  u64 job    8  u64 group    16  u64 fence    24  u64 bytes    32  the bytes, then the next */
#ifndef WEIR_PREPROCESS_PLAN_FIT_H
#define WEIR_PREPROCESS_PLAN_FIT_H

#include "preprocess/operators/chain.h"

struct preprocess_fit {
    uint64_t job;
    uint64_t group;
    uint64_t fence;
    struct weir_bytes partial;
};

void preprocess_fit_pack(uint64_t job, uint64_t group, uint64_t fence,
                         const struct chain_partial *partial, struct weir_buf *out);
/* Takes the first one off `*rest`, borrowing its bytes. False at the end, and for malformed rest. */
bool preprocess_fit_take(struct weir_bytes *rest, struct preprocess_fit *ret_fit);

#endif
