/* One model on one batch of tests/support/batch.h, as numbers for a reference in another language:
 * run_model MODEL OPTIONS LOSS CLASSES. Prints a line per array: its name, then its numbers. The
 * parameters are those of a fresh model, moved away from its symmetric beginning. */
#include "core/base/memory.h"
#include "tests/support/batch.h"
#include "trainer_client/learner.h"
#include "trainer_client/training.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 6 };

static void print_floats(const char *name, const float *numbers, size_t count)
{
    printf("%s", name);
    for (size_t i = 0; i < count; i++)
        printf(" %.9g", (double)numbers[i]);
    printf("\n");
}

static void print_batch(const struct test_batch *batch)
{
    print_floats("features", batch->features, WEIR_COUNT(batch->features));
    print_floats("weights", batch->weights, TEST_BATCH_SAMPLES);
    printf("labels");
    for (size_t i = 0; i < TEST_BATCH_SAMPLES; i++)
        printf(" %lld", (long long)batch->labels[i]);
    printf("\noffsets");
    for (size_t i = 0; i <= TEST_BATCH_SAMPLES; i++)
        printf(" %u", batch->offsets[i]);
    printf("\ntokens");
    for (size_t i = 0; i < batch->offsets[TEST_BATCH_SAMPLES]; i++)
        printf(" %d", batch->tokens[i]);
    printf("\n");
}

static void print_blocks(const struct learner *learner)
{
    const struct model *model = learner->plan.model;
    for (size_t i = 0; i < trainer_model_block_count(model); i++) {
        const struct gradient *gradient = &learner->gradients[i];
        size_t floats = gradient->rows * gradient->width;
        for (size_t row = 0; row < gradient->rows; row++)
            for (size_t k = 0; k < gradient->width && !gradient->is_touched[row]; k++)
                gradient->block[row * gradient->width + k] = 0.0f;
        print_floats(model->blocks[i].name,
                     learner->parameters + trainer_model_block_at(&learner->plan, i), floats);
        printf("gradient.");
        print_floats(model->blocks[i].name, gradient->block, floats);
    }
}

static enum weir_status run(struct learner *learner, struct test_batch *batch,
                            struct weir_error *err)
{
    double loss = 0.0;
    struct weir_rng rng;
    enum weir_status status = trainer_learner_begin(learner, &batch->batch, err);
    if (status != WEIR_OK)
        return status;
    weir_rng_init(&rng, SEED);
    for (size_t i = 0; i < trainer_model_floats(&learner->plan); i++)
        learner->parameters[i] += (float)weir_rng_unit(&rng) - 0.5f;
    status = trainer_learner_step(learner, &batch->batch, 1.0, &loss, err);
    if (status != WEIR_OK)
        return status;
    print_batch(batch);
    print_blocks(learner);
    printf("loss %.17g\n", loss);
    print_floats("outputs", learner->outputs, TEST_BATCH_SAMPLES * learner->plan.width);
    size_t floats = (size_t)TEST_BATCH_SAMPLES * learner->plan.embedding;
    WEIR_AUTO_FREE float *embeddings = weir_calloc(floats, sizeof(float));
    status = trainer_learner_embed(learner, &batch->batch, embeddings, err);
    print_floats("embed", embeddings, floats);
    return status;
}

int main(int argc, char **argv)
{
    _Alignas(16) uint8_t options[MODEL_OPTIONS_MAX];
    struct test_batch batch;
    struct weir_error err;
    struct weir_yaml *document = NULL;
    if (argc != 5)
        return 2;
    uint32_t classes = (uint32_t)strtoul(argv[4], NULL, 10);
    struct learner learner = {.plan = {.model = model_find(argv[1]), .options = options},
                              .loss = trainer_loss_find(argv[3]),
                              .optimizer = trainer_optimizer_find("sgd"),
                              .seed = SEED};
    test_batch_make(&batch, SEED, classes);
    enum weir_status status = weir_yaml_parse("options", weir_bytes_of(argv[2]), &document, &err);
    if (status == WEIR_OK)
        status = trainer_training_read_model(learner.plan.model, weir_yaml_root(document), options,
                                             &err);
    if (status == WEIR_OK)
        status = learner.loss->width(classes, 0, &learner.plan.width, &err);
    if (status == WEIR_OK)
        status = run(&learner, &batch, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    trainer_learner_fini(&learner);
    weir_yaml_free(document);
    return status == WEIR_OK ? 0 : 1;
}
