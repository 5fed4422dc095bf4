/* The search in the files of Postgres: what stands there keeps an erasure from being verified, unless others share
 * it. */
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/reading/use_leases.h"
#include "tests/support/loop.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char JSONL[] = "  - name: clicks\n"
                            "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                            "             import: copy, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n"
                            "    subject: {field: user}\n";
/* Records of less than a long passage. */
static const char MILLS[] = "  - name: mills\n"
                            "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n"
                            "    time: {from: field, field: ts}\n"
                            "    label: {field: mill, classes: stream}\n"
                            "    subject: {field: user}\n";
static const char WORDS[] = "seventeen herons were seen at the mill of Anna, and one of porcelain";
static const char ANNA[] = "anna-of-the-mill@example.org";

static struct storage_lab lab;

static void own_postgres(void)
{
    lab.cluster = weir_arena_format(lab.arena, "%s/data", lab.postgres.dir.path);
}

static void declare_clicks(void)
{
    storage_lab_write(&lab, "a.jsonl",
                      weir_arena_format(lab.arena,
                                        "{\"ts\":1,\"user\":\"%s\",\"page\":\"%s\"}\n"
                                        "{\"ts\":2,\"user\":\"bob\",\"page\":\"shop\"}\n",
                                        ANNA, WORDS));
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
}

/* Seals until something stands in the way of the erasure, which must be so; what that is. */
static const char *await_trouble(uint64_t erasure)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    for (;;) {
        struct msg_erase_troubles is;

        assert_true(weir_now_ms() < limit_ms);
        storage_lab_seal(&lab);
        weir_loop_step(lab.loop, 10);
        assert_int_equal(
            storage_lab_request(&lab, MSG_erase_troubles_request, NULL, MSG_erase_troubles, &is),
            WEIR_OK);
        for (size_t i = 0; i < is.erasures.count; i++) {
            if (is.erasures.at[i] == erasure)
                return is.troubles.at[i];
        }
        assert_string_not_equal(storage_lab_await_erasure(&lab, erasure, "accepted").state,
                                "verified");
    }
}

/* Scrubbed, and not sealed. Its number. */
static uint64_t erase_anna(const char *reference)
{
    const char *subject = ANNA;
    const struct msg_erase_accept asked = {
        .uuid = "u1", .reference = reference, .subjects = {&subject, 1}};
    struct msg_erase_accepted accepted;

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &accepted),
        WEIR_OK);
    (void)storage_lab_await_erasure(&lab, accepted.erasure, "scrubbed");
    return accepted.erasure;
}

static void words_in_a_row_keep_an_erasure_from_being_verified(void **state)
{
    const char *trouble;
    uint64_t erasure;

    (void)state;
    own_postgres();
    declare_clicks();
    weir_test_postgres_sql(&lab.postgres, "CREATE TABLE public.leftover (words text)");
    weir_test_postgres_sql(
        &lab.postgres,
        weir_arena_format(lab.arena, "INSERT INTO public.leftover VALUES ('%s')", WORDS));
    weir_test_postgres_sql(&lab.postgres, "CHECKPOINT");
    erasure = erase_anna("");
    trouble = await_trouble(erasure);
    assert_non_null(strstr(trouble, "erased content still stands in"));
    assert_non_null(strstr(trouble, lab.cluster));

    weir_test_postgres_sql(&lab.postgres, "DROP TABLE public.leftover");
    weir_test_postgres_sql(&lab.postgres, "ALTER SYSTEM SET wal_recycle = off");
    weir_test_postgres_kill(&lab.postgres); /* the settings are read, and the table's file goes */
    weir_test_postgres_resume(&lab.postgres);
    weir_test_postgres_sql(&lab.postgres, "SELECT pg_switch_wal()");
    weir_test_postgres_sql(&lab.postgres, "CHECKPOINT");
    weir_test_postgres_sql(&lab.postgres, "SELECT pg_switch_wal()");
    weir_test_postgres_sql(&lab.postgres, "CHECKPOINT");
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").found, 0);
    weir_test_postgres_sql(&lab.postgres, "ALTER SYSTEM RESET wal_recycle");
}

/* A holder that knows of the erasures up to `epoch`. */
static void hold(uint64_t epoch)
{
    const struct msg_hold asked = {.holder = "worker-1", .session = 7, .epoch = epoch};
    struct msg_hold_is answer;

    assert_int_equal(storage_lab_request(&lab, MSG_hold, &asked, MSG_hold_is, &answer), WEIR_OK);
}

