/* Criteria against values worked out by hand, their saved state, and how statistics vote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "orchestrator/drift/judge.h"
#include "tests/support/yaml.h"

#include <math.h>
#include <string.h>

static struct criterion *open_criterion(const struct weir_yaml *document)
{
    struct criterion *criterion = NULL;
    struct weir_error err = {0};
    if (orchestrator_criterion_open(weir_yaml_root(document), "criterion", &criterion, &err) !=
        WEIR_OK)
        fail_msg("%s", err.text);
    return criterion;
}

static const struct criterion_case {
    const char *yaml;
    bool lower_is_worse;
    double values[6];
    double limits[6];
    bool fires[6];
} CASES[] = {
    {"{policy: threshold, value: 2}",
     false,
     {1, 2, 3, -1, 1.9, 2.1},
     {2, 2, 2, 2, 2, 2},
     {false, true, true, false, false, true}},
    {"{policy: threshold, value: 2}",
     true,
     {1, 2, 3, -1, 1.9, 2.1},
     {2, 2, 2, 2, 2, 2},
     {true, true, false, true, true, false}},
    /* Of {1}, {1, 2}, {1, 2, 3}, then the last three: the upper quarter begins at 1, 1.75, 2.5, 3, 3.5. */
    {"{policy: quantile, window: 3, quantile: 0.25}",
     false,
     {1, 2, 3, 2.5, 4, 3.1},
     {NAN, 1, 1.75, 2.5, 2.75, 3.5},
     {false, true, true, false, true, false}},
    {"{policy: quantile, window: 3, quantile: 0.25}",
     true,
     {-1, -2, -3, -2.5, -4, -3.1},
     {NAN, -1, -1.75, -2.5, -2.75, -3.5},
     {false, true, true, false, true, false}},
    {"{policy: rolling_average, window: 2, deviation: 0.5}",
     false,
     {2, 3, 3, 4.5, 4, 10},
     {NAN, 3, 3.75, 4.5, 5.625, 6.375},
     {false, true, false, true, false, true}},
    {"{policy: rolling_average, window: 2, deviation: 0.5, absolute: true}",
     true,
     {0.75, 0.5, 0.125, 0.875, 0, -2},
     {NAN, 0.25, 0.125, -0.1875, 0, -0.0625},
     {false, false, true, false, true, true}},
};

static void check_case(const struct criterion_case *row, size_t save_at)
{
    WEIR_AUTO(weir_yaml) document = yaml_of(row->yaml);
    struct criterion *criterion = open_criterion(document);
    for (size_t i = 0; i < 6; i++) {
        struct criterion_value value = {row->values[i], NAN, row->lower_is_worse};
        struct criterion_verdict verdict = orchestrator_criterion_judge(criterion, &value);
        if (verdict.fires != row->fires[i] ||
            !(isnan(row->limits[i]) ? isnan(verdict.limit)
                                    : fabs(verdict.limit - row->limits[i]) < 1e-12))
            fail_msg("%s: value %zu: fires %d, limit %g", row->yaml, i, verdict.fires,
                     verdict.limit);
        if (i == save_at) {
            WEIR_AUTO_BUF saved = {0};
            struct weir_error err;
            orchestrator_criterion_save(criterion, &saved);
            orchestrator_criterion_close(criterion);
            criterion = open_criterion(document);
            struct weir_bytes view = weir_buf_view(&saved);
            assert_int_equal(orchestrator_criterion_restore(criterion, &view, &err), WEIR_OK);
            assert_int_equal(view.size, 0);
        }
    }
    orchestrator_criterion_close(criterion);
}

static void criteria_fire_as_worked_out_by_hand_also_when_restored(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        for (size_t save_at = 0; save_at < 7; save_at++)
            check_case(&CASES[i], save_at);
}

static void a_p_value_fires_below_its_level(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = yaml_of("{policy: p_value, below: 0.01}");
    WEIR_AUTO(criterion) criterion = open_criterion(document);
    static const struct {
        double p_value;
        bool fires;
    } ROWS[] = {{0.009, true}, {0.01, false}, {NAN, false}, {0, true}, {1, false}};
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        struct criterion_value value = {1, ROWS[i].p_value, false};
        assert_int_equal(orchestrator_criterion_judge(criterion, &value).fires, ROWS[i].fires);
    }
}

