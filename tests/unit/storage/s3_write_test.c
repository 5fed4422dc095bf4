/* Objects that cannot be written again at once are reported, before a byte is read or sent. */
#include "storage/objects/s3_write.h"

#include "core/base/memory.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct reported {
    bool is_done;
    struct weir_error err;
};

static void on_done(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct reported *reported = owner;

    assert_null(answer);
    reported->is_done = true;
    reported->err = *err;
}

static struct weir_error write_again(const char *path)
{
    static const struct s3_remote NOWHERE;
    const struct s3_write_job job = {
        .remote = &NOWHERE, .key = "day/a", .etag = "\"e\"", .path = path};
    struct weir_loop *loop = weir_loop_new();
    struct s3_transport *transport = storage_s3_transport_new(loop);
    struct s3_write *write = storage_s3_write_new(transport);
    struct reported reported = {.is_done = false};

    storage_s3_write_begin(write, &job, on_done, &reported);
    test_loop_until(loop, &reported.is_done);
    storage_s3_write_free(write);
    storage_s3_transport_free(transport);
    weir_loop_free(loop);
    return reported.err;
}

static void an_object_beyond_five_gib_is_told_with_what_to_do(void **state)
{
    struct temp_dir dir;
    WEIR_AUTO_FREE char *path = NULL;
    struct weir_error err;
    int fd;

    (void)state;
    temp_dir_make(&dir);
    path = weir_format("%s/object", dir.path);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, (off_t)S3_WRITE_BYTES_MAX + 1), 0);
    close(fd);
    err = write_again(path);
    assert_int_equal(err.status, WEIR_LIMIT);
    assert_non_null(strstr(err.text, "it has 5368709121 bytes, and only up to 5368709120 can be"));
    assert_non_null(strstr(err.text, "smaller objects, or delete it"));
    temp_dir_remove(&dir);
}

static void a_mirrored_file_that_is_cut_meanwhile_is_told(void **state)
{
    static const struct s3_remote NOWHERE;
    enum { PIECES_BYTES = 16 << 20, LEFT_BYTES = 4096 };
    struct temp_dir dir;
    struct weir_loop *loop = weir_loop_new();
    struct s3_transport *transport = storage_s3_transport_new(loop);
    struct s3_write *write = storage_s3_write_new(transport);
    struct reported reported = {.is_done = false};
    int fd;

    (void)state;
    temp_dir_make(&dir);
    WEIR_AUTO_FREE char *path = weir_format("%s/object", dir.path);
    const struct s3_write_job job = {
        .remote = &NOWHERE, .key = "day/a", .etag = "\"e\"", .path = path};
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, PIECES_BYTES), 0);
    storage_s3_write_begin(write, &job, on_done, &reported);
    weir_loop_step(loop, 0); /* the first piece */
    assert_false(reported.is_done);
    assert_int_equal(ftruncate(fd, LEFT_BYTES), 0);
    close(fd);
    test_loop_until(loop, &reported.is_done);
    assert_int_equal(reported.err.status, WEIR_IO);
    assert_non_null(strstr(reported.err.text, "was cut while it was read: found at most "));
    assert_non_null(strstr(reported.err.text, " bytes, expected 16777216"));
    storage_s3_write_free(write);
    storage_s3_transport_free(transport);
    weir_loop_free(loop);
    temp_dir_remove(&dir);
}

static void a_mirrored_file_that_is_gone_is_told(void **state)
{
    struct weir_error err = write_again("/nowhere/object");

    (void)state;
    assert_int_equal(err.status, WEIR_IO);
    assert_non_null(strstr(err.text, "the mirrored file cannot be opened"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_beyond_five_gib_is_told_with_what_to_do),
        cmocka_unit_test(a_mirrored_file_that_is_cut_meanwhile_is_told),
        cmocka_unit_test(a_mirrored_file_that_is_gone_is_told),
    };

    return cmocka_run_group_tests_name("writing objects anew", tests, NULL, NULL);
}
