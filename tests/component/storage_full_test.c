/* Storage that cannot write: its data set says so, once and with the place; nothing acknowledged is lost, other data
 * sets go on, and so does this one when there is room. */
#include "tests/component/storage_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { ROUND_MS = 10, RETRIES = 3, LONG_BYTES = 4096, ROOM_BYTES = 1024 };

static const char COPIES[] = "  - name: copies\n"
                             "    source: {path: %s/a, format: %s, import: copy, settle: 0ms}\n"
                             "    time: {from: %s}\n"
                             "  - name: other\n"
                             "    source: {path: %s/b, format: files, settle: 0ms}\n"
                             "    time: {from: mtime}\n";
static const char COMPLAINT[] = "data/storage/copies: copies cannot be written: File too large";

static struct storage_lab lab;

/* No file of storage may have more bytes, as if the disk were full. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(prlimit(lab.pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(prlimit(lab.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void make_room(void)
{
    limit_files(RLIM_INFINITY);
}

static void declare(const char *format, const char *time)
{
    storage_lab_must_declare(&lab, weir_arena_format(lab.arena, COPIES, "%s", format, time, "%s"));
}

static bool complains(const char *dataset, const char *text)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, dataset);

    for (size_t i = 0; i < is.complaints.count; i++) {
        if (strstr(is.complaints.at[i], text) != NULL)
            return true;
    }
    return false;
}

static void await_complaints(bool are_there)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (complains("copies", COMPLAINT) != are_there) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, ROUND_MS);
    }
}

static char *long_text(char letter)
{
    char *text = weir_arena_alloc(lab.arena, LONG_BYTES + 1);

    memset(text, letter, LONG_BYTES);
    text[LONG_BYTES] = '\0';
    return text;
}

static void expect_text(uint32_t row, const char *text)
{
    uint32_t state;

    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, row), &state), text);
}

/* Waits until storage has tried again to write this file, below the folder of copies. */
static void await_retries(const char *name)
{
    const char *path =
        storage_lab_path(&lab, weir_arena_format(lab.arena, "data/storage/copies/%s", name));
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct stat before, now;

    for (unsigned i = 0; i < RETRIES; i++) {
        assert_int_equal(stat(path, &before), 0);
        do {
            assert_true(weir_now_ms() < limit_ms);
            weir_loop_step(lab.loop, ROUND_MS);
            assert_int_equal(stat(path, &now), 0);
        } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec &&
                 now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    }
}

/* Nothing is committed for what only failed again, and others go on. */
static void expect_rest(const char *name)
{
    struct msg_dataset_is is = storage_lab_dataset(&lab, "copies");
    uint64_t sequence = is.sequence, live = storage_lab_dataset(&lab, "other").live;

    await_retries(name);
    assert_int_equal(storage_lab_dataset(&lab, "copies").sequence, sequence);
    storage_lab_write(&lab, "b/another", "another");
    (void)storage_lab_await_counts(&lab, "other", live + 1, 0);
}

/* ---- cases ---- */

static void copies_that_find_no_room_are_said_and_made_when_there_is_some(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/1", "one");
    storage_lab_write(&lab, "b/x", "x");
    declare("files", "mtime");
    (void)storage_lab_await_counts(&lab, "copies", 1, 0);
    limit_files(ROOM_BYTES);
    storage_lab_write(&lab, "a/2", "two");
    (void)storage_lab_await_counts(&lab, "copies", 2, 0);
    storage_lab_write(&lab, "a/3", long_text('3'));
    await_complaints(true);
    expect_rest(".incoming");
    expect_text(0, "one");
    expect_text(1, "two");
    make_room();
    await_complaints(false);
    (void)storage_lab_await_counts(&lab, "copies", 3, 0);
    expect_text(2, long_text('3'));
    storage_lab_expect_fine(&lab);
}

static void what_was_taken_in_before_the_disk_was_full_is_kept(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/1", "one");
    storage_lab_write(&lab, "a/2", long_text('2'));
    storage_lab_write(&lab, "b/x", "x");
    limit_files(ROOM_BYTES);
    declare("files", "mtime");
    await_complaints(true);
    assert_int_equal(storage_lab_dataset(&lab, "copies").live, 1);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    (void)storage_lab_await_counts(&lab, "copies", 2, 0);
    expect_text(0, "one");
    storage_lab_expect_fine(&lab);
}

static const char *line(char letter)
{
    return weir_arena_format(lab.arena, "{\"ts\": \"2002-08-01T00:00:00Z\", \"text\": \"%s\"}\n",
                             long_text(letter));
}

/* The samples that the copy had stay readable beside those that wait for room. */
static void a_copy_that_cannot_grow_keeps_what_it_has(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/1", line('1'));
    storage_lab_write(&lab, "b/x", "x");
    declare("jsonl", "field, field: ts");
    (void)storage_lab_await_counts(&lab, "copies", 1, 0);
    limit_files(LONG_BYTES + ROOM_BYTES);
    storage_lab_append(&lab, "a/1", line('2'));
    await_complaints(true);
    expect_rest("1");
    expect_text(0, weir_arena_format(lab.arena, "%.*s", (int)strlen(line('1')) - 1, line('1')));
    make_room();
    (void)storage_lab_await_counts(&lab, "copies", 2, 0);
    await_complaints(false);
    expect_text(1, weir_arena_format(lab.arena, "%.*s", (int)strlen(line('2')) - 1, line('2')));
    storage_lab_expect_fine(&lab);
}

/* Of a file of many samples a record is kept that it is to be taken in: one, however often that is tried. */
static void a_file_of_many_samples_waits_for_room(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a/1", line('1'));
    storage_lab_write(&lab, "b/x", "x");
    limit_files(ROOM_BYTES);
    declare("jsonl", "field, field: ts");
    await_complaints(true);
    expect_rest(".incoming");
    make_room();
    (void)storage_lab_await_counts(&lab, "copies", 1, 0);
    await_complaints(false);
    assert_int_equal(storage_lab_dataset(&lab, "copies").sequence, 1);
    storage_lab_expect_fine(&lab);
}

#define CASE(test) STORAGE_CASE(&lab, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(copies_that_find_no_room_are_said_and_made_when_there_is_some),
        CASE(what_was_taken_in_before_the_disk_was_full_is_kept),
        CASE(a_copy_that_cannot_grow_keeps_what_it_has),
        CASE(a_file_of_many_samples_waits_for_room),
    };

    return storage_lab_run(&lab, "storage, without room", tests, WEIR_COUNT(tests));
}
