/* Statements on a thread, against a real Postgres: order, failures, bounds, and a loop that goes on. */
#include "core/db/thread.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { Q_insert, Q_count };
static const struct weir_query QUERIES[] = {
    [Q_insert] = {"insert", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_count] = {"count", "SELECT count(*) FROM thing"},
};
static const struct weir_migration MIGRATIONS[] = {
    {1, "001_thing", "CREATE TABLE thing (id bigint PRIMARY KEY);"},
};

struct lab {
    struct weir_loop *loop;
    struct weir_db_thread *thread;
    int64_t heard; /* jobs that are over */
};

struct job {
    struct lab *lab;
    int64_t id, place, rows; /* rows that there were before it */
    enum weir_status status;
    bool has_run, done, dropped;
};

static void begin(struct lab *lab, const struct weir_test_postgres *postgres)
{
    struct weir_error err;
    WEIR_AUTO(weir_db) db = NULL;
    *lab = (struct lab){.loop = weir_loop_new()};
    assert_int_equal(
        weir_db_open(postgres->conninfo, "things", QUERIES, WEIR_COUNT(QUERIES), &db, &err),
        WEIR_OK);
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);
    assert_int_equal(weir_db_thread_new(lab->loop, db, &lab->thread, &err), WEIR_OK);
    (void)WEIR_TAKE(db);
}

static void end(struct lab *lab)
{
    weir_db_thread_free(lab->thread);
    weir_loop_free(lab->loop);
}

static enum weir_status count(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct job *job = owner;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_count, &rows, err);
    job->has_run = true;
    if (status == WEIR_OK)
        job->rows = weir_rows_i64(rows, 0, "count");
    return status;
}

static enum weir_status count_and_insert(void *owner, struct weir_db *db, struct weir_error *err)
{
    const struct job *job = owner;
    enum weir_status status = count(owner, db, err);
    return status == WEIR_OK ? DB_RUN(db, Q_insert, NULL, err, DB_I64(job->id)) : status;
}

static void note(void *owner, const struct weir_error *err)
{
    struct job *job = owner;
    assert_false(job->dropped);
    job->status = err != NULL ? err->status : WEIR_OK;
    job->place = job->lab->heard++;
    job->done = true;
}

static void drop(void *owner)
{
    ((struct job *)owner)->dropped = true;
}

static void run(struct lab *lab, struct job *job, int64_t id)
{
    *job = (struct job){.lab = lab, .id = id};
    weir_db_thread_run(lab->thread, &(struct weir_db_job){count_and_insert, note, drop, job});
}

static void look(struct lab *lab, struct job *job)
{
    *job = (struct job){.lab = lab};
    weir_db_thread_run(lab->thread, &(struct weir_db_job){count, note, drop, job});
}

static void jobs_run_and_are_heard_of_in_the_order_they_came(void **state)
{
    enum { JOBS = 50 };
    struct lab lab;
    struct job jobs[JOBS];
    begin(&lab, *state);
    for (int64_t i = 0; i < JOBS; i++)
        run(&lab, &jobs[i], i);
    test_loop_until(lab.loop, &jobs[JOBS - 1].done);
    for (int64_t i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].status, WEIR_OK);
        assert_int_equal(jobs[i].rows, i);
        assert_int_equal(jobs[i].place, i);
        assert_true(jobs[i].dropped);
    }
    end(&lab);
}

static void a_job_that_fails_says_why_and_the_next_one_runs(void **state)
{
    struct lab lab;
    struct job first, same, other;
    begin(&lab, *state);
    run(&lab, &first, 1);
    run(&lab, &same, 1);
    run(&lab, &other, 2);
    test_loop_until(lab.loop, &other.done);
    assert_int_equal(first.status, WEIR_OK);
    assert_int_equal(same.status, WEIR_EXISTS);
    assert_int_equal(other.status, WEIR_OK);
    end(&lab);
}

static void the_loop_goes_on_while_postgres_stands_still_and_refuses_what_is_too_much(void **state)
{
    const struct weir_test_postgres *postgres = *state;
    struct lab lab;
    struct job *jobs = calloc(WEIR_DB_JOBS_MAX + 1, sizeof(*jobs));
    begin(&lab, postgres);
    weir_test_postgres_pause(postgres);
    for (size_t i = 0; i <= WEIR_DB_JOBS_MAX; i++)
        look(&lab, &jobs[i]);
    assert_int_equal(jobs[WEIR_DB_JOBS_MAX].status, WEIR_UNAVAILABLE);
    assert_true(jobs[WEIR_DB_JOBS_MAX].dropped && !jobs[WEIR_DB_JOBS_MAX].has_run);
    test_loop_rounds(lab.loop, 3);
    assert_int_equal(lab.heard, 1);
    weir_test_postgres_go_on(postgres);
    test_loop_until(lab.loop, &jobs[0].done);
    end(&lab); /* what waits is run, and not heard of */
    for (size_t i = 0; i < WEIR_DB_JOBS_MAX; i++)
        assert_true(jobs[i].has_run && jobs[i].dropped);
    free(jobs);
}

static int forget_things(void **state)
{
    weir_test_postgres_sql(*state, "DROP SCHEMA things CASCADE");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(jobs_run_and_are_heard_of_in_the_order_they_came, forget_things),
        cmocka_unit_test_teardown(a_job_that_fails_says_why_and_the_next_one_runs, forget_things),
        cmocka_unit_test_teardown(
            the_loop_goes_on_while_postgres_stands_still_and_refuses_what_is_too_much,
            forget_things),
    };
    return cmocka_run_group_tests(tests, weir_test_postgres_setup, weir_test_postgres_teardown);
}
