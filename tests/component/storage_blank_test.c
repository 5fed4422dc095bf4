/* Of records that became no sample nothing is left in files that Weir owns: refused ones, duplicates, ends that no
 * record was found in. Each has a word of its own, which is looked for in every file below the data directory. */
#include "tests/component/storage_lab.h"
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char LINES[] = "  - name: clicks\n"
                            "    source: {path: %s, format: jsonl, import: copy, on_erase: scrub,\n"
                            "             settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n"
                            "    subject: {field: user}\n"
                            "    key: {field: id}\n"
                            "    duplicates: {keep: first}\n";
static const char ROWS[] = "  - name: rows\n"
                           "    source: {path: %s, format: csv, import: copy, on_erase: scrub,\n"
                           "             settle: 0ms}\n"
                           "    time: {from: field, field: ts}\n"
                           "    subject: {field: user}\n";

static struct storage_lab lab;

/* Samples have the word `kept`, everything else `lost`. */
static void expect_no_lost_word(void)
{
    assert_false(storage_lab_holds(&lab, "data", "lost"));
    assert_true(storage_lab_holds(&lab, "data", "kept"));
    assert_true(storage_lab_holds(&lab, "source", "lost"));
    storage_lab_expect_fine(&lab);
}

static void refused_lines_and_duplicates_leave_nothing_in_a_copy(void **state)
{
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    expect_no_lost_word();
    assert_false(storage_lab_holds(&lab, lab.postgres.dir.path, "lost"));
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample),
                        "{\"ts\": 5, \"user\": \"bob\", \"id\": \"5\", \"x\": \"kept2\"}");
    storage_lab_write(&lab, "b.jsonl", "{\"ts\": 7, \"id\": \"5\", \"x\": \"lost\"}\n");
    (void)storage_lab_await_counts(&lab, "clicks", 2, 6);
    expect_no_lost_word();
}

static void rows_over_several_lines_keep_the_numbers_of_those_behind_them(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    storage_lab_write(&lab, "a.csv",
                      "ts,user,x\n1,anna,kept\n2,anna,\"lost\nlost\",lost\n3,anna,kept\nlost\n");
    storage_lab_must_declare(&lab, ROWS);
    is = storage_lab_await_counts(&lab, "rows", 2, 2);
    expect_no_lost_word();
    assert_non_null(strstr(is.complaints.at[0], "a.csv:6"));
    storage_lab_append(&lab, "a.csv", "4,bob,kept\n5,bob\n");
    is = storage_lab_await_counts(&lab, "rows", 3, 3);
    assert_non_null(strstr(is.complaints.at[0], "a.csv:8"));
    assert_false(storage_lab_holds(&lab, "data", "5,bob"));
}

static void a_file_that_is_refused_whole_leaves_nothing(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,user,x\n1,anna,kept\n");
    storage_lab_write(&lab, "b.csv", "lost,user\n1,lost\n");
    storage_lab_must_declare(&lab, ROWS);
    (void)storage_lab_await_counts(&lab, "rows", 1, 1);
    expect_no_lost_word();
    storage_lab_append(&lab, "b.csv", "2,lost\n");
    (void)storage_lab_await_counts(&lab, "rows", 1, 1);
    expect_no_lost_word();
}

static void half_a_line_is_copied_again_once_it_is_whole(void **state)
{
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", "{\"ts\": 1, \"x\": \"kept\"}\n{\"ts\": 2, \"x\": \"lo");
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 1, 1);
    assert_false(storage_lab_holds(&lab, "data", "\"lo"));
    storage_lab_append(&lab, "a.jsonl", "st found\"}\n");
    (void)storage_lab_await_counts(&lab, "clicks", 2, 0);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample),
                        "{\"ts\": 2, \"x\": \"lost found\"}");
    storage_lab_expect_fine(&lab);
}

static void a_death_before_the_commit_changes_nothing(void **state)
{
    (void)state;
    storage_lab_kill(&lab);
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_write(&lab, "b.jsonl", "{\"ts\": 8, \"id\": \"8\", \"x\": \"kept3\"}\nlost\n");
    lab.faults = "storage.batch.commit=!1";
    storage_lab_start(&lab);
    storage_lab_must_declare(&lab, LINES);
    storage_lab_await_death(&lab);
    lab.faults = NULL;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_await_counts(&lab, "clicks", 3, 6).quarantined, 4);
    expect_no_lost_word();
}

