/* Exact counts of used and unused samples, sizes at the edge included. */
#include "tests/unit/selector/choose.h"

enum { SAMPLES_MAX = 2048 };

static const struct {
    const char *what;
    size_t fresh, used, target;
    const char *ratio;
    size_t taken_fresh, taken_used;
} ROWS[] = {
    {"nothing used yet: all", 100, 0, 100, "0.2", 100, 0},
    {"nothing used yet, limited", 100, 0, 30, "0.2", 30, 0},
    {"both sides suffice", 100, 100, 50, "0.2", 10, 40},
    {"fresh ones decide", 10, 1000, 1010, "0.5", 10, 10},
    {"used ones decide, to the nearest sample", 1000, 10, 1010, "0.5", 11, 10},
    {"nine parts of ten", 90, 1000, 1090, "0.9", 90, 10},
    {"one fresh sample", 1, 1000, 1001, "0.01", 1, 148},
    {"nothing fresh: nothing", 0, 50, 50, "0.5", 0, 0},
};

static void the_ratio_is_exact(void **state)
{
    (void)state;
    static uint8_t past[SAMPLES_MAX];
    static size_t chosen[SAMPLES_MAX];
    for (size_t row = 0; row < WEIR_COUNT(ROWS); row++) {
        size_t count = ROWS[row].fresh + ROWS[row].used;
        for (size_t i = 0; i < count; i++)
            past[i] = i < ROWS[row].used ? SELECTION_USED : 0;
        WEIR_AUTO_FREE char *yaml = weir_format("{unused_ratio: %s}", ROWS[row].ratio);
        const struct given input = {.past = past, .count = count, .target = ROWS[row].target};
        struct picked output = {.chosen = chosen};
        choose("freshness", yaml, &input, 3, &output);
        size_t fresh = 0;
        for (size_t i = 0; i < output.count; i++)
            fresh += past[chosen[i]] == 0;
        if (fresh != ROWS[row].taken_fresh || output.count - fresh != ROWS[row].taken_used)
            fail_msg("%s: expected %zu and %zu, found %zu and %zu", ROWS[row].what,
                     ROWS[row].taken_fresh, ROWS[row].taken_used, fresh, output.count - fresh);
    }
}

static void nothing_fresh_is_said(void **state)
{
    (void)state;
    const uint8_t past[2] = {SELECTION_USED, SELECTION_USED};
    size_t chosen[2];
    const struct given input = {.past = past, .count = 2, .target = 2};
    struct picked output = {.chosen = chosen};
    choose("freshness", "{unused_ratio: 0.5}", &input, 3, &output);
    assert_string_equal(output.reason,
                        "every candidate was used before: nothing fresh keeps the ratio");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ratio_is_exact),
        cmocka_unit_test(nothing_fresh_is_said),
    };
    return cmocka_run_group_tests_name("selector/freshness", tests, NULL, NULL);
}
