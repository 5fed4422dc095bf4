/* Compressed shards against the real service: shards that a script lays out and zstd(1) compresses are read, erased
 * and found again like any other; hostile ones cost a complaint. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "tests/component/storage_lab.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { SAMPLES = 60, ANNAS = 20 };

static const char SHARDS[] = "  - name: shards\n"
                             "    source: {path: %%s, format: mds, sample: text, on_erase: scrub,\n"
                             "             import: %s, settle: 0ms}\n"
                             "    time: {from: field, field: at}\n"
                             "    subject: {field: who}\n";
static const char ROWS[] = "  - name: rows\n"
                           "    source: {path: %s, format: csv, import: copy, settle: 0ms}\n"
                           "    time: {from: field, field: at}\n";
static const char ANNA[] = "anna@example.org";

static struct storage_lab lab;

/* Runs in the lab's folder: $SHARD writes a shard, source/ is watched, what is renamed there is whole. */
static void shell(const char *command)
{
    WEIR_AUTO_FREE char *line =
        weir_format("cd '%s' && PYTHON='%s' SHARD=%s/tests/component/mds_shard.py && set -e && %s",
                    lab.dir.path, WEIR_PYTHON, WEIR_SOURCE_DIR, command);

    assert_int_equal(system(line), 0); // NOLINT(cert-env33-c): a test, fixed programs
}

static void declare(const char *import)
{
    WEIR_AUTO_FREE char *yaml = weir_format(SHARDS, import);

    assert_int_equal(storage_lab_declare(&lab, yaml), WEIR_OK);
}

static void put_shards(void)
{
    shell(
        "for i in 0 1; do $PYTHON $SHARD raw.$i $((i * 30)) 30; "
        "zstd -q -3 raw.$i -o source/.shard; mv source/.shard source/shard.0000$i.mds.zstd; done");
}

static void expect_text(uint64_t id, int number)
{
    WEIR_AUTO_FREE char *expected = weir_format("sample %d saw %d herons", number, 1000 + number);
    uint32_t state;

    assert_string_equal(storage_lab_read(&lab, id, &state), expected);
}

static void expect_complaint(const char *text)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    for (;;) {
        struct msg_dataset_is is = storage_lab_dataset(&lab, "shards");

        for (size_t i = 0; i < is.complaints.count; i++) {
            if (strstr(is.complaints.at[i], text) != NULL)
                return;
        }
        if (weir_now_ms() > limit_ms)
            fail_msg("no complaint about '%s', but: %s", text,
                     is.complaints.count > 0 ? is.complaints.at[0] : "none");
        weir_loop_step(lab.loop, 20);
    }
}

static void a_compressed_shard_is_read_like_a_raw_one(void **state)
{
    (void)state;
    put_shards();
    declare("copy");
    assert_int_equal(storage_lab_await(&lab, "shards", 1).live, SAMPLES);
    for (int i = 0; i < SAMPLES; i++)
        expect_text(weir_sample_id(1, 0, (uint32_t)i), i);
    shell("cmp raw.0 data/storage/shards/shard.00000.mds.zstd");
    storage_lab_expect_fine(&lab);
}

static void a_shard_that_only_was_restored_keeps_its_samples(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    put_shards();
    declare("copy");
    storage_lab_await(&lab, "shards", 1);
    storage_lab_kill(&lab);
    shell("cp -p source/shard.00000.mds.zstd kept && mv kept source/shard.00000.mds.zstd");
    storage_lab_start(&lab);
    shell("$PYTHON $SHARD more 100 2 && zstd -q more -o source/shard.00002.mds.zstd");
    is = storage_lab_await(&lab, "shards", 2);
    assert_int_equal(is.live, SAMPLES + 2);
    assert_int_equal(is.replaced, 0);
}

