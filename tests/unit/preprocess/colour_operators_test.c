/* Pictures in other colours and out of focus: values worked out by hand, what is drawn, and what stays as
 * it is. tests/contract/pictures_test.py compares them with Pillow and torchvision. */
#include "tests/support/chain.h"
#include "tests/support/png_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { IDS = 40, BYTES_MAX = 27 };

struct pixels {
    uint32_t height, width, channels;
    uint8_t at[BYTES_MAX];
};

static const struct pixels COLOURS = {1, 2, 3, {200, 100, 50, 10, 20, 30}};
static const struct pixels GREYS = {1, 2, 1, {200, 10}};
static const struct pixels POINT = {3, 3, 1, {0, 0, 0, 0, 255, 0, 0, 0, 0}};
static const struct pixels ALONE = {1, 1, 3, {255, 7, 90}};

static size_t bytes_of(const struct pixels *pixels)
{
    return (size_t)pixels->height * pixels->width * pixels->channels;
}

/* Returns the output of `operators` for IDS samples that are all the same picture, end to end. */
static struct weir_buf made(const struct pixels *from, const char *operators,
                            struct operator_batch batch)
{
    struct test_chain test;
    struct weir_buf made = {0};
    WEIR_AUTO_BUF file = {0};
    struct weir_bytes rows[IDS];
    uint64_t ids[IDS];
    WEIR_AUTO_FREE char *chain =
        weir_format("[{op: decode_png, channels: %s}, {op: center_crop, size: [%u, %u]}, %s]",
                    from->channels == 1 ? "grey" : "rgb", from->height, from->width, operators);
    png_picture_write(from->at, from->height, from->width, from->channels, &file);
    for (size_t i = 0; i < IDS; i++) {
        rows[i] = weir_buf_view(&file);
        ids[i] = i;
    }
    test_chain_open(&test, chain);
    test_chain_fill(&test, rows, IDS);
    batch.rows = IDS;
    batch.ids = ids;
    test.failed = preprocess_chain_run(test.chain, &batch);
    for (size_t i = 0; i < IDS; i++)
        assert_int_equal(test.failed[i], OPERATOR_ROW_OK);
    const struct weir_buf *values = &preprocess_chain_output(test.chain, 0)->values;
    weir_buf_append(&made, values->at, values->size);
    assert_int_equal(made.size, IDS * bytes_of(from));
    test_chain_close(&test);
    return made;
}

static const struct operator_batch TRAINING = {.seed = 3, .epoch = 1, .trains = true};

static void colours_and_points_become_what_they_should(void **state)
{
    (void)state;
    static const struct {
        const struct pixels *from;
        const char *operator;
        uint8_t expected[BYTES_MAX];
    } CASES[] = {
        {&COLOURS, "{op: color_jitter}", {200, 100, 50, 10, 20, 30}},
        {&COLOURS, "{op: color_jitter, brightness: [1.5, 1.5]}", {255, 150, 75, 15, 30, 45}},
        {&COLOURS, "{op: color_jitter, contrast: [0, 0]}", {71, 71, 71, 71, 71, 71}},
        {&COLOURS, "{op: color_jitter, saturation: [0, 0]}", {124, 124, 124, 18, 18, 18}},
        {&COLOURS, "{op: color_jitter, saturation: [2, 2]}", {255, 76, 0, 2, 22, 42}},
        {&COLOURS, "{op: color_jitter, hue: [0.5, 0.5]}", {50, 150, 200, 30, 20, 10}},
        {&COLOURS, "{op: color_jitter, hue: [-0.5, -0.5]}", {50, 150, 200, 30, 20, 10}},
        {&COLOURS, "{op: color_jitter, hue: [0.33333333, 0.33333333]}", {50, 200, 100, 30, 10, 20}},
        {&GREYS, "{op: color_jitter, saturation: [9, 9], hue: [0.3, 0.3]}", {200, 10}},
        {&GREYS, "{op: color_jitter, contrast: [2, 2]}", {255, 0}},
        {&POINT, "{op: blur, kernel_size: 3, sigma: 1}", {77, 63, 77, 63, 52, 63, 77, 63, 77}},
        {&POINT, "{op: blur, kernel_size: 1}", {0, 0, 0, 0, 255, 0, 0, 0, 0}},
        {&ALONE, "{op: blur, kernel_size: 63, sigma: 20}", {255, 7, 90}},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF found = made(CASES[i].from, CASES[i].operator, TRAINING);
        size_t size = bytes_of(CASES[i].from);
        for (size_t k = 0; k < found.size; k++) {
            if (found.at[k] != CASES[i].expected[k % size])
                fail_msg("%s: found %d at %zu, expected %d", CASES[i].operator, found.at[k],
                         k % size, CASES[i].expected[k % size]);
        }
    }
}

static bool same(const struct weir_buf *a, const struct weir_buf *b)
{
    return weir_bytes_equal(weir_buf_view(a), weir_buf_view(b));
}

