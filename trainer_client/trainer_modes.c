/* The modes of a run: train makes a model; evaluate and predict say what it predicts, score what
 * each sample costs and how steeply, gradient in which direction, embed where each sample lies. features
 * says what the operators made of each, without a model. */
#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "trainer_client/features.h"
#include "trainer_client/trainer.h"

#include <math.h>

enum { SCORES = 2 }; /* of a sample: its loss, the norm of its gradient */

static float *room_for(struct trainer *trainer, const struct weir_batch *batch)
{
    size_t floats = batch->samples * trainer->collector.width;
    if (floats > trainer->values_max) {
        trainer->values_max = floats;
        trainer->values = weir_realloc(trainer->values, floats, sizeof(float));
    }
    return trainer->values;
}

static uint32_t width_reported(const struct trainer *trainer)
{
    return trainer->order.training.keys.shared.report_losses ? SCORES : 0;
}

static uint32_t width_outputs(const struct trainer *trainer)
{
    return trainer->learner.plan.width;
}

static uint32_t width_scores(const struct trainer *trainer)
{
    (void)trainer;
    return SCORES;
}

static uint32_t width_embedding(const struct trainer *trainer)
{
    return trainer->learner.plan.embedding;
}

static float norm_of(const float *slopes, size_t width)
{
    double sum = 0.0;
    for (size_t k = 0; k < width; k++)
        sum += (double)slopes[k] * (double)slopes[k];
    return (float)sqrt(sum);
}

/* `scores` holds the losses, side by side; from the last to the first each moves to its place, and
 * the norm of its slope beside it. A slope is a sample's by itself, or its share of the mean's:
 * then by its share of the weight. */
static void collect_scores(struct trainer *trainer, const struct weir_batch *batch, float *scores,
                           bool apart)
{
    const struct learner *learner = &trainer->learner;
    size_t width = learner->plan.width;
    double weight = 0.0;
    for (size_t s = 0; s < batch->samples && !apart; s++)
        weight += (double)batch->weights[s];
    for (size_t s = batch->samples; s-- > 0;) {
        double share = apart ? 1.0 : (double)batch->weights[s] / weight;
        scores[s * SCORES] = scores[s];
        scores[s * SCORES + 1] =
            (float)((double)norm_of(learner->slopes + s * width, width) / share);
    }
    trainer_collector_add(&trainer->collector, batch, scores);
}

/* Starts the report of samples again: it is about the last epoch. */
static void begin_epoch(struct trainer *trainer, uint64_t epoch)
{
    struct weir_model_progress *progress = &trainer->progress;
    progress->epoch = epoch;
    progress->loss_sum = progress->loss_count = 0.0;
    trainer->collector.count = 0;
}

static enum weir_status take_train(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    bool reports = trainer->collector.width > 0;
    double loss = 0.0;
    trainer->learner.losses = reports ? room_for(trainer, batch) : NULL;
    enum weir_status status = trainer_learner_step(&trainer->learner, batch, &loss, err);
    if (status != WEIR_OK)
        return status;
    struct weir_model_progress *progress = &trainer->progress;
    if (batch->epoch > progress->epoch)
        begin_epoch(trainer, batch->epoch);
    if (reports && batch->epoch == progress->epoch)
        collect_scores(trainer, batch, trainer->learner.losses, false);
    progress->loss_sum += loss * (double)batch->samples;
    progress->loss_count += (double)batch->samples;
    trainer->recent_loss += (progress->samples == 0 ? 1.0 : 0.1) * (loss - trainer->recent_loss);
    return WEIR_OK;
}

static enum weir_status take_predict(struct trainer *trainer, const struct weir_batch *batch,
                                     struct weir_error *err)
{
    enum weir_status status = trainer_learner_forward(&trainer->learner, batch, err);
    if (status != WEIR_OK)
        return status;
    trainer_learner_predict(&trainer->learner, batch);
    trainer_collector_add(&trainer->collector, batch, trainer->learner.outputs);
    return WEIR_OK;
}

static enum weir_status take_score(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *scores = room_for(trainer, batch);
    enum weir_status status = trainer_learner_score(&trainer->learner, batch, scores, err);
    if (status == WEIR_OK)
        collect_scores(trainer, batch, scores, true);
    return status;
}

static enum weir_status take_gradient(struct trainer *trainer, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    float *losses = room_for(trainer, batch); /* at least one float a sample */
    enum weir_status status = trainer_learner_score(&trainer->learner, batch, losses, err);
    if (status == WEIR_OK)
        trainer_collector_add(&trainer->collector, batch, trainer->learner.slopes);
    return status;
}

static enum weir_status take_embed(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *embeddings = room_for(trainer, batch);
    enum weir_status status = trainer_learner_embed(&trainer->learner, batch, embeddings, err);
    if (status == WEIR_OK)
        trainer_collector_add(&trainer->collector, batch, embeddings);
    return status;
}

/* Leaves the width to the first batch. */
static uint32_t width_unknown(const struct trainer *trainer)
{
    (void)trainer;
    return 0;
}

static enum weir_status take_features(struct trainer *trainer, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    uint32_t width = 0;
    enum weir_status status = trainer_features_width(batch, &width, err);
    if (status == WEIR_OK && trainer->collector.width != 0 && width != trainer->collector.width)
        status = weir_fail(err, WEIR_INVALID, "a batch has %u numbers per sample, the first had %u",
                           width, trainer->collector.width);
    if (status != WEIR_OK)
        return status;
    trainer->collector.width = width;
    float *features = room_for(trainer, batch);
    trainer_features_take(batch, width, features);
    trainer_collector_add(&trainer->collector, batch, features);
    return WEIR_OK;
}

static const struct run_mode MODES[] = {
    {"train", true, true, width_reported, take_train},
    {"evaluate", false, true, width_outputs, take_predict},
    {"predict", false, true, width_outputs, take_predict},
    {"score", false, true, width_scores, take_score},
    {"gradient", false, true, width_outputs, take_gradient},
    {"embed", false, true, width_embedding, take_embed},
    {"features", false, false, width_unknown, take_features},
};

const struct run_mode *trainer_run_mode_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(MODES); i++) {
        if (weir_str_equal(MODES[i].name, name))
            return &MODES[i];
    }
    return NULL;
}
