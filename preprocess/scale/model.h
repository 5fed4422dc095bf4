/* A model of a job, kept from what its workers and consumers report: what a batch costs in each stage, and how fast
 * those are that make and take batches. Means are moving, with their spread, so that a model follows its job. Pure: a
 * recorded run gives the same model again. */
#ifndef WEIR_PREPROCESS_SCALE_MODEL_H
#define WEIR_PREPROCESS_SCALE_MODEL_H

#include "core/base/bytes.h"
#include "preprocess/scale/counters.h"
#include "preprocess/scale/optimum.h"
#include "preprocess/scale/report.h"

/* A moving mean: the newest value counts a tenth, once there are ten. */
struct scale_moving {
    double mean, variance;
    double count;
};

/* An operator; rows are those that it is given. */
struct scale_operator {
    struct scale_moving batch_ns;    /* of a batch */
    struct scale_moving taken, made; /* bytes of a row */
    struct scale_moving kept;        /* share of rows that stay: its selectivity */
};

/* Zeroed knows nothing. */
struct scale_model {
    size_t operator_count;
    struct scale_moving read_ns, read_bytes;   /* of a batch */
    struct scale_moving queued_ns, sent_bytes; /* of a batch, on its way to the consumer */
    struct scale_moving own;   /* batches a second of all consumers while they do not wait */
    struct scale_moving taken; /* … received by them */
    struct scale_moving stall; /* share of their time that they wait */
    struct scale_moving made[SCALE_PLACES];               /* batches a second of a busy worker */
    struct scale_operator operators[CHAIN_OPERATORS_MAX]; /* in the order in which they run */
    /* State that the next counters go on from: */
    struct scale_counters last;
    bool has_last;
    double batches; /* made since the newest counters */
};

/* Takes in a report. */
void preprocess_model_report(struct scale_model *model, const struct scale_report *report);
/* Takes in counters, which speak of what was made since the newest ones. Counters that have fallen, or are of another
 * chain, begin again. */
void preprocess_model_counters(struct scale_model *model, const struct scale_counters *counters);

/* Appends what has been learnt, for a later process of the same program: at most sizeof(struct scale_model) bytes. */
void preprocess_model_keep(const struct scale_model *model, struct weir_buf *out);
/* Goes on from it; the first counters that come are where the next ones begin. False: it is not whole, and the model
 * stays as it is. */
bool preprocess_model_take_up(struct scale_model *model, struct weir_bytes kept);

/* Surroundings of a job that its reports do not say. */
struct scale_surroundings {
    double cores;
    uint32_t sequential; /* a bit for each operator of which there is one at a time */
    /* Bandwidth of reading, bytes a second by readers; none: as fast as it was measured. */
    struct optimum_piece pieces[OPTIMUM_PIECES_MAX];
    size_t piece_count;
};

/* Stage 0 reads, and holds no core meanwhile; operator i is stage i + 1. False: too little is known. */
bool preprocess_model_problem(const struct scale_model *model,
                              const struct scale_surroundings *surroundings,
                              struct optimum_problem *ret_problem);
/* Returns the stage that reads what stage i of the problem has made, as fast as sources are read. */
struct optimum_stage preprocess_model_cache(const struct scale_model *model,
                                            const struct optimum_problem *problem, size_t stage);

#endif
