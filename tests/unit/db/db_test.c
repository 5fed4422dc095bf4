/* Statements, transactions, migrations and lost connections against a real Postgres. */
#include "core/base/memory.h"
#include "core/db/connection.h"
#include "core/db/table_lock.h"
#include "core/loop/loop.h"
#include "tests/support/child.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { Q_insert, Q_find, Q_all, Q_echo, Q_array, Q_fail, Q_none, Q_same, Q_types, Q_raise };
static const struct weir_query QUERIES[] = {
    [Q_insert] = {"insert", "INSERT INTO thing (id, name, score, good, data, small) "
                            "VALUES ($1, $2, $3, $4, $5, $6)"},
    [Q_find] = {"find", "SELECT name, score, good, data, small, id FROM thing WHERE id = $1"},
    [Q_all] = {"all", "SELECT id FROM thing ORDER BY id"},
    [Q_echo] =
        {"echo",
         "SELECT $1::bigint AS i64, $2::double precision AS f64, $3::text AS text, $4::bytea AS "
         "bytes, $5::boolean AS bool"},
    [Q_array] = {"array", "SELECT id FROM thing WHERE id = ANY ($1) ORDER BY id"},
    [Q_fail] = {"fail", "SELECT 1 / (SELECT 0)"},
    [Q_none] = {"none", "SELECT 1 FROM nowhere"},
    [Q_types] =
        {"types",
         "SELECT 7::smallint AS small, 8::oid AS oid, 1.5::real AS real, '{\"a\": 1}'::jsonb AS "
         "json, 2.5::numeric AS odd"},
    [Q_raise] = {"raise", "SELECT pg_temp.raise($1)"},
    [Q_same] = {"same", "SELECT count(*) FROM thing WHERE small IS NOT DISTINCT FROM $1"},
};

static const struct weir_migration MIGRATIONS[] = {
    {1, "001_thing", "CREATE TABLE thing (id bigint PRIMARY KEY, name text);"},
    {2, "002_more",
     "ALTER TABLE thing ADD score double precision; ALTER TABLE thing ADD good boolean;"
     "ALTER TABLE thing ADD data bytea; ALTER TABLE thing ADD small integer;"},
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

static enum weir_status open_db(struct fixture *fixture, struct weir_db **ret_db,
                                struct weir_error *err)
{
    return weir_db_open(fixture->postgres.conninfo, "things", QUERIES, WEIR_COUNT(QUERIES), ret_db,
                        err);
}

static int open_fresh(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    weir_test_postgres_reset(&fixture->postgres);
    assert_int_equal(open_db(fixture, &fixture->db, &err), WEIR_OK);
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
    return DB_RUN(db, Q_insert, NULL, err, DB_I64(id), DB_TEXT("n"), DB_F64(0.5), DB_BOOL(true),
                  DB_BYTES(weir_bytes("\0\1", 2)), DB_I64(7));
}

static size_t count_things(struct weir_db *db)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_all, &rows, &err), WEIR_OK);
    return weir_rows_count(rows);
}

static void what_is_written_is_read_back(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(insert(db, -42, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_find, &rows, &err, DB_I64(-42)), WEIR_OK);
    assert_int_equal(weir_rows_count(rows), 1);
    assert_string_equal(weir_rows_text(rows, 0, "name"), "n");
    assert_true(weir_rows_f64(rows, 0, "score") == 0.5);
    assert_true(weir_rows_bool(rows, 0, "good"));
    assert_true(weir_bytes_equal(weir_rows_bytes(rows, 0, "data"), weir_bytes("\0\1", 2)));
    assert_int_equal(weir_rows_i64(rows, 0, "small"), 7);
    assert_int_equal(weir_rows_i64(rows, 0, "id"), -42);
}

