/* The edges of selection, as docs/guides/selection-edges.md tells them: for every policy an empty pool, one that is
 * smaller than the limit, one class, equal times; for every method equal scores, scores that are no numbers, and
 * infinite ones. A new policy or method needs a row in the tables here, and there. */
#include "selector/choices/candidates.h"
#include "selector/scoring/scoring.h"
#include "tests/unit/selector/choose.h"

#include <float.h>
#include <math.h>

enum { POOL = 10, TARGET = 4 };

/* ---- policies ---- */

/* Number of ten fresh candidates that are chosen: */
static const struct {
    const char *policy, *options;
    size_t below_limit; /* five of each of two classes, by two triggers; the limit is 20 */
    size_t one_class;   /* all of one class, by one trigger; the limit is 4 */
    size_t equal_times; /* as below_limit, the limit is 4 */
} POLICIES[] = {
    {"new_data", "{}", 10, 4, 4},
    {"new_data", "{keep: random}", 10, 4, 4},
    {"freshness", "{unused_ratio: 0.5}", 10, 4, 4},
    {"random", "{}", 10, 4, 4},
    {"random_without_replacement", "{}", 10, 4, 4},
    {"recency_weighted", "{half_life: 1s}", 10, 4, 4},
    {"reservoir", "{size: 7}", 7, 4, 4},
    {"label_balanced", "{}", 10, 0, 4}, /* one class cannot be balanced: it has a reason */
    {"trigger_balanced", "{}", 10, 4, 4},
    {"mixture", "{over: labels, shares: {0: 3, 1: 1}}", 10, 4, 4},
    {"mixture", "{over: labels, shares: {0: 3, 1: 1}, short: fewer}", 7, 3, 4},
    {"coreset", "{score: {method: loss}}", 10, 4, 4},
};

/* Columns of the pool that the tables speak of. */
struct columns {
    uint64_t ids[POOL];
    int64_t times[POOL], labels[POOL], triggers[POOL];
    uint8_t past[POOL];
};

static struct given pool_of(struct columns *columns, int64_t classes, size_t limit)
{
    *columns = (struct columns){0};
    for (size_t i = 0; i < POOL; i++) {
        columns->ids[i] = 100 + i;
        columns->times[i] = 5000;
        columns->labels[i] = (int64_t)i % classes;
        columns->triggers[i] = 1 + (int64_t)i % classes;
    }
    return (struct given){
        .ids = columns->ids,
        .times = columns->times,
        .labels = columns->labels,
        .triggers = columns->triggers,
        .past = columns->past,
        .count = POOL,
        .target = limit < POOL ? limit : POOL,
        .bounded = true,
    };
}

static void expect_count(size_t row, const char *edge, const struct given *given, size_t count)
{
    size_t chosen[POOL];
    float weights[POOL];
    struct picked picked = {.chosen = chosen, .weights = weights};
    choose(POLICIES[row].policy, POLICIES[row].options, given, 1, &picked);
    if (picked.count != count)
        fail_msg("%s %s, %s: expected %zu, found %zu", POLICIES[row].policy, POLICIES[row].options,
                 edge, count, picked.count);
    assert_int_equal(picked.reason[0] != '\0', count == 0);
}

static void every_policy_does_at_the_edges_what_the_guide_says(void **state)
{
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(POLICIES); row++) {
        struct columns columns;
        struct given given = pool_of(&columns, 2, 2 * POOL);
        expect_count(row, "below the limit", &given, POLICIES[row].below_limit);
        given = pool_of(&columns, 1, TARGET);
        expect_count(row, "one class", &given, POLICIES[row].one_class);
        given = pool_of(&columns, 2, TARGET);
        expect_count(row, "equal times", &given, POLICIES[row].equal_times);
    }
}

static void every_policy_has_a_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        size_t rows = 0;
        for (size_t row = 0; row < WEIR_COUNT(POLICIES); row++)
            rows += strcmp(POLICIES[row].policy, selector_policy_at(i)->name) == 0;
        assert_true(rows > 0);
    }
}

static void no_policy_is_asked_about_an_empty_pool(void **state)
{
    (void)state;
    for (size_t i = 0; i < selector_policy_count(); i++) {
        struct selector_candidates none = {0};
        const struct selector_section section = {
            .policy = selector_policy_at(i), .limit = 4, .ratio = 1};
        const struct selector_choosing choosing = {
            .section = &section, .pipeline = "mails", .trigger = 1};
        const struct selector_sources sources = {0};
        char reason[SELECTION_REASON_MAX] = "";
        struct weir_error err;
        assert_int_equal(selector_candidates_choose(&none, &choosing, &sources, reason, &err),
                         WEIR_OK);
        assert_int_equal(none.chosen.count, 0);
        assert_string_equal(reason, "there are no samples to choose from");
    }
}

