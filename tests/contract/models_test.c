/* Promises of every model, looped over the registry and all losses: gradients are right, training
 * lowers the loss, the same batches make the same bytes, files give back what was put in, and
 * growing keeps what was learnt. */
#include "core/base/doubt.h"
#include "core/base/memory.h"
#include "core/wire/model_file.h"
#include "tests/support/batch.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/learner.h"
#include "trainer_client/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { CLASSES = 3, CHECKED = 200 };

struct subject {
    const struct model *model;
    const struct loss *loss;
    uint32_t classes;
    struct weir_yaml *document; /* of the options */
    _Alignas(16) uint8_t options[MODEL_OPTIONS_MAX];
    struct learner learner;
};

/* Options of a model, those that it has of these: it is small, and what is drawn at first shows. */
static void options_of(const struct model *model, char *ret_text, size_t size)
{
    static const char *const SMALL[][2] = {{"buckets", "40"},
                                           {"embedding", "5"},
                                           {"dimension", "6"},
                                           {"factors", "3"},
                                           {"spread", "0.1"}};
    size_t at = 0;
    ret_text[at++] = '{';
    for (const struct cfg_key *key = model->options; key->name != NULL; key++)
        for (size_t i = 0; i < WEIR_COUNT(SMALL); i++)
            if (strcmp(key->name, SMALL[i][0]) == 0)
                at += (size_t)snprintf(ret_text + at, size - at, "%s: %s, ", SMALL[i][0],
                                       SMALL[i][1]);
    snprintf(ret_text + at, size - at, "}");
}

static size_t bytes_of(const struct learner *learner)
{
    return trainer_model_floats(&learner->plan) * sizeof(float);
}

