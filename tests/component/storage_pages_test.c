/* An erasure of more samples than one epoch holds: it comes in pages, which together are all of it, whatever dies. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/reading/use_leases.h"
#include "storage/sql/queries.h"
#include "tests/component/storage_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    LINES = 40,
    EPOCH_IDS = 3,
    MINE = 13,
    PAGES = 5,
    CROWD = 600,
    MANY = 2000, /* lines of one person, */
    LINE_BYTES = 200,
    READ_TIMES_MAX = 3, /* reads of them by look-up and tombstones, at most */
};                      /* every third line but the first is mine */

static int begin(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));
    WEIR_AUTO_BUF text = {0};

    storage_inside_begin(inside);
    inside->storage->eraser.epoch_ids = EPOCH_IDS;
    for (int i = 0; i < LINES; i++)
        weir_buf_printf(&text, "{\"ts\":%d,\"user\":\"%s\"}\n", i + 1,
                        i > 0 && i % 3 == 0 ? "me" : "you");
    storage_inside_write(inside, "a.jsonl", weir_buf_text(&text));
    (void)storage_inside_declare(inside, "  - name: lines\n"
                                         "    source: {path: %s, format: jsonl, on_erase: scrub,\n"
                                         "             settle: 0ms}\n"
                                         "    time: {from: field, field: ts}\n"
                                         "    subject: {field: user}\n");
    *state = inside;
    return 0;
}

/* ---- asking ---- */

static void erase_me(struct storage_inside *inside)
{
    static const char *const SUBJECTS[] = {"me"};
    const struct msg_erase_accept accept = {
        .uuid = "u-1", .dataset = "", .subjects = {SUBJECTS, 1}, .reference = ""};
    struct msg_erase_accepted accepted = storage_inside_erase(inside, &accept);

    assert_int_equal(accepted.erasure, 1);
    assert_int_equal(accepted.matched, MINE);
}

static struct msg_erase_is page(struct storage_inside *inside, uint64_t number)
{
    struct msg_erase_is answer;
    struct weir_error err;

    assert_int_equal(
        storage_erase_describe(&inside->storage->eraser,
                               &(struct msg_erase_request){.erasure = 1, .page = number},
                               inside->arena, &answer, &err),
        WEIR_OK);
    return answer;
}

/* Storage alone holds samples here: nothing else is to be purged before it searches. */
static void seal_all(struct storage_inside *inside)
{
    struct msg_erase_scrubbed scrubbed;

    storage_erase_scrubbed(&inside->storage->eraser, inside->arena, &scrubbed);
    storage_erase_search(
        &inside->storage->eraser,
        &(struct msg_erase_search){.erasures = scrubbed.erasures, .cluster = "", .places = ""});
}

static size_t rank(const char *state)
{
    static const char *const STATES[] = {"accepted", "tombstoned", "in_force", "scrubbed",
                                         "verified"};
    size_t i = 0;

    while (i < WEIR_COUNT(STATES) && strcmp(STATES[i], state) != 0)
        i++;
    assert_int_not_equal(i, WEIR_COUNT(STATES));
    return i;
}

/* Until it is there, or further: one step of the loop may be several of the erasure. */
static void await(struct storage_inside *inside, const char *state)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (rank(page(inside, 0).state) < rank(state)) {
        if (strcmp(state, "verified") == 0)
            seal_all(inside);
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
}

static void check_pages(struct storage_inside *inside)
{
    struct msg_erase_is whole = page(inside, 0);
    size_t seen = 0;

    assert_int_equal(whole.samples, MINE);
    assert_int_equal(whole.pages, PAGES);
    assert_int_equal(whole.epoch, PAGES); /* the erasure is known by its last epoch */
    assert_int_equal(whole.ids.count, 0);
    for (uint64_t number = 1; number <= PAGES; number++) {
        struct msg_erase_is one = page(inside, number);

        assert_int_equal(one.ids.count, number < PAGES ? EPOCH_IDS : MINE % EPOCH_IDS);
        for (size_t i = 0; i < one.ids.count; i++)
            assert_int_equal(one.ids.at[i], weir_sample_id(1, 0, (uint32_t)(3 * ++seen)));
    }
    assert_int_equal(seen, MINE);
    assert_int_equal(page(inside, PAGES + 1).ids.count, 0);
}

