/* The use that batches make of rows that are kept is counted: once for each batch that was good. */
#include "preprocess/worker/kept_rows.h"
#include "tests/support/temp_dir.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 20, KEPT = 15, KEY = 9 };

struct lab {
    struct temp_dir dir;
    struct weir_loop *loop;
    struct worker_flow flow;
    struct kept *kept;
    struct kept_rows known;
    struct located_sample samples[ROWS];
    uint64_t ids[ROWS];
    uint32_t places[ROWS];
    struct rows rows;
};

/* Writes the rows of the first samples as a worker would. */
static char *write_segment(const struct lab *lab)
{
    struct weir_cache_row rows[KEPT];
    static const uint8_t BYTES[] = {WEIR_CACHE_PLAIN, 'r', 'o', 'w'};
    struct weir_error err;
    WEIR_AUTO_FREE char *folder = weir_format("%s/" WEIR_CACHE_FOLDER, lab->dir.path);
    char *path = weir_format("%s/%016x" WEIR_CACHE_SUFFIX, folder, 1);
    assert_int_equal(weir_make_directories(folder, 0700, &err), WEIR_OK);
    for (size_t i = 0; i < KEPT; i++)
        rows[i] =
            (struct weir_cache_row){.id = i, .key = KEY, .bytes = weir_bytes(BYTES, sizeof(BYTES))};
    assert_int_equal(weir_cache_segment_write(path, 0, rows, KEPT, WEIR_COMPRESSION_NONE, &err),
                     WEIR_OK);
    return path;
}

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->dir);
    lab->loop = weir_loop_new();
    lab->kept =
        preprocess_kept_new(lab->loop, &lab->flow, lab->dir.path, 1 << 20, WEIR_COMPRESSION_NONE);
    for (uint32_t i = 0; i < ROWS; i++) {
        lab->samples[i].id = lab->ids[i] = i;
        lab->places[i] = i;
    }
    lab->rows = (struct rows){.count = ROWS, .ids = lab->ids, .samples = lab->places};
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    preprocess_kept_rows_fini(&lab->known);
    preprocess_kept_free(lab->kept);
    weir_loop_free(lab->loop);
    temp_dir_remove(&lab->dir);
    free(lab);
    return 0;
}

/* Makes a batch as far as its rows are kept; returns true when none was lost. */
static bool make_batch(struct lab *lab, bool is_good)
{
    struct weir_bytes row;
    bool has_all = true;
    preprocess_kept_rows_begin(&lab->known, lab->kept, KEY, lab->samples, ROWS);
    preprocess_kept_rows_place(&lab->known, &lab->rows);
    for (size_t i = 0; i < ROWS && has_all; i++) {
        if (lab->known.use.is_known[i])
            has_all = lab->known.use.load(lab->known.use.owner, i, &row);
    }
    preprocess_kept_rows_settle(&lab->known, is_good && has_all, 0);
    return has_all;
}

static void hits_and_misses_are_those_of_good_batches(void **state)
{
    struct lab *lab = *state;
    free(write_segment(lab));
    assert_true(make_batch(lab, true));
    assert_int_equal(lab->known.tally.hits, KEPT);
    assert_int_equal(lab->known.tally.misses, ROWS - KEPT);
    assert_true(lab->known.tally.read_ns > 0);
    assert_true(make_batch(lab, false));
    assert_int_equal(lab->known.tally.hits, KEPT);
    assert_int_equal(lab->known.tally.damaged, 0);
}

static void a_damaged_segment_counts_once(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE char *path = write_segment(lab);
    assert_true(make_batch(lab, true));
    WEIR_AUTO_FD int fd = open(path, O_RDWR);
    off_t end = lseek(fd, 0, SEEK_END);
    assert_int_equal(pwrite(fd, "X", 1, end - 1), 1);
    assert_false(make_batch(lab, true));
    assert_true(make_batch(lab, true));
    assert_int_equal(lab->known.tally.damaged, 1);
    assert_int_equal(lab->known.tally.hits, KEPT);
    assert_int_equal(lab->known.tally.misses, ROWS - KEPT + ROWS);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void a_folder_that_is_taken_away_is_made_again(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    WEIR_AUTO_FREE char *folder = weir_format("%s/" WEIR_CACHE_FOLDER, lab->dir.path);
    free(write_segment(lab));
    assert_true(make_batch(lab, true));
    assert_int_equal(weir_remove_tree(folder, &err), WEIR_OK);
    preprocess_kept_step(lab->kept, weir_now_ms() + 60000);
    assert_int_equal(access(folder, F_OK), 0);
    assert_true(make_batch(lab, true));
    assert_int_equal(lab->known.tally.hits, KEPT);
    assert_int_equal(lab->known.tally.misses, ROWS - KEPT + ROWS);
    assert_int_equal(lab->known.tally.damaged, 0);
}

static enum weir_status add_made(void *owner, const char *path, bool is_segment,
                                 struct weir_error *err)
{
    (void)err;
    assert_true(is_segment);
    *(uint64_t *)owner += weir_cache_segment_made_ns(AT_FDCWD, path);
    return WEIR_OK;
}

static void what_rows_took_is_written_with_them_for_eviction(void **state)
{
    struct lab *lab = *state;
    struct weir_error err;
    uint64_t made_ns = 0;
    lab->flow.use_until_ms = INT64_MAX;
    preprocess_kept_rows_begin(&lab->known, lab->kept, KEY, lab->samples, ROWS);
    preprocess_kept_rows_place(&lab->known, &lab->rows);
    for (size_t i = 0; i < ROWS; i++)
        lab->known.use.keep(lab->known.use.owner, i, weir_bytes_of("row"));
    preprocess_kept_rows_settle(&lab->known, true, 5000 * ROWS);
    preprocess_kept_free(lab->kept);
    lab->kept = NULL;
    assert_int_equal(weir_cache_walk(lab->dir.path, add_made, &made_ns, &err), WEIR_OK);
    assert_int_equal(made_ns, 5000 * ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hits_and_misses_are_those_of_good_batches, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_segment_counts_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_is_taken_away_is_made_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_rows_took_is_written_with_them_for_eviction, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