static void prepare(struct subject *subject, const struct optimizer *optimizer)
{
    char text[200];
    struct weir_error err;
    options_of(subject->model, text, sizeof(text));
    subject->classes = subject->loss == trainer_loss_find("softmax") ? CLASSES : 2;
    if (weir_yaml_parse("options", weir_bytes_of(text), &subject->document, &err) != WEIR_OK ||
        trainer_training_read_model(subject->model, weir_yaml_root(subject->document),
                                    subject->options, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    subject->learner = (struct learner){
        .plan = {.model = subject->model, .options = subject->options},
        .loss = subject->loss,
        .optimizer = optimizer,
        .seed = 7,
        .optimizer_options = {.lr = 0.2, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-10},
    };
    assert_int_equal(subject->loss->width(subject->classes, 0, &subject->learner.plan.width, &err),
                     WEIR_OK);
}

static void begin(struct subject *subject, const struct optimizer *optimizer)
{
    struct test_batch example;
    struct weir_error err;
    prepare(subject, optimizer);
    test_batch_make(&example, 1, subject->classes);
    if (trainer_learner_begin(&subject->learner, &example.batch, &err) != WEIR_OK)
        fail_msg("%s: %s", subject->model->name, err.text);
}

static void finish(struct subject *subject)
{
    trainer_learner_fini(&subject->learner);
    weir_yaml_free(subject->document);
    subject->document = NULL;
}

static double step(struct subject *subject, uint64_t seed)
{
    struct test_batch batch;
    struct weir_error err;
    double loss = 0.0;
    test_batch_make(&batch, seed, subject->classes);
    if (trainer_learner_step(&subject->learner, &batch.batch, 1.0, &loss, &err) != WEIR_OK)
        fail_msg("%s: %s", subject->model->name, err.text);
    return loss;
}

static void for_every_pair(void (*check)(struct subject *subject))
{
    for (size_t m = 0; m < model_count(); m++) {
        for (size_t l = 0; trainer_loss_at(l) != NULL; l++) {
            struct subject subject = {.model = model_at(m), .loss = trainer_loss_at(l)};
            check(&subject);
        }
    }
}

/* The loss of `batch` with what is learnt now, in double. */
static double loss_of(struct subject *subject, const struct weir_batch *batch)
{
    float scores[TEST_BATCH_SAMPLES * LEARNER_SCORES];
    struct weir_error err;
    double sum = 0.0, weight = 0.0;
    assert_int_equal(trainer_learner_score(&subject->learner, batch, scores, &err), WEIR_OK);
    for (size_t s = 0; s < batch->samples; s++) {
        sum += (double)batch->weights[s] * (double)scores[s * LEARNER_SCORES];
        weight += (double)batch->weights[s];
    }
    return sum / weight;
}

static double difference(struct subject *subject, const struct weir_batch *batch, float *parameter)
{
    const float h = 1e-2f;
    float before = *parameter;
    *parameter = before + h;
    double above = loss_of(subject, batch);
    *parameter = before - h;
    double below = loss_of(subject, batch);
    *parameter = before;
    return (above - below) / (2.0 * (double)h);
}

static void check_block(struct subject *subject, const struct weir_batch *batch, size_t block)
{
    struct learner *learner = &subject->learner;
    const struct gradient *gradient = &learner->gradients[block];
    float *parameters = learner->parameters + trainer_model_block_at(&learner->plan, block);
    size_t floats = gradient->rows * gradient->width;
    for (size_t i = 0; i < floats && i < CHECKED; i++) {
        double found = gradient->is_touched[i / gradient->width] ? (double)gradient->block[i] : 0.0;
        double expected = difference(subject, batch, &parameters[i]);
        if (fabs(found - expected) > 2e-3 + 2e-2 * fabs(expected))
            fail_msg("%s, %s: block %s, parameter %zu: gradient %g, by differences %g",
                     subject->model->name, subject->loss->name, subject->model->blocks[block].name,
                     i, found, expected);
    }
}

static void check_gradient(struct subject *subject)
{
    struct test_batch batch;
    struct weir_rng rng;
    double loss = 0.0;
    struct weir_error err;
    begin(subject, trainer_optimizer_find("sgd"));
    struct learner *learner = &subject->learner;
    weir_rng_init(&rng, 3);
    for (size_t i = 0; i < trainer_model_floats(&learner->plan); i++)
        learner->parameters[i] = (float)weir_rng_unit(&rng) - 0.5f; /* not symmetric any longer */
    test_batch_make(&batch, 5, subject->classes);
    learner->optimizer_options.lr = 0.0; /* the step only leaves its gradient behind */
    assert_int_equal(trainer_learner_step(learner, &batch.batch, 1.0, &loss, &err), WEIR_OK);
    for (size_t i = 0; i < trainer_model_block_count(subject->model); i++)
        check_block(subject, &batch.batch, i);
    finish(subject);
}

static void gradients_agree_with_finite_differences(void **unused)
{
    (void)unused;
    for_every_pair(check_gradient);
}

static void check_learning(struct subject *subject)
{
    for (size_t o = 0; o < trainer_optimizer_count(); o++) {
        double first = 0.0, last = 0.0;
        begin(subject, trainer_optimizer_at(o));
        for (uint64_t i = 0; i < 200; i++) {
            double loss = step(subject, i % 10 + 1);
            first += i < 10 ? loss / 10.0 : 0.0;
            last += i >= 190 ? loss / 10.0 : 0.0;
        }
        if (!(last < 0.7 * first))
            fail_msg("%s, %s, %s: loss went from %g to %g", subject->model->name,
                     subject->loss->name, trainer_optimizer_at(o)->name, first, last);
        finish(subject);
    }
}

static void training_lowers_the_loss(void **unused)
{
    (void)unused;
    for_every_pair(check_learning);
}

static void check_repeatable(struct subject *subject)
{
    for (size_t o = 0; o < trainer_optimizer_count(); o++) {
        WEIR_AUTO_BUF first = {0};
        for (int round = 0; round < 2; round++) {
            begin(subject, trainer_optimizer_at(o));
            for (uint64_t i = 0; i < 20; i++)
                step(subject, i);
            const struct learner *learner = &subject->learner;
            size_t bytes = bytes_of(learner);
            if (round == 0)
                weir_buf_append(&first, learner->parameters, bytes);
            else
                assert_memory_equal(first.at, learner->parameters, bytes);
            finish(subject);
        }
    }
}

static void the_same_batches_make_the_same_bytes(void **unused)
{
    (void)unused;
    for_every_pair(check_repeatable);
}

/* All that a few steps leave behind, with so many threads; every phase of a step has something to do. */
static void learn_with(struct subject *subject, const struct optimizer *optimizer, uint32_t threads,
                       struct weir_buf *out)
{
    begin(subject, optimizer);
    struct learner *learner = &subject->learner;
    learner->threads_wanted = threads;
    learner->clip.norm = 0.5;
    for (uint64_t i = 0; i < 20; i++) {
        struct test_batch batch;
        struct weir_error err;
        double loss = 0.0;
        float scores[TEST_BATCH_SAMPLES * LEARNER_SCORES];
        learner->scores = i % 2 == 0 ? scores : NULL;
        learner->choice = (struct cfg_batch_then_sample){.ratio = i % 3 == 0 ? 0.5 : 0.0};
        test_batch_make(&batch, i, subject->classes);
        batch.batch.number = i;
        assert_int_equal(trainer_learner_step(learner, &batch.batch, 1.0, &loss, &err), WEIR_OK);
        weir_buf_append(out, &loss, sizeof(loss));
        if (learner->scores != NULL)
            weir_buf_append(out, scores, sizeof(scores));
    }
    weir_buf_append(out, learner->parameters, bytes_of(learner));
    if (learner->state_blocks > 0)
        weir_buf_append(out, learner->optimizer_state, learner->state_blocks * bytes_of(learner));
    WEIR_AUTO_FREE float *embeddings =
        weir_calloc(TEST_BATCH_SAMPLES * learner->plan.embedding, sizeof(float));
    struct test_batch batch;
    test_batch_make(&batch, 77, subject->classes);
    assert_int_equal(trainer_learner_embed(learner, &batch.batch, embeddings, NULL), WEIR_OK);
    weir_buf_append(out, embeddings, TEST_BATCH_SAMPLES * learner->plan.embedding * sizeof(float));
    finish(subject);
}

static void check_threads(struct subject *subject)
{
    static const uint32_t THREADS[] = {2, 3, 4, GRADIENT_STRIPES};
    for (size_t o = 0; o < trainer_optimizer_count(); o++) {
        WEIR_AUTO_BUF alone = {0};
        learn_with(subject, trainer_optimizer_at(o), 1, &alone);
        for (size_t i = 0; i < WEIR_COUNT(THREADS); i++) {
            WEIR_AUTO_BUF together = {0};
            learn_with(subject, trainer_optimizer_at(o), THREADS[i], &together);
            assert_int_equal(alone.size, together.size);
            if (memcmp(alone.at, together.at, alone.size) != 0)
                fail_msg("%s, %s, %s: %u threads learn something else than one",
                         subject->model->name, subject->loss->name, trainer_optimizer_at(o)->name,
                         THREADS[i]);
        }
    }
}

static void any_number_of_threads_makes_the_same_bytes(void **unused)
{
    (void)unused;
    for_every_pair(check_threads);
}

/* A complaint is about the first sample that deserves one, whichever thread looks at it. */
static void of_several_threads_the_first_complaint_counts(void **unused)
{
    (void)unused;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        struct subject subject = {.model = model_find("linear"),
                                  .loss = trainer_loss_find("logistic")};
        struct test_batch batch;
        struct weir_error err;
        double loss = 0.0;
        begin(&subject, trainer_optimizer_find("sgd"));
        subject.learner.threads_wanted = threads;
        test_batch_make(&batch, 3, 2);
        batch.labels[6] = batch.labels[13] = 5;
        batch.ids[6] = 4242;
        assert_int_equal(trainer_learner_step(&subject.learner, &batch.batch, 1.0, &loss, &err),
                         WEIR_INVALID);
        assert_non_null(strstr(err.text, "sample 4242: label 5"));
        finish(&subject);
    }
}

/* The weight of a class is a factor of its samples' weights. */
static void a_class_s_weight_teaches_as_its_samples_weights_do(void **unused)
{
    (void)unused;
    static const double OF_CLASSES[] = {1.0, 4.0, 0.5};
    for (size_t m = 0; m < model_count(); m++) {
        WEIR_AUTO_BUF first = {0};
        for (int round = 0; round < 2; round++) {
            struct subject subject = {.model = model_at(m), .loss = trainer_loss_find("softmax")};
            struct test_batch batch;
            struct weir_error err;
            double loss = 0.0;
            begin(&subject, trainer_optimizer_find("adagrad"));
            struct learner *learner = &subject.learner;
            test_batch_make(&batch, 3, CLASSES);
            learner->class_weights = round == 0 ? OF_CLASSES : NULL;
            learner->class_count = CLASSES;
            for (size_t s = 0; round == 1 && s < TEST_BATCH_SAMPLES; s++)
                batch.weights[s] *= (float)OF_CLASSES[batch.labels[s]];
            assert_int_equal(trainer_learner_step(learner, &batch.batch, 1.0, &loss, &err),
                             WEIR_OK);
            size_t bytes = bytes_of(learner);
            if (round == 0)
                weir_buf_append(&first, learner->parameters, bytes);
            else
                assert_memory_equal(first.at, learner->parameters, bytes);
            finish(&subject);
        }
    }
}

/* The choice of the step, made again from scores that were taken apart. */
static void choose_again(struct subject *subject, const struct test_batch *batch, float *factors)
{
    const struct learner *learner = &subject->learner;
    float scores[TEST_BATCH_SAMPLES * LEARNER_SCORES];
    double chances[TEST_BATCH_SAMPLES];
    struct weir_error err;
    const struct weir_batch *shown = &batch->batch;
    assert_int_equal(trainer_learner_score(&subject->learner, shown, scores, &err), WEIR_OK);
    assert_int_equal(trainer_learner_forward(&subject->learner, shown, &err), WEIR_OK);
    trainer_learner_predict(&subject->learner, shown);
    for (size_t s = 0; s < TEST_BATCH_SAMPLES; s++) {
        const float *prediction = learner->outputs + s * learner->plan.width;
        double both[] = {(double)scores[s * LEARNER_SCORES], (double)scores[s * LEARNER_SCORES + 1],
                         weir_doubt_of(prediction, learner->plan.width,
                                       (enum weir_doubt)learner->choice.metric)};
        chances[s] = both[learner->choice.score];
    }
    trainer_choose(&learner->choice,
                   &(struct choice_input){.samples = TEST_BATCH_SAMPLES,
                                          .seed = learner->seed ^ weir_mix64(shown->number + 1),
                                          .score = chances},
                   factors);
}

/* A step that chooses is a step on the same batch in which all others weigh nothing; these touch no parameter, though
 * adam moves whatever is touched. */
static void check_choice(struct subject *subject, struct cfg_batch_then_sample choice)
{
    WEIR_AUTO_BUF first = {0};
    struct test_batch batch;
    struct weir_error err;
    double loss[2] = {0};
    for (int round = 0; round < 2; round++) {
        begin(subject, trainer_optimizer_find("adam"));
        struct learner *learner = &subject->learner;
        for (uint64_t i = 1; i < 4; i++)
            step(subject, i);
        float factors[TEST_BATCH_SAMPLES];
        test_batch_make(&batch, 9, subject->classes);
        batch.batch.number = 12;
        learner->choice = choice;
        choose_again(subject, &batch, factors);
        size_t chosen = 0;
        for (size_t s = 0; s < TEST_BATCH_SAMPLES; s++)
            chosen += factors[s] > 0.0f;
        assert_int_equal(chosen, TEST_BATCH_SAMPLES / 4);
        for (size_t s = 0; round == 1 && s < TEST_BATCH_SAMPLES; s++)
            batch.weights[s] *= factors[s];
        learner->choice.ratio = round == 0 ? choice.ratio : 0.0;
        assert_int_equal(trainer_learner_step(learner, &batch.batch, 1.0, &loss[round], &err),
                         WEIR_OK);
        if (round == 0)
            weir_buf_append(&first, learner->parameters, bytes_of(learner));
        else
            assert_memory_equal(first.at, learner->parameters, bytes_of(learner));
        finish(subject);
    }
}

static void check_choices(struct subject *subject)
{
    for (int score = CFG_IN_BATCH_LOSS; score <= CFG_IN_BATCH_UNCERTAINTY; score++)
        if (score != CFG_IN_BATCH_UNCERTAINTY || subject->loss->takes_classes)
            check_choice(subject, (struct cfg_batch_then_sample){.score = score, .ratio = 0.25});
}

static void a_step_learns_from_what_is_chosen_of_its_batch(void **unused)
{
    (void)unused;
    for_every_pair(check_choices);
}

static void a_loss_measures_vectors_or_says_that_it_cannot(void **unused)
{
    static const uint64_t IDS[] = {7, 8};
    static const int64_t LABELS[2];
    static const float VALUES[] = {1, 2, 3, 4}, WEIGHTS[] = {1, 3}, OUTPUTS[] = {1, 4, 0, 4};
    const struct weir_batch batch = {.samples = 2,
                                     .ids = IDS,
                                     .labels = LABELS,
                                     .label_type = WEIR_LABELS_VALUES,
                                     .weights = WEIGHTS,
                                     .label_values = VALUES,
                                     .label_width = 2};
    (void)unused;
    for (size_t l = 0; trainer_loss_at(l) != NULL; l++) {
        float slopes[4] = {0};
        struct loss_work work = {
            .loss = trainer_loss_at(l), .width = 2, .outputs = OUTPUTS, .slopes = slopes};
        struct weir_error err;
        enum weir_status status = trainer_loss_measure(&work, &batch, &err);
        if (work.loss->measure_values == NULL) {
            assert_int_equal(status, WEIR_INVALID);
            assert_non_null(strstr(err.text, "labels are vectors of 2 numbers"));
            continue;
        }
        assert_int_equal(status, WEIR_OK);
        assert_true(work.weighted == 2.0 + 3 * 4.5 && work.weight == 4.0);
        trainer_loss_scale(&work, &batch, work.weight);
        assert_true(slopes[0] == 0.0f && slopes[1] == 0.5f && slopes[2] == -2.25f &&
                    slopes[3] == 0.0f);
        work.width = 1;
        assert_int_equal(trainer_loss_measure(&work, &batch, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, "but the model has 1 outputs"));
    }
}

static struct weir_model_file describe(const struct subject *subject, struct weir_buf *options)
{
    const struct learner *learner = &subject->learner;
    static const char *const NAMES[] = {"ham", "spam \"quoted\"", ""};
    cfg_print(subject->model->options, subject->options, 0, options);
    struct weir_model_file file = {
        .model = subject->model->name,
        .options = weir_buf_text(options),
        .loss = subject->loss->name,
        .optimizer = learner->optimizer->name,
        .width = learner->plan.width,
        .embedding = learner->plan.embedding,
        .label_kind = 3,
        .classes = {NAMES, 3},
        .fitted = weir_bytes("a\0b", 3),
        .progress = {.run = 9, .samples = 10, .epoch = 2, .loss_sum = 0.5, .loss_count = 4.0},
        .parameters = learner->parameters,
        .optimizer_state = learner->optimizer_state,
        .state_blocks = learner->state_blocks,
        .steps = learner->steps,
    };
    trainer_model_describe(&learner->plan, &file);
    return file;
}

static void check_file(struct subject *subject)
{
    struct temp_dir dir;
    struct weir_error err;
    struct weir_model_file back;
    WEIR_AUTO_BUF options = {0};
    _Alignas(16) uint8_t read_options[MODEL_OPTIONS_MAX];
    temp_dir_make(&dir);
    begin(subject, trainer_optimizer_find("adam"));
    for (uint64_t i = 0; i < 5; i++)
        step(subject, i);
    struct weir_model_file file = describe(subject, &options);
    assert_int_equal(weir_model_file_write(temp_path(&dir, "model"), &file, &err), WEIR_OK);
    if (weir_model_file_read(temp_path(&dir, "model"), &back, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    size_t bytes = bytes_of(&subject->learner);
    assert_int_equal(back.block_count, trainer_model_block_count(subject->model));
    for (size_t i = 0; i < back.block_count; i++)
        assert_string_equal(back.blocks[i].name, subject->model->blocks[i].name);
    assert_memory_equal(back.parameters, file.parameters, bytes);
    assert_memory_equal(back.optimizer_state, file.optimizer_state, 2 * bytes);
    assert_int_equal(back.steps, 5);
    assert_string_equal(back.classes.at[1], "spam \"quoted\"");
    assert_int_equal(back.fitted.size, 3);
    assert_true(back.progress.run == 9 && back.progress.epoch == 2 &&
                back.progress.loss_count == 4.0);
    struct weir_yaml *document = NULL;
    assert_int_equal(weir_yaml_parse("options", weir_bytes_of(back.options), &document, &err),
                     WEIR_OK);
    if (trainer_training_read_model(subject->model, weir_yaml_root(document), read_options, &err) !=
        WEIR_OK)
        fail_msg("%s", err.text);
    assert_memory_equal(read_options, subject->options, subject->model->options_size);
    weir_yaml_free(document);
    weir_model_file_fini(&back);
    finish(subject);
    temp_dir_remove(&dir);
}

static void files_give_back_every_bit(void **unused)
{
    (void)unused;
    for_every_pair(check_file);
}

static void a_class_more_keeps_what_the_others_have_learnt(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < model_count(); m++) {
        struct subject subject = {.model = model_at(m), .loss = trainer_loss_find("softmax")};
        struct test_batch batch;
        struct weir_error err;
        float before[TEST_BATCH_SAMPLES * CLASSES];
        begin(&subject, trainer_optimizer_find("adagrad"));
        for (uint64_t i = 0; i < 20; i++)
            step(&subject, i);
        test_batch_make(&batch, 99, CLASSES);
        assert_int_equal(trainer_learner_forward(&subject.learner, &batch.batch, &err), WEIR_OK);
        memcpy(before, subject.learner.outputs, sizeof(before));
        assert_int_equal(trainer_learner_widen(&subject.learner, CLASSES + 1, &err), WEIR_OK);
        assert_int_equal(trainer_learner_forward(&subject.learner, &batch.batch, &err), WEIR_OK);
        for (size_t i = 0; i < WEIR_COUNT(before); i++)
            assert_true(before[i] ==
                        subject.learner.outputs[i / CLASSES * (CLASSES + 1) + i % CLASSES]);
        assert_int_equal(trainer_learner_widen(&subject.learner, CLASSES, &err), WEIR_INVALID);
        finish(&subject);
    }
}

/* Each row of a block begins as it was, and goes on with zeros. */
static void assert_widened(const struct model_plan *old, const struct model_plan *plan,
                           size_t block, const float *before, const float *now)
{
    uint32_t old_width = trainer_model_block_width(old, block);
    uint32_t width = trainer_model_block_width(plan, block);
    before += trainer_model_block_at(old, block);
    now += trainer_model_block_at(plan, block);
    for (uint64_t row = 0; row < plan->shape[block].rows; row++) {
        assert_memory_equal(now + row * width, before + row * old_width, old_width * sizeof(float));
        for (uint32_t i = old_width; i < width; i++)
            assert_true(now[row * width + i] == 0.0f);
    }
}

static void a_class_more_keeps_what_the_optimizer_has_learnt(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < model_count(); m++) {
        struct subject subject = {.model = model_at(m), .loss = trainer_loss_find("softmax")};
        struct weir_error err;
        begin(&subject, trainer_optimizer_find("adam"));
        for (uint64_t i = 0; i < 20; i++)
            step(&subject, i);
        struct learner *learner = &subject.learner;
        struct model_plan old = learner->plan;
        size_t floats = trainer_model_floats(&old);
        WEIR_AUTO_BUF before = {0};
        weir_buf_append(&before, learner->optimizer_state,
                        floats * learner->state_blocks * sizeof(float));
        assert_int_equal(trainer_learner_widen(learner, CLASSES + 1, &err), WEIR_OK);
        assert_int_equal(learner->steps, 20);
        for (size_t i = 0; i < learner->state_blocks * trainer_model_block_count(subject.model);
             i++) {
            size_t block = i / learner->state_blocks, plane = i % learner->state_blocks;
            assert_widened(&old, &learner->plan, block,
                           (const float *)(const void *)before.at + plane * floats,
                           learner->optimizer_state + plane * trainer_model_floats(&learner->plan));
        }
        finish(&subject);
    }
}

static void embeddings_are_finite_and_repeatable(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < model_count(); m++) {
        struct subject subject = {.model = model_at(m), .loss = trainer_loss_find("logistic")};
        struct test_batch batch;
        struct weir_error err;
        begin(&subject, trainer_optimizer_find("sgd"));
        test_batch_make(&batch, 4, 2);
        size_t floats = (size_t)TEST_BATCH_SAMPLES * subject.learner.plan.embedding;
        WEIR_AUTO_FREE float *first = weir_calloc(floats, sizeof(float));
        WEIR_AUTO_FREE float *again = weir_calloc(floats, sizeof(float));
        assert_int_equal(trainer_learner_embed(&subject.learner, &batch.batch, first, &err),
                         WEIR_OK);
        assert_int_equal(trainer_learner_embed(&subject.learner, &batch.batch, again, &err),
                         WEIR_OK);
        for (size_t i = 0; i < floats; i++)
            assert_true(isfinite(first[i]) && first[i] == again[i]);
        finish(&subject);
    }
}