static void every_kind_of_parameter_travels(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_echo, &rows, &err, DB_I64(INT64_MIN), DB_F64(-1.5e300),
                            DB_TEXT("größe"), DB_BYTES(weir_bytes(NULL, 0)), DB_BOOL(false)),
                     WEIR_OK);
    assert_true(weir_rows_i64(rows, 0, "i64") == INT64_MIN);
    assert_true(weir_rows_f64(rows, 0, "f64") == -1.5e300);
    assert_string_equal(weir_rows_text(rows, 0, "text"), "größe");
    assert_false(weir_rows_is_null(rows, 0, "bytes"));
    assert_int_equal(weir_rows_bytes(rows, 0, "bytes").size, 0);
    assert_false(weir_rows_bool(rows, 0, "bool"));
}

static void a_null_is_null_and_reads_as_nothing(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db, Q_echo, &rows, &err, DB_NULL, DB_NULL, DB_NULL, DB_NULL, DB_NULL),
                     WEIR_OK);
    static const char *const COLUMNS[] = {"i64", "f64", "text", "bytes", "bool"};
    for (size_t i = 0; i < WEIR_COUNT(COLUMNS); i++)
        assert_true(weir_rows_is_null(rows, 0, COLUMNS[i]));
    assert_int_equal(weir_rows_i64(rows, 0, "i64"), 0);
    assert_true(weir_rows_f64(rows, 0, "f64") == 0);
    assert_string_equal(weir_rows_text(rows, 0, "text"), "");
    assert_int_equal(weir_rows_bytes(rows, 0, "bytes").size, 0);
}

static void small_and_odd_types_are_read_too(void **state)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db_of(state), Q_types, &rows, &err), WEIR_OK);
    assert_int_equal(weir_rows_i64(rows, 0, "small"), 7);
    assert_int_equal(weir_rows_i64(rows, 0, "oid"), 8);
    assert_true(weir_rows_f64(rows, 0, "real") == 1.5);
    assert_true(weir_rows_f64(rows, 0, "small") == 7);
    assert_string_equal(weir_rows_text(rows, 0, "json"), "{\"a\": 1}");
}

static int read_numeric(const void *rows)
{
    return (int)weir_rows_i64(rows, 0, "odd");
}

static void a_type_nobody_expected_stops_with_the_column(void **state)
{
    struct weir_error err;
    struct child child;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db_of(state), Q_types, &rows, &err), WEIR_OK);
    child_run(&child, read_numeric, rows);
    assert_true(child_died_of(&child, SIGABRT));
    assert_non_null(strstr(child.errors, "column 'odd' has type 1700: cast it to bigint"));
}

static int read_misspelt(const void *rows)
{
    return (int)weir_rows_i64(rows, 0, "smal");
}

static void a_column_that_no_statement_names_stops_with_its_name(void **state)
{
    struct weir_error err;
    struct child child;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(DB_RUN(db_of(state), Q_types, &rows, &err), WEIR_OK);
    child_run(&child, read_misspelt, rows);
    assert_true(child_died_of(&child, SIGABRT));
    assert_non_null(strstr(child.errors, "no column 'smal' in a result of 'small' and others"));
}

/* The server guesses integer for the NULL; the bigint after it must not be sent as one. */
static void a_parameter_that_was_null_first_takes_a_value_later(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    WEIR_AUTO(weir_rows) none = NULL;
    WEIR_AUTO(weir_rows) one = NULL;
    WEIR_AUTO(weir_rows) again = NULL;
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_same, &none, &err, DB_NULL), WEIR_OK);
    assert_int_equal(weir_rows_i64(none, 0, "count"), 0);
    assert_int_equal(DB_RUN(db, Q_same, &one, &err, DB_I64(7)), WEIR_OK);
    assert_int_equal(weir_rows_i64(one, 0, "count"), 1);
    assert_int_equal(DB_RUN(db, Q_same, &again, &err, DB_NULL), WEIR_OK);
    assert_int_equal(weir_rows_i64(again, 0, "count"), 0);
}

