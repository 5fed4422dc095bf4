/* Copies in the making: a file that goes, or becomes another one, before its copy is whole leaves nothing behind. */
#include "storage/files/copy.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct format LINES = {.name = "jsonl"};
static const char TEXT[] = "a heron that nobody may keep";

struct source {
    struct temp_dir dir;
    struct declaration declaration;
    struct dataset dataset;
    char *path;
    struct stat seen;
};

static void put(struct source *source, const char *text)
{
    struct weir_error err;

    assert_int_equal(weir_file_write_unsynced(source->path, weir_bytes_of(text), &err), WEIR_OK);
    assert_int_equal(lstat(source->path, &source->seen), 0);
}

static int begin(void **state)
{
    struct source *source = weir_calloc(1, sizeof(*source));
    struct weir_error err;

    temp_dir_make(&source->dir);
    source->declaration.source.include = "*";
    source->declaration.is_copied = true;
    source->declaration.format = &LINES;
    source->dataset.declaration = &source->declaration;
    source->dataset.root = weir_format("%s/source", source->dir.path);
    source->dataset.copies = weir_format("%s/copies", source->dir.path);
    source->path = weir_format("%s/a.jsonl", source->dataset.root);
    assert_int_equal(weir_make_directories(source->dataset.root, 0700, &err), WEIR_OK);
    put(source, TEXT);
    *state = source;
    return 0;
}

static int end(void **state)
{
    struct source *source = *state;

    temp_dir_remove(&source->dir);
    free(source->dataset.root);
    free(source->dataset.copies);
    free(source->path);
    free(source);
    return 0;
}

/* Of all files that a copy may be in, or was made in. */
static off_t bytes_of_copies(const struct source *source)
{
    static const char *const NAMES[] = {".incoming", "a.jsonl"};
    off_t bytes = 0;

    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", source->dataset.copies, NAMES[i]);
        struct stat found;

        bytes += lstat(path, &found) == 0 ? found.st_size : 0;
    }
    return bytes;
}

static void begin_copy(const struct source *source, struct copying *copying)
{
    struct weir_error err;

    assert_int_equal(
        storage_copy_begin(&source->dataset, "a.jsonl", &source->seen, 0, copying, &err), WEIR_OK);
    assert_int_equal(storage_copy_step(copying, sizeof(TEXT), &err), WEIR_OK);
    assert_int_equal(bytes_of_copies(source), sizeof(TEXT) - 1);
}

static void a_whole_copy_stays(void **state)
{
    const struct source *source = *state;
    struct copying copying;
    struct stat copy;
    struct weir_error err;

    begin_copy(source, &copying);
    assert_int_equal(
        storage_copy_end(&source->dataset, "a.jsonl", &source->seen, &copying, &copy, &err),
        WEIR_OK);
    assert_int_equal(bytes_of_copies(source), sizeof(TEXT) - 1);
}

static void a_copy_that_is_given_up_leaves_nothing(void **state)
{
    const struct source *source = *state;
    struct copying copying;

    begin_copy(source, &copying);
    storage_copy_abort(&copying);
    assert_int_equal(bytes_of_copies(source), 0);
}

static void a_file_that_changes_meanwhile_leaves_nothing(void **state)
{
    struct source *source = *state;
    struct stat before = source->seen, copy;
    struct copying copying;
    struct weir_error err;

    begin_copy(source, &copying);
    assert_int_equal(truncate(source->path, 1), 0);
    assert_int_equal(storage_copy_end(&source->dataset, "a.jsonl", &before, &copying, &copy, &err),
                     WEIR_STALE);
    assert_int_equal(bytes_of_copies(source), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_copy_stays, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_that_is_given_up_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_changes_meanwhile_leaves_nothing, begin, end),
    };

    return cmocka_run_group_tests_name("copies", tests, NULL, NULL);
}
