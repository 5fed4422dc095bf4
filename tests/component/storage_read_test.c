/* The answers of read(): the samples asked for, in that order, and never other bytes than those that
 * were indexed, whatever becomes of the file in between. The service runs in process and its loop
 * stands still while a file is changed, so that nothing is noticed before it is read. */
#include "core/base/crc32c.h"
#include "core/base/memory.h"
#include "core/loop/work.h"
#include "core/rpc/frames.h"
#include "core/wire/sample.h"
#include "storage/reading/reading.h"
#include "storage/storage.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    SMALL_FILES = 2 * OPEN_FILES_MAX,
    BIG_BYTES = 6 << 20,
    BIG_RECORDS = 7,
    LENT_BYTES = 4 << 20
};

struct fixture {
    struct weir_test_postgres postgres;
    struct temp_dir dir;
    struct weir_loop *loop;
    struct weir_arena *arena;
    struct storage *storage;
    struct weir_segment *lent; /* NULL: answers come in frames */
    bool is_apart;             /* they are read on a thread, … */
    bool is_read;              /* … done … */
    struct msg_read asked;     /* … with this … */
    struct reading reading;    /* … for this reading */
    struct msg_read_is answer; /* of the newest ask() */
    struct weir_frames frames;
};

static int begin(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct weir_service_options options = {.log_level = "warn"};
    struct weir_error err;
    void *storage;

    weir_test_postgres_start(&fixture->postgres);
    temp_dir_make(&fixture->dir);
    fixture->loop = weir_loop_new();
    fixture->arena = weir_arena_new();
    options.data_dir = fixture->dir.path;
    options.postgres = fixture->postgres.conninfo;
    assert_int_equal(storage_open(&options, fixture->loop, NULL, &storage, &err), WEIR_OK);
    fixture->storage = storage;
    *state = fixture;
    return 0;
}

static int begin_lending(void **state)
{
    struct fixture *fixture;

    begin(state);
    fixture = *state;
    fixture->lent = weir_segment_new(LENT_BYTES);
    return 0;
}

static int begin_apart(void **state)
{
    struct fixture *fixture;

    begin(state);
    fixture = *state;
    fixture->is_apart = true;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    storage_reading_end(&fixture->reading);
    weir_frames_clear(&fixture->frames);
    weir_segment_free(fixture->lent);
    storage_close(fixture->storage);
    weir_loop_free(fixture->loop);
    weir_arena_free(fixture->arena);
    temp_dir_remove(&fixture->dir);
    weir_test_postgres_stop(&fixture->postgres);
    free(fixture);
    return 0;
}

