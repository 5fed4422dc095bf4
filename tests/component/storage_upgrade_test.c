/* A store that the first Weir made opens under this one with all its samples; one from a later Weir is
 * refused with a line that says so. */
#include "tests/component/storage_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/storage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 3, LINES = 40, REMOVED_FILE = 1, ERASED_USER = 5, USERS = 8, WRONG = 2 };

static struct storage_lab lab;

/* tests/data/storage/001_store.sql: 3 files of 40 lines (time, kind, user), of which the second was removed
 * later, 12 notes in files of their own, and an erasure of user5 at the end. */
static int begin_without_secret(void **state)
{
    WEIR_AUTO_BUF sql = {0};
    struct weir_error err;

    (void)state;
    storage_lab_begin(&lab);
    assert_int_equal(
        weir_file_read(WEIR_SOURCE_DIR "/tests/data/storage/001_store.sql", 1 << 20, &sql, &err),
        WEIR_OK);
    weir_test_postgres_sql(&lab.postgres, "DROP SCHEMA storage CASCADE"); /* a newer one */
    weir_test_postgres_sql(&lab.postgres, weir_buf_text(&sql));
    return 0;
}

static int begin(void **state)
{
    const uint8_t secret[STORAGE_SECRET_BYTES] = {1, 2, 3};
    int failed = begin_without_secret(state);
    WEIR_AUTO_FREE char *data_dir = weir_strdup(storage_lab_path(&lab, "data"));
    WEIR_AUTO_FREE char *path = weir_format("%s/secret", data_dir);
    struct weir_error err;

    assert_int_equal(weir_make_directories(data_dir, 0700, &err), WEIR_OK);
    assert_int_equal(weir_file_write_atomic(path, weir_bytes(secret, sizeof(secret)), &err),
                     WEIR_OK);
    return failed;
}

static struct msg_replay_is replay(uint64_t dataset, uint64_t position)
{
    struct msg_replay_is page;

    assert_int_equal(storage_lab_request(&lab, MSG_replay_read,
                                         &(struct msg_replay_read){.dataset = dataset,
                                                                   .position = position,
                                                                   .after_time = INT64_MIN},
                                         MSG_replay_is, &page),
                     WEIR_OK);
    assert_true(page.end);
    return page;
}

/* Each sample has the time and label of its line. */
static void assert_lines(const struct msg_replay_is *page)
{
    for (size_t i = 0; i < page->ids.count; i++) {
        uint32_t row = weir_sample_row(page->ids.at[i]);
        uint32_t file = row / LINES, line = row % LINES;

        assert_int_equal(page->times.at[i],
                         (INT64_C(1000) * file + line * 7 % LINES) * INT64_C(1000000));
        assert_int_equal(page->labels.at[i], line % 3);
        assert_int_not_equal(line % USERS, ERASED_USER);
        assert_true(i == 0 || page->times.at[i - 1] < page->times.at[i]);
    }
}

static void a_store_of_the_first_weir_opens_with_all_its_samples(void **state)
{
    struct msg_dataset_is clicks, notes;
    struct msg_replay_is page;
    struct msg_feed_is feed;

    (void)state;
    storage_lab_start(&lab);
    clicks = storage_lab_dataset(&lab, "clicks");
    notes = storage_lab_dataset(&lab, "notes");
    assert_int_equal(clicks.ingested, FILES * LINES);
    assert_int_equal(clicks.erased, FILES * LINES / USERS);
    assert_int_equal(clicks.removed, LINES - LINES / USERS);
    assert_int_equal(notes.live, 11);
    page = replay(clicks.dataset, clicks.sequence);
    assert_int_equal(page.ids.count, clicks.live);
    assert_lines(&page);
    page = replay(clicks.dataset, 3); /* before the second file was removed */
    assert_int_equal(page.ids.count, FILES * (LINES - LINES / USERS));
    assert_lines(&page);
    feed = storage_lab_feed(&lab, clicks.dataset, "new", 0);
    assert_int_equal(feed.sequences.count, clicks.sequence);
    weir_test_postgres_sql(
        &lab.postgres, "DO $$ BEGIN ASSERT (SELECT count(*) FROM storage.sample) = 132; END $$");
}

static void the_upgraded_store_passes_an_examination(void **state)
{
    struct msg_doctor_is answer;

    (void)state;
    storage_lab_start(&lab);
    answer = storage_lab_examine(&lab, true);
    for (size_t i = 0; i < answer.checks.count; i++) {
        bool is_file = strcmp(answer.checks.at[i], "files") == 0; /* they did not come along */

        if (answer.verdicts.at[i] == WRONG && !is_file)
            print_message("%s: %s\n", answer.checks.at[i], answer.found.at[i]);
        assert_true(answer.verdicts.at[i] != WRONG || is_file);
    }
}