static void of_samples_of_one_time_the_newest_have_the_highest_ids(void **state)
{
    struct columns columns;
    size_t chosen[POOL];
    struct picked picked = {.chosen = chosen};
    (void)state;
    struct given given = pool_of(&columns, 1, TARGET);
    choose("new_data", "{}", &given, 1, &picked);
    for (size_t i = 0; i < TARGET; i++)
        assert_int_equal(chosen[i], POOL - TARGET + i);
}

static void samples_of_one_age_weigh_the_same(void **state)
{
    struct columns columns;
    size_t chosen[POOL];
    float weights[POOL];
    struct picked picked = {.chosen = chosen, .weights = weights};
    (void)state;
    struct given given = pool_of(&columns, 1, TARGET);
    choose("recency_weighted", "{half_life: 1s, weights: importance}", &given, 1, &picked);
    for (size_t i = 1; i < TARGET; i++)
        assert_true(weights[i] >= weights[0] && weights[i] <= weights[0]);
}

static void when_all_were_used_nothing_is_fresh(void **state)
{
    struct columns columns;
    size_t chosen[POOL];
    struct picked picked = {.chosen = chosen};
    (void)state;
    struct given given = pool_of(&columns, 1, TARGET);
    memset(columns.past, SELECTION_USED | SELECTION_DRAWN, sizeof(columns.past));
    choose("freshness", "{unused_ratio: 0.5}", &given, 1, &picked);
    assert_int_equal(picked.count, 0);
    assert_true(picked.reason[0] != '\0');
    choose("random_without_replacement", "{}", &given, 1, &picked); /* the next epoch begins */
    assert_int_equal(picked.count, TARGET);
}

/* ---- methods ---- */

enum ties { BY_PLACE, BY_CHANCE };

/* Rule of each method for equal scores; some rank by one number, others look at vectors. */
static const struct {
    const char *method;
    enum ties ties;
    size_t width;
} METHODS[] = {
    {"loss", BY_CHANCE, 1},
    {"grad_norm", BY_CHANCE, 1},
    {"uncertainty", BY_PLACE, 3},
    {"rho_loss", BY_PLACE, 1},
    {"rs2", BY_CHANCE, 0},
    {"k_center", BY_CHANCE, 3}, /* the first; then by place */
    {"exemplar_clustering", BY_PLACE, 3},
    {"craig", BY_PLACE, 3},
    {"grad_match", BY_PLACE, 3},
    {"submodular", BY_PLACE, 3},
};

struct result {
    size_t chosen[POOL];
    float weights[POOL];
    size_t count;
};

static void run(size_t row, const float *values, size_t target, uint64_t seed,
                struct result *ret_result)
{
    const struct scoring_method *method = scoring_find(METHODS[row].method);
    static const float NOTHING[POOL] = {0};
    struct weir_error err;
    WEIR_AUTO_FREE char *options = weir_calloc(1, method->options_size + 1);
    assert_int_equal(cfg_read(method->options, CFG_CLOSED, NULL, "selection", NULL, options, &err),
                     WEIR_OK);
    const struct scoring_input input = {
        .count = POOL,
        .width = METHODS[row].width,
        .values = values,
        .holdout_losses = method->wants_holdout_loss ? NOTHING : NULL,
        .target = target,
        .seed = seed,
    };
    memset(ret_result, 0, sizeof(*ret_result));
    struct scoring_choice choice = {ret_result->chosen, ret_result->weights, 0};
    assert_true(selector_scoring_choose(method, options, &input, &choice));
    ret_result->count = choice.count;
}

static void fill(float *values, float value)
{
    for (size_t i = 0; i < (size_t)3 * POOL; i++)
        values[i] = value;
}

static bool holds(const struct result *result, size_t place)
{
    for (size_t n = 0; n < result->count; n++)
        if (result->chosen[n] == place)
            return true;
    return false;
}

/* Distinct, usable, and as many as there should be. */
static void check(size_t row, const struct result *result, size_t target)
{
    bool may_be_fewer = strcmp(METHODS[row].method, "grad_match") == 0;
    if (result->count == 0 || result->count > target || (result->count < target && !may_be_fewer))
        fail_msg("%s: %zu of %zu", METHODS[row].method, result->count, target);
    for (size_t n = 0; n < result->count; n++) {
        assert_true(result->chosen[n] < POOL);
        assert_true(isfinite(result->weights[n]) && result->weights[n] > 0);
        for (size_t other = 0; other < n; other++)
            assert_true(result->chosen[n] != result->chosen[other]);
    }
}

static void every_method_has_a_row_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(scoring_count(), WEIR_COUNT(METHODS));
    for (size_t row = 0; row < WEIR_COUNT(METHODS); row++)
        assert_string_equal(scoring_at(row)->name, METHODS[row].method);
}

