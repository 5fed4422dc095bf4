/* Exact counts per component, shortages, and options that make no sense. */
#include "core/wire/sample.h"
#include "tests/unit/selector/choose.h"

#include <math.h>

enum { SAMPLES_MAX = 4096 };

static const struct {
    const char *what;
    const char *yaml;
    size_t sizes[4];
    size_t target; /* 0: not bounded */
    size_t taken[4];
} ROWS[] = {
    {"as asked", "{over: labels, shares: {0: 3, 1: 1}}", {100, 100}, 40, {30, 10}},
    {"largest remainders", "{over: labels, shares: {0: 1, 1: 1, 2: 1}}", {9, 9, 9}, 8, {3, 3, 2}},
    {"0.7 and 0.3 of 10", "{over: labels, shares: {0: 0.7, 1: 0.3}}", {99, 99}, 10, {7, 3}},
    {"the others fill up",
     "{over: labels, shares: {0: 2, 1: 1, 2: 1}}",
     {5, 99, 99},
     40,
     {5, 18, 17}},
    {"one after the other runs short",
     "{over: labels, shares: {0: 8, 1: 4, 2: 1}}",
     {5, 6, 99},
     40,
     {5, 6, 29}},
    {"or the set is smaller",
     "{over: labels, shares: {0: 2, 1: 1, 2: 1}, short: fewer}",
     {5, 99, 99},
     40,
     {5, 10, 10}},
    {"all that there is", "{over: labels, shares: {0: 2, 1: 1}}", {5, 6}, 11, {5, 6}},
    {"others are left out", "{over: labels, shares: {0: 1, 1: 1}}", {50, 50, 50}, 60, {30, 30, 0}},
    {"unbounded: nobody runs short",
     "{over: labels, shares: {0: 3, 1: 1}}",
     {60, 100},
     0,
     {60, 20}},
    {"unbounded, odd", "{over: labels, shares: {0: 2, 1: 1}}", {7, 100}, 0, {7, 4}},
};

static void check_row(size_t row)
{
    static int64_t labels[SAMPLES_MAX];
    static uint64_t ids[SAMPLES_MAX];
    static size_t chosen[SAMPLES_MAX];
    size_t taken[4] = {0};
    size_t count = 0;
    for (size_t label = 0; label < 4; label++)
        for (size_t i = 0; i < ROWS[row].sizes[label]; i++)
            labels[count++] = (int64_t)label;
    const struct given input = {
        .ids = ids,
        .labels = labels,
        .count = count,
        .target = ROWS[row].target ? ROWS[row].target : count,
        .bounded = ROWS[row].target != 0,
    };
    struct picked output = {.chosen = chosen};
    choose("mixture", ROWS[row].yaml, &input, 7, &output);
    for (size_t i = 0; i < output.count; i++)
        taken[labels[chosen[i]]]++;
    for (size_t i = 0; i < 4; i++)
        if (taken[i] != ROWS[row].taken[i])
            fail_msg("%s: label %zu: expected %zu, found %zu", ROWS[row].what, i,
                     ROWS[row].taken[i], taken[i]);
}

static void counts_are_exact(void **state)
{
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(ROWS); row++)
        check_row(row);
}

static void datasets_are_known_by_name_and_number(void **state)
{
    (void)state;
    static const uint64_t DATASETS[] = {9, 4}; /* clicks, views */
    uint64_t ids[100];
    size_t chosen[100];
    for (uint32_t i = 0; i < 100; i++)
        ids[i] = i < 50 ? weir_sample_id(4, 0, i) : weir_sample_id(9, 0, i);
    const struct given input = {.ids = ids,
                                .count = 100,
                                .target = 40,
                                .bounded = true,
                                .datasets = DATASETS,
                                .dataset_count = 2};
    struct picked output = {.chosen = chosen};
    size_t clicks = 0;
    choose("mixture", "{shares: {clicks: 0.75, views: 0.25}}", &input, 7, &output);
    for (size_t i = 0; i < output.count; i++)
        clicks += chosen[i] >= 50;
    assert_int_equal(output.count, 40);
    assert_int_equal(clicks, 30);
}

