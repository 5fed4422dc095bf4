/* Files that storage owns have a checksum for each of their blocks: whatever flips a bit in one of them is found by an
 * examination, and when the block is first read, also where no source is there to compare with. */
#include "tests/component/storage_lab.h"
#include "tests/component/storage_push_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/sums/block_sum.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LINES = 6000, LINE_BYTES = 100, WRONG = 2, PATIENCE_MS = 60000, ROUND_MS = 20 };

static const char CLICKS[] = "  - name: clicks\n"
                             "    source: {path: %s/clicks, format: jsonl, import: copy,\n"
                             "             on_erase: scrub, settle: 0ms}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n";
static const char NOTES[] = "  - name: notes\n"
                            "    source: {path: %s/notes, format: files, include: \"*.txt\",\n"
                            "             import: copy, on_erase: scrub, settle: 0ms}\n"
                            "    time: {from: mtime}\n";
static const char PUSHED[] = "  - name: clicks\n"
                             "    source: {push: true, format: jsonl, on_erase: scrub}\n"
                             "    time: {from: field, field: ts}\n"
                             "    subject: {field: user}\n";
static const char COPY[] = "data/storage/clicks/a.jsonl";

static struct storage_lab lab;

/* ---- what is summed ---- */

/* Lines of LINE_BYTES, each of a user of its own among `users`. */
static char *make_lines(int first, int count, int users)
{
    WEIR_AUTO_BUF text = {0};

    for (int i = first; i < first + count; i++) {
        size_t before = text.size;

        weir_buf_printf(&text, "{\"ts\":%d,\"user\":\"user%d\",\"text\":\"", i, i % users);
        while (text.size < before + LINE_BYTES - 3)
            weir_buf_append(&text, &"abcdefgh"[i % 8], 1);
        weir_buf_append_text(&text, "\"}\n");
    }
    return weir_strdup(weir_buf_text(&text));
}

static size_t count_wrong(const struct msg_doctor_is *answer)
{
    size_t count = 0;

    for (size_t i = 0; i < answer->verdicts.count; i++)
        count += answer->verdicts.at[i] == WRONG;
    return count;
}

/* One line, about this file and these bytes. */
static void assert_names(const char *file, uint64_t from)
{
    struct msg_doctor_is answer = storage_lab_examine(&lab, true);
    const char *found = storage_lab_said_of_bytes(&answer, WRONG);
    char expected[200];

    assert_non_null(found);
    snprintf(expected, sizeof(expected), "%s: bytes %llu to ", file, (unsigned long long)from);
    if (strncmp(found, expected, strlen(expected)) != 0 || count_wrong(&answer) != 1)
        fail_msg("%zu wrong, the first: %s, expected %s", count_wrong(&answer), found, expected);
}

static void assert_flips_are_named(const char *name, const char *file, off_t end)
{
    for (off_t at = 50; at < end; at += 2 * SUM_BLOCK_BYTES - 1000) {
        storage_lab_flip(&lab, name, at);
        assert_names(file, (uint64_t)at / SUM_BLOCK_BYTES * SUM_BLOCK_BYTES);
        storage_lab_flip(&lab, name, at);
    }
    storage_lab_expect_fine(&lab);
}

/* A copy whose source is no longer there, so that there is nothing else to compare it with. */
static void make_copy(int users)
{
    WEIR_AUTO_FREE char *lines = make_lines(0, LINES, users);

    storage_lab_write(&lab, "clicks/a.jsonl", lines);
    assert_int_equal(storage_lab_declare(&lab, CLICKS), WEIR_OK);
    (void)storage_lab_await(&lab, "clicks", 1);
    assert_int_equal(storage_lab_await_sums(&lab), (LINES * LINE_BYTES - 1) / SUM_BLOCK_BYTES + 1);
}

static void hide_source(void)
{
    assert_int_equal(
        rename(storage_lab_path(&lab, "source/clicks"), storage_lab_path(&lab, "source/aside")), 0);
}

static uint64_t id_of_line(uint32_t line)
{
    return weir_sample_id(1, 0, line);
}

/* ---- examinations ---- */

static void a_flipped_bit_of_a_copy_is_named_with_its_bytes(void **state)
{
    (void)state;
    make_copy(50);
    hide_source();
    assert_flips_are_named(COPY, "a.jsonl", LINES * LINE_BYTES);
}

