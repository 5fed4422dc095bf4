/* The consumer's delivery machine: one rule at a time, with time and messages written out. */
#include "tests/unit/trainer_client/delivery_fixture.h"
#include "trainer_client/delivery_state.h"

#define TURN(name) (-1 - (int64_t)DELIVERY_##name)

static void an_answer_that_makes_no_sense_is_refused(void **unused)
{
    (void)unused;
    struct weir_position position = {.oldest = 9};
    struct delivery *delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &position);
    struct msg_client_opened cases[] = {opened_with(true), opened_with(true), opened_with(true),
                                        opened_with(true)};
    cases[0].delivery = WEIR_AT_MOST_ONCE + 1;
    cases[1].group_batches = 0;
    cases[2].epochs = 0;
    for (size_t i = 0; i < WEIR_COUNT(cases); i++) { /* the last: 8 batches, the position says 9 */
        assert_int_equal(trainer_delivery_opened(delivery, &cases[i], NULL), WEIR_INVALID);
        assert_false(trainer_delivery_is_open(delivery));
    }
    trainer_delivery_free(delivery);
}

static void nothing_is_accepted_before_it_is_open(void **unused)
{
    (void)unused;
    struct weir_position beginning = {0};
    struct fixture fixture = {.delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &beginning)};
    assert_int_equal(bring(&fixture, 0), DELIVERY_FOREIGN);
    assert_int_equal(next(&fixture, 0), TURN(WAIT));
    end(&fixture);
}

static void batches_of_others_are_foreign(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    for (int i = 0; i < 5; i++) {
        struct delivery_batch *batch = make(&fixture, 0, FENCE);
        batch->job += i == 0;
        batch->attempt -= i == 1;
        batch->session += i == 2;
        batch->group += i == 3;
        batch->number += i == 4 ? 8 : 0;
        assert_int_equal(arrive(&fixture, batch), DELIVERY_FOREIGN);
    }
    end(&fixture);
}

static void a_copy_is_dropped_whether_waiting_held_or_consumed(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    assert_int_equal(bring(&fixture, 0), DELIVERY_ACCEPTED);
    assert_int_equal(bring(&fixture, 0), DELIVERY_DUPLICATE);
    struct delivery_batch *held = take(&fixture);
    assert_int_equal(bring(&fixture, 0), DELIVERY_DUPLICATE);
    let_go(&fixture, held);
    assert_int_equal(bring(&fixture, 0), DELIVERY_DUPLICATE);
    end(&fixture);
}

static void fences_only_rise_within_a_group(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    assert_int_equal(arrive(&fixture, make(&fixture, 0, FENCE - 1)), DELIVERY_OLD_FENCE);
    assert_int_equal(arrive(&fixture, make(&fixture, 0, FENCE + 5)), DELIVERY_ACCEPTED);
    assert_int_equal(arrive(&fixture, make(&fixture, 1, FENCE + 4)), DELIVERY_OLD_FENCE);
    assert_int_equal(arrive(&fixture, make(&fixture, 2, FENCE + 1)),
                     DELIVERY_ACCEPTED); /* group 1 */
    assert_int_equal(arrive(&fixture, make(&fixture, 2, FENCE + 9)), DELIVERY_DUPLICATE);
    assert_int_equal(arrive(&fixture, make(&fixture, 3, FENCE + 8)),
                     DELIVERY_OLD_FENCE); /* the copy told */
    assert_int_equal(arrive(&fixture, make(&fixture, 3, FENCE + 9)), DELIVERY_ACCEPTED);
    end(&fixture);
}

static void deterministic_order_waits_for_the_oldest(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 1);
    bring(&fixture, 2);
    assert_int_equal(next(&fixture, 1), TURN(WAIT));
    bring(&fixture, 0);
    assert_int_equal(next(&fixture, 1), 0);
    assert_int_equal(next(&fixture, 1), 1);
    assert_int_equal(next(&fixture, 1), 2);
    assert_int_equal(next(&fixture, 1), TURN(WAIT));
    end(&fixture);
}

static void relaxed_order_takes_the_lowest_that_is_ready(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, false);
    bring(&fixture, 3);
    bring(&fixture, 1);
    assert_int_equal(next(&fixture, 1), 1);
    bring(&fixture, 0);
    assert_int_equal(next(&fixture, 1), 0);
    assert_int_equal(next(&fixture, 1), 3);
    assert_int_equal(next(&fixture, 1), TURN(WAIT));
    end(&fixture);
}

