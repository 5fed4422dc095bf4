/* An order to drop what became no sample: in files that Weir may overwrite nothing of refused records and duplicates is
 * left, and every sample stays as it is. Samples have the word `kept`, everything else `lost`. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char LINES[] = "  - name: clicks\n"
                            "    source: {path: %s, format: jsonl, on_erase: scrub, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n"
                            "    subject: {field: user}\n"
                            "    key: {field: id}\n"
                            "    duplicates: {keep: first}\n";
static const char ROWS[] = "  - name: rows\n"
                           "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n"
                           "    time: {from: field, field: ts}\n"
                           "    subject: {field: user}\n";

static struct storage_lab lab;

static uint64_t order(const char *uuid, const char *subject, const char *dataset)
{
    const struct msg_erase_accept asked = {.uuid = uuid,
                                           .dataset = dataset,
                                           .subjects = {&subject, subject != NULL ? 1 : 0},
                                           .reference = "",
                                           .expects_match = true,
                                           .drop_refused = true};
    struct msg_erase_accepted accepted = {0};

    if (storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &accepted) !=
        WEIR_OK)
        fail_msg("%s", lab.err.text);
    return accepted.erasure;
}

static struct msg_erase_is drop(const char *subject)
{
    return storage_lab_await_erasure(&lab, order("u1", subject, ""), "verified");
}

static const char *line_with(struct weir_strs lines, const char *words)
{
    for (size_t i = 0; i < lines.count; i++) {
        if (strstr(lines.at[i], words) != NULL)
            return lines.at[i];
    }
    return NULL;
}

static void expect_sample(uint32_t row, const char *text)
{
    uint32_t state;
    const char *found = storage_lab_read(&lab, weir_sample_id(1, 0, row), &state);

    assert_non_null(found);
    assert_string_equal(found, text);
}

/* Nothing is lost but what is to be, and the files are not taken for others. */
static void expect_dropped(const char *dataset, uint64_t live, uint64_t refused)
{
    struct msg_dataset_is is;

    assert_false(storage_lab_holds(&lab, "source", "lost"));
    assert_false(storage_lab_holds(&lab, "data", "lost"));
    storage_lab_expect_fine(&lab);
    storage_lab_kill(&lab);
    storage_lab_start(&lab); /* everything is looked at again */
    is = storage_lab_await_counts(&lab, dataset, live, refused);
    assert_int_equal(is.replaced + is.removed, 0);
    storage_lab_expect_fine(&lab);
}

static void refused_lines_and_duplicates_leave_a_referenced_file(void **state)
{
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_write(&lab, "b.jsonl",
                      "{\"ts\": 9, \"id\": \"9\", \"x\": \"kept3\"}\n"
                      "{\"ts\": 9, \"id\": \"1\", \"x\": \"lost\"}\n");
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 3, 6);
    erased = drop(NULL);
    assert_int_equal(erased.samples, 0);
    assert_null(line_with(erased.remarks, "still stand"));
    assert_string_equal(
        erased.dropped.at[0],
        "dataset 'clicks': 3 refused records and 3 duplicates were overwritten in 2 "
        "files: a.jsonl (3), b.jsonl");
    expect_sample(0, "{\"ts\": 1, \"user\": \"anna\", \"id\": \"1\", \"x\": \"kept1\"}");
    expect_sample(1, "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}");
    expect_sample(2, "{\"ts\": 9, \"id\": \"9\", \"x\": \"kept3\"}");
    expect_dropped("clicks", 3, 6);
}

static void a_request_for_a_person_can_be_one_too(void **state)
{
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    erased = drop("anna");
    assert_int_equal(erased.samples, 1);
    assert_int_equal(erased.dropped.count, 1);
    assert_false(storage_lab_holds(&lab, "source", "anna"));
    expect_sample(1, "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}");
    expect_dropped("clicks", 1, 5);
}

static void a_receipt_without_the_order_says_how_to_give_it(void **state)
{
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    erased = storage_lab_erase(&lab, "u1", "anna", "verified");
    assert_int_equal(erased.dropped.count, 0);
    assert_non_null(line_with(erased.remarks, "a.jsonl (3)"));
    assert_non_null(
        line_with(erased.remarks, "weir erase request --drop-refused --dataset clicks"));
    assert_true(storage_lab_holds(&lab, "source", "lost"));
}

