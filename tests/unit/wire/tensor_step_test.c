/* Last steps of tensors: what each makes of rows, what it does not take, and how they travel. */
#include "core/wire/tensor_step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct weir_tensor_form RAGGED = {.type = WEIR_I32, .is_ragged = true};
static const struct weir_tensor_form PIXELS = {.type = WEIR_U8, .rank = 3, .shape = {1, 2, 3}};

static void numbers_become_the_nearest_of_another_type(void **unused)
{
    (void)unused;
    const float from[] = {-1.5f, 2.9f, 300.0f, (float)0x1p40};
    const struct weir_tensor_step step = {.kind = WEIR_STEP_CAST, .type = WEIR_U8};
    struct weir_tensor_form form = {.type = WEIR_F32, .rank = 1, .shape = {2}}, made = form;
    uint8_t to[4];
    assert_int_equal(weir_tensor_step_form(&step, &made, NULL), WEIR_OK);
    assert_int_equal(made.type, WEIR_U8);
    weir_tensor_step_take(&step, &form, &(struct weir_tensor_rows){2, from, NULL, false}, to);
    assert_memory_equal(to, ((uint8_t[]){0, 2, 255, 255}), sizeof(to));
}

static void rows_of_one_length_and_of_places(void **unused)
{
    (void)unused;
    const int32_t numbers[] = {7, 1, 2, 3};
    const uint32_t offsets[] = {0, 1, 1, 4};
    const struct weir_tensor_rows rows = {3, numbers, offsets, false};
    const struct weir_tensor_step pad = {
        .kind = WEIR_STEP_PAD, .count = 2, .value = UINT32_MAX, .option = 1};
    const struct weir_tensor_step places = {.kind = WEIR_STEP_ONE_HOT, .count = 3};
    struct weir_tensor_form made = RAGGED;
    int32_t padded[6];
    float hot[9];
    assert_int_equal(weir_tensor_step_form(&pad, &made, NULL), WEIR_OK);
    assert_int_equal(weir_tensor_form_bytes(&made, 3, 4), sizeof(padded));
    weir_tensor_step_take(&pad, &RAGGED, &rows, padded);
    assert_memory_equal(padded, ((int32_t[]){-1, 7, -1, -1, 1, 2}), sizeof(padded));
    made = RAGGED;
    assert_int_equal(weir_tensor_step_form(&places, &made, NULL), WEIR_OK);
    assert_int_equal(weir_tensor_form_bytes(&made, 3, 4), sizeof(hot));
    weir_tensor_step_take(&places, &RAGGED, &rows, hot);
    assert_memory_equal(hot, ((float[]){0, 0, 0, 0, 0, 0, 0, 1, 1}), sizeof(hot));
}

static void steps_follow_each_other_on_one_tensor_of_several(void **unused)
{
    (void)unused;
    const uint8_t pixels[] = {10, 20, 30, 40, 50, 60};
    struct weir_tensor_steps steps = {
        3,
        {{.tensor = 1, .kind = WEIR_STEP_NORMALIZE, .factor = {1, 2, 3}, .offset = {0.5f, 0, 0}},
         {.tensor = 0, .kind = WEIR_STEP_CAST, .type = WEIR_F64},
         {.tensor = 1, .kind = WEIR_STEP_PLANES}}};
    const float expected[] = {10.5f, 40.5f, 40, 100, 90, 180};
    float to[6];
    assert_int_equal(weir_tensor_steps_of(&steps, 1), 2);
    weir_tensor_steps_take(&steps, 1, PIXELS, (struct weir_tensor_rows){1, pixels, NULL, false},
                           to);
    assert_memory_equal(to, expected, sizeof(to));
    steps.of[0].option = 1; /* the planes at once */
    weir_tensor_step_take(&steps.of[0], &PIXELS, &(struct weir_tensor_rows){1, pixels, NULL, false},
                          to);
    assert_memory_equal(to, expected, sizeof(to));
}

