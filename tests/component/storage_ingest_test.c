/* The fate of files: new, grown, replaced, removed, malformed; ids, feed and accounting. */
#include "tests/component/storage_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char JSONL[] = "  - name: clicks\n"
                            "    source: {path: %s, format: jsonl, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n"
                            "    label: {field: kind, classes: stream}\n";

static struct storage_lab lab;

static void write_mails(int count)
{
    char manifest[4096] = "path,time,label,subject\n";

    for (int i = 0; i < count; i++) {
        char name[32], text[64];

        snprintf(name, sizeof(name), "m%d.txt", i);
        snprintf(text, sizeof(text), "this is mail number %d", i);
        storage_lab_write(&lab, name, text);
        snprintf(manifest + strlen(manifest), sizeof(manifest) - strlen(manifest),
                 "%s,2002-08-%02dT00:00:00Z,%s,user%d@example.org\n", name, 1 + i,
                 i % 2 ? "spam" : "ham", i % 3);
    }
    storage_lab_write(&lab, "manifest.csv", manifest);
}

static void lines_become_samples_in_path_order(void **state)
{
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "b.jsonl", "{\"ts\":3,\"kind\":\"x\",\"n\":3}\n");
    storage_lab_write(&lab, "a.jsonl", "{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,\"kind\":\"y\"}\n");
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    is = storage_lab_await(&lab, "clicks", 1);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.classes.count, 2);
    assert_string_equal(is.classes.at[1], "y");
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample),
                        "{\"ts\":2,\"kind\":\"y\"}");
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &sample),
                        "{\"ts\":3,\"kind\":\"x\",\"n\":3}");
}

static void a_number_becomes_a_yes_or_a_no(void **state)
{
    static const char RATINGS[] = "  - name: ratings\n"
                                  "    source: {path: %s, format: csv, settle: 0ms}\n"
                                  "    time: {from: field, field: ts}\n"
                                  "    label: {field: stars, at_least: 3.5}\n";
    static const int64_t EXPECTED[] = {1, 0, 1, 0};
    struct msg_columns_is columns;
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,stars\n1,4\n2,3.4\n3,3.5\n4,good\n5,-1e9\n");
    assert_int_equal(storage_lab_declare(&lab, RATINGS), WEIR_OK);
    is = storage_lab_await(&lab, "ratings", 1);
    assert_string_equal(is.complaints.at[0], "a.csv:5: label: found 'good', expected a number; "
                                             "names need classes: stream");
    assert_int_equal(storage_lab_request(
                         &lab, MSG_columns_read,
                         &(struct msg_columns_read){.first = weir_sample_id(1, 0, 0), .count = 4},
                         MSG_columns_is, &columns),
                     WEIR_OK);
    assert_int_equal(columns.labels.count, WEIR_COUNT(EXPECTED));
    assert_memory_equal(columns.labels.at, EXPECTED, sizeof(EXPECTED));
}

static void declaring_again_is_fine_and_changing_the_source_is_not(void **state)
{
    (void)state;
    write_mails(2);
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
    assert_int_equal(storage_lab_declare(&lab, "  - name: mails\n"
                                               "    source: {path: %s, format: files}\n"
                                               "    time: {from: mtime}\n"),
                     WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "2 samples that were taken in with"));
}

static void a_missing_folder_is_named(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, "  - name: mails\n"
                                               "    source: {path: %s/nowhere, format: files}\n"
                                               "    time: {from: mtime}\n"),
                     WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "pipeline.yaml:3:"));
    assert_non_null(strstr(lab.err.text, "found no folder"));
}

static void a_broken_line_is_refused_alone(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,\"ki\n{\"ts\":3,\"kind\":\"x\"}\n");
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    is = storage_lab_await(&lab, "clicks", 1);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.quarantined, 1);
    assert_int_equal(is.complaints.count, 1);
    assert_non_null(strstr(is.complaints.at[0], "a.jsonl:2: found broken JSON"));
}

static void a_growing_file_adds_only_what_is_new(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", "{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,");
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    is = storage_lab_await(&lab, "clicks", 1);
    assert_int_equal(is.live, 1);
    assert_int_equal(is.quarantined, 1);
    storage_lab_append(&lab, "a.jsonl", "\"kind\":\"y\"}\n{\"ts\":3,\"kind\":\"x\"}\n");
    is = storage_lab_await(&lab, "clicks", 2);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.ingested, 3);
    assert_int_equal(is.quarantined, 0); /* the tail was completed */
}

