/* One model, one loss, one optimizer, batch after batch. */
#include "trainer_client/learner.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* False when the plan has no parameters, or more than LEARNER_FLOATS_MAX. */
static bool is_allowed(const struct model_plan *plan)
{
    uint64_t left = LEARNER_FLOATS_MAX;
    for (size_t i = 0; i < trainer_model_block_count(plan->model); i++) {
        uint64_t width = 0, floats = 0, rows = plan->shape[i].rows;
        if (__builtin_mul_overflow((uint64_t)plan->shape[i].columns,
                                   plan->model->blocks[i].by_output ? plan->width : 1u, &width) ||
            width > UINT32_MAX || __builtin_mul_overflow(rows, width, &floats) || floats == 0 ||
            floats > left)
            return false;
        left -= floats;
    }
    return true;
}

enum weir_status trainer_learner_allocate(struct learner *learner, struct weir_error *err)
{
    const struct model_plan *plan = &learner->plan;
    if (!is_allowed(plan))
        return weir_fail(err, WEIR_LIMIT,
                         "model %s: %llu x %u parameters for %u outputs, expected 1 to %d in all",
                         plan->model->name, (unsigned long long)plan->shape[0].rows,
                         plan->shape[0].columns, plan->width, LEARNER_FLOATS_MAX);
    learner->parameters = weir_calloc(trainer_model_floats(plan), sizeof(float));
    learner->state_blocks = learner->optimizer->state_blocks(&learner->optimizer_options);
    if (learner->state_blocks > 0)
        learner->optimizer_state =
            weir_calloc(trainer_model_floats(plan) * learner->state_blocks, sizeof(float));
    for (size_t i = 0; i < trainer_model_block_count(plan->model); i++)
        trainer_gradient_init(&learner->gradients[i], plan->shape[i].rows,
                              trainer_model_block_width(plan, i));
    return WEIR_OK;
}

static void draw(struct learner *learner)
{
    struct weir_rng rng;
    weir_rng_init(&rng, learner->seed);
    learner->plan.model->init(&learner->plan, &rng, learner->parameters);
}

enum weir_status trainer_learner_begin(struct learner *learner, const struct weir_batch *batch,
                                       struct weir_error *err)
{
    enum weir_status status = learner->plan.model->plan(&learner->plan, batch, err);
    if (status == WEIR_OK)
        status = trainer_learner_allocate(learner, err);
    if (status == WEIR_OK)
        draw(learner);
    return status;
}

static void free_gradients(struct learner *learner)
{
    for (size_t i = 0; i < MODEL_BLOCKS_MAX; i++)
        trainer_gradient_fini(&learner->gradients[i]);
}

void trainer_learner_fini(struct learner *learner)
{
    free(learner->parameters);
    free(learner->optimizer_state);
    free_gradients(learner);
    free(learner->outputs);
    free(learner->slopes);
    free(learner->weights);
    free(learner->chances);
    free(learner->losses);
    free(learner->scratch);
    *learner = (struct learner){0};
}

/* Copies what was learnt with fewer outputs into the first columns of each block. */
static void widen(const struct model_plan *plan, const struct model_plan *old, float *to,
                  const float *from)
{
    for (size_t i = 0; i < trainer_model_block_count(plan->model) && from != NULL; i++) {
        uint32_t width = trainer_model_block_width(plan, i);
        uint32_t old_width = trainer_model_block_width(old, i);
        float *block = to + trainer_model_block_at(plan, i);
        const float *old_block = from + trainer_model_block_at(old, i);
        for (uint64_t row = 0; row < plan->shape[i].rows; row++)
            memcpy(block + row * width, old_block + row * old_width, old_width * sizeof(*to));
    }
}

