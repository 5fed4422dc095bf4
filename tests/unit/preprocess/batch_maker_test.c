/* Batches of small records, which are taken from where they lie once their file is read from often enough. */
#include "preprocess/worker/batch_maker.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/delivery.h"
#include "core/wire/sample.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAMPLES = 400, BATCH = 100, BATCHES = SAMPLES / BATCH, LENT_BYTES = 64 << 10 };

/* Record i is (i, 7 * i). */
struct record {
    int32_t first, second;
};

struct lab {
    struct temp_dir dir;
    char records[512];
    struct preprocess_plan plan;
    struct located located;
    struct fetched fetched;
    struct worker_flow flow;
    struct batch_maker *maker;
    /* what a consumer lends */
    struct weir_loop *loop;
    struct weir_borrowed *borrowed;
    struct weir_segment *segment;
    struct batch_loan loan;
};

static void write_records(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int32_t i = 0; i < SAMPLES; i++)
        assert_int_equal(fwrite(&(struct record){i, 7 * i}, sizeof(struct record), 1, file), 1);
    fclose(file);
}

static uint64_t id_of(uint64_t i)
{
    return 1000 + 3 * i;
}

static float weight_of(uint64_t i)
{
    return 1 + (float)i / 2;
}

static void open_plan(struct lab *lab)
{
    struct weir_error err;
    struct weir_digest sealed;
    char path[512], digest[WEIR_DIGEST_TEXT_MAX];
    uint64_t ids[SAMPLES];
    float weights[SAMPLES];
    (void)snprintf(path, sizeof(path), "%s", temp_path(&lab->dir, "a.set"));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        ids[i] = id_of(i);
        weights[i] = weight_of(i);
    }
    assert_int_equal(weir_sample_set_write(path, ids, weights, SAMPLES, &sealed, &err), WEIR_OK);
    weir_digest_text(&sealed, digest);
    const struct preprocess_order_form form = {
        .file = "p.yaml",
        .config = weir_bytes_of("preprocess:\n"
                                "  operators: [{op: record_fields, sparse: [0, 2, i32]}]\n"
                                "  batch: {samples: 100, shuffle: none, group: 4}\n"),
        .set_path = path,
        .set_digest = digest,
        .epochs = 1,
        .mode = "train",
    };
    if (preprocess_plan_open(&form, &lab->plan, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

/* Locates samples as storage would: one record after the other in one file. */
static void locate(struct lab *lab)
{
    struct stat status;
    assert_int_equal(stat(lab->records, &status), 0);
    preprocess_located_begin(&lab->located, &lab->plan, 0, LOCATED_WHOLE);
    preprocess_located_set(&lab->located, lab->located.count);
    assert_int_equal(lab->located.count, SAMPLES);
    uint32_t file = preprocess_located_file(
        &lab->located, &(struct file_about){.path = lab->records,
                                            .device = status.st_dev,
                                            .inode = status.st_ino,
                                            .size = (uint64_t)status.st_size,
                                            .mtime_ns = weir_mtime_ns(&status)});
    for (size_t i = 0; i < SAMPLES; i++) {
        struct located_sample *sample = &lab->located.samples[i];
        sample->state = WEIR_SAMPLE_LIVE;
        sample->file = file;
        sample->offset = i * sizeof(struct record);
        sample->length = sizeof(struct record);
        sample->label = -(int64_t)i;
    }
}

static int open_lab(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    temp_dir_make(&lab->dir);
    (void)snprintf(lab->records, sizeof(lab->records), "%s", temp_path(&lab->dir, "records"));
    write_records(lab->records);
    open_plan(lab);
    locate(lab);
    lab->maker = preprocess_batch_maker_new(NULL);
    lab->loop = weir_loop_new();
    lab->borrowed = weir_borrowed_new(lab->loop);
    lab->segment = weir_segment_new(LENT_BYTES);
    *state = lab;
    return 0;
}

static int close_lab(void **state)
{
    struct lab *lab = *state;
    preprocess_batch_maker_free(lab->maker);
    weir_borrowed_free(lab->borrowed);
    weir_segment_free(lab->segment);
    weir_loop_free(lab->loop);
    preprocess_located_fini(&lab->located);
    preprocess_fetched_fini(&lab->fetched);
    preprocess_plan_close(&lab->plan);
    temp_dir_remove(&lab->dir);
    free(lab);
    return 0;
}

static enum weir_status make(struct lab *lab, uint64_t number, struct worker_batch **ret_batch)
{
    struct weir_error err;
    const struct batch_request request = {.job = 1,
                                          .plan = &lab->plan,
                                          .located = &lab->located,
                                          .fetched = &lab->fetched,
                                          .flow = &lab->flow,
                                          .batch = number,
                                          .loan = lab->loan.memory.at != NULL ? &lab->loan : NULL};
    return preprocess_batch_maker_make(lab->maker, &request, ret_batch, &err);
}

/* The batch has its samples but `hole` (SAMPLES: none), each with its id, label, weight and numbers. */
static void expect_batch(struct lab *lab, uint64_t number, uint64_t hole, uint32_t hole_state)
{
    struct worker_batch *batch = NULL;
    assert_int_equal(make(lab, number, &batch), WEIR_OK);
    const uint64_t *ids =
        (const uint64_t *)(const void *)weir_frames_at(&batch->frames, WEIR_BATCH_IDS).at;
    const int64_t *labels =
        (const int64_t *)(const void *)weir_frames_at(&batch->frames, WEIR_BATCH_LABELS).at;
    struct weir_bytes weights = weir_frames_at(&batch->frames, WEIR_BATCH_WEIGHTS);
    struct weir_bytes numbers = weir_frames_at(&batch->frames, WEIR_BATCH_TENSORS);
    size_t row = 0;
    assert_int_equal(weights.size, batch->samples * sizeof(float));
    for (uint64_t i = number * BATCH; i < (number + 1) * BATCH; i++) {
        if (i == hole)
            continue;
        const struct record wanted = {(int32_t)i, 7 * (int32_t)i};
        assert_int_equal(ids[row], id_of(i));
        assert_int_equal(labels[row], -(int64_t)i);
        const float weight = weight_of(i);
        assert_memory_equal(weights.at + row * sizeof(weight), &weight, sizeof(weight));
        assert_memory_equal(numbers.at + row * sizeof(wanted), &wanted, sizeof(wanted));
        row++;
    }
    assert_int_equal(batch->samples, row);
    assert_int_equal(numbers.size, row * sizeof(struct record));
    assert_int_equal(batch->holes, hole / BATCH == number);
    if (batch->holes > 0) {
        uint64_t id;
        memcpy(&id, weir_frames_at(&batch->frames, WEIR_BATCH_HOLES).at, sizeof(id));
        assert_int_equal(id, id_of(hole));
        assert_int_equal(batch->hole_states[0], hole_state);
        assert_int_equal(batch->failed, hole_state == WEIR_SAMPLE_FAILED);
    }
    preprocess_batch_free(batch);
}

/* All but the first few records, and one of each batch, lie in a mapping. */
static void expect_all(struct lab *lab, uint64_t hole, uint32_t hole_state)
{
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t number = 0; number < BATCHES; number++)
            expect_batch(lab, number, hole, hole_state);
    }
    assert_true(preprocess_batch_maker_read(lab->maker).bytes >
                2 * (SAMPLES - 2) * sizeof(struct record));
}