static void the_end_comes_once_everything_is_out(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    for (uint64_t i = 0; i < 8; i++)
        bring(&fixture, i);
    for (int i = 0; i < 7; i++)
        let_go(&fixture, take(&fixture));
    struct delivery_batch *last = take(&fixture);
    assert_int_equal(next(&fixture, 1), TURN(END));
    assert_int_equal(next(&fixture, 99999), TURN(END)); /* needs no lease */
    assert_false(trainer_delivery_is_complete(fixture.delivery));
    let_go(&fixture, last);
    assert_true(trainer_delivery_is_complete(fixture.delivery));
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 8);
    end(&fixture);
}

static void releasing_counts_samples_holes_and_fingerprint(void **unused)
{
    (void)unused;
    static const uint64_t HOLES[] = {101, 102, 103, 104, 105};
    static const uint32_t STATES[] = {WEIR_SAMPLE_ERASED, WEIR_SAMPLE_GONE, WEIR_SAMPLE_FILTERED,
                                      WEIR_SAMPLE_FAILED, 99};
    struct fixture fixture;
    start(&fixture, false);
    struct delivery_batch *batch = make(&fixture, 4, FENCE); /* the first of epoch 1 */
    batch->holes = HOLES;
    batch->hole_states = STATES;
    batch->hole_count = 5;
    assert_int_equal(arrive(&fixture, batch), DELIVERY_ACCEPTED);
    let_go(&fixture, take(&fixture));
    const struct weir_tally *tally = &trainer_delivery_position(fixture.delivery)->tally;
    uint64_t expected = weir_fingerprint(1, 1) + weir_fingerprint(2, 1);
    for (size_t i = 0; i < WEIR_COUNT(HOLES); i++)
        expected += weir_fingerprint(HOLES[i], 1);
    assert_int_equal(tally->delivered, 2);
    assert_int_equal(tally->erased, 1);
    assert_int_equal(tally->gone, 1);
    assert_int_equal(tally->filtered, 1);
    assert_int_equal(tally->failed, 2); /* an unknown state too */
    assert_true(tally->fingerprint == expected);
    end(&fixture);
}

static void a_batch_of_holes_is_consumed_in_its_turn(void **unused)
{
    (void)unused;
    static const uint64_t HOLE = 1;
    static const uint32_t STATE = WEIR_SAMPLE_GONE;
    struct fixture fixture;
    start(&fixture, true);
    struct delivery_batch *batch = make(&fixture, 0, FENCE);
    batch->samples = 0;
    batch->holes = &HOLE;
    batch->hole_states = &STATE;
    batch->hole_count = 1;
    arrive(&fixture, batch);
    bring(&fixture, 1);
    assert_int_equal(next(&fixture, 1), 1);
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 1);
    assert_int_equal(trainer_delivery_position(fixture.delivery)->tally.gone, 1);
    end(&fixture);
}

static void nothing_is_handed_out_without_a_lease(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    assert_int_equal(fixture.delivery->lease_end_ms, 2000);
    assert_int_equal(next(&fixture, 2000), TURN(LAPSED));
    hold(&fixture, 1500, 0, NULL, 0); /* counts from when it was asked */
    assert_int_equal(next(&fixture, 3500), TURN(LAPSED));
    assert_int_equal(next(&fixture, 3499), 0);
    end(&fixture);
}

static void an_epoch_drops_what_holds_an_erased_id(void **unused)
{
    (void)unused;
    static const uint64_t ERASED[] = {3};
    struct fixture fixture;
    struct msg_client_beat beat;
    start(&fixture, true);
    bring(&fixture, 0);
    bring(&fixture, 1); /* ids 3, 4 */
    hold(&fixture, 10, 1, ERASED, 1);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 1);
    assert_int_equal(next(&fixture, 11), 0);
    assert_int_equal(next(&fixture, 11), TURN(WAIT));
    trainer_delivery_beat(fixture.delivery, 20, &beat);
    assert_int_equal(beat.again_groups.count, 1);
    assert_int_equal(beat.again_groups.at[0], 0);
    assert_int_equal(beat.again_fences.at[0], FENCE);
    struct delivery_batch *stale = make(&fixture, 1, FENCE + 1);
    stale->erasure_epoch = 0;
    assert_int_equal(arrive(&fixture, stale), DELIVERY_ERASED);
    struct delivery_batch *clean = make(&fixture, 1, FENCE + 1);
    clean->samples = 1;
    clean->ids = &fixture.ids[1][1];
    assert_int_equal(arrive(&fixture, clean), DELIVERY_ACCEPTED);
    trainer_delivery_beat(fixture.delivery, 30, &beat);
    assert_int_equal(beat.again_groups.count, 0);
    assert_int_equal(next(&fixture, 31), 1);
    end(&fixture);
}

