/* Records that have changed places behind the store's back, in files of its own that it knows by place and length: an
 * erasure overwrites nobody else, and is not over while the record that it means stands somewhere. */
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {path: %s, format: jsonl, import: copy,\n"
                             "             on_erase: scrub, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n";
static const char PUSHED[] = "  - name: clicks\n"
                             "    source: {push: true, format: jsonl, on_erase: scrub}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n"
                             "    key: {field: id}\n";
static const char ANNA[] =
    "{\"ts\":1,\"user\":\"anna\",\"page\":\"the mill of the seven herons\"}\n";
static const char EVE[] =
    "{\"ts\":2,\"user\":\"evie\",\"page\":\"the shop of the nine mallard\"}\n";
static const char EXCHANGE_FILES[] = "mv clicks/a.jsonl c && mv clicks/b.jsonl clicks/a.jsonl && "
                                     "mv c clicks/b.jsonl";
static const char SEGMENT[] = "data/storage/clicks/00000001.jsonl";
/* Its lines the other way round: they are of one length. */
static const char PERMUTE[] = "head -n 3 clicks/00000001.jsonl | tac > c && "
                              "dd if=c of=clicks/00000001.jsonl conv=notrunc status=none && rm c";

static struct storage_lab lab;

static uint64_t request_erasure(const struct msg_erase_accept *asked)
{
    struct msg_erase_accepted accepted;

    assert_int_equal(
        storage_lab_request(&lab, MSG_erase_accept, asked, MSG_erase_accepted, &accepted), WEIR_OK);
    return accepted.erasure;
}

static uint64_t request_erasure_of_anna(void)
{
    const char *subject = "anna";

    return request_erasure(&(struct msg_erase_accept){.uuid = "one", .subjects = {&subject, 1}});
}

/* Returns what stands in the way of the erasure, which is not called verified before. */
static const char *await_trouble(uint64_t erasure)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    for (;;) {
        struct msg_erase_is is = storage_lab_await_erasure(&lab, erasure, "accepted");

        if (*is.trouble != '\0') {
            assert_true(is.unverified);
            return is.trouble;
        }
        assert_string_not_equal(is.state, "scrubbed");
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, 10);
    }
}

static void assert_is_told_as_exchanged(uint64_t erasure, const char *file)
{
    const char *trouble = await_trouble(erasure);

    if (strstr(trouble, file) == NULL || strstr(trouble, "what its checksums say") == NULL)
        fail_msg("%s", trouble);
}

static void assert_anna_is_gone_and_eve_is_not(uint64_t erasure)
{
    struct msg_erase_is is = storage_lab_await_erasure(&lab, erasure, "verified");

    assert_int_equal(is.samples, 1);
    assert_int_equal(is.found, 0);
    assert_false(storage_lab_holds(&lab, "data/storage", "seven herons"));
    assert_true(storage_lab_holds(&lab, "data/storage", "nine mallard"));
    storage_lab_expect_fine(&lab);
}

/* ---- copies ---- */

static void make_copies(void)
{
    assert_int_equal(strlen(ANNA), strlen(EVE));
    storage_lab_write(&lab, "a.jsonl", ANNA);
    storage_lab_write(&lab, "b.jsonl", EVE);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    (void)storage_lab_await_counts(&lab, "clicks", 2, 0);
    assert_int_equal(storage_lab_await_sums(&lab), 2);
}

static void exchanged_copies_are_not_erased_before_they_are_put_back(void **state)
{
    uint64_t erasure;

    (void)state;
    make_copies();
    storage_lab_restore(&lab, EXCHANGE_FILES);
    erasure = request_erasure_of_anna();
    assert_is_told_as_exchanged(erasure, "clicks/a.jsonl");
    assert_true(storage_lab_holds(&lab, "data/storage/clicks/a.jsonl", "nine mallard"));
    storage_lab_restore(&lab, EXCHANGE_FILES);
    assert_anna_is_gone_and_eve_is_not(erasure);
}