/* Writes DIR/name, and its folder if need be; long ago, so that any later write shows. */
static void write_bytes(struct fixture *fixture, const char *name, const void *bytes, size_t size)
{
    WEIR_AUTO_FREE char *folder = weir_strndup(name, (size_t)(strchr(name, '/') - name));
    struct weir_error err;

    const struct timespec times[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    int fd;

    assert_int_equal(weir_make_directories(temp_path(&fixture->dir, folder), 0700, &err), WEIR_OK);
    fd = open(temp_path(&fixture->dir, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void write_text(struct fixture *fixture, const char *name, const char *text)
{
    write_bytes(fixture, name, text, strlen(text));
}

/* The dataset of DIR/NAME; `source` is the inside of source: {…}. Waits until it is scanned. */
static struct dataset *declare(struct fixture *fixture, const char *name, const char *source)
{
    WEIR_AUTO_FREE char *text = weir_format("datasets:\n  - name: %s\n"
                                            "    source: {path: %s/%s, settle: 0s, %s}\n"
                                            "    time: {from: mtime}\n",
                                            name, fixture->dir.path, name, source);
    const struct msg_dataset_declare declare = {.file = "p.yaml", .config = weir_bytes_of(text)};
    struct msg_dataset_declared answer;
    struct weir_error err;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct dataset *dataset;

    assert_int_equal(storage_declare(fixture->storage, &declare, fixture->arena, &answer, &err),
                     WEIR_OK);
    dataset = storage_catalog_find(fixture->storage->store.catalog, name);
    while (!dataset->is_scanned) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
    return dataset;
}

static void run_apart(struct weir_work *work, void *owner)
{
    struct fixture *fixture = owner;

    (void)work;
    storage_reading_do(&fixture->reading, fixture->storage->from.secret, fixture->asked.sums,
                       fixture->asked.compression);
}

static void on_apart(void *owner)
{
    struct fixture *fixture = owner;

    fixture->is_read = true;
}

/* Has it read on a thread, as for readers that nothing can be lent by. */
static void ask_apart(struct fixture *fixture, const struct msg_read *asked)
{
    struct weir_work *work;
    struct weir_error err;

    storage_reading_end(&fixture->reading);
    weir_frames_clear(&fixture->frames);
    fixture->asked = *asked;
    fixture->is_read = false;
    assert_int_equal(storage_reading_plan(&fixture->storage->serving, asked, fixture->arena,
                                          &fixture->reading, &err),
                     WEIR_OK);
    assert_int_equal(weir_work_start(fixture->loop, run_apart, on_apart, fixture, &work, &err),
                     WEIR_OK);
    test_loop_until(fixture->loop, &fixture->is_read);
    storage_reading_tell(&fixture->reading, asked, &fixture->answer, &fixture->frames);
}

static void ask(struct fixture *fixture, const uint64_t *ids, size_t count)
{
    struct msg_read asked = {.ids = {ids, count}};
    struct weir_error err;

    if (fixture->is_apart) {
        ask_apart(fixture, &asked);
        return;
    }
    if (fixture->lent != NULL)
        asked.loan = weir_segment_lend(fixture->lent);
    weir_frames_clear(&fixture->frames);
    assert_int_equal(storage_read(&fixture->storage->serving, &asked, fixture->arena,
                                  &fixture->answer, &fixture->frames, &err),
                     WEIR_OK);
}

static struct weir_bytes payload_of(const struct fixture *fixture)
{
    return weir_segment_answer(fixture->lent, fixture->answer.written, &fixture->frames);
}

/* The answer as text: each sample's payload, or its state in brackets. */
static const char *told(struct fixture *fixture)
{
    WEIR_AUTO_BUF text = {0};
    struct weir_bytes payload = payload_of(fixture);
    size_t at = 0;

    for (size_t i = 0; i < fixture->answer.states.count; i++) {
        if (i > 0)
            weir_buf_append_text(&text, " ");
        if (fixture->answer.states.at[i] != WEIR_SAMPLE_LIVE)
            weir_buf_printf(&text, "[%u]", fixture->answer.states.at[i]);
        weir_buf_append(&text, payload.at + at, fixture->answer.lengths.at[i]);
        at += fixture->answer.lengths.at[i];
    }
    assert_int_equal(at, payload.size);
    return weir_arena_strndup(fixture->arena, (const char *)text.at, text.size);
}

static void samples_come_in_the_order_asked_with_id_label_and_state(void **state)
{
    struct fixture *fixture = *state;
    struct dataset *dataset;

    write_text(fixture, "pairs/a", "a0a1a2a3");
    write_text(fixture, "pairs/b", "b0b1b2b3");
    dataset = declare(fixture, "pairs", "format: binary, record_bytes: 2, import: reference");
    {
        const uint64_t ids[] = {
            weir_sample_id(dataset->number, 0, 7),  weir_sample_id(dataset->number, 0, 1),
            weir_sample_id(dataset->number, 0, 99), weir_sample_id(dataset->number, 0, 0),
            weir_sample_id(dataset->number, 0, 1),  weir_sample_id(dataset->number + 5, 0, 0),
            weir_sample_id(dataset->number, 0, 4),
        };

        ask(fixture, ids, WEIR_COUNT(ids));
        assert_string_equal(told(fixture), "b3 a1 [2] a0 a1 [2] b0");
        assert_int_equal(fixture->answer.ids.count, WEIR_COUNT(ids));
        assert_memory_equal(fixture->answer.ids.at, ids, sizeof(ids));
    }
}

static void what_memory_knows_is_read_while_the_catalog_cannot_be_loaded_again(void **state)
{
    struct fixture *fixture = *state;
    const struct dataset *dataset;
    struct msg_located located;
    struct weir_error err;
    uint64_t ids[2];

    write_text(fixture, "pairs/a", "a0a1a2a3");
    dataset = declare(fixture, "pairs", "format: binary, record_bytes: 2, import: reference");
    ids[0] = weir_sample_id(dataset->number, 0, 1);
    ids[1] = weir_sample_id(dataset->number, 0, 2);
    ask(fixture, ids, 2);
    weir_test_postgres_kill(&fixture->postgres);
    storage_doubt(&fixture->storage->store);
    assert_int_equal(storage_ready(&fixture->storage->store, &err), WEIR_UNAVAILABLE);
    ask(fixture, ids, 2);
    assert_string_equal(told(fixture), "a1 a2");
    assert_int_equal(storage_locate(&fixture->storage->serving,
                                    &(struct msg_locate){.ids = {ids, 2}}, fixture->arena, &located,
                                    &err),
                     WEIR_OK);
    assert_int_equal(located.states.at[1], WEIR_SAMPLE_LIVE);
    weir_test_postgres_resume(&fixture->postgres);
    assert_int_equal(storage_ready(&fixture->storage->store, &err), WEIR_OK);
    ask(fixture, ids, 2);
    assert_string_equal(told(fixture), "a1 a2");
}

static void a_long_answer_covers_the_first_ids_and_says_so(void **state)
{
    struct fixture *fixture = *state;
    uint8_t *bytes = calloc(BIG_RECORDS, BIG_BYTES);
    uint64_t ids[BIG_RECORDS];
    size_t done = 0;
    struct dataset *dataset;

    for (size_t i = 0; i < BIG_RECORDS; i++)
        bytes[i * BIG_BYTES] = (uint8_t)('0' + i);
    write_bytes(fixture, "big/big", bytes, (size_t)BIG_RECORDS * BIG_BYTES);
    free(bytes);
    dataset = declare(fixture, "big", "format: binary, record_bytes: 6291456, import: reference");
    for (uint32_t i = 0; i < BIG_RECORDS; i++)
        ids[i] = weir_sample_id(dataset->number, 0, i);
    while (done < BIG_RECORDS) {
        struct weir_bytes payload;
        size_t count;

        ask(fixture, ids + done, BIG_RECORDS - done);
        payload = payload_of(fixture);
        count = fixture->answer.ids.count;
        assert_int_equal(count, BIG_RECORDS - done < 2 ? 1 : 2); /* three are more than 16 MiB */
        assert_int_equal(fixture->answer.states.count, count);
        assert_int_equal(payload.size, count * BIG_BYTES);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(payload.at[i * BIG_BYTES], '0' + done + i);
        done += count;
    }
}

/* Records of 1.5 MiB where 4 MiB are lent, and records of 6 MiB. */
static void an_answer_keeps_to_what_is_lent_unless_one_sample_is_larger(void **state)
{
    struct fixture *fixture = *state;
    WEIR_AUTO_FREE uint8_t *bytes = calloc(4, BIG_BYTES);
    const struct dataset *few, *many;

    for (size_t i = 0; i < 16; i++)
        bytes[i * (BIG_BYTES / 4)] = (uint8_t)('a' + i);
    write_bytes(fixture, "few/few", bytes, (size_t)4 * BIG_BYTES);
    write_bytes(fixture, "many/many", bytes, (size_t)4 * BIG_BYTES);
    few = declare(fixture, "few", "format: binary, record_bytes: 6291456, import: reference");
    many = declare(fixture, "many", "format: binary, record_bytes: 1572864, import: reference");
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t large[] = {weir_sample_id(few->number, 0, i)};
        const uint64_t small[] = {weir_sample_id(many->number, 0, i),
                                  weir_sample_id(many->number, 0, 9),
                                  weir_sample_id(many->number, 0, 10)};

        ask(fixture, large, 1);
        assert_int_equal(fixture->answer.written, 0);
        assert_int_equal(payload_of(fixture).size, BIG_BYTES);
        assert_int_equal(payload_of(fixture).at[0], 'a' + 4 * i);
        ask(fixture, small, WEIR_COUNT(small));
        assert_int_equal(fixture->answer.ids.count, 2);
        assert_int_equal(fixture->answer.written, BIG_BYTES / 2);
        assert_int_equal(fixture->frames.count, 0);
        assert_int_equal(payload_of(fixture).at[0], 'a' + i);
        assert_int_equal(payload_of(fixture).at[BIG_BYTES / 4], 'j');
    }
}

static void more_files_are_read_than_are_kept_open(void **state)
{
    struct fixture *fixture = *state;
    uint64_t ids[SMALL_FILES];
    struct dataset *dataset;

    for (uint32_t i = 0; i < SMALL_FILES; i++) {
        WEIR_AUTO_FREE char *name = weir_format("small/f%04u", i);
        WEIR_AUTO_FREE char *text = weir_format("%04u", i);

        write_text(fixture, name, text);
    }
    dataset = declare(fixture, "small", "format: files, import: reference");
    for (uint32_t i = 0; i < SMALL_FILES; i++)
        ids[i] = weir_sample_id(dataset->number, 0, i * 7 % SMALL_FILES);
    for (int round = 0; round < 2; round++) {
        struct weir_bytes payload;

        ask(fixture, ids, SMALL_FILES);
        payload = payload_of(fixture);
        assert_int_equal(payload.size, 4 * SMALL_FILES);
        for (uint32_t i = 0; i < SMALL_FILES; i++) {
            char text[8];

            snprintf(text, sizeof(text), "%04u", i * 7 % SMALL_FILES);
            assert_memory_equal(payload.at + (size_t)4 * i, text, 4);
        }
    }
}

/* ---- what may become of a file ---- */

static const char CONTENT[] = "l0.l1.l2.l3.";

static void replace(const char *path)
{
    WEIR_AUTO_FREE char *other = weir_format("%s.other", path);
    WEIR_AUTO_FD int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, "x0.x1.x2.x3.", sizeof(CONTENT) - 1), sizeof(CONTENT) - 1);
    assert_int_equal(rename(other, path), 0);
}

static void overwrite(const char *path)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY);

    assert_int_equal(pwrite(fd, "x1", 2, 3), 2);
}

