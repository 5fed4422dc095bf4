/* Pushed samples: what is acknowledged is there, once, under the same ids, whatever dies in between. */
#include "tests/component/storage_push_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {push: true, format: jsonl, on_erase: scrub}\n"
                             "    time: {from: field, field: ts}\n"
                             "    label: {field: kind, classes: stream}\n"
                             "    subject: {field: user}\n";
static const char SMALL[] = "  - name: clicks\n"
                            "    source: {push: true, format: jsonl, segment_bytes: 64KiB}\n"
                            "    time: {from: field, field: ts}\n";
static const char TABLE[] = "  - name: table\n"
                            "    source: {push: true, format: csv}\n"
                            "    time: {from: field, field: ts}\n"
                            "    label: {field: y, type: int}\n";
static const char RECORDS[] = "  - name: records\n"
                              "    source: {push: true, format: binary, record_bytes: 8}\n"
                              "    time: {from: field, offset: 0, type: u32}\n"
                              "    label: {offset: 4, type: i32}\n";

static struct storage_lab lab;

static struct pushed push(const char *dataset, const char *client, uint64_t batch, const char *text)
{
    return storage_push_text(
        &lab, &(struct msg_push){.dataset = dataset, .client = client, .batch = batch}, text);
}

/* The text of a sample of dataset 1. */
static const char *sample(uint64_t row)
{
    uint32_t state;

    return storage_lab_read(&lab, weir_sample_id(1, 0, 0) + row, &state);
}

static size_t count_files(const char *folder)
{
    DIR *directory = opendir(storage_lab_path(&lab, folder));
    const struct dirent *entry;
    size_t count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* ---- what comes in ---- */

static void pushed_lines_are_samples_when_they_are_acknowledged(void **state)
{
    struct pushed one, two;
    struct msg_dataset_is is;
    struct msg_feed_is feed;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    one = push("clicks", "a", 1, "{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,\"kind\":\"y\"}\n");
    two = push("clicks", "a", 2, "{\"ts\":3,\"kind\":\"x\"}");
    assert_int_equal(one.status, WEIR_OK);
    assert_int_equal(one.answer.first, weir_sample_id(1, 0, 0));
    assert_int_equal(one.answer.samples, 2);
    assert_int_equal(two.answer.first, weir_sample_id(1, 0, 2));
    assert_string_equal(two.answer.format, "jsonl");
    assert_string_equal(sample(1), "{\"ts\":2,\"kind\":\"y\"}");
    assert_string_equal(sample(2), "{\"ts\":3,\"kind\":\"x\"}");
    is = storage_lab_dataset(&lab, "clicks");
    assert_true(is.scanned);
    assert_int_equal(is.live, 3);
    assert_int_equal(is.classes.count, 2);
    feed = storage_lab_feed(&lab, 1, "test", 0);
    assert_int_equal(feed.sequences.count, 2);
    assert_int_equal(feed.firsts.at[1], weir_sample_id(1, 0, 2));
    assert_true(storage_lab_holds(&lab, "data/storage/clicks", "{\"ts\":3,\"kind\":\"x\"}\n"));
}

static void a_batch_that_comes_again_gets_the_same_answer(void **state)
{
    static const char TEXT[] = "{\"ts\":1,\"kind\":\"x\"}\nnonsense\n";
    struct pushed one, again;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    one = push("clicks", "a", 1, TEXT);
    assert_int_equal(push("clicks", "b", 1, "{\"ts\":1,\"kind\":\"x\"}\n").answer.samples, 1);
    for (int i = 0; i < 2; i++) {
        again = push("clicks", "a", 1, TEXT);
        assert_int_equal(again.status, WEIR_OK);
        assert_int_equal(again.answer.first, one.answer.first);
        assert_int_equal(again.answer.samples, 1);
        assert_int_equal(again.answer.refused, 1);
        assert_int_equal(again.answer.records.at[0], 2);
        assert_string_equal(again.answer.reasons.at[0], one.answer.reasons.at[0]);
        storage_lab_kill(&lab);
        storage_lab_start(&lab);
    }
    assert_int_equal(storage_lab_dataset(&lab, "clicks").live, 2);
    assert_int_equal(push("clicks", "a", 1, "{\"ts\":9,\"kind\":\"x\"}\n").status, WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "pushed before with other samples"));
}

static void a_client_is_told_where_it_stands(void **state)
{
    const struct msg_push marked = {
        .dataset = "clicks", .client = "a", .batch = 1, .mark = weir_bytes_of("byte 21")};
    struct pushed where;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    assert_int_equal(push("clicks", "a", 0, "").answer.batch, 0);
    assert_int_equal(storage_push_text(&lab, &marked, "{\"ts\":1,\"kind\":\"x\"}\n").status,
                     WEIR_OK);
    where = push("clicks", "a", 0, "");
    assert_int_equal(where.answer.batch, 1);
    assert_memory_equal(where.answer.mark.at, "byte 21", 7);
}

