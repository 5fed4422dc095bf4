/* Ranks and delivery modes in the consumer's machine (rules 7 to 10 of delivery.h). */
#include "trainer_client/delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOB = 5, SESSION = 11, ATTEMPT = 2, FENCE = 100, WINDOW = 1 << 20, BATCHES = 64 };

struct fixture {
    struct delivery *delivery;
    uint64_t id;
    struct weir_error err;
};

static struct msg_client_opened opened_as(uint32_t ranks, enum weir_delivery delivery)
{
    return (struct msg_client_opened){
        .attempt = ATTEMPT,
        .fence = FENCE,
        .samples = BATCHES,
        .epochs = 1,
        .batches_per_epoch = BATCHES,
        .batch_samples = 1,
        .group_batches = 1,
        .deterministic = true,
        .ranks = ranks,
        .delivery = delivery,
    };
}

/* Not open yet; rank 1 of `ranks`. */
static void come(struct fixture *fixture, uint32_t ranks)
{
    struct weir_position beginning = {0};
    *fixture = (struct fixture){.id = 77};
    fixture->delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &beginning);
    trainer_delivery_take_part(fixture->delivery, ranks > 1, ranks);
}

/* Open, with a use lease. */
static void start(struct fixture *fixture, uint32_t ranks, enum weir_delivery delivery)
{
    struct msg_client_opened opened = opened_as(ranks, delivery);
    struct msg_hold request;
    come(fixture, ranks);
    assert_int_equal(trainer_delivery_opened(fixture->delivery, &opened, &fixture->err), WEIR_OK);
    trainer_delivery_worker_join(fixture->delivery, 0);
    trainer_delivery_hold(fixture->delivery, 0, &request);
    trainer_delivery_held(fixture->delivery, 0, &(struct msg_hold_is){.lease_ms = 100000});
}

static void end(struct fixture *fixture)
{
    trainer_delivery_discard_all(fixture->delivery);
    for (struct delivery_batch *batch;
         (batch = trainer_delivery_discarded(fixture->delivery)) != NULL;)
        free(batch);
    trainer_delivery_free(fixture->delivery);
}

static void bring(struct fixture *fixture, uint64_t number, size_t samples)
{
    struct delivery_batch *batch = calloc(1, sizeof(*batch));
    *batch = (struct delivery_batch){
        .job = JOB,
        .attempt = ATTEMPT,
        .session = SESSION,
        .worker_session = 7,
        .number = number,
        .group = number,
        .fence = FENCE,
        .bytes = 1,
        .ids = &fixture->id,
        .samples = samples,
    };
    assert_int_equal(trainer_delivery_arrive(fixture->delivery, batch), DELIVERY_ACCEPTED);
}

static enum delivery_offer next(struct fixture *fixture, struct delivery_batch **ret_batch)
{
    return trainer_delivery_next(fixture->delivery, 1, ret_batch);
}

/* Sends a beat and has it acknowledged; returns how many batches it lists as handed out. */
static size_t beat(struct fixture *fixture, bool is_answered)
{
    struct msg_client_beat message;
    struct weir_bits handed = {0};
    trainer_delivery_beat(fixture->delivery, 1, &message);
    weir_bits_unpack(&handed, message.handed);
    size_t count = weir_bits_population(&handed);
    weir_bits_fini(&handed);
    struct msg_client_orders orders = {.number = message.number};
    if (is_answered)
        trainer_delivery_ordered(fixture->delivery, &orders);
    return count;
}

/* ---- opening ---- */

static void it_follows_the_newest_turn_until_all_ranks_have_come(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_open ask;
    come(&fixture, 2);
    assert_true(trainer_delivery_open_due(fixture.delivery, 0));
    trainer_delivery_open(fixture.delivery, 0, &ask);
    assert_int_equal(ask.rank, 1);
    assert_int_equal(ask.ranks, 2);
    assert_false(ask.joined);
    assert_false(trainer_delivery_open_due(fixture.delivery, 1));
    struct msg_client_opened newer = {.newest = 6}, placed = {.newest = 7, .joined = true};
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &newer, &fixture.err), WEIR_OK);
    assert_true(trainer_delivery_open_due(fixture.delivery, 1)); /* at once */
    trainer_delivery_open(fixture.delivery, 1, &ask);
    assert_int_equal(ask.after, 6);
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &placed, &fixture.err), WEIR_OK);
    trainer_delivery_open(fixture.delivery, 2, &ask);
    assert_true(ask.joined);
    assert_false(trainer_delivery_is_open(fixture.delivery));
    struct msg_client_opened late = opened_as(2, WEIR_EXACTLY_ONCE); /* of turn 0 */
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &late, &fixture.err), WEIR_OK);
    assert_false(trainer_delivery_is_open(fixture.delivery));
    late.newest = 8;
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &late, &fixture.err), WEIR_OK);
    assert_true(trainer_delivery_is_open(fixture.delivery));
    end(&fixture);
}

static void a_state_that_the_others_lack_is_sent_back(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_opened answer = {.newest = 3, .reload = true, .batches = 9};
    come(&fixture, 2);
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &answer, &fixture.err),
                     WEIR_RESTART);
    assert_int_equal(trainer_delivery_wanted(fixture.delivery), 9);
    end(&fixture);
}

static void a_rank_that_was_taken_over_stops(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_opened answer = {.newest = 3, .superseded = true};
    come(&fixture, 2);
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &answer, &fixture.err), WEIR_STALE);
    assert_string_equal(fixture.err.text, "a later process has taken rank 1 over: stop");
    assert_false(trainer_delivery_open_due(fixture.delivery, 99999));
    end(&fixture);
}