static void a_flipped_bit_of_a_scrubbed_copy_is_named(void **state)
{
    (void)state;
    make_copy(50);
    hide_source();
    (void)storage_lab_erase(&lab, "one", "user7", "verified");
    assert_false(storage_lab_holds(&lab, COPY, "\"user7\""));
    (void)storage_lab_await_sums(&lab);
    assert_flips_are_named(COPY, "a.jsonl", LINES * LINE_BYTES);
}

static void pushed_samples_have_sums_however_their_segment_grows(void **state)
{
    static const char SEGMENT[] = "data/storage/clicks/00000001.jsonl";

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, PUSHED), WEIR_OK);
    for (int batch = 0; batch < 3; batch++) {
        WEIR_AUTO_FREE char *lines = make_lines(batch * LINES / 3, LINES / 3, 50);
        struct pushed pushed = storage_push_text(
            &lab,
            &(struct msg_push){.dataset = "clicks", .client = "a", .batch = (uint64_t)batch + 1},
            lines);

        assert_int_equal(pushed.status, WEIR_OK);
        (void)storage_lab_await_sums(&lab);
        assert_flips_are_named(SEGMENT, "00000001.jsonl", (batch + 1) * LINES / 3 * LINE_BYTES);
    }
    (void)storage_lab_erase(&lab, "one", "user7", "verified");
    (void)storage_lab_await_sums(&lab);
    assert_flips_are_named(SEGMENT, "00000001.jsonl", LINES * LINE_BYTES);
}

static void a_copy_that_grows_keeps_its_sums(void **state)
{
    WEIR_AUTO_FREE char *lines = make_lines(LINES, LINES, 50);

    (void)state;
    make_copy(50);
    storage_lab_append(&lab, "clicks/a.jsonl", lines);
    (void)storage_lab_await(&lab, "clicks", 2);
    assert_int_equal(storage_lab_await_sums(&lab),
                     (2 * LINES * LINE_BYTES - 1) / SUM_BLOCK_BYTES + 1);
    hide_source();
    assert_flips_are_named(COPY, "a.jsonl", 2 * LINES * LINE_BYTES);
}

static void many_small_files_share_rows(void **state)
{
    enum { FILES = 300 };

    (void)state;
    for (int i = 0; i < FILES; i++) {
        WEIR_AUTO_FREE char *name = weir_format("notes/%03d.txt", i);
        WEIR_AUTO_FREE char *text = weir_format("note %d", i);

        storage_lab_write(&lab, name, text);
    }
    assert_int_equal(storage_lab_declare(&lab, NOTES), WEIR_OK);
    (void)storage_lab_await(&lab, "notes", 1);
    assert_int_equal(storage_lab_await_sums(&lab), FILES);
    weir_test_postgres_sql(
        &lab.postgres, "DO $$ BEGIN ASSERT (SELECT count(*) FROM storage.block_sum) = 3; END $$");
    assert_int_equal(
        rename(storage_lab_path(&lab, "source/notes"), storage_lab_path(&lab, "source/aside")), 0);
    storage_lab_flip(&lab, "data/storage/notes/150.txt", 3);
    assert_names("150.txt", 0);
    storage_lab_flip(&lab, "data/storage/notes/150.txt", 3);
    storage_lab_expect_fine(&lab);
}

/* ---- older, moved, gone ---- */

static void a_store_from_before_there_were_sums_gets_them(void **state)
{
    (void)state;
    make_copy(50);
    storage_lab_stop(&lab);
    weir_test_postgres_sql(&lab.postgres, "DELETE FROM storage.block_sum");
    hide_source();
    storage_lab_start(&lab);
    (void)storage_lab_await_sums(&lab);
    assert_flips_are_named(COPY, "a.jsonl", LINES * LINE_BYTES);
}

static void a_store_that_was_copied_keeps_its_sums(void **state)
{
    (void)state;
    make_copy(50);
    hide_source();
    weir_test_postgres_sql(&lab.postgres, "CREATE TABLE keep AS TABLE storage.block_sum");
    storage_lab_restore(&lab, NULL);
    (void)storage_lab_await_sums(&lab);
    weir_test_postgres_sql(&lab.postgres, "DO $$ BEGIN ASSERT NOT EXISTS (TABLE keep EXCEPT TABLE "
                                          "storage.block_sum); END $$; DROP TABLE keep");
    assert_flips_are_named(COPY, "a.jsonl", LINES * LINE_BYTES);
}

