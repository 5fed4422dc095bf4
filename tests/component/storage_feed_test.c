/* The feed keeps what somebody has not read, forgets what all have, and tells newcomers the same story;
 * a replay at an older position does not change. The service runs in process, so that the test decides
 * when it forgets. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/serve.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct weir_test_postgres postgres;
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_arena *arena;
    struct storage *storage;
};

static void write_file(struct fixture *fixture, const char *name, const char *text)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/%s", fixture->dir.path, name);
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void open_storage(struct fixture *fixture)
{
    const struct weir_service_options options = {.data_dir = fixture->dir.path,
                                                 .postgres = fixture->postgres.conninfo};
    struct weir_error err;
    void *state;

    assert_int_equal(storage_open(&options, fixture->loop, NULL, &state, &err), WEIR_OK);
    fixture->storage = state;
}

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct weir_error err;

    weir_test_postgres_start(&fixture->postgres);
    temp_dir_make(&fixture->dir);
    assert_int_equal(weir_make_directories(temp_path(&fixture->dir, "source"), 0700, &err),
                     WEIR_OK);
    fixture->loop = weir_loop_new();
    fixture->arena = weir_arena_new();
    open_storage(fixture);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    storage_close(fixture->storage);
    weir_loop_free(fixture->loop);
    weir_arena_free(fixture->arena);
    temp_dir_remove(&fixture->dir);
    weir_test_postgres_stop(&fixture->postgres);
    free(fixture);
    return 0;
}

static void declare(struct fixture *fixture)
{
    WEIR_AUTO_FREE char *text = weir_format("datasets:\n"
                                            "  - name: lines\n"
                                            "    source: {path: %s/source, format: jsonl,\n"
                                            "             settle: 0ms}\n"
                                            "    time: {from: field, field: ts}\n",
                                            fixture->dir.path);
    struct msg_dataset_declared answer;
    struct weir_error err;

    assert_int_equal(storage_declare(fixture->storage,
                                     &(struct msg_dataset_declare){.file = "p.yaml",
                                                                   .config = weir_bytes_of(text)},
                                     fixture->arena, &answer, &err),
                     WEIR_OK);
}

static void await_sequence(struct fixture *fixture, uint64_t sequence)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (fixture->storage->catalog->datasets[0]->sequence < sequence) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

static struct msg_feed_is read_feed(struct fixture *fixture, const char *consumer, uint64_t after)
{
    struct msg_feed_is answer = {0};
    struct weir_error err;

    assert_int_equal(
        storage_feed_read(fixture->storage,
                          &(struct msg_feed_read){
                              .dataset = 1, .consumer = consumer, .after = after, .limit = 100},
                          fixture->arena, &answer, &err),
        WEIR_OK);
    return answer;
}

static void assert_same_feed(const struct msg_feed_is *a, const struct msg_feed_is *b)
{
    assert_int_equal(a->sequences.count, b->sequences.count);
    for (size_t i = 0; i < a->sequences.count; i++) {
        assert_int_equal(a->sequences.at[i], i + 1);
        assert_int_equal(b->sequences.at[i], i + 1);
        assert_int_equal(a->kinds.at[i], b->kinds.at[i]);
        assert_int_equal(a->firsts.at[i], b->firsts.at[i]);
        assert_int_equal(a->counts.at[i], b->counts.at[i]);
    }
}

static size_t count_replay(struct fixture *fixture, uint64_t position)
{
    struct msg_replay_is answer = {0};
    struct weir_error err;

    assert_int_equal(
        storage_replay_read(
            fixture->storage,
            &(struct msg_replay_read){.dataset = 1, .position = position, .after_time = INT64_MIN},
            fixture->arena, &answer, &err),
        WEIR_OK);
    assert_true(answer.end);
    return answer.ids.count;
}

static void what_all_have_passed_is_forgotten_and_told_again(void **state)
{
    struct fixture *fixture = *state;
    struct msg_feed_is before, after;
    struct weir_error err;

    write_file(fixture, "a.jsonl", "{\"ts\":1}\n{\"ts\":2}\n");
    write_file(fixture, "b.jsonl", "{\"ts\":3}\n");
    declare(fixture);
    await_sequence(fixture, 1);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 2);
    before = read_feed(fixture, "selector/x", 0);
    (void)read_feed(fixture, "orchestrator/x", 2);
    assert_int_equal(storage_feed_forget(fixture->storage, &err), WEIR_OK);
    assert_int_equal(fixture->storage->catalog->datasets[0]->feed_floor, 0); /* one has not */
    (void)read_feed(fixture, "selector/x", 2);
    assert_int_equal(storage_feed_forget(fixture->storage, &err), WEIR_OK);
    assert_int_equal(fixture->storage->catalog->datasets[0]->feed_floor, 2);
    after = read_feed(fixture, "newcomer", 0);
    assert_int_equal(before.sequences.count, 2);
    assert_same_feed(&before, &after);
}

static void a_replay_sees_nothing_behind_its_position(void **state)
{
    struct fixture *fixture = *state;

    write_file(fixture, "a.jsonl", "{\"ts\":1}\n{\"ts\":2}\n");
    declare(fixture);
    await_sequence(fixture, 1);
    assert_int_equal(count_replay(fixture, 1), 2);
    write_file(fixture, "b.jsonl", "{\"ts\":3}\n");
    await_sequence(fixture, 2);
    assert_int_equal(unlink(temp_path(&fixture->dir, "source/a.jsonl")), 0);
    await_sequence(fixture, 3);
    assert_int_equal(count_replay(fixture, 1), 2);
    assert_int_equal(count_replay(fixture, 2), 3);
    assert_int_equal(count_replay(fixture, 3), 1);

    storage_close(fixture->storage); /* the order is made anew, and is the same */
    open_storage(fixture);
    assert_int_equal(count_replay(fixture, 1), 2);
    assert_int_equal(count_replay(fixture, 2), 3);
    assert_int_equal(count_replay(fixture, 3), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_all_have_passed_is_forgotten_and_told_again, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_replay_sees_nothing_behind_its_position, begin, end),
    };
    return cmocka_run_group_tests_name("storage: feed and replay", tests, NULL, NULL);
}