static void an_array_is_one_parameter(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO(weir_rows) empty = NULL;
    static const uint64_t IDS[] = {1, 3, 99};
    for (int64_t id = 1; id <= 4; id++)
        assert_int_equal(insert(db, id, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_array, &rows, &err, DB_I64S(IDS, WEIR_COUNT(IDS))), WEIR_OK);
    assert_int_equal(weir_rows_count(rows), 2);
    assert_int_equal(weir_rows_i64(rows, 1, "id"), 3);
    assert_int_equal(DB_RUN(db, Q_array, &empty, &err, DB_I64S(IDS, 0)), WEIR_OK);
    assert_int_equal(weir_rows_count(empty), 0);
}

static void a_second_row_with_the_same_key_exists_already(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_EXISTS);
    assert_non_null(strstr(err.text, "insert: "));
    assert_null(strstr(err.text, "(1)")); /* values may be personal data */
}

static void a_mistake_in_a_statement_is_a_defect(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(DB_RUN(db, Q_none, NULL, &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "none: relation \"nowhere\" does not exist (42P01)");
    assert_int_equal(DB_RUN(db, Q_fail, NULL, &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "fail: division by zero (22012)");
    assert_int_equal(count_things(db), 0);
}

static void a_commit_keeps_and_a_rollback_forgets(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    weir_db_rollback(db);
    assert_int_equal(count_things(db), 0);
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 2, &err), WEIR_OK);
    assert_int_equal(weir_db_commit(db, &err), WEIR_OK);
    weir_db_rollback(db); /* nothing is open: fine */
    assert_int_equal(count_things(db), 1);
}

static void a_transaction_with_a_failed_statement_does_not_commit(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_fail, NULL, &err), WEIR_INTERNAL);
    assert_int_equal(weir_db_commit(db, &err), WEIR_INTERNAL);
    assert_int_equal(count_things(db), 0);
}

static void a_further_connection_is_opened_by_its_first_statement(void **state)
{
    static const char NOBODY[] =
        "DO $$ BEGIN IF EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'further') "
        "THEN RAISE 'it is connected'; END IF; END $$";
    struct fixture *fixture = *state;
    struct weir_error err;
    WEIR_AUTO(weir_db)
    db = weir_db_new(fixture->postgres.conninfo, "further", QUERIES, WEIR_COUNT(QUERIES));
    weir_test_postgres_sql(&fixture->postgres, NOBODY);
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(DB_RUN(db, Q_types, NULL, &err), WEIR_OK);
    assert_int_equal(weir_db_commit(db, &err), WEIR_OK);
}

static void kill_connection(struct fixture *fixture)
{
    weir_test_postgres_sql(&fixture->postgres,
                           "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                           "WHERE application_name = 'things'");
}

static void a_lost_connection_is_unavailable_once_and_then_back(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    assert_int_equal(insert(fixture->db, 1, &err), WEIR_OK);
    kill_connection(fixture);
    assert_int_equal(insert(fixture->db, 2, &err), WEIR_UNAVAILABLE);
    assert_int_equal(insert(fixture->db, 2, &err), WEIR_OK);
    assert_int_equal(count_things(fixture->db), 2);
}

static void what_the_server_lacks_for_a_while_is_unavailable(void **state)
{
    static const struct {
        const char *sqlstate;
        enum weir_status status;
    } CASES[] = {
        {"53100", WEIR_UNAVAILABLE}, /* disk_full */
        {"53200", WEIR_UNAVAILABLE}, /* out_of_memory */
        {"53300", WEIR_UNAVAILABLE}, /* too_many_connections */
        {"40001", WEIR_UNAVAILABLE}, /* serialization_failure */
        {"53400", WEIR_INTERNAL},    /* configuration_limit_exceeded */
        {"22012", WEIR_INTERNAL},    /* division_by_zero */
    };
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_exec(db,
                                  "CREATE FUNCTION pg_temp.raise(state text) RETURNS void "
                                  "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'raised' "
                                  "USING ERRCODE = state; END $$",
                                  &err),
                     WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        assert_int_equal(DB_RUN(db, Q_raise, NULL, &err, DB_TEXT(CASES[i].sqlstate)),
                         CASES[i].status);
        assert_non_null(strstr(err.text, CASES[i].sqlstate));
    }
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
}