static void replaced_and_removed_files_are_told(void **state)
{
    struct msg_dataset_is is;
    struct msg_feed_is feed;
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", "{\"ts\":1,\"kind\":\"x\"}\n");
    storage_lab_write(&lab, "b.jsonl", "{\"ts\":2,\"kind\":\"x\"}\n");
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    storage_lab_remove(&lab, "a.jsonl");
    (void)storage_lab_await(&lab, "clicks", 2);
    storage_lab_write(&lab, "b.jsonl", "{\"ts\":22,\"kind\":\"x\"}\n");
    is = storage_lab_await(&lab, "clicks", 4);
    assert_int_equal(is.live, 1);
    assert_int_equal(is.removed, 1);
    assert_int_equal(is.replaced, 1);
    feed = storage_lab_feed(&lab, 1, "test", 0);
    assert_int_equal(feed.sequences.count, 4);
    assert_int_equal(feed.kinds.at[1], WEIR_CHANGE_REMOVED);
    assert_int_equal(feed.kinds.at[2], WEIR_CHANGE_REPLACED);
    assert_int_equal(feed.kinds.at[3], WEIR_CHANGE_ADDED);
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &sample));
    assert_int_equal(sample, WEIR_SAMPLE_GONE);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &sample),
                        "{\"ts\":22,\"kind\":\"x\"}");
}

static void half_a_record_is_refused_and_the_whole_ones_stay(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.bin", "0123456789abcdef012345");
    assert_int_equal(storage_lab_declare(&lab, "  - name: records\n"
                                               "    source: {path: %s, format: binary,\n"
                                               "             record_bytes: 8}\n"
                                               "    time: {from: mtime}\n"
                                               "    label: {offset: 0, type: u8}\n"),
                     WEIR_OK);
    is = storage_lab_await(&lab, "records", 1);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.quarantined, 1);
    assert_non_null(strstr(is.complaints.at[0], "a.bin: record 2, byte 16: found half a record"));
}

static void mails_are_copied_located_and_replayed_in_time_order(void **state)
{
    struct msg_located located;
    struct msg_replay_is replay;
    struct msg_columns_is columns;
    uint64_t ids[] = {weir_sample_id(1, 0, 0), weir_sample_id(1, 0, 3), weir_sample_id(1, 0, 99)};
    struct msg_dataset_is is;

    (void)state;
    write_mails(12);
    storage_lab_write(&lab, "stranger.txt", "nobody lists me");
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    is = storage_lab_await(&lab, "mails", 1);
    assert_int_equal(is.live, 12);
    assert_int_equal(is.quarantined, 1);
    assert_int_equal(is.classes.count, 2);
    assert_int_equal(storage_lab_request(&lab, MSG_locate, &(struct msg_locate){.ids = {ids, 3}},
                                         MSG_located, &located),
                     WEIR_OK);
    assert_int_equal(located.states.at[2], WEIR_SAMPLE_GONE);
    assert_int_equal(located.paths.count, 2);
    assert_non_null(strstr(located.paths.at[1], "/data/storage/mails/m11.txt"));
    assert_string_equal(located.format, "files");
    assert_int_equal(storage_lab_request(&lab, MSG_replay_read,
                                         &(struct msg_replay_read){.dataset = 1,
                                                                   .position = is.sequence,
                                                                   .after_time = INT64_MIN,
                                                                   .limit = 10},
                                         MSG_replay_is, &replay),
                     WEIR_OK);
    assert_int_equal(replay.ids.count, 10);
    assert_false(replay.end);
    assert_int_equal(replay.ids.at[2], weir_sample_id(1, 0, 4)); /* m2.txt, after m0 m1 m10 m11 */
    assert_int_equal(storage_lab_request(&lab, MSG_columns_read,
                                         &(struct msg_columns_read){.first = ids[0], .count = 12},
                                         MSG_columns_is, &columns),
                     WEIR_OK);
    assert_int_equal(columns.ids.count, 12);
    assert_int_equal(columns.labels.at[1], 1);
}