enum weir_status trainer_learner_widen(struct learner *learner, uint32_t width,
                                       struct weir_error *err)
{
    struct model_plan old = learner->plan;
    if (width == old.width)
        return WEIR_OK;
    if (width < old.width)
        return weir_fail(err, WEIR_INVALID,
                         "the model to start from has %u outputs, this run %u: classes only grow",
                         old.width, width);
    WEIR_AUTO_FREE float *parameters = learner->parameters;
    WEIR_AUTO_FREE float *state = learner->optimizer_state;
    learner->parameters = learner->optimizer_state = NULL;
    free_gradients(learner);
    learner->plan.width = width;
    enum weir_status status = trainer_learner_allocate(learner, err);
    if (status != WEIR_OK)
        return status;
    draw(learner);
    widen(&learner->plan, &old, learner->parameters, parameters);
    for (uint32_t i = 0; i < learner->state_blocks && state != NULL; i++)
        widen(&learner->plan, &old,
              learner->optimizer_state + i * trainer_model_floats(&learner->plan),
              state + i * trainer_model_floats(&old));
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

/* Weighs the batch's samples by their classes too. Labels that are no classes are the loss's to refuse. */
static void weigh(struct learner *learner, const struct weir_batch *batch)
{
    bool has_classes = learner->class_weights != NULL && batch->label_type != WEIR_LABELS_VALUES;
    if (!has_classes && !learner_chooses(learner))
        return;
    if (batch->samples > learner->weights_max) {
        learner->weights_max = batch->samples;
        learner->weights = weir_realloc(learner->weights, batch->samples, sizeof(float));
    }
    for (size_t s = 0; s < batch->samples; s++) {
        double label = has_classes ? trainer_loss_label(batch, s) : -1.0;
        bool is_class = label >= 0.0 && label < (double)learner->class_count;
        double of_class = is_class ? learner->class_weights[(size_t)label] : 1.0;
        learner->weights[s] = (float)((double)batch->weights[s] * of_class);
    }
}

static float norm_of(const float *slopes, size_t width)
{
    double sum = 0.0;
    for (size_t k = 0; k < width; k++)
        sum += (double)slopes[k] * (double)slopes[k];
    return (float)sqrt(sum);
}

/* Moves the losses, which lie side by side, to their places, from the last to the first, with the norms beside them. */
static void interleave(const struct learner *learner, size_t samples, float *scores)
{
    size_t width = learner->plan.width;
    for (size_t s = samples; s-- > 0;) {
        scores[s * LEARNER_SCORES] = scores[s];
        scores[s * LEARNER_SCORES + 1] = norm_of(learner->slopes + s * width, width);
    }
}

/* ---- choosing inside a batch ---- */

static double doubt_of(struct learner *learner, size_t s)
{
    size_t width = learner->plan.width;
    float *output = learner->outputs + s * width; /* whose loss has been measured already */
    learner->loss->predict(output, learner->plan.width);
    return trainer_choice_doubt(output, width, (enum cfg_uncertainty)learner->choice.metric);
}

/* Weighs the samples that the step does not learn from by 0. `losses` are those of the batch. */
static void choose(struct learner *learner, const struct weir_batch *batch, const float *losses)
{
    size_t width = learner->plan.width;
    WEIR_AUTO_FREE float *factors = weir_calloc(batch->samples + 1, sizeof(*factors));
    for (size_t s = 0; s < batch->samples; s++) {
        if (learner->choice.score == CFG_IN_BATCH_LOSS)
            learner->chances[s] = (double)losses[s];
        else if (learner->choice.score == CFG_IN_BATCH_GRAD_NORM)
            learner->chances[s] = (double)norm_of(learner->slopes + s * width, width);
        else
            learner->chances[s] = doubt_of(learner, s);
    }
    const struct choice_input input = {
        .samples = batch->samples,
        .seed = learner->seed ^ weir_mix64(batch->number + 1),
        .score = learner->chances,
    };
    trainer_choose(&learner->choice, &input, factors);
    for (size_t s = 0; s < batch->samples; s++)
        learner->weights[s] *= factors[s];
}

/* Changes one block by its gradient. */
static void apply(struct learner *learner, const struct optimizer_step *step, size_t index)
{
    size_t at = trainer_model_block_at(&learner->plan, index);
    float *state = learner->optimizer_state;
    const struct optimizer_block block = {
        .parameters = learner->parameters + at,
        .state = state != NULL ? state + at : NULL,
        .blocks = learner->state_blocks,
        .stride = trainer_model_floats(&learner->plan),
    };
    trainer_optimizer_apply(learner->optimizer, step, &learner->gradients[index], &block);
}

/* Adds up the gradient of the batch's mean loss. */
static void descend(struct learner *learner, const struct weir_batch *batch)
{
    for (size_t i = 0; i < trainer_model_block_count(learner->plan.model); i++)
        trainer_gradient_clear(&learner->gradients[i]);
    learner->plan.model->backward(&learner->plan, learner->parameters, batch, learner->scratch,
                                  learner->slopes, learner->gradients);
}

/* Room for each sample's loss: where scores are wanted, in their place. */
static float *room_for_losses(struct learner *learner, const struct weir_batch *batch)
{
    if (!learner_chooses(learner) || batch->samples <= learner->losses_max)
        return learner->scores != NULL ? learner->scores : learner->losses;
    learner->losses_max = batch->samples;
    learner->losses = weir_realloc(learner->losses, batch->samples, sizeof(float));
    learner->chances = weir_realloc(learner->chances, batch->samples, sizeof(double));
    return learner->scores != NULL ? learner->scores : learner->losses;
}

enum weir_status trainer_learner_step(struct learner *learner, const struct weir_batch *batch,
                                      double rate, double *ret_loss, struct weir_error *err)
{
    weigh(learner, batch);
    struct loss_work work = {.losses = room_for_losses(learner, batch),
                             .weights = learner->weights};
    enum weir_status status = measure(learner, batch, &work, err);
    if (status != WEIR_OK)
        return status;
    if (learner_chooses(learner))
        choose(learner, batch, work.losses);
    if (learner->scores != NULL)
        interleave(learner, batch->samples, learner->scores);
    trainer_loss_scale(&work, batch);
    descend(learner, batch);
    size_t blocks = trainer_model_block_count(learner->plan.model);
    trainer_clip(&learner->clip, learner->gradients, blocks);
    const struct optimizer_options *options = &learner->optimizer_options;
    struct optimizer_step step =
        trainer_optimizer_step(options, options->lr * rate, ++learner->steps);
    for (size_t i = 0; i < blocks; i++)
        apply(learner, &step, i);
    *ret_loss = work.weight > 0.0 ? work.weighted / work.weight : 0.0;
    return WEIR_OK;
}

enum weir_status trainer_learner_score(struct learner *learner, const struct weir_batch *batch,
                                       float *scores, struct weir_error *err)
{
    struct loss_work work = {.losses = scores};
    enum weir_status status = measure(learner, batch, &work, err);
    if (status == WEIR_OK && scores != NULL)
        interleave(learner, batch->samples, scores);
    return status;
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
