/* Schedules, clipping and class weights, against numbers that PyTorch 1.13 gives (the calls stand beside them), and how
 * complaints read. */
#include "core/base/memory.h"
#include "tests/unit/trainer_client/training_text.h"

#include <math.h>

enum { BATCHES = 4, EPOCHS = 2 };

static double factor_at(const struct learning *learning, uint64_t batch, uint64_t batches)
{
    const struct schedule_place place = {.batch = batch,
                                         .epoch = batch / batches,
                                         .batches_per_epoch = batches,
                                         .epochs = EPOCHS * BATCHES / batches};
    return trainer_schedule_factor(learning->schedule, &learning->schedule_shared,
                                   &learning->schedule_options, &place);
}

static void rates_are_those_of_pytorch_by_batch_and_by_epoch(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double expected[BATCHES * EPOCHS];
    } CASES[] = {
        {"constant", {1, 1, 1, 1, 1, 1, 1, 1}},
        /* CosineAnnealingLR(T_max=8, eta_min=0.1) */
        {"{name: cosine, floor: 0.1}",
         {1.0, 0.9657457896300791, 0.8681980515339464, 0.7222075445642905, 0.55, 0.3777924554357097,
          0.2318019484660537, 0.134254210369921}},
        /* StepLR(step_size=3, gamma=0.5) */
        {"{name: step, every: 3, factor: 0.5}", {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25}},
        /* LinearLR(start_factor=0.25, total_iters=3) */
        {"{warmup: 4}", {0.25, 0.5, 0.75, 1, 1, 1, 1, 1}},
        /* SequentialLR([LinearLR(start_factor=0.5, total_iters=1), CosineAnnealingLR(T_max=6)], [2]) */
        {"{name: cosine, warmup: 2}",
         {0.5, 1.0, 1.0, 0.9330127018922194, 0.75, 0.5, 0.25, 0.06698729810778065}},
    };
    for (size_t i = 0; i < 2 * WEIR_COUNT(CASES); i++) {
        const char *text = CASES[i / 2].text;
        bool by_epoch = i % 2 == 1 && text[0] == '{';
        WEIR_AUTO_FREE char *section = weir_format("training: {model: linear, schedule: %.*s%s}",
                                                   (int)strlen(text) - (by_epoch ? 1 : 0), text,
                                                   by_epoch ? ", by: epoch}" : "");
        struct weir_yaml *document = NULL;
        struct training training;
        struct weir_error err;
        if (read_text(section, &document, &training, &err) != WEIR_OK)
            fail_msg("%s", err.text);
        for (uint64_t batch = 0; batch < WEIR_COUNT(CASES[0].expected); batch++) {
            double found = factor_at(&training.learning, batch, by_epoch ? 1 : BATCHES);
            if (fabs(found - CASES[i / 2].expected[batch]) > 1e-12)
                fail_msg("%s: batch %d: expected %.17g, found %.17g", section, (int)batch,
                         CASES[i / 2].expected[batch], found);
        }
        weir_yaml_free(document);
    }
}

static void by_epoch_the_rate_keeps_within_an_epoch(void **unused)
{
    (void)unused;
    const struct schedule_shared shared = {.by = SCHEDULE_BY_EPOCH};
    const struct schedule_options options = {.every = 1, .factor = 0.5};
    for (uint64_t batch = 0; batch < 12; batch++) {
        const struct schedule_place place = {
            .batch = batch, .epoch = batch / 4, .batches_per_epoch = 4, .epochs = 3};
        double found =
            trainer_schedule_factor(trainer_schedule_find("step"), &shared, &options, &place);
        assert_true(found == pow(0.5, (double)(batch / 4)));
    }
}

static void clip(const struct clip_options *options, const float expected[6])
{
    static const float ROWS[] = {3.0F, -4.0F, 0.0F, 0.0F, 12.0F, 0.5F};
    struct gradient gradient;
    trainer_gradient_init(&gradient, 5, 2);
    for (size_t row = 0; row < 3; row++)
        memcpy(trainer_gradient_row(&gradient, 2 * row), ROWS + 2 * row, 2 * sizeof(float));
    for (size_t i = 0; i < 2; i++) /* rows that are not touched have no say */
        gradient.block[2 + i] = gradient.block[6 + i] = 1e9F;
    trainer_clip(options, &gradient, 1);
    for (size_t i = 0; i < 6; i++)
        assert_float_equal(gradient.block[i / 2 * 4 + i % 2], expected[i], 1e-6);
    trainer_gradient_fini(&gradient);
}