static void records_are_right_wherever_they_are_read(void **state)
{
    expect_all(*state, SAMPLES, WEIR_SAMPLE_LIVE);
}

static void an_erased_sample_is_a_hole_among_those_in_memory(void **state)
{
    struct lab *lab = *state;
    uint64_t erased[] = {id_of(250)};
    lab->flow.erased = erased;
    lab->flow.erased_count = 1;
    expect_all(lab, 250, WEIR_SAMPLE_ERASED);
}

static void a_record_that_is_too_short_fails_alone(void **state)
{
    struct lab *lab = *state;
    lab->located.samples[130].length = sizeof(struct record) - 1;
    expect_all(lab, 130, WEIR_SAMPLE_FAILED);
    assert_non_null(strstr(preprocess_batch_maker_reason(lab->maker),
                           "record of 7 bytes, expected at least 8"));
}

static void a_file_that_has_changed_is_stale(void **state)
{
    struct lab *lab = *state;
    struct worker_batch *batch = NULL;
    expect_all(lab, SAMPLES, WEIR_SAMPLE_LIVE);
    assert_int_equal(truncate(lab->records, sizeof(struct record)), 0);
    assert_int_equal(make(lab, 1, &batch), WEIR_STALE);
    lab->located.tries = 1; /* located again, and it is no better: storage is to read it */
    assert_int_equal(make(lab, 1, &batch), WEIR_UNAVAILABLE);
    assert_null(batch);
}