static void a_shard_that_was_written_anew_replaces_its_samples(void **state)
{
    struct msg_dataset_is is;

    (void)state;
    put_shards();
    declare("copy");
    storage_lab_await(&lab, "shards", 1);
    shell("$PYTHON $SHARD more 100 3 && zstd -q more -o source/.new && "
          "mv source/.new source/shard.00001.mds.zstd");
    is = storage_lab_await(&lab, "shards", 3);
    assert_int_equal(is.live, 33);
    assert_int_equal(is.replaced, 30);
    expect_text(weir_sample_id(1, 0, SAMPLES), 100);
}

static void check_erased(void)
{
    uint32_t state;

    assert_false(storage_lab_holds(&lab, "data", ANNA));
    assert_null(storage_lab_read(&lab, weir_sample_id(1, 0, 31), &state));
    assert_int_equal(state, WEIR_SAMPLE_ERASED);
    expect_text(weir_sample_id(1, 0, 32), 32);
}

static void an_erasure_scrubs_what_was_expanded_and_names_the_source(void **state)
{
    struct msg_erase_is erasure;
    struct msg_dataset_is is;
    bool is_named = false;

    (void)state;
    put_shards();
    declare("copy");
    storage_lab_await(&lab, "shards", 1);
    erasure = storage_lab_erase(&lab, "u1", ANNA, "verified");
    assert_int_equal(erasure.ids.count, ANNAS);
    assert_int_equal(erasure.found, 0);
    for (size_t i = 0; i < erasure.remarks.count; i++)
        is_named = is_named || strstr(erasure.remarks.at[i], "outside Weir's reach") != NULL;
    assert_true(is_named);
    check_erased();
    storage_lab_kill(&lab);
    shell("zstd -q -d source/shard.00001.mds.zstd -o still && cmp still raw.1");
    storage_lab_start(&lab);
    is = storage_lab_await(&lab, "shards", 2);
    assert_int_equal(is.live, SAMPLES - ANNAS);
    assert_int_equal(is.erased, ANNAS);
    check_erased();
    storage_lab_expect_fine(&lab);
}

static void a_reference_to_a_compressed_shard_is_refused(void **state)
{
    (void)state;
    put_shards();
    declare("reference");
    expect_complaint("shard.00000.mds.zstd: found a file compressed with zstd, expected it "
                     "decompressed (zstd -d), or import: copy");
    assert_int_equal(storage_lab_dataset(&lab, "shards").ingested, 0);
}

/* A second look at the file may still be under way. */
static void await_nothing_left(void)
{
    const char *shard = storage_lab_path(&lab, "data/storage/shards/shard.8.mds.zstd");
    const char *incoming = storage_lab_path(&lab, "data/storage/shards/.incoming");
    struct stat found;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (lstat(shard, &found) == 0 || (stat(incoming, &found) == 0 && found.st_size > 0)) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(lab.loop, TEST_STEP_MS);
    }
}

/* One file each; the others are taken in. */
static void hostile_shards_cost_a_complaint_alone(void **state)
{
    static const struct {
        const char *made, *complaint;
    } FILES[] = {
        {"head -c 300 whole > source/shard.8.mds.zstd",
         "compressed byte 300: found the end within a frame"},
        {"(head -c 200 whole; printf 12345678; tail -c +209 whole) > source/shard.8.mds.zstd",
         "expected whole frames of zstd"},
        {"printf 'no zstd at all' > source/shard.8.mds.zstd",
         "compressed byte 0: found Unknown frame"},
        {"head -c 100M /dev/zero > zeros; zstd -q zeros -o source/shard.8.mds.zstd",
         "found 104857600 bytes announced in "},
        {"head -c 100M /dev/zero | zstd -q > source/shard.8.mds.zstd", "found more than "},
        {"(zstd -q -c raw.0; zstd -q -c zeros) > source/shard.8.mds.zstd", "found more than "},
    };

    (void)state;
    put_shards();
    shell("zstd -q raw.0 -o whole");
    declare("copy");
    storage_lab_await(&lab, "shards", 1);
    for (size_t i = 0; i < WEIR_COUNT(FILES); i++) {
        shell(FILES[i].made);
        expect_complaint(FILES[i].complaint);
        assert_int_equal(storage_lab_dataset(&lab, "shards").live, SAMPLES);
        shell("rm source/shard.8.mds.zstd");
        await_nothing_left();
    }
    shell("cp whole source/shard.8.mds.zstd");
    while (storage_lab_dataset(&lab, "shards").live < SAMPLES + 30)
        weir_loop_step(lab.loop, 20);
    assert_int_equal(storage_lab_dataset(&lab, "shards").quarantined, 0);
}