static void await_rows(int expected)
{
    WEIR_AUTO_FREE char *sql =
        weir_format("DO $$ BEGIN FOR i IN 1..600 LOOP "
                    "IF (SELECT count(*) FROM storage.block_sum) = %d THEN RETURN; END IF; "
                    "PERFORM pg_sleep(0.1); END LOOP; RAISE 'too many rows'; END $$",
                    expected);

    weir_test_postgres_sql(&lab.postgres, sql);
}

static void sums_go_with_their_file(void **state)
{
    (void)state;
    make_copy(1);
    weir_test_postgres_sql(
        &lab.postgres, "DO $$ BEGIN ASSERT (SELECT count(*) FROM storage.block_sum) = 2; END $$");
    (void)storage_lab_erase(&lab, "all", "user0", "scrubbed");
    weir_test_postgres_sql(
        &lab.postgres, "DO $$ BEGIN ASSERT (SELECT count(*) FROM storage.block_sum) = 0; END $$");
}

static void sums_go_with_a_file_that_is_removed(void **state)
{
    (void)state;
    make_copy(50);
    storage_lab_write(&lab, "clicks/b.jsonl", "{\"ts\":1,\"user\":\"b\"}\n");
    (void)storage_lab_await(&lab, "clicks", 2);
    storage_lab_remove(&lab, "clicks/a.jsonl");
    (void)storage_lab_await(&lab, "clicks", 3);
    (void)storage_lab_await_sums(&lab);
    await_rows(1);
    storage_lab_expect_fine(&lab);
}

/* ---- deaths ---- */

static enum weir_status request_erasure(const char *subject,
                                        struct msg_erase_accepted *ret_accepted)
{
    const struct msg_erase_accept accept = {.uuid = "one", .subjects = {&subject, 1}};

    return storage_lab_request(&lab, MSG_erase_accept, &accept, MSG_erase_accepted, ret_accepted);
}

static void a_death_while_blocks_have_no_sums_leaves_no_false_alarm_and_no_blind_spot(void **state)
{
    static const char *const FAULTS[] = {
        "storage.sums.open=!1",   "storage.erase.overwrite=!1", "storage.erase.overwrite=!60",
        "storage.erase.scrub=!1", "storage.sums.store=!1",
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(FAULTS); i++) {
        struct msg_erase_accepted accepted;
        enum weir_status status;

        storage_lab_begin(&lab);
        storage_lab_start(&lab);
        make_copy(50);
        storage_lab_stop(&lab);
        lab.faults = FAULTS[i];
        storage_lab_start(&lab);
        (void)storage_lab_await(&lab, "clicks", 1);
        status = request_erasure("user7", &accepted);
        storage_lab_await_death(&lab);
        lab.faults = NULL;
        storage_lab_start(&lab);
        if (status != WEIR_OK) /* the death was faster than the answer */
            status = request_erasure("user7", &accepted);
        assert_int_equal(status, WEIR_OK);
        (void)storage_lab_await_erasure(&lab, accepted.erasure, "verified");
        (void)storage_lab_await_sums(&lab);
        hide_source();
        assert_flips_are_named(COPY, "a.jsonl", LINES * LINE_BYTES);
        storage_lab_end(&lab);
    }
}

/* An erasure gives its blocks new sums: of what it has left there, not of what it happened to find. */
static void damage_beside_what_is_erased_is_still_named(void **state)
{
    (void)state;
    make_copy(50);
    hide_source();
    storage_lab_flip(&lab, COPY, 3 * SUM_BLOCK_BYTES + 1051); /* in no line of user7 */
    (void)storage_lab_erase(&lab, "one", "user7", "verified");
    assert_names("a.jsonl", 3 * SUM_BLOCK_BYTES);
    storage_lab_stop(&lab);
    storage_lab_start(&lab);
    assert_names("a.jsonl", 3 * SUM_BLOCK_BYTES);
}

/* ---- the first read ---- */

static uint32_t state_of_line(uint32_t line)
{
    uint32_t found;

    (void)storage_lab_read(&lab, id_of_line(line), &found);
    return found;
}

static void await_state(uint32_t line, uint32_t wanted)
{
    int64_t limit_ms = weir_now_ms() + PATIENCE_MS;

    while (state_of_line(line) != wanted) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, ROUND_MS);
    }
}

