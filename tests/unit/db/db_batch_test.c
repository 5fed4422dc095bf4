/* Transactions whose statements are sent together. */
#include "core/db/db.h"
#include "core/loop/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { Q_insert, Q_behind, Q_all, Q_fail, Q_none };
static const struct weir_query QUERIES[] = {
    [Q_insert] = {"insert", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_behind] = {"behind", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_all] = {"all", "SELECT id FROM thing"},
    [Q_fail] = {"fail", "SELECT 1 / (SELECT 0)"},
    [Q_none] = {"none", "SELECT 1 FROM nowhere"},
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fresh, close_db)
    const struct CMUnitTest tests[] = {
        TEST(a_batch_commits_as_one_however_large_it_is),
        TEST(a_batch_names_the_statement_that_failed_and_leaves_nothing),
        TEST(a_batch_says_at_the_latest_when_it_is_full_that_it_failed),
        TEST(a_batch_is_rolled_back_before_anything_was_waited_for),
        TEST(a_batch_is_gone_with_its_connection),
        TEST(a_batch_is_the_same_while_a_loop_goes_on),
    };
    return cmocka_run_group_tests_name("db_batch", tests, start_postgres, stop_postgres);
}
