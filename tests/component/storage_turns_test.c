/* Tables that are being rewritten, as an erasure's seal does it: storage answers what does not need them, and what does
 * is done afterwards. */
#include "tests/component/storage_push_lab.h"

#include "core/base/memory.h"
#include "core/db/db.h"
#include "core/db/table_lock.h"
#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUESTIONS = 20 };

/* Their subjects are entries of storage.run_segment. */
static const char DATASETS[] = "  - name: clicks\n"
                               "    source: {push: true, format: jsonl, on_erase: scrub}\n"
                               "    time: {from: field, field: ts}\n"
                               "    subject: {field: user}\n"
                               "  - name: notes\n"
                               "    source: {path: '%s', format: jsonl, on_erase: scrub,\n"
                               "             include: '*.jsonl', import: copy}\n"
                               "    time: {from: field, field: ts}\n"
                               "    subject: {field: user}\n";
static const char LINE[] = "{\"ts\":1,\"user\":\"a\"}\n";

static struct storage_lab lab;

/* The session of somebody who rewrites tables. */
static struct weir_db *begin_sealing(bool takes_turn, const char *locking)
{
    struct weir_db *db = NULL;
    struct weir_error err;

    assert_int_equal(weir_db_open(lab.postgres.conninfo, "storage", NULL, 0, &db, &err), WEIR_OK);
    if (takes_turn)
        assert_int_equal(weir_db_exec(db, WEIR_DB_TABLES_LOCK, &err), WEIR_OK);
    assert_int_equal(weir_db_begin(db, &err), WEIR_OK);
    assert_int_equal(weir_db_exec(db, locking, &err), WEIR_OK);
    return db;
}

static void push_once(uint64_t number, struct pushed *pushed)
{
    storage_push_begin(&lab,
                       &(struct msg_push){.dataset = "clicks", .client = "a", .batch = number},
                       weir_bytes_of(LINE), pushed);
}

/* Each is answered meanwhile, or never. */
static void expect_answers(uint64_t live)
{
    for (int i = 0; i < QUESTIONS; i++)
        assert_int_equal(storage_lab_dataset(&lab, "clicks").live, live);
}

static void goes_on_around(bool takes_turn, const char *locking)
{
    struct pushed first = {.lab = NULL}, second = {.lab = NULL};
    struct weir_db *sealer;

    storage_lab_must_declare(&lab, DATASETS);
    push_once(1, &first);
    storage_push_await(&first);
    assert_int_equal(first.status, WEIR_OK);
    sealer = begin_sealing(takes_turn, locking);
    push_once(2, &second);
    storage_lab_write(&lab, "one.jsonl", LINE);
    expect_answers(1);
    assert_false(second.is_done);
    weir_db_close(sealer);
    storage_push_await(&second);
    assert_int_equal(second.status, WEIR_OK);
    assert_int_equal(second.answer.first, weir_sample_id(1, 0, 1));
    storage_lab_await_counts(&lab, "clicks", 2, 0);
    storage_lab_await_counts(&lab, "notes", 1, 0);
    storage_lab_expect_fine(&lab);
}

static void storage_answers_while_a_table_is_locked(void **state)
{
    (void)state;
    goes_on_around(false, "LOCK TABLE run_segment");
}

static void nothing_is_begun_while_tables_are_rewritten(void **state)
{
    (void)state;
    goes_on_around(true, "SELECT 1");
}

static void work_waits_for_tables_that_are_rewritten_and_others_do_not(void **state)
{
    (void)state;
    goes_on_around(true, "LOCK TABLE run, run_segment, file_group, chunk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, storage_answers_while_a_table_is_locked),
        STORAGE_CASE(&lab, nothing_is_begun_while_tables_are_rewritten),
        STORAGE_CASE(&lab, work_waits_for_tables_that_are_rewritten_and_others_do_not),
    };

    return storage_lab_run(&lab, "tables that are rewritten", tests, WEIR_COUNT(tests));
}
