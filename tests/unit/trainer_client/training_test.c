/* The section `training`: what is understood, and how complaints read. */
#include "tests/unit/trainer_client/training_text.h"

static void a_name_is_enough(void **unused)
{
    (void)unused;
    struct weir_yaml *document = NULL;
    struct training training;
    struct weir_error err;
    assert_int_equal(read_text("training: {model: text_bag}", &document, &training, &err), WEIR_OK);
    assert_string_equal(training.model->name, "text_bag");
    assert_string_equal(training.loss->name, "logistic");
    assert_int_equal(training.checkpoint_us, 60000000);
    assert_int_equal(training.keys.shared.epochs, 1);
    assert_false(training.carries_optimizer);
    assert_string_equal(training.learning.optimizer->name, "adagrad");
    assert_true(training.learning.optimizer_options.lr == 0.1);
    weir_yaml_free(document);
}

static void everything_can_be_said_and_is_printed_back(void **unused)
{
    (void)unused;
    static const char TEXT[] = "training:\n"
                               "  model: {name: text_bag, buckets: 1024, counts: binary}\n"
                               "  loss: softmax\n"
                               "  epochs: 3\n"
                               "  carry: [weights, optimizer]\n"
                               "  optimizer: {name: sgd, lr: 0.5, momentum: 0.9}\n"
                               "  checkpoint: {every: 5s}\n";
    struct printed_back read;
    print_back(TEXT, &read);
    assert_memory_equal(read.training.model_options, read.again.model_options,
                        sizeof(read.again.model_options));
    assert_ptr_equal(read.again.loss, trainer_loss_find("softmax"));
    assert_true(read.again.carries_optimizer);
    assert_string_equal(read.again.learning.optimizer->name, "sgd");
    assert_true(read.again.learning.optimizer_options.lr == 0.5 &&
                read.again.learning.optimizer_options.momentum == 0.9);
    assert_int_equal(read.again.checkpoint_us, 5000000);
    printed_back_fini(&read);
}

struct complaint {
    const char *text, *complaint;
};

static void expect_complaints(const struct complaint *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct weir_yaml *document = NULL;
        struct training training;
        struct weir_error err;
        assert_int_equal(read_text(cases[i].text, &document, &training, &err), WEIR_INVALID);
        if (strstr(err.text, cases[i].complaint) == NULL)
            fail_msg("expected '%s' in '%s'", cases[i].complaint, err.text);
        weir_yaml_free(document);
    }
}

static void complaints_name_the_place_and_what_was_expected(void **unused)
{
    (void)unused;
    static const struct complaint CASES[] = {
        {"pipeline: x", "p.yaml:1:1: training: missing"},
        {"training: {epochs: 3}",
         "p.yaml:1:11: training: expected model: a built-in model, or program"},
        {"training: {program: x, loss: squared}",
         "p.yaml:1:30: training.loss: expected none beside training.program"},
        {"training: {program: x, model: linear}", "training.model: expected none beside"},
        {"training: {program: x, threads: 2}", "training.threads: expected none beside"},
        {"training: {model: linear, threads: 33}", "training.threads: expected an integer"},
        {"training: {model: linear, options: {a: 1}}",
         "training.options: expected none without training.program"},
        {"training: {model: txt_bag}",
         "p.yaml:1:19: training.model: unknown model 'txt_bag' (did you mean text_bag?)"},
        {"training: {model: {name: forest}}",
         "p.yaml:1:26: training.model.name: unknown model 'forest', "
         "expected one of fm, linear, text_bag, text_embedding"},
        {"training: {model: [a]}", "training.model: expected a name"},
        {"training: {model: {name: linear, buckets: 3}}", "training.model.buckets: unknown key"},
        {"training: {model: linear, epoch: 3}", "(did you mean 'epochs'?)"},
        {"training: {model: linear, epochs: 0}", "training.epochs"},
        {"training: {model: linear, ranks: 2}", "p.yaml:1:34: training.ranks: expected 1"},
        {"training: {model: linear, loss: hinge}", "training.loss"},
        {"training: {model: linear, carry: [wheels]}",
         "training.carry: expected weights or optimizer, found 'wheels'"},
        {"training: {model: linear, optimizer: {name: adamax}}",
         "p.yaml:1:45: training.optimizer.name: unknown optimizer 'adamax' (did you mean adam?)"},
        {"training: {model: linear, optimizer: newton}",
         "p.yaml:1:38: training.optimizer: unknown optimizer 'newton', expected one of sgd, adagrad"},
        {"training: {model: linear, optimizer: [sgd]}",
         "training.optimizer: expected a name, or {"},
        {"training: {model: linear, optimizer: {momentum: 0.9}}",
         "training.optimizer.momentum: unknown key, expected one of: name, lr, epsilon"},
        {"training: {model: linear, optimizer: {name: sgd, momentum: 1}}",
         "p.yaml:1:60: training.optimizer.momentum: "},
        {"training: {model: linear, optimizer: {name: adam, lr: 0}}", "training.optimizer.lr"},
        {"training: {model: linear, checkpoint: {every: soon}}", "training.checkpoint.every"},
    };
    expect_complaints(CASES, WEIR_COUNT(CASES));
}