static void duplicates_of_pushed_samples_leave_nothing_in_the_segment(void **state)
{
    static const char PUSHED[] = "  - name: clicks\n"
                                 "    source: {push: true, format: jsonl}\n"
                                 "    time: {from: field, field: ts}\n"
                                 "    key: {field: id}\n"
                                 "    duplicates: {keep: first}\n";
    struct pushed pushed;
    uint32_t sample;

    (void)state;
    storage_lab_must_declare(&lab, PUSHED);
    pushed =
        storage_push_text(&lab, &(struct msg_push){.dataset = "clicks", .client = "a", .batch = 1},
                          "{\"ts\": 1, \"id\": \"1\", \"x\": \"kept\"}\n"
                          "{\"ts\": 2, \"id\": \"1\", \"x\": \"lost\"}\n"
                          "{\"ts\": 3, \"id\": \"3\", \"x\": \"kept too\"}\nlost\n");
    assert_int_equal(pushed.status, WEIR_OK);
    pushed =
        storage_push_text(&lab, &(struct msg_push){.dataset = "clicks", .client = "a", .batch = 2},
                          "{\"ts\": 2, \"id\": \"3\", \"x\": \"lost\"}\n");
    assert_int_equal(storage_lab_dataset(&lab, "clicks").duplicate, 2);
    assert_false(storage_lab_holds(&lab, "data", "lost"));
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample),
                        "{\"ts\": 3, \"id\": \"3\", \"x\": \"kept too\"}");
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 0), &sample),
                        "{\"ts\": 1, \"id\": \"1\", \"x\": \"kept\"}");
    storage_lab_expect_fine(&lab);
}

static void duplicates_of_one_sample_files_have_no_copy(void **state)
{
    static const char FILES[] = "  - name: notes\n"
                                "    source: {path: %s, format: files, include: \"*.txt\",\n"
                                "             import: copy, settle: 0ms}\n"
                                "    time: {from: mtime}\n"
                                "    key: {from: manifest}\n"
                                "    duplicates: {keep: first}\n";

    (void)state;
    storage_lab_write(&lab, "a.txt", "kept");
    storage_lab_write(&lab, "b.txt", "lost");
    storage_lab_write(&lab, "manifest.csv", "path,key\na.txt,1\nb.txt,1\n");
    storage_lab_must_declare(&lab, FILES);
    (void)storage_lab_await_counts(&lab, "notes", 1, 1);
    expect_no_lost_word();
}

static void write_notes_of_anna(const char *word)
{
    storage_lab_write(&lab, "lostanna/a.jsonl",
                      weir_arena_format(lab.arena,
                                        "{\"ts\": 1, \"user\": \"lostanna\", \"x\": \"%s\"}\n"
                                        "{\"ts\": 2, \"user\": \"lostanna\"}\n",
                                        word));
}

/* A folder has the name of the person: not even that is left in the data directory, also when the source, which stays,
 * is looked at again. */
static void a_name_of_the_person_goes_with_the_last_sample(void **state)
{
    const char *copies = storage_lab_path(&lab, "data/storage/clicks/lostanna");

    (void)state;
    assert_int_equal(mkdir(storage_lab_path(&lab, "source/lostanna"), 0700), 0);
    write_notes_of_anna("a heron");
    storage_lab_write(&lab, "b.jsonl", "{\"ts\": 1, \"x\": \"kept\"}\n");
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 3, 0);
    assert_int_equal(access(copies, F_OK), 0);
    assert_int_equal(storage_lab_erase(&lab, "u1", "lostanna", "verified").samples, 2);
    expect_no_lost_word();
    for (uint64_t i = 0; i < 2; i++) {
        struct msg_dataset_is is;

        storage_lab_kill(&lab);
        if (i == 1) /* it is another file by now, and read again */
            write_notes_of_anna("two herons");
        storage_lab_write(&lab, i == 0 ? "c.jsonl" : "d.jsonl", "{\"ts\": 1, \"x\": \"kept\"}\n");
        storage_lab_start(&lab);
        is = storage_lab_await_counts(&lab, "clicks", 2 + i, 0);
        assert_int_equal(is.erased, 2);
        assert_int_equal(is.blocked, i == 0 ? 1 : 3); /* the file, then its records */
        assert_int_equal(access(copies, F_OK), -1);
        expect_no_lost_word();
    }
}

