/* Faults at the named points of core/db: what is there afterwards, and that the next call works.
 * WEIR_FAULTS is read once per process, so this is one story told in one program. */
#include "core/db/db.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The first connect and the first commit are those of opening and migrating. */
static const char FAULTS[] = "db.commit=2,db.committed=2,db.run=6,db.connect=3";

enum { Q_insert, Q_count };
static const struct weir_query QUERIES[] = {
    [Q_insert] = {"insert", "INSERT INTO thing (id) VALUES ($1)"},
    [Q_count] = {"count", "SELECT count(*) FROM thing"},
};
static const struct weir_migration MIGRATIONS[] = {
    {1, "001_thing", "CREATE TABLE thing (id bigint PRIMARY KEY);"},
};

/* A transaction that inserts one row; its commit's status. */
static enum weir_status commit_one(struct weir_db *db, int64_t id)
{
    struct weir_error err;
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_insert, NULL, &err, DB_I64(id)), WEIR_OK);
    return weir_db_commit(db, &err);
}

static int64_t count(struct weir_db *db)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_count, &rows, &err), WEIR_OK);
    return weir_rows_i64(rows, 0, "count");
}

static void each_fault_is_unavailable_and_the_next_call_works(void **state)
{
    struct weir_test_postgres *postgres = *state;
    struct weir_error err;
    WEIR_AUTO(weir_db) db = NULL;
    assert_int_equal(
        weir_db_open(postgres->conninfo, "things", QUERIES, WEIR_COUNT(QUERIES), &db, &err),
        WEIR_OK);
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);

    /* Lost before the commit: nothing is there. */
    assert_int_equal(commit_one(db, 1), WEIR_UNAVAILABLE);
    assert_int_equal(count(db), 0);

    /* Lost after it: all is there, though the caller cannot know, and repeats. */
    assert_int_equal(commit_one(db, 1), WEIR_UNAVAILABLE);
    assert_int_equal(weir_db_begin(db, &err), WEIR_UNAVAILABLE); /* reconnecting fails, once */
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_insert, NULL, &err, DB_I64(1)), WEIR_EXISTS);
    weir_db_rollback(db);
    assert_int_equal(count(db), 1);

    /* Lost with a statement. */
    assert_int_equal(DB_RUN(db, Q_insert, NULL, &err, DB_I64(2)), WEIR_UNAVAILABLE);
    assert_string_equal(err.text, "insert: fault db.run");
    assert_int_equal(commit_one(db, 2), WEIR_OK);
    assert_int_equal(count(db), 2);
}

static int start_postgres(void **state)
{
    static struct weir_test_postgres postgres;
    setenv("WEIR_FAULTS", FAULTS, 1);
    weir_test_postgres_start(&postgres);
    *state = &postgres;
    return 0;
}

static int stop_postgres(void **state)
{
    weir_test_postgres_stop(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_unavailable_and_the_next_call_works),
    };
    return cmocka_run_group_tests_name("db_fault", tests, start_postgres, stop_postgres);
}
