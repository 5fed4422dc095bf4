/* The dispatcher while Postgres stands still: beats, leases and batches go on for as long as it does, commits are
 * answered after it, and then everything is stored, once. */
#include "tests/component/dispatcher_stage.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    JOB = 3,
    CONSUMER = 7,
    WORKER = 9,
    SAMPLES = 500,
    WANT = 4,
    STOPPED_MS = 30000,
    BEAT_MS = 300
};

/* The answer to a beat, either side's. */
struct orders {
    bool done;
    enum weir_status status;
    uint64_t number;
    size_t leases;
    uint64_t groups[DISPATCHER_LEASES_MAX], fences[DISPATCHER_LEASES_MAX];
};

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct orders *orders = owner;
    orders->done = true;
    orders->status = err != NULL ? err->status : WEIR_OK;
    if (reply == NULL)
        return;
    if (reply->type == MSG_client_orders) {
        orders->number = ((const struct msg_client_orders *)reply->message)->number;
        return;
    }
    assert_int_equal(reply->type, MSG_worker_orders);
    const struct msg_worker_orders *given = reply->message;
    orders->leases = given->groups.count;
    for (size_t i = 0; i < given->groups.count; i++) {
        orders->groups[i] = given->groups.at[i];
        orders->fences[i] = given->fences.at[i];
    }
}

static struct orders ask(struct stage *stage, enum weir_message type, const void *message)
{
    struct orders orders = {.done = false};
    weir_rpc_call(stage->peer, type, message, INT32_MAX, on_orders, &orders);
    test_loop_until(stage->loop, &orders.done);
    assert_int_equal(orders.status, WEIR_OK);
    return orders;
}

static uint64_t begin(struct stage *stage)
{
    struct msg_job_open job = stage_job(stage, JOB);
    struct msg_client_open place = {.job = JOB, .session = CONSUMER};
    assert_int_equal(stage_hear(stage, MSG_job_open, &job).status, WEIR_OK);
    place.after = stage_hear(stage, MSG_client_open, &place).opened.newest;
    return stage_hear(stage, MSG_client_open, &place).opened.attempt;
}

/* The consumer has taken every batch before `oldest`. */
static void consume(struct stage *stage, uint64_t attempt, uint64_t oldest)
{
    struct weir_position position = stage_position(oldest, 0);
    WEIR_AUTO_BUF tally = {0};
    weir_tally_pack(&position.tally, &tally);
    const struct msg_client_beat beat = {.job = JOB,
                                         .attempt = attempt,
                                         .session = CONSUMER,
                                         .number = oldest + 1,
                                         .oldest = oldest,
                                         .tally = weir_buf_view(&tally)};
    assert_int_equal(ask(stage, MSG_client_beat, &beat).number, oldest + 1);
}

/* The worker has sent what it had, and gets more. */
static struct orders work(struct stage *stage, const struct orders *held)
{
    uint64_t jobs[DISPATCHER_LEASES_MAX];
    uint32_t sent[DISPATCHER_LEASES_MAX] = {0};
    for (size_t i = 0; i < held->leases; i++)
        jobs[i] = JOB;
    const struct msg_worker_beat beat = {.worker = "worker-1",
                                         .session = WORKER,
                                         .endpoint = "ipc:///nowhere",
                                         .want = WANT,
                                         .jobs = {jobs, held->leases},
                                         .groups = {held->groups, held->leases},
                                         .fences = {held->fences, held->leases},
                                         .sent = {sent, held->leases}};
    return ask(stage, MSG_worker_beat, &beat);
}

static void commit(struct stage *stage, uint64_t attempt, uint64_t oldest, bool final,
                   struct stage_heard *heard)
{
    struct weir_position position = stage_position(oldest, 0);
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&position, &packed);
    stage_tell(stage, MSG_client_commit,
               &(struct msg_client_commit){.job = JOB,
                                           .attempt = attempt,
                                           .session = CONSUMER,
                                           .position = weir_buf_view(&packed),
                                           .final = final},
               heard);
}

static uint64_t lowest(const struct orders *orders)
{
    uint64_t group = UINT64_MAX;
    for (size_t i = 0; i < orders->leases; i++)
        group = orders->groups[i] < group ? orders->groups[i] : group;
    return group;
}

/* A round: time passes, the lowest group arrives and is consumed, and another one is leased. No lease has run out
 * meanwhile: those that the worker had are there under the same fences. */
static struct orders round_of(struct stage *stage, uint64_t attempt, const struct orders *before)
{
    test_clock_advance(&stage->clock, stage->loop, BEAT_MS);
    uint64_t oldest = lowest(before) + 1;
    consume(stage, attempt, oldest);
    struct orders now = work(stage, before);
    assert_int_equal(lowest(&now), oldest);
    for (size_t i = 0; i < now.leases; i++) {
        for (size_t k = 0; k < before->leases; k++)
            assert_true(now.groups[i] != before->groups[k] || now.fences[i] == before->fences[k]);
    }
    return now;
}

static void batches_go_on_while_postgres_stands_still_and_are_committed_after_it(void **state)
{
    struct stage stage;
    struct stage_heard early, late;
    const struct orders none = {.leases = 0};
    stage_begin(&stage, *state, SAMPLES);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    uint64_t attempt = begin(&stage);
    consume(&stage, attempt, 0);
    struct orders orders = work(&stage, &none);
    weir_test_postgres_pause(stage.postgres);
    for (int64_t ms = 0; ms < STOPPED_MS; ms += BEAT_MS) {
        orders = round_of(&stage, attempt, &orders);
        if (ms == 0)
            commit(&stage, attempt, lowest(&orders), false, &early);
    }
    commit(&stage, attempt, lowest(&orders), false, &late);
    test_loop_rounds(stage.loop, 10);
    assert_false(early.done || late.done);
    weir_test_postgres_go_on(stage.postgres);
    test_loop_until(stage.loop, &early.done);
    test_loop_until(stage.loop, &late.done);
    assert_int_equal(early.status, WEIR_OK);
    assert_int_equal(late.status, WEIR_OK);
    stage_unhost(&stage);

    stage_start(&stage); /* another process has what was acknowledged, and delivers the rest */
    struct msg_job_is is = stage_audit(&stage, JOB);
    assert_int_equal(is.delivered, lowest(&orders));
    assert_int_equal(is.attempts, 1);
    struct weir_position all = stage_position(SAMPLES, 0);
    struct stage_consumer consumer = {
        .job = JOB, .attempt = attempt, .session = CONSUMER, .position = &all};
    stage_commit(&stage, &consumer, true);
    is = stage_audit(&stage, JOB);
    assert_string_equal(is.state, "finished");
    assert_int_equal(is.delivered, SAMPLES);
    assert_int_equal(is.lost + is.duplicated + is.replayed, 0);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_go_on_while_postgres_stands_still_and_are_committed_after_it),
    };
    return cmocka_run_group_tests(tests, weir_test_postgres_setup, weir_test_postgres_teardown);
}