static struct use_grant hold(struct storage_inside *inside, uint64_t session, uint64_t epoch)
{
    const struct use_request asked = {.session = session, .epoch = epoch};
    struct use_grant grant;
    struct weir_error err;

    assert_int_equal(
        storage_leases_hold(inside->storage->leases, &asked, weir_now_ms(), &grant, &err), WEIR_OK);
    return grant;
}

/* A holder that knows nothing yet is told all of it, and that this is all. */
static void check_grant(struct storage_inside *inside, uint64_t session)
{
    struct use_grant grant = hold(inside, session, 0);

    assert_int_equal(grant.epoch, PAGES);
    assert_int_equal(grant.erased_count, MINE);
    for (size_t i = 0; i < grant.erased_count; i++)
        assert_int_equal(grant.erased[i], weir_sample_id(1, 0, (uint32_t)(3 * (i + 1))));
}

/* ---- tests ---- */

static void pages_are_all_of_the_erasure(void **state)
{
    struct storage_inside *inside = *state;
    struct msg_erase_checked checked;
    struct weir_error err;

    erase_me(inside);
    await(inside, "verified");
    check_pages(inside);
    check_grant(inside, 7);
    assert_int_equal(page(inside, 0).found, 0);
    assert_int_equal(page(inside, 0).records_scrubbed, MINE);
    assert_int_equal(page(inside, 0).files_scrubbed, 1); /* whatever pages it is on */
    assert_int_equal(storage_erase_check(&inside->storage->eraser,
                                         &(struct msg_erase_check){.erasure = 1}, &checked, &err),
                     WEIR_OK);
    assert_int_equal(checked.checked, MINE);
    assert_int_equal(checked.readable + checked.present + checked.unseen + checked.returned, 0);
    assert_int_equal(storage_erase_check(&inside->storage->eraser,
                                         &(struct msg_erase_check){.erasure = 1, .after = MINE - 2},
                                         &checked, &err),
                     WEIR_OK);
    assert_int_equal(checked.checked, MINE);
}

static void they_are_the_same_after_a_restart_with_other_pages(void **state)
{
    struct storage_inside *inside = *state;

    (void)hold(inside, 9, 0);
    erase_me(inside);
    await(inside, "tombstoned");
    storage_close(inside->storage);
    storage_inside_open(inside); /* with the page size of everybody */
    check_pages(inside);
    await(inside, "verified");
    check_pages(inside);
    check_grant(inside, 8);
}

static void it_is_in_force_when_the_last_of_its_epochs_is(void **state)
{
    struct storage_inside *inside = *state;

    (void)hold(inside, 9, 0);
    erase_me(inside);
    await(inside, "tombstoned");
    assert_false(storage_leases_force(inside->storage->leases, PAGES, weir_now_ms()).in_force);
    assert_int_equal(hold(inside, 9, PAGES - 1).erased_count, MINE % EPOCH_IDS);
    assert_false(storage_leases_force(inside->storage->leases, PAGES, weir_now_ms()).in_force);
    (void)hold(inside, 9, PAGES);
    await(inside, "verified");
}

static size_t prints_left(struct storage_inside *inside)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const uint64_t erasure = 1;
    struct weir_error err;

    assert_int_equal(DB_RUN(inside->storage->store.db, Q_erasure_prints_next, &rows, &err,
                            DB_I64S(&erasure, 1), DB_I64(0), DB_I64(0), DB_I64(1)),
                     WEIR_OK);
    return weir_rows_count(rows);
}

