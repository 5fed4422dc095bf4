/* Storage says the same of whole chunks as of each sample, and whatever becomes of a file or a sample, the
 * edition says that it has changed. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/reading/serve.h"
#include "tests/component/storage_inside.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 9, PLACES = 6 };

static const char LINES[] = "  - {name: lines, time: {from: mtime}, label: {field: 1, type: i64},\n"
                            "     source: {path: %s, format: csv, header: false, settle: 0ms,\n"
                            "              on_erase: scrub}}\n";
static const char FILES[] = "  - {name: files, time: {from: mtime},\n"
                            "     source: {path: %s, format: files, settle: 0ms}}\n";

struct fixture {
    struct storage_inside inside;
    struct dataset *dataset;
    uint64_t rows;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    storage_inside_begin(&fixture->inside);
    storage_inside_write(&fixture->inside, "a", "1,a-one\n2,a-two\n3,a-three\n");
    storage_inside_write(&fixture->inside, "b", "4,b-one\n5,b-two\n6,b-three\n");
    storage_inside_write(&fixture->inside, "c", "7,c-one\n8,c-two\n9,c-three\n");
    fixture->dataset = storage_inside_declare(&fixture->inside, LINES);
    fixture->rows = ROWS;
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    storage_inside_end(&fixture->inside);
    free(fixture);
    return 0;
}

static uint64_t id_of(const struct fixture *fixture, uint64_t row)
{
    return storage_dataset_id(fixture->dataset, row);
}

/* ---- asking ---- */

struct columns {
    int64_t at[PLACES][2 * ROWS];
};

static struct msg_located_chunks ask(struct fixture *fixture, uint64_t id, struct columns *columns)
{
    uint64_t number = fixture->dataset->number;
    struct weir_frames frames = {.count = 0};
    const struct msg_locate_chunks asked = {.datasets = {&number, 1}, .ids = {&id, 1}};
    struct msg_located_chunks reply = {0};
    struct weir_error err;
    struct weir_bytes frame;

    assert_int_equal(storage_locate_chunks(&fixture->inside.storage->serving, &asked,
                                           fixture->inside.arena, &reply, &frames, &err),
                     WEIR_OK);
    assert_int_equal(reply.ids.count, 1);
    assert_int_equal(reply.editions.count, 1);
    frame = weir_frames_at(&frames, 0);
    for (size_t c = 0; c < PLACES && reply.counts.at[0] > 0; c++) {
        assert_true(reply.counts.at[0] <= 2 * ROWS);
        assert_int_equal(weir_column_unpack(weir_bytes(frame.at, reply.bytes.at[c]), columns->at[c],
                                            reply.counts.at[0], &err),
                         WEIR_OK);
        frame = weir_bytes(frame.at + reply.bytes.at[c], frame.size - reply.bytes.at[c]);
    }
    assert_int_equal(frame.size, 0);
    weir_frames_clear(&frames);
    return reply;
}

static struct msg_located locate(struct fixture *fixture, const uint64_t *ids, size_t count)
{
    const struct msg_locate asked = {.ids = {ids, count}};
    struct msg_located reply;
    struct weir_error err;

    assert_int_equal(storage_locate(&fixture->inside.storage->serving, &asked,
                                    fixture->inside.arena, &reply, &err),
                     WEIR_OK);
    return reply;
}

static void compare_row(const struct msg_located_chunks *whole, const struct columns *columns,
                        size_t row, const struct msg_located *one, size_t i)
{
    size_t file = (uint64_t)columns->at[1][row] - whole->first_files.at[0];
    size_t expected = one->files.at[i];

    assert_int_equal(columns->at[0][row], one->states.at[i]);
    assert_int_equal(columns->at[2][row], one->offsets.at[i]); /* 0 unless live, in both */
    assert_int_equal(columns->at[3][row], one->lengths.at[i]);
    assert_int_equal(columns->at[4][row], one->labels.at[i]);
    assert_int_equal(columns->at[5][row], one->times.at[i]);
    assert_true(file < whole->file_counts.at[0]);
    if (one->states.at[i] != WEIR_SAMPLE_LIVE)
        return;
    assert_string_equal(whole->paths.at[file], one->paths.at[expected]);
    assert_int_equal(whole->layouts.at[file], one->layouts.at[expected]);
    assert_int_equal(whole->devices.at[file], one->devices.at[expected]);
    assert_int_equal(whole->inodes.at[file], one->inodes.at[expected]);
    assert_int_equal(whole->sizes.at[file], one->sizes.at[expected]);
    assert_int_equal(whole->mtimes.at[file], one->mtimes.at[expected]);
}