static void an_epoch_is_acknowledged_when_the_loop_has_let_go(void **unused)
{
    (void)unused;
    static const uint64_t ERASED[] = {1};
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    struct delivery_batch *held = take(&fixture);
    hold(&fixture, 10, 1, ERASED, 1);
    assert_int_equal(trainer_delivery_erasure_epoch(fixture.delivery), 1);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 0);
    hold(&fixture, 500, 1, ERASED, 1); /* told again */
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 0);
    let_go(&fixture, held);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 1);
    assert_true(trainer_delivery_hold_due(fixture.delivery, 501)); /* told at once */
    end(&fixture);
}

static void a_consumed_batch_is_waited_for_until_it_is_released(void **unused)
{
    (void)unused;
    static const uint64_t ERASED[] = {1};
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    struct delivery_batch *held = take(&fixture);
    assert_true(trainer_delivery_consume(fixture.delivery, 0));
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 1);
    hold(&fixture, 10, 1, ERASED, 1);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 0);
    free(trainer_delivery_release(fixture.delivery, held));
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 1);
    end(&fixture);
}

static void a_released_batch_is_in_the_state_once_it_is_consumed(void **unused)
{
    (void)unused;
    static const uint64_t ERASED[] = {1};
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    assert_false(trainer_delivery_consume(fixture.delivery, 0)); /* not handed out */
    free(trainer_delivery_release(fixture.delivery, take(&fixture)));
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 0);
    hold(&fixture, 10, 1, ERASED, 1);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 1);
    assert_int_equal(bring(&fixture, 0), DELIVERY_DUPLICATE);
    bring(&fixture, 1);
    assert_int_equal(next(&fixture, 11), 1); /* not again */
    assert_true(trainer_delivery_consume(fixture.delivery, 0));
    assert_false(trainer_delivery_consume(fixture.delivery, 0));
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 1);
    assert_int_not_equal(trainer_delivery_position(fixture.delivery)->tally.delivered, 0);
    end(&fixture);
}

static void holds_keep_their_pace_and_follow_hints(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    assert_false(trainer_delivery_hold_due(fixture.delivery, DELIVERY_HOLD_MS - 1));
    assert_true(trainer_delivery_hold_due(fixture.delivery, DELIVERY_HOLD_MS));
    trainer_delivery_hint(fixture.delivery, 4);
    assert_true(trainer_delivery_hold_due(fixture.delivery, 1));
    hold(&fixture, 1, 0, NULL, 0); /* the hint was wrong */
    assert_false(trainer_delivery_hold_due(fixture.delivery, 2));
    end(&fixture);
}

static void a_beat_tells_everything(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_beat beat;
    struct weir_bits bits = {0};
    start(&fixture, false);
    assert_true(trainer_delivery_beat_due(fixture.delivery, 0));
    bring(&fixture, 1);
    let_go(&fixture, take(&fixture));
    bring(&fixture, 3);
    trainer_delivery_beat(fixture.delivery, 0, &beat);
    assert_int_equal(beat.number, 1);
    assert_int_equal(beat.oldest, 0);
    weir_bits_unpack(&bits, beat.consumed);
    assert_true(!weir_bits_get(&bits, 0) && weir_bits_get(&bits, 1) && !weir_bits_get(&bits, 3));
    weir_bits_unpack(&bits, beat.received);
    assert_true(!weir_bits_get(&bits, 0) && weir_bits_get(&bits, 1) && weir_bits_get(&bits, 3));
    assert_false(trainer_delivery_beat_due(fixture.delivery, DELIVERY_BEAT_MS - 1));
    assert_true(trainer_delivery_beat_due(fixture.delivery, DELIVERY_BEAT_MS));
    weir_bits_fini(&bits);
    end(&fixture);
}

static void a_superseded_consumer_is_done(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    trainer_delivery_ordered(fixture.delivery, &(struct msg_client_orders){.superseded = true});
    assert_int_equal(bring(&fixture, 1), DELIVERY_FOREIGN);
    assert_int_equal(next(&fixture, 1), TURN(SUPERSEDED));
    assert_false(trainer_delivery_beat_due(fixture.delivery, 99999));
    assert_false(trainer_delivery_hold_due(fixture.delivery, 99999));
    end(&fixture);
}

