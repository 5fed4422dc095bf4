/* Rows that a worker keeps: found by sample and key as long as their segments are there and whole. */
#include "preprocess/worker/kept_probe.h"
#include "preprocess/worker/kept_store.h"
#include "preprocess/worker/kept_writer.h"
#include "tests/support/temp_dir.h"

#include "core/base/clock.h"
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

enum { ROWS = 50, KEY = 9, MANY = 1000000 };

struct lab {
    struct temp_dir dir;
    struct kept_store store;
    struct kept_folder folder;
    uint64_t made_ns; /* of the rows that are written next */
};

static bool nobody(const void *owner, uint64_t id)
{
    (void)owner;
    (void)id;
    return false;
}

static bool is_seven(const void *owner, uint64_t id)
{
    (void)owner;
    return id % 100 == 7;
}

static const struct kept_erased NOBODY = {.is_erased = nobody};

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->dir);
    lab->store.folder = weir_strdup(lab->dir.path);
    lab->folder = (struct kept_folder){.path = lab->store.folder, .bytes_max = 1 << 20};
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    preprocess_kept_store_fini(&lab->store);
    temp_dir_remove(&lab->dir);
    free(lab);
    return 0;
}

static char *path_of(const struct lab *lab, uint64_t number)
{
    return weir_format("%s/%016lx" WEIR_CACHE_SUFFIX, lab->store.folder, number);
}

/* A segment of the samples from `first` on: each row is its id. */
static void write_rows(const struct lab *lab, uint64_t number, uint64_t first, uint64_t epoch)
{
    struct weir_cache_row rows[ROWS];
    uint8_t bytes[ROWS][1 + sizeof(uint64_t)];
    struct weir_error err;
    WEIR_AUTO_FREE char *path = path_of(lab, number);
    for (size_t i = 0; i < ROWS; i++) {
        bytes[i][0] = WEIR_CACHE_PLAIN;
        weir_put_u64(bytes[i] + 1, first + i);
        rows[i] = (struct weir_cache_row){.id = first + i,
                                          .key = KEY,
                                          .bytes = weir_bytes(bytes[i], sizeof(bytes[i])),
                                          .made_ns = lab->made_ns};
    }
    assert_int_equal(weir_cache_segment_write(path, epoch, rows, ROWS, WEIR_COMPRESSION_NONE, &err),
                     WEIR_OK);
}

/* Returns how many samples from `first` on are found, and good. */
static size_t count_found(struct lab *lab, uint64_t key, uint64_t first)
{
    uint64_t ids[ROWS];
    struct kept_place places[ROWS];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        ids[i] = first + i;
    preprocess_kept_store_find(&lab->store, key, ids, ROWS, places);
    for (size_t i = 0; i < ROWS; i++) {
        struct weir_bytes row;
        if (places[i].segment == UINT32_MAX ||
            !preprocess_kept_store_load(&lab->store, places[i], &row))
            continue;
        assert_int_equal(weir_get_u64(row.at), ids[i]);
        count++;
    }
    return count;
}

static void rows_are_found_by_sample_and_key_as_long_as_they_are_there(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE char *path = path_of(lab, 1);
    preprocess_kept_store_scan(&lab->store, &NOBODY);
    assert_int_equal(count_found(lab, KEY, 0), 0);
    for (uint64_t i = 0; i < 20; i++)
        write_rows(lab, i, i * ROWS, 0);
    preprocess_kept_store_scan(&lab->store, &NOBODY);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(count_found(lab, KEY, i * ROWS), ROWS);
    assert_int_equal(count_found(lab, KEY + 1, 0), 0);
    assert_int_equal(unlink(path), 0);
    preprocess_kept_store_scan(&lab->store, &NOBODY);
    assert_int_equal(count_found(lab, KEY, ROWS), 0);
    assert_int_equal(count_found(lab, KEY, 0), ROWS);
    preprocess_kept_store_forget(&lab->store);
    assert_int_equal(count_found(lab, KEY, 0), 0);
}

static void a_damaged_or_shorter_segment_is_removed_and_counted(void **state)
{
    struct lab *lab = *state;
    WEIR_AUTO_FREE char *flipped = path_of(lab, 1);
    WEIR_AUTO_FREE char *cut = path_of(lab, 2);
    struct stat about;
    for (uint64_t i = 0; i < 3; i++)
        write_rows(lab, i, i * ROWS, 0);
    preprocess_kept_store_scan(&lab->store, &NOBODY);
    assert_int_equal(stat(flipped, &about), 0);
    WEIR_AUTO_FD int fd = open(flipped, O_RDWR);
    assert_int_equal(pwrite(fd, "X", 1, about.st_size - 1), 1);
    assert_int_equal(count_found(lab, KEY, ROWS), ROWS - 1);
    assert_int_equal(lab->store.damaged, 1);
    assert_int_not_equal(access(flipped, F_OK), 0);
    assert_int_equal(truncate(cut, 0), 0); /* where it is mapped */
    assert_int_equal(count_found(lab, KEY, 2 * ROWS), 0);
    assert_int_equal(lab->store.damaged, 2);
    assert_int_equal(count_found(lab, KEY, 0), ROWS);
}

static void a_writer_that_slept_through_an_erasure_leaves_nothing(void **state)
{
    struct lab *lab = *state;
    const struct kept_erased erased = {.is_erased = is_seven, .epoch = 3};
    uint64_t id = 7;
    struct kept_place place;
    struct weir_bytes row;
    write_rows(lab, 1, 0, 2);
    preprocess_kept_store_scan(&lab->store, &erased);
    preprocess_kept_store_find(&lab->store, KEY, &id, 1, &place);
    assert_int_not_equal(place.segment, UINT32_MAX);
    assert_false(preprocess_kept_store_load(&lab->store, place, &row));
}