static void an_id_means_the_record_that_it_was_given_to(void **state)
{
    const uint64_t id = weir_sample_id(1, 0, 0);
    uint64_t erasure;

    (void)state;
    make_copies();
    storage_lab_restore(&lab, EXCHANGE_FILES);
    erasure = request_erasure(&(struct msg_erase_accept){.uuid = "one", .ids = {&id, 1}});
    assert_is_told_as_exchanged(erasure, "clicks/a.jsonl");
    storage_lab_restore(&lab, EXCHANGE_FILES);
    assert_anna_is_gone_and_eve_is_not(erasure);
}

/* As of files that were copied before they had any. */
static void lose_sums(void)
{
    weir_test_postgres_sql(
        &lab.postgres,
        "DELETE FROM storage.block_sum;"
        "CREATE FUNCTION skip_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER skip_row BEFORE INSERT OR UPDATE ON storage.block_sum "
        "FOR EACH ROW EXECUTE FUNCTION skip_row()");
}

static void exchanged_copies_without_sums_are_known_by_what_they_say(void **state)
{
    uint64_t erasure;

    (void)state;
    make_copies();
    lose_sums();
    storage_lab_restore(&lab, EXCHANGE_FILES);
    erasure = request_erasure_of_anna();
    assert_is_told_as_exchanged(erasure, "clicks/a.jsonl");
    storage_lab_restore(&lab, EXCHANGE_FILES);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "seven herons"));
    assert_true(storage_lab_holds(&lab, "data/storage", "nine mallard"));
}

/* Looking up a person means reading all that is known of them: as many rows as they have samples. */
static void people_whose_records_alternate_are_looked_up_once_and_not_by_record(void **state)
{
    static const char *const PEOPLE[] = {"anna", "evie"};
    WEIR_AUTO_BUF lines = {0};
    uint64_t erasure;

    (void)state;
    for (int i = 0; i < 500; i++)
        weir_buf_printf(&lines, "%s%s", ANNA, EVE);
    storage_lab_write(&lab, "a.jsonl", weir_buf_text(&lines));
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    (void)storage_lab_await_counts(&lab, "clicks", 1000, 0);
    assert_int_equal(storage_lab_await_sums(&lab), 1);
    lose_sums();
    storage_lab_stop(&lab); /* it says what it has counted */
    storage_lab_start(&lab);
    weir_test_postgres_sql(&lab.postgres, "SELECT pg_stat_reset()");
    erasure = request_erasure(&(struct msg_erase_accept){.uuid = "one", .subjects = {PEOPLE, 2}});
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").samples, 1000);
    storage_lab_stop(&lab);
    weir_test_postgres_sql(&lab.postgres,
                           "DO $$ BEGIN IF 0 = (SELECT sum(n_tup_ins) FROM pg_stat_user_tables) "
                           "OR 100 < (SELECT sum(idx_scan + seq_scan) FROM pg_stat_user_tables "
                           "WHERE relname LIKE 'run_segment%') THEN RAISE 'read by record'; "
                           "END IF; END $$");
}

static const char EXCHANGE_MAILS[] =
    "mv mails/a.txt c && mv mails/b.txt mails/a.txt && mv c mails/b.txt";

static void make_mails(void)
{
    storage_lab_write(&lab, "a.txt", "the mill of the seven herons");
    storage_lab_write(&lab, "b.txt", "the shop of the nine mallard");
    storage_lab_write(
        &lab, "manifest.csv",
        "path,time,label,subject\na.txt,2002-08-01,ham,anna\nb.txt,2002-08-02,spam,evie\n");
    assert_int_equal(storage_lab_declare(&lab, STORAGE_LAB_MAILS), WEIR_OK);
    (void)storage_lab_await_counts(&lab, "mails", 2, 0);
    assert_int_equal(storage_lab_await_sums(&lab), 2);
}