static void batches_of_a_client_are_taken_in_their_order(void **state)
{
    struct pushed late, early;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    storage_push_begin(&lab, &(struct msg_push){.dataset = "clicks", .client = "a", .batch = 2},
                       weir_bytes_of("{\"ts\":2,\"kind\":\"x\"}\n"), &late);
    for (int i = 0; i < 20; i++)
        weir_loop_step(lab.loop, 5);
    assert_false(late.is_done);
    early = push("clicks", "a", 1, "{\"ts\":1,\"kind\":\"x\"}\n");
    storage_push_await(&late);
    assert_true(early.answer.first < late.answer.first);
}

static void bad_records_are_refused_alone_with_their_line(void **state)
{
    struct pushed pushed;
    struct msg_dataset_is is;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    pushed = push("clicks", "a", 1,
                  "{\"ts\":1,\"kind\":\"x\"}\n[]\n\n{\"kind\":\"x\"}\n{\"ts\":2,\"kind\":\"y\"}\n"
                  "{\"ts\":true,\"kind\":\"z\"}\n{\"ts\"");
    assert_int_equal(pushed.answer.samples, 2);
    assert_int_equal(pushed.answer.refused, 4);
    assert_int_equal(pushed.answer.records.count, 4);
    assert_int_equal(pushed.answer.records.at[0], 2);
    assert_int_equal(pushed.answer.records.at[1], 4);
    assert_int_equal(pushed.answer.records.at[2], 6);
    assert_int_equal(pushed.answer.records.at[3], 7);
    assert_non_null(strstr(pushed.answer.reasons.at[1], "time 'ts': found none"));
    assert_non_null(strstr(pushed.answer.reasons.at[2], "time 'ts': found true or false"));
    assert_string_equal(sample(1), "{\"ts\":2,\"kind\":\"y\"}");
    is = storage_lab_dataset(&lab, "clicks");
    assert_int_equal(is.quarantined, 4);
    assert_non_null(strstr(is.complaints.at[3], "push a, batch 1:2: found"));
    assert_false(storage_lab_holds(&lab, "data/storage/clicks", "[]"));
}

static void only_the_first_reasons_are_told_and_all_are_counted(void **state)
{
    WEIR_AUTO_BUF text = {0};
    struct pushed pushed;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int i = 0; i < 500; i++)
        weir_buf_append_text(&text, "nonsense\n");
    pushed = push("clicks", "a", 1, weir_buf_text(&text));
    assert_int_equal(pushed.answer.refused, 500);
    assert_int_equal(pushed.answer.first, 0);
    assert_int_equal(pushed.answer.records.count, 10);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").quarantined, 500);
}

static void a_header_stands_once_in_each_file(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, TABLE), WEIR_OK);
    assert_int_equal(push("table", "a", 1, "ts,y\n1,10\n2,20\n").answer.samples, 2);
    assert_int_equal(push("table", "a", 2, "ts,y\n3,\"30\"\n").answer.samples, 1);
    assert_int_equal(count_files("data/storage/table"), 1);
    assert_int_equal(push("table", "b", 1, "ts,y,note\n4,40,\"a\nb\"\n").answer.samples, 1);
    assert_int_equal(count_files("data/storage/table"), 2);
    assert_string_equal(sample(2), "3,\"30\"");
    assert_string_equal(sample(3), "4,40,\"a\nb\"");
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_int_equal(push("table", "b", 2, "ts,y,note\n5,50,c\n").answer.samples, 1);
    assert_int_equal(count_files("data/storage/table"), 2);
    assert_string_equal(sample(4), "5,50,c");
    assert_int_equal(push("table", "c", 1, "a,b\n1,2\n").status, WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "found no column 'ts'"));
}

static void half_a_binary_record_is_refused(void **state)
{
    static const uint8_t BYTES[20] = {1, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 3};
    const struct msg_push asked = {.dataset = "records", .client = "a", .batch = 1};
    struct pushed pushed;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, RECORDS), WEIR_OK);
    storage_push_begin(&lab, &asked, weir_bytes(BYTES, sizeof(BYTES)), &pushed);
    storage_push_await(&pushed);
    assert_int_equal(pushed.answer.samples, 2);
    assert_int_equal(pushed.answer.refused, 1);
    assert_int_equal(pushed.answer.record_bytes, 8);
    assert_memory_equal(sample(1), BYTES + 8, 5);
}