static void a_returning_consumer_takes_only_what_its_state_lacks(void **unused)
{
    (void)unused;
    struct weir_position position = {0};
    struct msg_client_opened opened = opened_with(true);
    weir_position_consume(&position, 0);
    weir_position_consume(&position, 2);
    struct fixture fixture = {.delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &position)};
    weir_position_fini(&position);
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &opened, NULL), WEIR_OK);
    hold(&fixture, 0, 0, NULL, 0);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(bring(&fixture, i), i % 2 == 0 ? DELIVERY_DUPLICATE : DELIVERY_ACCEPTED);
    assert_int_equal(next(&fixture, 1), 1);
    assert_int_equal(next(&fixture, 1), 3);
    end(&fixture);
}

static void commits_speak_only_of_what_was_consumed(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_commit message;
    struct msg_client_committed answer = {.batches = 1};
    struct weir_position saved = {0};
    start(&fixture, true);
    bring(&fixture, 0);
    let_go(&fixture, take(&fixture));
    weir_position_copy(&saved, trainer_delivery_position(fixture.delivery));
    assert_int_equal(trainer_delivery_commit(fixture.delivery, &saved, true, NULL),
                     WEIR_INVALID); /* not the end */
    assert_int_equal(trainer_delivery_commit_open(fixture.delivery, &message), 0);
    assert_int_equal(trainer_delivery_commit(fixture.delivery, &saved, false, NULL), WEIR_OK);
    uint64_t first = trainer_delivery_commit_open(fixture.delivery, &message);
    assert_int_not_equal(first, 0);
    assert_int_equal(message.attempt, ATTEMPT);
    assert_false(message.final);
    assert_int_equal(trainer_delivery_commit(fixture.delivery, &saved, false, NULL), WEIR_OK);
    trainer_delivery_committed(fixture.delivery, first,
                               &answer); /* the answer to the replaced one */
    uint64_t second = trainer_delivery_commit_open(fixture.delivery, &message);
    assert_int_not_equal(second, 0);
    trainer_delivery_committed(fixture.delivery, second, &answer);
    assert_int_equal(trainer_delivery_commit_open(fixture.delivery, &message), 0);
    weir_position_consume(&saved, 1);
    assert_int_equal(trainer_delivery_commit(fixture.delivery, &saved, false, NULL), WEIR_INVALID);
    weir_position_fini(&saved);
    end(&fixture);
}

static void nobody_runs_further_ahead_than_the_window(void **unused)
{
    (void)unused;
    struct weir_position beginning = {0};
    struct msg_client_opened opened = opened_with(false);
    struct fixture fixture = {.delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &beginning)};
    opened.batches_per_epoch = 10000;
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &opened, NULL), WEIR_OK);
    for (uint64_t number = WEIR_AHEAD_MAX - 1; number <= WEIR_AHEAD_MAX; number++) {
        struct delivery_batch *batch = make(&fixture, 0, FENCE);
        batch->number = number;
        batch->group = number / 2;
        assert_int_equal(arrive(&fixture, batch),
                         number < WEIR_AHEAD_MAX ? DELIVERY_ACCEPTED : DELIVERY_TOO_FAR);
    }
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_makes_no_sense_is_refused),
        cmocka_unit_test(nothing_is_accepted_before_it_is_open),
        cmocka_unit_test(batches_of_others_are_foreign),
        cmocka_unit_test(a_copy_is_dropped_whether_waiting_held_or_consumed),
        cmocka_unit_test(fences_only_rise_within_a_group),
        cmocka_unit_test(deterministic_order_waits_for_the_oldest),
        cmocka_unit_test(relaxed_order_takes_the_lowest_that_is_ready),
        cmocka_unit_test(the_end_comes_once_everything_is_out),
        cmocka_unit_test(releasing_counts_samples_holes_and_fingerprint),
        cmocka_unit_test(a_batch_of_holes_is_consumed_in_its_turn),
        cmocka_unit_test(nothing_is_handed_out_without_a_lease),
        cmocka_unit_test(an_epoch_drops_what_holds_an_erased_id),
        cmocka_unit_test(an_epoch_is_acknowledged_when_the_loop_has_let_go),
        cmocka_unit_test(a_consumed_batch_is_waited_for_until_it_is_released),
        cmocka_unit_test(a_released_batch_is_in_the_state_once_it_is_consumed),
        cmocka_unit_test(holds_keep_their_pace_and_follow_hints),
        cmocka_unit_test(a_beat_tells_everything),
        cmocka_unit_test(a_superseded_consumer_is_done),
        cmocka_unit_test(a_returning_consumer_takes_only_what_its_state_lacks),
        cmocka_unit_test(commits_speak_only_of_what_was_consumed),
        cmocka_unit_test(nobody_runs_further_ahead_than_the_window),
    };
    return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