static void gradients_are_clipped_as_pytorch_does(void **unused)
{
    (void)unused;
    /* clip_grad_norm_([p], 2.0), of norm 13.0096 */
    static const float BY_NORM[] = {0.4611974358558655F, -0.6149299144744873F, 0, 0,
                                    1.844789743423462F,  0.07686623930931091F};
    static const float AS_IT_WAS[] = {3.0F, -4.0F, 0.0F, 0.0F, 12.0F, 0.5F};
    clip(&(struct clip_options){.norm = 2.0}, BY_NORM);
    clip(&(struct clip_options){.norm = 14.0}, AS_IT_WAS);
    clip(&(struct clip_options){.value = 0}, AS_IT_WAS);
    clip(&(struct clip_options){.value = 2.0}, /* clip_grad_value_([p], 2.0) */
         (const float[]){2.0F, -2.0F, 0.0F, 0.0F, 2.0F, 0.5F});
}

/* cross_entropy(o, [1, 0, 2, 1], weight=[1, 5, 0.5]) */
static void a_class_s_weight_counts_as_in_pytorch(void **unused)
{
    (void)unused;
    static const char *const NAMES[] = {"a", "b", "c"};
    static const uint64_t IDS[] = {1, 2, 3, 4};
    static const int64_t LABELS[] = {1, 0, 2, 1};
    static const float OUTPUTS[] = {1, 2, 0.5F, 0, -1, 3, 2, 2, 2, 0.5F, 0, -1};
    static const float OF_SET[] = {1, 1, 1, 1};
    static const float SLOPES[] = {0.100532129F,   -0.161507964F, 0.0609758198F, -0.0829032511F,
                                   0.00149111496F, 0.0814121366F, 0.014492753F,  0.014492753F,
                                   -0.0289855078F, 0.237630174F,  -0.290652633F, 0.0530224517F};
    const struct weir_batch batch = {.samples = 4,
                                     .ids = IDS,
                                     .labels = LABELS,
                                     .label_type = WEIR_LABELS_CLASS,
                                     .weights = OF_SET};
    struct weir_yaml *document = NULL;
    struct weir_error err;
    double *of_classes = NULL;
    float weights[4], slopes[12];
    assert_int_equal(
        weir_yaml_parse("p", weir_bytes_of("{b: 5, c: 0.5, later: 9}"), &document, &err), WEIR_OK);
    assert_int_equal(
        trainer_learning_class_weights(weir_yaml_root(document), NAMES, 3, &of_classes, &err),
        WEIR_OK);
    for (size_t s = 0; s < 4; s++)
        weights[s] = (float)of_classes[LABELS[s]];
    struct loss_work work = {.loss = trainer_loss_find("softmax"),
                             .width = 3,
                             .outputs = OUTPUTS,
                             .slopes = slopes,
                             .weights = weights};
    assert_int_equal(trainer_loss_measure(&work, &batch, &err), WEIR_OK);
    trainer_loss_scale(&work, &batch, work.weight);
    assert_true(fabs(work.weighted / work.weight - 0.9963206648826599) < 1e-6);
    for (size_t i = 0; i < WEIR_COUNT(SLOPES); i++)
        assert_float_equal(slopes[i], SLOPES[i], 1e-6);
    free(of_classes);
    weir_yaml_free(document);
}

static void classes_without_names_are_named_by_number(void **unused)
{
    (void)unused;
    struct weir_yaml *document = NULL;
    struct weir_error err;
    double *weights = NULL;
    assert_int_equal(weir_yaml_parse("p", weir_bytes_of("{1: 5}"), &document, &err), WEIR_OK);
    assert_int_equal(
        trainer_learning_class_weights(weir_yaml_root(document), NULL, 2, &weights, &err), WEIR_OK);
    assert_true(weights[0] == 1.0 && weights[1] == 5.0);
    free(weights);
    weir_yaml_free(document);
    assert_int_equal(weir_yaml_parse("p", weir_bytes_of("{spam: 5}"), &document, &err), WEIR_OK);
    assert_int_equal(
        trainer_learning_class_weights(weir_yaml_root(document), NULL, 2, &weights, &err),
        WEIR_INVALID);
    assert_non_null(
        strstr(err.text, "p:1:2: training.class_weights.spam: unknown key, expected one of: 0, 1"));
    weir_yaml_free(document);
}

