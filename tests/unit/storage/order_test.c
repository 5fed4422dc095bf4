/* Orders: an external sort says what a sort in memory says, in a few megabytes; a file is complete and right
 * or none. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/feed/order_sort.h"
#include "tests/support/temp_dir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 3000000, PAGE = 10007 };

static const struct order_inputs INPUTS = {.dataset = 1, .position = 7, .rows = 11, .erased = 2};

static const struct order_row BEGINNING = {.time = INT64_MIN};

static int make_dir(void **state)
{
    struct temp_dir *dir = calloc(1, sizeof(*dir));

    temp_dir_make(dir);
    *state = dir;
    return 0;
}

static int remove_dir(void **state)
{
    temp_dir_remove(*state);
    free(*state);
    return 0;
}

/* Few distinct times, so that many are equal and ids decide. */
static struct order_row *draw(uint64_t seed, size_t count, uint64_t times)
{
    struct order_row *rows = weir_calloc(count + 1, sizeof(*rows));
    struct weir_rng rng;

    weir_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct order_row){.time = (int64_t)weir_rng_below(&rng, times) - 1000,
                                     .id = i,
                                     .label = (int64_t)weir_mix64(i)};
    return rows;
}

static int by_time(const void *a, const void *b)
{
    return storage_order_compare(a, b);
}

static void sort_to(const char *path, const struct order_row *rows, size_t count,
                    const struct order_limits *limits)
{
    struct order_sort *sort = storage_order_sort_new(path, limits);
    struct weir_error err;
    bool is_done = false;
    double progress = 0;

    for (size_t at = 0; at < count; at += 999)
        assert_int_equal(
            storage_order_sort_add(sort, rows + at, count - at < 999 ? count - at : 999, &err),
            WEIR_OK);
    while (!is_done) {
        assert_int_equal(storage_order_sort_step(sort, &INPUTS, 50000, &is_done, &err), WEIR_OK);
        assert_true(storage_order_sort_progress(sort) >= progress);
        progress = storage_order_sort_progress(sort);
    }
    assert_true(progress <= 1.0);
    storage_order_sort_free(sort);
}

/* Reads all of it in pages, as a replay does. */
static void assert_same(const char *path, const struct order_row *wanted, size_t count)
{
    struct order_row *rows = weir_calloc(PAGE, sizeof(*rows));
    struct order_row last = BEGINNING;
    struct order *order;
    struct weir_error err;
    size_t done = 0, got = PAGE;

    assert_int_equal(storage_order_open(path, &INPUTS, &order, &err), WEIR_OK);
    while (got == PAGE) {
        assert_int_equal(storage_order_read(order, &last, PAGE, rows, &got, &err), WEIR_OK);
        assert_true(got <= count - done);
        assert_memory_equal(rows, wanted + done, got * sizeof(*rows));
        done += got;
        last = got > 0 ? rows[got - 1] : last;
    }
    assert_int_equal(done, count);
    storage_order_free(order);
    free(rows);
}

static void the_order_is_that_of_a_sort_in_memory(void **state)
{
    static const struct order_limits LIMITS[] = {{1, 2}, {100, 2}, {1000, 3}, {4096, 64}};
    static const size_t COUNTS[] = {0, 1, 2, 99, 100, 101, 5000, 20000};
    const char *path = temp_path(*state, "x.order");

    for (size_t l = 0; l < WEIR_COUNT(LIMITS); l++) {
        for (size_t c = 0; c < WEIR_COUNT(COUNTS) - (l == 0 ? 3 : 0); c++) {
            struct order_row *rows = draw(l * 100 + c, COUNTS[c], 50);

            sort_to(path, rows, COUNTS[c], &LIMITS[l]);
            qsort(rows, COUNTS[c], sizeof(*rows), by_time);
            assert_same(path, rows, COUNTS[c]);
            free(rows);
        }
    }
}

static void three_million_rows_are_sorted_in_a_few_megabytes(void **state)
{
    const struct order_limits limits = {.run_rows = 65536, .fan_in = 8}; /* 1.6 MB, two passes */
    const char *path = temp_path(*state, "x.order");
    struct order_row *rows = draw(4711, MANY, 1000000);
    struct stat found;

    sort_to(path, rows, MANY, &limits);
    qsort(rows, MANY, sizeof(*rows), by_time);
    assert_same(path, rows, MANY);
    assert_int_equal(stat(path, &found), 0);
    assert_true((uint64_t)found.st_size < UINT64_C(15) * MANY); /* of which 8 are a random label */
    free(rows);
}

