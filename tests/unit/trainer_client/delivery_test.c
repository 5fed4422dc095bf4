/* The consumer's delivery machine: one rule at a time, with time and messages written out. */
#include "core/wire/sample.h"
#include "trainer_client/delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOB = 5, SESSION = 11, ATTEMPT = 2, FENCE = 100, WINDOW = 1000, BYTES = 100, WORKER = 1 };

struct fixture {
    struct delivery *delivery;
    uint64_t ids[64][2]; /* of the batches made, by number */
    uint64_t sent;       /* by the worker */
};

static struct msg_client_opened opened_with(bool deterministic)
{
    return (struct msg_client_opened){
        .attempt = ATTEMPT,
        .fence = FENCE,
        .samples = 8,
        .epochs = 2,
        .batches_per_epoch = 4, /* of two samples */
        .batch_samples = 2,
        .group_batches = 2,
        .deterministic = deterministic,
    };
}

static void hold(struct fixture *fixture, int64_t sent_ms, uint64_t epoch, const uint64_t *erased,
                 size_t count)
{
    struct msg_hold request;
    trainer_delivery_hold(fixture->delivery, sent_ms, &request);
    struct msg_hold_is answer = {.epoch = epoch, .lease_ms = 2000, .erased = {erased, count}};
    trainer_delivery_held(fixture->delivery, sent_ms, &answer);
}

/* Open, one worker, a lease from 0 to 2000. */
static void start_within(struct fixture *fixture, bool deterministic, uint64_t window_bytes)
{
    struct weir_position beginning = {0};
    struct msg_client_opened opened = opened_with(deterministic);
    *fixture =
        (struct fixture){.delivery = trainer_delivery_new(JOB, SESSION, window_bytes, &beginning)};
    assert_int_equal(trainer_delivery_opened(fixture->delivery, &opened, NULL), WEIR_OK);
    trainer_delivery_worker_join(fixture->delivery, WORKER);
    hold(fixture, 0, 0, NULL, 0);
}

static void start(struct fixture *fixture, bool deterministic)
{
    start_within(fixture, deterministic, WINDOW);
}

static void free_discarded(struct fixture *fixture)
{
    struct delivery_batch *batch = NULL;
    while ((batch = trainer_delivery_discarded(fixture->delivery)) != NULL)
        free(batch);
}

static void end(struct fixture *fixture)
{
    trainer_delivery_discard_all(fixture->delivery);
    free_discarded(fixture);
    trainer_delivery_free(fixture->delivery);
}

static struct delivery_batch *make(struct fixture *fixture, uint64_t number, uint64_t fence)
{
    struct delivery_batch *batch = calloc(1, sizeof(*batch));
    fixture->ids[number][0] = number % 4 * 2 + 1;
    fixture->ids[number][1] = number % 4 * 2 + 2;
    *batch = (struct delivery_batch){
        .job = JOB,
        .attempt = ATTEMPT,
        .session = SESSION,
        .worker_session = 7,
        .number = number,
        .group = number / 2,
        .fence = fence,
        .erasure_epoch = trainer_delivery_erasure_epoch(fixture->delivery),
        .bytes = BYTES,
        .sent = fixture->sent,
        .ids = fixture->ids[number],
        .samples = 2,
        .worker = WORKER,
    };
    fixture->sent += BYTES;
    return batch;
}

static enum delivery_outcome arrive(struct fixture *fixture, struct delivery_batch *batch)
{
    enum delivery_outcome outcome = trainer_delivery_arrive(fixture->delivery, batch);
    if (outcome != DELIVERY_ACCEPTED)
        free(batch);
    return outcome;
}

static enum delivery_outcome bring(struct fixture *fixture, uint64_t number)
{
    return arrive(fixture, make(fixture, number, FENCE));
}

/* The number handed out next, or -1 - offer. */
static int64_t next(struct fixture *fixture, int64_t now_ms)
{
    struct delivery_batch *batch = NULL;
    enum delivery_offer offer = trainer_delivery_next(fixture->delivery, now_ms, &batch);
    free_discarded(fixture);
    return offer == DELIVERY_BATCH ? (int64_t)batch->number : -1 - (int64_t)offer;
}

static struct delivery_batch *take(struct fixture *fixture)
{
    struct delivery_batch *batch = NULL;
    assert_int_equal(trainer_delivery_next(fixture->delivery, 1, &batch), DELIVERY_BATCH);
    return batch;
}

static void let_go(struct fixture *fixture, struct delivery_batch *batch)
{
    assert_true(trainer_delivery_consume(fixture->delivery, batch->number));
    free(trainer_delivery_release(fixture->delivery, batch));
}

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