static void a_transaction_is_gone_with_its_connection(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    assert_int_equal(weir_db_begin(fixture->db, &err), WEIR_OK);
    assert_int_equal(insert(fixture->db, 1, &err), WEIR_OK);
    weir_test_postgres_kill(&fixture->postgres);
    assert_int_equal(insert(fixture->db, 2, &err), WEIR_UNAVAILABLE);
    /* Not even when the server is back: the first insert would be missing. */
    weir_test_postgres_resume(&fixture->postgres);
    assert_int_equal(insert(fixture->db, 2, &err), WEIR_UNAVAILABLE);
    assert_int_equal(weir_db_commit(fixture->db, &err), WEIR_UNAVAILABLE);
    assert_int_equal(count_things(fixture->db), 0);
}

static void a_server_that_is_down_is_unavailable_until_it_is_up(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    WEIR_AUTO(weir_db) other = NULL;
    assert_int_equal(insert(fixture->db, 1, &err), WEIR_OK);
    weir_test_postgres_kill(&fixture->postgres);
    assert_int_equal(weir_db_begin(fixture->db, &err), WEIR_UNAVAILABLE);
    assert_int_equal(weir_db_begin(fixture->db, &err), WEIR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "Postgres cannot be reached: "));
    assert_int_equal(open_db(fixture, &other, &err), WEIR_UNAVAILABLE);
    weir_test_postgres_resume(&fixture->postgres);
    assert_int_equal(count_things(fixture->db), 1);
}

static void migrations_run_once_and_are_recorded(void **state)
{
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);
    assert_int_equal(count_things(db), 1);
}

static void a_schema_from_the_future_is_refused(void **state)
{
    struct weir_error err;
    assert_int_equal(weir_db_migrate(db_of(state), MIGRATIONS, 1, &err), WEIR_UNSUPPORTED);
    assert_string_equal(err.text,
                        "schema things is at migration 002_more, which this program does not know "
                        "(it knows up to 1): run a newer Weir");
}

static void a_migration_below_the_newest_may_come_later(void **state)
{
    const struct weir_migration gap[] = {
        MIGRATIONS[0], MIGRATIONS[1], {9, "009_nine", "CREATE TABLE nine (id bigint)"}};
    const struct weir_migration filled[] = {
        gap[0], gap[1], {5, "005_five", "CREATE TABLE five (id bigint)"}, gap[2]};
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_migrate(db, gap, WEIR_COUNT(gap), &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, filled, WEIR_COUNT(filled), &err), WEIR_OK);
    assert_int_equal(weir_db_exec(db, "DROP TABLE five, nine", &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, gap, WEIR_COUNT(gap), &err), WEIR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "005_five"));
}

static void a_migration_whose_text_has_changed_is_refused(void **state)
{
    const struct weir_migration changed[] = {MIGRATIONS[0], {2, "002_more", "SELECT 1"}};
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_migrate(db, changed, WEIR_COUNT(changed), &err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "schema things: migration 002_more was applied with another "
                                     "text"));
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);
}

static void a_store_without_checksums_takes_those_of_today(void **state)
{
    const struct weir_migration changed[] = {MIGRATIONS[0], {2, "002_more", "SELECT 1"}};
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_exec(db, "ALTER TABLE migration DROP COLUMN checksum", &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, changed, WEIR_COUNT(changed), &err), WEIR_CORRUPT);
}

static void a_migration_that_fails_leaves_nothing(void **state)
{
    const struct weir_migration three[] = {
        MIGRATIONS[0],
        MIGRATIONS[1],
        {3, "003_bad", "CREATE TABLE half (id bigint); SELECT 1 / 0;"},
    };
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(weir_db_migrate(db, three, WEIR_COUNT(three), &err), WEIR_INTERNAL);
    assert_string_equal(err.text, "schema things: 003_bad: division by zero (22012)");
    assert_int_equal(weir_db_exec(db, "CREATE TABLE half (id bigint)", &err), WEIR_OK);
    assert_int_equal(weir_db_migrate(db, MIGRATIONS, WEIR_COUNT(MIGRATIONS), &err), WEIR_OK);
}