static void a_reader_may_begin_anywhere(void **state)
{
    const struct order_limits limits = {.run_rows = 3000, .fan_in = 4};
    const char *path = temp_path(*state, "x.order");
    struct order_row *rows = draw(5, 10000, 3000);
    struct order *order;
    struct weir_error err;

    sort_to(path, rows, 10000, &limits);
    qsort(rows, 10000, sizeof(*rows), by_time);
    assert_int_equal(storage_order_open(path, &INPUTS, &order, &err), WEIR_OK);
    for (size_t i = 0; i < 10000; i += 77) {
        struct order_row next;
        size_t got;

        assert_int_equal(storage_order_read(order, &rows[i], 1, &next, &got, &err), WEIR_OK);
        assert_int_equal(got, i + 1 < 10000);
        if (got)
            assert_memory_equal(&next, &rows[i + 1], sizeof(next));
    }
    storage_order_free(order);
    free(rows);
}

static void flip(const char *path, off_t at)
{
    WEIR_AUTO_FD int fd = open(path, O_RDWR);
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void a_damaged_file_is_noticed_wherever_it_is(void **state)
{
    const struct order_limits limits = {.run_rows = 3000, .fan_in = 4};
    const char *path = temp_path(*state, "x.order");
    struct order_row *rows = draw(6, 5000, 3000);
    struct stat found;

    sort_to(path, rows, 5000, &limits);
    assert_int_equal(stat(path, &found), 0);
    for (off_t at = 0; at < found.st_size; at += 53) {
        struct order *order = NULL;
        struct weir_error err;
        size_t got;
        enum weir_status status;

        flip(path, at);
        status = storage_order_open(path, &INPUTS, &order, &err);
        if (status == WEIR_OK)
            status = storage_order_read(order, &BEGINNING, 5000, rows, &got, &err);
        assert_true(status == WEIR_CORRUPT || status == WEIR_STALE);
        storage_order_free(order);
        flip(path, at);
    }
    free(rows);
}

static void other_inputs_need_another_order(void **state)
{
    const struct order_limits limits = {.run_rows = 3000, .fan_in = 4};
    const char *path = temp_path(*state, "x.order");
    struct order_row *rows = draw(6, 10, 3000);
    struct order_inputs other = INPUTS;
    struct order *order;
    struct weir_error err;

    sort_to(path, rows, 10, &limits);
    other.erased++;
    assert_int_equal(storage_order_open(path, &other, &order, &err), WEIR_STALE);
    assert_int_equal(truncate(path, 40), 0);
    assert_int_equal(storage_order_open(path, &INPUTS, &order, &err), WEIR_CORRUPT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(storage_order_open(path, &INPUTS, &order, &err), WEIR_NOT_FOUND);
    free(rows);
}

static void a_sort_that_is_given_up_leaves_no_file(void **state)
{
    const struct order_limits limits = {.run_rows = 100, .fan_in = 2};
    struct temp_dir *dir = *state;
    struct order_row *rows = draw(6, 5000, 3000);
    WEIR_AUTO_FREE char *path = weir_format("%s/x.order", dir->path);
    struct order_sort *sort = storage_order_sort_new(path, &limits);
    struct weir_error err;
    bool is_done;

    assert_int_equal(storage_order_sort_add(sort, rows, 5000, &err), WEIR_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(storage_order_sort_step(sort, &INPUTS, 100, &is_done, &err), WEIR_OK);
    storage_order_sort_free(sort);
    assert_int_equal(rmdir(dir->path), 0); /* it is empty */
    assert_int_equal(mkdir(dir->path, 0700), 0);
    free(rows);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        CASE(the_order_is_that_of_a_sort_in_memory),
        CASE(three_million_rows_are_sorted_in_a_few_megabytes),
        CASE(a_reader_may_begin_anywhere),
        CASE(a_damaged_file_is_noticed_wherever_it_is),
        CASE(other_inputs_need_another_order),
        CASE(a_sort_that_is_given_up_leaves_no_file),
    };
    return cmocka_run_group_tests_name("storage: orders", tests, NULL, NULL);
}