static size_t troubles(void)
{
    struct msg_erase_troubles is;

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_troubles_request, NULL, MSG_erase_troubles, &is),
        WEIR_OK);
    return is.erasures.count;
}

static void what_waits_to_be_overwritten_for_another_is_no_trouble(void **state)
{
    int64_t until_ms;
    uint64_t erasure;

    (void)state;
    storage_lab_write(&lab, "a.jsonl",
                      weir_arena_format(lab.arena,
                                        "{\"ts\":1,\"user\":\"%s\",\"page\":\"%s\"}\n"
                                        "{\"ts\":2,\"user\":\"bob\",\"page\":\"%s\"}\n",
                                        ANNA, WORDS, WORDS));
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    erasure = erase_anna("");
    hold(1);
    (void)storage_lab_erase(&lab, "u2", "bob", "tombstoned");
    until_ms = weir_now_ms() + STORAGE_LEASE_KEPT_MS;
    while (weir_now_ms() < until_ms) { /* searched again and again, and bob is not in force */
        hold(1);
        storage_lab_seal(&lab);
        weir_loop_step(lab.loop, 10);
        assert_int_equal(troubles(), 0);
    }
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "scrubbed").verified_us, 0);
    hold(2);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").found, 0);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure + 1, "verified").found, 0);
}

static void how_much_of_each_place_was_searched_is_kept(void **state)
{
    unsigned long long files[3] = {0}, bytes[3] = {0};
    struct msg_erase_reports reports;
    struct weir_error err;
    uint64_t erasure;

    (void)state;
    own_postgres();
    declare_clicks();
    assert_int_equal(weir_file_write_atomic(storage_lab_path(&lab, "data/left.txt"),
                                            weir_bytes_of("nobody's"), &err),
                     WEIR_OK);
    erasure = erase_anna("");
    (void)storage_lab_await_erasure(&lab, erasure, "verified");
    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_reports_request,
                            &(struct msg_erase_reports_request){.erasures = {&erasure, 1}},
                            MSG_erase_reports, &reports),
        WEIR_OK);
    assert_int_equal(sscanf(reports.places.at[0],
                            "%llu %llu storage\n%llu %llu postgres\n%llu %llu", &files[0],
                            &bytes[0], &files[1], &bytes[1], &files[2], &bytes[2]),
                     6);
    for (size_t i = 0; i < WEIR_COUNT(files); i++)
        assert_true(files[i] > 0 && bytes[i] > 0);
    assert_int_equal(bytes[0] + bytes[1] + bytes[2], reports.bytes_searched.at[0]);
}

static void a_cluster_that_cannot_be_looked_at_is_unread(void **state)
{
    uint64_t erasure;

    (void)state;
    declare_clicks();
    lab.cluster = "/nowhere/postgres";
    erasure = erase_anna("");
    assert_non_null(strstr(await_trouble(erasure), "/nowhere/postgres: No such file"));
    own_postgres();
    (void)storage_lab_await_erasure(&lab, erasure, "verified");
}

/* Left behind when the cluster was moved, or put somewhere else from the start. */
static void folders_that_only_look_like_the_cluster_are_searched(void **state)
{
    static const char *const LEFT[] = {"data/postgres", "data/run"};
    uint64_t erasure;

    (void)state;
    own_postgres();
    declare_clicks();
    for (size_t i = 0; i < WEIR_COUNT(LEFT); i++) {
        const char *folder = storage_lab_path(&lab, LEFT[i]);
        struct weir_error err;

        assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
        assert_int_equal(weir_file_write_atomic(weir_arena_format(lab.arena, "%s/left", folder),
                                                weir_bytes_of(WORDS), &err),
                         WEIR_OK);
    }
    erasure = erase_anna("");
    for (size_t i = 0; i < WEIR_COUNT(LEFT); i++) {
        const char *left = weir_arena_format(lab.arena, "%s/left", LEFT[i] + strlen("data/"));
        const char *trouble = await_trouble(erasure);

        if (strstr(trouble, left) == NULL)
            fail_msg("%s: %s", left, trouble);
    }
    for (size_t i = 0; i < WEIR_COUNT(LEFT); i++)
        assert_int_equal(
            unlink(storage_lab_path(&lab, weir_arena_format(lab.arena, "%s/left", LEFT[i]))), 0);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").found, 0);
}

