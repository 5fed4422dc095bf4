/* The feed keeps what somebody has not read, forgets what all have, and tells who comes too late what is
 * live; a replay at an older position does not change. The service runs in process, so that the test
 * decides when it forgets. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/feed/feed.h"
#include "storage/sql/queries.h"
#include "tests/component/storage_inside.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int begin(void **state)
{
    *state = calloc(1, sizeof(struct storage_inside));
    storage_inside_begin(*state);
    return 0;
}

static void declare(struct storage_inside *fixture)
{
    (void)storage_inside_declare(fixture, "  - name: lines\n"
                                          "    source: {path: %s, format: jsonl, settle: 0ms}\n"
                                          "    time: {from: field, field: ts}\n");
}

static void await_sequence(struct storage_inside *fixture, uint64_t sequence)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (fixture->storage->store.catalog->datasets[0]->sequence < sequence) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

static enum weir_status try_feed(struct storage_inside *fixture, const struct msg_feed_read *asked,
                                 struct msg_feed_is *answer, struct weir_error *err)
{
    *answer = (struct msg_feed_is){0};
    return storage_feed_read(&fixture->storage->store, asked, fixture->arena, answer, err);
}

static struct msg_feed_is read_feed(struct storage_inside *fixture, const char *consumer,
                                    uint64_t after)
{
    struct msg_feed_is answer;
    struct weir_error err;

    assert_int_equal(try_feed(fixture,
                              &(struct msg_feed_read){
                                  .dataset = 1, .consumer = consumer, .after = after, .limit = 100},
                              &answer, &err),
                     WEIR_OK);
    return answer;
}

/* State of a newcomer that has read all: live ranges, and its position. */
struct newcomer {
    const char *name;
    uint64_t passed;
    bool live[WEIR_BLOCK_ROWS]; /* rows of block 0 */
};

/* One page; false when nothing is left. */
static bool read_on(struct storage_inside *fixture, struct newcomer *newcomer, uint32_t limit)
{
    const struct msg_feed_read asked = {.dataset = 1,
                                        .consumer = newcomer->name,
                                        .after = newcomer->passed,
                                        .limit = limit,
                                        .snapshot = newcomer->passed == 0};
    struct msg_feed_is page;
    struct weir_error err;
    bool is_more;

    assert_int_equal(try_feed(fixture, &asked, &page, &err), WEIR_OK);
    for (size_t i = 0; i < page.sequences.count; i++) {
        assert_true(page.sequences.at[i] > newcomer->passed && page.sequences.at[i] <= page.passed);
        for (uint32_t k = 0; k < page.counts.at[i]; k++) {
            bool *is_live = &newcomer->live[weir_sample_row(page.firsts.at[i]) + k];

            assert_true(*is_live == (page.kinds.at[i] != WEIR_CHANGE_ADDED)); /* nothing twice */
            *is_live = page.kinds.at[i] == WEIR_CHANGE_ADDED;
        }
    }
    is_more = page.passed > newcomer->passed;
    newcomer->passed = page.passed;
    return is_more;
}

static void assert_knows_what_is_live(struct storage_inside *fixture,
                                      const struct newcomer *newcomer)
{
    const struct dataset *dataset = fixture->storage->store.catalog->datasets[0];

    assert_int_equal(newcomer->passed, dataset->sequence);
    for (uint32_t row = 0; row < dataset->next_row; row++)
        assert_int_equal(newcomer->live[row], !storage_dataset_is_dead(dataset, 0, row));
}

/* Asks again while the order is being made, as every caller does. */
static struct msg_replay_is read_replay(struct storage_inside *fixture,
                                        const struct msg_replay_read *asked)
{
    struct msg_replay_is answer = {0};
    struct weir_error err;
    enum weir_status status = WEIR_UNAVAILABLE;

    while (status == WEIR_UNAVAILABLE) {
        status =
            storage_replay_read(fixture->storage->replays, asked, fixture->arena, &answer, &err);
        weir_loop_step(fixture->loop, 0);
    }
    assert_int_equal(status, WEIR_OK);
    return answer;
}