static void what_is_no_number_neither_fires_nor_is_remembered(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(CASES[i].yaml);
        WEIR_AUTO(criterion) criterion = open_criterion(document);
        WEIR_AUTO_BUF before = {0}, after = {0};
        struct criterion_value value = {NAN, NAN, false};
        orchestrator_criterion_save(criterion, &before);
        assert_false(orchestrator_criterion_judge(criterion, &value).fires);
        orchestrator_criterion_save(criterion, &after);
        assert_true(weir_bytes_equal(weir_buf_view(&before), weir_buf_view(&after)));
    }
}

static void a_saved_state_that_cannot_be_is_refused(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml) document = yaml_of(CASES[2].yaml);
    WEIR_AUTO(criterion) criterion = open_criterion(document);
    WEIR_AUTO_BUF saved = {0};
    struct weir_error err;
    orchestrator_criterion_save(criterion, &saved);
    struct weir_bytes cut = weir_bytes(saved.at, saved.size - 1);
    assert_int_equal(orchestrator_criterion_restore(criterion, &cut, &err), WEIR_INVALID);
    weir_put_u64(saved.at, 4);
    cut = weir_buf_view(&saved);
    assert_int_equal(orchestrator_criterion_restore(criterion, &cut, &err), WEIR_INVALID);
}

/* ---- several statistics ---- */

enum { COUNT = 40 };

static enum weir_status open_judge(const struct weir_yaml *document, bool labels,
                                   struct drift_judge **ret_judge, struct weir_error *err)
{
    const struct weir_yaml_node *root = weir_yaml_root(document);
    return orchestrator_judge_open(weir_yaml_get(root, "statistics"),
                                   weir_yaml_text(weir_yaml_get(root, "votes")), labels, "trigger",
                                   ret_judge, err);
}

static struct drift_findings ask(struct drift_judge *judge, float shift)
{
    float reference[COUNT], current[COUNT];
    struct drift_findings findings;
    for (size_t i = 0; i < COUNT; i++) {
        reference[i] = (float)(i * 17 % 40);
        current[i] = (float)(i * 23 % 40) + shift;
    }
    const struct drift_input input = {.reference = {COUNT, reference, NULL},
                                      .current = {COUNT, current, NULL},
                                      .width = 1,
                                      .seed = 1};
    orchestrator_judge_measure(judge, &input, &findings);
    orchestrator_judge_decide(judge, &findings);
    return findings;
}

static void as_many_votes_fire_as_are_needed(void **state)
{
    (void)state;
    /* Shifted by 10 of 40: ks is 0.25 (p 0.17), wasserstein 10. */
    static const struct {
        const char *yaml;
        bool fires;
        const char *because;
    } ROWS[] = {
        {"{statistics: ks}", false, "ks 0.25, p 0.165 (limit 0.05)"},
        {"{statistics: [{name: ks, criterion: {policy: threshold, value: 0.2}}]}", true,
         "ks 0.25 >= 0.2"},
        {"{statistics: [ks, {name: wasserstein, unit: none, criterion: {policy: threshold, value: 9}}], votes: 1}",
         true, "ks 0.25, p 0.165 (limit 0.05), wasserstein 10 >= 9: 1 votes, 1 needed"},
        {"{statistics: [ks, {name: wasserstein, unit: none, criterion: {policy: threshold, value: 9}}]}",
         false, "2 needed"},
        {"{statistics: [{name: ks, criterion: {policy: quantile}}]}", false, "ks 0.25 (the first)"},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(ROWS[i].yaml);
        WEIR_AUTO(drift_judge) judge = NULL;
        WEIR_AUTO_BUF because = {0};
        struct weir_error err;
        if (open_judge(document, false, &judge, &err) != WEIR_OK)
            fail_msg("%s", err.text);
        struct drift_findings findings = ask(judge, 10);
        orchestrator_judge_explain(judge, &findings, &because);
        if (strstr(weir_buf_text(&because), ROWS[i].because) == NULL)
            fail_msg("expected %s in: %s", ROWS[i].because, weir_buf_text(&because));
        assert_int_equal(findings.fires, ROWS[i].fires);
    }
}

/* Of three features the second is 0 to 3, then 2 to 5: half of each window lies outside the other. The third is not
 * there in half of the newer rows, the first stays as it was. */
