/* Writes of the dispatcher, and their time: the progress of many jobs in one transaction, answered only then; nothing
 * that was answered is lost, wherever it dies; and what is stored of a job does not grow with its length. */
#include "tests/component/dispatcher_stage.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOBS = 48, SAMPLES = 64, DEATHS = 10 };

static int deaths = DEATHS;

/* ---- many jobs, one transaction ---- */

static struct stage_heard hear(struct stage *stage, enum weir_message type, const void *message)
{
    struct stage_heard heard = stage_hear(stage, type, message);
    assert_int_equal(heard.status, WEIR_OK);
    return heard;
}

/* Opens job `job`, takes the place of its consumer and returns the attempt. */
static uint64_t open_job(struct stage *stage, uint64_t job)
{
    struct msg_job_open open = stage_job(stage, job);
    (void)hear(stage, MSG_job_open, &open);
    struct msg_client_open place = {.job = job, .session = job};
    place.after = hear(stage, MSG_client_open, &place).opened.newest;
    return hear(stage, MSG_client_open, &place).opened.attempt;
}

/* Job `job` has come as far as `oldest`; all of them say so before the dispatcher hears the first. */
static void say(struct stage *stage, uint64_t job, uint64_t attempt, uint64_t oldest,
                struct stage_heard *heard)
{
    struct weir_position position = stage_position(oldest, 0);
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&position, &packed);
    const struct msg_client_commit commit = {
        .job = job, .attempt = attempt, .session = job, .position = weir_buf_view(&packed)};
    stage_tell(stage, MSG_client_commit, &commit, heard);
}

static void say_all(struct stage *stage, const uint64_t attempts[JOBS], uint64_t oldest,
                    struct stage_heard heard[JOBS])
{
    for (uint64_t i = 0; i < JOBS; i++)
        say(stage, i + 1, attempts[i], oldest, &heard[i]);
    for (size_t i = 0; i < JOBS; i++)
        test_loop_until(stage->loop, &heard[i].done);
}

/* Every row tells which transaction wrote it last. */
static void assert_transactions(const struct stage *stage, int expected)
{
    WEIR_AUTO_FREE char *sql = weir_format(
        "DO $$ DECLARE found bigint; BEGIN SELECT count(DISTINCT xmin::text) INTO found "
        "FROM preprocess.rank; ASSERT found = %d, format('%%s transactions', found); END $$",
        expected);
    weir_test_postgres_sql(stage->postgres, sql);
}

static void progress_of_many_jobs_is_stored_in_one_transaction(void **state)
{
    struct stage stage;
    struct stage_heard heard[JOBS];
    uint64_t attempts[JOBS];
    stage_begin(&stage, *state, SAMPLES);
    stage_host(&stage);
    for (uint64_t i = 0; i < JOBS; i++)
        attempts[i] = open_job(&stage, i + 1);
    assert_transactions(&stage, JOBS); /* one after the other */
    say_all(&stage, attempts, 10, heard);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(heard[i].status, WEIR_OK);
    assert_transactions(&stage, 1);
    stage_unhost(&stage);
    stage_end(&stage);
}