static void await_no_prints(struct storage_inside *inside)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (prints_left(inside) > 0) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
}

static void fingerprints_of_what_is_verified_go_also_after_a_death(void **state)
{
    struct storage_inside *inside = *state;

    erase_me(inside);
    await(inside, "scrubbed");
    assert_int_equal(prints_left(inside), 1);
    await(inside, "verified");
    await_no_prints(inside);
    storage_close(inside->storage);
    weir_test_postgres_sql(&inside->postgres,
                           "INSERT INTO storage.erasure_prints "
                           "SELECT 1, page, '\\x00' FROM generate_series(1, 1000) AS page");
    storage_inside_open(inside);
    assert_int_equal(prints_left(inside), 1);
    await_no_prints(inside);
}

/* Requests that wait together share look-ups, tombstones, passes and the search; what each is told is its own. */
static void many_requests_cost_one_epoch_and_each_has_its_own_sample(void **state)
{
    struct storage_inside *inside = *state;
    struct weir_error err;
    WEIR_AUTO_BUF text = {0};
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    inside->storage->eraser.epoch_ids = CROWD;
    for (int i = 0; i < CROWD; i++)
        weir_buf_printf(&text,
                        "{\"ts\":%d,\"user\":\"person-%d\",\"text\":\"words that nobody "
                        "but person %d has written down\"}\n",
                        i + 1, i, i);
    storage_inside_write(inside, "crowd.jsonl", weir_buf_text(&text));
    while (inside->storage->store.catalog->datasets[0]->accounts.live < LINES + CROWD) {
        assert_true(weir_now_ms() < limit_ms);
        storage_scope_add_all(&inside->storage->store.catalog->datasets[0]->dirty);
        storage_scanner_start(inside->storage->scanner);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
    for (int i = 0; i < CROWD; i++) {
        WEIR_AUTO_FREE char *uuid = weir_format("crowd-%d", i);
        WEIR_AUTO_FREE char *person = weir_format("person-%d", i);
        const char *const subjects[] = {person};
        const struct msg_erase_accept accept = {
            .uuid = uuid, .dataset = "", .subjects = {subjects, 1}, .reference = ""};

        (void)storage_inside_erase(inside, &accept);
    }
    for (uint64_t number = 1; number <= CROWD; number++) {
        struct msg_erase_is answer = {.state = ""};

        while (strcmp(answer.state, "verified") != 0) {
            assert_true(weir_now_ms() < limit_ms);
            seal_all(inside);
            weir_loop_step(inside->loop, TEST_STEP_MS);
            assert_int_equal(storage_erase_describe(&inside->storage->eraser,
                                                    &(struct msg_erase_request){number, 1},
                                                    inside->arena, &answer, &err),
                             WEIR_OK);
        }
        assert_int_equal(answer.epoch, 1);
        assert_int_equal(answer.samples, 1);
        assert_int_equal(answer.files_scrubbed, 1);
        assert_int_equal(answer.found, 0);
        assert_int_equal(answer.ids.count, 1);
        assert_int_equal(answer.ids.at[0], weir_sample_id(1, 0, (uint32_t)(LINES + number - 1)));
    }
}

/* Bytes that this process has read from files so far; what comes through sockets is received. */
static uint64_t bytes_read(void)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    unsigned long long bytes = 0;

    assert_int_equal(weir_file_read("/proc/self/io", 4096, &text, &err), WEIR_OK);
    assert_int_equal(sscanf(weir_buf_text(&text), "rchar: %llu", &bytes), 1);
    return bytes;
}

