/* Models that keep their files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/attributes.h"
#include "orchestrator/models/retention.h"

enum { MODELS = 5 };

/* One letter per model: `k` kept, `d` dropped. */
static void assert_choice(const struct models_settings *settings,
                          const struct retention_model *models, const char *expected)
{
    bool drop[MODELS];
    orchestrator_models_choose_dropped(settings, models, MODELS, drop);
    for (size_t i = 0; i < MODELS; i++)
        if (drop[i] != (expected[i] == 'd'))
            fail_msg("model %zu: expected %c of %s", i, expected[i], expected);
}

static const struct retention_model WHOLE[MODELS] = {
    {.id = "1", .base = ""},
    {.id = "2", .base = ""},
    {.id = "3", .base = ""},
    {.id = "4", .base = ""},
    {.id = "5", .base = "", .active = true},
};

static void all_keeps_all_and_last_the_newest(void **unused)
{
    (void)unused;
    struct models_settings last = {.keep = MODELS_KEEP_LAST, .keep_count = 2};
    assert_choice(&(struct models_settings){.keep = MODELS_KEEP_ALL}, WHOLE, "kkkkk");
    assert_choice(&last, WHOLE, "dddkk");
    last.keep_count = 9;
    assert_choice(&last, WHOLE, "kkkkk");
}

static void the_active_model_stays_however_old_it_is(void **unused)
{
    (void)unused;
    struct retention_model models[MODELS];
    struct models_settings last = {.keep = MODELS_KEEP_LAST, .keep_count = 1};
    for (size_t i = 0; i < MODELS; i++) {
        models[i] = WHOLE[i];
        models[i].active = i == 1;
    }
    assert_choice(&last, models, "dkddk");
}

static void what_a_kept_delta_needs_stays(void **unused)
{
    (void)unused;
    struct models_settings last = {.keep = MODELS_KEEP_LAST, .keep_count = 1};
    const struct retention_model models[MODELS] = {
        {.id = "1", .base = ""},
        {.id = "2", .base = "1"},
        {.id = "3", .base = ""},
        {.id = "4", .base = "3"},
        {.id = "5", .base = "4", .active = true},
    };
    assert_choice(&last, models, "ddkkk");
}

static void best_compares_what_is_measured_and_spares_what_is_not(void **unused)
{
    (void)unused;
    struct retention_model models[MODELS] = {
        {.id = "1", .base = "", .measured = true, .defined = true, .value = 0.9},
        {.id = "2", .base = "", .measured = true, .defined = true, .value = 0.8},
        {.id = "3", .base = "", .measured = true}, /* undefined: no better than any */
        {.id = "4", .base = ""},
        {.id = "5", .base = "", .active = true},
    };
    struct models_settings best = {
        .keep = MODELS_KEEP_BEST, .keep_count = 1, .higher_is_better = true};
    assert_choice(&best, models, "kddkk");
    best.higher_is_better = false;
    assert_choice(&best, models, "dkdkk");
    best.keep_count = 2;
    assert_choice(&best, models, "kkdkk");
    models[1].value = 0.9; /* of equals the newer one */
    best.keep_count = 1;
    assert_choice(&best, models, "dkdkk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_keeps_all_and_last_the_newest),
        cmocka_unit_test(the_active_model_stays_however_old_it_is),
        cmocka_unit_test(what_a_kept_delta_needs_stays),
        cmocka_unit_test(best_compares_what_is_measured_and_spares_what_is_not),
    };
    return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