/* The manifest names a path, whatever stands there. */
static void exchanged_files_that_do_not_say_whose_they_are_are_noticed(void **state)
{
    uint64_t erasure;

    (void)state;
    make_mails();
    storage_lab_restore(&lab, EXCHANGE_MAILS);
    erasure = request_erasure_of_anna();
    assert_is_told_as_exchanged(erasure, "mails/a.txt");
    storage_lab_restore(&lab, EXCHANGE_MAILS);
    assert_anna_is_gone_and_eve_is_not(erasure);
}

/* ---- files that had no sum when the store was moved ---- */

/* Moves a store that has lost its sums, and waits until it has two others, of what it finds. */
static void restore_without_sums(const char *command)
{
    storage_lab_stop(&lab);
    weir_test_postgres_sql(&lab.postgres, "DELETE FROM storage.block_sum");
    storage_lab_move(&lab, command);
    storage_lab_start(&lab);
    weir_test_postgres_sql(
        &lab.postgres,
        "DO $$ BEGIN FOR i IN 1..6000 LOOP IF 2 = ("
        "SELECT count(*) FROM storage.block_sum, generate_series(0, length(sums) / 12 - 1) AS n "
        "WHERE substring(sums FROM 12 * n + 1 FOR 8) <> '\\x0000000000000000') "
        "THEN RETURN; END IF; PERFORM pg_sleep(0.01); END LOOP; RAISE 'no sums'; END $$");
}

/* As a disk that is not mounted: its files are not called removed. */
static void lose_source(void)
{
    assert_int_equal(rename(storage_lab_path(&lab, "source"), storage_lab_path(&lab, "elsewhere")),
                     0);
}

static void assert_is_told_as_unproven(uint64_t erasure, const char *file)
{
    const char *trouble = await_trouble(erasure);

    if (strstr(trouble, file) == NULL || strstr(trouble, "no checksum yet when") == NULL)
        fail_msg("%s", trouble);
}

static void sums_that_were_made_after_a_move_prove_nothing(void **state)
{
    uint64_t erasure;

    (void)state;
    make_mails();
    restore_without_sums(EXCHANGE_MAILS);
    erasure = request_erasure_of_anna();
    assert_is_told_as_unproven(erasure, "mails/a.txt");
    assert_true(storage_lab_holds(&lab, "data/storage", "nine mallard"));
    storage_lab_restore(&lab, EXCHANGE_MAILS); /* a.txt is what its source shows again */
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "seven herons"));
    assert_true(storage_lab_holds(&lab, "data/storage", "nine mallard"));
}

static void what_nothing_proves_is_erased_once_somebody_has_removed_it(void **state)
{
    uint64_t erasure;

    (void)state;
    make_mails();
    lose_source();
    restore_without_sums(NULL);
    erasure = request_erasure_of_anna();
    assert_is_told_as_unproven(erasure, "mails/a.txt");
    assert_int_equal(unlink(storage_lab_path(&lab, "data/storage/mails/a.txt")), 0);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").samples, 1);
}