static void set_used(const struct lab *lab, uint64_t number, time_t ago)
{
    WEIR_AUTO_FREE char *path = path_of(lab, number);
    struct timespec times[2] = {{.tv_sec = time(NULL) - ago}, {.tv_sec = time(NULL) - ago}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void the_oldest_use_makes_room_and_what_is_used_stays(void **state)
{
    struct lab *lab = *state;
    uint64_t evicted;
    WEIR_AUTO_FREE char *oldest = path_of(lab, 2);
    for (uint64_t i = 0; i < 4; i++)
        write_rows(lab, i, i * ROWS, 0);
    set_used(lab, 1, 5000);
    set_used(lab, 2, 9000);
    lab->folder.bytes_max = 12000; /* four of some 2500 bytes */
    assert_true(preprocess_kept_make_room(&lab->folder, 100, &evicted));
    assert_int_equal(evicted, 0);
    assert_true(preprocess_kept_make_room(&lab->folder, 3000, &evicted));
    assert_int_equal(evicted, 1);
    assert_int_not_equal(access(oldest, F_OK), 0);
    assert_false(preprocess_kept_make_room(&lab->folder, 9000, &evicted));
    assert_int_equal(evicted, 1); /* the two that are left were used just now */
    assert_false(preprocess_kept_make_room(&lab->folder, 13000, &evicted));
}

/* A thousand times the work outlasts twice the time; of the same work, the oldest goes. */
static void what_spares_least_for_the_time_it_is_unused_goes_first(void **state)
{
    static const struct {
        uint64_t made_ns;
        time_t unused_s;
    } SEGMENTS[] = {{1000000, 9000}, {1000, 5000}, {1000, 4000}};
    struct lab *lab = *state;
    uint64_t evicted;
    for (uint64_t i = 0; i < WEIR_COUNT(SEGMENTS); i++) {
        lab->made_ns = SEGMENTS[i].made_ns;
        write_rows(lab, i, i * ROWS, 0);
        set_used(lab, i, SEGMENTS[i].unused_s);
    }
    lab->folder.bytes_max = 8000; /* three of some 2500 bytes */
    for (uint64_t i = 1; i <= WEIR_COUNT(SEGMENTS); i++) {
        uint64_t next = i % WEIR_COUNT(SEGMENTS);
        WEIR_AUTO_FREE char *path = path_of(lab, next);
        assert_true(preprocess_kept_make_room(&lab->folder, 2500 * i, &evicted));
        assert_int_equal(evicted, 1);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static void of_many_segments_some_are_looked_at_and_room_is_made(void **state)
{
    struct lab *lab = *state;
    uint64_t evicted;
    for (uint64_t i = 0; i < 2 * KEPT_SAMPLED; i++) {
        write_rows(lab, i, i * ROWS, 0);
        set_used(lab, i, 5000);
    }
    assert_true(preprocess_kept_make_room(&lab->folder, lab->folder.bytes_max, &evicted));
    assert_int_equal(evicted, 2 * KEPT_SAMPLED);
}

static void a_disk_is_measured_and_left_as_it_was(void **state)
{
    const struct lab *lab = *state;
    struct kept_speed speed;
    assert_true(preprocess_kept_measure(lab->dir.path, &speed));
    assert_true(speed.write_ns > 0 && speed.warm_ns > 0 && speed.cold_ns >= speed.warm_ns);
    assert_int_equal(rmdir(lab->dir.path), 0); /* nothing is left in it */
    assert_false(preprocess_kept_measure(lab->dir.path, &speed));
    assert_int_equal(mkdir(lab->dir.path, 0700), 0);
}

/* Prints what a look-up takes; asserts what a row takes. */
static void a_row_takes_less_than_16_bytes_of_memory(void **state)
{
    struct kept_index index = {0};
    size_t found = 0;
    (void)state;
    preprocess_kept_index_begin(&index, 0);
    for (uint32_t rows = 0; rows < MANY; rows += MANY / 100) { /* as segments come */
        if (!preprocess_kept_index_fits(&index, MANY / 100)) {
            preprocess_kept_index_begin(&index, rows + MANY / 100);
            for (uint32_t i = 0; i < rows; i++)
                preprocess_kept_index_add(&index, i * 3, (struct kept_place){i >> 16, i & 0xffff});
        }
        for (uint32_t i = rows; i < rows + MANY / 100; i++)
            preprocess_kept_index_add(&index, i * 3, (struct kept_place){i >> 16, i & 0xffff});
    }
    int64_t before_ns = weir_now_ns();
    for (uint64_t i = 0; i < MANY; i++) {
        struct kept_search search = kept_search(&index, i * 7 % MANY * 3);
        struct kept_place place;
        found += kept_search_next(&index, &search, &place);
    }
    int64_t spent_ns = weir_now_ns() - before_ns;
    assert_int_equal(found, MANY);
    print_message("%d rows: %.1f bytes each, a look-up takes %.0f ns\n", MANY,
                  8.0 * index.room / MANY, (double)spent_ns / MANY);
    assert_true(8.0 * index.room / MANY <= 16);
    preprocess_kept_index_fini(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_found_by_sample_and_key_as_long_as_they_are_there,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_or_shorter_segment_is_removed_and_counted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_writer_that_slept_through_an_erasure_leaves_nothing,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_oldest_use_makes_room_and_what_is_used_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_spares_least_for_the_time_it_is_unused_goes_first,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_many_segments_some_are_looked_at_and_room_is_made,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_is_measured_and_left_as_it_was, set_up, tear_down),
        cmocka_unit_test(a_row_takes_less_than_16_bytes_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
