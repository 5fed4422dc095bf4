/* Names that nobody has: refused alone, told beside others, and accepted when that is meant. */
#include "tests/component/storage_lab.h"

#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                             "             import: copy, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n"
                             "    key: {field: id}\n";
static const char *const ANNA = "anna@example.org", *const NOBODY = "ana@example.org",
                         *const FIRST = "c-1", *const NO_KEY = "c-01";

static struct storage_lab lab;

static void declare_clicks(void)
{
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\": 1, \"user\": \"anna@example.org\", \"id\": \"c-1\"}\n"
                      "{\"ts\": 2, \"user\": \"bob@example.org\", \"id\": \"c-2\"}\n");
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
}

static struct msg_erase_accepted accepted(const struct msg_erase_accept *asked)
{
    struct msg_erase_accepted answer;

    if (storage_lab_request(&lab, MSG_erase_accept, asked, MSG_erase_accepted, &answer) != WEIR_OK)
        fail_msg("refused: %s", lab.err.text);
    return answer;
}

static void assert_refused(const struct msg_erase_accept *asked)
{
    struct msg_erase_accepted answer;

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, asked, MSG_erase_accepted, &answer),
        WEIR_NOT_FOUND);
    assert_string_equal(lab.err.text,
                        "no sample has any of these names: nothing was created; --allow-none makes "
                        "a receipt that says so");
}

static void a_request_that_matches_nothing_creates_nothing(void **state)
{
    const uint64_t id = weir_sample_id(1, 0, 7);
    struct msg_erase_accepted answer;

    (void)state;
    declare_clicks();
    assert_refused(
        &(struct msg_erase_accept){.uuid = "u1", .subjects = {&NOBODY, 1}, .expects_match = true});
    assert_refused(&(struct msg_erase_accept){
        .uuid = "u2", .keys = {&NO_KEY, 1}, .ids = {&id, 1}, .expects_match = true});
    assert_refused(&(struct msg_erase_accept){/* names of a subject are no keys */
                                              .uuid = "u3",
                                              .keys = {&ANNA, 1},
                                              .expects_match = true});
    answer = accepted(
        &(struct msg_erase_accept){.uuid = "u4", .subjects = {&ANNA, 1}, .expects_match = true});
    assert_int_equal(answer.erasure, 1); /* those before it left no trace */
    assert_int_equal(answer.matched, 1);
}

static void who_means_it_gets_a_receipt_for_nobody(void **state)
{
    (void)state;
    declare_clicks();
    (void)accepted(&(struct msg_erase_accept){.uuid = "u1", .subjects = {&NOBODY, 1}});
    assert_int_equal(storage_lab_await_erasure(&lab, 1, "verified").samples, 0);
}

static void names_that_match_nothing_are_told_beside_those_that_do(void **state)
{
    const char *const subjects[] = {NOBODY, ANNA, "bob@example.org", "b@example.org"};
    const char *const keys[] = {FIRST, NO_KEY};
    const uint64_t ids[] = {weir_sample_id(1, 0, 0), weir_sample_id(9, 0, 0)};
    struct msg_erase_accepted answer;

    (void)state;
    declare_clicks();
    answer = accepted(&(struct msg_erase_accept){.uuid = "u1",
                                                 .subjects = {subjects, 4},
                                                 .keys = {keys, 2},
                                                 .ids = {ids, 2},
                                                 .expects_match = true});
    assert_int_equal(answer.matched, 2);
    assert_int_equal(answer.unmatched_subjects.count, 2);
    assert_int_equal(answer.unmatched_subjects.at[0], 0);
    assert_int_equal(answer.unmatched_subjects.at[1], 3);
    assert_int_equal(answer.unmatched_keys.count, 1);
    assert_int_equal(answer.unmatched_keys.at[0], 1);
    assert_int_equal(answer.unmatched_ids.count, 1);
    assert_int_equal(answer.unmatched_ids.at[0], 1);
}

/* A name of an earlier erasure is no misspelling: a second request gets the receipt that nothing is left. */
static void what_was_asked_for_before_matches(void **state)
{
    const uint64_t id = weir_sample_id(1, 0, 0);

    (void)state;
    declare_clicks();
    (void)accepted(
        &(struct msg_erase_accept){.uuid = "u1", .subjects = {&ANNA, 1}, .expects_match = true});
    (void)storage_lab_await_erasure(&lab, 1, "verified");
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_int_equal(accepted(&(struct msg_erase_accept){
                                  .uuid = "u2", .subjects = {&ANNA, 1}, .expects_match = true})
                         .matched,
                     0);
    assert_int_equal(
        accepted(&(struct msg_erase_accept){.uuid = "u3", .ids = {&id, 1}, .expects_match = true})
            .matched,
        0);
    assert_refused(&(struct msg_erase_accept){/* its key was in the record alone */
                                              .uuid = "u4",
                                              .keys = {&FIRST, 1},
                                              .expects_match = true});
}

static void a_name_of_another_dataset_matches_nothing(void **state)
{
    static const char BOTH[] =
        "  - name: clicks\n"
        "    source: {path: %s, include: clicks.jsonl, format: jsonl, on_erase: scrub,\n"
        "             import: copy, settle: 0ms}\n"
        "    time: {from: field, field: ts}\n"
        "    subject: {field: user}\n"
        "  - name: views\n"
        "    source: {path: %s, include: views.jsonl, format: jsonl, on_erase: scrub,\n"
        "             import: copy, settle: 0ms}\n"
        "    time: {from: field, field: ts}\n"
        "    subject: {field: user}\n";

    (void)state;
    storage_lab_write(&lab, "clicks.jsonl", "{\"ts\": 1, \"user\": \"anna@example.org\"}\n");
    storage_lab_write(&lab, "views.jsonl", "{\"ts\": 1, \"user\": \"bob@example.org\"}\n");
    assert_int_equal(storage_lab_declare(&lab, BOTH), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    (void)storage_lab_await(&lab, "views", 1);
    assert_refused(&(struct msg_erase_accept){
        .uuid = "u1", .dataset = "views", .subjects = {&ANNA, 1}, .expects_match = true});
    (void)accepted(&(struct msg_erase_accept){
        .uuid = "u2", .dataset = "clicks", .subjects = {&ANNA, 1}, .expects_match = true});
    assert_refused(&(struct msg_erase_accept){/* asked for before, but not there */
                                              .uuid = "u3",
                                              .dataset = "views",
                                              .subjects = {&ANNA, 1},
                                              .expects_match = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, a_request_that_matches_nothing_creates_nothing),
        STORAGE_CASE(&lab, who_means_it_gets_a_receipt_for_nobody),
        STORAGE_CASE(&lab, names_that_match_nothing_are_told_beside_those_that_do),
        STORAGE_CASE(&lab, what_was_asked_for_before_matches),
        STORAGE_CASE(&lab, a_name_of_another_dataset_matches_nothing),
    };

    return storage_lab_run(&lab, "names that nobody has", tests, WEIR_COUNT(tests));
}
