/* The selector against real Postgres and a scripted storage: what it selects, that it says the same
 * again, and that dying anywhere changes nothing. */
#include "tests/component/selector_lab.h"

static void live_triggers_select_what_came_since_the_last(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 10);
    lab_change(fixture, WEIR_CHANGE_REMOVED, 12, 1);
    lab_change(fixture, WEIR_CHANGE_ADDED, 20, 10);
    lab_change(fixture, WEIR_CHANGE_ADDED, 30, 10);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-9");
    assert_int_equal(lab_select_live(fixture, 2, 4), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "10-11 13-29");
    assert_int_equal(lab_select_live(fixture, 3, 4), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_string_equal(fixture->text, "there are no samples to choose from");
    assert_int_equal(lab_select_live(fixture, 4, 5), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "30-39");
}

static void the_tail_reaches_back_over_triggers(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t i = 0; i < 4; i++)
        lab_change(fixture, WEIR_CHANGE_ADDED, i * 10, 10);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data, tail_triggers: 1}", false),
                     WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-9");
    assert_int_equal(lab_select_live(fixture, 2, 2), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-19");
    assert_int_equal(lab_select_live(fixture, 3, 3), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "10-29");
}

static void replay_windows_follow_time_and_id(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 40);
    lab_change(fixture, WEIR_CHANGE_ADDED, 40, 40);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data}", true), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 1, 1, 9), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "0-9");
    assert_int_equal(lab_select_replay(fixture, 2, 1, 24), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "10-24");
    /* Position 1 hides what was added after it, erasures after it count. */
    lab_change(fixture, WEIR_CHANGE_ERASED, 30, 2);
    assert_int_equal(lab_select_replay(fixture, 3, 1, 79), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "25-29 32-39");
    assert_true(fixture->script.column_reads >= 1);
}

static void wiping_forgets_times_and_labels(void **state)
{
    struct fixture *fixture = *state;
    struct msg_wiped wiped = {0};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 40);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data}", true), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 1, 1, 9), WEIR_OK);
    size_t reads = fixture->script.column_reads;
    assert_int_equal(lab_select_replay(fixture, 2, 1, 24), WEIR_OK);
    assert_int_equal(fixture->script.column_reads, reads);
    selector_wipe(fixture->selector, NULL, &wiped);
    assert_int_equal(lab_select_replay(fixture, 3, 1, 39), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "25-39");
    assert_true(fixture->script.column_reads > reads);
}

static void labels_are_balanced_over_all_past(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 90); /* every third one is spam */
    assert_int_equal(
        lab_open_pipeline(fixture, "{policy: label_balanced, tail_triggers: all, seed: 7}", true),
        WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 1, 1, 29), WEIR_OK);
    assert_int_equal(fixture->samples, 20);
    assert_int_equal(fixture->candidates, 30);
    assert_int_equal(lab_select_replay(fixture, 2, 1, 59), WEIR_OK);
    assert_int_equal(fixture->samples, 40);
    assert_int_equal(fixture->candidates, 60);
}

static void an_impossible_selection_has_a_reason(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 1, 2); /* rows 1 and 2 are ham */
    assert_int_equal(lab_open_pipeline(fixture, "{policy: label_balanced}", true), WEIR_OK);
    assert_int_equal(lab_select_replay(fixture, 1, 1, 2), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_string_equal(fixture->path, "");
    assert_string_equal(fixture->text, "class 'spam' has no samples yet");
    assert_int_equal(fixture->candidates, 2);
}

static void intervals_hold_all_live_samples_of_their_time(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 50);
    lab_change(fixture, WEIR_CHANGE_ERASED, 15, 1);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 1}", true), WEIR_OK);
    assert_int_equal(lab_seal_interval(fixture, 1010, 1020, 1), WEIR_OK);
    assert_string_equal(lab_rows(fixture), "10-14 16-19");
    assert_int_equal(lab_seal_interval(fixture, 5000, 6000, 1), WEIR_OK);
    assert_string_equal(fixture->digest, "");
    assert_non_null(strstr(fixture->text, "there are no samples from 1970-01-01T00:00:00.005"));
    assert_int_equal(lab_seal_interval(fixture, 1020, 1020, 1), WEIR_INVALID);
}

static void the_same_request_has_the_same_answer(void **state)
{
    struct fixture *fixture = *state;
    char digest[WEIR_DIGEST_TEXT_MAX];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 20, seed: 3}", false),
                     WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    (void)snprintf(digest, sizeof(digest), "%s", fixture->digest);
    lab_change(fixture, WEIR_CHANGE_ERASED, 0, 30); /* later than the answer: readers apply it */
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(fixture->digest, digest);
    lab_stop(fixture);
    lab_start(fixture);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_string_equal(fixture->digest, digest);
    assert_int_equal(fixture->samples, 20);
}

/* Runs the same two triggers, dying or failing as `disturb` says before each request. */
static void run_twice(struct fixture *fixture, void (*disturb)(struct fixture *),
                      char digests[2][WEIR_DIGEST_TEXT_MAX])
{
    for (uint64_t trigger = 1; trigger <= 2; trigger++) {
        disturb(fixture);
        assert_int_equal(lab_select_live(fixture, trigger, trigger), WEIR_OK);
        (void)snprintf(digests[trigger - 1], WEIR_DIGEST_TEXT_MAX, "%s", fixture->digest);
    }
}

static void leave_alone(struct fixture *fixture)
{
    (void)fixture;
}

static void restart_postgres(struct fixture *fixture)
{
    weir_test_postgres_kill(&fixture->postgres);
    weir_test_postgres_resume(&fixture->postgres);
}