static void a_job_that_cannot_be_stored_holds_up_no_other(void **state)
{
    struct stage stage;
    struct stage_heard heard[JOBS];
    uint64_t attempts[JOBS];
    enum { STUCK = 5 };
    stage_begin(&stage, *state, SAMPLES);
    stage_host(&stage);
    for (uint64_t i = 0; i < JOBS; i++)
        attempts[i] = open_job(&stage, i + 1);
    weir_test_postgres_sql(
        stage.postgres,
        "ALTER TABLE preprocess.rank ADD CONSTRAINT stuck CHECK (job <> 5) NOT VALID");
    say_all(&stage, attempts, 10, heard);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(heard[i].status == WEIR_OK, i != STUCK - 1);
    weir_test_postgres_sql(stage.postgres, "ALTER TABLE preprocess.rank DROP CONSTRAINT stuck");
    say(&stage, STUCK, attempts[STUCK - 1], 10, &heard[0]);
    test_loop_until(stage.loop, &heard[0].done);
    assert_int_equal(heard[0].status, WEIR_OK);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* ---- death anywhere between ---- */

enum { LIVES = 3, STEP = 8 };

/* Asserts that acknowledged progress of the job is there, however the dispatcher has died meanwhile. */
static void assert_kept(struct stage *stage, uint64_t job, uint64_t acknowledged)
{
    struct msg_job_is is = stage_audit(stage, job);
    assert_int_equal(is.delivered, acknowledged);
    assert_int_equal(is.lost + is.duplicated, 0);
}

/* LIVES jobs from the first sample to the last, a step of each in turn. */
static void run_jobs(struct stage *stage, uint64_t first_job)
{
    struct stage_consumer consumer[LIVES];
    struct msg_job_opened opened;
    for (uint64_t i = 0; i < LIVES; i++) {
        struct msg_job_open open = stage_job(stage, first_job + i);
        stage_request(stage, MSG_job_open, &open, MSG_job_opened, &opened);
        consumer[i] = (struct stage_consumer){.job = open.job, .session = open.job};
        consumer[i].attempt = stage_take_place(stage, open.job, open.job, NULL);
    }
    for (uint64_t oldest = STEP; oldest <= SAMPLES; oldest += STEP) {
        struct weir_position position = stage_position(oldest, 0);
        for (size_t i = 0; i < LIVES; i++) {
            consumer[i].position = &position;
            stage_consume(stage, &consumer[i], oldest);
            stage_commit(stage, &consumer[i], oldest == SAMPLES);
            assert_kept(stage, consumer[i].job, oldest);
        }
    }
    for (size_t i = 0; i < LIVES; i++)
        assert_string_equal(stage_audit(stage, consumer[i].job).state, "finished");
}

/* Every process dies at another point, after so many passes: before it stores, before it answers, at any statement
 * (a start alone takes a few), and while the thread has what is to be stored, or has handed it back. */
static const char *next_faults(void)
{
    static const char *const POINTS[] = {"db.commit", "db.committed", "db.run", "dispatcher.save",
                                         "dispatcher.saved"};
    static char faults[64];
    static size_t started;
    static struct weir_rng rng;
    if (started == 0)
        weir_rng_init(&rng, 1);
    size_t point = started++ % WEIR_COUNT(POINTS);
    uint64_t passes = point == 2 ? 20 + weir_rng_below(&rng, 20) : 1 + weir_rng_below(&rng, 6);
    snprintf(faults, sizeof(faults), "%s=!%lu", POINTS[point], (unsigned long)passes);
    return faults;
}

static void what_was_acknowledged_survives_death_at_every_point(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    stage.faults = next_faults;
    stage_start(&stage);
    for (uint64_t job = 1; stage.deaths < deaths; job += LIVES)
        run_jobs(&stage, job);
    print_message("%d deaths\n", stage.deaths);
    stage_end(&stage);
}

/* ---- a long job ---- */

enum { SESSIONS = 3000, ROWS_MAX = 3 * POOL_CREW, SESSION_NS = 1000, SESSION_BYTES = 10 };

/* A session of a worker has done a little. */
static void work_as(struct stage *stage, const char *name, uint64_t session)
{
    uint64_t job = 1, bytes = SESSION_BYTES, operators = 1, failures = 0;
    int64_t ns = SESSION_NS;
    const char *reason = "";
    const struct msg_worker_beat beat = {.worker = name,
                                         .session = session,
                                         .endpoint = "ipc:///nowhere",
                                         .stat_jobs = {&job, 1},
                                         .stat_cpu_ns = {&ns, 1},
                                         .stat_bytes_read = {&bytes, 1},
                                         .stat_bytes_sent = {&bytes, 1},
                                         .stat_operators = {&operators, 1},
                                         .stat_operator_ns = {&ns, 1},
                                         .stat_operator_bytes = {&bytes, 1},
                                         .stat_reasons = {&reason, 1},
                                         .stat_failures = {&failures, 1}};
    (void)hear(stage, MSG_worker_beat, &beat);
}

/* The only worker, started for the so manieth time. */
static void work(struct stage *stage, uint64_t session)
{
    work_as(stage, "worker-1", session);
    if (session % POOL_CREW == 0)
        test_clock_advance(&stage->clock, stage->loop, DISPATCHER_REPORT_MS);
}

static void assert_spent(struct stage *stage, uint64_t sessions)
{
    struct dispatcher *dispatcher = stage->dispatcher;
    const struct dispatcher_costs *costs = &dispatcher->entries[0]->costs;
    assert_true(costs->count <= ROWS_MAX);
    assert_int_equal(costs->total.cpu_ns, sessions * SESSION_NS);
    assert_int_equal(costs->total.of[0].ns, sessions * SESSION_NS);
    assert_int_equal(costs->total.bytes_sent, sessions * SESSION_BYTES);
}

/* Everything that may be stored a little late is stored. */
static void report(struct stage *stage)
{
    stage_await_stored(stage);
    test_clock_advance(&stage->clock, stage->loop, DISPATCHER_REPORT_MS);
    stage_await_stored(stage);
}

static void what_is_stored_does_not_grow_with_the_workers_that_have_died(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    (void)open_job(&stage, 1);
    test_clock_advance(&stage.clock, stage.loop, POOL_FORGET_MS);
    for (uint64_t session = 1; session <= SESSIONS; session++)
        work(&stage, session);
    assert_spent(&stage, SESSIONS);
    report(&stage);
    stage_unhost(&stage);
    stage_host(&stage);
    assert_spent(&stage, SESSIONS);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* None of ours does. */
static void workers_that_name_the_same_session_are_all_shown(void **state)
{
    enum { NAMES = 200 };
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    (void)open_job(&stage, 1);
    for (int i = 1; i <= NAMES; i++) {
        WEIR_AUTO_FREE char *name = weir_format("worker-%d", i);
        work_as(&stage, name, 7);
    }
    assert_int_equal(hear(&stage, MSG_workers_request, NULL).status, WEIR_OK);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* ---- what jobs hold of people ---- */

/* A sample cannot be read, and the reason says how it begins. */
static void fail_sample(struct stage *stage, uint64_t job)
{
    uint64_t bytes = 0, operators = 1, failures = 1, id = STAGE_FIRST_ID;
    int64_t ns = 0;
    const char *reason = "found canary-word, expected a number";
    const char *whole = "sample 9 cannot be read: found canary-word, expected a number";
    const struct msg_worker_beat beat = {.worker = "worker-1",
                                         .session = 1,
                                         .endpoint = "ipc:///nowhere",
                                         .stat_jobs = {&job, 1},
                                         .stat_cpu_ns = {&ns, 1},
                                         .stat_bytes_read = {&bytes, 1},
                                         .stat_bytes_sent = {&bytes, 1},
                                         .stat_operators = {&operators, 1},
                                         .stat_operator_ns = {&ns, 1},
                                         .stat_operator_bytes = {&bytes, 1},
                                         .stat_reasons = {&whole, 1},
                                         .stat_failures = {&failures, 1},
                                         .failed_ids = {&id, 1},
                                         .failed_reasons = {&reason, 1}};
    (void)hear(stage, MSG_worker_beat, &beat);
    test_clock_advance(&stage->clock, stage->loop, DISPATCHER_REPORT_MS);
}

static void assert_words(const struct stage *stage, int reasons, int fits)
{
    WEIR_AUTO_FREE char *sql =
        weir_format("DO $$ BEGIN ASSERT (SELECT count(*) FROM preprocess.failure) = %d; "
                    "ASSERT (SELECT count(*) FROM preprocess.job WHERE fitted <> '') = %d; END $$",
                    reasons, fits);
    weir_test_postgres_sql(stage->postgres, sql);
}

/* One is left, one is closed, one comes after those that are over. */
static void a_purge_leaves_no_words_of_jobs_that_are_over(void **state)
{
    enum { ABANDONED = 1, OPEN = 2, LATER = 3 };
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    (void)open_job(&stage, ABANDONED);
    fail_sample(&stage, ABANDONED);
    weir_test_postgres_sql(stage.postgres, "UPDATE preprocess.job SET fitted = 'canary-word'");
    test_clock_advance(&stage.clock, stage.loop, DISPATCHER_ABANDONED_MS);
    (void)open_job(&stage, OPEN);
    fail_sample(&stage, OPEN);
    (void)open_job(&stage, LATER);
    fail_sample(&stage, LATER);
    assert_words(&stage, 3, 1);
    for (int i = 0; i < 2; i++) { /* it may be repeated */
        const struct msg_jobs_purge purge = {.upto = OPEN};
        assert_int_equal(hear(&stage, MSG_jobs_purge, &purge).status, WEIR_OK);
        assert_words(&stage, 1, 0);
    }
    struct msg_job_open again = stage_job(&stage, ABANDONED);
    assert_int_equal(stage_hear(&stage, MSG_job_open, &again).status, WEIR_OK);
    assert_string_equal(
        stage_hear(&stage, MSG_job_request, &(struct msg_job_request){.job = ABANDONED}).job_state,
        "closed"); /* it cannot go on without its fitted state */
    assert_string_equal(
        stage_hear(&stage, MSG_job_request, &(struct msg_job_request){.job = LATER}).job_state,
        "open");
    stage_unhost(&stage);
    stage_end(&stage);
}

/* ---- samples that cannot be read ---- */

/* A beat of consumer `session`: of its first `failed` samples in `attempt` none could be read. */
static enum weir_status beat_of_failures(struct stage *stage, uint64_t attempt, uint64_t session,
                                         uint64_t failed)
{
    WEIR_AUTO_BUF tally = {0};
    weir_tally_pack(&(struct weir_tally){.failed = failed}, &tally);
    const struct msg_client_beat beat = {.job = 1,
                                         .attempt = attempt,
                                         .session = session,
                                         .number = 1,
                                         .oldest = failed,
                                         .tally = weir_buf_view(&tally)};
    return stage_hear(stage, MSG_client_beat, &beat).status;
}

static enum weir_status commit_of_failures(struct stage *stage, uint64_t attempt, uint64_t session,
                                           uint64_t failed)
{
    struct weir_position position = {.oldest = failed, .tally.failed = failed};
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&position, &packed);
    const struct msg_client_commit commit = {.job = 1,
                                             .attempt = attempt,
                                             .session = session,
                                             .position = weir_buf_view(&packed),
                                             .final = true};
    return stage_hear(stage, MSG_client_commit, &commit).status;
}

static enum weir_status health_of_job(struct stage *stage)
{
    return stage_hear(stage, MSG_job_request, &(struct msg_job_request){.job = 1}).status;
}

static void only_the_current_attempt_can_fail_its_job(void **state)
{
    struct stage stage;
    struct msg_client_open later = {.job = 1, .session = 2};
    stage_begin(&stage, *state, SAMPLES);
    stage_host(&stage);
    uint64_t stale = open_job(&stage, 1);
    later.after = hear(&stage, MSG_client_open, &later).opened.newest;
    uint64_t current = hear(&stage, MSG_client_open, &later).opened.attempt;
    assert_true(current > stale);

    assert_int_equal(beat_of_failures(&stage, stale, 1, SAMPLES / 2), WEIR_OK); /* told to stop */
    assert_int_equal(commit_of_failures(&stage, stale, 1, SAMPLES / 2), WEIR_STALE);
    assert_int_equal(health_of_job(&stage), WEIR_OK);
    assert_int_equal(beat_of_failures(&stage, current, 2, 0), WEIR_OK);

    assert_int_equal(commit_of_failures(&stage, current, 2, SAMPLES / 2), WEIR_INVALID);
    assert_int_equal(health_of_job(&stage), WEIR_INVALID);
    stage_unhost(&stage);
    stage_end(&stage);
}

/* A consumer that returns with samples that failed may report them before a worker gives the reason again. */
static void a_limit_that_is_passed_again_still_says_why(void **state)
{
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    test_clock_start(&stage.clock, stage.loop);
    stage_host(&stage);
    (void)open_job(&stage, 1);
    fail_sample(&stage, 1);
    for (int i = 0; i < 3; i++) {
        uint64_t attempt = open_job(&stage, 1);
        assert_int_equal(commit_of_failures(&stage, attempt, 1, SAMPLES / 2), WEIR_INVALID);
        struct stage_heard heard =
            stage_hear(&stage, MSG_job_request, &(struct msg_job_request){.job = 1});
        assert_non_null(strstr(heard.error, i < 2 ? " bears: sample 9 cannot be read: found"
                                                  : " bears: found canary-word"));
        if (i == 1) { /* the third time it is another process */
            stage_unhost(&stage);
            stage_host(&stage);
        }
    }
    stage_unhost(&stage);
    stage_end(&stage);
}

/* ---- consumers of other runs ---- */

static enum weir_status open_with_token(struct stage *stage, const char *token)
{
    const struct msg_client_open place = {.job = 1, .session = 7, .token = token};
    return stage_hear(stage, MSG_client_open, &place).status;
}

static void a_consumer_without_the_token_of_its_run_is_refused(void **state)
{
    static const char *const WRONG[] = {"", "0", "0123456789abcdef0123456789abcdee",
                                        "0123456789abcdef0123456789abcdef0"};
    struct stage stage;
    stage_begin(&stage, *state, SAMPLES);
    stage_host(&stage);
    struct msg_job_open open = stage_job(&stage, 1);
    open.token = "0123456789abcdef0123456789abcdef";
    (void)hear(&stage, MSG_job_open, &open);
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(*WRONG); i++)
        assert_int_equal(open_with_token(&stage, WRONG[i]), WEIR_DENIED);
    assert_int_equal(open_with_token(&stage, open.token), WEIR_OK);

    stage_unhost(&stage); /* another dispatcher knows it too */
    stage_host(&stage);
    assert_int_equal(open_with_token(&stage, WRONG[0]), WEIR_DENIED);
    assert_int_equal(open_with_token(&stage, open.token), WEIR_OK);

    const char *before = open.token; /* another orchestrator draws another */
    open.token = "00000000000000000000000000000000";
    (void)hear(&stage, MSG_job_open, &open);
    assert_int_equal(open_with_token(&stage, before), WEIR_DENIED);
    assert_int_equal(open_with_token(&stage, open.token), WEIR_OK);
    stage_unhost(&stage);
    stage_end(&stage);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_of_many_jobs_is_stored_in_one_transaction),
        cmocka_unit_test(a_job_that_cannot_be_stored_holds_up_no_other),
        cmocka_unit_test(what_was_acknowledged_survives_death_at_every_point),
        cmocka_unit_test(what_is_stored_does_not_grow_with_the_workers_that_have_died),
        cmocka_unit_test(workers_that_name_the_same_session_are_all_shown),
        cmocka_unit_test(a_purge_leaves_no_words_of_jobs_that_are_over),
        cmocka_unit_test(only_the_current_attempt_can_fail_its_job),
        cmocka_unit_test(a_limit_that_is_passed_again_still_says_why),
        cmocka_unit_test(a_consumer_without_the_token_of_its_run_is_refused),
    };
    if (argc == 3 && strcmp(argv[1], "--deaths") == 0)
        deaths = atoi(argv[2]);
    return cmocka_run_group_tests_name("dispatcher_commit", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