/* Samples of the replay, in one page; it must be in order. */
static size_t count_replay(struct storage_inside *fixture, uint64_t position)
{
    struct msg_replay_is answer = read_replay(
        fixture,
        &(struct msg_replay_read){.dataset = 1, .position = position, .after_time = INT64_MIN});

    assert_true(answer.end);
    for (size_t i = 1; i < answer.ids.count; i++)
        assert_true(answer.times.at[i - 1] < answer.times.at[i] ||
                    (answer.times.at[i - 1] == answer.times.at[i] &&
                     answer.ids.at[i - 1] < answer.ids.at[i]));
    return answer.ids.count;
}

static size_t count_orders(struct storage_inside *fixture)
{
    WEIR_AUTO_FREE char *folder = weir_format("%s/replays", fixture->dir.path);
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    if (directory != NULL)
        closedir(directory);
    return count;
}

static void write_rows(struct storage_inside *fixture, const char *name, int first, int count)
{
    WEIR_AUTO_BUF text = {0};

    for (int i = 0; i < count; i++)
        weir_buf_printf(&text, "{\"ts\":%d}\n", first + i);
    storage_inside_write(fixture, name, weir_buf_text(&text));
}

static void what_all_have_passed_is_forgotten(void **state)
{
    struct storage_inside *fixture = *state;
    const struct dataset *dataset;
    struct msg_feed_is answer;
    struct weir_error err;

    storage_inside_write(fixture, "a.jsonl", "{\"ts\":1}\n{\"ts\":2}\n");
    declare(fixture);
    await_sequence(fixture, 1);
    storage_inside_write(fixture, "b.jsonl", "{\"ts\":3}\n");
    await_sequence(fixture, 2);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 3);
    dataset = fixture->storage->store.catalog->datasets[0];
    answer = read_feed(fixture, "selector/x", 0);
    assert_int_equal(answer.sequences.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(answer.sequences.at[i], i + 1);
    (void)read_feed(fixture, "orchestrator/x", 3);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    assert_int_equal(dataset->feed_floor, 0); /* one has not passed them */
    (void)read_feed(fixture, "selector/x", 3);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    assert_int_equal(dataset->feed_floor, 3);
    assert_int_equal(try_feed(fixture,
                              &(struct msg_feed_read){.dataset = 1, .consumer = "late", .after = 1},
                              &answer, &err),
                     WEIR_STALE);
    assert_string_equal(
        err.text, "consumer 'late' has passed change 1 of dataset 'lines', and what follows up "
                  "to 3 is not kept any more: start from a snapshot");
}

static void the_feed_says_since_when_each_change_is_visible(void **state)
{
    struct storage_inside *fixture = *state;
    int64_t begun_us = weir_now_wall_us();

    storage_inside_write(fixture, "a.jsonl", "{\"ts\":1}\n");
    declare(fixture);
    await_sequence(fixture, 1);
    int64_t between_us = weir_now_wall_us();
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 2);
    struct msg_feed_is answer = read_feed(fixture, "reader", 0);
    assert_int_equal(answer.visible_us.count, 2);
    assert_true(answer.visible_us.at[0] >= begun_us && answer.visible_us.at[0] <= between_us);
    assert_true(answer.visible_us.at[1] >= between_us);
    assert_true(answer.visible_us.at[1] <= weir_now_wall_us());
}

static void a_newcomer_is_told_what_is_live_and_then_all_that_follows(void **state)
{
    struct storage_inside *fixture = *state;
    struct newcomer *newcomer = weir_calloc(1, sizeof(*newcomer));
    struct msg_feed_is page;
    struct weir_error err;

    newcomer->name = "newcomer";
    write_rows(fixture, "a.jsonl", 0, 10);
    declare(fixture);
    await_sequence(fixture, 1);
    write_rows(fixture, "b.jsonl", 10, 20);
    await_sequence(fixture, 2);
    write_rows(fixture, "c.jsonl", 30, 5);
    await_sequence(fixture, 3);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/b.jsonl")), 0);
    await_sequence(fixture, 4);
    (void)read_feed(fixture, "old", 4);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);

    assert_true(read_on(fixture, newcomer, 1)); /* the first range of the snapshot, as of 4 */
    assert_int_equal(newcomer->passed, 1);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 5);
    write_rows(fixture, "d.jsonl", 40, 7);
    await_sequence(fixture, 6);
    (void)read_feed(fixture, "old", 6);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    while (read_on(fixture, newcomer, 1))
        ;
    assert_knows_what_is_live(fixture, newcomer);

    /* A live range costs one row, however much happened to its neighbours. */
    assert_int_equal(
        try_feed(fixture,
                 &(struct msg_feed_read){.dataset = 1, .consumer = "second", .snapshot = true},
                 &page, &err),
        WEIR_OK);
    assert_int_equal(page.sequences.count, 2);
    assert_int_equal(page.passed, 6);
    free(newcomer);
}

