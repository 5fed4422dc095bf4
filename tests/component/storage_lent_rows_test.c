/* Rows that are lent for a prediction: read like samples, stored nowhere, and gone with their loan. */
#include "tests/component/storage_lab.h"
#include "tests/component/storage_push_lab.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUND_MS = 10 };

static const char NOTES[] = "  - name: notes\n"
                            "    source: {push: true, format: jsonl}\n"
                            "    time: {from: field, field: ts}\n"
                            "    key: {field: note}\n";
static const char TABLE[] = "  - name: table\n"
                            "    source: {push: true, format: csv}\n"
                            "    time: {from: field, field: ts}\n"
                            "    key: {field: note}\n";
static const char PICTURES[] =
    "  - name: pictures\n"
    "    source: {path: %s, format: files, include: \"*.jpg\", import: copy}\n"
    "    time: {from: mtime}\n";
static const char SHARDS[] =
    "  - name: shards\n"
    "    source: {path: %s, format: tar, include: \"*.tar\", import: copy}\n"
    "    time: {from: mtime}\n";
static const char TWO[] = "{\"note\":\"a\"}\n{\"note\":\"canarynote\"}\n";

static struct storage_lab lab;

struct lent {
    bool is_done;
    enum weir_status status;
    uint64_t first;
    size_t rows, refused;
    char key[16]; /* of the last row */
    struct weir_error err;
};

static void on_lent(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct lent *lent = owner;
    const struct msg_rows_lent *answer = reply != NULL ? reply->message : NULL;

    lent->is_done = true;
    lent->status = reply != NULL ? WEIR_OK : err->status;
    if (reply == NULL) {
        lent->err = *err;
        return;
    }
    lent->first = answer->first;
    lent->rows = answer->records.count;
    lent->refused = answer->refused.count;
    if (answer->keys.count > 0)
        snprintf(lent->key, sizeof(lent->key), "%s", answer->keys.at[answer->keys.count - 1]);
}

/* Lends `count` times the text, a frame each. */
static struct lent lend(const char *dataset, uint64_t loan, const char *text, int count)
{
    struct weir_frames frames = {.count = 0};
    struct lent lent = {.is_done = false};
    const struct msg_rows_lend message = {.dataset = dataset, .loan = loan};

    for (int i = 0; i < count; i++)
        weir_frames_copy(&frames, text, strlen(text));
    weir_rpc_call_framed(lab.peer, &(struct weir_framed_call){.type = MSG_rows_lend,
                                                              .message = &message,
                                                              .frames = &frames,
                                                              .deadline_ms = TEST_PATIENCE_MS,
                                                              .done = on_lent,
                                                              .owner = &lent});
    while (!lent.is_done)
        weir_loop_step(lab.loop, ROUND_MS);
    return lent;
}

static void give_back(uint64_t loan)
{
    struct msg_rows_returned answer;

    assert_int_equal(storage_lab_request(&lab, MSG_rows_return,
                                         &(struct msg_rows_return){.loan = loan}, MSG_rows_returned,
                                         &answer),
                     WEIR_OK);
}

static uint32_t state_of(uint64_t id)
{
    struct msg_located located;

    assert_int_equal(storage_lab_request(&lab, MSG_locate, &(struct msg_locate){.ids = {&id, 1}},
                                         MSG_located, &located),
                     WEIR_OK);
    return located.states.at[0];
}

static void lent_rows_are_read_like_samples_until_they_are_given_back(void **state)
{
    uint32_t found;
    struct lent lent, again;

    (void)state;
    storage_lab_must_declare(&lab, NOTES);
    lent = lend("notes", 7, TWO, 1);
    assert_int_equal(lent.status, WEIR_OK);
    assert_int_equal(lent.rows, 2);
    assert_string_equal(lent.key, "canarynote");
    assert_int_equal(weir_sample_dataset(lent.first), WEIR_DATASET_LENT);
    again = lend("notes", 7, TWO, 1);
    assert_int_equal(again.first, lent.first);
    assert_int_equal(state_of(lent.first + 1), WEIR_SAMPLE_LIVE);
    assert_string_equal(storage_lab_read(&lab, lent.first, &found), "{\"note\":\"a\"}");
    assert_int_equal(storage_lab_dataset(&lab, "notes").live, 0);
    give_back(7);
    give_back(7);
    assert_int_equal(state_of(lent.first), WEIR_SAMPLE_GONE);
    assert_null(storage_lab_read(&lab, lent.first + 1, &found));
    assert_int_equal(lend("notes", 7, "", 0).status, WEIR_NOT_FOUND);
    assert_false(storage_lab_holds(&lab, "data", "canarynote"));
}