/* A parameter that is too large is never read: these bytes do not exist. */
static void more_than_a_statement_can_take_is_refused(void **state)
{
    static const uint64_t WORD = 7;
    static const struct weir_bytes HALF = {(const uint8_t *)&WORD, WEIR_PARAMS_BYTES_MAX / 2 + 1};
    struct weir_db *db = db_of(state);
    struct weir_error err;
    assert_int_equal(DB_RUN(db, Q_same, NULL, &err, DB_BYTES(weir_bytes(&WORD, SIZE_MAX))),
                     WEIR_LIMIT);
    assert_string_equal(err.text, "same: more than 960 MiB for one statement");
    assert_int_equal(DB_RUN(db, Q_array, NULL, &err, DB_I64S(&WORD, (size_t)1 << 28)), WEIR_LIMIT);
    assert_int_equal(DB_RUN(db, Q_echo, NULL, &err, DB_I64(1), DB_F64(1), DB_TEXT(""),
                            DB_BYTES(HALF), DB_BYTES(HALF)),
                     WEIR_LIMIT);
    assert_int_equal(insert(db, 1, &err), WEIR_OK);
}

static void vacuum_runs_as_a_text(void **state)
{
    struct weir_error err;
    assert_int_equal(weir_db_exec(db_of(state), "VACUUM FULL thing", &err), WEIR_OK);
    assert_int_equal(weir_db_exec(db_of(state), "VACUUM nowhere", &err), WEIR_INTERNAL);
    assert_int_equal(count_things(db_of(state)), 0);
}

static void a_statement_that_waits_for_a_lock_is_unavailable(void **state)
{
    struct fixture *fixture = *state;
    WEIR_AUTO(weir_db) holder = NULL;
    struct weir_error err;
    WEIR_AUTO(weir_rows) rows = NULL;
    assert_int_equal(open_db(fixture, &holder, &err), WEIR_OK);
    assert_int_equal(weir_db_begin(holder, &err), WEIR_OK);
    assert_int_equal(weir_db_exec(holder, "LOCK TABLE thing", &err), WEIR_OK);
    assert_int_equal(DB_RUN(fixture->db, Q_all, &rows, &err), WEIR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "55P03"));
    assert_int_equal(weir_db_begin(fixture->db, &err), WEIR_OK);
    assert_int_equal(weir_db_exec(fixture->db, "SELECT 1", &err), WEIR_OK);
    assert_int_equal(DB_RUN(fixture->db, Q_all, &rows, &err), WEIR_UNAVAILABLE);
    weir_db_rollback(fixture->db);
    weir_db_rollback(holder);
    assert_int_equal(DB_RUN(fixture->db, Q_all, &rows, &err), WEIR_OK);
}

static void nobody_has_a_turn_while_one_has_the_only_one(void **state)
{
    struct fixture *fixture = *state;
    WEIR_AUTO(weir_db) rewriter = NULL;
    struct weir_error err;
    bool is_taken = false;
    assert_int_equal(open_db(fixture, &rewriter, &err), WEIR_OK);
    assert_int_equal(weir_db_tables_share(fixture->db, &is_taken, &err), WEIR_OK);
    assert_true(is_taken);
    weir_db_tables_unshare(fixture->db);
    assert_int_equal(weir_db_exec(rewriter, WEIR_DB_TABLES_LOCK, &err), WEIR_OK);
    assert_int_equal(weir_db_tables_share(fixture->db, &is_taken, &err), WEIR_OK);
    assert_false(is_taken);
    assert_int_equal(weir_db_exec(rewriter, WEIR_DB_TABLES_UNLOCK, &err), WEIR_OK);
    assert_int_equal(weir_db_tables_share(fixture->db, &is_taken, &err), WEIR_OK);
    assert_true(is_taken);
}

