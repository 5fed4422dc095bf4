/* The modes of a run: train makes a model; evaluate and predict say what it predicts, score what
 * each sample costs and how steeply, gradient in which direction, embed where each sample lies. features
 * says what the operators made of each, without a model; export writes that to a folder. */
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "trainer_client/features.h"
#include "trainer_client/trainer.h"

static float *room_for(struct trainer *trainer, const struct weir_batch *batch)
{
    size_t floats = batch->samples * trainer->width;
    if (floats > trainer->values_max) {
        trainer->values_max = floats;
        trainer->values = weir_realloc(trainer->values, floats, sizeof(float));
    }
    return trainer->values;
}

static uint32_t width_reported(const struct trainer *trainer)
{
    return trainer->order.task->reports ? LEARNER_SCORES : 0;
}

static uint32_t width_outputs(const struct trainer *trainer)
{
    return trainer->learner.plan.width;
}

static uint32_t width_scores(const struct trainer *trainer)
{
    (void)trainer;
    return LEARNER_SCORES;
}

static uint32_t width_embedding(const struct trainer *trainer)
{
    return trainer->learner.plan.embedding;
}

/* Hands over `values`, the outputs of the batch's samples. */
static enum weir_status say(struct trainer *trainer, const struct weir_batch *batch,
                            const float *values, struct weir_error *err)
{
    struct weir_client_error error;

    if (weir_client_output(trainer->client, batch, trainer->mode->kind, trainer->width, values,
                           &error) == WEIR_CLIENT_OK)
        return WEIR_OK;
    return weir_fail(err, (enum weir_status)error.status, "%s", error.text);
}

/* Starts the mean of the loss again: it is about the last epoch. */
static void begin_epoch(struct trainer *trainer, uint64_t epoch)
{
    struct weir_model_progress *progress = &trainer->progress;
    progress->epoch = epoch;
    progress->loss_sum = progress->loss_count = 0.0;
}

/* Factor of the learning rate for a batch: it follows from the batch's place alone, in a training of several runs from
 * its place in all of it. */
static double rate_of(const struct trainer *trainer, const struct weir_batch *batch)
{
    const struct learning *learning = &trainer->order.training.learning;
    const struct weir_client_task *task = trainer->order.task;
    struct weir_client_info info;
    weir_client_info(trainer->client, &info);
    return trainer_schedule_factor(
        learning->schedule, &learning->schedule_shared, &learning->schedule_options,
        &(struct schedule_place){
            .batch = batch->number + task->epochs_before * info.batches_per_epoch,
            .epoch = batch->epoch + task->epochs_before,
            .batches_per_epoch = info.batches_per_epoch,
            .epochs = task->epochs_in_all,
        });
}

static enum weir_status take_train(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    bool reports = trainer->width > 0;
    double loss = 0.0;
    (void)weir_fault("trainer.batch");
    trainer->learner.scores = reports ? room_for(trainer, batch) : NULL;
    enum weir_status status =
        trainer_learner_step(&trainer->learner, batch, rate_of(trainer, batch), &loss, err);
    if (status != WEIR_OK)
        return status;
    struct weir_model_progress *progress = &trainer->progress;
    if (batch->epoch > progress->epoch)
        begin_epoch(trainer, batch->epoch);
    if (reports)
        status = say(trainer, batch, trainer->learner.scores, err);
    progress->loss_sum += loss * (double)batch->samples;
    progress->loss_count += (double)batch->samples;
    trainer->recent_loss += (progress->samples == 0 ? 1.0 : 0.1) * (loss - trainer->recent_loss);
    return status;
}

static enum weir_status take_predict(struct trainer *trainer, const struct weir_batch *batch,
                                     struct weir_error *err)
{
    enum weir_status status = trainer_learner_forward(&trainer->learner, batch, err);
    if (status != WEIR_OK)
        return status;
    trainer_learner_predict(&trainer->learner, batch);
    return say(trainer, batch, trainer->learner.outputs, err);
}