static void who_never_returns_does_not_keep_the_feed_for_ever(void **state)
{
    struct storage_inside *fixture = *state;
    const struct dataset *dataset;
    struct msg_feed_ended ended = {0};
    struct msg_feed_is page;
    struct weir_error err;

    write_rows(fixture, "a.jsonl", 0, 10);
    declare(fixture);
    await_sequence(fixture, 1);
    write_rows(fixture, "b.jsonl", 0, 10);
    await_sequence(fixture, 2);
    dataset = fixture->storage->store.catalog->datasets[0];
    (void)read_feed(fixture, "gone", 0);
    (void)read_feed(fixture, "removed", 1);
    (void)read_feed(fixture, "here", 2);
    weir_test_postgres_sql(&fixture->postgres,
                           "UPDATE storage.consumer SET seen_us = 0 WHERE name = 'gone'");
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    assert_int_equal(dataset->feed_floor, 1);
    assert_int_equal(storage_feed_end(&fixture->storage->store,
                                      &(struct msg_feed_end){.consumer = "removed", .dataset = ""},
                                      &ended, &err),
                     WEIR_OK);
    assert_int_equal(ended.consumers, 1);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    assert_int_equal(dataset->feed_floor, 2);
    assert_int_equal(
        try_feed(fixture, &(struct msg_feed_read){.dataset = 1, .consumer = "gone"}, &page, &err),
        WEIR_STALE);
    assert_int_equal(
        try_feed(fixture,
                 &(struct msg_feed_read){.dataset = 1, .consumer = "gone", .snapshot = true}, &page,
                 &err),
        WEIR_OK);
    assert_int_equal(page.passed, 2);
}

static void erase(struct storage_inside *fixture, const char *uuid, const uint64_t *ids,
                  size_t count)
{
    const struct msg_erase_accept accept = {
        .uuid = uuid, .dataset = "", .reference = "", .ids = {ids, count}};

    (void)storage_inside_erase(fixture, &accept);
}

static void who_was_away_is_told_how_many_of_its_samples_were_erased(void **state)
{
    struct storage_inside *fixture = *state;
    const uint64_t ids[] = {weir_sample_id(1, 0, 2), weir_sample_id(1, 0, 7),
                            weir_sample_id(1, 0, 8), weir_sample_id(1, 0, 12)};
    const struct msg_feed_read again = {
        .dataset = 1, .consumer = "away", .after = 1, .snapshot = true};
    struct msg_feed_ended ended = {0};
    struct msg_feed_readers readers = {0};
    struct msg_feed_is page;
    struct weir_error err;

    write_rows(fixture, "a.jsonl", 0, 10);
    declare(fixture);
    await_sequence(fixture, 1);
    (void)read_feed(fixture, "away", 1);
    write_rows(fixture, "b.jsonl", 10, 5);
    await_sequence(fixture, 2);
    erase(fixture, "u-1", ids,
          WEIR_COUNT(ids)); /* three that it has taken, and one that came after it */
    await_sequence(fixture, 5);
    (void)read_feed(fixture, "here", 5);
    assert_int_equal(storage_feed_describe(&fixture->storage->store,
                                           &(struct msg_feed_request){.dataset = "lines"},
                                           fixture->arena, &readers, &err),
                     WEIR_OK);
    assert_int_equal(readers.head, 5);
    assert_int_equal(readers.consumers.count, 2);
    assert_string_equal(readers.consumers.at[0], "away");
    assert_int_equal(readers.passed.at[0], 1);
    assert_int_equal(
        storage_feed_end(&fixture->storage->store,
                         &(struct msg_feed_end){.consumer = "away", .dataset = "other"}, &ended,
                         &err),
        WEIR_NOT_FOUND);
    assert_int_equal(
        storage_feed_end(&fixture->storage->store,
                         &(struct msg_feed_end){.consumer = "away", .dataset = "lines"}, &ended,
                         &err),
        WEIR_OK);
    assert_int_equal(ended.consumers, 1);
    assert_int_equal(storage_feed_forget(&fixture->storage->store, &err), WEIR_OK);
    assert_int_equal(try_feed(fixture,
                              &(struct msg_feed_read){.dataset = 1, .consumer = "away", .after = 1},
                              &page, &err),
                     WEIR_STALE);
    for (int i = 0; i < 2; i++) { /* a message that comes twice has one answer */
        assert_int_equal(try_feed(fixture, &again, &page, &err), WEIR_OK);
        assert_int_equal(page.erased, 3);
        assert_int_equal(page.passed, 5);
    }
    assert_int_equal(read_feed(fixture, "away", 5).erased, 0);
    assert_int_equal(
        try_feed(fixture,
                 &(struct msg_feed_read){.dataset = 1, .consumer = "new", .snapshot = true}, &page,
                 &err),
        WEIR_OK);
    assert_int_equal(page.erased, 0); /* it has taken none */
}