static void what_is_too_long_is_refused_with_the_limit(void **state)
{
    const struct msg_push asked = {.dataset = "clicks", .client = "a", .batch = 1};
    size_t size = 17 << 20;
    WEIR_AUTO_FREE char *text = weir_calloc(2 * size, 1);
    struct pushed pushed;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    memset(text, 'x', 2 * size);
    memcpy(text, "{\"ts\":1,\"kind\":\"", 16);
    memcpy(text + size - 30, "\"}\n{\"ts\":2,\"kind\":\"y\"}\n       ", 30);
    storage_push_begin(&lab, &asked, weir_bytes(text, size), &pushed);
    storage_push_await(&pushed);
    assert_int_equal(pushed.answer.samples, 1);
    assert_int_equal(pushed.answer.refused, 1);
    assert_non_null(strstr(pushed.answer.reasons.at[0], "expected at most 16777216"));
    storage_push_begin(&lab, &asked, weir_bytes(text, 2 * size), &pushed);
    storage_push_await(&pushed);
    assert_int_equal(pushed.status, WEIR_LIMIT);
    assert_non_null(strstr(lab.err.text, "expected at most 33554432"));
}

static void what_cannot_be_pushed_to_says_so(void **state)
{
    (void)state;
    assert_int_equal(push("clicks", "a", 1, "{}\n").status, WEIR_NOT_FOUND);
    assert_int_equal(storage_lab_declare(&lab, "  - name: clicks\n"
                                               "    source: {path: %s, format: jsonl}\n"
                                               "    time: {from: mtime}\n"),
                     WEIR_OK);
    assert_int_equal(push("clicks", "a", 1, "{}\n").status, WEIR_INVALID);
    assert_non_null(strstr(lab.err.text, "only one declared with source: {push: true}"));
    assert_int_equal(storage_lab_declare(&lab, RECORDS), WEIR_OK);
    assert_int_equal(push("records", "no spaces", 1, "12345678").status, WEIR_INVALID);
    assert_int_equal(push("records", "a", 1, "").status, WEIR_INVALID);
}

static void full_segments_are_followed_by_the_next(void **state)
{
    char text[12000];

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, SMALL), WEIR_OK);
    memset(text, ' ', sizeof(text));
    for (int i = 0; i < 12; i++) {
        int size = snprintf(text, sizeof(text), "{\"ts\":%d,\"pad\":\"%010000d\"}\n", i, i);

        assert_true(size > 10000 && size < (int)sizeof(text));
        assert_int_equal(push("clicks", "a", (uint64_t)i + 1, text).status, WEIR_OK);
    }
    assert_int_equal(count_files("data/storage/clicks"), 2);
    for (uint64_t i = 0; i < 12; i++)
        assert_int_equal(atoi(sample(i) + 6), (int)i);
}

static void many_clients_share_a_commit_and_nothing_else(void **state)
{
    enum { CLIENTS = 40, BATCHES = 5 };
    static struct pushed pushed[CLIENTS][BATCHES];
    uint64_t sum = 0;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    for (int b = 0; b < BATCHES; b++) {
        for (int c = 0; c < CLIENTS; c++) {
            char client[16], text[64];
            const struct msg_push asked = {
                .dataset = "clicks", .client = client, .batch = (uint64_t)b + 1};

            snprintf(client, sizeof(client), "c%d", c);
            snprintf(text, sizeof(text), "{\"ts\":%d,\"kind\":\"k%d\"}\n", b, c);
            storage_push_begin(&lab, &asked, weir_bytes_of(text), &pushed[c][b]);
        }
    }
    for (int c = 0; c < CLIENTS; c++) {
        for (int b = 0; b < BATCHES; b++) {
            char text[64];

            storage_push_await(&pushed[c][b]);
            assert_int_equal(pushed[c][b].answer.samples, 1);
            snprintf(text, sizeof(text), "{\"ts\":%d,\"kind\":\"k%d\"}", b, c);
            assert_string_equal(sample(weir_sample_row(pushed[c][b].answer.first)), text);
            sum += weir_sample_row(pushed[c][b].answer.first);
        }
    }
    assert_int_equal(sum, CLIENTS * BATCHES * (CLIENTS * BATCHES - 1) / 2);
    assert_true(storage_lab_dataset(&lab, "clicks").sequence < CLIENTS * BATCHES);
}

/* ---- what dies ---- */

