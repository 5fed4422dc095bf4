/* Samples of shards and the people they are of: the shard says it beside the payload, and describes itself at its
 * beginning, however long that is. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "storage/erasure/erasure_steps.h"
#include "tests/component/storage_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 20000 /* their offsets alone take more than FORMAT_HEAD_MAX */, PEOPLE = 100 };

static const char COLUMNS[] =
    "{\"column_encodings\": [\"int\", \"int\", \"str\", \"str\"], \"column_names\": [\"at\", "
    "\"key\", \"text\", \"who\"], \"column_sizes\": [8, 8, null, null], \"compression\": null, "
    "\"format\": \"mds\", \"hashes\": [], \"size_limit\": 67108864, \"version\": 2}";

static void put_sample(int number, struct weir_buf *out)
{
    const int64_t numbers[2] = {number + 1, number};
    WEIR_AUTO_FREE char *text = weir_format("words of sample %d", number);
    WEIR_AUTO_FREE char *who = weir_format("person-%d", number % PEOPLE);
    const uint32_t sizes[2] = {(uint32_t)strlen(text), (uint32_t)strlen(who)};

    weir_buf_append(out, sizes, sizeof(sizes));
    weir_buf_append(out, numbers, sizeof(numbers));
    weir_buf_append_text(out, text);
    weir_buf_append_text(out, who);
}

static void write_shard(struct storage_inside *inside)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/source/a.mds", inside->dir.path);
    WEIR_AUTO_FREE uint32_t *offsets = weir_calloc(SAMPLES + 1, sizeof(*offsets));
    const uint32_t count = SAMPLES;
    uint32_t begin = (uint32_t)(sizeof(count) + (SAMPLES + 1) * sizeof(*offsets) + strlen(COLUMNS));
    WEIR_AUTO_BUF samples = {0};
    FILE *file = fopen(path, "wb");

    for (int i = 0; i < SAMPLES; i++) {
        offsets[i] = begin + (uint32_t)samples.size;
        put_sample(i, &samples);
    }
    offsets[SAMPLES] = begin + (uint32_t)samples.size;
    assert_non_null(file);
    assert_int_equal(fwrite(&count, sizeof(count), 1, file), 1);
    assert_int_equal(fwrite(offsets, sizeof(*offsets), SAMPLES + 1, file), SAMPLES + 1);
    assert_int_equal(fwrite(COLUMNS, strlen(COLUMNS), 1, file), 1);
    assert_int_equal(fwrite(samples.at, samples.size, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void declare(struct storage_inside *inside)
{
    WEIR_AUTO_FREE char *yaml = weir_format(
        "datasets:\n"
        "  - name: ads\n"
        "    source: {path: %s/source, format: mds, sample: text, include: '*.mds', settle: 0ms,\n"
        "             on_erase: scrub}\n"
        "    time: {from: field, field: at}\n"
        "    subject: {field: who}\n"
        "    key: {field: key}\n"
        "    label: {from: updates, type: int}\n"
        "  - name: clicks\n"
        "    source: {path: %s/source, format: csv, include: '*.csv', settle: 0ms}\n"
        "    time: {from: field, field: at}\n"
        "    key: {field: key}\n"
        "    label: {field: clicked}\n"
        "    updates: ads\n",
        inside->dir.path, inside->dir.path);
    const struct msg_dataset_declare asked = {.file = "p.yaml", .config = weir_bytes_of(yaml)};
    struct msg_dataset_declared answer;
    struct weir_error err;

    assert_int_equal(storage_declare(inside->storage, &asked, inside->arena, &answer, &err),
                     WEIR_OK);
}

static int begin(void **state)
{
    struct storage_inside *inside = calloc(1, sizeof(*inside));

    storage_inside_begin(inside);
    write_shard(inside);
    declare(inside);
    *state = inside;
    return 0;
}

static void await_ingested(struct storage_inside *inside, size_t dataset, uint64_t ingested)
{
    const struct catalog *catalog = inside->storage->store.catalog;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    while (catalog->datasets[dataset]->accounts.ingested < ingested) {
        assert_true(weir_now_ms() < limit_ms);
        storage_scope_add_all(&catalog->datasets[1]->dirty);
        storage_scanner_start(inside->storage->scanner);
        weir_loop_step(inside->loop, TEST_STEP_MS);
    }
}

static void erase(struct storage_inside *inside, const char *subject)
{
    const char *const subjects[] = {subject};
    const struct msg_erase_accept accept = {
        .uuid = "u-1", .dataset = "", .subjects = {subjects, 1}, .reference = ""};
    uint64_t erasure = storage_inside_erase(inside, &accept).erasure;
    struct msg_erase_is answer = {.state = "accepted"};
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    struct weir_error err;

    while (strcmp(answer.state, "accepted") == 0) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(inside->loop, TEST_STEP_MS);
        assert_int_equal(storage_erase_describe(&inside->storage->eraser,
                                                &(struct msg_erase_request){erasure, 0},
                                                inside->arena, &answer, &err),
                         WEIR_OK);
    }
}

/* Samples are live once they have a label; under its new id a sample is still its person's. */
static void a_label_that_comes_late_finds_the_last_sample_of_a_long_shard(void **state)
{
    struct storage_inside *inside = *state;
    const struct accounts *ads = &inside->storage->store.catalog->datasets[0]->accounts;

    await_ingested(inside, 0, SAMPLES);
    storage_inside_write(inside, "clicks.csv", "at,key,clicked\n5,19999,1\n6,7,1\n");
    await_ingested(inside, 1, 2);
    assert_int_equal(ads->live, 2);
    erase(inside, "person-99");
    assert_int_equal(ads->live, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_label_that_comes_late_finds_the_last_sample_of_a_long_shard, begin,
            storage_inside_teardown),
    };

    return cmocka_run_group_tests_name("storage: subjects in shards", tests, NULL, NULL);
}