static void planes_are_the_same_past_the_cache(void **unused)
{
    enum { SIDE = 67, COUNT = 3 * SIDE * SIDE }; /* no plane begins where the one before did */
    const struct weir_tensor_form form = {.type = WEIR_U8, .rank = 3, .shape = {SIDE, SIDE, 3}};
    const struct weir_tensor_step step = {
        .kind = WEIR_STEP_NORMALIZE, .option = 1, .factor = {0.1f, 2, 3}, .offset = {0.5f, -1, 7}};
    static uint8_t pixels[2 * COUNT];
    static float kept[2 * COUNT], passed[2 * COUNT + 1];
    struct weir_tensor_rows rows = {2, pixels, NULL, false};
    (void)unused;
    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = (uint8_t)(i * 7 + i / 256);
    weir_tensor_step_take(&step, &form, &rows, kept);
    rows.are_passed_on = true;
    passed[2 * COUNT] = 19;
    weir_tensor_step_take(&step, &form, &rows, passed);
    assert_memory_equal(passed, kept, sizeof(kept));
    assert_true(passed[2 * COUNT] == 19);
}

static void a_step_takes_no_tensor_that_does_not_fit_it(void **unused)
{
    (void)unused;
    const struct weir_tensor_form floats = {.type = WEIR_F32, .rank = 1, .shape = {4}};
    const struct weir_tensor_form huge = {
        .type = WEIR_U8, .rank = 3, .shape = {1 << 20, 1 << 20, 3}};
    const struct weir_tensor_form empty = {.type = WEIR_U8, .rank = 2, .shape = {0, 3}};
    const struct weir_tensor_form odd = {.type = 99, .rank = 1, .shape = {1}};
    const struct {
        struct weir_tensor_step step;
        const struct weir_tensor_form *form;
    } REFUSED[] = {
        {{.kind = 0}, &floats},
        {{.kind = 6}, &floats},
        {{.kind = WEIR_STEP_CAST, .type = 0}, &floats},
        {{.kind = WEIR_STEP_CAST, .type = 99}, &floats},
        {{.kind = WEIR_STEP_CAST, .type = WEIR_U8}, &odd},
        {{.kind = WEIR_STEP_CAST, .type = WEIR_U8}, &huge},
        {{.kind = WEIR_STEP_CAST, .type = WEIR_F32}, &empty},
        {{.kind = WEIR_STEP_ONE_HOT, .count = 3}, &floats},
        {{.kind = WEIR_STEP_ONE_HOT, .count = 0}, &RAGGED},
        {{.kind = WEIR_STEP_ONE_HOT, .count = UINT32_MAX}, &PIXELS},
        {{.kind = WEIR_STEP_PAD, .count = 3}, &floats},
        {{.kind = WEIR_STEP_PAD, .count = 1 << 25}, &RAGGED},
        {{.kind = WEIR_STEP_NORMALIZE}, &floats},
        {{.kind = WEIR_STEP_PLANES}, &RAGGED},
    };
    struct weir_error err;
    for (size_t i = 0; i < WEIR_COUNT(REFUSED); i++) {
        struct weir_tensor_form form = *REFUSED[i].form;
        assert_int_equal(weir_tensor_step_form(&REFUSED[i].step, &form, &err), WEIR_INVALID);
        assert_memory_equal(&form, REFUSED[i].form, sizeof(form));
    }
}

static void steps_travel_as_words(void **unused)
{
    (void)unused;
    static struct weir_tensor_steps read;
    struct weir_tensor_steps steps = {
        1, {{.tensor = 1, .kind = WEIR_STEP_PAD, .count = 3, .value = UINT64_MAX - 1}}};
    struct weir_u32s words = weir_tensor_steps_words(&steps);
    struct weir_error err;
    assert_int_equal(weir_tensor_steps_read(words, 2, &read, &err), WEIR_OK);
    assert_int_equal(read.count, 1);
    assert_memory_equal(&read.of[0], &steps.of[0], sizeof(steps.of[0]));
    assert_int_equal(weir_tensor_steps_read(words, 1, &read, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "a step takes tensor 1 of 1"));
    words.count--;
    assert_int_equal(weir_tensor_steps_read(words, 2, &read, &err), WEIR_INVALID);
    words.count = (size_t)(WEIR_TENSOR_STEPS_MAX + 1) * WEIR_TENSOR_STEP_WORDS;
    assert_int_equal(weir_tensor_steps_read(words, 2, &read, &err), WEIR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_become_the_nearest_of_another_type),
        cmocka_unit_test(rows_of_one_length_and_of_places),
        cmocka_unit_test(steps_follow_each_other_on_one_tensor_of_several),
        cmocka_unit_test(planes_are_the_same_past_the_cache),
        cmocka_unit_test(a_step_takes_no_tensor_that_does_not_fit_it),
        cmocka_unit_test(steps_travel_as_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