static enum weir_status open_here(struct weir_error *err)
{
    struct weir_loop *loop = weir_loop_new();
    const struct weir_service_options options = {.data_dir = storage_lab_path(&lab, "data"),
                                                 .postgres = lab.postgres.conninfo};
    void *state = NULL;
    enum weir_status status = storage_open(&options, loop, NULL, &state, err);

    if (status == WEIR_OK)
        storage_close(state);
    weir_loop_free(loop);
    return status;
}

static void an_older_store_without_its_secret_is_refused_and_given_no_other(void **state)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_format("%s/secret", storage_lab_path(&lab, "data"));

    (void)state;
    assert_int_equal(open_here(&err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "secret is missing: put it back from a backup"));
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_store_of_a_later_weir_is_refused(void **state)
{
    struct weir_error err;

    (void)state;
    assert_int_equal(open_here(&err), WEIR_OK);
    weir_test_postgres_sql(&lab.postgres, "INSERT INTO storage.migration (number, name) "
                                          "VALUES (900, '900_later')");
    assert_int_equal(open_here(&err), WEIR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "schema storage is at migration 900_later, which this program "
                                     "does not know"));
    assert_non_null(strstr(err.text, "run a newer Weir"));
}

/* Rows that no Weir writes: lost, changed by hand, or of half a backup. */
static void rows_that_cannot_be_are_refused_by_name(void **state)
{
    static const struct {
        const char *change, *expected;
    } CASES[] = {
        {"UPDATE storage.dataset SET number = 0 WHERE number = 2",
         "table dataset: 'notes' has number 0, expected one above 0"},
        {"UPDATE storage.chunk SET first_row = first_row + 65530 WHERE dataset = 1",
         "table chunk: found 40 rows from row 65530"},
        {"UPDATE storage.chunk SET count = 0 WHERE dataset = 2",
         "table chunk: found 0 rows from row 0 of block 0"},
        {"UPDATE storage.dead SET block = -1 WHERE dataset = 1", "table dead: there is no block"},
        {"UPDATE storage.erasure_ids SET epoch = epoch + 1",
         "table erasure_ids: found epoch 2 with 16 samples, expected epoch 1"},
        {"UPDATE storage.erasure_ids SET ids = (SELECT string_agg(int8send(g), '') FROM "
         "generate_series(1, 70000) AS g)",
         "table erasure_ids: found epoch 1 with 70000 samples, expected epoch 1 with at most"},
    };
    struct weir_error err;

    (void)state;
    assert_int_equal(open_here(&err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_FREE char *keep = weir_format(
            "CREATE SCHEMA kept; CREATE TABLE kept.dataset AS TABLE storage.dataset; "
            "CREATE TABLE kept.chunk AS TABLE storage.chunk; CREATE TABLE kept.dead AS TABLE "
            "storage.dead; CREATE TABLE kept.erasure_ids AS TABLE storage.erasure_ids; %s",
            CASES[i].change);

        weir_test_postgres_sql(&lab.postgres, keep);
        err.text[0] = '\0';
        assert_int_equal(open_here(&err), WEIR_CORRUPT);
        if (strstr(err.text, CASES[i].expected) == NULL)
            fail_msg("expected '%s', found '%s'", CASES[i].expected, err.text);
        weir_test_postgres_sql(
            &lab.postgres,
            "SET client_min_messages = warning; DELETE FROM storage.dataset; DELETE FROM storage.chunk; "
            "DELETE FROM storage.dead; DELETE FROM storage.erasure_ids; "
            "INSERT INTO storage.dataset TABLE kept.dataset; INSERT INTO "
            "storage.chunk TABLE kept.chunk; INSERT INTO storage.dead TABLE kept.dead; INSERT INTO "
            "storage.erasure_ids TABLE kept.erasure_ids; DROP SCHEMA kept CASCADE");
    }
    assert_int_equal(open_here(&err), WEIR_OK);
}

int main(void)
{
#define CASE(test) STORAGE_CASE_AFTER(&lab, begin, test)
    const struct CMUnitTest tests[] = {
        CASE(a_store_of_the_first_weir_opens_with_all_its_samples),
        CASE(the_upgraded_store_passes_an_examination),
        CASE(a_store_of_a_later_weir_is_refused),
        CASE(rows_that_cannot_be_are_refused_by_name),
        STORAGE_CASE_AFTER(&lab, begin_without_secret,
                           an_older_store_without_its_secret_is_refused_and_given_no_other),
    };
    return storage_lab_run(&lab, "storage: upgrades", tests, WEIR_COUNT(tests));
}
