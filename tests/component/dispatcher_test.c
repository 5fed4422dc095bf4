/* A dispatcher over real Postgres, with consumers and workers that this test plays: a job of a million groups
 * over kill -9, and a job that its owner has forgotten. */
#include "tests/component/dispatcher_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 1000000, JOB = 3, WORKER = 9, HOUR_MS = 60 * 60 * 1000, DAY_HOURS = 24 };

/* ---- a process that is killed ---- */

static struct msg_worker_orders lease(struct stage *stage, uint32_t want)
{
    struct msg_worker_orders orders;
    const struct msg_worker_beat beat = {
        .worker = "worker-1", .session = WORKER, .endpoint = "ipc:///nowhere", .want = want};
    stage_request(stage, MSG_worker_beat, &beat, MSG_worker_orders, &orders);
    return orders;
}

static void kill_and_start(struct stage *stage)
{
    child_end(stage->process, SIGKILL);
    int64_t killed_ms = weir_now_ms();
    stage_start(stage);
    (void)stage_audit(stage, JOB);
    print_message("%d groups: answered %lld ms after kill -9\n", SAMPLES,
                  (long long)(weir_now_ms() - killed_ms));
}

/* Once the dispatcher's connections are gone, what they have read is counted. */
static const char READS_FEW_ROWS[] =
    "DO $$ DECLARE read bigint; BEGIN "
    "LOOP PERFORM pg_stat_clear_snapshot(); EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()); PERFORM pg_sleep(0.01); "
    "END LOOP; "
    "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) INTO read FROM pg_stat_user_tables "
    "WHERE schemaname = 'preprocess'; "
    "ASSERT read BETWEEN 1 AND 500, format('%s rows were read', read); "
    "ASSERT (SELECT count(*) FROM preprocess.job) = 1 AND (SELECT count(*) FROM preprocess.rank) = 1; "
    "ASSERT (SELECT max(pg_column_size(rank)) FROM preprocess.rank) < 4 * 4096; "
    "END $$";

/* The quota of its pipeline, as it was opened, and the leases that it has. */
static void assert_shares(struct stage *stage, uint32_t leases)
{
    struct msg_workers_are pool;
    stage_request(stage, MSG_workers_request, NULL, MSG_workers_are, &pool);
    assert_int_equal(pool.pipelines.count, 1);
    assert_int_equal(pool.pipelines.at[0], 9);
    assert_int_equal(pool.pipeline_shares.at[0], 2500);
    assert_int_equal(pool.pipeline_bounds.at[0], 3);
    assert_int_equal(pool.pipeline_workers.at[0], leases > 0);
    assert_int_equal(pool.pipeline_leases.at[0], leases);
}

/* The second time the system file has another quota for its pipeline. */
static void open_twice(struct stage *stage)
{
    struct msg_job_opened opened;
    struct msg_job_open job = stage_job(stage, JOB);
    job.pipeline = 9;
    stage_request(stage, MSG_job_open, &job, MSG_job_opened, &opened);
    assert_int_equal(opened.batches, SAMPLES);
    job.share = 2.5;
    job.workers = 3;
    stage_request(stage, MSG_job_open, &job, MSG_job_opened, &opened);
    assert_shares(stage, 0);
}

/* Neither what is stored nor what a restart reads grows with the groups: three processes, two of them started on
 * what the one before left behind, have read a few rows in all. */
