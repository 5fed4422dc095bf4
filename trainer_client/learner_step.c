/* A learner's work on a batch, in phases: the threads share each of them, by samples or by rows of the model. */
#include "core/base/doubt.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "trainer_client/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART_SAMPLES_MIN = 4 }; /* fewer are not worth a thread */

/* The common ground of the phases of one batch. */
struct phase {
    struct learner *learner;
    const struct weir_batch *batch;
    struct loss_work *work; /* of the whole batch; NULL: nothing is measured */
    double weight;          /* divisor of the mean */
    const struct optimizer_step *step;
    float *embeddings;
};

static void run(struct phase *phase, void (*part)(void *phase, uint32_t part))
{
    if (phase->learner->threads == NULL)
        part(phase, 0);
    else
        trainer_threads_run(phase->learner->threads, part, phase);
}

/* ---- forward ---- */

/* Makes the work space large enough for the batch. */
static enum weir_status make_room(struct learner *learner, const struct weir_batch *batch,
                                  struct weir_error *err)
{
    size_t outputs = batch->samples * learner->plan.width;
    if (outputs > learner->outputs_max) {
        learner->outputs_max = outputs;
        learner->outputs = weir_realloc(learner->outputs, outputs, sizeof(float));
        learner->slopes = weir_realloc(learner->slopes, outputs, sizeof(float));
    }
    if (batch->samples > learner->losses_max) {
        learner->losses_max = batch->samples;
        learner->losses = weir_realloc(learner->losses, batch->samples, sizeof(double));
        learner->chances = weir_realloc(learner->chances, batch->samples, sizeof(double));
    }
    if (learner->parts == NULL)
        learner->parts = weir_calloc(learner_threads(learner), sizeof(*learner->parts));
    if (learner_threads(learner) > 1 && learner->threads == NULL)
        return trainer_threads_new(learner_threads(learner), &learner->threads, err);
    return WEIR_OK;
}

/* Gives the part its samples, and its scratch. */
static struct learner_part *begin_part(const struct phase *phase, uint32_t index)
{
    struct learner *learner = phase->learner;
    struct learner_part *part = &learner->parts[index];
    size_t samples = phase->batch->samples, end = samples * (index + 1) / learner->part_count;
    part->first = samples * index / learner->part_count;
    part->batch = phase->batch;
    if (learner->part_count > 1) {
        trainer_slice_take(&part->slice, phase->batch, part->first, end - part->first);
        part->batch = &part->slice.batch;
    }
    size_t scratch = learner->plan.model->scratch_bytes(&learner->plan, part->batch);
    if (scratch > part->scratch_max) {
        free(part->scratch);
        part->scratch_max = scratch;
        part->scratch = weir_aligned_alloc(scratch);
        memset(part->scratch, 0, scratch);
    }
    return part;
}

/* The part's share of the work. */
static struct loss_work work_of(const struct phase *phase, const struct learner_part *part)
{
    struct loss_work work = *phase->work;
    work.outputs += part->first * work.width;
    work.slopes += part->first * work.width;
    work.losses += part->first;
    if (work.weights != NULL)
        work.weights += part->first;
    return work;
}

static void forward_part(void *owner, uint32_t index)
{
    struct phase *phase = owner;
    struct learner *learner = phase->learner;
    if (index >= learner->part_count)
        return;
    struct learner_part *part = begin_part(phase, index);
    part->status = learner->plan.model->forward(
        &learner->plan, learner->parameters, part->batch, part->scratch,
        learner->outputs + part->first * learner->plan.width, &part->err);
    if (part->status != WEIR_OK || phase->work == NULL)
        return;
    struct loss_work work = work_of(phase, part);
    part->status = trainer_loss_measure(&work, part->batch, &part->err);
}