static void a_late_manifest_row_lets_its_file_in(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    write_mails(2);
    storage_lab_write(&lab, "late.txt", "the manifest knows me later");
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    is = storage_lab_await(&lab, "mails", 1);
    assert_int_equal(is.quarantined, 1);
    storage_lab_append(&lab, "manifest.csv", "late.txt,2003-01-01,ham,late@example.org\n");
    is = storage_lab_await(&lab, "mails", 2);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.quarantined, 0);
}

static void a_restart_finds_everything_as_it_was(void **state)
{
    struct msg_dataset_is before, after;
    uint32_t sample;

    (void)state;
    write_mails(5);
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    before = storage_lab_await(&lab, "mails", 1);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    after = storage_lab_await(&lab, "mails", 1);
    assert_int_equal(after.sequence, before.sequence);
    assert_int_equal(after.live, before.live);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 4), &sample),
                        "this is mail number 4");
}

static void a_touched_mail_is_still_the_same_sample(void **state)
{
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    write_mails(3);
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/m1.txt"), times, 0), 0);
    storage_lab_write(&lab, "m2.txt", "something else entirely");
    is = storage_lab_await(&lab, "mails", 3);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.replaced, 1); /* m2.txt */
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample));
}

static void the_view_shows_every_sample_as_a_row(void **state)
{
    (void)state;
    write_mails(3);
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await(&lab, "mails", 1);
    weir_test_postgres_sql(
        &lab.postgres,
        "DO $$ BEGIN ASSERT (SELECT count(*) = 3 AND count(*) FILTER (WHERE label = '\"spam\"') = 1 AND "
        "min(time_us) = 1028160000000000 AND min(id) = 17592186044416 AND "
        "min(length) = 21 AND max(file) = 2 AND min(state) = 'live' "
        "FROM storage.sample); END $$");
}

static void files_of_a_batch_share_a_chunk_and_later_ones_their_group(void **state)
{
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    for (int i = 0; i < 40; i++) {
        WEIR_AUTO_FREE char *name = weir_format("f%02d.jsonl", i);

        storage_lab_write(&lab, name, "{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,\"kind\":\"x\"}\n");
    }
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    storage_lab_write(&lab, "g.jsonl", "{\"ts\":3,\"kind\":\"x\"}\n");
    (void)storage_lab_await(&lab, "clicks", 2);
    storage_lab_write(&lab, "h.jsonl", "{\"ts\":4,\"kind\":\"x\"}\n");
    (void)storage_lab_await(&lab, "clicks", 3);
    weir_test_postgres_sql(
        &lab.postgres, "DO $$ BEGIN ASSERT (SELECT count(*) <= 3 FROM storage.chunk); "
                       "ASSERT (SELECT count(*) = 1 AND sum(count) = 42 FROM storage.file_group); "
                       "ASSERT (SELECT count(*) = 82 AND max(file) = 41 FROM storage.sample); "
                       "END $$");
    storage_lab_remove(&lab, "f20.jsonl");
    is = storage_lab_await(&lab, "clicks", 4);
    assert_int_equal(is.removed, 2);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 40), &sample));
    assert_int_equal(sample, WEIR_SAMPLE_GONE);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 43), &sample),
                        "{\"ts\":2,\"kind\":\"x\"}");
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 81), &sample),
                        "{\"ts\":4,\"kind\":\"x\"}");
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(lines_become_samples_in_path_order),
        CASE(a_number_becomes_a_yes_or_a_no),
        CASE(declaring_again_is_fine_and_changing_the_source_is_not),
        CASE(a_missing_folder_is_named),
        CASE(a_broken_line_is_refused_alone),
        CASE(a_growing_file_adds_only_what_is_new),
        CASE(replaced_and_removed_files_are_told),
        CASE(files_of_a_batch_share_a_chunk_and_later_ones_their_group),
        CASE(half_a_record_is_refused_and_the_whole_ones_stay),
        CASE(mails_are_copied_located_and_replayed_in_time_order),
        CASE(a_late_manifest_row_lets_its_file_in),
        CASE(a_restart_finds_everything_as_it_was),
        CASE(a_touched_mail_is_still_the_same_sample),
        CASE(the_view_shows_every_sample_as_a_row),
    };
    return storage_lab_run(&lab, "storage: ingest", tests, WEIR_COUNT(tests));
}