static void records_that_say_whose_they_are_need_no_sum_after_a_move(void **state)
{
    uint64_t erasure;

    (void)state;
    make_copies();
    lose_source();
    restore_without_sums(EXCHANGE_FILES);
    erasure = request_erasure_of_anna();
    assert_is_told_as_unproven(erasure, "clicks/a.jsonl");
    storage_lab_restore(&lab, EXCHANGE_FILES);
    assert_int_equal(storage_lab_await_erasure(&lab, erasure, "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "seven herons"));
}

/* Damage in the record itself, which still says whose it is. */
static void a_record_with_a_flipped_bit_is_erased(void **state)
{
    (void)state;
    make_copies();
    storage_lab_flip(&lab, "data/storage/clicks/a.jsonl", (off_t)strlen(ANNA) - 5);
    assert_int_equal(storage_lab_erase(&lab, "one", "anna", "verified").samples, 1);
    assert_false(storage_lab_holds(&lab, "data/storage", "seven heron"));
}

/* Postgres was restored as it was before the erasure, and its files were not. */
static void bytes_that_were_overwritten_before_are_nobody_elses(void **state)
{
    (void)state;
    make_copies();
    storage_lab_restore(&lab,
                        "tr -c '\\n' ' ' < clicks/a.jsonl > c && cat c > clicks/a.jsonl && rm c");
    assert_int_equal(storage_lab_erase(&lab, "one", "anna", "verified").samples, 1);
}

/* ---- pushed ---- */

static void push(void)
{
    static const char LINES[] =
        "{\"ts\":1,\"user\":\"anna\",\"id\":\"k1\",\"page\":\"the mill of the seven herons\"}\n"
        "{\"ts\":2,\"user\":\"evie\",\"id\":\"k2\",\"page\":\"the shop of the nine mallard\"}\n"
        "{\"ts\":3,\"user\":\"fred\",\"id\":\"k3\",\"page\":\"a bridge over the river Weir\"}\n";

    assert_int_equal(storage_lab_declare(&lab, PUSHED), WEIR_OK);
    assert_int_equal(
        storage_push_text(&lab, &(struct msg_push){.dataset = "clicks", .client = "a", .batch = 1},
                          LINES)
            .status,
        WEIR_OK);
    assert_int_equal(storage_lab_await_sums(&lab), 1);
}

static void permuted_lines_of_a_segment_are_not_erased_before_they_are_put_back(void **state)
{
    uint64_t erasure;

    (void)state;
    push();
    storage_lab_restore(&lab, PERMUTE);
    erasure = request_erasure_of_anna();
    assert_is_told_as_exchanged(erasure, "00000001.jsonl");
    assert_true(storage_lab_holds(&lab, SEGMENT, "river Weir"));
    assert_true(storage_lab_holds(&lab, SEGMENT, "seven herons"));
    storage_lab_restore(&lab, PERMUTE);
    assert_anna_is_gone_and_eve_is_not(erasure);
    assert_true(storage_lab_holds(&lab, SEGMENT, "river Weir"));
}

/* Those around it have changed places: it has not. */
static void a_record_that_stands_where_it_was_is_erased(void **state)
{
    const char *key = "k2";

    (void)state;
    push();
    storage_lab_restore(&lab, PERMUTE);
    assert_int_equal(
        storage_lab_await_erasure(
            &lab, request_erasure(&(struct msg_erase_accept){.uuid = "one", .keys = {&key, 1}}),
            "verified")
            .samples,
        1);
    assert_false(storage_lab_holds(&lab, SEGMENT, "nine mallard"));
    assert_true(storage_lab_holds(&lab, SEGMENT, "seven herons"));
    assert_true(storage_lab_holds(&lab, SEGMENT, "river Weir"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, exchanged_copies_are_not_erased_before_they_are_put_back),
        STORAGE_CASE(&lab, an_id_means_the_record_that_it_was_given_to),
        STORAGE_CASE(&lab, exchanged_copies_without_sums_are_known_by_what_they_say),
        STORAGE_CASE(&lab, people_whose_records_alternate_are_looked_up_once_and_not_by_record),
        STORAGE_CASE(&lab, exchanged_files_that_do_not_say_whose_they_are_are_noticed),
        STORAGE_CASE(&lab, sums_that_were_made_after_a_move_prove_nothing),
        STORAGE_CASE(&lab, what_nothing_proves_is_erased_once_somebody_has_removed_it),
        STORAGE_CASE(&lab, records_that_say_whose_they_are_need_no_sum_after_a_move),
        STORAGE_CASE(&lab, a_record_with_a_flipped_bit_is_erased),
        STORAGE_CASE(&lab, bytes_that_were_overwritten_before_are_nobody_elses),
        STORAGE_CASE(&lab, permuted_lines_of_a_segment_are_not_erased_before_they_are_put_back),
        STORAGE_CASE(&lab, a_record_that_stands_where_it_was_is_erased),
    };

    return storage_lab_run(&lab, "storage: records that changed places", tests, WEIR_COUNT(tests));
}