static void a_million_groups_survive_kill_9(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    stage_start(&stage);
    open_twice(&stage);
    struct weir_position durable = stage_position(300000, 1500);
    struct weir_position newest = stage_position(400000, 100);
    struct stage_consumer first = {.job = JOB, .session = 1};
    first.attempt = stage_take_place(&stage, JOB, first.session, NULL);
    first.position = &newest;
    stage_consume(&stage, &first, 1);
    struct msg_worker_orders before = lease(&stage, 64);
    assert_int_equal(before.groups.count, 64);
    assert_int_equal(before.groups.at[1], 400002); /* 400001 is there */
    first.position = &durable;
    stage_commit(&stage, &first, false);
    kill_and_start(&stage);

    struct msg_job_is is = stage_audit(&stage, JOB);
    assert_string_equal(is.state, "open");
    assert_int_equal(is.delivered, 301500);
    assert_int_equal(is.lost + is.duplicated + is.replayed, 0);
    assert_shares(&stage, 0);
    /* The same consumer goes on; what was leased is leased again, above every old fence. */
    first.position = &newest;
    stage_consume(&stage, &first, 2);
    struct msg_worker_orders after = lease(&stage, 64);
    assert_int_equal(after.groups.count, 64);
    assert_int_equal(after.groups.at[1], 400002);
    for (size_t i = 0; i < after.fences.count; i++)
        assert_true(after.fences.at[i] > before.fences.at[63]);
    assert_shares(&stage, 64);
    /* Another one returns with what was durable, and finishes. */
    struct stage_consumer second = {.job = JOB, .session = 2, .position = &durable};
    second.attempt = stage_take_place(&stage, JOB, second.session, &durable);
    assert_int_equal(second.attempt, 2);
    stage_consume(&stage, &second, 1);
    assert_int_equal(lease(&stage, 64).groups.at[1], 300002);
    kill_and_start(&stage);
    struct weir_position all = stage_position(SAMPLES, 0);
    second.position = &all;
    stage_commit(&stage, &second, true);
    is = stage_audit(&stage, JOB);
    assert_string_equal(is.state, "finished");
    assert_int_equal(is.delivered, SAMPLES);
    assert_int_equal(is.lost + is.duplicated, 0);
    assert_int_equal(is.replayed, 400100 - 301500);
    assert_true(is.kept);
    weir_position_fini(&durable);
    weir_position_fini(&newest);
    child_end(stage.process, SIGTERM);
    stage.process = 0;
    weir_test_postgres_sql(stage.postgres, READS_FEW_ROWS);
    stage_end(&stage);
}

/* A beat of a worker that holds one group at most. */
static struct msg_worker_orders beat_with(struct stage *stage, const char *name, uint64_t session,
                                          uint32_t want, const struct dispatcher_held *held)
{
    struct msg_worker_orders orders;
    uint64_t jobs[] = {JOB}, groups[] = {held != NULL ? held->group : 0};
    uint64_t fences[] = {held != NULL ? held->fence : 0};
    uint32_t sent[] = {held != NULL && held->sent};
    size_t count = held != NULL;
    const struct msg_worker_beat beat = {.worker = name,
                                         .session = session,
                                         .endpoint = "ipc:///nowhere",
                                         .want = want,
                                         .jobs = {jobs, count},
                                         .groups = {groups, count},
                                         .fences = {fences, count},
                                         .sent = {sent, count}};
    stage_request(stage, MSG_worker_beat, &beat, MSG_worker_orders, &orders);
    return orders;
}

static struct msg_pool_is order_pool(struct stage *stage)
{
    struct msg_pool_is is;
    const char *names[] = {"worker-1", "gone"};
    const struct msg_pool_order order = {.min = 0, .max = 4, .drains = {names, 2}};
    stage_request(stage, MSG_pool_order, &order, MSG_pool_is, &is);
    return is;
}