static void changes_are_made_in_any_order(void **state)
{
    (void)state;
    WEIR_AUTO_BUF any = made(
        &COLOURS, "{op: color_jitter, brightness: [1.5, 1.5], contrast: [0.5, 0.5]}", TRAINING);
    WEIR_AUTO_BUF bright = made(&COLOURS,
                                "{op: color_jitter, brightness: [1.5, 1.5]}, "
                                "{op: color_jitter, contrast: [0.5, 0.5]}",
                                TRAINING);
    WEIR_AUTO_BUF late = made(&COLOURS,
                              "{op: color_jitter, contrast: [0.5, 0.5]}, "
                              "{op: color_jitter, brightness: [1.5, 1.5]}",
                              TRAINING);
    size_t size = bytes_of(&COLOURS), first = 0;
    assert_false(same(&bright, &late));
    for (size_t at = 0; at < any.size; at += size) {
        bool is_first = memcmp(any.at + at, bright.at, size) == 0;
        assert_true(is_first || memcmp(any.at + at, late.at, size) == 0);
        first += is_first;
    }
    assert_in_range(first, IDS / 4, IDS * 3 / 4);
}

static void chance_follows_from_the_seed_the_sample_and_the_epoch(void **state)
{
    (void)state;
    static const char *const OPERATORS[] = {
        "{op: color_jitter, brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}",
        "{op: blur, kernel_size: 5}"};
    static const struct pixels *const PIXELS[] = {&COLOURS, &POINT};
    for (size_t i = 0; i < WEIR_COUNT(OPERATORS); i++) {
        size_t size = bytes_of(PIXELS[i]);
        struct operator_batch other_epoch = TRAINING, other_seed = TRAINING;
        other_epoch.epoch++;
        other_seed.seed++;
        WEIR_AUTO_BUF once = made(PIXELS[i], OPERATORS[i], TRAINING);
        WEIR_AUTO_BUF again = made(PIXELS[i], OPERATORS[i], TRAINING);
        WEIR_AUTO_BUF later = made(PIXELS[i], OPERATORS[i], other_epoch);
        WEIR_AUTO_BUF elsewhere = made(PIXELS[i], OPERATORS[i], other_seed);
        assert_true(same(&once, &again));
        assert_false(same(&once, &later));
        assert_false(same(&once, &elsewhere));
        assert_memory_not_equal(once.at, once.at + size, size);
    }
}

static void nothing_is_left_to_chance_outside_of_training(void **state)
{
    (void)state;
    const struct operator_batch evaluation = {.seed = 3};
    WEIR_AUTO_BUF colours = made(&COLOURS, "{op: color_jitter, brightness: 0.4}", evaluation);
    WEIR_AUTO_BUF point = made(&POINT, "{op: blur, kernel_size: 3}", evaluation);
    WEIR_AUTO_BUF blurred = made(&POINT, "{op: blur, kernel_size: 3, sigma: 1}", evaluation);
    assert_memory_equal(colours.at, COLOURS.at, bytes_of(&COLOURS));
    assert_memory_equal(point.at, POINT.at, bytes_of(&POINT));
    assert_int_equal(blurred.at[4], 52);
}

static void options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *operators, *complaint;
    } CASES[] = {
        {"[{op: decode_png}, {op: blur, kernel_size: 4}]", "found 4, expected an odd number"},
        {"[{op: decode_png}, {op: blur, kernel_size: 3, sigma: 0}]", "sigma: expected"},
        {"[{op: decode_png}, {op: blur, kernel_size: 3, sigma: [2, 1]}]", "the least first"},
        {"[{op: decode_png}, {op: color_jitter, hue: 0.6}]", "from 0 to 0.5"},
        {"[{op: decode_png}, {op: color_jitter, hue: [-0.6, 0]}]", "from -0.5 to 0.5"},
        {"[{op: decode_png}, {op: color_jitter, contrast: [2, 1]}]", "contrast: found [2, 1]"},
        {"[{op: decode_png}, {op: color_jitter, brightness: -1}]", "brightness: expected"},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct weir_error err;
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO(chain) chain = NULL;
        assert_int_equal(
            weir_yaml_parse("test.yaml", weir_bytes_of(CASES[i].operators), &document, &err),
            WEIR_OK);
        assert_int_equal(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err),
                         WEIR_INVALID);
        if (strstr(err.text, CASES[i].complaint) == NULL)
            fail_msg("%s: found '%s'", CASES[i].operators, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_and_points_become_what_they_should),
        cmocka_unit_test(changes_are_made_in_any_order),
        cmocka_unit_test(chance_follows_from_the_seed_the_sample_and_the_epoch),
        cmocka_unit_test(nothing_is_left_to_chance_outside_of_training),
        cmocka_unit_test(options_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests_name("colour operators", tests, NULL, NULL);
}
