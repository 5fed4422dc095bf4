/* One model, one loss, one optimizer, batch after batch. */
#include "trainer_client/learner.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t floats_of(const struct learner *learner)
{
    return (size_t)learner->plan.rows * learner->plan.width;
}

enum weir_status trainer_learner_allocate(struct learner *learner, struct weir_error *err)
{
    const struct model_plan *plan = &learner->plan;
    if (plan->width == 0 || plan->rows == 0 || plan->rows > LEARNER_FLOATS_MAX / plan->width)
        return weir_fail(err, WEIR_LIMIT, "model %s: %llu x %u parameters, expected 1 to %d",
                         plan->model->name, (unsigned long long)plan->rows, plan->width,
                         LEARNER_FLOATS_MAX);
    learner->parameters = weir_calloc(floats_of(learner), sizeof(float));
    if (learner->optimizer->state_per_parameter > 0)
        learner->optimizer_state = weir_calloc(floats_of(learner), sizeof(float));
    trainer_gradient_init(&learner->gradient, plan->rows, plan->width);
    return WEIR_OK;
}

enum weir_status trainer_learner_begin(struct learner *learner, const struct weir_batch *batch,
                                       uint64_t seed, struct weir_error *err)
{
    enum weir_status status = learner->plan.model->plan(&learner->plan, batch, err);
    if (status == WEIR_OK)
        status = trainer_learner_allocate(learner, err);
    if (status != WEIR_OK)
        return status;
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    learner->plan.model->init(&learner->plan, &rng, learner->parameters);
    return WEIR_OK;
}

void trainer_learner_fini(struct learner *learner)
{
    free(learner->parameters);
    free(learner->optimizer_state);
    trainer_gradient_fini(&learner->gradient);
    free(learner->outputs);
    free(learner->slopes);
    free(learner->scratch);
    *learner = (struct learner){0};
}

static void widen_block(float *to, const float *from, uint64_t rows, uint32_t width,
                        uint32_t old_width)
{
    for (uint64_t row = 0; row < rows && to != NULL && from != NULL; row++)
        memcpy(to + row * width, from + row * old_width, old_width * sizeof(*to));
}

enum weir_status trainer_learner_widen(struct learner *learner, uint32_t width,
                                       struct weir_error *err)
{
    uint32_t old_width = learner->plan.width;
    if (width == old_width)
        return WEIR_OK;
    if (width < old_width)
        return weir_fail(err, WEIR_INVALID,
                         "the model to start from has %u outputs, this run %u: classes only grow",
                         old_width, width);
    WEIR_AUTO_FREE float *parameters = learner->parameters;
    WEIR_AUTO_FREE float *state = learner->optimizer_state;
    learner->parameters = learner->optimizer_state = NULL;
    trainer_gradient_fini(&learner->gradient);
    learner->plan.width = width;
    enum weir_status status = trainer_learner_allocate(learner, err);
    if (status != WEIR_OK)
        return status;
    widen_block(learner->parameters, parameters, learner->plan.rows, width, old_width);
    widen_block(learner->optimizer_state, state, learner->plan.rows, width, old_width);
    return WEIR_OK;
}

/* Makes the work space large enough for the batch. */
static void make_room(struct learner *learner, const struct weir_batch *batch)
{
    size_t outputs = batch->samples * learner->plan.width;
    if (outputs > learner->outputs_max) {
        learner->outputs_max = outputs;
        learner->outputs = weir_realloc(learner->outputs, outputs, sizeof(float));
        learner->slopes = weir_realloc(learner->slopes, outputs, sizeof(float));
    }
    size_t scratch = learner->plan.model->scratch_bytes(&learner->plan, batch);
    if (scratch > learner->scratch_max) {
        free(learner->scratch);
        learner->scratch_max = scratch;
        learner->scratch = weir_aligned_alloc(scratch);
    }
}

enum weir_status trainer_learner_forward(struct learner *learner, const struct weir_batch *batch,
                                         struct weir_error *err)
{
    make_room(learner, batch);
    return learner->plan.model->forward(&learner->plan, learner->parameters, batch,
                                        learner->scratch, learner->outputs, err);
}

void trainer_learner_predict(struct learner *learner, const struct weir_batch *batch)
{
    for (size_t s = 0; s < batch->samples; s++)
        learner->loss->predict(learner->outputs + s * learner->plan.width, learner->plan.width);
}

static enum weir_status measure(struct learner *learner, const struct weir_batch *batch,
                                struct loss_work *work, struct weir_error *err)
{
    enum weir_status status = trainer_learner_forward(learner, batch, err);
    if (status != WEIR_OK)
        return status;
    work->loss = learner->loss;
    work->width = learner->plan.width;
    work->outputs = learner->outputs;
    work->slopes = learner->slopes;
    return trainer_loss_measure(work, batch, err);
}

enum weir_status trainer_learner_step(struct learner *learner, const struct weir_batch *batch,
                                      double *ret_loss, struct weir_error *err)
{
    struct loss_work work = {.losses = learner->losses};
    enum weir_status status = measure(learner, batch, &work, err);
    if (status != WEIR_OK)
        return status;
    trainer_gradient_clear(&learner->gradient);
    learner->plan.model->backward(&learner->plan, batch, learner->scratch, learner->slopes,
                                  &learner->gradient);
    trainer_optimizer_apply(learner->optimizer, &learner->optimizer_options, &learner->gradient,
                            learner->parameters, learner->optimizer_state);
    *ret_loss = work.weight > 0.0 ? work.weighted / work.weight : 0.0;
    return WEIR_OK;
}

enum weir_status trainer_learner_score(struct learner *learner, const struct weir_batch *batch,
                                       float *losses, struct weir_error *err)
{
    struct loss_work work = {.losses = losses, .apart = true};
    return measure(learner, batch, &work, err);
}

enum weir_status trainer_learner_embed(struct learner *learner, const struct weir_batch *batch,
                                       float *embeddings, struct weir_error *err)
{
    enum weir_status status = trainer_learner_forward(learner, batch, err);
    if (status != WEIR_OK)
        return status;
    learner->plan.model->embed(&learner->plan, batch, learner->scratch, embeddings);
    return WEIR_OK;
}
