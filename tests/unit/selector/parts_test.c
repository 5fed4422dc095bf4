/* Epoch parts: what the method draws for each epoch, counted among all that was drawn. */
#include "selector/sets/parts.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 100, TARGET = 30 };

static int by_position(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return left < right ? -1 : left > right;
}

/* Each part holds what selector_scoring_choose() gives for it; together they hold the union and nothing else. */
static void expect_parts(bool with_replacement, uint32_t epochs)
{
    const struct selection_scored scored = {.method = scoring_find("rs2"),
                                            .options = &with_replacement};
    struct scoring_input input = {.count = COUNT, .target = TARGET, .seed = 8};
    size_t all[COUNT], drawn[TARGET], united = 0;
    float weights[COUNT], unused[TARGET];
    bool held[COUNT] = {false};
    struct scoring_choice choice = {all, weights, 0};
    struct selector_parts parts = {0};
    struct weir_error err;
    assert_int_equal(selector_parts_draw(&parts, &scored, &input, epochs, &choice, &err), WEIR_OK);
    assert_int_equal(parts.count, epochs);
    assert_int_equal(parts.samples, TARGET);
    for (input.part = 0; input.part < epochs; input.part++) {
        struct scoring_choice expected = {drawn, unused, 0};
        assert_true(selector_scoring_choose(scored.method, scored.options, &input, &expected));
        qsort(drawn, TARGET, sizeof(*drawn), by_position);
        for (size_t n = 0; n < TARGET; n++) {
            uint32_t index = parts.indices[input.part * TARGET + n];
            assert_true(index < choice.count);
            assert_int_equal(all[index], drawn[n]);
            united += !held[drawn[n]];
            held[drawn[n]] = true;
        }
    }
    assert_int_equal(choice.count, united);
    for (size_t i = 0; i < choice.count; i++)
        assert_true(weights[i] == 1 && (i == 0 || all[i] > all[i - 1]));
    if (!with_replacement)
        assert_true(epochs > 3 || choice.count == epochs * TARGET); /* they do not meet */
    selector_parts_fini(&parts);
}

static void parts_are_what_the_method_draws_for_each_epoch(void **state)
{
    (void)state;
    expect_parts(false, 3);
    expect_parts(false, 5);
    expect_parts(true, 1);
    expect_parts(true, 4);
}

static void more_indices_than_fit_are_refused(void **state)
{
    bool with_replacement = true;
    const struct selection_scored scored = {.method = scoring_find("rs2"),
                                            .options = &with_replacement};
    const struct scoring_input input = {.count = COUNT, .target = TARGET};
    struct selector_parts parts = {0};
    struct scoring_choice choice = {0};
    struct weir_error err;
    (void)state;
    assert_int_equal(selector_parts_draw(&parts, &scored, &input,
                                         SELECTOR_PARTS_INDICES_MAX / TARGET + 1, &choice, &err),
                     WEIR_LIMIT);
    assert_non_null(strstr(err.text, "rs2: found 35791395 epochs of 30 among 100 samples"));
    assert_null(parts.indices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_what_the_method_draws_for_each_epoch),
        cmocka_unit_test(more_indices_than_fit_are_refused),
    };
    return cmocka_run_group_tests_name("selector_parts", tests, NULL, NULL);
}
