/* Folders of a source that are swapped for symbolic links before an erasure: nothing outside of the source is
 * overwritten or unlinked, and the erasure names what it did not touch. Weir's own folders lie in no root. */
#include "core/base/file.h"
#include "tests/component/storage_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char ANNA[] = "anna@example.org";

static const char PICTURES[] =
    "  - name: pictures\n"
    "    source: {path: %s/in, format: files, include: \"**.jpg\", sidecar: .json, settle: 0ms,\n"
    "             on_erase: unlink}\n"
    "    time: {from: sidecar, field: at}\n"
    "    subject: {from: sidecar, field: who}\n";
static const char CLICKS[] =
    "  - name: clicks\n"
    "    source: {path: %s/in, format: jsonl, include: \"**.jsonl\", settle: 0ms,\n"
    "             on_erase: scrub}\n"
    "    time: {from: field, field: ts}\n"
    "    subject: {field: user}\n";

static const char OWN[] =
    "  - name: copied\n"
    "    source: {path: %s/in, format: jsonl, import: copy, include: \"**.jsonl\", settle: 0ms}\n"
    "    time: {from: field, field: ts}\n"
    "  - name: pushed\n"
    "    source: {push: true, format: jsonl}\n"
    "    time: {from: field, field: ts}\n";

static struct storage_lab lab;

/* Storage that was told its roots. */
static int setup_with_roots(void **state)
{
    storage_lab_begin(*state);
    setenv("WEIR_ROOTS", storage_lab_path(*state, "source"), 1);
    storage_lab_start(*state);
    unsetenv("WEIR_ROOTS");
    return 0;
}

static void restart_with_roots(void)
{
    storage_lab_kill(&lab);
    setenv("WEIR_ROOTS", storage_lab_path(&lab, "source"), 1);
    storage_lab_start(&lab);
    unsetenv("WEIR_ROOTS");
}

static void declare(const char *yaml, const char *dataset)
{
    storage_lab_write(&lab, "in/deep/a.jpg", "the heron that Anna saw");
    storage_lab_write(&lab, "in/deep/a.json", "{\"at\": 7, \"who\": \"anna@example.org\"}");
    storage_lab_write(&lab, "in/deep/b.jsonl",
                      "{\"ts\":7,\"user\":\"anna@example.org\",\"page\":\"a lamp of brass\"}\n");
    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, dataset, 1).live, 1);
}

/* The folder goes outside, and a link leads there from where it was. */
static void swap(const char *folder)
{
    assert_int_equal(rename(storage_lab_path(&lab, folder), storage_lab_path(&lab, "outside")), 0);
    assert_int_equal(symlink(storage_lab_path(&lab, "outside"), storage_lab_path(&lab, folder)), 0);
}

static void put_back(const char *folder)
{
    assert_int_equal(unlink(storage_lab_path(&lab, folder)), 0);
    assert_int_equal(rename(storage_lab_path(&lab, "outside"), storage_lab_path(&lab, folder)), 0);
}

static void expect_nothing_touched(const char *folder)
{
    static const char *const CLEAR[] = {"the heron that Anna saw", "who\": \"anna@example.org",
                                        "a lamp of brass"};

    for (size_t i = 0; i < WEIR_COUNT(CLEAR); i++)
        assert_true(storage_lab_holds(&lab, folder, CLEAR[i]));
}

static void erase_behind_a_swapped_folder(const char *yaml, const char *dataset)
{
    struct msg_erase_is erasure;

    declare(yaml, dataset);
    swap("source/in/deep");
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    expect_nothing_touched("outside");
    assert_int_equal(erasure.files_scrubbed, 0);
    assert_int_equal(erasure.remarks.count, 1);
    assert_non_null(strstr(erasure.remarks.at[0], "file 0 is gone"));
}

static void a_folder_that_became_a_link_has_nothing_unlinked_behind_it(void **state)
{
    (void)state;
    erase_behind_a_swapped_folder(PICTURES, "pictures");
}

static void a_folder_that_became_a_link_has_nothing_overwritten_behind_it(void **state)
{
    (void)state;
    erase_behind_a_swapped_folder(CLICKS, "clicks");
}

/* Waits for the trouble that holds the erasure up, or until it goes on without. */
static struct msg_erase_is await_trouble(void)
{
    struct msg_erase_is answer = storage_lab_await_erasure(&lab, 1, "in_force");

    while (answer.trouble[0] == '\0' && strcmp(answer.state, "in_force") == 0) {
        weir_loop_step(lab.loop, 10);
        answer = storage_lab_await_erasure(&lab, 1, "in_force");
    }
    return answer;
}

/* The answer of a holder of samples, which an erasure waits for before it is in force. */
static void hold(uint64_t epoch)
{
    const struct msg_hold held = {.holder = "worker-1", .session = 7, .epoch = epoch};
    struct msg_hold_is answer;

    assert_int_equal(storage_lab_request(&lab, MSG_hold, &held, MSG_hold_is, &answer), WEIR_OK);
}

static void erase_outside_of_the_roots(const char *yaml, const char *dataset, const char *file)
{
    struct msg_erase_is erasure;

    declare(yaml, dataset);
    hold(0);
    (void)storage_lab_erase(&lab, "u1", ANNA, "tombstoned");
    swap("source/in");
    hold(1);
    erasure = await_trouble();
    expect_nothing_touched("outside");
    assert_non_null(strstr(erasure.trouble, file));
    assert_non_null(strstr(erasure.trouble, "none of `roots`"));

    put_back("source/in");
    erasure = storage_lab_await_erasure(&lab, 1, "verified");
    assert_int_equal(erasure.files_scrubbed, 1);
    assert_int_equal(erasure.remarks.count, 0);
}