/* All chunks against each sample; returns the edition, and how many samples are live. */
static uint64_t compare(struct fixture *fixture, uint64_t *ret_live)
{
    uint64_t edition = 0;

    *ret_live = 0;
    for (uint64_t row = 0; row < fixture->rows;) {
        struct columns columns;
        struct msg_located_chunks whole = ask(fixture, id_of(fixture, row), &columns);
        uint64_t ids[2 * ROWS];
        struct msg_located one;

        assert_int_equal(whole.firsts.at[0], id_of(fixture, row));
        assert_true(whole.counts.at[0] > 0);
        for (uint32_t i = 0; i < whole.counts.at[0]; i++)
            ids[i] = id_of(fixture, row + i);
        one = locate(fixture, ids, whole.counts.at[0]);
        assert_int_equal(whole.epoch, one.epoch);
        assert_int_equal(whole.label_kinds.at[0], one.label_kind);
        for (size_t i = 0; i < whole.counts.at[0]; i++) {
            compare_row(&whole, &columns, i, &one, i);
            *ret_live += columns.at[0][i] == WEIR_SAMPLE_LIVE;
        }
        row += whole.counts.at[0];
        edition = whole.editions.at[0];
    }
    return edition;
}

static void await(struct fixture *fixture, const uint64_t *what, uint64_t at_least)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (*what < at_least) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->inside.loop, TEST_STEP_MS);
    }
}

/* ---- what may happen ---- */

static void nothing(struct fixture *fixture)
{
    (void)fixture;
}

static void a_file_is_taken_away(struct fixture *fixture)
{
    assert_int_equal(unlink(temp_path(&fixture->inside.dir, "source/b")), 0);
    await(fixture, &fixture->dataset->accounts.removed, 2);
}

static void a_file_grows(struct fixture *fixture)
{
    WEIR_AUTO_FD int fd =
        open(temp_path(&fixture->inside.dir, "source/c"), O_WRONLY | O_APPEND | O_CLOEXEC);

    assert_int_equal(write(fd, "10,c-four\n", 10), 10);
    await(fixture, &fixture->dataset->accounts.ingested, ROWS + 1);
    fixture->rows = ROWS + 1;
}

static void a_file_is_replaced(struct fixture *fixture)
{
    storage_inside_write(&fixture->inside, "a", "11,other-one\n12,other-two\n");
    await(fixture, &fixture->dataset->accounts.ingested, ROWS + 3);
    assert_int_equal(fixture->dataset->accounts.replaced, 3);
    fixture->rows = ROWS + 3;
}

static void a_sample_is_erased(struct fixture *fixture)
{
    const uint64_t ids[] = {id_of(fixture, 4)};

    (void)storage_inside_erase(
        &fixture->inside,
        &(struct msg_erase_accept){.uuid = "one", .dataset = "", .reference = "", .ids = {ids, 1}});
    await(fixture, &fixture->dataset->accounts.erased, 1);
}

static void storage_is_started_again(struct fixture *fixture)
{
    storage_close(fixture->inside.storage);
    storage_inside_open(&fixture->inside);
    fixture->dataset = storage_catalog_at(fixture->inside.storage->store.catalog, 1);
}

/* One after the other, in one store. */
static void whole_chunks_say_what_is_said_of_each_sample(void **state)
{
    static const struct {
        void (*happens)(struct fixture *fixture);
        uint64_t live;
        bool is_same; /* what was told before still holds */
    } CASES[] = {
        {nothing, ROWS, true},
        {a_sample_is_erased, ROWS - 1, false},
        {a_file_is_taken_away, ROWS - 3, false},
        {a_file_grows, ROWS - 2, false},
        {a_file_is_replaced, ROWS - 3, false},
        {storage_is_started_again, ROWS - 3, false},
    };
    struct fixture *fixture = *state;
    uint64_t live, before = compare(fixture, &live);

    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        uint64_t after;

        CASES[i].happens(fixture);
        after = compare(fixture, &live);
        assert_int_equal(live, CASES[i].live);
        assert_int_equal(before == after, CASES[i].is_same);
        before = after;
    }
}

static void what_is_not_to_be_had_whole_is_left_to_locate(void **state)
{
    struct fixture *fixture = *state;
    struct columns columns;

    assert_int_equal(ask(fixture, id_of(fixture, ROWS), &columns).counts.at[0], 0);
    assert_int_equal(ask(fixture, id_of(fixture, 0) << 1, &columns).counts.at[0], 0);
    for (int i = 0; i < 300; i++) { /* more files than are told of */
        char name[8];

        snprintf(name, sizeof(name), "f%03d", i);
        storage_inside_write(&fixture->inside, name, "text");
    }
    fixture->dataset = storage_inside_declare(&fixture->inside, FILES);
    assert_int_equal(ask(fixture, id_of(fixture, 0), &columns).counts.at[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_chunks_say_what_is_said_of_each_sample, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_to_be_had_whole_is_left_to_locate, begin, end),
    };
    return cmocka_run_group_tests_name("storage: whole chunks", tests, NULL, NULL);
}