static void ages_count_back_from_the_newest(void **state)
{
    (void)state;
    int64_t times[100];
    uint64_t ids[100] = {0};
    size_t chosen[100];
    for (int i = 0; i < 100; i++)
        times[i] = 5000 - i; /* ages 0 … 99 us */
    const struct given input = {
        .ids = ids, .times = times, .count = 100, .target = 20, .bounded = true};
    struct picked output = {.chosen = chosen};
    size_t young = 0, old = 0;
    choose("mixture", "{over: ages, shares: {10us: 2, 50us: 1, older: 1}}", &input, 7, &output);
    for (size_t i = 0; i < output.count; i++) {
        young += chosen[i] < 10;
        old += chosen[i] >= 50;
    }
    assert_int_equal(output.count, 20);
    assert_int_equal(young, 10);
    assert_int_equal(old, 5);
}

static void shares_follow_the_schedule(void **state)
{
    (void)state;
    static const char SCHEDULE[] = "schedule: [{from: 5, shares: {0: 1, 1: 3}}, "
                                   "{from: 9, shares: {0: 1, 1: 1}}]";
    static const struct {
        const char *change;
        uint64_t trigger;
        size_t zeros; /* of 40 */
    } TABLE[] = {
        {"step", 1, 30},   {"step", 4, 30},   {"step", 5, 10},
        {"step", 9, 20},   {"step", 99, 20},  {"linear", 1, 30},
        {"linear", 3, 20}, {"linear", 5, 10}, {"linear", 7, 13},
    };
    int64_t labels[200];
    size_t chosen[200];
    for (int i = 0; i < 200; i++)
        labels[i] = i % 2;
    for (size_t row = 0; row < WEIR_COUNT(TABLE); row++) {
        WEIR_AUTO_FREE char *yaml = weir_format(
            "{over: labels, shares: {0: 3, 1: 1}, change: %s, %s}", TABLE[row].change, SCHEDULE);
        const struct given input = {.labels = labels,
                                    .count = 200,
                                    .target = 40,
                                    .bounded = true,
                                    .trigger = TABLE[row].trigger};
        struct picked output = {.chosen = chosen};
        size_t zeros = 0;
        choose("mixture", yaml, &input, 7, &output);
        for (size_t i = 0; i < output.count; i++)
            zeros += labels[chosen[i]] == 0;
        assert_int_equal(output.count, 40);
        assert_int_equal(zeros, TABLE[row].zeros);
    }
}

/* Expected shares are those of the rule written down in Python with its own floats. */
static const struct {
    const char *what;
    const char *yaml;
    struct selection_losses losses;
    size_t count;
    double shares[3];
    const char *why[3];
} STEPS[] = {
    {"a loss that is 0.5 higher",
     "{over: labels, shares: {0: 1, 1: 1}, change: loss, smoothing: 0}",
     {.model = "m-1", .sums = {10, 5}, .counts = {10, 10}},
     2,
     {0.6224593312018545, 0.3775406687981454},
     {"mean loss 1 of 10 samples in training m-1", "mean loss 0.5 of 10 samples in training m-1"}},
    {"from where the trigger before was, with some of the declared",
     "{over: labels, shares: {0: 3, 1: 1}, change: loss, rate: 2, smoothing: 0.2}",
     {.model = "m-1", .sums = {3, 40}, .counts = {10, 20}, .before = {0.5, 0.5}, .goes_on = true},
     2,
     {0.17583637175876043, 0.8241636282412397},
     {"mean loss 0.3 of 10 samples in training m-1", "mean loss 2 of 20 samples in training m-1"}},
    {"one of which nothing was reported",
     "{over: labels, shares: {0: 1, 1: 1, 2: 2}, change: loss, smoothing: 0}",
     {.model = "m-1",
      .sums = {12, 0, 5},
      .counts = {10, 0, 10},
      .before = {0.2, 0.3, 0.5},
      .goes_on = true},
     3,
     {0.31733345972797017, 0.2887087090165472, 0.3939578312554827},
     {"mean loss 1.2 of 10 samples in training m-1", "as before: no new losses of it",
      "mean loss 0.5 of 10 samples in training m-1"}},
    {"no model yet",
     "{over: labels, shares: {0: 3, 1: 1}, change: loss}",
     {.model = ""},
     2,
     {0.75, 0.25},
     {"as declared: no losses of it yet", "as declared: no losses of it yet"}},
    {"nothing new",
     "{over: labels, shares: {0: 3, 1: 1}, change: loss}",
     {.model = "m-1", .before = {0.6, 0.4}, .goes_on = true},
     2,
     {0.6, 0.4},
     {"as before: no new losses of it", "as before: no new losses of it"}},
    {"losses beyond all measure",
     "{over: labels, shares: {0: 1, 1: 1}, change: loss, rate: 100, smoothing: 0.1}",
     {.model = "m-1", .sums = {3e38, 0}, .counts = {1, 1}},
     2,
     {0.95, 0.05},
     {"mean loss 3e+38 of 1 samples in training m-1", "mean loss 0 of 1 samples in training m-1"}},
};

