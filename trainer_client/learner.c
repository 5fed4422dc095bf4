/* A learner between its batches: how it begins, grows and ends. What it does with a batch is in learner_step.c. */
#include "trainer_client/learner.h"

#include "core/base/memory.h"

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
    for (uint32_t i = 0; i < learner_threads(learner) && learner->parts != NULL; i++) {
        trainer_slice_fini(&learner->parts[i].slice);
        free(learner->parts[i].scratch);
    }
    free(learner->parts);
    trainer_threads_free(learner->threads);
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