static void malformed_rows_are_named_and_the_others_kept(void **state)
{
    struct lent lent;

    (void)state;
    storage_lab_must_declare(&lab, NOTES);
    lent = lend("notes", 1, "{\"note\":\"a\"}\nno\n\n{\"note\":5}\n", 1);
    assert_int_equal(lent.rows, 2);
    assert_int_equal(lent.refused, 1);
    assert_string_equal(lent.key, "5");
}

/* Rows of a table lie in the dataset's columns, whatever those of their header; they need not have all. */
static void rows_of_a_table_get_the_columns_of_the_dataset(void **state)
{
    static const char ALL[] = "ts,note,x,text\n1,a,5,\"one, two\"\n";
    const struct msg_push push = {.dataset = "table", .client = "a", .batch = 1};
    struct lent lent;
    uint32_t found;

    (void)state;
    storage_lab_must_declare(&lab, TABLE);
    assert_int_equal(storage_push_text(&lab, &push, ALL).answer.samples, 1);
    lent = lend("table", 1, ALL, 1);
    assert_string_equal(storage_lab_read(&lab, lent.first, &found), "1,a,5,\"one, two\"");
    assert_string_equal(lent.key, "a");
    lent = lend("table", 2, "text,x,other,note\r\n\"one, \"\"2\"\"\",7,z,b\r\nc,,,\r\n", 1);
    assert_int_equal(lent.rows, 2);
    assert_string_equal(storage_lab_read(&lab, lent.first, &found), ",b,7,\"one, \"\"2\"\"\"");
    assert_string_equal(storage_lab_read(&lab, lent.first + 1, &found), ",,,c");
    lent = lend("table", 3, "x\n9\n", 1);
    assert_string_equal(lent.key, "");
    assert_string_equal(storage_lab_read(&lab, lent.first, &found), ",,9,");
    lent = lend("table", 4, "text;x\n1;2\n", 1); /* of a dataset with commas: a single column */
    assert_int_equal(lent.status, WEIR_INVALID);
    assert_string_equal(
        lent.err.text,
        "line 1: found the columns text;x, expected some of those of the dataset, in any order, divided as "
        "in its files: ts,note,x,text; more may follow");
}

static void a_file_that_is_a_sample_is_a_row(void **state)
{
    struct lent lent;
    uint32_t found;

    (void)state;
    storage_lab_must_declare(&lab, PICTURES);
    lent = lend("pictures", 1, "some\nbytes", 3);
    assert_int_equal(lent.rows, 3);
    assert_string_equal(storage_lab_read(&lab, lent.first + 2, &found), "some\nbytes");
}

static void what_cannot_be_lent_is_refused(void **state)
{
    (void)state;
    storage_lab_must_declare(&lab, SHARDS);
    assert_int_equal(lend("shards", 1, "bytes", 1).status, WEIR_UNSUPPORTED);
    assert_int_equal(lend("nobody", 1, "bytes", 1).status, WEIR_NOT_FOUND);
    storage_lab_must_declare(&lab, NOTES);
    assert_int_equal(lend("notes", 1, TWO, 2).status, WEIR_INVALID);
}

static void a_loan_that_is_not_renewed_ends(void **state)
{
    struct lent lent;

    (void)state;
    storage_lab_must_declare(&lab, NOTES);
    lent = lend("notes", 1, TWO, 1);
    storage_lab_stop(&lab);
    storage_lab_start(&lab);
    assert_int_equal(state_of(lent.first), WEIR_SAMPLE_GONE);
    storage_lab_stop(&lab);
    lab.faults = "storage.lent.late=1";
    storage_lab_start(&lab);
    lab.faults = NULL;
    lent = lend("notes", 1, TWO, 1);
    while (state_of(lent.first) == WEIR_SAMPLE_LIVE)
        weir_loop_step(lab.loop, ROUND_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, lent_rows_are_read_like_samples_until_they_are_given_back),
        STORAGE_CASE(&lab, malformed_rows_are_named_and_the_others_kept),
        STORAGE_CASE(&lab, rows_of_a_table_get_the_columns_of_the_dataset),
        STORAGE_CASE(&lab, a_file_that_is_a_sample_is_a_row),
        STORAGE_CASE(&lab, what_cannot_be_lent_is_refused),
        STORAGE_CASE(&lab, a_loan_that_is_not_renewed_ends),
    };

    return storage_lab_run(&lab, "storage_lent_rows", tests, WEIR_COUNT(tests));
}