/* ---- in lent memory ---- */

/* Makes a batch in memory that a consumer lends. */
static struct worker_batch *make_lent(struct lab *lab, uint64_t number)
{
    struct worker_batch *batch = NULL;
    assert_true(weir_loan_claim(lab->borrowed, weir_segment_lend(lab->segment), &lab->loan.memory));
    assert_int_equal(make(lab, number, &batch), WEIR_OK);
    assert_null(lab->loan.memory.at); /* the batch has it */
    return batch;
}

static bool is_lent(const struct worker_batch *batch)
{
    const uint8_t *at = weir_frames_at(&batch->frames, WEIR_BATCH_TENSORS).at;
    return batch->in_loan == UINT64_C(1) << WEIR_BATCH_TENSORS && at > batch->loan.memory.at &&
           at < batch->loan.memory.at + batch->loan.memory.size;
}

/* Its consumer finds all of the batch but `hole`, frame after frame. */
static void expect_written(struct lab *lab, struct worker_batch *batch, uint64_t first,
                           uint64_t hole)
{
    uint64_t written[WEIR_WIRE_FRAMES_MAX] = {0};
    size_t at = 0, row = 0;
    assert_true(preprocess_batch_write(batch, written));
    const uint8_t *ids = weir_segment_written(lab->segment, LENT_BYTES).at;
    assert_non_null(ids);
    for (size_t i = 0; i < WEIR_BATCH_TENSORS; i++)
        at += worker_batch_step(written[i]);
    const uint8_t *numbers = ids + at;
    for (uint64_t i = first; i < first + BATCH; i++) {
        const struct record wanted = {(int32_t)i, 7 * (int32_t)i};
        if (i == hole)
            continue;
        assert_int_equal(weir_get_u64(ids + row * sizeof(uint64_t)), id_of(i));
        assert_memory_equal(numbers + row * sizeof(wanted), &wanted, sizeof(wanted));
        row++;
    }
    assert_int_equal(written[WEIR_BATCH_IDS], row * sizeof(uint64_t));
    assert_int_equal(written[WEIR_BATCH_TENSORS], row * sizeof(struct record));
    preprocess_batch_free(batch);
}

static void a_batch_is_made_where_its_consumer_reads_it(void **state)
{
    struct lab *lab = *state;
    for (uint64_t number = 0; number < BATCHES; number++) {
        struct worker_batch *batch = make_lent(lab, number);
        assert_true(is_lent(batch));
        expect_written(lab, batch, number * BATCH, SAMPLES);
    }
    lab->located.samples[5].state = WEIR_SAMPLE_GONE;
    struct worker_batch *batch = make_lent(lab, 0);
    assert_true(is_lent(batch));
    expect_written(lab, batch, 0, 5);
}