static void a_replay_sees_nothing_behind_its_position(void **state)
{
    struct storage_inside *fixture = *state;

    storage_inside_write(fixture, "a.jsonl", "{\"ts\":1}\n{\"ts\":2}\n");
    declare(fixture);
    await_sequence(fixture, 1);
    assert_int_equal(count_replay(fixture, 1), 2);
    storage_inside_write(fixture, "b.jsonl", "{\"ts\":3}\n");
    await_sequence(fixture, 2);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 3);
    assert_int_equal(count_replay(fixture, 1), 2);
    assert_int_equal(count_replay(fixture, 2), 3);
    assert_int_equal(count_replay(fixture, 3), 1);

    storage_close(fixture->storage); /* the order is made again, and is the same */
    storage_inside_open(fixture);
    assert_int_equal(count_replay(fixture, 1), 2);
    assert_int_equal(count_replay(fixture, 2), 3);
    assert_int_equal(count_replay(fixture, 3), 1);
}

static void an_order_needs_a_file_only_when_samples_do_not_lie_in_order(void **state)
{
    struct storage_inside *fixture = *state;

    write_rows(fixture, "a.jsonl", 100, 50);
    declare(fixture);
    await_sequence(fixture, 1);
    assert_int_equal(count_replay(fixture, 1), 50);
    assert_int_equal(count_orders(fixture), 0);
    write_rows(fixture, "b.jsonl", 0, 120); /* earlier, and some at the same time */
    await_sequence(fixture, 2);
    assert_int_equal(count_replay(fixture, 2), 170);
    assert_int_equal(count_orders(fixture), 1);
    assert_int_equal(count_replay(fixture, 1), 50);
}

static void an_order_is_taken_up_after_a_restart_unless_it_is_damaged(void **state)
{
    struct storage_inside *fixture = *state;
    WEIR_AUTO_FREE char *path = weir_format("%s/replays/1-2.order", fixture->dir.path);
    WEIR_AUTO_FREE char *part = weir_format("%s/replays/1-9.order.3.part", fixture->dir.path);
    struct stat before, after;

    write_rows(fixture, "a.jsonl", 100, 50);
    declare(fixture);
    await_sequence(fixture, 1);
    write_rows(fixture, "b.jsonl", 0, 120);
    await_sequence(fixture, 2);
    assert_int_equal(count_replay(fixture, 2), 170);
    assert_int_equal(stat(path, &before), 0);
    storage_close(fixture->storage);
    close(open(part, O_WRONLY | O_CREAT, 0600)); /* as a death in the middle leaves it */
    storage_inside_open(fixture);
    assert_int_equal(access(part, F_OK), -1);
    assert_int_equal(count_replay(fixture, 2), 170);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    storage_close(fixture->storage);
    assert_int_equal(truncate(path, before.st_size - 1), 0);
    storage_inside_open(fixture);
    assert_int_equal(count_replay(fixture, 2), 170);
    assert_int_equal(stat(path, &after), 0);
    assert_true(after.st_size == before.st_size);
}

enum { MANY_ROWS = 500000 };

/* Adds so many rows that an order of them is begun when it is asked for, and made meanwhile. */
static void add_many(struct storage_inside *fixture)
{
    const struct dataset *dataset;

    write_rows(fixture, "a.jsonl", MANY_ROWS, 1);
    declare(fixture);
    await_sequence(fixture, 1);
    write_rows(fixture, "b.jsonl", 0, MANY_ROWS);
    dataset = fixture->storage->store.catalog->datasets[0];
    while (dataset->next_row <= MANY_ROWS)
        weir_loop_step(fixture->loop, TEST_STEP_MS);
}