/* True when a connection that is opened with `more` has this time limit. */
static bool connects_within(struct fixture *fixture, const char *more, const char *seconds)
{
    struct weir_error err;
    char conninfo[512];
    bool is_so = false;
    WEIR_AUTO(weir_db) db = NULL;
    (void)snprintf(conninfo, sizeof(conninfo), "%s %s", fixture->postgres.conninfo, more);
    assert_int_equal(weir_db_open(conninfo, "things", NULL, 0, &db, &err), WEIR_OK);
    PQconninfoOption *used = PQconninfo(db->conn);
    for (const PQconninfoOption *option = used; option->keyword != NULL; option++)
        is_so = is_so || (strcmp(option->keyword, "connect_timeout") == 0 && option->val != NULL &&
                          strcmp(option->val, seconds) == 0);
    PQconninfoFree(used);
    return is_so;
}

static void a_time_limit_of_the_user_for_connecting_stands(void **state)
{
    struct fixture *fixture = *state;
    assert_true(connects_within(fixture, "", "2"));
    assert_true(connects_within(fixture, "connect_timeout=71", "71"));
    (void)setenv("PGCONNECT_TIMEOUT", "72", 1);
    assert_true(connects_within(fixture, "", "72"));
    assert_true(connects_within(fixture, "connect_timeout=71", "71"));
    (void)unsetenv("PGCONNECT_TIMEOUT");
}

/* ---- a loop that goes on ---- */

#define PATIENCE_S "120" /* for a connection on a busy machine */

struct going_on {
    struct fixture *fixture;
    struct weir_loop *loop;
    int signal; /* readable until it was heard */
    int heard;
};

/* Postgres stands still until this is called. */
static void on_signal(void *owner)
{
    struct going_on *on = owner;
    struct weir_error err;
    assert_true(weir_db_is_waiting(on->fixture->db));
    assert_int_equal(DB_RUN(on->fixture->db, Q_all, NULL, &err), WEIR_UNAVAILABLE);
    on->heard++;
    weir_loop_unwatch_fd(on->loop, on->signal);
    weir_test_postgres_go_on(&on->fixture->postgres);
}

static void go_on_meanwhile(struct going_on *on)
{
    weir_loop_watch_fd_meanwhile(on->loop, on->signal, POLLIN, on_signal, on);
    weir_test_postgres_pause(&on->fixture->postgres);
}

static void the_loop_goes_on_while_a_statement_or_a_connection_is_waited_for(void **state)
{
    struct going_on on = {
        .fixture = *state, .loop = weir_loop_new(), .signal = eventfd(1, EFD_CLOEXEC)};
    struct weir_db *db = on.fixture->db;
    struct weir_error err;
    WEIR_AUTO_FREE uint8_t *large = weir_calloc(1, 8 << 20); /* more than sockets hold */
    weir_db_go_on_with(db, on.loop);
    go_on_meanwhile(&on);
    assert_int_equal(DB_RUN(db, Q_insert, NULL, &err, DB_I64(1), DB_NULL, DB_NULL, DB_NULL,
                            DB_BYTES(weir_bytes(large, 8 << 20)), DB_NULL),
                     WEIR_OK);
    assert_int_equal(on.heard, 1);
    (void)setenv("PGCONNECT_TIMEOUT", PATIENCE_S, 1);
    weir_db_renew(db);
    go_on_meanwhile(&on);
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    (void)unsetenv("PGCONNECT_TIMEOUT");
    assert_int_equal(on.heard, 2);
    go_on_meanwhile(&on);
    assert_int_equal(weir_db_commit(db, &err), WEIR_OK);
    assert_int_equal(on.heard, 3);
    assert_false(weir_db_is_waiting(db));
    weir_db_go_on_with(db, NULL);
    weir_loop_free(on.loop);
    close(on.signal);
}

static void a_connection_that_takes_longer_than_its_time_is_unavailable(void **state)
{
    struct fixture *fixture = *state;
    struct weir_loop *loop = weir_loop_new();
    struct weir_error err;
    weir_db_go_on_with(fixture->db, loop);
    weir_db_renew(fixture->db);
    weir_test_postgres_pause(&fixture->postgres);
    assert_int_equal(weir_db_begin(fixture->db, &err), WEIR_UNAVAILABLE);
    weir_test_postgres_go_on(&fixture->postgres);
    assert_non_null(strstr(err.text, "no answer within connect_timeout"));
    (void)setenv("PGCONNECT_TIMEOUT", PATIENCE_S, 1);
    assert_int_equal(DB_RUN(fixture->db, Q_all, NULL, &err), WEIR_OK);
    (void)unsetenv("PGCONNECT_TIMEOUT");
    weir_db_go_on_with(fixture->db, NULL);
    weir_loop_free(loop);
}