/* Leases that it has not begun are another's at once, and it is named when the consumer has what it has sent. */
static void a_worker_that_is_to_end_is_leased_nothing_more(void **state)
{
    struct stage stage;
    struct msg_job_opened opened;
    stage_begin(&stage, *state, 100);
    stage_start(&stage);
    const struct msg_job_open job = stage_job(&stage, JOB);
    stage_request(&stage, MSG_job_open, &job, MSG_job_opened, &opened);
    struct weir_position none = {0};
    struct stage_consumer loop = {.job = JOB, .session = 1, .position = &none};
    loop.attempt = stage_take_place(&stage, JOB, loop.session, NULL);
    stage_consume(&stage, &loop, 1);
    const struct msg_worker_orders first = lease(&stage, 3);
    struct dispatcher_held held = {first.groups.at[0], first.fences.at[0], false};
    uint64_t given_up = first.groups.at[1];

    struct msg_pool_is pool = order_pool(&stage);
    assert_int_equal(pool.workers, 1); /* a job is measured with one */
    assert_int_equal(pool.jobs.count, 1);
    assert_string_equal(pool.policies.at[0], "rates");
    assert_int_equal(pool.drained.count, 1);
    assert_string_equal(pool.drained.at[0], "gone");

    struct msg_worker_orders orders = beat_with(&stage, "worker-1", WORKER, 3, &held);
    assert_true(orders.drains);
    assert_int_equal(orders.groups.count, 1);
    assert_int_equal(orders.groups.at[0], held.group);
    orders = beat_with(&stage, "worker-2", WORKER + 1, 1, NULL);
    assert_false(orders.drains);
    assert_int_equal(orders.groups.at[0], given_up);

    held.sent = true;
    assert_int_equal(beat_with(&stage, "worker-1", WORKER, 0, &held).groups.count, 0);
    (void)beat_with(&stage, "worker-1", WORKER, 0, NULL);
    assert_int_equal(order_pool(&stage).drained.count, 1);
    struct weir_position taken = stage_position(held.group + 1, 0);
    loop.position = &taken;
    stage_consume(&stage, &loop, 2);
    pool = order_pool(&stage);
    assert_int_equal(pool.drained.count, 2);
    assert_string_equal(pool.drained.at[1], "worker-1");
    weir_position_fini(&taken);
    stage_end(&stage);
}

static void open_job(struct stage *stage, uint64_t number)
{
    struct msg_job_opened opened;
    const struct msg_job_open job = stage_job(stage, number);
    stage_request(stage, MSG_job_open, &job, MSG_job_opened, &opened);
}

/* Of two equal jobs that run together each knows; one that begins as both are closed waits for nobody. */
static void a_job_that_is_closed_shares_nothing_more(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, 100);
    stage_start(&stage);
    open_job(&stage, JOB);
    open_job(&stage, JOB + 1);
    assert_int_equal(stage_audit(&stage, JOB).shared_jobs, 2);
    for (uint64_t job = JOB; job < JOB + 2; job++)
        weir_rpc_send(stage.peer, MSG_job_close, &(struct msg_job_close){.job = job});
    open_job(&stage, JOB + 2);
    assert_int_equal(stage_audit(&stage, JOB + 2).shared_jobs, 0);
    stage_end(&stage);
}

/* ---- within this process ---- */

static struct stage_heard hear_of(struct stage *stage)
{
    return stage_hear(stage, MSG_job_request, &(struct msg_job_request){.job = JOB});
}

static void pass(struct stage *stage, int64_t hours)
{
    for (int64_t i = 0; i < hours; i++) {
        test_clock_advance(&stage->clock, stage->loop, HOUR_MS);
        stage_await_stored(stage);
    }
}

static size_t jobs_of(const struct stage *stage)
{
    return ((const struct dispatcher *)stage->dispatcher)->entry_count;
}

static enum weir_status beat_as(struct stage *stage, const char *name)
{
    return stage_hear(stage, MSG_worker_beat,
                      &(struct msg_worker_beat){
                          .worker = name, .session = WORKER, .endpoint = "ipc:///nowhere"})
        .status;
}