static enum weir_status try_replay(struct storage_inside *fixture, uint64_t position,
                                   struct weir_error *err)
{
    const struct msg_replay_read asked = {
        .dataset = 1, .position = position, .after_time = INT64_MIN, .limit = 1};
    struct msg_replay_is answer = {0};

    return storage_replay_read(fixture->storage->replays, &asked, fixture->arena, &answer, err);
}

static void whoever_asks_for_an_order_is_told_why_it_could_not_be_made_meanwhile(void **state)
{
    struct storage_inside *fixture = *state;
    struct msg_replay_read asked = {.dataset = 1, .after_time = INT64_MIN};
    WEIR_AUTO_FREE char *folder = weir_format("%s/replays", fixture->dir.path);
    struct weir_error err;

    add_many(fixture);
    asked.position = fixture->storage->store.catalog->datasets[0]->sequence;
    assert_int_equal(try_replay(fixture, asked.position, &err), WEIR_UNAVAILABLE);
    assert_int_equal(weir_remove_tree(folder, &err), WEIR_OK);
    while (storage_replays_step(fixture->storage->replays))
        ;
    assert_int_equal(try_replay(fixture, asked.position, &err), WEIR_IO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(read_replay(fixture, &asked).times.at[0], 0);
}

static void an_order_that_is_awaited_makes_no_room_for_another_one(void **state)
{
    enum { ORDERS = 16 };
    struct storage_inside *fixture = *state;
    uint64_t first;
    struct weir_error err;

    add_many(fixture);
    first = fixture->storage->store.catalog->datasets[0]->sequence;
    for (uint64_t i = 1; i <= ORDERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%d.jsonl", (int)i);
        write_rows(fixture, name, 0, 1);
        await_sequence(fixture, first + i);
    }
    for (uint64_t i = 0; i < ORDERS; i++)
        assert_int_equal(try_replay(fixture, first + i, &err), WEIR_UNAVAILABLE);
    assert_int_equal(try_replay(fixture, first + ORDERS, &err), WEIR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "16 others are awaited already"));
    while (storage_replays_step(fixture->storage->replays))
        ;
    for (uint64_t i = 0; i < ORDERS; i++)
        assert_int_equal(try_replay(fixture, first + i, &err), WEIR_OK);
    while (try_replay(fixture, first + ORDERS, &err) == WEIR_UNAVAILABLE)
        (void)storage_replays_step(fixture->storage->replays);
    assert_int_equal(try_replay(fixture, first + ORDERS, &err), WEIR_OK);
}