static void what_was_damaged_is_noticed_when_it_is_first_read(void **state)
{
    uint32_t line = (3 * SUM_BLOCK_BYTES + 5000) / LINE_BYTES;
    struct msg_dataset_is is;

    (void)state;
    make_copy(50);
    hide_source();
    storage_lab_stop(&lab);
    storage_lab_flip(&lab, COPY, 3 * SUM_BLOCK_BYTES + 5000);
    storage_lab_start(&lab);
    (void)storage_lab_await(&lab, "clicks", 1);
    assert_int_equal(state_of_line(10), WEIR_SAMPLE_LIVE);
    await_state(line, WEIR_SAMPLE_GONE);
    assert_int_equal(state_of_line(10), WEIR_SAMPLE_LIVE); /* in another block */
    is = storage_lab_dataset(&lab, "clicks");
    assert_true(is.complaints.count > 0);
    for (size_t i = 0; i <= is.complaints.count; i++) {
        assert_true(i < is.complaints.count);
        if (strstr(is.complaints.at[i], "a.jsonl: bytes 393216 to 524288 of Weir's own file") !=
            NULL)
            break;
    }
    storage_lab_flip(&lab, COPY, 3 * SUM_BLOCK_BYTES + 5000);
    await_state(line, WEIR_SAMPLE_LIVE);
}

static uint32_t located_state(uint32_t line)
{
    uint64_t id = id_of_line(line);
    struct msg_located located;

    assert_int_equal(storage_lab_request(&lab, MSG_locate, &(struct msg_locate){.ids = {&id, 1}},
                                         MSG_located, &located),
                     WEIR_OK);
    return located.states.at[0];
}

static uint64_t edition(uint64_t id)
{
    uint64_t dataset = 1;
    struct msg_located_chunks located;

    assert_int_equal(
        storage_lab_request(&lab, MSG_locate_chunks,
                            &(struct msg_locate_chunks){.datasets = {&dataset, 1}, .ids = {&id, 1}},
                            MSG_located_chunks, &located),
        WEIR_OK);
    return located.editions.at[0];
}

/* Workers go over chunks that they were told of once: they are told again. */
static void whoever_was_told_of_a_whole_chunk_hears_of_its_damage(void **state)
{
    uint32_t line = (2 * SUM_BLOCK_BYTES + 5000) / LINE_BYTES;
    int64_t limit_ms = weir_now_ms() + PATIENCE_MS;
    uint64_t before;

    (void)state;
    make_copy(50);
    hide_source();
    storage_lab_stop(&lab);
    storage_lab_flip(&lab, COPY, 2 * SUM_BLOCK_BYTES + 5000);
    storage_lab_start(&lab);
    (void)storage_lab_await(&lab, "clicks", 1);
    before = edition(id_of_line(0));
    while (edition(id_of_line(0)) == before) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, ROUND_MS);
    }
    assert_int_equal(located_state(line), WEIR_SAMPLE_GONE);
    assert_int_equal(located_state(10), WEIR_SAMPLE_LIVE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORAGE_CASE(&lab, a_flipped_bit_of_a_copy_is_named_with_its_bytes),
        STORAGE_CASE(&lab, a_flipped_bit_of_a_scrubbed_copy_is_named),
        STORAGE_CASE(&lab, pushed_samples_have_sums_however_their_segment_grows),
        STORAGE_CASE(&lab, a_copy_that_grows_keeps_its_sums),
        STORAGE_CASE(&lab, many_small_files_share_rows),
        STORAGE_CASE(&lab, a_store_from_before_there_were_sums_gets_them),
        STORAGE_CASE(&lab, a_store_that_was_copied_keeps_its_sums),
        STORAGE_CASE(&lab, sums_go_with_their_file),
        STORAGE_CASE(&lab, sums_go_with_a_file_that_is_removed),
        cmocka_unit_test(a_death_while_blocks_have_no_sums_leaves_no_false_alarm_and_no_blind_spot),
        STORAGE_CASE(&lab, damage_beside_what_is_erased_is_still_named),
        STORAGE_CASE(&lab, what_was_damaged_is_noticed_when_it_is_first_read),
        STORAGE_CASE(&lab, whoever_was_told_of_a_whole_chunk_hears_of_its_damage),
    };

    return storage_lab_run(&lab, "storage: sums of blocks", tests, WEIR_COUNT(tests));
}