/* The name of a class that others have, and what the requester wrote, are not what was to be erased. */
static void classes_and_references_are_shared_text(void **state)
{
    struct msg_erase_is verified;
    uint64_t erasure;

    (void)state;
    own_postgres();
    storage_lab_write(&lab, "a.csv",
                      "ts,user,mill\n1,anna-of-the-mill@example.org,mill-of-the-seven-herons\n"
                      "2,bob,mill-of-the-seven-herons\n");
    assert_int_equal(storage_lab_declare(&lab, MILLS), WEIR_OK);
    (void)storage_lab_await(&lab, "mills", 1);
    erasure = erase_anna("letter of anna-of-the-mill@example.org");
    weir_test_postgres_sql(&lab.postgres, "CHECKPOINT");
    assert_true(storage_lab_holds(&lab, lab.cluster, "mill-of-the-seven-herons"));
    assert_true(storage_lab_holds(&lab, lab.cluster, ANNA));
    verified = storage_lab_await_erasure(&lab, erasure, "verified");
    assert_int_equal(verified.found, 0);
    assert_true(verified.remarks.count > 0);
    assert_non_null(strstr(verified.remarks.at[verified.remarks.count - 1], "names of classes"));
}

/* Nothing can be searched for of a record of a few bytes: the receipt says so. */
static void records_that_are_too_short_to_be_searched_for_are_told(void **state)
{
    struct msg_erase_is verified;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,user,mill\n1,anna,a\n2,bob,a\n3,anna,b\n");
    assert_int_equal(storage_lab_declare(&lab, MILLS), WEIR_OK);
    (void)storage_lab_await(&lab, "mills", 1);
    verified = storage_lab_erase(&lab, "u1", "anna", "verified");
    assert_int_equal(verified.samples, 2);
    for (size_t i = 0; i <= verified.remarks.count; i++) {
        assert_true(i < verified.remarks.count);
        if (strstr(verified.remarks.at[i], "2 of its records are shorter than 16 bytes") != NULL)
            break;
    }
}

/* Datasets without a subject: their reasons quote what was found. */
static void reasons_for_refusing_records_no_longer_quote_them(void **state)
{
    static const char LEVELS[] =
        "  - name: levels\n"
        "    source: {path: %s, format: csv, on_erase: scrub, settle: 0ms}\n"
        "    time: {from: field, field: ts}\n"
        "    label: {field: level, type: int}\n"
        "    key: {field: n}\n";
    static const char PUSHED[] = "  - name: pushed\n"
                                 "    source: {push: true, format: csv, on_erase: scrub}\n"
                                 "    time: {from: field, field: ts}\n"
                                 "    label: {field: level, type: int}\n";
    const struct msg_push push = {.dataset = "pushed", .client = "a", .batch = 1};
    const char *key = "k1";
    const struct msg_erase_accept asked = {.uuid = "u1", .reference = "", .keys = {&key, 1}};
    struct msg_erase_accepted accepted;
    struct pushed before, after;

    (void)state;
    storage_lab_write(&lab, "a.csv", "ts,n,level\n1,k1,5\n2,k2,it's 'herons\n3,k3,7\n");
    assert_int_equal(storage_lab_declare(&lab, LEVELS), WEIR_OK);
    (void)storage_lab_await(&lab, "levels", 1);
    assert_int_equal(storage_lab_declare(&lab, PUSHED), WEIR_OK);
    before = storage_push_text(&lab, &push, "ts,level\n1,mallards\n2,teals\n3,4\n");
    assert_non_null(strstr(before.answer.reasons.at[0], "mallards"));
    assert_non_null(strstr(storage_lab_dataset(&lab, "levels").complaints.at[0], "herons"));

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, &asked, MSG_erase_accepted, &accepted),
        WEIR_OK);
    (void)storage_lab_await_erasure(&lab, accepted.erasure, "verified");
    assert_null(strstr(storage_lab_dataset(&lab, "levels").complaints.at[0], "herons"));
    after = storage_push_text(&lab, &push, "ts,level\n1,mallards\n2,teals\n3,4\n");
    assert_int_equal(after.answer.refused, 2);
    assert_int_equal(after.answer.reasons.count, 2);
    for (size_t i = 0; i < after.answer.reasons.count; i++)
        assert_non_null(strstr(after.answer.reasons.at[i], "found a value, expected an integer"));
}

/* ---- what is read of a file ---- */