static void a_window_that_nobody_chose_has_room_for_eight_batches(void **unused)
{
    (void)unused;
    const struct weir_position beginning = {0};
    static const struct {
        uint64_t batch_bytes, window;
    } CASES[] = {{0, 64 << 20},
                 {1 << 20, 64 << 20},
                 {20 << 20, 160 << 20},
                 {33 << 20, 256 << 20},
                 {UINT64_MAX, 256 << 20}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO(delivery) delivery = trainer_delivery_new(JOB, SESSION, 0, &beginning);
        struct msg_client_opened opened = opened_with(true);
        opened.batch_bytes = CASES[i].batch_bytes;
        assert_int_equal(trainer_delivery_opened(delivery, &opened, NULL), WEIR_OK);
        assert_int_equal(trainer_delivery_window(delivery), CASES[i].window);
    }
    WEIR_AUTO(delivery) chosen = trainer_delivery_new(JOB, SESSION, WINDOW, &beginning);
    struct msg_client_opened opened = opened_with(true);
    opened.batch_bytes = UINT64_MAX;
    assert_int_equal(trainer_delivery_opened(chosen, &opened, NULL), WEIR_OK);
    assert_int_equal(trainer_delivery_window(chosen), WINDOW);
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
    assert_int_equal(trainer_delivery_count(fixture.delivery, DELIVERY_FOREIGN), 5);
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

static struct msg_credit credit(struct fixture *fixture, int64_t now_ms)
{
    struct msg_credit message;
    assert_true(trainer_delivery_credit_due(fixture->delivery, WORKER, now_ms));
    trainer_delivery_credit(fixture->delivery, WORKER, now_ms, &message);
    assert_false(trainer_delivery_credit_due(fixture->delivery, WORKER, now_ms));
    return message;
}

static void credit_follows_what_the_loop_has_let_go(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    struct msg_credit first = credit(&fixture, 0);
    assert_int_equal(first.granted, WINDOW);
    assert_int_equal(first.worker_session, 0);
    bring(&fixture, 0);
    bring(&fixture, 1);
    struct msg_credit waiting = credit(&fixture, DELIVERY_CREDIT_MS);
    assert_int_equal(waiting.taken, 0);
    assert_int_equal(waiting.granted, WINDOW);
    assert_int_equal(waiting.worker_session, 7);
    assert_int_equal(waiting.missing, 2);
    let_go(&fixture, take(&fixture));
    struct msg_credit after = credit(&fixture, (int64_t)2 * DELIVERY_CREDIT_MS);
    assert_int_equal(after.taken, BYTES);
    assert_int_equal(after.granted, WINDOW + BYTES);
    end(&fixture);
}

static void much_room_is_told_at_once(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    for (uint64_t i = 0; i < 4; i++)
        bring(&fixture, i);
    credit(&fixture, 0);
    let_go(&fixture, take(&fixture));
    let_go(&fixture, take(&fixture));
    assert_false(trainer_delivery_credit_due(fixture.delivery, WORKER, 0)); /* 200 of 250 */
    let_go(&fixture, take(&fixture));
    assert_true(trainer_delivery_credit_due(fixture.delivery, WORKER, 0));
    end(&fixture);
}

static void lost_and_refused_bytes_become_credit(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    free(make(&fixture, 0, FENCE)); /* sent, never here */
    bring(&fixture, 1);
    assert_int_equal(credit(&fixture, 0).taken, BYTES);
    bring(&fixture, 1); /* a copy, refused */
    assert_int_equal(credit(&fixture, DELIVERY_CREDIT_MS).taken, 2 * BYTES);
    struct delivery_batch *late = make(&fixture, 0, FENCE);
    late->sent = 0; /* the lost one shows up: counted already */
    fixture.sent -= BYTES;
    assert_int_equal(arrive(&fixture, late), DELIVERY_ACCEPTED);
    let_go(&fixture, take(&fixture));
    assert_int_equal(credit(&fixture, (int64_t)2 * DELIVERY_CREDIT_MS).taken, 2 * BYTES);
    let_go(&fixture, take(&fixture));
    assert_int_equal(credit(&fixture, (int64_t)3 * DELIVERY_CREDIT_MS).taken, 3 * BYTES);
    end(&fixture);
}

static void a_new_worker_session_counts_from_zero(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    struct delivery_batch *batch = make(&fixture, 1, FENCE);
    batch->worker_session = 8;
    batch->sent = 0;
    arrive(&fixture, batch);
    struct msg_credit now = credit(&fixture, 0);
    assert_int_equal(now.worker_session, 8);
    assert_int_equal(now.taken, 0);
    let_go(&fixture, take(&fixture)); /* of session 7: nobody's credit any more */
    assert_int_equal(credit(&fixture, DELIVERY_CREDIT_MS).taken, 0);
    struct delivery_batch *straggler = make(&fixture, 2, FENCE); /* of session 7, late */
    assert_int_equal(arrive(&fixture, straggler), DELIVERY_ACCEPTED);
    assert_int_equal(credit(&fixture, (int64_t)2 * DELIVERY_CREDIT_MS).worker_session, 8);
    end(&fixture);
}

static void workers_share_the_window_and_grants_never_shrink(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_credit message;
    start(&fixture, true);
    assert_int_equal(credit(&fixture, 0).granted, WINDOW);
    trainer_delivery_worker_join(fixture.delivery, 2);
    trainer_delivery_credit(fixture.delivery, 2, 0, &message);
    assert_int_equal(message.granted, 0); /* all of it may be on its way */
    assert_false(trainer_delivery_credit_due(fixture.delivery, 2, 0));
    assert_int_equal(credit(&fixture, DELIVERY_CREDIT_MS).granted, WINDOW);
    for (uint64_t number = 0; number < 4; number++) {
        assert_int_equal(arrive(&fixture, make(&fixture, number, FENCE)), DELIVERY_ACCEPTED);
        let_go(&fixture, take(&fixture));
    }
    assert_true(trainer_delivery_credit_due(fixture.delivery, 2, 0));
    trainer_delivery_credit(fixture.delivery, 2, 0, &message);
    assert_int_equal(message.granted, 4 * BYTES); /* what the other one has used of it */
    assert_int_equal(credit(&fixture, DELIVERY_CREDIT_MS).granted, WINDOW);
    trainer_delivery_worker_leave(fixture.delivery, 2);
    assert_false(trainer_delivery_credit_due(fixture.delivery, 2, 99999));
    end(&fixture);
}

static void a_worker_that_joins_need_not_wait_until_others_have_used_what_they_were_granted(
    void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_credit message;
    start_within(&fixture, true, 0);
    uint64_t window = trainer_delivery_window(fixture.delivery);
    assert_int_equal(credit(&fixture, 0).granted, window);
    for (uint32_t joined = 2; joined <= 16; joined++)
        trainer_delivery_worker_join(fixture.delivery, joined);
    uint64_t granted = window;
    for (uint32_t joined = 2; joined <= 16; joined++) {
        trainer_delivery_credit(fixture.delivery, joined, 0, &message);
        assert_int_equal(message.granted, window / 16);
        granted += message.granted;
    }
    assert_true(granted <= 2 * window);
    end(&fixture);
}

static void of_a_window_that_is_full_twice_a_worker_that_joins_has_a_small_share(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_credit message;
    start_within(&fixture, true, 0);
    uint64_t window = trainer_delivery_window(fixture.delivery);
    assert_int_equal(credit(&fixture, 0).granted, window);
    for (uint32_t joined = 2; joined <= 200;
         joined++) { /* one after the other: each thinks that it is the last */
        trainer_delivery_worker_join(fixture.delivery, joined);
        trainer_delivery_credit(fixture.delivery, joined, 0, &message);
        uint64_t part = window / joined;
        assert_true(message.granted >=
                    (part < DELIVERY_SHARE_ALWAYS ? part : DELIVERY_SHARE_ALWAYS));
    }
    end(&fixture);
}

static void nothing_is_handed_out_without_a_lease(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, true);
    bring(&fixture, 0);
    assert_int_equal(trainer_delivery_lease_end_ms(fixture.delivery), 2000);
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
        cmocka_unit_test(a_window_that_nobody_chose_has_room_for_eight_batches),
        cmocka_unit_test(nothing_is_accepted_before_it_is_open),
        cmocka_unit_test(batches_of_others_are_foreign),
        cmocka_unit_test(a_copy_is_dropped_whether_waiting_held_or_consumed),
        cmocka_unit_test(fences_only_rise_within_a_group),
        cmocka_unit_test(deterministic_order_waits_for_the_oldest),
        cmocka_unit_test(relaxed_order_takes_the_lowest_that_is_ready),
        cmocka_unit_test(the_end_comes_once_everything_is_out),
        cmocka_unit_test(releasing_counts_samples_holes_and_fingerprint),
        cmocka_unit_test(a_batch_of_holes_is_consumed_in_its_turn),
        cmocka_unit_test(credit_follows_what_the_loop_has_let_go),
        cmocka_unit_test(much_room_is_told_at_once),
        cmocka_unit_test(lost_and_refused_bytes_become_credit),
        cmocka_unit_test(a_new_worker_session_counts_from_zero),
        cmocka_unit_test(workers_share_the_window_and_grants_never_shrink),
        cmocka_unit_test(
            a_worker_that_joins_need_not_wait_until_others_have_used_what_they_were_granted),
        cmocka_unit_test(of_a_window_that_is_full_twice_a_worker_that_joins_has_a_small_share),
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
