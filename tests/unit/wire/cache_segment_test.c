/* Segments of the cache: what was written is read, what is damaged is not, and who is erased is in none of them. */
#include "core/wire/cache_segment.h"
#include "tests/support/temp_dir.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 100, ROW_BYTES = 8192, KEY = 77 };

/* Rows of letters, and the folder that they are kept in. */
struct lab {
    struct temp_dir data_dir;
    char *path;
    uint8_t bytes[ROWS][ROW_BYTES];
    struct weir_cache_row rows[ROWS];
};

static int set_up(void **state)
{
    struct weir_error err;
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->data_dir);
    WEIR_AUTO_FREE char *folder = weir_format("%s/" WEIR_CACHE_FOLDER, lab->data_dir.path);
    lab->path = weir_format("%s/0123456789abcdef" WEIR_CACHE_SUFFIX, folder);
    assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
    for (size_t i = 0; i < ROWS; i++) {
        lab->bytes[i][0] = WEIR_CACHE_PLAIN;
        memset(lab->bytes[i] + 1, 'a' + (int)(i % 26), ROW_BYTES - 1);
        lab->rows[i] = (struct weir_cache_row){
            .id = i, .key = KEY, .bytes = weir_bytes(lab->bytes[i], ROW_BYTES - i)};
    }
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    temp_dir_remove(&lab->data_dir);
    free(lab->path);
    free(lab);
    return 0;
}

static void write_all(struct lab *lab, enum weir_compression how)
{
    struct weir_error err;
    assert_int_equal(weir_cache_segment_write(lab->path, 5, lab->rows, ROWS, how, &err), WEIR_OK);
}

/* Reads a row as it should be; false when it is damaged, or overwritten. */
static bool is_there(const struct lab *lab, const struct weir_cache_segment *segment, size_t row)
{
    WEIR_AUTO_BUF stored = {0};
    WEIR_AUTO_BUF room = {0};
    struct weir_bytes read;
    struct weir_cache_segment_entry entry = weir_cache_entry_at(segment->table, row);
    weir_buf_reserve(&stored, entry.stored);
    assert_int_equal(weir_read_at(segment->fd, stored.at, entry.stored, entry.offset),
                     entry.stored);
    if (!weir_cache_row_read(&entry, weir_bytes(stored.at, entry.stored), &room, &read))
        return false;
    struct weir_bytes wanted = lab->rows[row].bytes;
    assert_int_equal(read.size, wanted.size - 1);
    assert_memory_equal(read.at, wanted.at + 1, read.size);
    return entry.id == row && entry.key == KEY;
}

static size_t count_there(const struct lab *lab)
{
    struct weir_cache_segment segment;
    struct weir_error err;
    size_t count = 0;
    assert_int_equal(weir_cache_segment_open(lab->path, false, &segment, &err), WEIR_OK);
    for (size_t i = 0; i < segment.count; i++)
        count += is_there(lab, &segment, i);
    weir_cache_segment_close(&segment);
    return count;
}

static void rows_are_read_as_they_were_written_compressed_or_not(void **state)
{
    struct lab *lab = *state;
    struct stat plain, small;
    write_all(lab, WEIR_COMPRESSION_NONE);
    assert_int_equal(count_there(lab), ROWS);
    assert_int_equal(stat(lab->path, &plain), 0);
    write_all(lab, WEIR_COMPRESSION_LZ4);
    assert_int_equal(count_there(lab), ROWS);
    assert_int_equal(stat(lab->path, &small), 0);
    assert_true(small.st_size * 10 < plain.st_size);
}

static void a_record_is_never_compressed(void **state)
{
    struct lab *lab = *state;
    struct stat plain, kept;
    write_all(lab, WEIR_COMPRESSION_NONE);
    assert_int_equal(stat(lab->path, &plain), 0);
    for (size_t i = 0; i < ROWS; i++)
        lab->rows[i].key = WEIR_CACHE_RECORDS;
    write_all(lab, WEIR_COMPRESSION_LZ4);
    assert_int_equal(stat(lab->path, &kept), 0);
    assert_int_equal(kept.st_size, plain.st_size);
}

static void put_byte(const char *path, off_t at)
{
    WEIR_AUTO_FD int fd = open(path, O_RDWR);
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void every_damaged_byte_is_noticed(void **state)
{
    struct lab *lab = *state;
    struct weir_cache_segment segment;
    struct weir_error err;
    write_all(lab, WEIR_COMPRESSION_NONE);
    put_byte(lab->path, WEIR_CACHE_TABLE_AT + ROWS * WEIR_CACHE_ENTRY_BYTES + 3 * ROW_BYTES);
    assert_int_equal(count_there(lab), ROWS - 1);
    for (off_t at = 0; at < 48; at++) {
        put_byte(lab->path, at);
        assert_int_equal(weir_cache_segment_open(lab->path, false, &segment, &err), WEIR_CORRUPT);
        put_byte(lab->path, at);
    }
    put_byte(lab->path, WEIR_CACHE_TABLE_AT + 17);
    assert_int_equal(weir_cache_segment_open(lab->path, false, &segment, &err), WEIR_CORRUPT);
    put_byte(lab->path, WEIR_CACHE_TABLE_AT + 17);
    assert_int_equal(truncate(lab->path, 5000), 0);
    assert_int_equal(weir_cache_segment_open(lab->path, false, &segment, &err), WEIR_CORRUPT);
}

static bool is_third(const void *owner, uint64_t id)
{
    (void)owner;
    return id % 3 == 0;
}

static void rows_of_the_erased_are_overwritten_and_no_others(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    struct weir_cache_erased sum = {0};
    size_t third = (ROWS + 2) / 3;
    WEIR_AUTO_FREE char *draft = weir_format("%s" WEIR_CACHE_DRAFT, lab->path);
    write_all(lab, WEIR_COMPRESSION_LZ4);
    assert_int_equal(weir_file_write_atomic(draft, weir_bytes_of("half"), &err), WEIR_OK);
    assert_int_equal(weir_cache_erase(lab->data_dir.path, true, is_third, NULL, &sum, &err),
                     WEIR_OK);
    assert_int_equal(sum.left, third);
    assert_int_equal(count_there(lab), ROWS);
    assert_int_equal(access(draft, F_OK), 0);
    assert_int_equal(weir_cache_erase(lab->data_dir.path, false, is_third, NULL, &sum, &err),
                     WEIR_OK);
    assert_int_equal(sum.rows, third);
    assert_int_equal(sum.files, 1);
    assert_int_equal(count_there(lab), ROWS - third);
    assert_int_not_equal(access(draft, F_OK), 0);
    sum = (struct weir_cache_erased){0};
    assert_int_equal(weir_cache_erase(lab->data_dir.path, true, is_third, NULL, &sum, &err),
                     WEIR_OK);
    assert_int_equal(sum.left, 0);
}

static void a_segment_whose_rows_cannot_be_told_apart_goes_with_an_erasure(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    struct weir_cache_erased sum = {0};
    write_all(lab, WEIR_COMPRESSION_NONE);
    put_byte(lab->path, WEIR_CACHE_TABLE_AT);
    assert_int_equal(weir_cache_erase(lab->data_dir.path, false, is_third, NULL, &sum, &err),
                     WEIR_OK);
    assert_int_not_equal(access(lab->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_never_compressed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_read_as_they_were_written_compressed_or_not,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_damaged_byte_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_of_the_erased_are_overwritten_and_no_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_segment_whose_rows_cannot_be_told_apart_goes_with_an_erasure, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