static void a_loop_without_a_state_names_none(void **unused)
{
    (void)unused;
    struct msg_client_open ask;
    struct delivery *delivery = trainer_delivery_new(JOB, SESSION, WINDOW, NULL);
    trainer_delivery_open(delivery, 0, &ask);
    assert_int_equal(ask.position.size, 0);
    trainer_delivery_free(delivery);
    struct weir_position beginning = {0};
    delivery = trainer_delivery_new(JOB, SESSION, WINDOW, &beginning);
    trainer_delivery_open(delivery, 0, &ask);
    assert_int_not_equal(ask.position.size, 0);
    trainer_delivery_free(delivery);
}

static void it_begins_where_the_dispatcher_says(void **unused)
{
    (void)unused;
    struct fixture fixture;
    WEIR_AUTO_BUF packed = {0};
    struct weir_position begun = {.oldest = 5, .tally = {.delivered = 2}};
    struct msg_client_opened opened = opened_as(1, WEIR_AT_MOST_ONCE);
    come(&fixture, 1);
    weir_position_pack(&begun, &packed);
    opened.position = weir_buf_view(&packed);
    assert_int_equal(trainer_delivery_opened(fixture.delivery, &opened, &fixture.err), WEIR_OK);
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 5);
    assert_int_equal(trainer_delivery_position(fixture.delivery)->tally.delivered, 2);
    end(&fixture);
}

/* ---- working ---- */

static void several_ranks_are_shown_batches_of_nothing_too(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 0);
    assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
    assert_int_equal(batch->samples, 0);
    end(&fixture);
    start(&fixture, 1, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 0);
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    assert_int_equal(trainer_delivery_position(fixture.delivery)->oldest, 1);
    end(&fixture);
}

static void a_group_that_forms_anew_ends_this_opening(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 1);
    trainer_delivery_ordered(fixture.delivery,
                             &(struct msg_client_orders){.number = 1, .regroup = true});
    assert_true(trainer_delivery_must_regroup(fixture.delivery));
    assert_int_equal(next(&fixture, &batch), DELIVERY_REGROUP);
    assert_false(trainer_delivery_beat_due(fixture.delivery, 99999));
    assert_false(trainer_delivery_credit_due(fixture.delivery, 0, 99999));
    end(&fixture);
}

static void a_final_commit_waits_for_the_other_ranks(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_commit message;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    for (uint64_t i = 0; i < BATCHES; i++) {
        bring(&fixture, i, 1);
        assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
        assert_true(trainer_delivery_consume(fixture.delivery, batch->number));
        free(trainer_delivery_release(fixture.delivery, batch));
    }
    const struct weir_position *all = trainer_delivery_position(fixture.delivery);
    assert_int_equal(trainer_delivery_commit(fixture.delivery, all, true, &fixture.err), WEIR_OK);
    uint64_t number = trainer_delivery_commit_open(fixture.delivery, &message);
    assert_int_equal(message.rank, 1);
    struct msg_client_committed answer = {.batches = 40};
    trainer_delivery_committed(fixture.delivery, number, &answer);
    assert_int_equal(trainer_delivery_common(fixture.delivery), 40);
    assert_int_equal(trainer_delivery_commit_open(fixture.delivery, &message), number);
    answer.final = true;
    trainer_delivery_committed(fixture.delivery, number, &answer);
    assert_int_equal(trainer_delivery_commit_open(fixture.delivery, &message), 0);
    end(&fixture);
}

static void at_most_once_hands_out_what_the_dispatcher_knows_of(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 1, WEIR_AT_MOST_ONCE);
    (void)beat(&fixture, true);
    bring(&fixture, 0, 1);
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    assert_true(trainer_delivery_beat_due(fixture.delivery, 2)); /* at once */
    assert_int_equal(beat(&fixture, false), 1);
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT); /* that beat may be lost */
    assert_int_equal(beat(&fixture, true), 1);
    assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
    bring(&fixture, 1, 1);
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    end(&fixture);
}

static void at_most_once_claims_a_few_batches_at_a_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 1, WEIR_AT_MOST_ONCE);
    for (uint64_t i = 0; i < BATCHES; i++)
        bring(&fixture, i, 1);
    assert_int_equal(beat(&fixture, true), DELIVERY_CLAIM_MAX);
    for (size_t i = 0; i < DELIVERY_CLAIM_MAX; i++) {
        assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
        /* Half way through it asks for more, so that the loop need not wait. */
        assert_int_equal(trainer_delivery_beat_due(fixture.delivery, 2),
                         i >= DELIVERY_CLAIM_MAX / 2);
        assert_true(trainer_delivery_consume(fixture.delivery, batch->number));
        free(trainer_delivery_release(fixture.delivery, batch));
    }
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_follows_the_newest_turn_until_all_ranks_have_come),
        cmocka_unit_test(a_state_that_the_others_lack_is_sent_back),
        cmocka_unit_test(a_rank_that_was_taken_over_stops),
        cmocka_unit_test(a_loop_without_a_state_names_none),
        cmocka_unit_test(it_begins_where_the_dispatcher_says),
        cmocka_unit_test(several_ranks_are_shown_batches_of_nothing_too),
        cmocka_unit_test(a_group_that_forms_anew_ends_this_opening),
        cmocka_unit_test(a_final_commit_waits_for_the_other_ranks),
        cmocka_unit_test(at_most_once_hands_out_what_the_dispatcher_knows_of),
        cmocka_unit_test(at_most_once_claims_a_few_batches_at_a_time),
    };
    return cmocka_run_group_tests_name("ranks of a client", tests, NULL, NULL);
}