static void headers_and_the_numbers_of_lines_stay(void **state)
{
    struct msg_dataset_is is;
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a.csv",
                      "ts,user,x\n1,anna,kept\n2,anna,\"lost\nlost\",lost\n3,anna,kept\nlost\n");
    storage_lab_write(&lab, "b.csv", "lost,user\n1,lost\n");
    storage_lab_must_declare(&lab, ROWS);
    (void)storage_lab_await_counts(&lab, "rows", 2, 3);
    (void)drop(NULL);
    expect_dropped("rows", 2, 3);
    storage_lab_append(&lab, "a.csv", "4,bob,kept too\n5,bob\n");
    is = storage_lab_await_counts(&lab, "rows", 3, 4);
    assert_non_null(strstr(is.complaints.at[0], "a.csv:8"));
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &sample), "4,bob,kept too");
}

/* Copies of an older Weir hold what was refused of them: as this one does once it is put back. */
static void take_in_as_an_older_weir(const char *text, uint64_t refused)
{
    static const char COPIES[] =
        "  - name: clicks\n"
        "    source: {path: %s, format: jsonl, import: copy, on_erase: scrub,\n"
        "             settle: 0ms}\n"
        "    time: {from: field, field: ts}\n"
        "    subject: {field: user}\n"
        "    key: {field: id}\n"
        "    duplicates: {keep: first}\n";
    const char *copy = storage_lab_path(&lab, "data/storage/clicks/a.jsonl");
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    struct stat found;
    FILE *file;

    storage_lab_write(&lab, "a.jsonl", text);
    storage_lab_must_declare(&lab, COPIES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, refused);
    assert_int_equal(stat(copy, &found), 0);
    file = fopen(copy, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    times[1] = found.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, copy, times, 0), 0);
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.quarantine SET stays = true");
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.dataset SET duplicates_gone = 0, "
                                          "refused_unnamed = true");
    assert_true(storage_lab_holds(&lab, "data", "lost"));
}

static void copies_that_an_older_weir_made_lose_it_too(void **state)
{
    struct msg_erase_is erased;

    (void)state;
    take_in_as_an_older_weir(STORAGE_LAB_MIXED, 5);
    erased = drop(NULL);
    assert_non_null(line_with(erased.dropped, "3 refused records and 2 duplicates"));
    assert_false(storage_lab_holds(&lab, "data", "lost"));
    assert_true(storage_lab_holds(&lab, "source",
                                  "lost")); /* the source of a copy is nobody's but its owner's */
    expect_sample(1, "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}");
    storage_lab_expect_fine(&lab);
}

/* Of those that no name was noted of. */
static void an_erasure_overwrites_what_was_refused_of_the_person_in_such_copies(void **state)
{
    static const char TEXT[] =
        "{\"ts\": 1, \"user\": \"anna\", \"id\": \"1\", \"x\": \"lost\"}\n"
        "{\"ts\": \"when\", \"user\": \"anna\", \"id\": \"3\", \"x\": \"lost\"}\n"
        "{\"ts\": 4, \"user\": \"anna\", \"id\": \"1\", \"x\": \"lost\"}\n"
        "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept\"}\n"
        "{\"ts\": \"when\", \"user\": \"bob\", \"id\": \"6\", \"x\": \"kept\"}\n";

    (void)state;
    take_in_as_an_older_weir(TEXT, 3);
    assert_int_equal(storage_lab_erase(&lab, "u1", "anna", "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data", "lost"));
    assert_false(storage_lab_holds(&lab, "data", "anna"));
    assert_true(storage_lab_holds(&lab, "data", "\"id\": \"6\""));
    assert_int_equal(storage_lab_erase(&lab, "u2", "bob", "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data", "kept"));
    storage_lab_expect_fine(&lab);
}

static void what_may_not_be_overwritten_is_said(void **state)
{
    static const char NOTES[] = "  - name: notes\n"
                                "    source: {path: %s, format: files, include: \"*.txt\",\n"
                                "             on_erase: unlink, settle: 0ms}\n"
                                "    time: {from: mtime}\n"
                                "    label: {from: manifest}\n"
                                "    subject: {from: manifest}\n";
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "a.txt", "kept");
    storage_lab_write(&lab, "b.txt", "lost");
    storage_lab_write(&lab, "manifest.csv", "path,label,subject\na.txt,1,anna\n");
    storage_lab_must_declare(&lab, NOTES);
    (void)storage_lab_await_counts(&lab, "notes", 1, 1);
    erased = drop(NULL);
    assert_int_equal(erased.dropped.count, 0);
    assert_non_null(line_with(erased.remarks, "does not declare on_erase: scrub"));
    assert_true(storage_lab_holds(&lab, "source", "lost"));
}

