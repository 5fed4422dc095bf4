/* An erased sample stays out, however it comes again; one that the operator lets in is counted. */
#include "core/base/clock.h"
#include "core/wire/sample.h"
#include "tests/component/storage_push_lab.h"
#include "tests/support/loop.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LINES(import, rest)                                                                    \
    "  - name: clicks\n"                                                                       \
    "    source: {path: %s, format: jsonl, on_erase: scrub, settle: 0ms, import: " import rest \
    "}\n"                                                                                      \
    "    time: {from: field, field: ts}\n"
static const char BY_ID[] = LINES("copy", "");
static const char OF_SUBJECTS[] = LINES("copy", "") "    subject: {field: user}\n";
static const char ACCEPTING[] = LINES("copy", ", on_return: accept") "    subject: {field: user}\n";
static const char REFUSING[] = LINES("copy", ", on_return: refuse") "    subject: {field: user}\n";
static const char REFERRED[] = LINES("reference", "");
static const char OF_KEYS[] = LINES("copy", "") "    key: {field: n}\n";
static const char TABLE[] = "  - name: clicks\n"
                            "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n";
static const char NOTES[] = "  - name: notes\n"
                            "    source: {path: %s, format: files, include: \"*.txt\",\n"
                            "             import: copy, on_erase: unlink, settle: 0ms}\n"
                            "    time: {from: mtime}\n"
                            "    label: none\n";
static const char PUSHED[] = "  - name: clicks\n"
                             "    source: {push: true, format: jsonl, on_erase: scrub}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n";
static const char ANNA_LINE[] = "{\"ts\":2,\"user\":\"anna\",\"page\":\"a heron of porcelain\"}\n";

enum { WRONG = 2 }; /* a verdict of an examination */

static struct storage_lab lab;

static void erase_id(const char *uuid, uint64_t id)
{
    struct msg_erase_accepted accepted;

    assert_int_equal(storage_lab_request(&lab, MSG_erase_accept,
                                         &(struct msg_erase_accept){.uuid = uuid, .ids = {&id, 1}},
                                         MSG_erase_accepted, &accepted),
                     WEIR_OK);
    (void)storage_lab_await_erasure(&lab, accepted.erasure, "verified");
}

/* Waits until the accounts are these. */
static void await_accounts(const char *dataset, uint64_t live, uint64_t blocked)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct msg_dataset_is is = storage_lab_dataset(&lab, dataset);

    while (is.live != live || is.blocked != blocked) {
        if (weir_now_ms() >= limit_ms)
            fail_msg("live %d blocked %d returned %d", (int)is.live, (int)is.blocked,
                     (int)is.returned);
        weir_loop_step(lab.loop, 10);
        is = storage_lab_dataset(&lab, dataset);
    }
    assert_int_equal(is.ingested, is.live + is.erased + is.removed + is.replaced);
}

static void begin(const char *yaml, const char *name, const char *text, uint64_t live)
{
    storage_lab_write(&lab, name, text);
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
    await_accounts(yaml == NOTES ? "notes" : "clicks", live, 0);
}

static void a_record_stays_out_under_any_file_name_and_with_other_blanks(void **state)
{
    struct msg_doctor_is examined;

    (void)state;
    begin(BY_ID, "a.jsonl", "{\"ts\":1,\"page\":\"shop\"}\n{\"ts\":2,\"page\":\"heron\"}\n", 2);
    erase_id("u1", weir_sample_id(1, 0, 1));
    storage_lab_write(&lab, "b.jsonl", "{\"ts\":2,\"page\":\"heron\"}\n{\"ts\":3}\n");
    await_accounts("clicks", 2, 1);
    storage_lab_write(
        &lab, "c.jsonl",
        "{ \"page\" : \"h\\u0065ron\",  \"ts\": 2 }\n{\"ts\":4,\"page\":\"heron\"}\n");
    await_accounts("clicks", 3, 2);
    examined = storage_lab_examine(&lab, true);
    for (size_t i = 0; i < examined.verdicts.count; i++)
        if (examined.verdicts.at[i] == WRONG)
            fail_msg("%s: %s", examined.checks.at[i], examined.found.at[i]);
}

static void a_row_stays_out_with_other_quotes_and_columns(void **state)
{
    (void)state;
    begin(TABLE, "a.csv", "ts,page,to\n1,shop,x\n2,heron,shop\n", 2);
    erase_id("u1", weir_sample_id(1, 0, 1));
    storage_lab_remove(&lab, "a.csv"); /* whose columns others would have to have */
    await_accounts("clicks", 0, 0);
    storage_lab_write(&lab, "b.csv", "to,ts,page\n\"shop\", 2,\"heron\"\nheron,2,shop\n");
    await_accounts("clicks", 1, 1);
}

