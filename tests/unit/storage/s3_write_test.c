/* What cannot be written anew at once is told, before a byte is read or sent. */
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

struct told {
    bool is_done;
    struct weir_error err;
};

static void on_done(void *owner, const struct s3_answer *answer, const struct weir_error *err)
{
    struct told *told = owner;

    assert_null(answer);
    told->is_done = true;
    told->err = *err;
}

static struct weir_error write_anew(const char *path)
{
    static const struct s3_remote NOWHERE;
    const struct s3_write_job job = {
        .remote = &NOWHERE, .key = "day/a", .etag = "\"e\"", .path = path};
    struct weir_loop *loop = weir_loop_new();
    struct s3_write *write = s3_write_new(loop);
    struct told told = {.is_done = false};

    s3_write_begin(write, &job, on_done, &told);
    test_loop_until(loop, &told.is_done);
    s3_write_free(write);
    weir_loop_free(loop);
    return told.err;
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
    err = write_anew(path);
    assert_int_equal(err.status, WEIR_LIMIT);
    assert_non_null(strstr(err.text, "it has 5368709121 bytes, and only up to 5368709120 can be"));
    assert_non_null(strstr(err.text, "smaller objects, or delete it"));
    temp_dir_remove(&dir);
}

static void a_mirrored_file_that_is_gone_is_told(void **state)
{
    struct weir_error err = write_anew("/nowhere/object");

    (void)state;
    assert_int_equal(err.status, WEIR_IO);
    assert_non_null(strstr(err.text, "the mirrored file cannot be opened"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_beyond_five_gib_is_told_with_what_to_do),
        cmocka_unit_test(a_mirrored_file_that_is_gone_is_told),
    };

    return cmocka_run_group_tests_name("writing objects anew", tests, NULL, NULL);
}
