/* Number of each trigger that trigger_balanced takes; the sizes that broke others are in it. */
#include "tests/unit/selector/choose.h"

enum { SAMPLES_MAX = 4096, TRIGGERS_MAX = 64 };

static const struct {
    const char *what;
    size_t sizes[4]; /* of triggers 1, 2, … */
    size_t target;   /* 0: not bounded */
    size_t taken[4];
    bool equal;
} ROWS[] = {
    {"unbounded: every trigger is cut to the smallest", {10, 25, 200}, 0, {10, 10, 10}, false},
    {"two of the same size and a large one", {10, 10, 200}, 100, {10, 10, 80}, false},
    {"all of the same size", {50, 50, 50, 50}, 100, {25, 25, 25, 25}, false},
    {"what does not divide goes to the newest", {50, 50, 50}, 10, {3, 3, 4}, false},
    {"the first trigger has all", {40}, 30, {30}, false},
    {"a trigger that brought nothing has no share", {20, 0, 20}, 20, {10, 0, 10}, false},
    {"a target of everything", {3, 5, 7}, 15, {3, 5, 7}, false},
    {"equal: even where the target would allow more", {10, 200}, 100, {10, 10}, true},
};

static void check_row(size_t row)
{
    static int64_t triggers[SAMPLES_MAX];
    static size_t chosen[SAMPLES_MAX];
    size_t taken[TRIGGERS_MAX] = {0};
    size_t count = 0;
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < ROWS[row].sizes[t]; i++)
            triggers[count++] = (int64_t)t + 1;
    const struct given input = {
        .triggers = triggers,
        .count = count,
        .target = ROWS[row].target ? ROWS[row].target : count,
        .bounded = ROWS[row].target != 0,
    };
    struct picked output = {.chosen = chosen};
    choose("trigger_balanced", ROWS[row].equal ? "{equal: true}" : "{}", &input, 7, &output);
    for (size_t i = 0; i < output.count; i++)
        taken[triggers[chosen[i]] - 1]++;
    for (size_t t = 0; t < 4; t++)
        if (taken[t] != ROWS[row].taken[t])
            fail_msg("%s: trigger %zu: expected %zu, found %zu", ROWS[row].what, t + 1,
                     ROWS[row].taken[t], taken[t]);
}

static void each_trigger_gets_its_share(void **state)
{
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(ROWS); row++)
        check_row(row);
}

/* Twenty triggers of 5 and one of 400, target 300, selected none elsewhere; fifty of 7 and one of
 * 2000, target 1000, selected 306. */
static void many_equal_triggers_beside_a_large_one_fill_the_target(void **state)
{
    (void)state;
    static const size_t TABLE[][4] = {{20, 5, 400, 300}, {50, 7, 2000, 1000}};
    static int64_t triggers[SAMPLES_MAX];
    static size_t chosen[SAMPLES_MAX];
    for (size_t row = 0; row < WEIR_COUNT(TABLE); row++) {
        size_t small = TABLE[row][0] * TABLE[row][1];
        size_t count = small + TABLE[row][2];
        for (size_t i = 0; i < count; i++)
            triggers[i] = (int64_t)(i < small ? i / TABLE[row][1] : TABLE[row][0]) + 1;
        const struct given input = {
            .triggers = triggers, .count = count, .target = TABLE[row][3], .bounded = true};
        struct picked output = {.chosen = chosen};
        choose("trigger_balanced", "{}", &input, 7, &output);
        assert_int_equal(output.count, TABLE[row][3]);
        size_t of_small = 0;
        for (size_t i = 0; i < output.count; i++)
            of_small += chosen[i] < small;
        assert_int_equal(of_small, small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trigger_gets_its_share),
        cmocka_unit_test(many_equal_triggers_beside_a_large_one_fill_the_target),
    };
    return cmocka_run_group_tests_name("selector/trigger_balanced", tests, NULL, NULL);
}