/* `cp -p` over a file: size, mtime and inode stay, whatever comes to stand in it. */
static void copy_over(const char *name, const char *text)
{
    const char *path = storage_lab_path(&lab, name);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
    struct stat before;
    FILE *file;

    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(before.st_size, strlen(text));
    times[1] = before.st_mtim;
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_record_stays_out_of_a_reference_under_any_file_name(void **state)
{
    (void)state;
    begin(REFERRED, "a.jsonl", "{\"ts\":1,\"page\":\"shop\"}\n{\"ts\":2,\"page\":\"heron\"}\n", 2);
    erase_id("u1", weir_sample_id(1, 0, 1));
    storage_lab_write(&lab, "b.jsonl", "{\"page\":\"heron\", \"ts\":2}\n{\"ts\":3}\n");
    await_accounts("clicks", 2, 1);
}

static void a_copy_from_before_over_a_scrubbed_reference_is_noticed(void **state)
{
    static const char BEFORE[] = "{\"ts\":1,\"page\":\"shop\"}\n{\"ts\":2,\"page\":\"heron\"}\n"
                                 "{\"ts\":3,\"page\":\"weir\"}\n";
    struct msg_dataset_is is;

    (void)state;
    begin(REFERRED, "a.jsonl", BEFORE, 3);
    erase_id("u1", weir_sample_id(1, 0, 1));
    copy_over("source/a.jsonl", BEFORE);
    await_accounts("clicks", 2, 1);
    erase_id("u2", weir_sample_id(1, 0, 4)); /* what was shop is another sample now */
    storage_lab_kill(&lab);
    copy_over("source/a.jsonl", BEFORE);
    storage_lab_start(&lab);
    await_accounts("clicks", 1, 2);
    is = storage_lab_dataset(&lab, "clicks");
    assert_int_equal(is.erased, 2);
}

static void a_scrubbed_reference_that_only_has_other_rights_is_what_it_was(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    begin(REFERRED, "a.jsonl", "{\"ts\":1,\"page\":\"shop\"}\n{\"ts\":2,\"page\":\"heron\"}\n", 2);
    erase_id("u1", weir_sample_id(1, 0, 1));
    assert_int_equal(chmod(storage_lab_path(&lab, "source/a.jsonl"), 0640), 0);
    storage_lab_append(&lab, "a.jsonl", "{\"ts\":3,\"page\":\"weir\"}\n");
    await_accounts("clicks", 2, 0);
    assert_int_equal(chmod(storage_lab_path(&lab, "source/a.jsonl"), 0644), 0);
    storage_lab_write(&lab, "b.jsonl", "{\"ts\":4}\n");
    await_accounts("clicks", 3, 0);
    is = storage_lab_dataset(&lab, "clicks");
    assert_int_equal(is.replaced, 0);
}

static void what_is_pushed_again_stays_out(void **state)
{
    const struct msg_push first = {.dataset = "clicks", .client = "a", .batch = 1};
    const struct msg_push again = {.dataset = "clicks", .client = "b", .batch = 1};
    const uint64_t id = weir_sample_id(1, 0, 0);

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, PUSHED), WEIR_OK);
    assert_int_equal(storage_push_text(&lab, &first, ANNA_LINE).answer.samples, 1);
    erase_id("u1", id);
    assert_int_equal(storage_push_text(&lab, &again,
                                       "{\"page\": \"a heron of porcelain\", \"user\": \"anna\", "
                                       "\"ts\": 2}\n{\"ts\":3,\"user\":\"anna\"}\n")
                         .answer.left_out,
                     1);
    await_accounts("clicks", 1, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "porcelain"));
}

