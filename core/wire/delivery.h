/* Delivery promise of a job (C7) and number of its consumers (C8). Dispatcher and
 * client both act on these words. */
#ifndef WEIR_WIRE_DELIVERY_H
#define WEIR_WIRE_DELIVERY_H

/* Numbers travel in `client_opened`; names are those of `batch.delivery`. */
enum weir_delivery {
    /* The stored model was made by each sample once per epoch: an attempt begins at the state that
     * its consumer names, and what was done after that state is done again. */
    WEIR_EXACTLY_ONCE,
    /* For consumers that do not go back when they return: an attempt begins like that too (a
     * consumer that names no state goes on after what it has committed), but what is delivered
     * again may have been in the model before, and counts as duplicated. Nothing is lost. */
    WEIR_AT_LEAST_ONCE,
    /* An attempt begins after everything that may have been handed to a loop before. What of it
     * the named state does not contain is lost. Nothing is duplicated. */
    WEIR_AT_MOST_ONCE,
};

enum { WEIR_RANKS_MAX = 64 }; /* consumers of one job */

/* Totals of a batch over several ranks. A rank announces its slices in number order, at most WEIR_TOTALS_MAX batches
 * beyond the one its loop gets next. The newest WEIR_ANNOUNCED_MAX are said in each beat: a
 * rank that is behind by that many may still need them, and the dispatcher may have forgotten them. */
enum { WEIR_TOTALS_MAX = 8, WEIR_ANNOUNCED_MAX = 2 * WEIR_TOTALS_MAX };

/* Frames of a `batch`, in this order; after them those of each tensor, offsets before values. */
enum weir_batch_frame {
    WEIR_BATCH_IDS,
    WEIR_BATCH_LABELS,
    WEIR_BATCH_WEIGHTS, /* empty: all are 1 */
    WEIR_BATCH_HOLES,   /* ids */
    WEIR_BATCH_TENSORS,
};

/* Batches that are written to memory which the consumer lends (core/rpc/segment.h). */
enum {
    WEIR_LENT_BATCH_BYTES_MIN = 256 << 10, /* smaller ones are as fast in frames */
    WEIR_BATCH_LOANS_MAX = 16,             /* of one consumer to one worker */
};

#endif