static void a_source_that_leads_out_of_the_roots_has_nothing_unlinked(void **state)
{
    (void)state;
    erase_outside_of_the_roots(PICTURES, "pictures", "source/in/deep/a.jpg");
    assert_false(storage_lab_holds(&lab, "source", "the heron that Anna saw"));
    assert_false(storage_lab_holds(&lab, "source", "who\": \"anna@example.org"));
}

static void a_source_that_leads_out_of_the_roots_has_nothing_overwritten(void **state)
{
    (void)state;
    erase_outside_of_the_roots(CLICKS, "clicks", "source/in/deep/b.jsonl");
    assert_false(storage_lab_holds(&lab, "source", "a lamp of brass"));
}

/* It comes into force all the same: what cannot be overwritten must not be trained on either. */
static void an_erasure_of_a_source_that_may_not_be_scanned_names_what_is_in_its_way(void **state)
{
    struct msg_erase_is erasure;

    (void)state;
    declare(CLICKS, "clicks");
    swap("source/in");
    restart_with_roots();
    (void)storage_lab_erase(&lab, "u1", ANNA, "in_force");
    erasure = await_trouble();
    assert_non_null(strstr(erasure.trouble, "source/in/deep/b.jsonl"));
    assert_non_null(strstr(erasure.trouble, "none of `roots`"));
    assert_non_null(strstr(storage_lab_dataset(&lab, "clicks").complaints.at[0], "`roots`"));
    assert_true(storage_lab_holds(&lab, "outside", "a lamp of brass"));

    put_back("source/in");
    assert_int_equal(storage_lab_await_erasure(&lab, 1, "verified").files_scrubbed, 1);
    assert_false(storage_lab_holds(&lab, "source", "a lamp of brass"));
}

/* As if the data directory had been moved there. */
static void a_source_that_comes_to_contain_a_folder_of_weir_is_scanned_no_longer(void **state)
{
    (void)state;
    declare(CLICKS, "clicks");
    storage_lab_kill(&lab);
    storage_lab_write(&lab, "in/deep/weir/log/c.jsonl",
                      "{\"ts\":8,\"user\":\"anna@example.org\"}\n");
    setenv("WEIR_CLOSED", storage_lab_path(&lab, "source/in/deep/weir"), 1);
    storage_lab_start(&lab);
    unsetenv("WEIR_CLOSED");
    assert_int_equal(storage_lab_erase(&lab, "u1", ANNA, "verified").files_scrubbed, 1);
    assert_non_null(strstr(storage_lab_dataset(&lab, "clicks").complaints.at[0],
                           "source/in/deep/weir, a directory of Weir's own"));
    assert_false(storage_lab_holds(&lab, "source", "a lamp of brass"));
}

/* A death between the file and its row leaves one that no row knows. */
static void what_nobody_knows_in_folders_of_weir_is_removed_at_the_start(void **state)
{
    static const char *const FOLDERS[] = {"data/storage/copied/deep", "data/storage/pushed"};
    const char *left[WEIR_COUNT(FOLDERS)];
    struct weir_error err;

    (void)state;
    storage_lab_write(&lab, "in/deep/b.jsonl", "{\"ts\":7}\n");
    assert_int_equal(storage_lab_declare(&lab, OWN), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "copied", 1).live, 1);
    for (size_t i = 0; i < WEIR_COUNT(FOLDERS); i++) {
        const char *folder = storage_lab_path(&lab, FOLDERS[i]);
        left[i] = weir_arena_format(lab.arena, "%s/00000009.jsonl", folder);
        assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
        assert_int_equal(weir_file_write_atomic(left[i], weir_bytes_of("{\"ts\":8}\n"), &err),
                         WEIR_OK);
    }
    restart_with_roots();
    assert_int_equal(storage_lab_await(&lab, "copied", 1).live, 1);
    for (size_t i = 0; i < WEIR_COUNT(FOLDERS); i++)
        assert_int_equal(access(left[i], F_OK), -1);
    assert_int_equal(access(storage_lab_path(&lab, "data/storage/copied/deep/b.jsonl"), F_OK), 0);
}

int main(void)
{
#define CASE(test)   STORAGE_CASE(&lab, test)
#define ROOTED(test) STORAGE_CASE_AFTER(&lab, setup_with_roots, test)
    const struct CMUnitTest tests[] = {
        CASE(a_folder_that_became_a_link_has_nothing_unlinked_behind_it),
        CASE(a_folder_that_became_a_link_has_nothing_overwritten_behind_it),
        CASE(a_source_that_comes_to_contain_a_folder_of_weir_is_scanned_no_longer),
        ROOTED(what_nobody_knows_in_folders_of_weir_is_removed_at_the_start),
        ROOTED(a_source_that_leads_out_of_the_roots_has_nothing_unlinked),
        ROOTED(a_source_that_leads_out_of_the_roots_has_nothing_overwritten),
        ROOTED(an_erasure_of_a_source_that_may_not_be_scanned_names_what_is_in_its_way),
    };
    return storage_lab_run(&lab, "storage: swapped folders", tests, WEIR_COUNT(tests));
}
