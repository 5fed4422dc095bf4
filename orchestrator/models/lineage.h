/* Lineage (C6): which models have seen which samples. A model has seen a sample when the sample was
 * delivered to its run (its set holds the sample, and the sample was not erased before the run
 * began), or when the model it started from has seen it. It is influenced when such a model's
 * scores decided what its set holds, or such a model of the holdout had a say in that. Answered
 * from one bitmap per set and block. */
#ifndef ORCHESTRATOR_MODELS_LINEAGE_H
#define ORCHESTRATOR_MODELS_LINEAGE_H

#include "orchestrator/context/context.h"
#include "orchestrator/models/blocks.h"

/* Inside a transaction: notes what the sealed set holds. May be repeated. */
enum weir_status orchestrator_lineage_note_set(struct context *context, const char *digest,
                                               const char *path,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Inside a transaction: notes what an erasure takes away. May be repeated. */
enum weir_status orchestrator_lineage_note_erasure(struct context *context, int64_t erasure,
                                                   const struct id_blocks *ids,
                                                   struct weir_error *err) WEIR_MUST_USE;
/* The samples of an erasure, as noted. */
enum weir_status orchestrator_lineage_of_erasure(struct context *context, int64_t erasure,
                                                 struct id_blocks *ret_ids,
                                                 struct weir_error *err) WEIR_MUST_USE;
/* The samples of all erasures that are finished. */
enum weir_status orchestrator_lineage_of_finished(struct context *context,
                                                  struct id_blocks *ret_ids,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* The samples of all erasures of a batch; 0: of those in force that are in no batch yet. */
enum weir_status orchestrator_lineage_of_batch(struct context *context, int64_t batch,
                                               struct id_blocks *ret_ids,
                                               struct weir_error *err) WEIR_MUST_USE;
/* Adds a row of a statement that gives block, bits, rows of an erasure. */
void orchestrator_lineage_take_block(const struct weir_rows *rows, size_t row,
                                     struct id_blocks *ids);

/* The ids of a sealed set, as noted. */
enum weir_status orchestrator_lineage_of_set(struct context *context, const char *digest,
                                             struct id_blocks *ret_ids,
                                             struct weir_error *err) WEIR_MUST_USE;

/* One model that has seen some of the samples, or is influenced by one that has. */
struct lineage_seen {
    char *model;
    char *through; /* NULL: it has seen them; else the model that has led the influence here */
    int64_t pipeline, trigger, run;
    bool live;      /* its files are there */
    bool is_aside;  /* of the holdout, or of a round: no trigger's, and not made again for itself */
    uint64_t count; /* of the samples in its own set; 0: by an ancestor only */
};
struct lineage_answer {
    struct lineage_seen *at; /* parents before children */
    size_t count;
};
enum weir_status orchestrator_lineage_query(struct context *context, const struct id_blocks *ids,
                                            struct lineage_answer *ret_answer,
                                            struct weir_error *err) WEIR_MUST_USE;
void orchestrator_lineage_answer_fini(struct lineage_answer *answer);

#endif