static void shares_follow_what_was_reported(void **state)
{
    (void)state;
    int64_t labels[3000];
    size_t chosen[3000];
    for (int i = 0; i < 3000; i++)
        labels[i] = i % 3;
    for (size_t row = 0; row < WEIR_COUNT(STEPS); row++) {
        const struct given input = {.labels = labels,
                                    .count = 3000,
                                    .target = 1000,
                                    .bounded = true,
                                    .losses = &STEPS[row].losses};
        struct picked output = {.chosen = chosen};
        double sum = 0;
        choose("mixture", STEPS[row].yaml, &input, 7, &output);
        assert_int_equal(output.component_count, STEPS[row].count);
        for (size_t c = 0; c < output.component_count; c++) {
            const struct selection_component *component = &output.components[c];
            if (fabs(component->share - STEPS[row].shares[c]) > 1e-12)
                fail_msg("%s: component %zu: expected %.16g, found %.16g", STEPS[row].what, c,
                         STEPS[row].shares[c], component->share);
            assert_string_equal(component->why, STEPS[row].why[c]);
            assert_true(fabs((double)component->samples - 1000 * component->share) < 1);
            sum += component->share;
        }
        assert_true(fabs(sum - 1) < 1e-12);
    }
}

static void shares_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const TABLE[][2] = {
        {"{shares: {click: 1}}",
         "test:1:11: selection.shares: expected a dataset of this file, found 'click'"},
        {"{shares: {clicks: 0}}",
         "test:1:19: selection.shares.clicks: expected a number above 0, found '0'"},
        {"{over: ages, shares: {2d: 1, 1d: 1}}",
         "test:1:30: selection.shares: expected distinct components, ages ascending, found '1d' "
         "again or too late"},
        {"{shares: {clicks: 1}, schedule: [{from: 2, shares: {views: 1}}]}",
         "test:1:34: selection.schedule: expected a share for each of the 1 components of "
         "selection.shares, and no other"},
        {"{shares: {clicks: 1}, schedule: [{from: 3, shares: {clicks: 1}}, "
         "{from: 3, shares: {clicks: 2}}]}",
         "test:1:66: selection.schedule.from: expected triggers to ascend"},
        {"{over: ages, shares: {1d: 1, older: 1}, change: loss}",
         "test:1:8: selection.over: change: loss is for datasets and labels; samples grow older "
         "from trigger to trigger, so ages have no loss that stays theirs"},
        {"{shares: {clicks: 1}, change: loss, schedule: [{from: 2, shares: {clicks: 2}}]}",
         "test:1:47: selection.schedule: expected none with change: loss, which sets the shares "
         "itself"},
        {"{over: labels, shares: [1]}",
         "test:1:24: selection.shares: expected 1 to 64 components, for example {clicks: 3, views: "
         "1}"},
    };
    for (size_t i = 0; i < WEIR_COUNT(TABLE); i++) {
        struct weir_error err;
        const struct given input = {0};
        struct picked output = {0};
        assert_false(choose_with("mixture", TABLE[i][0], &input, 1, &output, &err));
        assert_string_equal(err.text, TABLE[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(datasets_are_known_by_name_and_number),
        cmocka_unit_test(ages_count_back_from_the_newest),
        cmocka_unit_test(shares_follow_the_schedule),
        cmocka_unit_test(shares_follow_what_was_reported),
        cmocka_unit_test(shares_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests_name("selector/mixture", tests, NULL, NULL);
}