static void a_batch_that_loses_rows_behind_reading_is_written_as_a_whole(void **state)
{
    struct lab *lab = *state;
    struct worker_batch *batch = NULL;
    lab->located.samples[130].length = sizeof(struct record) - 1;
    batch = make_lent(lab, 1);
    assert_int_equal(batch->in_loan, 0); /* what was there has moved … */
    assert_null(batch->loan.memory.at);  /* … and whoever sends it claims a loan then */
    preprocess_batch_free(batch);
    batch = make_lent(lab, 1); /* so that it is not tried again */
    assert_int_equal(batch->in_loan, 0);
    expect_written(lab, batch, BATCH, 130);
    batch = make_lent(lab, 2);
    assert_int_equal(batch->in_loan, 0);
    expect_written(lab, batch, 2 * BATCH, SAMPLES);
    batch = make_lent(lab, 2);
    assert_true(is_lent(batch));
    expect_written(lab, batch, 2 * BATCH, SAMPLES);
}

static void a_batch_outlives_the_loan_it_was_made_in(void **state)
{
    struct lab *lab = *state;
    struct worker_batch *batch = make_lent(lab, 3);
    const struct record wanted = {3 * BATCH, 7 * 3 * BATCH};
    assert_true(is_lent(batch));
    preprocess_batch_leave_loan(batch);
    assert_true(weir_segment_withdraw(lab->segment)); /* it was given back as it was */
    (void)weir_segment_lend(lab->segment);
    assert_memory_equal(weir_frames_at(&batch->frames, WEIR_BATCH_TENSORS).at, &wanted,
                        sizeof(wanted));
    preprocess_batch_free(batch);
    preprocess_batch_free(make_lent(lab, 3)); /* dropped, for an id of it was erased */
    assert_true(weir_segment_withdraw(lab->segment));
    expect_all(lab, SAMPLES, WEIR_SAMPLE_LIVE); /* what comes next has memory of its own */
}

static void assert_clear(const uint8_t *at, const uint8_t *until)
{
    for (; at < until; at++)
        assert_int_equal(*at, 0);
}

static void nothing_is_published_beside_the_frames_of_a_batch(void **state)
{
    struct lab *lab = *state;
    struct weir_published *published = weir_published_new(LENT_BYTES);
    struct worker_batch *batch = NULL;
    assert_non_null(published);
    memset(published->at, 'o', published->size); /* of the batch before */
    lab->loan.memory =
        (struct weir_loan){.at = published->at, .size = published->size, .word = &published->word};
    assert_int_equal(make(lab, 0, &batch), WEIR_OK);
    preprocess_batch_publish(batch, published);
    assert_ptr_equal(batch->published, published);
    const uint8_t *at = published->at;
    for (size_t i = 0; i < batch->frames.count; i++) {
        struct weir_bytes frame = weir_frames_at(&batch->frames, i);
        if (frame.size == 0)
            continue;
        assert_clear(at, frame.at);
        at = frame.at + frame.size;
    }
    assert_clear(at, published->at + published->size);
    preprocess_batch_free(batch);
}

static void a_batch_that_cannot_be_made_leaves_the_loan_to_the_next(void **state)
{
    struct lab *lab = *state;
    struct worker_batch *batch = NULL;
    assert_true(weir_loan_claim(lab->borrowed, weir_segment_lend(lab->segment), &lab->loan.memory));
    write_records(lab->records);
    assert_int_equal(truncate(lab->records, sizeof(struct record)), 0);
    assert_int_equal(make(lab, 0, &batch), WEIR_STALE);
    assert_non_null(lab->loan.memory.at);
    weir_loan_end(&lab->loan.memory, false);
    assert_true(weir_segment_withdraw(lab->segment));
}