static void no_clock_of_a_file_lets_a_person_back_in(void **state)
{
    const struct timespec future[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    const struct timespec past[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    (void)state;
    begin(OF_SUBJECTS, "a.jsonl", ANNA_LINE, 1);
    (void)storage_lab_erase(&lab, "u1", "anna", "verified");
    storage_lab_write(&lab, ".b", "{\"ts\":8,\"user\":\"anna\",\"page\":\"other\"}\n{\"ts\":9}\n");
    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/.b"), future, 0), 0);
    assert_int_equal(
        rename(storage_lab_path(&lab, "source/.b"), storage_lab_path(&lab, "source/b.jsonl")), 0);
    await_accounts("clicks", 1, 1);
    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/a.jsonl"), past, 0), 0);
    await_accounts("clicks", 1, 2); /* touched: it is read again */
    assert_false(storage_lab_holds(&lab, "data/storage", "porcelain"));
}

static void anothers_file_may_have_the_name_of_an_erased_one(void **state)
{
    (void)state;
    begin(NOTES, "a.txt", "the purple weir of anna", 1);
    erase_id("u1", weir_sample_id(1, 0, 0));
    assert_int_equal(utimensat(AT_FDCWD, storage_lab_path(&lab, "source/a.txt"), NULL, 0), 0);
    await_accounts("notes", 0, 1);
    storage_lab_write(&lab, ".x", "bert has the same name for his file");
    assert_int_equal(
        rename(storage_lab_path(&lab, "source/.x"), storage_lab_path(&lab, "source/a.txt")), 0);
    await_accounts("notes", 1, 1);
    storage_lab_write(&lab, "z.txt", "the purple weir of anna");
    await_accounts("notes", 1, 2);
    assert_false(storage_lab_holds(&lab, "data/storage", "purple"));
    storage_lab_kill(&lab); /* who is kept out is known after a death, too */
    storage_lab_start(&lab);
    storage_lab_write(&lab, "y.txt", "carl writes the last one");
    await_accounts("notes", 2, 2);
}

static void anothers_file_comes_in_that_was_copied_over_an_erased_one(void **state)
{
    (void)state;
    begin(NOTES, "a.txt", "the purple weir of anna", 1);
    erase_id("u1", weir_sample_id(1, 0, 0));
    copy_over("source/a.txt", "as long are bert's news");
    await_accounts("notes", 1, 0);
    assert_true(storage_lab_holds(&lab, "data/storage", "bert"));
}

static void an_erased_key_stays_out_whatever_is_said_with_it(void **state)
{
    (void)state;
    begin(OF_KEYS, "a.jsonl", "{\"ts\":1,\"n\":\"k1\"}\n{\"ts\":2,\"n\":\"k2\"}\n", 2);
    erase_id("u1", weir_sample_id(1, 0, 1));
    storage_lab_write(&lab, "b.jsonl",
                      "{\"ts\":7,\"n\":\"k2\",\"more\":1}\n{\"ts\":8,\"n\":\"k3\"}\n");
    await_accounts("clicks", 2, 1);
}

static void the_operator_may_let_them_in_and_they_are_counted(void **state)
{
    (void)state;
    begin(OF_SUBJECTS, "a.jsonl", ANNA_LINE, 1);
    (void)storage_lab_erase(&lab, "u1", "anna", "verified");
    assert_int_equal(storage_lab_declare(&lab, ACCEPTING), WEIR_OK);
    storage_lab_write(&lab, "b.jsonl", ANNA_LINE);
    await_accounts("clicks", 1, 0);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").returned, 1);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_await(&lab, "clicks", 1).returned, 1);
    assert_int_equal(storage_lab_declare(&lab, OF_SUBJECTS), WEIR_OK); /* says nothing of it */
    storage_lab_write(&lab, "c.jsonl", "{\"ts\":5,\"user\":\"anna\"}\n");
    await_accounts("clicks", 2, 1); /* a.jsonl has not come again: it lies there as it was */
    assert_int_equal(storage_lab_declare(&lab, REFUSING), WEIR_OK);
    storage_lab_write(&lab, "d.jsonl", "{\"ts\":6,\"user\":\"anna\"}\n");
    await_accounts("clicks", 2, 2);
    assert_int_equal(storage_lab_dataset(&lab, "clicks").returned, 2);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(a_record_stays_out_under_any_file_name_and_with_other_blanks),
        CASE(a_record_stays_out_of_a_reference_under_any_file_name),
        CASE(a_row_stays_out_with_other_quotes_and_columns),
        CASE(a_copy_from_before_over_a_scrubbed_reference_is_noticed),
        CASE(a_scrubbed_reference_that_only_has_other_rights_is_what_it_was),
        CASE(what_is_pushed_again_stays_out),
        CASE(no_clock_of_a_file_lets_a_person_back_in),
        CASE(anothers_file_may_have_the_name_of_an_erased_one),
        CASE(anothers_file_comes_in_that_was_copied_over_an_erased_one),
        CASE(an_erased_key_stays_out_whatever_is_said_with_it),
        CASE(the_operator_may_let_them_in_and_they_are_counted),
    };
    return storage_lab_run(&lab, "storage: what comes again", tests, WEIR_COUNT(tests));
}
