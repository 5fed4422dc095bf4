/* A segment after a death: whatever was written after the committed bytes is gone, at any byte. */
#include "storage/push/segment.h"

#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 4096 };
static const char COMMITTED[] = "{\"n\":1}\n{\"n\":2}\n";
static const char NEXT[] = "{\"n\":3,\"text\":\"never acknowledged\"}\n{\"n\":4}\n";

static struct temp_dir dir;
static char *path;

static int begin(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    path = weir_format("%s/folder/00000001.jsonl", dir.path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(path);
    temp_dir_remove(&dir);
    return 0;
}

/* The whole file, which must be `text` and then zeros. */
static void expect(const char *text)
{
    WEIR_AUTO_BUF found = {0};
    struct weir_error err;
    char whole[SIZE] = {0};

    memcpy(whole, text, strlen(text));
    assert_int_equal(weir_file_read(path, SIZE + 1, &found, &err), WEIR_OK);
    assert_int_equal(found.size, SIZE);
    assert_memory_equal(found.at, whole, SIZE);
}

static void make_committed(struct segment *segment)
{
    struct weir_error err;

    (void)unlink(path);
    assert_int_equal(storage_segment_create(path, SIZE, segment, &err), WEIR_OK);
    assert_int_equal(storage_segment_write(segment, 0, weir_bytes_of(COMMITTED), &err), WEIR_OK);
    assert_int_equal(storage_segment_sync(segment, &err), WEIR_OK);
}

static void an_end_torn_at_any_byte_is_cut_off_and_appending_goes_on(void **state)
{
    (void)state;
    for (size_t torn = 0; torn <= strlen(NEXT); torn++) {
        struct segment segment;
        struct weir_error err;
        WEIR_AUTO_FREE char *whole = weir_format("%s%s", COMMITTED, NEXT);

        make_committed(&segment);
        assert_int_equal(
            storage_segment_write(&segment, strlen(COMMITTED), weir_bytes(NEXT, torn), &err),
            WEIR_OK);
        storage_segment_close(&segment); /* as a death does */
        assert_int_equal(storage_segment_open(path, SIZE, strlen(COMMITTED), &segment, &err),
                         WEIR_OK);
        expect(COMMITTED);
        assert_int_equal(
            storage_segment_write(&segment, strlen(COMMITTED), weir_bytes_of(NEXT), &err), WEIR_OK);
        expect(whole);
        storage_segment_close(&segment);
    }
}

static void a_file_cut_at_any_byte_is_whole_again_or_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size <= strlen(COMMITTED) + 8; size++) {
        struct segment segment;
        struct weir_error err;
        bool is_damaged = size < strlen(COMMITTED);

        make_committed(&segment);
        storage_segment_close(&segment);
        assert_int_equal(truncate(path, (off_t)size), 0);
        assert_int_equal(storage_segment_open(path, SIZE, strlen(COMMITTED), &segment, &err),
                         is_damaged ? WEIR_CORRUPT : WEIR_OK);
        if (is_damaged)
            continue;
        expect(COMMITTED);
        storage_segment_close(&segment);
    }
}

static void appending_leaves_what_readers_compare(void **state)
{
    struct segment segment;
    struct stat before, after;
    struct weir_error err;

    (void)state;
    make_committed(&segment);
    assert_int_equal(storage_segment_describe(&segment, &before, &err), WEIR_OK);
    assert_int_equal(storage_segment_write(&segment, 100, weir_bytes_of(NEXT), &err), WEIR_OK);
    assert_int_equal(storage_segment_describe(&segment, &after, &err), WEIR_OK);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_ino, after.st_ino);
    storage_segment_close(&segment);
}

static void a_missing_or_linked_file_is_refused(void **state)
{
    WEIR_AUTO_FREE char *other = weir_format("%s/other", dir.path);
    struct segment segment;
    struct weir_error err;

    (void)state;
    assert_int_equal(storage_segment_open(path, SIZE, 0, &segment, &err), WEIR_NOT_FOUND);
    make_committed(&segment);
    storage_segment_close(&segment);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(storage_segment_open(path, SIZE, 0, &segment, &err), WEIR_IO);
    assert_int_equal(storage_segment_create(path, SIZE, &segment, &err), WEIR_EXISTS);
}

static void what_is_there_is_never_written_over(void **state)
{
    struct segment segment;
    struct weir_error err;

    (void)state;
    make_committed(&segment);
    storage_segment_close(&segment);
    assert_int_equal(storage_segment_create(path, SIZE, &segment, &err), WEIR_EXISTS);
    expect(COMMITTED);
}

static void one_that_finds_no_room_leaves_its_name_free(void **state)
{
    struct rlimit limit, small;
    struct segment segment;
    struct weir_error err;

    (void)state;
    (void)unlink(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = SIZE - 1, .rlim_max = limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_not_equal(storage_segment_create(path, SIZE, &segment, &err), WEIR_OK);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(an_end_torn_at_any_byte_is_cut_off_and_appending_goes_on),
        CASE(a_file_cut_at_any_byte_is_whole_again_or_refused),
        CASE(appending_leaves_what_readers_compare),
        CASE(a_missing_or_linked_file_is_refused),
        CASE(what_is_there_is_never_written_over),
        CASE(one_that_finds_no_room_leaves_its_name_free),
    };
    return cmocka_run_group_tests_name("segments", tests, NULL, NULL);
}
