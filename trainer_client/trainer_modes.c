/* The modes of a run: train makes a model; evaluate and predict say what it predicts, score what
 * each sample costs, embed where each sample lies. */
#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "trainer_client/trainer.h"

static float *room_for(struct trainer *trainer, const struct weir_batch *batch)
{
    size_t floats = batch->samples * trainer->collector.width;
    if (floats > trainer->values_max) {
        trainer->values_max = floats;
        trainer->values = weir_realloc(trainer->values, floats, sizeof(float));
    }
    return trainer->values;
}

static uint32_t width_none(const struct trainer *trainer)
{
    (void)trainer;
    return 0;
}

static uint32_t width_outputs(const struct trainer *trainer)
{
    return trainer->learner.plan.width;
}

static uint32_t width_one(const struct trainer *trainer)
{
    (void)trainer;
    return 1;
}

static uint32_t width_embedding(const struct trainer *trainer)
{
    return trainer->learner.plan.embedding;
}

static enum weir_status take_train(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    double loss = 0.0;
    enum weir_status status = learner_step(&trainer->learner, batch, &loss, err);
    if (status != WEIR_OK)
        return status;
    struct model_progress *progress = &trainer->progress;
    if (batch->epoch > progress->epoch) {
        progress->epoch = batch->epoch;
        progress->loss_sum = progress->loss_count = 0.0;
    }
    progress->loss_sum += loss * (double)batch->samples;
    progress->loss_count += (double)batch->samples;
    trainer->recent_loss += (progress->samples == 0 ? 1.0 : 0.1) * (loss - trainer->recent_loss);
    return WEIR_OK;
}

static enum weir_status take_predict(struct trainer *trainer, const struct weir_batch *batch,
                                     struct weir_error *err)
{
    enum weir_status status = learner_forward(&trainer->learner, batch, err);
    if (status != WEIR_OK)
        return status;
    learner_predict(&trainer->learner, batch);
    collector_add(&trainer->collector, batch, trainer->learner.outputs);
    return WEIR_OK;
}

static enum weir_status take_score(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *losses = room_for(trainer, batch);
    enum weir_status status = learner_score(&trainer->learner, batch, losses, err);
    if (status == WEIR_OK)
        collector_add(&trainer->collector, batch, losses);
    return status;
}

static enum weir_status take_embed(struct trainer *trainer, const struct weir_batch *batch,
                                   struct weir_error *err)
{
    float *embeddings = room_for(trainer, batch);
    enum weir_status status = learner_embed(&trainer->learner, batch, embeddings, err);
    if (status == WEIR_OK)
        collector_add(&trainer->collector, batch, embeddings);
    return status;
}

static const struct run_mode MODES[] = {
    {"train", true, width_none, take_train},
    {"evaluate", false, width_outputs, take_predict},
    {"predict", false, width_outputs, take_predict},
    {"score", false, width_one, take_score},
    {"embed", false, width_embedding, take_embed},
};

const struct run_mode *run_mode_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(MODES); i++) {
        if (weir_str_equal(MODES[i].name, name))
            return &MODES[i];
    }
    return NULL;
}
