/* Reading ahead in a file: the bytes are those of the file, and a single record costs no more than itself. */
#include "core/base/file.h"
#include "core/base/rng.h"
#include "storage/files/file_window.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

enum { FILE_BYTES = 1 << 20, READS = 2000, PAGE = 4096 };

static uint8_t byte_at(uint64_t offset)
{
    return (uint8_t)weir_mix64(offset);
}

static int write_file(void)
{
    static uint8_t bytes[FILE_BYTES];
    int fd = memfd_create("file", MFD_CLOEXEC);

    for (size_t i = 0; i < FILE_BYTES; i++)
        bytes[i] = byte_at(i);
    assert_true(fd >= 0 && weir_write_all(fd, weir_bytes(bytes, sizeof(bytes))));
    return fd;
}

static void check_read(struct file_window *window, uint64_t offset, uint64_t length)
{
    struct weir_bytes bytes;
    struct weir_error err;

    assert_int_equal(
        storage_window_read(window, (struct format_range){offset, length}, &bytes, &err), WEIR_OK);
    assert_int_equal(bytes.size, length);
    for (uint64_t i = 0; i < length; i++)
        assert_int_equal(bytes.at[i], byte_at(offset + i));
}

static void any_range_holds_what_the_file_holds(void **state)
{
    struct file_window window = {.fd = write_file()};

    (void)state;
    for (uint64_t i = 0, noise = 1; i < READS; i++, noise = weir_mix64(noise)) {
        uint64_t offset = noise % FILE_BYTES, length = (noise >> 32) % 20000;

        check_read(&window, offset, length < FILE_BYTES - offset ? length : FILE_BYTES - offset);
    }
    check_read(&window, 0, FILE_BYTES);
    check_read(&window, FILE_BYTES, 0);
    close(window.fd);
    storage_window_fini(&window);
}

static void single_records_far_apart_are_read_alone(void **state)
{
    struct file_window window = {.fd = write_file()};

    (void)state;
    for (uint64_t at = 0; at < FILE_BYTES; at += FILE_BYTES / 8) {
        check_read(&window, at, 100);
        assert_true(window.bytes.size <= PAGE);
    }
    close(window.fd);
    storage_window_fini(&window);
}

static void records_that_follow_each_other_are_read_together(void **state)
{
    struct file_window window = {.fd = write_file()};
    uint64_t at = UINT64_MAX;
    size_t reads = 0;

    (void)state;
    for (uint64_t offset = 0; offset < FILE_BYTES; offset += 256) {
        check_read(&window, offset, 128);
        reads += window.at != at;
        at = window.at;
    }
    assert_true(reads < 16);
    close(window.fd);
    storage_window_fini(&window);
}

static void what_was_written_meanwhile_is_seen_once_it_is_forgotten(void **state)
{
    struct file_window window = {.fd = write_file()};
    uint8_t changed = (uint8_t)~byte_at(10);
    struct weir_bytes bytes;
    struct weir_error err;

    (void)state;
    check_read(&window, 0, 100);
    assert_int_equal(pwrite(window.fd, &changed, 1, 10), 1);
    storage_window_forget(&window);
    assert_int_equal(storage_window_read(&window, (struct format_range){10, 1}, &bytes, &err),
                     WEIR_OK);
    assert_int_equal(bytes.at[0], changed);
    close(window.fd);
    storage_window_fini(&window);
}

static void a_file_that_became_shorter_is_told_from_one_that_cannot_be_read(void **state)
{
    struct file_window window = {.fd = write_file()};
    struct weir_bytes bytes;
    struct weir_error err;

    (void)state;
    assert_int_equal(ftruncate(window.fd, 50), 0);
    errno = EIO;
    assert_int_equal(storage_window_read(&window, (struct format_range){0, 100}, &bytes, &err),
                     WEIR_STALE);
    assert_int_equal(errno, 0);
    close(window.fd);
    assert_int_equal(storage_window_read(&window, (struct format_range){0, 60}, &bytes, &err),
                     WEIR_STALE);
    assert_int_equal(errno, EBADF);
    storage_window_fini(&window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_range_holds_what_the_file_holds),
        cmocka_unit_test(single_records_far_apart_are_read_alone),
        cmocka_unit_test(records_that_follow_each_other_are_read_together),
        cmocka_unit_test(what_was_written_meanwhile_is_seen_once_it_is_forgotten),
        cmocka_unit_test(a_file_that_became_shorter_is_told_from_one_that_cannot_be_read),
    };
    return cmocka_run_group_tests_name("file_window", tests, NULL, NULL);
}