static void a_file_that_others_are_in_stays(void **state)
{
    uint32_t sample;

    (void)state;
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\": 1, \"user\": \"anna\", \"x\": \"lost heron\"}\n"
                      "{\"ts\": 2, \"user\": \"bob\", \"x\": \"kept\"}\n");
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 0);
    assert_int_equal(storage_lab_erase(&lab, "u1", "anna", "verified").samples, 1);
    expect_no_lost_word();
    assert_non_null(storage_lab_read(&lab, weir_sample_id(1, 0, 1), &sample));
}

/* NULL: the receipt has none with these words. */
static const char *remark_with(const struct msg_erase_is *erased, const char *words)
{
    for (size_t i = 0; i < erased->remarks.count; i++) {
        if (strstr(erased->remarks.at[i], words) != NULL)
            return erased->remarks.at[i];
    }
    return NULL;
}

static void a_name_that_stays_is_told_without_saying_it(void **state)
{
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "anna.jsonl",
                      "{\"ts\": 1, \"user\": \"anna\", \"x\": \"lost heron\"}\n"
                      "{\"ts\": 2, \"user\": \"bob\", \"x\": \"kept\"}\n");
    storage_lab_write(&lab, "b.jsonl", "{\"ts\": 1, \"user\": \"carol\", \"x\": \"kept\"}\n");
    storage_lab_must_declare(&lab, LINES);
    (void)storage_lab_await_counts(&lab, "clicks", 3, 0);
    erased = storage_lab_erase(&lab, "u1", "anna", "verified");
    assert_non_null(remark_with(&erased, "the name stays"));
    assert_null(remark_with(&erased, "anna"));
    erased = storage_lab_erase(&lab, "u2", "carol", "verified");
    assert_null(remark_with(&erased, "the name stays"));
}

/* A file that is only referred to is not Weir's: what it refused there is told by the receipt. */
static void what_stays_in_files_of_others_is_told(void **state)
{
    static const char THERE[] =
        "  - name: clicks\n"
        "    source: {path: %s, format: jsonl, on_erase: scrub, settle: 0ms}\n"
        "    time: {from: field, field: ts}\n"
        "    subject: {field: user}\n"
        "    key: {field: id}\n"
        "    duplicates: {keep: first}\n";
    struct msg_erase_is erased;

    (void)state;
    storage_lab_write(&lab, "a.jsonl", STORAGE_LAB_MIXED);
    storage_lab_must_declare(&lab, THERE);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 5);
    erased = storage_lab_erase(&lab, "u1", "anna", "verified");
    assert_int_equal(erased.samples, 1);
    assert_int_equal(erased.remarks.count, 1);
    assert_non_null(strstr(erased.remarks.at[0],
                           "dataset 'clicks': 3 refused records still stand in a.jsonl (3), and 2 "
                           "duplicates in its files"));
    assert_true(storage_lab_holds(&lab, "source", "lost"));
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(refused_lines_and_duplicates_leave_nothing_in_a_copy),
        CASE(rows_over_several_lines_keep_the_numbers_of_those_behind_them),
        CASE(a_file_that_is_refused_whole_leaves_nothing),
        CASE(half_a_line_is_copied_again_once_it_is_whole),
        CASE(a_death_before_the_commit_changes_nothing),
        CASE(duplicates_of_pushed_samples_leave_nothing_in_the_segment),
        CASE(duplicates_of_one_sample_files_have_no_copy),
        CASE(a_name_of_the_person_goes_with_the_last_sample),
        CASE(a_file_that_others_are_in_stays),
        CASE(a_name_that_stays_is_told_without_saying_it),
        CASE(what_stays_in_files_of_others_is_told),
    };

    return storage_lab_run(&lab, "storage: what became no sample", tests, WEIR_COUNT(tests));
}