static enum weir_status take_score(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *scores = room_for(trainer, batch);
    enum weir_status status = trainer_learner_score(&trainer->learner, batch, scores, err);
    return status == WEIR_OK ? say(trainer, batch, scores, err) : status;
}

static enum weir_status take_gradient(struct trainer *trainer, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    enum weir_status status = trainer_learner_score(&trainer->learner, batch, NULL, err);
    return status == WEIR_OK ? say(trainer, batch, trainer->learner.slopes, err) : status;
}

static enum weir_status take_embed(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *embeddings = room_for(trainer, batch);
    enum weir_status status = trainer_learner_embed(&trainer->learner, batch, embeddings, err);
    return status == WEIR_OK ? say(trainer, batch, embeddings, err) : status;
}

/* Leaves the width to the first batch. */
static uint32_t width_unknown(const struct trainer *trainer)
{
    (void)trainer;
    return 0;
}

static enum weir_status name_features(struct trainer *trainer, const struct weir_batch *batch,
                                      uint32_t width, struct weir_error *err)
{
    struct weir_client_error error;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const char *const *names = trainer_features_names(batch, trainer->client, arena);
    if (weir_client_output_names(trainer->client, width, names, &error) == WEIR_CLIENT_OK)
        return WEIR_OK;
    return weir_fail(err, (enum weir_status)error.status, "%s", error.text);
}

static enum weir_status take_features(struct trainer *trainer, const struct weir_batch *batch,
                                      struct weir_error *err)
{
    uint32_t width = 0;
    enum weir_status status = trainer_features_width(batch, &width, err);
    if (status == WEIR_OK && trainer->width != 0 && width != trainer->width)
        status = weir_fail(err, WEIR_INVALID, "a batch has %u numbers per sample, the first had %u",
                           width, trainer->width);
    if (status == WEIR_OK && trainer->width == 0)
        status = name_features(trainer, batch, width, err);
    if (status != WEIR_OK)
        return status;
    trainer->width = width;
    float *features = room_for(trainer, batch);
    trainer_features_take(batch, width, features);
    return say(trainer, batch, features, err);
}

/* Checkpoints by the clock. */
static enum weir_status keep_train(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_error error;
    int64_t now_ms = weir_now_ms();

    if (weir_client_metric(trainer->client, "loss", trainer->recent_loss, &error) != WEIR_CLIENT_OK)
        return weir_fail(err, (enum weir_status)error.status, "%s", error.text);
    if (now_ms < trainer->checkpoint_ms)
        return WEIR_OK;
    enum weir_status status = trainer_checkpoint(trainer, err);
    trainer->checkpoint_ms =
        trainer_training_next_checkpoint_ms(&trainer->order.training, now_ms, weir_now_ms());
    return status;
}

static const struct run_mode MODES[] = {
    {"train", true, true, WEIR_OUTPUT_SCORES, width_reported, take_train, NULL, keep_train, NULL},
    {"evaluate", false, true, WEIR_OUTPUT_PREDICTIONS, width_outputs, take_predict, NULL, NULL,
     NULL},
    {"predict", false, true, WEIR_OUTPUT_PREDICTIONS, width_outputs, take_predict, NULL, NULL,
     NULL},
    {"score", false, true, WEIR_OUTPUT_SCORES, width_scores, take_score, NULL, NULL, NULL},
    {"gradient", false, true, WEIR_OUTPUT_GRADIENTS, width_outputs, take_gradient, NULL, NULL,
     NULL},
    {"embed", false, true, WEIR_OUTPUT_EMBEDDINGS, width_embedding, take_embed, NULL, NULL, NULL},
    {"features", false, false, WEIR_OUTPUT_EMBEDDINGS, width_unknown, take_features, NULL, NULL,
     NULL},
    {"export", false, false, 0, width_unknown, trainer_export_mode_take, trainer_export_mode_begin,
     trainer_export_mode_keep, trainer_export_mode_end},
};

const struct run_mode *trainer_run_mode_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(MODES); i++) {
        if (weir_str_equal(MODES[i].name, name))
            return &MODES[i];
    }
    return NULL;
}