static void everything_is_printed_back(void **unused)
{
    (void)unused;
    static const char TEXT[] = "training:\n"
                               "  model: linear\n"
                               "  optimizer: {name: adamw, beta1: 0.8}\n"
                               "  schedule: {name: step, by: epoch, warmup: 2, every: 3}\n"
                               "  clip: {norm: 0.5}\n"
                               "  class_weights: {1: 3}\n";
    struct printed_back read;
    print_back(TEXT, &read);
    assert_true(read.again.learning.optimizer_options.beta1 == 0.8);
    assert_string_equal(read.again.learning.schedule->name, "step");
    assert_int_equal(read.again.learning.schedule_shared.by, SCHEDULE_BY_EPOCH);
    assert_int_equal(read.again.learning.schedule_shared.warmup, 2);
    assert_int_equal(read.again.learning.schedule_options.every, 3);
    assert_true(read.again.learning.clip.norm == 0.5 && read.again.learning.clip.value == 0.0);
    assert_non_null(weir_yaml_get(read.again.learning.class_weights, "1"));
    printed_back_fini(&read);
}

static void complaints_name_the_place_and_what_was_expected(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *complaint;
    } CASES[] = {
        {"training: {model: linear, schedule: cosin}",
         "p.yaml:1:37: training.schedule: unknown schedule 'cosin' (did you mean cosine?)"},
        {"training: {model: linear, schedule: {name: step}}",
         "p.yaml:1:37: training.schedule: the key 'every' is missing: batches or epochs"},
        {"training: {model: linear, schedule: {name: cosine, every: 3}}",
         "p.yaml:1:52: training.schedule.every: unknown key"},
        {"training: {model: linear, schedule: {by: sample}}",
         "training.schedule.by: expected one of: batch, epoch"},
        {"training: {model: linear, clip: 3}", "p.yaml:1:33: training.clip: expected"},
        {"training: {model: linear, clip: {}}",
         "training.clip: expected {norm: 1} or {value: 0.5}"},
        {"training: {model: linear, clip: {norm: 1, value: 1}}",
         "p.yaml:1:33: training.clip: expected {norm: 1} or {value: 0.5}"},
        {"training: {model: linear, clip: {norm: -1}}", "p.yaml:1:40: training.clip.norm"},
        {"training: {model: linear, loss: squared, class_weights: {a: 1}}",
         "p.yaml:1:57: training.class_weights: expected none with loss: squared"},
        {"training: {model: linear, class_weights: balanced}",
         "p.yaml:1:42: training.class_weights: expected {CLASS: WEIGHT, …}"},
        {"training: {model: linear, class_weights: {1: much}}",
         "p.yaml:1:46: training.class_weights.1: expected"},
        {"training: {model: linear, class_weights: {1: -1}}", "training.class_weights.1"},
        {"datasets: [{label: {classes: stream}}]\n"
         "training: {model: linear, class_weights: {spam: 2}}",
         "training.class_weights.spam: expected the number of a class: only classes that datasets"},
        {"datasets: [{label: {classes: [ham, spam]}}]\n"
         "training: {model: linear, class_weights: {spem: 2}}",
         "p.yaml:2:43: training.class_weights.spem: unknown key (did you mean 'spam'?)"},
        {"training: {program: x, class_weights: {a: 1}}",
         "training.class_weights: expected none beside training.program"},
        {"training: {program: x, schedule: cosine}",
         "training.schedule: expected none beside training.program"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_yaml *document = NULL;
        struct training training;
        struct weir_error err;
        if (read_text(CASES[i].text, &document, &training, &err) != WEIR_INVALID)
            fail_msg("'%s' was taken", CASES[i].text);
        if (strstr(err.text, CASES[i].complaint) == NULL)
            fail_msg("expected '%s' in '%s'", CASES[i].complaint, err.text);
        weir_yaml_free(document);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_of_pytorch_by_batch_and_by_epoch),
        cmocka_unit_test(by_epoch_the_rate_keeps_within_an_epoch),
        cmocka_unit_test(gradients_are_clipped_as_pytorch_does),
        cmocka_unit_test(a_class_s_weight_counts_as_in_pytorch),
        cmocka_unit_test(classes_without_names_are_named_by_number),
        cmocka_unit_test(everything_is_printed_back),
        cmocka_unit_test(complaints_name_the_place_and_what_was_expected),
    };
    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
