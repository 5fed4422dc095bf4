/* Many one-sample files: what is known of them lies in Postgres, and in memory as far as a bound allows. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "storage/reading/serve.h"
#include "tests/component/storage_inside.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    FOLDER_FILES = 200,
    FEW = 4000,
    MANY = 14000,
    CACHE_BYTES = 256 << 10, /* less than two groups */
    SLACK_BYTES = 320 << 10, /* two groups; the others would take five times as much */
};

static const struct weir_query QUERIES[] = {
    {"size", "SELECT pg_total_relation_size('storage.file_group') AS bytes"},
};

static int begin(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));

    storage_inside_begin(inside);
    inside->storage->store.catalog->file_cache->bytes_max = CACHE_BYTES;
    *state = inside;
    return 0;
}

static char *name_of(int number)
{
    return weir_format("d%03d/%05d.txt", number / FOLDER_FILES, number);
}

static void write_files(struct storage_inside *inside, const char *folder, int from, int upto,
                        int step)
{
    for (int i = from; i < upto; i += step) {
        WEIR_AUTO_FREE char *file = name_of(i);
        WEIR_AUTO_FREE char *name = weir_format("%s/%s", folder, file);
        WEIR_AUTO_FREE char *within =
            weir_format("%s/source/%s/d%03d", inside->dir.path, folder, i / FOLDER_FILES);
        struct weir_error err;

        if (i % FOLDER_FILES < step)
            assert_int_equal(weir_make_directories(within, 0700, &err), WEIR_OK);
        storage_inside_write(inside, name, "some text");
    }
}

#define DATASET(folder)                                              \
    "  - {name: " folder ", time: {from: mtime},\n"                  \
    "     source: {path: %s/" folder ", format: files, settle: 0ms," \
    " include: '*.txt'}}\n"

/* Memory in use, as malloc knows it: at most, while everything is looked at once more. */
static size_t rescan(struct storage_inside *inside, struct dataset *dataset)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    size_t most = 0;

    dataset->next_scan_ms = dataset->next_whole_ms = 0;
    storage_scope_add_all(&dataset->dirty);
    storage_scanner_start(inside->storage->scanner);
    while (storage_scan_is_running(dataset) || !storage_scope_is_empty(&dataset->dirty)) {
        struct mallinfo2 now;

        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(inside->loop, TEST_STEP_MS);
        now = mallinfo2();
        most = now.uordblks + now.hblkhd > most ? now.uordblks + now.hblkhd : most;
    }
    return most;
}

static void await_files(struct storage_inside *inside, struct dataset *dataset, uint64_t count)
{
    while (dataset->accounts.live < count)
        (void)rescan(inside, dataset);
    assert_int_equal(dataset->accounts.live, count);
}

/* ---- memory ---- */

static void a_rescan_of_three_times_as_many_files_takes_no_more_memory(void **state)
{
    struct storage_inside *inside = *state;
    struct dataset *dataset;
    uint64_t sequence;
    size_t few, many;

    write_files(inside, "texts", 0, FEW, 1);
    dataset = storage_inside_declare(inside, DATASET("texts"));
    await_files(inside, dataset, FEW);
    few = rescan(inside, dataset);
    write_files(inside, "texts", FEW, MANY, 1);
    await_files(inside, dataset, MANY);
    sequence = dataset->sequence;
    many = rescan(inside, dataset);
    printf("%zu kB for %d files, %zu kB for %d\n", few >> 10, FEW, many >> 10, MANY);
    assert_true(many < few + SLACK_BYTES);
    assert_int_equal(dataset->sequence, sequence); /* nothing was taken for new or gone */
}

/* Bytes in Postgres for a file beyond its path, pages and index included. */
static void a_known_file_takes_sixteen_bytes_beyond_its_path(void **state)
{
    struct storage_inside *inside = *state;
    WEIR_AUTO_FREE char *path = name_of(0);
    WEIR_AUTO(weir_db) db = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;

    assert_int_equal(
        weir_db_open(inside->postgres.conninfo, "public", QUERIES, WEIR_COUNT(QUERIES), &db, &err),
        WEIR_OK);
    assert_int_equal(DB_RUN(db, 0, &rows, &err), WEIR_OK);
    printf("%lld bytes of Postgres for %d files\n", (long long)weir_rows_i64(rows, 0, "bytes"),
           MANY);
    assert_true((uint64_t)weir_rows_i64(rows, 0, "bytes") <= (16 + strlen(path)) * MANY);
}

/* ---- what is found ---- */

static void any_file_is_found_again_whatever_left_memory(void **state)
{
    enum { COUNT = 5000 };
    struct storage_inside *inside = *state;
    const struct dataset *dataset = storage_catalog_find(inside->storage->store.catalog, "texts");
    static uint64_t ids[COUNT];
    const struct msg_locate asked = {.ids = {ids, COUNT}};
    struct msg_located found;
    struct weir_rng rng;
    struct weir_error err;

    weir_rng_init(&rng, 5);
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = storage_dataset_id(dataset, weir_rng_below(&rng, MANY));
    assert_int_equal(storage_locate(&inside->storage->serving, &asked, inside->arena, &found, &err),
                     WEIR_OK);
    for (size_t i = 0; i < COUNT; i++) {
        WEIR_AUTO_FREE char *name = name_of((int)weir_sample_row(ids[i]));
        const char *path = found.paths.at[found.files.at[i]];

        assert_int_equal(found.states.at[i], WEIR_SAMPLE_LIVE);
        assert_string_equal(path + strlen(path) - strlen(name), name);
    }
    assert_true(dataset->file_cache->bytes < (size_t)3 * CACHE_BYTES);
}

/* Groups of files that came between those of others overlap: still each file is met once. */
static void files_between_others_are_known_too(void **state)
{
    enum { COUNT = 1500, STEPS = 3, GONE = 100 };
    struct storage_inside *inside = *state;
    struct dataset *dataset;
    uint64_t sequence;

    write_files(inside, "between", 0, COUNT, STEPS);
    dataset = storage_inside_declare(inside, DATASET("between"));
    for (int i = 1; i < STEPS; i++) {
        write_files(inside, "between", i, COUNT, STEPS);
        await_files(inside, dataset, (uint64_t)COUNT / STEPS * (uint64_t)(i + 1));
    }
    sequence = dataset->sequence;
    (void)rescan(inside, dataset);
    assert_int_equal(dataset->sequence, sequence);
    for (int i = 0; i < COUNT; i += COUNT / GONE) {
        WEIR_AUTO_FREE char *name = name_of(i);
        WEIR_AUTO_FREE char *path = weir_format("%s/source/between/%s", inside->dir.path, name);

        assert_int_equal(unlink(path), 0);
    }
    while (dataset->accounts.removed < GONE)
        (void)rescan(inside, dataset);
    (void)rescan(inside, dataset);
    assert_int_equal(dataset->accounts.removed, GONE);
    assert_int_equal(dataset->accounts.live, COUNT - GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rescan_of_three_times_as_many_files_takes_no_more_memory),
        cmocka_unit_test(a_known_file_takes_sixteen_bytes_beyond_its_path),
        cmocka_unit_test(any_file_is_found_again_whatever_left_memory),
        cmocka_unit_test(files_between_others_are_known_too),
    };

    return cmocka_run_group_tests_name("many files", tests, begin, storage_inside_teardown);
}
