/* Tables that are being rewritten, as an erasure's seal does it: storage answers what does not need them, and what does
 * is done afterwards. So it does while it computes for long in a transaction. */
#include "tests/component/storage_inside.h"
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/db/connection.h"
#include "core/db/table_lock.h"
#include "core/wire/sample.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    QUESTIONS = 20,
    LABELLED = 20000, /* samples that one label is for, */
    AT_ONCE = 64,     /* and how many of them come between two answers to others, at most */
};

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

/* ---- one label for many samples ---- */

static int begin_inside(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));

    storage_inside_begin(inside);
    *state = inside;
    return 0;
}

static int end_inside(void **state)
{
    storage_inside_end(*state);
    free(*state);
    return 0;
}

static void declare_labelled(struct storage_inside *inside)
{
    static const char DATASET[] = "  - name: %s\n"
                                  "    source: {path: %s/source, format: csv, settle: 0ms,\n"
                                  "             include: '%s*.csv'}\n"
                                  "    time: {from: field, field: ts}\n"
                                  "    key: {field: ad}\n"
                                  "    %s\n";
    WEIR_AUTO_BUF yaml = {0};
    struct msg_dataset_declare declare = {.file = "p.yaml"};
    struct msg_dataset_declared answer;
    struct weir_error err;

    weir_buf_append_text(&yaml, "datasets:\n");
    weir_buf_printf(&yaml, DATASET, "ads", inside->dir.path, "ads",
                    "label: {from: updates, type: int}");
    weir_buf_printf(&yaml, DATASET, "clicks", inside->dir.path, "clicks",
                    "label: {field: clicked}\n    updates: ads");
    declare.config = weir_buf_view(&yaml);
    assert_int_equal(storage_declare(inside->storage, &declare, inside->arena, &answer, &err),
                     WEIR_OK);
}

static void await_ads(struct storage_inside *inside, uint64_t ingested)
{
    const struct catalog *catalog = inside->storage->store.catalog;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (catalog->datasets[0]->accounts.ingested < ingested) {
        assert_true(weir_now_ms() < limit_ms);
        storage_scope_add_all(&catalog->datasets[1]->dirty);
        storage_scanner_start(inside->storage->scanner);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
}

/* Others who are answered: while a statement is waited for, or between two of them. */
struct others {
    const struct weir_db *db;
    size_t between;
};

static void on_meanwhile(void *owner)
{
    struct others *others = owner;

    others->between += PQtransactionStatus(others->db->conn) == PQTRANS_INTRANS;
}

static void others_are_answered_while_one_label_is_given_to_many_samples(void **state)
{
    struct storage_inside *inside = *state;
    int ready = eventfd(1, EFD_CLOEXEC);
    WEIR_AUTO_BUF rows = {0};
    struct others others = {.db = inside->storage->store.db};

    weir_buf_append_text(&rows, "ts,ad\n");
    for (int i = 0; i < LABELLED; i++)
        weir_buf_printf(&rows, "%d,A\n", i);
    storage_inside_write(inside, "ads.csv", weir_buf_text(&rows));
    declare_labelled(inside);
    await_ads(inside, LABELLED);
    storage_inside_write(inside, "clicks.csv", "ts,ad,clicked\n5,A,1\n");
    weir_loop_watch_fd_meanwhile(inside->loop, ready, POLLIN, on_meanwhile, &others);
    await_ads(inside, 2 * (uint64_t)LABELLED);
    weir_loop_unwatch_fd(inside->loop, ready);
    close(ready);
    assert_in_range(others.between, LABELLED / AT_ONCE, SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, storage_answers_while_a_table_is_locked),
        STORAGE_CASE(&lab, nothing_is_begun_while_tables_are_rewritten),
        STORAGE_CASE(&lab, work_waits_for_tables_that_are_rewritten_and_others_do_not),
        cmocka_unit_test_setup_teardown(
            others_are_answered_while_one_label_is_given_to_many_samples, begin_inside, end_inside),
    };

    return storage_lab_run(&lab, "tables that are rewritten", tests, WEIR_COUNT(tests));
}