static void a_connection_that_is_lost_while_the_loop_goes_on_is_unavailable_once(void **state)
{
    struct fixture *fixture = *state;
    struct weir_loop *loop = weir_loop_new();
    struct weir_error err;
    weir_db_go_on_with(fixture->db, loop);
    kill_connection(fixture);
    assert_int_equal(DB_RUN(fixture->db, Q_all, NULL, &err), WEIR_UNAVAILABLE);
    assert_int_equal(DB_RUN(fixture->db, Q_all, NULL, &err), WEIR_OK);
    weir_db_go_on_with(fixture->db, NULL);
    weir_loop_free(loop);
}

static void a_password_that_tears_a_url_apart_is_in_no_error(void **state)
{
    static const char *const TORN[] = {
        "postgresql://weir:quag/ga@db.example.org/weir",
        "postgresql://weir:qu@gga@db.example.org/weir",
        "postgresql://weir:quagga:7@db.example.org:quagga/weir",
        "postgresql://weir:7/quagga@db.example.org/weir",
        "postgresql://weir:quagga@[nowhere/weir",
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(TORN); i++) {
        struct weir_error err;
        assert_int_equal(weir_db_check_conninfo(TORN[i], &err), WEIR_INVALID);
        assert_null(strstr(err.text, "quag"));
        assert_null(strstr(err.text, "gga"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fresh, close_db)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read_back),
        TEST(every_kind_of_parameter_travels),
        TEST(a_null_is_null_and_reads_as_nothing),
        TEST(a_parameter_that_was_null_first_takes_a_value_later),
        TEST(small_and_odd_types_are_read_too),
        TEST(a_type_nobody_expected_stops_with_the_column),
        TEST(a_column_that_no_statement_names_stops_with_its_name),
        TEST(an_array_is_one_parameter),
        TEST(more_than_a_statement_can_take_is_refused),
        TEST(a_second_row_with_the_same_key_exists_already),
        TEST(a_mistake_in_a_statement_is_a_defect),
        TEST(a_commit_keeps_and_a_rollback_forgets),
        TEST(a_transaction_with_a_failed_statement_does_not_commit),
        TEST(a_further_connection_is_opened_by_its_first_statement),
        TEST(a_lost_connection_is_unavailable_once_and_then_back),
        TEST(what_the_server_lacks_for_a_while_is_unavailable),
        TEST(a_transaction_is_gone_with_its_connection),
        TEST(a_server_that_is_down_is_unavailable_until_it_is_up),
        TEST(migrations_run_once_and_are_recorded),
        TEST(a_schema_from_the_future_is_refused),
        TEST(a_migration_below_the_newest_may_come_later),
        TEST(a_migration_whose_text_has_changed_is_refused),
        TEST(a_store_without_checksums_takes_those_of_today),
        TEST(a_migration_that_fails_leaves_nothing),
        TEST(vacuum_runs_as_a_text),
        TEST(a_statement_that_waits_for_a_lock_is_unavailable),
        TEST(nobody_has_a_turn_while_one_has_the_only_one),
        TEST(a_time_limit_of_the_user_for_connecting_stands),
        TEST(the_loop_goes_on_while_a_statement_or_a_connection_is_waited_for),
        TEST(a_connection_that_takes_longer_than_its_time_is_unavailable),
        TEST(a_connection_that_is_lost_while_the_loop_goes_on_is_unavailable_once),
        cmocka_unit_test(a_password_that_tears_a_url_apart_is_in_no_error),
    };
#undef TEST
    return cmocka_run_group_tests_name("db", tests, start_postgres, stop_postgres);
}
