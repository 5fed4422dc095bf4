/* A model while it learns or answers: parameters, optimizer state and the work space of one batch.
 * Pure: what it becomes depends on the options, the seed and the batches alone, to the last bit, and not on the number
 * of threads: each sample is looked at by one thread, each row of the model is added up by one, in the order of the
 * samples. Owned by: struct trainer. */
#ifndef WEIR_TRAINER_CLIENT_LEARNER_H
#define WEIR_TRAINER_CLIENT_LEARNER_H

#include "trainer_client/models/choice.h"
#include "trainer_client/models/clip.h"
#include "trainer_client/models/gradient.h"
#include "trainer_client/models/loss.h"
#include "trainer_client/models/model.h"
#include "trainer_client/models/optimizer.h"
#include "trainer_client/models/schedule.h"
#include "trainer_client/models/slice.h"
#include "trainer_client/threads.h"

enum {
    LEARNER_FLOATS_MAX = 1 << 30, /* of all parameter blocks: 4 GiB */
    LEARNER_SCORES = 2,           /* of a sample: its loss, the norm of its gradient */
};

/* The samples of a batch that one thread looks at, and what forward() leaves of them. */
struct learner_part {
    const struct weir_batch *batch; /* of one part: the whole; else the slice's */
    struct slice slice;
    size_t first; /* of its samples, in the whole */
    void *scratch;
    size_t scratch_max;
    enum weir_status status;
    struct weir_error err;
};

struct learner {
    struct model_plan plan;
    const struct loss *loss;
    const struct optimizer *optimizer;
    struct optimizer_options optimizer_options;
    struct clip_options clip;
    const double *class_weights; /* borrowed; (classes), NULL: all alike */
    size_t class_count;
    struct weir_label_scale scale; /* of what it says of a label; zeroed: the label's own */
    uint64_t seed;                 /* of initial parameters */
    float *parameters;      /* the plan's blocks, end to end; NULL until their shapes are known */
    float *optimizer_state; /* state_blocks times these; NULL: the optimizer has none */
    uint32_t state_blocks;
    uint64_t steps;                              /* steps that made the optimizer's state */
    struct gradient gradients[MODEL_BLOCKS_MAX]; /* of each block */
    float *outputs, *slopes;                     /* of the batch at hand, (samples, width) */
    float *weights; /* of its samples, by class and choice too; NULL: those of the selection */
    size_t weights_max;
    struct cfg_batch_then_sample choice; /* ratio 0: a step learns from all of its batch */
    float *scores;            /* borrowed: a step writes each sample's here; NULL: nobody asks */
    size_t outputs_max;       /* floats */
    double *losses, *chances; /* (samples): of the batch; what a choice goes by */
    size_t losses_max;
    uint32_t threads_wanted;         /* 0, 1: the caller's alone */
    struct trainer_threads *threads; /* NULL: none yet */
    struct learner_part *parts;      /* one for each thread; NULL: none yet */
    uint32_t part_count;             /* of the batch at hand: a small one has fewer */
};

static inline uint32_t learner_threads(const struct learner *learner)
{
    return learner->threads_wanted > 1 ? learner->threads_wanted : 1;
}

/* `learner` is zeroed but for plan.model, plan.options, plan.width, loss, optimizer, its options
 * and the seed. Plans the model on any batch of the job and draws initial parameters. */
enum weir_status trainer_learner_begin(struct learner *learner, const struct weir_batch *batch,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Allocates the blocks for plan.shape and plan.width, zeroed; LIMIT beyond LEARNER_FLOATS_MAX. */
enum weir_status trainer_learner_allocate(struct learner *learner,
                                          struct weir_error *err) WEIR_MUST_USE;
void trainer_learner_fini(struct learner *learner);
static inline bool learner_has_begun(const struct learner *learner)
{
    return learner->parameters != NULL;
}
/* True when a step learns from a part of its batch. */
static inline bool learner_chooses(const struct learner *learner)
{
    return learner->choice.ratio > 0.0;
}
/* More outputs than before (a class was added): what is there keeps its columns, new columns are
 * initial parameters. */
enum weir_status trainer_learner_widen(struct learner *learner, uint32_t width,
                                       struct weir_error *err) WEIR_MUST_USE;

/* Runs the model on a batch: `learner->outputs` holds the raw scores. */
enum weir_status trainer_learner_forward(struct learner *learner, const struct weir_batch *batch,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Turns `learner->outputs` into predictions. */
void trainer_learner_predict(struct learner *learner, const struct weir_batch *batch);
/* One step of training, at `rate` times the optimizer's learning rate. `*ret_loss` is the weighted mean of the whole
 * batch before the step. */
enum weir_status trainer_learner_step(struct learner *learner, const struct weir_batch *batch,
                                      double rate, double *ret_loss,
                                      struct weir_error *err) WEIR_MUST_USE;
/* Fills `scores` (samples, LEARNER_SCORES; NULL: not wanted): of each sample its loss, and the norm of its slope at the
 * outputs, the gradient of the last layer, which is in `learner->slopes` (samples, width). */
enum weir_status trainer_learner_score(struct learner *learner, const struct weir_batch *batch,
                                       float *scores, struct weir_error *err) WEIR_MUST_USE;
/* embeddings (samples, plan.embedding). */
enum weir_status trainer_learner_embed(struct learner *learner, const struct weir_batch *batch,
                                       float *embeddings, struct weir_error *err) WEIR_MUST_USE;

#endif
