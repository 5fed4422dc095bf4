/* Numbers that a loop says of its run. */
#include "core/base/memory.h"
#include "trainer_client/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void the_newest_number_of_each_name_is_kept(void **unused)
{
    (void)unused;
    struct metrics metrics = {.count = 0};
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};

    assert_int_equal(trainer_metrics_set(&metrics, "loss", 0.5, &err), WEIR_OK);
    assert_int_equal(trainer_metrics_set(&metrics, "val/auc.1-a_b", 0.75, &err), WEIR_OK);
    assert_int_equal(trainer_metrics_set(&metrics, "loss", 0.25, &err), WEIR_OK);
    assert_true(trainer_metrics_get(&metrics, "loss") == 0.25);
    assert_true(trainer_metrics_get(&metrics, "nobody") == 0.0);
    trainer_metrics_print(&metrics, &text);
    assert_string_equal(weir_buf_text(&text), "{\"loss\": 0.25, \"val/auc.1-a_b\": 0.75}");
}

static void what_is_no_name_or_no_number_is_refused_and_changes_nothing(void **unused)
{
    (void)unused;
    static const char *const NAMES[] = {
        "", "a b", "\"", "é", "0123456789012345678901234567890123456789012345678901234567890123"};
    struct metrics metrics = {.count = 0};
    struct weir_error err;

    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++)
        assert_int_equal(trainer_metrics_set(&metrics, NAMES[i], 1, &err), WEIR_INVALID);
    assert_int_equal(trainer_metrics_set(&metrics, "loss", (double)NAN, &err), WEIR_INVALID);
    assert_string_equal(err.text, "metric loss: found nan, expected a number");
    assert_int_equal(trainer_metrics_set(&metrics, "loss", (double)INFINITY, &err), WEIR_INVALID);
    assert_int_equal(metrics.count, 0);
}

static void names_are_bounded_and_known_ones_go_on(void **unused)
{
    (void)unused;
    struct metrics metrics = {.count = 0};
    struct weir_error err;

    for (int i = 0; i < WEIR_METRICS_MAX; i++) {
        WEIR_AUTO_FREE char *name = weir_format("m%d", i);
        assert_int_equal(trainer_metrics_set(&metrics, name, i, &err), WEIR_OK);
    }
    assert_int_equal(trainer_metrics_set(&metrics, "more", 1, &err), WEIR_LIMIT);
    assert_int_equal(trainer_metrics_set(&metrics, "m63", 1, &err), WEIR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_number_of_each_name_is_kept),
        cmocka_unit_test(what_is_no_name_or_no_number_is_refused_and_changes_nothing),
        cmocka_unit_test(names_are_bounded_and_known_ones_go_on),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