/* Other files of Mosaic's writer: its index holds no sample, and compressors other than zstd are
 * named. */
static void an_index_is_passed_over_and_other_compressors_are_named(void **state)
{
    (void)state;
    put_shards();
    shell("printf '{\"shards\": [], \"version\": 2}' > source/index.json");
    declare("copy");
    storage_lab_await(&lab, "shards", 1);
    shell("printf '\\013\\002\\200brotli' > source/shard.7.mds.br");
    expect_complaint(
        "shard.7.mds.br: found a file compressed with brotli, by its name, expected it "
        "decompressed, or written with zstd");
    shell("printf '\\240\\215\\006snappy, so it is' > source/shard.8.mds.snappy");
    expect_complaint("shard.8.mds.snappy: found a file compressed with snappy");
    assert_int_equal(storage_lab_dataset(&lab, "shards").live, SAMPLES);
    assert_int_equal(storage_lab_dataset(&lab, "shards").quarantined, 2);
}

static void other_formats_may_be_compressed_too(void **state)
{
    uint32_t read_state;

    (void)state;
    shell("printf 'at,text\\n1,one\\n2,two\\n' | zstd -q > source/a.csv.zst");
    shell("printf 'at,text\\n' | zstd -q > all; printf '3,three\\n' | zstd -q >> all; "
          "mv all source/b.csv.zst"); /* frame after frame */
    assert_int_equal(storage_lab_declare(&lab, ROWS), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "rows", 1).live, 3);
    assert_string_equal(storage_lab_read(&lab, weir_sample_id(1, 0, 2), &read_state), "3,three");
}

/* The copy is whole when the first rows are committed: what is left is indexed from it. */
static void a_death_between_two_commits_leaves_nothing_out_and_nothing_twice(void **state)
{
    enum { ROWS_MANY = 1200000 /* more than a batch takes */ };
    struct msg_dataset_is is;

    (void)state;
    storage_lab_kill(&lab);
    lab.faults = "storage.batch.commit=!2";
    storage_lab_start(&lab);
    shell("(echo at,text; seq 0 1199999 | sed 's/.*/&,&/') | zstd -q > source/a.csv.zst");
    (void)storage_lab_declare(&lab, ROWS); /* it may die before it answers */
    storage_lab_await_death(&lab);
    lab.faults = NULL;
    storage_lab_start(&lab);
    assert_int_equal(storage_lab_declare(&lab, ROWS), WEIR_OK);
    do
        is = storage_lab_await(&lab, "rows", 1);
    while (is.live < ROWS_MANY);
    assert_int_equal(is.live, ROWS_MANY);
    assert_int_equal(is.ingested, ROWS_MANY);
    storage_lab_expect_fine(&lab);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(a_compressed_shard_is_read_like_a_raw_one),
        CASE(a_shard_that_only_was_restored_keeps_its_samples),
        CASE(a_shard_that_was_written_anew_replaces_its_samples),
        CASE(an_erasure_scrubs_what_was_expanded_and_names_the_source),
        CASE(a_reference_to_a_compressed_shard_is_refused),
        CASE(hostile_shards_cost_a_complaint_alone),
        CASE(an_index_is_passed_over_and_other_compressors_are_named),
        CASE(a_death_between_two_commits_leaves_nothing_out_and_nothing_twice),
        CASE(other_formats_may_be_compressed_too),
    };
    return storage_lab_run(&lab, "storage: compressed sources", tests, WEIR_COUNT(tests));
}
