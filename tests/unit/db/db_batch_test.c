/* Transactions whose statements are sent together, and how long the plan of a statement is kept. */
#include "core/db/db.h"
#include "core/loop/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { Q_insert, Q_behind, Q_all, Q_fail, Q_none, Q_find, Q_plans };
static const struct weir_query QUERIES[] = {
    [Q_insert] = {"insert", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_behind] = {"behind", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_all] = {"all", "SELECT id FROM thing"},
    [Q_fail] = {"fail", "SELECT 1 / (SELECT 0)"},
    [Q_none] = {"none", "SELECT 1 FROM nowhere"},
    [Q_find] = {"find", "SELECT id FROM thing WHERE id = $1"},
    [Q_plans] = {"plans",
                 "SELECT generic_plans AS kept, custom_plans AS made "
                 "FROM pg_prepared_statements WHERE statement LIKE '%thing WHERE id = $1'"},
};

static const struct weir_migration MIGRATIONS[] = {
    {1, "001_thing", "CREATE TABLE thing (id bigint PRIMARY KEY);"},
};

struct fixture {
    struct weir_test_postgres postgres;
    struct weir_db *db;
};

static int start_postgres(void **state)
{
    static struct fixture fixture;
    weir_test_postgres_start(&fixture.postgres);
    *state = &fixture;
    return 0;
}

static int stop_postgres(void **state)
{
    struct fixture *fixture = *state;
    weir_test_postgres_stop(&fixture->postgres);
    return 0;
}

static int open_fresh(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    weir_test_postgres_reset(&fixture->postgres);
    assert_int_equal(weir_db_open(fixture->postgres.conninfo, "things", QUERIES,
                                  WEIR_COUNT(QUERIES), &fixture->db, &err),
                     WEIR_OK);
    assert_int_equal(weir_db_migrate(fixture->db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err),
                     WEIR_OK);
    return 0;
}

static int close_db(void **state)
{
    struct fixture *fixture = *state;
    weir_db_close(fixture->db);
    fixture->db = NULL;
    return 0;
}

static struct weir_db *db_of(void **state)
{
    return ((struct fixture *)*state)->db;
}

static enum weir_status insert(struct weir_db *db, int64_t id, struct weir_error *err)
{
    return DB_RUN(db, Q_insert, NULL, err, DB_I64(id));
}

static size_t count_things(struct weir_db *db)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_all, &rows, &err), WEIR_OK);
    return weir_rows_count(rows);
}

enum { BEYOND_A_BATCH = 1500 /* more than are on their way at once */ };

static void a_batch_commits_as_one_however_large_it_is(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    for (int64_t id = 0; id < BEYOND_A_BATCH; id++)
        assert_int_equal(insert(db, id, &err), WEIR_OK);
    assert_int_equal(weir_db_commit(db, &err), WEIR_OK);
    assert_int_equal(count_things(db), BEYOND_A_BATCH);
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK); /* empty */
    assert_int_equal(weir_db_commit(db, &err), WEIR_OK);
}

static void a_batch_names_the_statement_that_failed_and_leaves_nothing(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_fail, NULL, &err), WEIR_OK); /* nobody knows yet */
    assert_int_equal(DB_RUN(db, Q_behind, NULL, &err, DB_I64(2)), WEIR_OK);
    assert_int_equal(weir_db_commit(db, &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "fail: division by zero (22012)");
    assert_int_equal(count_things(db), 0);
    assert_int_equal(DB_RUN(db, Q_behind, NULL, &err, DB_I64(2)), WEIR_OK); /* prepared now */
    assert_int_equal(count_things(db), 1);
}

static void rows_in_a_batch_are_waited_for_with_all_before_them(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(insert(db, 2, &err), WEIR_OK);
    assert_int_equal(count_things(db), 2);
    assert_int_equal(DB_RUN(db, Q_fail, NULL, &err), WEIR_OK);
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_all, &rows, &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "fail: division by zero (22012)");
    assert_null(rows);
    weir_db_rollback(db);
    assert_int_equal(count_things(db), 0);
}

static void what_is_asked_together_sees_what_was_asked_before_it(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    struct weir_asked asked[] = {DB_ASKED(Q_all), DB_ASKED(Q_insert, DB_I64(7)), DB_ASKED(Q_all)};
    assert_int_equal(weir_db_ask(db, asked, WEIR_COUNT(asked), &err), WEIR_OK);
    assert_int_equal(weir_rows_count(asked[0].rows), 0);
    assert_int_equal(weir_rows_i64(asked[2].rows, 0, "id"), 7);
    weir_asked_fini(asked, WEIR_COUNT(asked));
}

static void what_is_asked_together_fails_together(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    struct weir_asked asked[] = {DB_ASKED(Q_insert, DB_I64(7)), DB_ASKED(Q_all), DB_ASKED(Q_fail),
                                 DB_ASKED(Q_all)};
    assert_int_equal(weir_db_ask(db, asked, WEIR_COUNT(asked), &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "fail: division by zero (22012)");
    for (size_t i = 0; i < WEIR_COUNT(asked); i++)
        assert_null(asked[i].rows);
    assert_int_equal(count_things(db), 0);
}

static void what_is_asked_behind_a_commit_sees_it(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    struct weir_asked asked = DB_ASKED(Q_all);
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 3, &err), WEIR_OK);
    assert_int_equal(weir_db_commit_and_ask(db, &asked, 1, &err), WEIR_OK);
    assert_int_equal(weir_rows_i64(asked.rows, 0, "id"), 3);
    weir_asked_fini(&asked, 1);
}