static void push_three(bool dies)
{
    static const char *const TEXTS[] = {"{\"ts\":1,\"kind\":\"x\"}\n{\"ts\":2,\"kind\":\"x\"}\n",
                                        "{\"ts\":3,\"kind\":\"x\"}\n{\"ts\":4,\"kind\":\"y\"}\n",
                                        "{\"ts\":5,\"kind\":\"x\"}\n{\"ts\":6,\"kind\":\"x\"}\n"};

    for (uint64_t i = 0; i < WEIR_COUNT(TEXTS); i++) {
        const struct msg_push asked = {.dataset = "clicks", .client = "a", .batch = i + 1};
        struct pushed pushed;

        storage_push_begin(&lab, &asked, weir_bytes_of(TEXTS[i]), &pushed);
        if (dies && i == 1) {
            while (!storage_lab_has_died(&lab))
                weir_loop_step(lab.loop, 5);
            lab.faults = NULL;
            storage_lab_start(&lab);
            storage_push_begin(&lab, &asked, weir_bytes_of(TEXTS[i]), &pushed);
        }
        storage_push_await(&pushed);
        assert_int_equal(pushed.status, WEIR_OK);
        assert_int_equal(pushed.answer.first, weir_sample_id(1, 0, 2 * (uint32_t)i));
    }
}

static void a_death_at_any_step_changes_nothing(void **state)
{
    static const char *const POINTS[] = {"storage.push.write=!2", "storage.push.torn=!2",
                                         "storage.push.sync=!2", "storage.batch.commit=!2",
                                         "storage.push.reply=!2"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(POINTS); i++) {
        storage_lab_kill(&lab);
        storage_lab_end(&lab);
        storage_lab_begin(&lab);
        lab.faults = POINTS[i];
        storage_lab_start(&lab);
        assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
        push_three(true);
        assert_int_equal(storage_lab_dataset(&lab, "clicks").live, 6);
        assert_string_equal(sample(3), "{\"ts\":4,\"kind\":\"y\"}");
        assert_string_equal(sample(5), "{\"ts\":6,\"kind\":\"x\"}");
    }
}

static void a_failure_at_any_step_is_asked_again(void **state)
{
    static const char FAULTS[] = "storage.push.write=1,storage.push.torn=2,storage.push.sync=3,"
                                 "storage.batch.commit=4,storage.push.reply=2";

    (void)state;
    storage_lab_kill(&lab);
    lab.faults = FAULTS;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    push_three(false);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").live, 6);
    assert_string_equal(sample(5), "{\"ts\":6,\"kind\":\"x\"}");
}

static void postgres_may_die_while_samples_are_pushed(void **state)
{
    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    weir_test_postgres_kill(&lab.postgres);
    weir_test_postgres_resume(&lab.postgres);
    push_three(false);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").live, 6);
}

/* ---- what is erased ---- */

static void what_was_erased_is_overwritten_and_stays_out(void **state)
{
    static const char ANNE[] =
        "{\"ts\":1,\"kind\":\"x\",\"user\":\"anne\",\"text\":\"a secret of anne\"}\n";

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    assert_int_equal(push("clicks", "a", 1, ANNE).answer.samples, 1);
    assert_int_equal(push("clicks", "a", 2, "{\"ts\":2,\"kind\":\"x\",\"user\":\"bert\"}\n").status,
                     WEIR_OK);
    (void)storage_lab_erase(&lab, "1", "anne", "verified");
    assert_false(storage_lab_holds(&lab, "data/storage", "a secret of anne"));
    assert_null(sample(0));
    assert_string_equal(sample(1), "{\"ts\":2,\"kind\":\"x\",\"user\":\"bert\"}");
    assert_int_equal(push("clicks", "b", 1, ANNE).answer.left_out, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "a secret of anne"));
    assert_int_equal(
        push("clicks", "b", 2, "{\"ts\":9,\"kind\":\"x\",\"user\":\"anne\"}\n").answer.left_out, 1);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").blocked, 2);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(pushed_lines_are_samples_when_they_are_acknowledged),
        CASE(a_batch_that_comes_again_gets_the_same_answer),
        CASE(a_client_is_told_where_it_stands),
        CASE(batches_of_a_client_are_taken_in_their_order),
        CASE(bad_records_are_refused_alone_with_their_line),
        CASE(only_the_first_reasons_are_told_and_all_are_counted),
        CASE(a_header_stands_once_in_each_file),
        CASE(half_a_binary_record_is_refused),
        CASE(what_is_too_long_is_refused_with_the_limit),
        CASE(what_cannot_be_pushed_to_says_so),
        CASE(full_segments_are_followed_by_the_next),
        CASE(many_clients_share_a_commit_and_nothing_else),
        CASE(a_death_at_any_step_changes_nothing),
        CASE(a_failure_at_any_step_is_asked_again),
        CASE(postgres_may_die_while_samples_are_pushed),
        CASE(what_was_erased_is_overwritten_and_stays_out),
    };
    return storage_lab_run(&lab, "storage: pushes", tests, WEIR_COUNT(tests));
}
