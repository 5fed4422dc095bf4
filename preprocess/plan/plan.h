/* The plan of a job's delivery, worked out the same way by dispatcher and workers: its options, the
 * cut of the set (geometry) and its order (C8). Owned by: a dispatcher's entry or a worker's job. */
#ifndef WEIR_PREPROCESS_PLAN_PLAN_H
#define WEIR_PREPROCESS_PLAN_PLAN_H

#include "core/wire/sample_set.h"
#include "core/wire/wire.h"
#include "preprocess/operators/chain.h"
#include "preprocess/plan/options.h"
#include "preprocess/plan/tables.h"

/* Declaration of a job, as in `job_open` and `job_described`. Borrowed. */
struct preprocess_order_form {
    const char *file; /* name of the pipeline file */
    struct weir_bytes config;
    struct weir_bytes tables; /* as in job_open */
    const char *set_path;
    const char *set_digest; /* 32 hexadecimal digits */
    uint32_t epochs;
    uint64_t seed;
    const char *mode;       /* anything but "train" keeps the order of the set and drops nothing */
    uint32_t group_batches; /* 0: chosen */
    uint32_t ranks;         /* consumers that share each batch; 0: 1 */
    size_t cut; /* operators, as written, after which rows are kept, where that is left to choice */
};

struct preprocess_plan {
    struct weir_yaml *document;
    struct preprocess_options options;
    struct weir_sample_set set;
    struct weir_epoch_parts parts; /* of the set; none unless it trains: others want all of it */
    struct preprocess_geometry geometry;
    struct preprocess_order order;
    enum weir_delivery delivery; /* exactly once unless it trains */
    struct preprocess_tables *tables;
    struct chain *chain;
    uint8_t *classes; /* length class of each sample of the set; NULL: they have none, or not yet */
    uint64_t seed;    /* of chance in operators, with sample and epoch */
    bool trains;      /* false: nothing is left to chance */
    bool in_order;    /* batches are handed out by number, as to an export */
    uint64_t cut_key; /* of operators before the cut; 0: there is none */
    bool keeps_records; /* those that only storage can read */
    uint64_t kept_key;  /* of rows at the cut: of those, as fitted; 0: none are kept, or not yet */
    uint64_t made_key;  /* of its batches, but for fitted state; 0: they are not shared */
};

/* Parses, maps the set and plans the operators. INVALID, NOT_FOUND, CORRUPT; the set must have the
 * digest the form names, and when it has epoch parts, a training as many epochs. */
enum weir_status preprocess_plan_open(const struct preprocess_order_form *form,
                                      struct preprocess_plan *ret_plan,
                                      struct weir_error *err) WEIR_MUST_USE;
void preprocess_plan_close(struct preprocess_plan *plan); /* zeroed is fine */

/* Has `*chain` be divided where rows are to be kept, if any are: as the file says, or after `chosen` operators. INVALID
 * with place and what to do. */
enum weir_status preprocess_plan_cut(const struct preprocess_planned *planned, size_t chosen,
                                     struct chain **chain, struct weir_error *err) WEIR_MUST_USE;
/* Plans the operators in another order: places as written. INVALID when they cannot run so. */
enum weir_status preprocess_plan_reorder(const struct preprocess_plan *plan, struct weir_u32s order,
                                         struct chain **ret_chain,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Has `chain`, which becomes the plan's, make its batches from now on. */
void preprocess_plan_use(struct preprocess_plan *plan, struct chain *chain);
/* Takes up the fitted state of the operators: preprocess_chain_fit_load(), and the length classes of a training. */
enum weir_status preprocess_plan_fitted(struct preprocess_plan *plan, struct weir_bytes fitted,
                                        struct weir_error *err) WEIR_MUST_USE;

/* Returns what names the batches of the job, with the fitted state of its operators (C20): jobs of which it is the same
 * make the same ones. 0: they are not to be shared. */
uint64_t preprocess_plan_production(const struct preprocess_plan *plan, struct weir_bytes fitted);

/* Bytes of a sample in a batch that are known before it is made: id, label, weight, and the dense numbers. */
uint64_t preprocess_plan_row_bytes(const struct preprocess_plan *plan);
/* Index in the set of each sample of a group, batch after batch, as they are delivered. The caller
 * works out their number (geometry.h). */
void preprocess_plan_group(const struct preprocess_plan *plan, uint64_t group,
                           uint64_t *ret_indices);
/* Index in the set of the sample at `position` of `epoch`, within the epoch's part if the set has parts; positions
 * after the last wrap around. With length classes it stands somewhere in the same group. */
uint64_t preprocess_plan_index(const struct preprocess_plan *plan, uint32_t epoch,
                               uint64_t position);

#endif