static void write_lines_of_me(struct storage_inside *inside, int count)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    WEIR_AUTO_BUF text = {0};

    for (int i = 0; i < count; i++) {
        size_t end = text.size + LINE_BYTES - 3;

        weir_buf_printf(&text, "{\"ts\":%d,\"user\":\"me\",\"text\":\"", i + 1);
        while (text.size < end)
            weir_buf_append(&text, &"abcdefghijklmnop"[text.size % 16], 1);
        weir_buf_append_text(&text, "\"}\n");
    }
    storage_inside_write(inside, "many.jsonl", weir_buf_text(&text));
    while (inside->storage->store.catalog->datasets[0]->accounts.live < LINES + (uint64_t)count) {
        assert_true(weir_now_ms() < limit_ms);
        storage_scope_add_all(&inside->storage->store.catalog->datasets[0]->dirty);
        storage_scanner_start(inside->storage->scanner);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
}

static void samples_are_put_under_tombstones_by_their_own_bytes(void **state)
{
    static const char *const ME[] = {"me"};
    const struct msg_erase_accept accept = {
        .uuid = "u-1", .dataset = "", .subjects = {ME, 1}, .reference = ""};
    struct storage_inside *inside = *state;
    uint64_t before;

    inside->storage->eraser.epoch_ids = ERASE_PAGE_IDS;
    write_lines_of_me(inside, MANY);
    before = bytes_read();
    (void)storage_inside_erase(inside, &accept);
    await(inside, "tombstoned");
    assert_int_equal(page(inside, 0).samples, MANY + MINE);
    assert_in_range((bytes_read() - before) / (MANY + MINE), 0, READ_TIMES_MAX * LINE_BYTES);
}

static void a_group_has_one_number_for_a_request_and_refuses_what_is_wrong_alone(void **state)
{
    static const char *const ME[] = {"me"}, *const NOBODY[] = {"nobody"};
    struct storage_inside *inside = *state;
    const struct msg_erase_accept asked[] = {
        {.uuid = "a", .dataset = "", .reference = "file 7", .subjects = {ME, 1}},
        {.uuid = "b", .dataset = "elsewhere", .reference = "", .subjects = {ME, 1}},
        {.uuid = "a", .dataset = "", .reference = "file 7", .subjects = {ME, 1}},
        {.uuid = "c",
         .dataset = "",
         .reference = "",
         .subjects = {NOBODY, 1},
         .expects_match = true},
        {.uuid = "d", .dataset = "", .reference = "", .subjects = {NOBODY, 1}},
    };
    struct erase_acceptance each[WEIR_COUNT(asked)] = {0}, *all[WEIR_COUNT(asked)];
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct weir_error err;

    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < WEIR_COUNT(asked); i++) {
            each[i] = (struct erase_acceptance){.asked = &asked[i], .arena = arena};
            all[i] = &each[i];
        }
        assert_int_equal(
            storage_erase_accept_all(&inside->storage->eraser, all, WEIR_COUNT(asked), &err),
            WEIR_OK);
        assert_int_equal(each[0].answer.erasure, 1);
        assert_int_equal(each[2].answer.erasure, 1);
        assert_int_equal(each[1].status, WEIR_INVALID);
        assert_int_equal(each[3].status, WEIR_NOT_FOUND);
        assert_int_equal(each[4].status, WEIR_OK);
        assert_true(each[4].answer.erasure > 1);
        assert_int_equal(inside->storage->eraser.erasures->waiting_count, 2);
    }
    assert_int_equal(each[0].answer.unmatched_subjects.count, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, storage_inside_teardown)
    const struct CMUnitTest tests[] = {
        CASE(pages_are_all_of_the_erasure),
        CASE(they_are_the_same_after_a_restart_with_other_pages),
        CASE(it_is_in_force_when_the_last_of_its_epochs_is),
        CASE(fingerprints_of_what_is_verified_go_also_after_a_death),
        CASE(many_requests_cost_one_epoch_and_each_has_its_own_sample),
        CASE(samples_are_put_under_tombstones_by_their_own_bytes),
        CASE(a_group_has_one_number_for_a_request_and_refuses_what_is_wrong_alone),
    };
    return cmocka_run_group_tests_name("storage: erasures of several pages", tests, NULL, NULL);
}