/* A copy of several pieces. */
static void declare_many_clicks(void)
{
    WEIR_AUTO_BUF text = {0};

    weir_buf_printf(&text, "{\"ts\":1,\"user\":\"%s\",\"page\":\"%s\"}\n", ANNA, WORDS);
    for (unsigned i = 0; i < 20000; i++)
        weir_buf_printf(&text, "{\"ts\":2,\"user\":\"bob\",\"page\":\"shop number %u\"}\n", i);
    storage_lab_write(&lab, "a.jsonl", weir_buf_text(&text));
    assert_int_equal(storage_lab_declare(&lab, JSONL), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
}

static void a_file_that_fails_in_the_middle_is_unread(void **state)
{
    uint64_t erasure;

    (void)state;
    storage_lab_kill(&lab);
    lab.faults = "storage.search.read=1";
    storage_lab_start(&lab);
    declare_many_clicks();
    erasure = erase_anna("");
    assert_non_null(strstr(await_trouble(erasure), "a.jsonl: Input/output error"));
    lab.faults = NULL;
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").found, 0);
}

/* Returns the position of the process in the file that it has open under this name; -1: it has none. */
static long long place_in(const char *path)
{
    WEIR_AUTO_FREE char *folder = weir_format("/proc/%d/fd", (int)lab.pid);
    DIR *directory = opendir(folder);
    long long place = -1;

    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        WEIR_AUTO_FREE char *link = weir_format("%s/%s", folder, entry->d_name);
        WEIR_AUTO_FREE char *info = weir_format("/proc/%d/fdinfo/%s", (int)lab.pid, entry->d_name);
        char target[PATH_MAX];
        ssize_t size = readlink(link, target, sizeof(target) - 1);
        FILE *file = size < 0 ? NULL : fopen(info, "r");

        target[size < 0 ? 0 : size] = '\0';
        if (file != NULL && strcmp(target, path) == 0)
            assert_int_equal(fscanf(file, "pos: %lld", &place), 1);
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(directory);
    return place;
}

/* Stops the process in the middle of the file. */
static void stop_within(const char *path)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    int status;

    while (place_in(path) <= 0)
        assert_true(weir_now_ms() < limit_ms);
    assert_int_equal(kill(lab.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(lab.pid, &status, WUNTRACED), lab.pid);
    assert_true(WIFSTOPPED(status));
}

/* Bytes appended while the file is searched are searched, too. */
static void a_file_that_grows_meanwhile_is_read_to_its_new_end(void **state)
{
    enum { BYTES = 64 << 20, PIECE = 1 << 20 };
    const char *path = storage_lab_path(&lab, "data/grows");
    uint64_t erasure;
    char *piece = weir_calloc(1, PIECE);
    FILE *file;

    (void)state;
    declare_clicks();
    memset(piece, 'x', PIECE);
    file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < BYTES / PIECE; i++)
        assert_int_equal(fwrite(piece, 1, PIECE, file), PIECE);
    assert_int_equal(fflush(file), 0);
    erasure = erase_anna("");
    storage_lab_seal(&lab);
    stop_within(path);
    assert_true(place_in(path) < BYTES);
    assert_int_equal(fwrite(WORDS, 1, strlen(WORDS), file), strlen(WORDS));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(kill(lab.pid, SIGCONT), 0);
    assert_non_null(strstr(await_trouble(erasure), "grows"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").found, 0);
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, words_in_a_row_keep_an_erasure_from_being_verified),
        STORAGE_CASE(&lab, what_waits_to_be_overwritten_for_another_is_no_trouble),
        STORAGE_CASE(&lab, how_much_of_each_place_was_searched_is_kept),
        STORAGE_CASE(&lab, a_cluster_that_cannot_be_looked_at_is_unread),
        STORAGE_CASE(&lab, folders_that_only_look_like_the_cluster_are_searched),
        STORAGE_CASE(&lab, classes_and_references_are_shared_text),
        STORAGE_CASE(&lab, records_that_are_too_short_to_be_searched_for_are_told),
        STORAGE_CASE(&lab, a_file_that_fails_in_the_middle_is_unread),
        STORAGE_CASE(&lab, a_file_that_grows_meanwhile_is_read_to_its_new_end),
        STORAGE_CASE(&lab, reasons_for_refusing_records_no_longer_quote_them),
    };

    return storage_lab_run(&lab, "storage_search", tests, WEIR_COUNT(tests));
}