/* Runs the model, and measures the loss where phase->work says so. Of several complaints the first sample's counts. */
static enum weir_status forward(struct phase *phase, struct weir_error *err)
{
    struct learner *learner = phase->learner;
    enum weir_status status = make_room(learner, phase->batch, err);
    if (status != WEIR_OK)
        return status;
    size_t parts = phase->batch->samples / PART_SAMPLES_MIN;
    learner->part_count =
        parts < learner_threads(learner) ? (uint32_t)parts : learner_threads(learner);
    learner->part_count += learner->part_count == 0;
    if (phase->work != NULL) {
        phase->work->outputs = learner->outputs;
        phase->work->slopes = learner->slopes;
        phase->work->losses = learner->losses;
    }
    run(phase, forward_part);
    for (uint32_t i = 0; i < learner->part_count; i++) {
        if (learner->parts[i].status == WEIR_OK)
            continue;
        if (err != NULL)
            *err = learner->parts[i].err;
        return learner->parts[i].status;
    }
    return WEIR_OK;
}

enum weir_status trainer_learner_forward(struct learner *learner, const struct weir_batch *batch,
                                         struct weir_error *err)
{
    return forward(&(struct phase){.learner = learner, .batch = batch}, err);
}

void trainer_learner_predict(struct learner *learner, const struct weir_batch *batch)
{
    for (size_t s = 0; s < batch->samples; s++)
        learner->loss->predict(learner->outputs + s * learner->plan.width, learner->plan.width);
    for (size_t i = 0; i < batch->samples * learner->plan.width && learner->scale.deviation > 0.0;
         i++)
        learner->outputs[i] =
            (float)((double)learner->outputs[i] * learner->scale.deviation + learner->scale.mean);
}

/* ---- weights and scores ---- */

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

static void write_scores(const struct learner *learner, size_t samples, float *scores)
{
    size_t width = learner->plan.width;
    for (size_t s = 0; s < samples && scores != NULL; s++) {
        scores[s * LEARNER_SCORES] = (float)learner->losses[s];
        scores[s * LEARNER_SCORES + 1] = norm_of(learner->slopes + s * width, width);
    }
}

/* The weighted mean of the batch's losses. */
static double mean_of(const struct phase *phase)
{
    const struct learner *learner = phase->learner;
    double weighted = 0.0, weight = 0.0;
    for (size_t s = 0; s < phase->batch->samples; s++) {
        double of_sample =
            (double)(learner->weights != NULL ? learner->weights[s] : phase->batch->weights[s]);
        weighted += of_sample * learner->losses[s];
        weight += of_sample;
    }
    return weight > 0.0 ? weighted / weight : 0.0;
}

/* ---- choosing inside a batch ---- */

static double doubt_of(struct learner *learner, size_t s)
{
    size_t width = learner->plan.width;
    float *output = learner->outputs + s * width; /* its loss has been measured already */
    learner->loss->predict(output, learner->plan.width);
    return weir_doubt_of(output, width, (enum weir_doubt)learner->choice.metric);
}