static void what_is_kept_of_a_worker_is_bounded(void **state)
{
    struct stage stage;
    char name[POOL_TEXT_MAX + 2] = {0};
    stage_begin(&stage, *state, 1);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    memset(name, 'w', POOL_TEXT_MAX);
    assert_int_equal(beat_as(&stage, name), WEIR_OK);
    name[POOL_TEXT_MAX] = 'w';
    assert_int_equal(beat_as(&stage, name), WEIR_INVALID);
    assert_int_equal(((const struct dispatcher *)stage.dispatcher)->pool.count, 1);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* A worker, and the job that it was told of last. */
struct told {
    bool done;
    struct msg_worker_hint hint;
};

static void on_hint(void *owner, struct weir_request *request)
{
    struct told *told = owner;
    told->hint = *(const struct msg_worker_hint *)request->message;
    told->done = true;
}

static const struct weir_rpc_handler HINTS[] = {
    WEIR_ON(worker_hint, on_hint),
    {MSG_none, NULL},
};

static void a_worker_is_told_of_a_job_before_it_has_a_consumer_and_once_it_has(void **state)
{
    struct stage stage;
    struct weir_error err;
    struct told told = {.done = false};
    stage_begin(&stage, *state, 100);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    struct weir_rpc_peer *worker, *owner = stage.peer;
    assert_int_equal(weir_rpc_connect(stage.loop, stage.endpoint, HINTS, &told, &worker, &err),
                     WEIR_OK);
    stage.peer = worker;
    assert_int_equal(beat_as(&stage, "w"), WEIR_OK);
    stage.peer = owner;
    struct msg_job_open job = stage_job(&stage, JOB);
    assert_int_equal(stage_hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    test_loop_until(stage.loop, &told.done);
    assert_int_equal(told.hint.job, JOB);
    assert_true(told.hint.early);
    told.done = false;
    const struct msg_client_open place = {.job = JOB, .session = 7, .ranks = 1};
    assert_int_equal(stage_hear(&stage, MSG_client_open, &place).status, WEIR_OK);
    test_loop_until(stage.loop, &told.done);
    assert_false(told.hint.early);
    weir_rpc_peer_close(worker);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* ---- what explains a plan ---- */

/* After so many seconds a worker has made ten batches in each, and the loop has taken three. */
static void make_and_take(struct stage *stage, uint64_t attempt, int64_t seconds)
{
    enum { NS_PER_SECOND = 1000000000 };
    uint64_t job = JOB, made = 10 * (uint64_t)seconds, bytes = 1000 * made, one = 1, none = 0;
    int64_t ns = seconds * NS_PER_SECOND / 2;
    const char *reason = "";
    struct weir_position taken = stage_position(3 * (uint64_t)seconds, 0);
    WEIR_AUTO_BUF bits = {0};
    WEIR_AUTO_BUF tally = {0};
    weir_bits_pack(&taken.ahead, &bits);
    weir_tally_pack(&taken.tally, &tally);
    const struct msg_worker_beat worker = {.worker = "worker-1",
                                           .session = WORKER,
                                           .endpoint = "ipc:///nowhere",
                                           .stat_jobs = {&job, 1},
                                           .stat_batches = {&made, 1},
                                           .stat_busy_ns = {&ns, 1},
                                           .stat_cpu_ns = {&ns, 1},
                                           .stat_bytes_read = {&bytes, 1},
                                           .stat_bytes_sent = {&bytes, 1},
                                           .stat_read_ns = {&ns, 1},
                                           .stat_queued_ns = {&ns, 1},
                                           .stat_operators = {&one, 1},
                                           .stat_operator_ns = {&ns, 1},
                                           .stat_operator_bytes = {&bytes, 1},
                                           .stat_operator_taken = {&bytes, 1},
                                           .stat_operator_rows = {&made, 1},
                                           .stat_operator_kept = {&made, 1},
                                           .stat_reasons = {&reason, 1},
                                           .stat_failures = {&none, 1}};
    const struct msg_client_beat loop = {.job = JOB,
                                         .attempt = attempt,
                                         .session = 1,
                                         .number = (uint64_t)seconds,
                                         .oldest = taken.oldest,
                                         .consumed = weir_buf_view(&bits),
                                         .received = weir_buf_view(&bits),
                                         .tally = weir_buf_view(&tally),
                                         .wait_ns = ns};
    assert_int_equal(stage_hear(stage, MSG_worker_beat, &worker).status, WEIR_OK);
    assert_int_equal(stage_hear(stage, MSG_client_beat, &loop).status, WEIR_OK);
    test_clock_advance(&stage->clock, stage->loop, 1000);
    stage_await_stored(stage);
    weir_position_fini(&taken);
}

static struct stage_heard plan_of(struct stage *stage)
{
    return stage_hear(stage, MSG_plan_request, &(struct msg_plan_request){.job = JOB});
}

/* Before a worker or the loop has said anything to the next process. */
static void what_explains_a_plan_survives_a_crash(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, 100);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    const struct msg_job_open job = stage_job(&stage, JOB);
    const struct msg_client_open place = {.job = JOB, .session = 1};
    struct stage_heard opened = {.done = false};
    assert_int_equal(stage_hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    while (opened.opened.attempt == 0)
        opened = stage_hear(&stage, MSG_client_open, &place);
    for (int64_t second = 1; second <= 30; second++)
        make_and_take(&stage, opened.opened.attempt, second);
    const struct stage_heard before = plan_of(&stage);
    assert_string_not_equal(before.limit, "");
    assert_true(before.wanted > 0 && before.optimum > 0 && before.operator_ns > 0);
    stage_unhost(&stage);
    stage_host(&stage);
    test_clock_advance(&stage.clock, stage.loop, 1000);
    const struct stage_heard after = plan_of(&stage);
    assert_string_equal(after.limit, before.limit);
    assert_float_equal(after.wanted, before.wanted, 1e-9);
    assert_float_equal(after.optimum, before.optimum, 1e-9);
    /* Measured since it was stored: not more than PLANS_SAVE_MS of 30 seconds. */
    assert_in_range(after.operator_ns, before.operator_ns / 2, before.operator_ns);
    assert_in_range(after.operator_rows, before.operator_rows / 2, before.operator_rows);
    stage_unhost(&stage);
    stage_end(&stage);
}

static void a_job_that_nobody_asks_for_is_closed_after_a_week(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, 100);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    struct msg_job_open job = stage_job(&stage, JOB);
    assert_int_equal(stage_hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    pass(&stage, (int64_t)6 * DAY_HOURS);
    assert_string_equal(hear_of(&stage).job_state, "open"); /* and that counts as asking */
    pass(&stage, (int64_t)4 * DAY_HOURS);
    stage_unhost(&stage);
    stage_host(&stage); /* what has passed is remembered */
    assert_int_equal(jobs_of(&stage), 1);
    pass(&stage, (int64_t)3 * DAY_HOURS - 1);
    assert_int_equal(jobs_of(&stage), 1);
    pass(&stage, 2);
    assert_int_equal(jobs_of(&stage), 0);
    assert_string_equal(hear_of(&stage).job_state, "closed");
    /* Its owner returns after all. */
    assert_int_equal(stage_hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    pass(&stage, 7 * DAY_HOURS - 1); /* a week begins again with that */
    assert_int_equal(jobs_of(&stage), 1);
    assert_string_equal(hear_of(&stage).job_state, "open");
    stage_unhost(&stage);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_groups_survive_kill_9),
        cmocka_unit_test(a_worker_that_is_to_end_is_leased_nothing_more),
        cmocka_unit_test(a_job_that_is_closed_shares_nothing_more),
        cmocka_unit_test(what_is_kept_of_a_worker_is_bounded),
        cmocka_unit_test(a_worker_is_told_of_a_job_before_it_has_a_consumer_and_once_it_has),
        cmocka_unit_test(what_explains_a_plan_survives_a_crash),
        cmocka_unit_test(a_job_that_nobody_asks_for_is_closed_after_a_week),
    };
    return cmocka_run_group_tests_name("dispatcher", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
