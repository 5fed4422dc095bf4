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
        .weight = 0.5 * (double)samples,
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

/* The other rank has announced a slice of 3 samples of weight 1, with a row of 7, for each batch that this one has. */
static void settle(struct fixture *fixture, int64_t now_ms)
{
    struct msg_client_beat message;
    uint64_t samples[WEIR_ANNOUNCED_MAX], weights[WEIR_ANNOUNCED_MAX], longest[WEIR_ANNOUNCED_MAX];
    trainer_delivery_beat(fixture->delivery, now_ms, &message);
    size_t count = message.announced_samples.count, first = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = 0.0;
        memcpy(&weight, &message.announced_weights.at[i], sizeof(weight));
        weight += 3.0;
        samples[i] = message.announced_samples.at[i] + 3;
        memcpy(&weights[i], &weight, sizeof(weight));
        longest[i] = message.announced_longest.at[i] > 7 ? message.announced_longest.at[i] : 7;
    }
    first = count > WEIR_TOTALS_MAX ? count - WEIR_TOTALS_MAX : 0;
    trainer_delivery_ordered(
        fixture->delivery,
        &(struct msg_client_orders){.number = message.number,
                                    .totals = message.announced + first,
                                    .total_samples = {samples + first, count - first},
                                    .total_weights = {weights + first, count - first},
                                    .total_longest = {longest + first, count - first}});
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
    settle(&fixture, 1);
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
        settle(&fixture, 1);
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

/* ---- totals ---- */

static void a_batch_of_several_ranks_waits_for_its_totals(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 2);
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    assert_int_equal(beat(&fixture, true), 0); /* the other rank has announced nothing yet */
    assert_int_equal(next(&fixture, &batch), DELIVERY_WAIT);
    assert_true(trainer_delivery_lacks_totals(fixture.delivery));
    assert_true(trainer_delivery_beat_due(fixture.delivery, 1 + DELIVERY_TOTALS_MS));
    settle(&fixture, 1);
    assert_false(trainer_delivery_lacks_totals(fixture.delivery));
    assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
    assert_int_equal(batch->total_samples, 5);
    assert_true(batch->total_weight == 4.0);
    assert_int_equal(batch->total_longest, 7);
    end(&fixture);
}

static void a_single_rank_is_all_there_is(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 1, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 3);
    assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
    assert_int_equal(batch->total_samples, 3);
    assert_true(batch->total_weight == 1.5);
    end(&fixture);
}

static void slices_are_announced_a_few_in_advance(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_beat message;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    for (uint64_t i = 0; i < BATCHES; i++)
        bring(&fixture, i, 1);
    trainer_delivery_beat(fixture.delivery, 1, &message);
    assert_int_equal(message.announced, 0);
    assert_int_equal(message.announced_samples.count, WEIR_TOTALS_MAX);
    end(&fixture);
}

/* An erasure of the sample that every batch of the fixture holds. */
static void erase(struct fixture *fixture, int64_t sent_ms)
{
    trainer_delivery_held(
        fixture->delivery, sent_ms,
        &(struct msg_hold_is){.epoch = 1, .lease_ms = 2000, .erased = {&fixture->id, 1}});
}

static void an_erasure_waits_for_slices_that_are_announced(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 1);
    settle(&fixture, 1);
    bring(&fixture, 1, 1); /* not announced: given up at once */
    erase(&fixture, 1000);
    assert_int_equal(trainer_delivery_waiting(fixture.delivery), 1);
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 0);
    assert_int_equal(next(&fixture, &batch), DELIVERY_BATCH);
    assert_int_equal(batch->samples, 1); /* as its total says */
    free(trainer_delivery_release(fixture.delivery, batch));
    assert_int_equal(trainer_delivery_acknowledged(fixture.delivery), 1);
    end(&fixture);
}

static void ranks_begin_again_where_an_erasure_may_not_have_waited(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 1);
    settle(&fixture, 1);
    erase(&fixture, 100000); /* the lease of start() is over by then */
    assert_int_equal(next(&fixture, &batch), DELIVERY_REGROUP);
    end(&fixture);
}

static void they_begin_again_though_the_erasure_was_known_before_the_lease_ended(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct delivery_batch *batch = NULL;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 1);
    settle(&fixture, 1);
    erase(&fixture, 1000);
    erase(&fixture, 100000);
    assert_int_equal(next(&fixture, &batch), DELIVERY_REGROUP);
    end(&fixture);
}

static void nothing_is_announced_without_a_use_lease(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct msg_client_beat message;
    start(&fixture, 2, WEIR_EXACTLY_ONCE);
    bring(&fixture, 0, 1);
    trainer_delivery_beat(fixture.delivery, 100000, &message);
    assert_int_equal(message.announced_samples.count, 0);
    assert_false(trainer_delivery_beat_due(fixture.delivery, 100001));
    end(&fixture);
}

/* ---- delivery modes ---- */

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
        cmocka_unit_test(a_batch_of_several_ranks_waits_for_its_totals),
        cmocka_unit_test(a_single_rank_is_all_there_is),
        cmocka_unit_test(slices_are_announced_a_few_in_advance),
        cmocka_unit_test(an_erasure_waits_for_slices_that_are_announced),
        cmocka_unit_test(ranks_begin_again_where_an_erasure_may_not_have_waited),
        cmocka_unit_test(they_begin_again_though_the_erasure_was_known_before_the_lease_ended),
        cmocka_unit_test(nothing_is_announced_without_a_use_lease),
        cmocka_unit_test(at_most_once_hands_out_what_the_dispatcher_knows_of),
        cmocka_unit_test(at_most_once_claims_a_few_batches_at_a_time),
    };
    return cmocka_run_group_tests_name("ranks of a client", tests, NULL, NULL);
}