/* Storage reads what is asked for of the batch: so many samples. */
static void answer_read(struct lab *lab, uint64_t batch, size_t wanted)
{
    uint64_t ids[FETCH_IDS_MAX], lengths[BATCH];
    uint32_t states[BATCH];
    struct record records[BATCH];
    struct weir_error err;
    size_t samples;
    const struct located_sample *first =
        preprocess_located_batch(&lab->located, &lab->plan, batch, &samples);
    preprocess_fetched_begin(&lab->fetched, batch, first, samples,
                             preprocess_batch_maker_kept(lab->maker));
    size_t count = preprocess_fetched_wanted(&lab->fetched, ids);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        int32_t number = (int32_t)((ids[i] - id_of(0)) / 3);
        states[i] = WEIR_SAMPLE_LIVE;
        lengths[i] = sizeof(*records);
        records[i] = (struct record){number, 7 * number};
    }
    const struct msg_read_is answer = {
        .ids = {ids, count}, .states = {states, count}, .lengths = {lengths, count}};
    assert_int_equal(preprocess_fetched_take(&lab->fetched, &answer,
                                             weir_bytes(records, count * sizeof(*records)), &err),
                     WEIR_OK);
}

static struct kept *keep_records(struct lab *lab, struct kept *before)
{
    preprocess_kept_free(before);
    preprocess_fetched_drop(&lab->fetched);
    struct kept *kept =
        preprocess_kept_new(lab->loop, &lab->flow, lab->dir.path, 1 << 20, WEIR_COMPRESSION_LZ4);
    preprocess_batch_maker_use_kept(lab->maker, kept);
    return kept;
}

static void records_that_storage_has_read_are_kept_instead_of_read_again(void **state)
{
    struct lab *lab = *state;
    struct worker_batch *batch = NULL;
    uint64_t files;
    struct weir_error err;
    lab->plan.keeps_records = true;
    lab->flow.use_until_ms = INT64_MAX;
    preprocess_fetched_add_file(&lab->fetched, 0);
    struct kept *kept = keep_records(lab, NULL);
    assert_int_equal(make(lab, 0, &batch), WEIR_UNAVAILABLE);
    answer_read(lab, 0, BATCH);
    expect_batch(lab, 0, SAMPLES, 0);
    kept = keep_records(lab, kept); /* it has written them by then */
    expect_batch(lab, 0, SAMPLES, 0);
    assert_int_equal(make(lab, 1, &batch), WEIR_UNAVAILABLE);
    answer_read(lab, 1, BATCH);
    expect_batch(lab, 1, SAMPLES, 0);
    assert_int_equal(weir_cache_drop(lab->dir.path, &files, &err), WEIR_OK);
    kept = keep_records(lab, kept); /* the second batch alone is there */
    expect_batch(lab, 1, SAMPLES, 0);
    assert_int_equal(make(lab, 0, &batch), WEIR_UNAVAILABLE);
    preprocess_kept_free(kept);
    preprocess_batch_maker_use_kept(lab->maker, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_right_wherever_they_are_read, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(an_erased_sample_is_a_hole_among_those_in_memory, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(a_record_that_is_too_short_fails_alone, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(a_file_that_has_changed_is_stale, open_lab, close_lab),
        cmocka_unit_test_setup_teardown(a_batch_is_made_where_its_consumer_reads_it, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(
            a_batch_that_loses_rows_behind_reading_is_written_as_a_whole, open_lab, close_lab),
        cmocka_unit_test_setup_teardown(a_batch_outlives_the_loan_it_was_made_in, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(nothing_is_published_beside_the_frames_of_a_batch, open_lab,
                                        close_lab),
        cmocka_unit_test_setup_teardown(a_batch_that_cannot_be_made_leaves_the_loan_to_the_next,
                                        open_lab, close_lab),
        cmocka_unit_test_setup_teardown(
            records_that_storage_has_read_are_kept_instead_of_read_again, open_lab, close_lab),
    };
    return cmocka_run_group_tests_name("batch_maker", tests, NULL, NULL);
}