/* Weighs the samples that the step does not learn from by 0. */
static void choose(struct learner *learner, const struct weir_batch *batch)
{
    size_t width = learner->plan.width;
    WEIR_AUTO_FREE float *factors = weir_calloc(batch->samples + 1, sizeof(*factors));
    for (size_t s = 0; s < batch->samples; s++) {
        if (learner->choice.score == CFG_IN_BATCH_LOSS)
            learner->chances[s] = (double)(float)learner->losses[s];
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

/* ---- backward ---- */

/* By samples: the slopes of the mean, and what the model makes of them. */
static void prepare_part(void *owner, uint32_t index)
{
    struct phase *phase = owner;
    struct learner *learner = phase->learner;
    if (index >= learner->part_count)
        return;
    const struct learner_part *part = &learner->parts[index];
    struct loss_work work = work_of(phase, part);
    trainer_loss_scale(&work, part->batch, phase->weight);
    if (learner->plan.model->prepare != NULL)
        learner->plan.model->prepare(&learner->plan, learner->parameters, part->batch,
                                     part->scratch, work.slopes);
}

/* By rows: adds up the gradient of the batch's mean loss, sample by sample. */
static void descend_part(void *owner, uint32_t index)
{
    const struct phase *phase = owner;
    struct learner *learner = phase->learner;
    struct gradient_part gradients[MODEL_BLOCKS_MAX];
    for (size_t i = 0; i < trainer_model_block_count(learner->plan.model); i++) {
        gradients[i] =
            trainer_gradient_part(&learner->gradients[i], index, learner_threads(learner));
        trainer_gradient_clear_part(&gradients[i]);
    }
    for (uint32_t i = 0; i < learner->part_count; i++) {
        const struct learner_part *part = &learner->parts[i];
        learner->plan.model->backward(
            &learner->plan, learner->parameters, part->batch, part->scratch,
            learner->slopes + part->first * learner->plan.width, gradients);
    }
}

/* Changes the rows of one block by their gradient. */
static void apply(const struct phase *phase, size_t index, uint32_t part)
{
    struct learner *learner = phase->learner;
    size_t at = trainer_model_block_at(&learner->plan, index);
    float *state = learner->optimizer_state;
    const struct optimizer_block block = {
        .parameters = learner->parameters + at,
        .state = state != NULL ? state + at : NULL,
        .blocks = learner->state_blocks,
        .stride = trainer_model_floats(&learner->plan),
    };
    const struct gradient_part rows =
        trainer_gradient_part(&learner->gradients[index], part, learner_threads(learner));
    trainer_optimizer_apply(learner->optimizer, phase->step, &rows, &block);
}

static void apply_part(void *owner, uint32_t part)
{
    const struct phase *phase = owner;
    for (size_t i = 0; i < trainer_model_block_count(phase->learner->plan.model); i++)
        apply(phase, i, part);
}

/* ---- calls ---- */

enum weir_status trainer_learner_step(struct learner *learner, const struct weir_batch *batch,
                                      double rate, double *ret_loss, struct weir_error *err)
{
    weigh(learner, batch);
    struct loss_work work = {.loss = learner->loss,
                             .width = learner->plan.width,
                             .weights = learner->weights,
                             .scale = learner->scale};
    struct phase phase = {.learner = learner, .batch = batch, .work = &work};
    enum weir_status status = forward(&phase, err);
    if (status != WEIR_OK)
        return status;
    *ret_loss = mean_of(&phase);
    if (learner_chooses(learner))
        choose(learner, batch);
    write_scores(learner, batch->samples, learner->scores);
    phase.weight = trainer_loss_weight(&work, batch);
    run(&phase, prepare_part);
    run(&phase, descend_part);
    trainer_clip(&learner->clip, learner->gradients,
                 trainer_model_block_count(learner->plan.model));
    const struct optimizer_options *options = &learner->optimizer_options;
    struct optimizer_step step =
        trainer_optimizer_step(options, options->lr * rate, ++learner->steps);
    phase.step = &step;
    run(&phase, apply_part);
    return WEIR_OK;
}

enum weir_status trainer_learner_score(struct learner *learner, const struct weir_batch *batch,
                                       float *scores, struct weir_error *err)
{
    struct loss_work work = {
        .loss = learner->loss, .width = learner->plan.width, .scale = learner->scale};
    struct phase phase = {.learner = learner, .batch = batch, .work = &work};
    enum weir_status status = forward(&phase, err);
    if (status == WEIR_OK)
        write_scores(learner, batch->samples, scores);
    return status;
}

static void embed_part(void *owner, uint32_t index)
{
    const struct phase *phase = owner;
    const struct learner *learner = phase->learner;
    if (index >= learner->part_count)
        return;
    const struct learner_part *part = &learner->parts[index];
    learner->plan.model->embed(&learner->plan, part->batch, part->scratch,
                               phase->embeddings + part->first * learner->plan.embedding);
}

enum weir_status trainer_learner_embed(struct learner *learner, const struct weir_batch *batch,
                                       float *embeddings, struct weir_error *err)
{
    struct phase phase = {.learner = learner, .batch = batch, .embeddings = embeddings};
    enum weir_status status = forward(&phase, err);
    if (status == WEIR_OK)
        run(&phase, embed_part);
    return status;
}