static void dying_in_between_changes_no_digest(void **state)
{
    struct fixture *fixture = *state;
    static void (*const DISTURB[])(struct fixture *) = {leave_alone, lab_restart, restart_postgres};
    char first[2][WEIR_DIGEST_TEXT_MAX];
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
    lab_change(fixture, WEIR_CHANGE_ADDED, 60, 60);
    for (size_t i = 0; i < WEIR_COUNT(DISTURB); i++) {
        char digests[2][WEIR_DIGEST_TEXT_MAX];
        lab_stop(fixture);
        weir_test_postgres_reset(&fixture->postgres);
        lab_start(fixture);
        assert_int_equal(lab_open_pipeline(fixture, "{policy: random, ratio: 0.5, seed: 3}", false),
                         WEIR_OK);
        run_twice(fixture, DISTURB[i], i == 0 ? first : digests);
        if (i > 0)
            assert_memory_equal(first, digests, sizeof(first));
    }
}

static void select_through_death(struct fixture *fixture, const char *point)
{
    const uint64_t position = 2;
    const struct msg_select select = {
        .pipeline = "quick", .trigger = 1, .positions = {&position, 1}};
    assert_int_equal(lab_request_through_death(fixture, WEIR_BIN_DIR, point, MSG_select, &select),
                     WEIR_OK);
}

static void killed_at_any_point_the_answer_is_the_same(void **state)
{
    struct fixture *fixture = *state;
    static const char *const POINTS[] = {"selector.advance", "selector.sealing", "selector.sealed",
                                         "selector.answer"};
    char digest[WEIR_DIGEST_TEXT_MAX] = "";
    for (size_t i = 0; i < WEIR_COUNT(POINTS); i++) {
        fixture->script = (struct script){0};
        lab_change(fixture, WEIR_CHANGE_ADDED, 0, 60);
        assert_int_equal(lab_open_pipeline(fixture, "{policy: random, limit: 20, seed: 3}", false),
                         WEIR_OK);
        lab_change(fixture, WEIR_CHANGE_ADDED, 60, 60);
        select_through_death(fixture, POINTS[i]);
        assert_int_equal(fixture->samples, 20);
        if (i > 0)
            assert_string_equal(fixture->digest, digest);
        (void)snprintf(digest, sizeof(digest), "%s", fixture->digest);
        lab_stop(fixture);
        weir_test_postgres_reset(&fixture->postgres);
        lab_start(fixture);
    }
}

static void feeds_are_followed_without_being_asked(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data}", false), WEIR_OK);
    lab_stop(fixture);
    fixture->script.feed_reads = 0;
    lab_start(fixture);
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (fixture->script.feed_reads == 0) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

static void who_comes_too_late_for_the_feed_goes_on_from_a_snapshot(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(lab_open_pipeline(fixture, "{policy: new_data, tail_triggers: 1}", false),
                     WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_OK);
    assert_int_equal(fixture->samples, 10);
    lab_change(fixture, WEIR_CHANGE_REMOVED, 0, 4);
    lab_change(fixture, WEIR_CHANGE_ADDED, 10, 5);
    fixture->script.floor = 3; /* the selector has passed 1 */
    lab_change(fixture, WEIR_CHANGE_ADDED, 15, 3);
    assert_int_equal(lab_select_live(fixture, 2, 4), WEIR_OK);
    assert_int_equal(fixture->samples, 6 + 5 + 3); /* each once, under the change that added it */
    lab_change(fixture, WEIR_CHANGE_ADDED, 18, 2);
    assert_int_equal(lab_select_live(fixture, 3, 5), WEIR_OK);
    assert_int_equal(fixture->samples, 5 + 3 + 2);
}

static void requests_that_make_no_sense_are_refused(void **state)
{
    struct fixture *fixture = *state;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, 10);
    assert_int_equal(lab_select_live(fixture, 1, 1), WEIR_NOT_FOUND);
    assert_non_null(strstr(fixture->text, "pipeline 'quick' is not open here"));
    assert_int_equal(lab_open_pipeline(fixture, "{policy: randm}", false), WEIR_INVALID);
    assert_non_null(
        strstr(fixture->text, "quick.yaml:2:21: selection.policy: unknown selection policy"));
    assert_int_equal(lab_open_pipeline(fixture, "{policy: random}", false), WEIR_OK);
    assert_int_equal(lab_select_live(fixture, 0, 1), WEIR_INVALID);
    assert_int_equal(lab_select_live(fixture, 1, 9), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "position 9 was asked for, its newest change is 1"));
    assert_int_equal(lab_select_live(fixture, 3, 1), WEIR_INVALID);
    assert_non_null(strstr(fixture->text, "triggers are selected in order"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(live_triggers_select_what_came_since_the_last, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(the_tail_reaches_back_over_triggers, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(replay_windows_follow_time_and_id, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(wiping_forgets_times_and_labels, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(labels_are_balanced_over_all_past, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(an_impossible_selection_has_a_reason, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(intervals_hold_all_live_samples_of_their_time, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(the_same_request_has_the_same_answer, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(dying_in_between_changes_no_digest, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(killed_at_any_point_the_answer_is_the_same, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(feeds_are_followed_without_being_asked, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(who_comes_too_late_for_the_feed_goes_on_from_a_snapshot,
                                        lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(requests_that_make_no_sense_are_refused, lab_setup,
                                        lab_teardown),
    };
    return cmocka_run_group_tests_name("selector", tests, lab_setup_group, lab_teardown_group);
}