/* Equal scores, and nothing but scores that are no numbers, are the same edge: nobody is ahead. */
static void when_nobody_is_ahead_the_first_win_or_chance_does(void **state)
{
    static const float ALL[] = {0.25F, 0, NAN, INFINITY};
    float values[3 * POOL];
    struct result result, other;
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(METHODS); row++)
        for (size_t i = 0; i < WEIR_COUNT(ALL); i++) {
            fill(values, ALL[i]);
            run(row, values, TARGET, 1, &result);
            check(row, &result, TARGET);
            for (size_t place = 0; METHODS[row].ties == BY_PLACE && place < result.count; place++)
                if (!holds(&result, place))
                    fail_msg("%s of %g: place %zu is left out", METHODS[row].method, (double)ALL[i],
                             place);
            bool differs = false;
            for (uint64_t seed = 2; seed < 12; seed++) {
                run(row, values, TARGET, seed, &other);
                differs |= memcmp(&result, &other, sizeof(result)) != 0;
            }
            assert_int_equal(differs, METHODS[row].ties == BY_CHANCE);
        }
}

/* By one number: what is not known comes after all that is. */
static void what_is_not_known_comes_last(void **state)
{
    static const char *const RANKED[] = {"loss", "grad_norm", "uncertainty", "rho_loss"};
    float values[3 * POOL];
    struct result result;
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(METHODS); row++) {
        bool ranks = false;
        for (size_t i = 0; i < WEIR_COUNT(RANKED); i++)
            ranks |= strcmp(METHODS[row].method, RANKED[i]) == 0;
        for (uint64_t seed = 1; ranks && seed < 10; seed++) {
            size_t width = METHODS[row].width;
            for (size_t i = 0; i < POOL * width; i++)
                values[i] = i / width % 2 ? 0.01F * (float)(i + 1) : NAN;
            run(row, values, 5, seed, &result);
            check(row, &result, 5);
            for (size_t place = 0; place < POOL; place++)
                assert_int_equal(holds(&result, place), place % 2);
            run(row, values, 6, seed, &result); /* one of those that are not known */
            check(row, &result, 6);
            for (size_t place = 1; place < POOL; place += 2)
                assert_true(holds(&result, place));
        }
    }
}

/* In vectors: no number counts as 0, and what is beyond all measure as the largest that is within. */
static void in_vectors_no_number_is_nothing_and_infinite_is_large(void **state)
{
    float odd[3 * POOL], plain[3 * POOL];
    struct result one, other;
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(METHODS); row++) {
        const struct scoring_method *method = scoring_find(METHODS[row].method);
        if (method->wants < SCORING_WANTS_GRADIENT)
            continue;
        for (size_t i = 0; i < (size_t)3 * POOL; i++)
            odd[i] = plain[i] = (float)(i * i % 7) + 0.5F;
        odd[4] = NAN, plain[4] = 0;
        odd[17] = INFINITY, plain[17] = 1e15F;
        odd[20] = -FLT_MAX, plain[20] = -1e15F;
        run(row, odd, TARGET, 3, &one);
        run(row, plain, TARGET, 3, &other);
        check(row, &one, TARGET);
        assert_memory_equal(&one, &other, sizeof(one));
    }
}

static void an_infinite_loss_is_the_largest_there_is(void **state)
{
    static const char *const BY_LOSS[] = {"loss", "grad_norm", "rho_loss"};
    float values[3 * POOL];
    struct result result;
    (void)state;
    for (size_t row = 0; row < WEIR_COUNT(METHODS); row++)
        for (size_t i = 0; i < WEIR_COUNT(BY_LOSS); i++) {
            if (strcmp(METHODS[row].method, BY_LOSS[i]) != 0)
                continue;
            fill(values, 1);
            values[7] = INFINITY;
            values[3] = -INFINITY;
            run(row, values, 1, 5, &result);
            assert_int_equal(result.chosen[0], 7);
            run(row, values, POOL - 1, 5, &result);
            assert_false(holds(&result, 3));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_has_a_row),
        cmocka_unit_test(every_policy_does_at_the_edges_what_the_guide_says),
        cmocka_unit_test(no_policy_is_asked_about_an_empty_pool),
        cmocka_unit_test(of_samples_of_one_time_the_newest_have_the_highest_ids),
        cmocka_unit_test(samples_of_one_age_weigh_the_same),
        cmocka_unit_test(when_all_were_used_nothing_is_fresh),
        cmocka_unit_test(every_method_has_a_row_of_its_own),
        cmocka_unit_test(when_nobody_is_ahead_the_first_win_or_chance_does),
        cmocka_unit_test(what_is_not_known_comes_last),
        cmocka_unit_test(in_vectors_no_number_is_nothing_and_infinite_is_large),
        cmocka_unit_test(an_infinite_loss_is_the_largest_there_is),
    };
    return cmocka_run_group_tests_name("selection: edges", tests, NULL, NULL);
}
