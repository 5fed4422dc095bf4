/* Windows, limits, ratios and seeds: what policies share. */
#include "core/base/memory.h"
#include "selector/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 100 };

/* Rows 0 … ROWS - 1 of one block; event times fall while ids rise, ten rows share a time. */
static void gather(struct selector_candidates *candidates, const struct selector_window *window)
{
    uint64_t ids[ROWS];
    int64_t times[ROWS];
    int64_t labels[ROWS];
    uint64_t mask[SELECTOR_MASK_WORDS] = {UINT64_MAX, UINT64_MAX};
    for (uint32_t i = 0; i < ROWS; i++) {
        ids[i] = weir_sample_id(1, 0, i);
        times[i] = 1000 - i / 10;
        labels[i] = i % 2;
    }
    const struct selector_column_block block = {
        .first = ids[0], .rows = ROWS, .count = ROWS, .ids = ids, .times = times, .labels = labels};
    selector_candidates_add_columns(candidates, mask, &block, window);
}

static void gather_all(struct selector_candidates *candidates)
{
    const struct selector_window all = {
        .after_time = INT64_MIN, .upto_time = INT64_MAX, .upto_id = UINT64_MAX};
    gather(candidates, &all);
}

static void a_window_cuts_by_time_and_then_by_id(void **state)
{
    (void)state;
    static const struct {
        struct selector_window window;
        size_t count;
    } TABLE[] = {
        {{INT64_MIN, 0, INT64_MAX, UINT64_MAX}, 100},
        {{999, UINT64_MAX, 1000, UINT64_MAX}, 10},
        {{998, UINT64_MAX, 999, UINT64_MAX}, 10},
        {{INT64_MIN, 0, 995, UINT64_MAX}, 50},
        {{INT64_MIN, 0, 1000, 0}, 90},
        {{1000, UINT64_MAX, INT64_MAX, UINT64_MAX}, 0},
    };
    for (size_t i = 0; i < WEIR_COUNT(TABLE); i++) {
        struct selector_candidates candidates = {0};
        gather(&candidates, &TABLE[i].window);
        assert_int_equal(candidates.count, TABLE[i].count);
        selector_candidates_fini(&candidates);
    }
    /* Inside one event time the id decides: row 4 of time 1000 belongs to the first window. */
    struct selector_candidates split = {0};
    uint64_t at = weir_sample_id(1, 0, 4);
    gather(&split, &(struct selector_window){999, UINT64_MAX, 1000, at});
    assert_int_equal(split.count, 5);
    gather(&split, &(struct selector_window){1000, at, 1000, UINT64_MAX});
    assert_int_equal(split.count, 10);
    selector_candidates_fini(&split);
}

static void a_mask_alone_gives_its_ids(void **state)
{
    (void)state;
    struct selector_candidates candidates = {0};
    uint64_t mask[SELECTOR_MASK_WORDS] = {0};
    mask[0] = 5;
    mask[SELECTOR_MASK_WORDS - 1] = UINT64_C(1) << 63;
    selector_candidates_add(&candidates, weir_sample_id(2, 1, 0), mask);
    assert_int_equal(candidates.count, 3);
    assert_int_equal(candidates.ids[0], weir_sample_id(2, 1, 0));
    assert_int_equal(candidates.ids[1], weir_sample_id(2, 1, 2));
    assert_int_equal(candidates.ids[2], weir_sample_id(2, 1, WEIR_BLOCK_ROWS - 1));
    selector_candidates_fini(&candidates);
}

static size_t choose(uint64_t limit, double ratio, char *reason)
{
    struct selector_candidates candidates = {0};
    const struct selector_section section = {
        .policy = selector_policy_find("random"), .limit = limit, .ratio = ratio};
    const struct selector_choosing choosing = {
        .section = &section, .pipeline = "mails", .trigger = 1};
    gather_all(&candidates);
    reason[0] = '\0';
    selector_candidates_choose(&candidates, &choosing, reason);
    for (size_t i = 1; i < candidates.count; i++)
        assert_true(candidates.ids[i] > candidates.ids[i - 1]);
    size_t count = candidates.count;
    selector_candidates_fini(&candidates);
    return count;
}

static void limit_and_ratio_bound_the_choice(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit;
        double ratio;
        size_t chosen;
    } TABLE[] = {
        {UINT64_MAX, 1, 100}, {30, 1, 30},      {1000, 1, 100},         {UINT64_MAX, 0.5, 50},
        {20, 0.5, 20},        {1000, 0.29, 29}, {UINT64_MAX, 0.015, 1},
    };
    char reason[SELECTION_REASON_MAX];
    for (size_t i = 0; i < WEIR_COUNT(TABLE); i++) {
        assert_int_equal(choose(TABLE[i].limit, TABLE[i].ratio, reason), TABLE[i].chosen);
        assert_string_equal(reason, "");
    }
}

static void nothing_to_choose_is_explained(void **state)
{
    (void)state;
    char reason[SELECTION_REASON_MAX] = "";
    assert_int_equal(choose(UINT64_MAX, 0.001, reason), 0);
    assert_string_equal(reason, "ratio 0.001 of 100 samples is less than one");
    struct selector_candidates none = {0};
    const struct selector_section section = {
        .policy = selector_policy_find("random"), .limit = 1, .ratio = 1};
    reason[0] = '\0';
    const struct selector_choosing choosing = {
        .section = &section, .pipeline = "mails", .trigger = 1};
    selector_candidates_choose(&none, &choosing, reason);
    assert_string_equal(reason, "there are no samples to choose from");
}

static void seeds_differ_by_seed_pipeline_and_trigger(void **state)
{
    (void)state;
    uint64_t base = selector_trigger_seed(7, "mails", 1);
    assert_true(base == selector_trigger_seed(7, "mails", 1));
    assert_true(base != selector_trigger_seed(8, "mails", 1));
    assert_true(base != selector_trigger_seed(7, "clicks", 1));
    assert_true(base != selector_trigger_seed(7, "mails", 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_cuts_by_time_and_then_by_id),
        cmocka_unit_test(a_mask_alone_gives_its_ids),
        cmocka_unit_test(limit_and_ratio_bound_the_choice),
        cmocka_unit_test(nothing_to_choose_is_explained),
        cmocka_unit_test(seeds_differ_by_seed_pipeline_and_trigger),
    };
    return cmocka_run_group_tests_name("selector/candidates", tests, NULL, NULL);
}