static void truncate_half(const char *path)
{
    assert_int_equal(truncate(path, 6), 0);
}

static void grow(const char *path)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_APPEND);

    assert_int_equal(write(fd, "l4.", 3), 3);
}

static void rewrite_longer(const char *path)
{
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_TRUNC);

    assert_int_equal(write(fd, "x0.x1.x2.x3.x4.", 15), 15);
}

static void take_away(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static const char OLD[] = "l3. l0. l1.", GONE[] = "[2] [2] [2]";

static const struct {
    const char *what;
    void (*change)(const char *path);
    const char *fresh; /* what is told when the file was not open */
    const char *kept;  /* what is told when it was */
} CHANGES[] = {
    {"replaced by another file", replace, GONE, OLD},
    {"overwritten in its place", overwrite, GONE, GONE},
    {"cut short", truncate_half, GONE, GONE},
    {"grown", grow, OLD, OLD},
    {"written anew, and longer", rewrite_longer, GONE, GONE},
    {"removed", take_away, GONE, OLD},
};

/* Reads or not, changes the file that readers open, and reads. */
static void check_changes(struct fixture *fixture, const char *import, bool is_kept_open)
{
    for (size_t i = 0; i < WEIR_COUNT(CHANGES); i++) {
        WEIR_AUTO_FREE char *name = weir_format("%s-%zu", import, i);
        WEIR_AUTO_FREE char *file = weir_format("%s/lines", name);
        WEIR_AUTO_FREE char *source =
            weir_format("format: binary, record_bytes: 3, import: %s", import);
        WEIR_AUTO_FREE char *path = NULL;
        const struct dataset *dataset;
        uint64_t first;

        write_text(fixture, file, CONTENT);
        dataset = declare(fixture, name, source);
        first = weir_sample_id(dataset->number, 0, 0);
        path = storage_dataset_path(dataset, &dataset->groups[0]->files[0]);
        {
            const uint64_t ids[] = {first + 3, first, first + 1};

            if (is_kept_open) {
                ask(fixture, ids, WEIR_COUNT(ids));
                assert_string_equal(told(fixture), OLD);
            }
            CHANGES[i].change(path);
            ask(fixture, ids, WEIR_COUNT(ids));
        }
        if (strcmp(told(fixture), is_kept_open ? CHANGES[i].kept : CHANGES[i].fresh) != 0)
            fail_msg("%s, %s: found '%s'", import, CHANGES[i].what, told(fixture));
    }
}

static void a_file_that_changed_gives_no_other_bytes(void **state)
{
    check_changes(*state, "reference", false);
}

static void a_copy_that_changed_gives_no_other_bytes(void **state)
{
    check_changes(*state, "copy", false);
}

static void an_open_file_that_changed_gives_no_other_bytes(void **state)
{
    check_changes(*state, "reference", true);
}

static void an_open_copy_that_changed_gives_no_other_bytes(void **state)
{
    check_changes(*state, "copy", true);
}

static void what_stood_in_a_files_place_for_a_moment_is_not_kept_as_that_file(void **state)
{
    struct fixture *fixture = *state;
    const char *path, *aside;

    write_text(fixture, "lines/a", CONTENT);
    declare(fixture, "lines", "format: binary, record_bytes: 3, import: reference");
    path = weir_arena_format(fixture->arena, "%s/lines/a", fixture->dir.path);
    aside = weir_arena_format(fixture->arena, "%s/aside", fixture->dir.path);
    {
        const uint64_t first = weir_sample_id(1, 0, 0);
        const uint64_t ids[] = {first + 3, first, first + 1};

        assert_int_equal(rename(path, aside), 0);
        write_text(fixture, "lines/a", "");
        ask(fixture, ids, WEIR_COUNT(ids));
        assert_string_equal(told(fixture), GONE);
        assert_int_equal(rename(aside, path), 0);
        ask(fixture, ids, WEIR_COUNT(ids));
        assert_string_equal(told(fixture), OLD);
    }
}

#define CASE(name)    cmocka_unit_test_setup_teardown(name, begin, end)
#define LENDING(name) cmocka_unit_test_setup_teardown(name, begin_lending, end)
#define APART(name)   cmocka_unit_test_setup_teardown(name, begin_apart, end)

/* Each of the bytes that would have come; 0 for a sample that is not there. */
static void sums_are_those_of_the_records(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t sums[] = {weir_crc32c(weir_bytes_of("s2")), 0, weir_crc32c(weir_bytes_of("s0"))};
    struct dataset *dataset;

    write_text(fixture, "summed/a", "s0s1s2");
    dataset = declare(fixture, "summed", "format: binary, record_bytes: 2, import: reference");
    {
        const uint64_t ids[] = {weir_sample_id(dataset->number, 0, 2),
                                weir_sample_id(dataset->number, 0, 9),
                                weir_sample_id(dataset->number, 0, 0)};

        ask_apart(fixture, &(struct msg_read){.ids = {ids, WEIR_COUNT(ids)}, .sums = true});
        assert_int_equal(fixture->frames.count, 0);
        assert_int_equal(fixture->answer.sums.count, WEIR_COUNT(sums));
        assert_memory_equal(fixture->answer.sums.at, sums, sizeof(sums));
    }
}

static void a_payload_that_is_compressed_expands_to_what_it_was(void **state)
{
    struct fixture *fixture = *state;
    WEIR_AUTO_FREE uint8_t *bytes = calloc(1, BIG_BYTES), *expanded = malloc(BIG_BYTES);
    struct dataset *dataset;

    bytes[BIG_BYTES / 2] = 'x';
    write_bytes(fixture, "even/even", bytes, BIG_BYTES);
    dataset = declare(fixture, "even", "format: binary, record_bytes: 6291456, import: reference");
    {
        const uint64_t ids[] = {weir_sample_id(dataset->number, 0, 0)};
        const struct msg_read asked = {.ids = {ids, 1}, .compression = WEIR_COMPRESSION_LZ4};
        struct weir_bytes frame;

        ask_apart(fixture, &asked);
        frame = weir_frames_at(&fixture->frames, 0);
        assert_int_equal(fixture->answer.compression, WEIR_COMPRESSION_LZ4);
        assert_int_equal(fixture->answer.expanded, BIG_BYTES);
        assert_true(frame.size < BIG_BYTES / 8);
        assert_true(weir_expand(fixture->answer.compression, frame, expanded, BIG_BYTES));
        assert_memory_equal(expanded, bytes, BIG_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(samples_come_in_the_order_asked_with_id_label_and_state),
        CASE(what_memory_knows_is_read_while_the_catalog_cannot_be_loaded_again),
        LENDING(samples_come_in_the_order_asked_with_id_label_and_state),
        LENDING(an_answer_keeps_to_what_is_lent_unless_one_sample_is_larger),
        CASE(a_long_answer_covers_the_first_ids_and_says_so),
        CASE(more_files_are_read_than_are_kept_open),
        CASE(a_file_that_changed_gives_no_other_bytes),
        CASE(a_copy_that_changed_gives_no_other_bytes),
        CASE(an_open_file_that_changed_gives_no_other_bytes),
        CASE(an_open_copy_that_changed_gives_no_other_bytes),
        CASE(what_stood_in_a_files_place_for_a_moment_is_not_kept_as_that_file),
        LENDING(a_file_that_changed_gives_no_other_bytes),
        APART(samples_come_in_the_order_asked_with_id_label_and_state),
        APART(what_memory_knows_is_read_while_the_catalog_cannot_be_loaded_again),
        APART(a_long_answer_covers_the_first_ids_and_says_so),
        APART(more_files_are_read_than_are_kept_open),
        APART(a_file_that_changed_gives_no_other_bytes),
        APART(a_copy_that_changed_gives_no_other_bytes),
        APART(sums_are_those_of_the_records),
        APART(a_payload_that_is_compressed_expands_to_what_it_was),
    };
    return cmocka_run_group_tests_name("storage: reading", tests, NULL, NULL);
}