/* Beginnings of files that a death at any of these places leaves. */
static void a_death_anywhere_only_repeats_it(void **state)
{
    static const char *const FAULTS[] = {"storage.drop.overwrite=!1", "storage.drop.overwrite=!2",
                                         "storage.drop.overwrite=!4", "storage.drop.store=!1",
                                         "storage.drop.store=!2"};

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(FAULTS); i++) {
        struct msg_erase_is erased;
        uint64_t number;

        storage_lab_kill(&lab);
        storage_lab_end(&lab);
        storage_lab_begin(&lab);
        storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
        storage_lab_write(&lab, "b.jsonl", "lost\n{\"ts\": 8, \"id\": \"8\", \"x\": \"kept3\"}\n");
        lab.faults = FAULTS[i];
        storage_lab_start(&lab);
        storage_lab_must_declare(&lab, LINES);
        (void)storage_lab_await_counts(&lab, "clicks", 3, 6);
        number = order("u1", NULL, "clicks");
        storage_lab_await_death(&lab);
        lab.faults = NULL;
        storage_lab_start(&lab);
        erased = storage_lab_await_erasure(&lab, number, "verified");
        assert_string_equal(
            erased.dropped.at[0],
            "dataset 'clicks': 4 refused records and 2 duplicates were overwritten in "
            "2 files: a.jsonl (3), b.jsonl (1)");
        assert_null(line_with(erased.remarks, "still stand"));
        expect_sample(1, "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}");
        expect_dropped("clicks", 3, 6);
    }
}

/* A file that somebody writes again is looked at first: nothing is scribbled over what stands there now. */
static void a_file_that_changed_meanwhile_is_looked_at_first(void **state)
{
    uint64_t number;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    storage_lab_kill(&lab);
    lab.faults = "storage.drop.store=1"; /* the first try is not stored, */
    storage_lab_start(&lab);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    storage_lab_write(
        &lab, "a.jsonl", /* and this comes at any time before or after */
        "{\"ts\": 1, \"user\": \"carol\", \"id\": \"10\", \"x\": \"kept again\"}\n"
        "lost\n"
        "{\"ts\": 2, \"user\": \"carol\", \"id\": \"11\", \"x\": \"kept as well\"}\n");
    number = order("u1", NULL, "clicks");
    (void)storage_lab_await_erasure(&lab, number, "verified");
    lab.faults = NULL;
    (void)storage_lab_await_counts(&lab, "clicks", 2, 3);
    expect_sample(2, "{\"ts\": 1, \"user\": \"carol\", \"id\": \"10\", \"x\": \"kept again\"}");
    expect_sample(3, "{\"ts\": 2, \"user\": \"carol\", \"id\": \"11\", \"x\": \"kept as well\"}");
    storage_lab_expect_fine(&lab);
}

/* Many records, some refused, among several windows of the file. */
static void a_large_file_loses_only_what_is_refused(void **state)
{
    enum { RECORDS = 40000, EVERY = 7 };
    WEIR_AUTO_BUF text = {0};
    uint64_t refused = 0;

    (void)state;
    for (unsigned i = 0; i < RECORDS; i++) {
        bool is_refused = i % EVERY == 3;

        refused += is_refused;
        weir_buf_printf(&text, "{\"ts\": %s, \"id\": \"%u\", \"x\": \"%s %u%u%u%u\"}\n",
                        is_refused ? "\"when\"" : "1", i, is_refused ? "lost" : "kept", i, i, i, i);
    }
    storage_lab_write(&lab, "a.jsonl", weir_buf_text(&text));
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", RECORDS - refused, refused);
    assert_non_null(line_with(drop(NULL).dropped, "5714 refused records and 0 duplicates"));
    for (unsigned row = 0, i = 0; row < 20; i++) {
        if (i % EVERY != 3)
            expect_sample(row++, weir_arena_format(lab.arena,
                                                   "{\"ts\": 1, \"id\": \"%u\", \"x\": \"kept "
                                                   "%u%u%u%u\"}",
                                                   i, i, i, i, i));
    }
    expect_dropped("clicks", RECORDS - refused, refused);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(refused_lines_and_duplicates_leave_a_referenced_file),
        CASE(a_request_for_a_person_can_be_one_too),
        CASE(a_receipt_without_the_order_says_how_to_give_it),
        CASE(headers_and_the_numbers_of_lines_stay),
        CASE(copies_that_an_older_weir_made_lose_it_too),
        CASE(an_erasure_overwrites_what_was_refused_of_the_person_in_such_copies),
        CASE(what_may_not_be_overwritten_is_said),
        CASE(a_death_anywhere_only_repeats_it),
        CASE(a_file_that_changed_meanwhile_is_looked_at_first),
        CASE(a_large_file_loses_only_what_is_refused),
    };

    return storage_lab_run(&lab, "storage: dropping what became no sample", tests,
                           WEIR_COUNT(tests));
}
