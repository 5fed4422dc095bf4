/* Merges of chunks: nobody sees them, whenever storage dies. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/component/storage_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BATCHES = 20, ROWS = 3 };

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {path: %s, format: jsonl, import: copy,\n"
                             "             on_erase: scrub, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    label: {field: n, type: i32}\n"
                             "    subject: {field: who}\n";

static struct storage_lab lab;

/* File `batch` holds rows batch * ROWS …; time falls as ids grow, the label is the row. */
static void write_batch(int batch)
{
    WEIR_AUTO_FREE char *name = weir_format("f%02d.jsonl", batch);
    WEIR_AUTO_BUF text = {0};

    for (int i = batch * ROWS; i < (batch + 1) * ROWS; i++)
        weir_buf_printf(&text, "{\"ts\":%d,\"n\":%d,\"who\":\"u%d\"}\n", 100000 - i, i, i);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

static void assert_replay(uint64_t position, size_t count)
{
    struct msg_replay_is replay;

    assert_int_equal(storage_lab_request(&lab, MSG_replay_read,
                                         &(struct msg_replay_read){.dataset = 1,
                                                                   .position = position,
                                                                   .after_time = INT64_MIN,
                                                                   .limit = 1000},
                                         MSG_replay_is, &replay),
                     WEIR_OK);
    assert_int_equal(replay.ids.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(replay.labels.at[i], count - 1 - i);
        assert_int_equal(weir_sample_row(replay.ids.at[i]), count - 1 - i);
    }
}

static void assert_nothing_changed(void)
{
    struct msg_feed_is feed = storage_lab_feed(&lab, 1, "test", 0);
    uint32_t sample;

    assert_int_equal(feed.sequences.count, BATCHES);
    for (uint32_t i = 0; i < BATCHES; i++) {
        assert_int_equal(feed.firsts.at[i], weir_sample_id(1, 0, i * ROWS));
        assert_int_equal(feed.counts.at[i], ROWS);
        assert_replay(i + 1, (i + 1) * ROWS);
    }
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 31), &sample),
                        "{\"ts\":99969,\"n\":31,\"who\":\"u31\"}");
}

static void assert_few_chunks(void)
{
    weir_test_postgres_sql(&lab.postgres,
                           "DO $$ BEGIN ASSERT (SELECT count(*) <= 8 AND sum(count) = 60 "
                           "FROM storage.chunk); END $$");
}

static void feed_replays_and_reads_do_not_see_a_merge(void **state)
{
    (void)state;
    storage_lab_start(&lab);
    write_batch(0);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 1; i <= BATCHES; i++) {
        (void)storage_lab_await(&lab, "clicks", (uint64_t)i);
        if (i < BATCHES)
            write_batch(i);
    }
    assert_nothing_changed();
    assert_few_chunks();
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_nothing_changed();
}

static void a_death_in_a_merge_changes_nothing(void **state)
{
    (void)state;
    lab.faults = "storage.merge=!1";
    storage_lab_start(&lab);
    write_batch(0);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 1; i < 8; i++) {
        (void)storage_lab_await(&lab, "clicks", (uint64_t)i);
        write_batch(i);
    }
    storage_lab_await_death(&lab);  /* eight chunks of one tier */
    lab.faults = "storage.merge=1"; /* fails, and is done again */
    storage_lab_start(&lab);
    for (int i = 8; i <= BATCHES; i++) {
        (void)storage_lab_await(&lab, "clicks", (uint64_t)i);
        if (i < BATCHES)
            write_batch(i);
    }
    lab.faults = NULL;
    assert_nothing_changed();
    assert_few_chunks();
}

static void an_erasure_amid_merges_erases_what_it_means(void **state)
{
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    storage_lab_start(&lab);
    write_batch(0);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 1; i <= BATCHES; i++) {
        (void)storage_lab_await(&lab, "clicks", (uint64_t)(i > 7 ? i + 1 : i));
        if (i == 7)
            (void)storage_lab_erase(&lab, "e-1", "u4", "verified");
        if (i < BATCHES)
            write_batch(i);
    }
    is = storage_lab_await(&lab, "clicks", BATCHES + 1);
    assert_int_equal(is.erased, 1);
    assert_int_equal(is.live, BATCHES * ROWS - 1);
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 4), &sample));
    assert_int_equal(sample, WEIR_SAMPLE_ERASED);
    assert_few_chunks();
    weir_test_postgres_sql(&lab.postgres,
                           "DO $$ BEGIN "
                           "ASSERT (SELECT array_agg(id & 65535) = ARRAY[4]::bigint[] "
                           "FROM storage.sample WHERE state = 'erased'); "
                           "ASSERT (SELECT count(*) = 59 FROM storage.sample "
                           "WHERE state = 'live' AND label::bigint = (id & 65535)); END $$");
}

int main(void)
{
#define CASE(test) STORAGE_CASE_AFTER(&lab, storage_lab_setup_stopped, test)
    const struct CMUnitTest tests[] = {
        CASE(feed_replays_and_reads_do_not_see_a_merge),
        CASE(a_death_in_a_merge_changes_nothing),
        CASE(an_erasure_amid_merges_erases_what_it_means),
    };
    return storage_lab_run(&lab, "storage: merges", tests, WEIR_COUNT(tests));
}