static void a_batch_without_the_right_tensor_is_refused_by_name(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < model_count(); m++) {
        struct subject subject = {.model = model_at(m), .loss = trainer_loss_find("logistic")};
        struct test_batch batch;
        struct weir_error err;
        prepare(&subject, trainer_optimizer_find("sgd"));
        test_batch_make(&batch, 4, 2);
        batch.tensors[0].type = WEIR_TENSOR_F64;
        batch.tensors[1].type = WEIR_TENSOR_F64;
        assert_int_equal(trainer_learner_begin(&subject.learner, &batch.batch, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, "'tokens' ragged f64"));
        finish(&subject);
    }
}

static void every_model_and_option_says_what_it_is(void **unused)
{
    (void)unused;
    for (size_t m = 0; m < model_count(); m++) {
        const struct model *model = model_at(m);
        assert_ptr_equal(model_find(model->name), model);
        assert_true(model->summary != NULL && model->blocks != NULL && model->plan != NULL &&
                    model->init != NULL && model->scratch_bytes != NULL && model->forward != NULL &&
                    model->backward != NULL && model->embed != NULL &&
                    model->options_size <= MODEL_OPTIONS_MAX);
        for (const struct cfg_key *key = model->options; key->name != NULL; key++)
            assert_non_null(key->doc);
    }
    for (size_t l = 0; trainer_loss_at(l) != NULL; l++)
        assert_string_equal(TRAINER_LOSS_NAMES[l], trainer_loss_at(l)->name);
    assert_null(model_find("nope"));
    assert_null(trainer_loss_find("nope"));
    assert_null(trainer_optimizer_find("nope"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_agree_with_finite_differences),
        cmocka_unit_test(training_lowers_the_loss),
        cmocka_unit_test(the_same_batches_make_the_same_bytes),
        cmocka_unit_test(any_number_of_threads_makes_the_same_bytes),
        cmocka_unit_test(of_several_threads_the_first_complaint_counts),
        cmocka_unit_test(a_class_s_weight_teaches_as_its_samples_weights_do),
        cmocka_unit_test(a_step_learns_from_what_is_chosen_of_its_batch),
        cmocka_unit_test(a_loss_measures_vectors_or_says_that_it_cannot),
        cmocka_unit_test(files_give_back_every_bit),
        cmocka_unit_test(a_class_more_keeps_what_the_others_have_learnt),
        cmocka_unit_test(a_class_more_keeps_what_the_optimizer_has_learnt),
        cmocka_unit_test(embeddings_are_finite_and_repeatable),
        cmocka_unit_test(a_batch_without_the_right_tensor_is_refused_by_name),
        cmocka_unit_test(every_model_and_option_says_what_it_is),
    };
    return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