static void complaints_of_the_choice_inside_a_batch_name_it(void **unused)
{
    (void)unused;
    static const struct complaint CASES[] = {
        {"{training: {model: linear}, selection: {batch_then_sample: {score: loss}}}",
         "selection.batch_then_sample: the key 'ratio' is missing"},
        {"{training: {model: linear}, selection: {batch_then_sample: {score: loss, ratio: 0}}}",
         "p.yaml:1:81: selection.batch_then_sample.ratio: expected a number above 0"},
        {"{training: {model: linear}, selection: {batch_then_sample: {score: rho, ratio: 0.5}}}",
         "selection.batch_then_sample.score: "},
        {"{training: {program: x}, selection: {batch_then_sample: {score: loss, ratio: 1, metric: margin}}}",
         "selection.batch_then_sample.metric: expected none with score: loss"},
        {"{training: {model: linear, loss: squared}, selection: {batch_then_sample: {score: uncertainty, ratio: 1}}}",
         "p.yaml:1:83: selection.batch_then_sample.score: uncertainty is about classes, and "
         "training.loss is squared"},
    };
    expect_complaints(CASES, WEIR_COUNT(CASES));
}

static void the_reference_tells_of_every_model(void **unused)
{
    (void)unused;
    WEIR_AUTO_BUF page = {0};
    trainer_training_describe(&page);
    for (size_t i = 0; i < model_count(); i++)
        assert_non_null(strstr(weir_buf_text(&page), model_at(i)->summary));
    assert_non_null(strstr(weir_buf_text(&page), "`checkpoint`"));
}

static void at_least_half_of_the_time_is_for_training(void **unused)
{
    const struct training training = {.checkpoint_us = 5000000};

    (void)unused;
    assert_int_equal(trainer_training_next_checkpoint_ms(&training, 1000, 1200), 1200 + 5000);
    assert_int_equal(trainer_training_next_checkpoint_ms(&training, 1000, 6000), 6000 + 5000);
    assert_int_equal(trainer_training_next_checkpoint_ms(&training, 1000, 21000), 21000 + 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_enough),
        cmocka_unit_test(everything_can_be_said_and_is_printed_back),
        cmocka_unit_test(complaints_name_the_place_and_what_was_expected),
        cmocka_unit_test(complaints_of_the_choice_inside_a_batch_name_it),
        cmocka_unit_test(the_reference_tells_of_every_model),
        cmocka_unit_test(at_least_half_of_the_time_is_for_training),
    };
    return cmocka_run_group_tests_name("training", tests, NULL, NULL);
}
