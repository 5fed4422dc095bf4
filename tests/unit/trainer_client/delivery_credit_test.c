/* Credit of the consumer's delivery machine: what each worker may send. */
#include "tests/unit/trainer_client/delivery_fixture.h"

static struct msg_credit credit(struct fixture *fixture, int64_t now_ms)
{
    struct msg_credit message;
    assert_true(trainer_delivery_credit_due(fixture->delivery, WORKER, now_ms));
    trainer_delivery_credit(fixture->delivery, WORKER, now_ms, &message);
    assert_false(trainer_delivery_credit_due(fixture->delivery, WORKER, now_ms));
    return message;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_nobody_chose_has_room_for_eight_batches),
        cmocka_unit_test(credit_follows_what_the_loop_has_let_go),
        cmocka_unit_test(much_room_is_told_at_once),
        cmocka_unit_test(lost_and_refused_bytes_become_credit),
        cmocka_unit_test(a_new_worker_session_counts_from_zero),
        cmocka_unit_test(workers_share_the_window_and_grants_never_shrink),
        cmocka_unit_test(
            a_worker_that_joins_need_not_wait_until_others_have_used_what_they_were_granted),
        cmocka_unit_test(of_a_window_that_is_full_twice_a_worker_that_joins_has_a_small_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