static void what_fails_behind_a_commit_does_not_undo_it(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    struct weir_asked asked[] = {DB_ASKED(Q_all), DB_ASKED(Q_none), DB_ASKED(Q_all)};
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 3, &err), WEIR_OK);
    assert_int_equal(weir_db_commit_and_ask(db, asked, WEIR_COUNT(asked), &err), WEIR_OK);
    assert_int_equal(weir_rows_count(asked[0].rows), 1);
    assert_null(asked[1].rows);
    assert_null(asked[2].rows);
    weir_asked_fini(asked, WEIR_COUNT(asked));
    assert_int_equal(count_things(db), 1);
}

static void nothing_is_answered_behind_a_commit_that_fails(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    struct weir_asked asked = DB_ASKED(Q_all);
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 3, &err), WEIR_OK);
    assert_int_equal(insert(db, 3, &err), WEIR_OK);
    assert_int_equal(weir_db_commit_and_ask(db, &asked, 1, &err), WEIR_EXISTS);
    assert_null(asked.rows);
    assert_int_equal(count_things(db), 0);
}

static void a_batch_says_at_the_latest_when_it_is_full_that_it_failed(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_none, NULL, &err), WEIR_OK);
    for (int64_t id = 0; id < BEYOND_A_BATCH && status == WEIR_OK; id++)
        status = insert(db, id, &err);
    assert_int_equal(status, WEIR_INTERNAL);
    assert_string_equal(err.text, "none: relation \"nowhere\" does not exist (42P01)");
    assert_int_equal(weir_db_commit(db, &err), WEIR_INTERNAL);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(count_things(db), 1);
}

static void a_batch_is_rolled_back_before_anything_was_waited_for(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin_batch(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    weir_db_rollback(db);
    assert_int_equal(count_things(db), 0);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
}

static void a_batch_is_gone_with_its_connection(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    assert_int_equal(weir_db_begin_batch(fixture->db, &err), WEIR_OK);
    assert_int_equal(insert(fixture->db, 1, &err), WEIR_OK);
    weir_test_postgres_kill(&fixture->postgres);
    assert_int_equal(weir_db_commit(fixture->db, &err), WEIR_UNAVAILABLE);
    assert_int_equal(weir_db_begin_batch(fixture->db, &err), WEIR_UNAVAILABLE);
    weir_test_postgres_resume(&fixture->postgres);
    assert_int_equal(count_things(fixture->db), 0);
    assert_int_equal(weir_db_begin_batch(fixture->db, &err), WEIR_OK);
    assert_int_equal(insert(fixture->db, 1, &err), WEIR_OK);
    assert_int_equal(weir_db_commit(fixture->db, &err), WEIR_OK);
    assert_int_equal(count_things(fixture->db), 1);
}

static void a_batch_is_the_same_while_a_loop_goes_on(void **state)
{
    struct weir_loop *loop = weir_loop_new();
    weir_db_go_on_with(db_of(state), loop);
    a_batch_commits_as_one_however_large_it_is(state);
    weir_db_go_on_with(db_of(state), NULL);
    weir_loop_free(loop);
}

/* One that was made for an empty table reads the whole of a large one, for each of its rows. */
static void no_plan_outlives_the_size_of_its_tables(void **state)
{
    enum { RUNS = 12 }; /* Postgres keeps a plan from the sixth on */
    struct weir_db *db = db_of(state);
    WEIR_AUTO(weir_rows) plans = NULL;

    for (int i = 0; i < RUNS; i++) {
        WEIR_AUTO(weir_rows) rows = NULL;

        assert_int_equal(DB_RUN(db, Q_find, &rows, NULL, DB_I64(i)), WEIR_OK);
    }
    assert_int_equal(DB_RUN(db, Q_plans, &plans, NULL), WEIR_OK);
    assert_int_equal(weir_rows_i64(plans, 0, "kept"), 0);
    assert_true(weir_rows_i64(plans, 0, "made") >= RUNS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fresh, close_db)
    const struct CMUnitTest tests[] = {
        TEST(a_batch_commits_as_one_however_large_it_is),
        TEST(a_batch_names_the_statement_that_failed_and_leaves_nothing),
        TEST(rows_in_a_batch_are_waited_for_with_all_before_them),
        TEST(what_is_asked_together_sees_what_was_asked_before_it),
        TEST(what_is_asked_together_fails_together),
        TEST(what_is_asked_behind_a_commit_sees_it),
        TEST(what_fails_behind_a_commit_does_not_undo_it),
        TEST(nothing_is_answered_behind_a_commit_that_fails),
        TEST(a_batch_says_at_the_latest_when_it_is_full_that_it_failed),
        TEST(a_batch_is_rolled_back_before_anything_was_waited_for),
        TEST(a_batch_is_gone_with_its_connection),
        TEST(a_batch_is_the_same_while_a_loop_goes_on),
        TEST(no_plan_outlives_the_size_of_its_tables),
    };
    return cmocka_run_group_tests_name("db_batch", tests, start_postgres, stop_postgres);
}
