/* The way to a file of a source follows no link, and a sidecar is unlinked only where it is known for what it is. A
 * first scan waits for both. */
#include "storage/files/place.h"

#include "core/base/clock.h"
#include "storage/files/sidecar.h"
#include "tests/component/storage_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char PICTURES[] =
    "  - name: pictures\n"
    "    source: {path: %s, format: files, include: \"**.jpg\", sidecar: .json, settle: 0ms,\n"
    "             on_erase: unlink}\n"
    "    time: {from: sidecar, field: at}\n";

static struct storage_inside inside;
static struct stored_file *file; /* source/deep/a.jpg */
static struct dataset *dataset;

static int setup(void **state)
{
    (void)state;
    storage_inside_begin(&inside);
    assert_int_equal(mkdir(temp_path(&inside.dir, "source/deep"), 0700), 0);
    storage_inside_write(&inside, "deep/a.jpg", "a heron");
    storage_inside_write(&inside, "deep/a.json", "{\"at\": 7}");
    dataset = storage_inside_declare(&inside, PICTURES);
    file = &dataset->groups[0]->files[0];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    storage_inside_end(&inside);
    return 0;
}

static void move(const char *name, const char *to)
{
    WEIR_AUTO_FREE char *from = weir_strdup(temp_path(&inside.dir, name));

    assert_int_equal(rename(from, temp_path(&inside.dir, to)), 0);
}

/* Moves the folder, and leaves a link to it. */
static void swap(const char *folder, const char *to)
{
    WEIR_AUTO_FREE char *aside = weir_strdup(temp_path(&inside.dir, to));

    move(folder, to);
    assert_int_equal(symlink(aside, temp_path(&inside.dir, folder)), 0);
}

static bool is_there(const char *name)
{
    return access(temp_path(&inside.dir, name), F_OK) == 0;
}

static void nothing_behind_a_link_is_opened_or_unlinked(void **state)
{
    const char *name;

    (void)state;
    swap("source/deep", "outside");
    errno = 0;
    assert_int_equal(storage_place_open(dataset, file, O_RDWR), -1);
    assert_int_equal(errno, ELOOP);
    errno = 0;
    assert_int_equal(storage_place_folder(dataset, file, &name), -1);
    assert_int_equal(errno, ELOOP);
    errno = 0;
    assert_int_equal(storage_sidecar_unlink(dataset, file), -1);
    assert_int_equal(errno, ELOOP);
    assert_true(is_there("outside/a.json"));
}

static void a_sidecar_that_was_not_read_and_lies_beside_another_file_stays(void **state)
{
    (void)state;
    swap("source", "aside"); /* a source may be a link: what counts is what lies there */
    move("aside/deep", "kept");
    assert_int_equal(mkdir(temp_path(&inside.dir, "source/deep"), 0700), 0);
    storage_inside_write(&inside, "deep/a.jpg", "another bird");
    storage_inside_write(&inside, "deep/a.json", "{\"at\": 7, \"of\": \"somebody else\"}");
    errno = 0;
    assert_int_equal(storage_sidecar_unlink(dataset, file), -1);
    assert_int_equal(errno, ESTALE);
    assert_true(is_there("source/deep/a.json"));
}

static void a_sidecar_that_was_written_again_beside_its_sample_is_unlinked(void **state)
{
    (void)state;
    storage_inside_write(&inside, "deep/a.json", "{\"at\": 7, \"of\": \"the same person\"}");
    assert_int_equal(storage_sidecar_unlink(dataset, file), 0);
    assert_false(is_there("source/deep/a.json"));
}

/* Its sidecar is written when the picture already counts as written. */
static void a_first_scan_waits_for_a_young_sidecar_as_it_waits_for_its_file(void **state)
{
    static const char LATE[] =
        "  - name: late\n"
        "    source: {path: %s, format: files, include: \"**.png\", sidecar: .json, settle: 1s}\n"
        "    time: {from: sidecar, field: at}\n";
    int64_t limit_ms = weir_now_ms() + 1100;
    const struct dataset *late;

    (void)state;
    storage_inside_write(&inside, "late.png", "an egret");
    while (weir_now_ms() < limit_ms)
        weir_loop_step(inside.loop, TEST_STEP_MS);
    storage_inside_write(&inside, "late.json", "{\"at\": 8}");
    late = storage_inside_declare(&inside, LATE);
    assert_int_equal(late->group_count, 1);
    assert_int_equal(late->groups[0]->count, 1);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(nothing_behind_a_link_is_opened_or_unlinked),
        CASE(a_sidecar_that_was_not_read_and_lies_beside_another_file_stays),
        CASE(a_sidecar_that_was_written_again_beside_its_sample_is_unlinked),
        CASE(a_first_scan_waits_for_a_young_sidecar_as_it_waits_for_its_file),
    };
    return cmocka_run_group_tests_name("storage: places", tests, NULL, NULL);
}
