/* Windows, limits, ratios and seeds: what policies share. */
#include "core/base/memory.h"
#include "selector/choices/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 100 };

/* Rows 0 … ROWS - 1 of one block; event times fall while ids rise, ten rows share a time. */
static void put_columns(struct selector_columns *columns)
{
    uint64_t ids[ROWS];
    int64_t times[ROWS];
    int64_t labels[ROWS];
    struct weir_error err;
    for (uint32_t i = 0; i < ROWS; i++) {
        ids[i] = weir_sample_id(1, 0, i);
        times[i] = 1000 - i / 10;
        labels[i] = i % 2;
    }
    const struct selector_column_block block = {
        .first = ids[0], .rows = ROWS, .count = ROWS, .ids = ids, .times = times, .labels = labels};
    assert_int_equal(selector_columns_put(columns, &block, &err), WEIR_OK);
}

/* Counts those that are inside. */
static size_t count_inside(const struct selector_window *window)
{
    struct selector_columns columns = {0};
    struct weir_error err;
    uint64_t mask[SELECTOR_MASK_WORDS] = {0};
    put_columns(&columns);
    selector_mask_fill(mask, 0, ROWS, true);
    assert_int_equal(selector_window_mask(window, &columns, weir_sample_id(1, 0, 0), mask, &err),
                     WEIR_OK);
    selector_columns_fini(&columns);
    return selector_mask_count(mask);
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
    for (size_t i = 0; i < WEIR_COUNT(TABLE); i++)
        assert_int_equal(count_inside(&TABLE[i].window), TABLE[i].count);
    /* Inside one event time the id decides: row 4 of time 1000 belongs to the first window. */
    uint64_t at = weir_sample_id(1, 0, 4);
    assert_int_equal(count_inside(&(struct selector_window){999, UINT64_MAX, 1000, at}), 5);
    assert_int_equal(count_inside(&(struct selector_window){1000, at, 1000, UINT64_MAX}), 5);
}

static void add_all(struct selector_candidates *candidates)
{
    uint64_t mask[SELECTOR_MASK_WORDS] = {0};
    selector_mask_fill(mask, 0, ROWS, true);
    selector_set_append(&candidates->all, weir_sample_id(1, 0, 0), mask);
}

static size_t choose(uint64_t limit, double ratio, char *reason)
{
    struct selector_candidates candidates = {0};
    const struct selector_section section = {
        .policy = selector_policy_find("random"), .limit = limit, .ratio = ratio};
    const struct selector_choosing choosing = {
        .section = &section, .pipeline = "mails", .trigger = 1};
    const struct selector_sources sources = {0};
    struct weir_error err;
    add_all(&candidates);
    reason[0] = '\0';
    assert_int_equal(selector_candidates_choose(&candidates, &choosing, &sources, reason, &err),
                     WEIR_OK);
    size_t count = candidates.chosen.count;
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
    const struct selector_sources sources = {0};
    struct weir_error err;
    assert_int_equal(selector_candidates_choose(&none, &choosing, &sources, reason, &err), WEIR_OK);
    assert_string_equal(reason, "there are no samples to choose from");
}

/* More than four billion candidates, which take no memory: whole blocks are two numbers each. */
static void more_candidates_than_groups_can_be_are_refused(void **state)
{
    (void)state;
    static const char *const POLICIES[] = {"label_balanced", "trigger_balanced"};
    struct selector_candidates candidates = {0};
    uint64_t mask[SELECTOR_MASK_WORDS];
    char reason[SELECTION_REASON_MAX] = "";
    memset(mask, 0xff, sizeof(mask));
    for (uint32_t block = 0; block <= UINT16_MAX; block++)
        selector_set_append(&candidates.all, weir_sample_id(1, block, 0), mask);
    for (size_t i = 0; i < WEIR_COUNT(POLICIES); i++) {
        const struct selection_policy *policy = selector_policy_find(POLICIES[i]);
        const struct selector_section section = {
            .policy = policy, .needs = policy->needs, .limit = 1, .ratio = 1};
        const struct selector_choosing choosing = {
            .section = &section, .pipeline = "mails", .trigger = 1};
        const struct selector_sources sources = {0};
        struct weir_error err;
        assert_int_equal(selector_candidates_choose(&candidates, &choosing, &sources, reason, &err),
                         WEIR_LIMIT);
        assert_non_null(strstr(err.text, "found 4294967296 candidates to divide into groups"));
    }
    selector_candidates_fini(&candidates);
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
        cmocka_unit_test(limit_and_ratio_bound_the_choice),
        cmocka_unit_test(nothing_to_choose_is_explained),
        cmocka_unit_test(more_candidates_than_groups_can_be_are_refused),
        cmocka_unit_test(seeds_differ_by_seed_pipeline_and_trigger),
    };
    return cmocka_run_group_tests_name("selector/candidates", tests, NULL, NULL);
}