static void orders_of_more_replays_than_are_open_are_made_once(void **state)
{
    enum { ORDERS = 70 };
    struct storage_inside *fixture = *state;
    WEIR_AUTO_FREE char *path = weir_format("%s/replays/1-2.order", fixture->dir.path);
    struct stat before, after;

    write_rows(fixture, "a.jsonl", 100, 50);
    declare(fixture);
    await_sequence(fixture, 1);
    for (uint64_t i = 1; i <= ORDERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%d.jsonl", (int)i);
        write_rows(fixture, name, 0, 1);
        await_sequence(fixture, 1 + i);
        assert_int_equal(count_replay(fixture, 1 + i), 50 + i);
    }
    assert_int_equal(count_orders(fixture), ORDERS);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(count_replay(fixture, 2), 51);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void samples_in_order_are_paged_from_where_they_lie(void **state)
{
    struct storage_inside *fixture = *state;
    struct msg_replay_read asked = {
        .dataset = 1, .position = 2, .after_time = INT64_MIN, .limit = 7};
    struct msg_replay_is page = {.end = false};
    int64_t next = 0;

    write_rows(fixture, "a.jsonl", 0, 30);
    declare(fixture);
    await_sequence(fixture, 1);
    write_rows(fixture, "b.jsonl", 30, 21);
    await_sequence(fixture, 2);
    while (!page.end) {
        page = read_replay(fixture, &asked);
        for (size_t i = 0; i < page.ids.count; i++)
            assert_int_equal(page.times.at[i], next++ * 1000000);
        asked.after_time = page.ids.count > 0 ? page.times.at[page.ids.count - 1] : 0;
        asked.after_id = page.ids.count > 0 ? page.ids.at[page.ids.count - 1] : 0;
    }
    assert_int_equal(next, 51);
    asked.after_time = 29500000; /* between two samples */
    asked.after_id = 0;
    page = read_replay(fixture, &asked);
    assert_int_equal(page.times.at[0], 30000000);
}

/* Hands storage a clock on which so many days have passed. */
static void pass_days(struct storage_inside *fixture, int64_t days)
{
    struct storage *storage = fixture->storage;
    struct weir_error err;
    int64_t now_ms = storage->store.lived.ticked_ms + days * 86400000;

    assert_int_equal(
        weir_lived_tick(&storage->store.lived, storage->store.db, Q_live, now_ms, &err), WEIR_OK);
    assert_int_equal(storage_feed_forget(&storage->store, &err), WEIR_OK);
}

static bool is_consumer(struct storage_inside *fixture, const char *name)
{
    struct storage *storage = fixture->storage;
    struct weir_arena *arena = weir_arena_new();
    struct msg_feed_readers readers = {0};
    struct weir_error err;
    bool is_there = false;

    assert_int_equal(storage_feed_describe(
                         &storage->store,
                         &(struct msg_feed_request){
                             .dataset = storage->store.catalog->datasets[0]->declaration->name},
                         arena, &readers, &err),
                     WEIR_OK);
    for (size_t i = 0; i < readers.consumers.count; i++)
        is_there = is_there || strcmp(readers.consumers.at[i], name) == 0;
    weir_arena_free(arena);
    return is_there;
}

static void a_consumer_expires_when_storage_has_run_for_thirty_days(void **state)
{
    struct storage_inside *fixture = *state;

    write_rows(fixture, "a.jsonl", 0, 10);
    declare(fixture);
    await_sequence(fixture, 1);
    (void)read_feed(fixture, "gone", 0);
    (void)read_feed(fixture, "here", 0);
    pass_days(fixture, 29);
    (void)read_feed(fixture, "here", 0);
    assert_true(is_consumer(fixture, "gone") && is_consumer(fixture, "here"));
    pass_days(fixture, 2);
    assert_false(is_consumer(fixture, "gone"));
    assert_true(is_consumer(fixture, "here"));
}

/* The clock of retention and the wall clock are years apart, as after somebody has set the latter. */
static void a_wall_clock_that_jumps_by_years_expires_nobody_and_keeps_nobody(void **state)
{
    static const int64_t YEARS[] = {20, -20};
    struct storage_inside *fixture = *state;

    write_rows(fixture, "a.jsonl", 0, 10);
    declare(fixture);
    await_sequence(fixture, 1);
    for (size_t i = 0; i < WEIR_COUNT(YEARS); i++) {
        int64_t apart_us = YEARS[i] * INT64_C(31557600000000);
        WEIR_AUTO_FREE char *sql =
            weir_format("UPDATE storage.lived SET us = us + %lld; "
                        "UPDATE storage.consumer SET seen_us = seen_us + %lld",
                        (long long)apart_us, (long long)apart_us);

        (void)read_feed(fixture, "away", 0);
        weir_test_postgres_sql(&fixture->postgres, sql);
        pass_days(fixture, 29);
        assert_true(is_consumer(fixture, "away"));
        pass_days(fixture, 2);
        assert_false(is_consumer(fixture, "away"));
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, storage_inside_teardown)
    const struct CMUnitTest tests[] = {
        CASE(what_all_have_passed_is_forgotten),
        CASE(the_feed_says_since_when_each_change_is_visible),
        CASE(a_newcomer_is_told_what_is_live_and_then_all_that_follows),
        CASE(who_never_returns_does_not_keep_the_feed_for_ever),
        CASE(who_was_away_is_told_how_many_of_its_samples_were_erased),
        CASE(a_replay_sees_nothing_behind_its_position),
        CASE(an_order_needs_a_file_only_when_samples_do_not_lie_in_order),
        CASE(an_order_is_taken_up_after_a_restart_unless_it_is_damaged),
        CASE(whoever_asks_for_an_order_is_told_why_it_could_not_be_made_meanwhile),
        CASE(an_order_that_is_awaited_makes_no_room_for_another_one),
        CASE(orders_of_more_replays_than_are_open_are_made_once),
        CASE(samples_in_order_are_paged_from_where_they_lie),
        CASE(a_consumer_expires_when_storage_has_run_for_thirty_days),
        CASE(a_wall_clock_that_jumps_by_years_expires_nobody_and_keeps_nobody),
    };
    return cmocka_run_group_tests_name("storage: feed and replay", tests, NULL, NULL);
}
