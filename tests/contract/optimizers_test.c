/* Every optimizer steps as PyTorch's of the same name does: numbers below are torch 1.13's, printed by
 * `optimizers_numpy_test.py PROGRAM golden`. With arguments, a program for that test: OPTIMIZER STEPS prints the
 * parameters after so many steps. */
#include "core/base/memory.h"
#include "trainer_client/training.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 3, WIDTH = 2, FLOATS = ROWS * WIDTH, RARE = 2, STEPS = 6 };

static void read_optimizer(const char *text, struct weir_yaml **ret_document,
                           struct training *ret_training)
{
    WEIR_AUTO_FREE char *section = weir_format("training: {model: linear, optimizer: %s}", text);
    struct weir_error err;
    if (weir_yaml_parse("p", weir_bytes_of(section), ret_document, &err) != WEIR_OK ||
        trainer_training_read(weir_yaml_root(*ret_document), ret_training, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

/* Quarters from -5/4 to 5/4, so that every program begins from the same bits. */
static float gradient_at(size_t step, size_t row, size_t k)
{
    return (float)((7 * step + 3 * row + 5 * k + step * row) % 11) / 4.0F - 1.25F;
}

/* Row RARE is touched in every other step alone. */
static void fill_gradient(struct gradient *gradient, size_t step)
{
    trainer_gradient_clear_part(&(struct gradient_part){gradient, UINT32_MAX});
    for (size_t row = 0; row < ROWS; row++) {
        if (row == RARE && step % 2 == 0)
            continue;
        float *at = trainer_gradient_row(gradient, row);
        for (size_t k = 0; k < WIDTH; k++)
            at[k] = gradient_at(step, row, k);
    }
}

static void run_steps(const char *text, size_t steps, float parameters[FLOATS])
{
    struct weir_yaml *document = NULL;
    struct training training;
    struct gradient gradient;
    float state[WEIR_MODEL_STATE_BLOCKS_MAX * FLOATS] = {0};
    read_optimizer(text, &document, &training);
    const struct optimizer_options *options = &training.learning.optimizer_options;
    const struct optimizer_block block = {.parameters = parameters,
                                          .state = state,
                                          .blocks =
                                              training.learning.optimizer->state_blocks(options),
                                          .stride = FLOATS};
    trainer_gradient_init(&gradient, ROWS, WIDTH);
    const struct gradient_part all = trainer_gradient_part(&gradient, 0, 1);
    for (size_t i = 0; i < FLOATS; i++)
        parameters[i] = (float)(i + 1) / 4.0F;
    for (size_t step = 0; step < steps; step++) {
        struct optimizer_step now = trainer_optimizer_step(options, options->lr, step + 1);
        fill_gradient(&gradient, step);
        trainer_optimizer_apply(training.learning.optimizer, &now, &all, &block);
    }
    trainer_gradient_fini(&gradient);
    weir_yaml_free(document);
}

// clang-format off
static const struct {
    const char *text;
    float expected[FLOATS]; /* NAN: PyTorch has no such step for a row that is touched now and then */
} GOLDEN[] = {
    {"{name: sgd, lr: 0.1}",
     {0.299999982F, 0.625F, 0.800000012F, 0.849999964F, 1.35000002F, 1.5F}},
    {"{name: sgd, lr: 0.05, momentum: 0.9}",
     {0.370821863F, 0.70341748F, 1.00287092F, 0.748877883F, NAN, NAN}},
    {"{name: sgd, lr: 0.05, momentum: 0.5, weight_decay: 0.25}",
     {0.244615942F, 0.552786767F, 0.744770467F, 0.747251987F, NAN, NAN}},
    {"{name: adagrad, lr: 0.1, epsilon: 1e-10}",
     {0.305384696F, 0.602657616F, 0.879015207F, 0.879722059F, 1.41154325F, 1.47071064F}},
    {"{name: adagrad, lr: 0.1, epsilon: 0.001, weight_decay: 0.25}",
     {0.283829629F, 0.473910481F, 0.828859329F, 0.812210441F, NAN, NAN}},
    {"{name: adam, lr: 0.01}",
     {0.266553968F, 0.517486811F, 0.77966857F, 0.972025156F, 1.2673223F, 1.48802757F}},
    {"{name: adam, lr: 0.1, beta1: 0.5, beta2: 0.75, epsilon: 0.001, weight_decay: 0.25}",
     {0.281996071F, 0.504199505F, 0.847777724F, 0.65549314F, NAN, NAN}},
    {"{name: adamw, lr: 0.01}",
     {0.266396493F, 0.517182827F, 0.779207945F, 0.971433878F, NAN, NAN}},
    {"{name: adamw, lr: 0.1, beta1: 0.5, beta2: 0.75, weight_decay: 0.5}",
     {0.236829221F, 0.516355276F, 0.712280869F, 0.530096769F, NAN, NAN}},
};
// clang-format on

static void every_optimizer_steps_as_pytorch_does(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < WEIR_COUNT(GOLDEN); i++) {
        float found[FLOATS];
        run_steps(GOLDEN[i].text, STEPS, found);
        for (size_t k = 0; k < FLOATS; k++)
            if (!isnan(GOLDEN[i].expected[k]) && fabsf(found[k] - GOLDEN[i].expected[k]) > 2e-6F)
                fail_msg("%s: parameter %zu: expected %.9g, found %.9g", GOLDEN[i].text, k,
                         (double)GOLDEN[i].expected[k], (double)found[k]);
    }
}

static void every_optimizer_begins_against_the_gradient(void **unused)
{
    (void)unused;
    for (size_t o = 0; o < trainer_optimizer_count(); o++) {
        const struct optimizer *optimizer = trainer_optimizer_at(o);
        const struct optimizer_options options = {.momentum = 0.9};
        WEIR_AUTO_FREE char *text = weir_format("{name: %s, weight_decay: 0}", optimizer->name);
        float before[FLOATS], after[FLOATS];
        assert_true(optimizer->state_blocks(&options) <= WEIR_MODEL_STATE_BLOCKS_MAX);
        run_steps(text, 0, before);
        run_steps(text, 1, after);
        for (size_t i = 0; i < FLOATS; i++) {
            float gradient = i / WIDTH == RARE ? 0.0F : gradient_at(0, i / WIDTH, i % WIDTH);
            if ((after[i] - before[i]) * gradient > 0.0F ||
                (after[i] != before[i]) != (gradient != 0.0F))
                fail_msg("%s: gradient %g, from %g to %g", optimizer->name, (double)gradient,
                         (double)before[i], (double)after[i]);
        }
    }
}

static void a_row_stands_still_while_no_batch_touches_it(void **unused)
{
    (void)unused;
    static const char *const TEXTS[] = {"{name: sgd, momentum: 0.9, weight_decay: 0.1}",
                                        "{name: adagrad, weight_decay: 0.1}", "adam", "adamw"};
    for (size_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        float before[FLOATS], after[FLOATS];
        run_steps(TEXTS[i], 2, before); /* the second and the third, number 2, leave it out */
        run_steps(TEXTS[i], 3, after);
        assert_memory_equal(before + (size_t)RARE * WIDTH, after + (size_t)RARE * WIDTH,
                            WIDTH * sizeof(float));
        assert_memory_not_equal(before, after, WIDTH * sizeof(float));
    }
}

static void print_steps(const char *text, size_t steps)
{
    float parameters[FLOATS];
    run_steps(text, steps, parameters);
    for (size_t i = 0; i < FLOATS; i++)
        printf("%.9g\n", (double)parameters[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_steps_as_pytorch_does),
        cmocka_unit_test(every_optimizer_begins_against_the_gradient),
        cmocka_unit_test(a_row_stands_still_while_no_batch_touches_it),
    };
    if (argc < 3)
        return cmocka_run_group_tests_name("optimizers", tests, NULL, NULL);
    print_steps(argv[1], strtoul(argv[2], NULL, 10));
    return 0;
}