static void features_are_listed_by_how_far_they_have_moved(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *by;
        double distance; /* of the second */
    } ROWS[] = {
        {"{statistics: [{name: mmd, criterion: {policy: threshold, value: 1}}]}", "ks", 0.5},
        {"{statistics: [{name: mmd, criterion: {policy: threshold, value: 1}}, {name: wasserstein, unit: none, "
         "criterion: {policy: threshold, value: 1}}, ks]}",
         "wasserstein", 2},
    };
    static const float REFERENCE[] = {7, 0, 1, 7, 1, 1, 7, 2, 1, 7, 3, 1};
    const float current[] = {7, 2, NAN, 7, 3, 1, 7, 4, NAN, 7, 5, 1};
    const struct drift_input input = {
        .reference = {4, REFERENCE, NULL}, .current = {4, current, NULL}, .width = 3};
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(ROWS[i].yaml);
        WEIR_AUTO(drift_judge) judge = NULL;
        struct weir_error err;
        struct drift_moved moved[3];
        size_t count = 0;
        assert_int_equal(open_judge(document, false, &judge, &err), WEIR_OK);
        const struct drift_statistic *by = orchestrator_judge_moved(judge, &input, moved, &count);
        assert_string_equal(by->name, ROWS[i].by);
        assert_int_equal(count, 3);
        assert_int_equal(moved[0].feature, 1);
        assert_true(moved[0].distance == ROWS[i].distance);
        assert_true(moved[0].reference_mean == 1.5 && moved[0].current_mean == 3.5);
        assert_true(moved[1].feature == 0 && moved[2].feature == 2 && moved[2].distance == 0);
        assert_true(moved[2].reference_missing == 0 && moved[2].current_missing == 0.5);
    }
}

static void a_judge_goes_on_from_its_saved_state(void **state)
{
    (void)state;
    WEIR_AUTO(weir_yaml)
    document = yaml_of(
        "{statistics: [{name: ks, criterion: {policy: quantile}}, {name: psi, criterion: {policy: rolling_average}}]}");
    WEIR_AUTO(drift_judge) first = NULL;
    WEIR_AUTO(drift_judge) second = NULL;
    WEIR_AUTO_BUF saved = {0};
    struct weir_error err;
    assert_int_equal(open_judge(document, false, &first, &err), WEIR_OK);
    assert_int_equal(open_judge(document, false, &second, &err), WEIR_OK);
    for (int i = 0; i < 5; i++)
        (void)ask(first, (float)i);
    orchestrator_judge_save(first, &saved);
    struct weir_bytes view = weir_buf_view(&saved);
    assert_int_equal(orchestrator_judge_restore(second, &view, &err), WEIR_OK);
    assert_int_equal(view.size, 0);
    struct drift_findings a = ask(first, 12);
    struct drift_findings b = ask(second, 12);
    assert_true(a.fires && b.fires);
    assert_true(a.of[0].limit == b.of[0].limit && a.of[1].limit == b.of[1].limit);
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
        bool labels;
    } ROWS[] = {
        {"{statistics: mdm}",
         "t.yaml:1:14: trigger.statistics: unknown statistic 'mdm' (did you mean mmd?)", false},
        {"{statistics: psi}", "expected a criterion", false},
        {"{statistics: {name: psi, criterion: {policy: p_value}}}", "psi has no p-value", false},
        {"{statistics: {name: psi, criterion: {policy: thresold}}}", "did you mean threshold?",
         false},
        {"{statistics: {name: psi, bin: 3, criterion: {policy: threshold, value: 1}}}",
         "did you mean 'bins'", false},
        {"{statistics: mmd}", "mmd compares numbers", true},
        {"{statistics: [ks, mmd], votes: 3}", "from 1 to 2, found '3'", false},
        {"{statistics: []}", "1 to 16 statistics", false},
    };
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++) {
        WEIR_AUTO(weir_yaml) document = yaml_of(ROWS[i].yaml);
        WEIR_AUTO(drift_judge) judge = NULL;
        struct weir_error err;
        assert_int_equal(open_judge(document, ROWS[i].labels, &judge, &err), WEIR_INVALID);
        if (strstr(err.text, ROWS[i].expected) == NULL)
            fail_msg("expected %s in: %s", ROWS[i].expected, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(criteria_fire_as_worked_out_by_hand_also_when_restored),
        cmocka_unit_test(a_p_value_fires_below_its_level),
        cmocka_unit_test(what_is_no_number_neither_fires_nor_is_remembered),
        cmocka_unit_test(a_saved_state_that_cannot_be_is_refused),
        cmocka_unit_test(as_many_votes_fire_as_are_needed),
        cmocka_unit_test(features_are_listed_by_how_far_they_have_moved),
        cmocka_unit_test(a_judge_goes_on_from_its_saved_state),
        cmocka_unit_test(mistakes_name_their_place),
    };
    return cmocka_run_group_tests_name("drift judge", tests, NULL, NULL);
}
