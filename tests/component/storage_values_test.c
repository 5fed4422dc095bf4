/* Labels that are vectors: out of files into chunks, through merges and erasures, and back to whoever asks. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"
#include "tests/component/storage_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RECORDS = 500,
    WIDTH = 3,
    WIDE = 4096,
    WIDE_RECORDS = 1100,
    BATCHES = 20,
    ROWS = 3,
    WRONG = 2
};

static const char RECORDS_OF_THREE[] =
    "  - name: records\n"
    "    source: {path: %s, format: binary, include: '*.bin', record_bytes: 20, settle: 0ms}\n"
    "    time: {from: field, offset: 0, type: i64, unit: us}\n"
    "    label: {offset: 8, values: [f32, 3]}\n";
static const char RECORDS_OF_MANY[] =
    "  - name: wide\n"
    "    source: {path: %s, format: binary, include: '*.bin', record_bytes: 16392, settle: 0ms}\n"
    "    time: {from: field, offset: 0, type: i64, unit: us}\n"
    "    label: {offset: 8, values: [f32, 4096]}\n";
static const char LINES[] =
    "  - name: lines\n"
    "    source: {path: %s, format: jsonl, import: copy, on_erase: scrub, settle: 0ms}\n"
    "    time: {from: field, field: ts}\n"
    "    label: {field: at.xy, values: [f64, 2]}\n"
    "    subject: {field: who}\n";
static const char FIRST_LINES[] =
    "  - name: lines\n"
    "    source: {path: %s, format: jsonl, import: copy, settle: 0ms}\n"
    "    time: {from: field, field: ts}\n"
    "    label: {field: xy, values: [f64, 2]}\n"
    "    key: {field: k}\n"
    "    duplicates: {keep: first}\n";
static const char COLUMNS[] = "  - name: rows\n"
                              "    source: {path: %s, format: csv, settle: 0ms}\n"
                              "    time: {from: field, field: ts}\n"
                              "    label: {fields: [x, y], values: [f32, 2]}\n";

static struct storage_lab lab;

/* ---- asking ---- */

static struct msg_located locate(uint64_t first, size_t count)
{
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count, sizeof(*ids));
    struct msg_located located;

    for (size_t i = 0; i < count; i++)
        ids[i] = first + i;
    if (storage_lab_request(&lab, MSG_locate, &(struct msg_locate){.ids = {ids, count}},
                            MSG_located, &located) != WEIR_OK)
        fail_msg("%s", lab.err.text);
    return located;
}

static double f64_at(struct weir_bytes values, size_t i)
{
    double number;

    memcpy(&number, values.at + i * sizeof(number), sizeof(number));
    return number;
}

static float f32_at(struct weir_bytes values, size_t i)
{
    float number;

    memcpy(&number, values.at + i * sizeof(number), sizeof(number));
    return number;
}

/* ---- binary records ---- */

/* Times fall, so that ids are not in the order of time; returns all vectors. */
static float *write_records(int records, int width)
{
    float *values = weir_calloc((size_t)records * (size_t)width, sizeof(*values));
    WEIR_AUTO_BUF bytes = {0};
    struct weir_rng rng;
    FILE *file = fopen(storage_lab_path(&lab, "source/r.bin"), "wb");

    weir_rng_init(&rng, 3);
    for (int i = 0; i < records; i++) {
        int64_t time = 1000000 - i;

        weir_buf_append(&bytes, &time, sizeof(time));
        for (int k = 0; k < width; k++)
            values[i * width + k] = (float)(weir_rng_unit(&rng) * 1e6 - 5e5);
        weir_buf_append(&bytes, values + (ptrdiff_t)i * width, (size_t)width * sizeof(*values));
    }
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.at, 1, bytes.size, file), bytes.size);
    assert_int_equal(fclose(file), 0);
    return values;
}

static void a_vector_is_served_as_it_stands_in_its_record(void **state)
{
    WEIR_AUTO_FREE float *values = write_records(RECORDS, WIDTH);
    const uint64_t first = weir_sample_id(1, 0, 0),
                   some[] = {first + 7, first + 2, 99, first + 499};
    struct msg_located located;
    struct msg_columns_is columns;
    struct msg_read_is read;
    struct msg_dataset_is is;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, RECORDS_OF_THREE), WEIR_OK);
    is = storage_lab_await(&lab, "records", 1);
    assert_int_equal(is.live, RECORDS);
    assert_int_equal(is.label_kind, WEIR_LABEL_VALUES);
    assert_int_equal(is.label_width, WIDTH);
    located = locate(first, RECORDS);
    assert_int_equal(located.label_width, WIDTH);
    assert_int_equal(located.value_type, WEIR_F32);
    assert_int_equal(located.label_values.size, RECORDS * WIDTH * sizeof(float));
    assert_memory_equal(located.label_values.at, values, located.label_values.size);
    assert_int_equal(storage_lab_request(&lab, MSG_columns_read,
                                         &(struct msg_columns_read){first + 10, 20, true},
                                         MSG_columns_is, &columns),
                     WEIR_OK);
    assert_int_equal(columns.label_values.size, 20 * WIDTH * sizeof(float));
    assert_memory_equal(columns.label_values.at, values + 10 * WIDTH, columns.label_values.size);
    assert_int_equal(storage_lab_request(&lab, MSG_columns_read,
                                         &(struct msg_columns_read){.first = first, .count = 20},
                                         MSG_columns_is, &columns),
                     WEIR_OK);
    assert_int_equal(columns.label_values.size, 0); /* nobody asked for them */
    assert_int_equal(storage_lab_request(&lab, MSG_read, &(struct msg_read){.ids = {some, 4}},
                                         MSG_read_is, &read),
                     WEIR_OK);
    assert_int_equal(read.label_values.size, 4 * WIDTH * sizeof(float));
    assert_memory_equal(read.label_values.at, values + 7 * WIDTH, WIDTH * sizeof(float));
    assert_true(f32_at(read.label_values, 2 * WIDTH) == 0.0F); /* of an unknown id */
    assert_memory_equal(read.label_values.at + 3 * WIDTH * sizeof(float), values + 499 * WIDTH,
                        WIDTH * sizeof(float));
}

static void an_answer_ends_before_it_holds_more_vectors_than_a_message_may(void **state)
{
    WEIR_AUTO_FREE float *values = write_records(WIDE_RECORDS, WIDE);
    const uint64_t first = weir_sample_id(1, 0, 0);
    struct msg_located located;
    struct msg_columns_is columns;

    (void)state;
    assert_int_equal(storage_lab_declare(&lab, RECORDS_OF_MANY), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "wide", 2).live, WIDE_RECORDS); /* two chunks */
    located = locate(first, WIDE_RECORDS);
    assert_int_equal(located.ids.count, 512);
    assert_int_equal(located.states.count, 512);
    assert_memory_equal(located.label_values.at, values, located.label_values.size);
    located = locate(first + 512, 500);
    assert_int_equal(located.ids.count, 500);
    assert_int_equal(located.ids.at[0], first + 512);
    assert_memory_equal(located.label_values.at, values + (size_t)512 * WIDE,
                        located.label_values.size);
    assert_int_equal(storage_lab_request(&lab, MSG_columns_read,
                                         &(struct msg_columns_read){first, WIDE_RECORDS, true},
                                         MSG_columns_is, &columns),
                     WEIR_LIMIT);
    assert_non_null(strstr(lab.err.text, "expected at most 512"));
}

/* ---- lines ---- */

static void what_is_no_such_vector_is_refused_with_its_line(void **state)
{
    struct msg_dataset_is is;
    WEIR_AUTO_BUF said = {0};

    (void)state;
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\":1,\"at\":{\"xy\":[1,2]},\"who\":\"a\"}\n"
                      "{\"ts\":2,\"at\":{\"xy\":[1,2,3]},\"who\":\"a\"}\n"
                      "{\"ts\":3,\"at\":{\"xy\":[1,\"x\"]},\"who\":\"a\"}\n"
                      "{\"ts\":4,\"at\":{},\"who\":\"a\"}\n"
                      "{\"ts\":5,\"at\":{\"xy\":7},\"who\":\"a\"}\n"
                      "{\"ts\":6,\"at\":{\"xy\":[-0.5,1e300]},\"who\":\"a\"}\n");
    assert_int_equal(storage_lab_declare(&lab, LINES), WEIR_OK);
    is = storage_lab_await(&lab, "lines", 1);
    assert_int_equal(is.live, 2);
    assert_int_equal(is.quarantined, 4);
    for (size_t i = 0; i < is.complaints.count; i++)
        weir_buf_printf(&said, "%s\n", is.complaints.at[i]);
    assert_non_null(strstr(weir_buf_text(&said), "a.jsonl:2: label: found 3 numbers, expected 2"));
    assert_non_null(
        strstr(weir_buf_text(&said), "a.jsonl:3: label: found no list of numbers, expected 2"));
    assert_non_null(
        strstr(weir_buf_text(&said), "a.jsonl:4: label: found no list of numbers, expected 2"));
    assert_non_null(strstr(weir_buf_text(&said), "a.jsonl:5: label: found a value, expected 2"));
    assert_true(f64_at(locate(weir_sample_id(1, 0, 1), 1).label_values, 1) == 1e300);
}

static void columns_that_hold_no_numbers_are_refused_with_their_line(void **state)
{
    struct msg_dataset_is is;
    struct msg_located located;
    WEIR_AUTO_BUF said = {0};

    (void)state;
    storage_lab_write(&lab, "a.csv",
                      "ts,y,x\n1,0.5,-2\n2,hello,1\n3,,1\n4,1e39,1\n5,\" 7 \",1e-3\n");
    assert_int_equal(storage_lab_declare(&lab, COLUMNS), WEIR_OK);
    is = storage_lab_await(&lab, "rows", 1);
    assert_int_equal(is.live, 2);
    for (size_t i = 0; i < is.complaints.count; i++)
        weir_buf_printf(&said, "%s\n", is.complaints.at[i]);
    assert_non_null(
        strstr(weir_buf_text(&said), "a.csv:3: label: found 'hello', expected 2 numbers"));
    assert_non_null(
        strstr(weir_buf_text(&said), "a.csv:4: label: found no list of numbers, expected 2"));
    assert_non_null(strstr(weir_buf_text(&said), "a.csv:5: label: found a number beyond f32"));
    located = locate(weir_sample_id(1, 0, 0), 2);
    assert_true(f32_at(located.label_values, 0) == -2.0F);
    assert_true(f32_at(located.label_values, 1) == 0.5F);
    assert_true(f32_at(located.label_values, 2) == 1e-3F);
    assert_true(f32_at(located.label_values, 3) == 7.0F);
}

static void a_duplicate_that_is_refused_takes_no_other_vector_along(void **state)
{
    struct msg_located located;

    (void)state;
    storage_lab_write(&lab, "a.jsonl",
                      "{\"ts\":1,\"xy\":[1,10],\"k\":\"a\"}\n{\"ts\":2,\"xy\":[2,20],\"k\":\"a\"}\n"
                      "{\"ts\":3,\"xy\":[3,30],\"k\":\"b\"}\n{\"ts\":4,\"xy\":[4,40],\"k\":\"a\"}\n"
                      "{\"ts\":5,\"xy\":[5,50],\"k\":\"c\"}\n");
    assert_int_equal(storage_lab_declare(&lab, FIRST_LINES), WEIR_OK);
    assert_int_equal(storage_lab_await(&lab, "lines", 1).live, 3);
    located = locate(weir_sample_id(1, 0, 0), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(f64_at(located.label_values, 2 * i) == (double)(2 * i + 1));
        assert_true(f64_at(located.label_values, 2 * i + 1) == (double)(20 * i + 10));
    }
}

/* ---- merges and erasures ---- */

/* Sample i has (i, i / 8). */
static void write_batch(int batch)
{
    WEIR_AUTO_FREE char *name = weir_format("f%02d.jsonl", batch);
    WEIR_AUTO_BUF text = {0};

    for (int i = batch * ROWS; i < (batch + 1) * ROWS; i++)
        weir_buf_printf(&text, "{\"ts\":%d,\"at\":{\"xy\":[%d,%g]},\"who\":\"u%d\"}\n", 1000 - i, i,
                        i / 8.0, i);
    storage_lab_write(&lab, name, weir_buf_text(&text));
}

static void write_all(void)
{
    write_batch(0);
    assert_int_equal(storage_lab_declare(&lab, LINES), WEIR_OK);
    for (int i = 1; i <= BATCHES; i++) {
        (void)storage_lab_await(&lab, "lines", (uint64_t)i);
        if (i < BATCHES)
            write_batch(i);
    }
}

static void assert_vectors(int erased)
{
    struct msg_located located = locate(weir_sample_id(1, 0, 0), BATCHES * ROWS);

    for (int i = 0; i < BATCHES * ROWS; i++) {
        assert_int_equal(located.states.at[i], i == erased ? WEIR_SAMPLE_ERASED : WEIR_SAMPLE_LIVE);
        assert_true(f64_at(located.label_values, 2 * (size_t)i) == (i == erased ? 0 : i));
        assert_true(f64_at(located.label_values, 2 * (size_t)i + 1) == (i == erased ? 0 : i / 8.0));
    }
}

static void assert_few_chunks(void)
{
    weir_test_postgres_sql(&lab.postgres,
                           "DO $$ BEGIN ASSERT (SELECT count(*) <= 8 AND sum(count) = 60 "
                           "FROM storage.chunk); END $$");
}

static void vectors_stay_with_their_samples_through_merges_and_restarts(void **state)
{
    (void)state;
    write_all();
    assert_few_chunks();
    assert_vectors(-1);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_vectors(-1);
}

static void an_erasure_leaves_no_number_of_a_vector(void **state)
{
    (void)state;
    write_all();
    (void)storage_lab_erase(&lab, "e-1", "u37", "verified");
    weir_test_postgres_sql(
        &lab.postgres,
        "DO $$ BEGIN ASSERT (SELECT count(*) = 1 AND min(label::text) = '[0, 0]' "
        "FROM storage.sample WHERE state = 'erased'); "
        /* 37 / 8 = 4.625, as a double */
        "ASSERT (SELECT bool_and(position('\\x0000000000801240'::bytea IN label_values) = 0) "
        "FROM storage.chunk); "
        "ASSERT (SELECT count(*) = 59 AND bool_and((label->>0)::float8 = (id & 65535) AND "
        "(label->>1)::float8 = (id & 65535) / 8.0) FROM storage.sample WHERE state = 'live'); "
        "END $$");
    assert_vectors(37);
    storage_lab_kill(&lab);
    storage_lab_start(&lab);
    assert_vectors(37);
}

/* ---- weir doctor ---- */

static size_t count_wrong(const char *found)
{
    struct msg_doctor_is answer = storage_lab_examine(&lab, false);
    size_t count = 0;

    for (size_t i = 0; i < answer.checks.count; i++) {
        if (answer.verdicts.at[i] == WRONG)
            assert_non_null(strstr(answer.found.at[i], found));
        count += answer.verdicts.at[i] == WRONG;
    }
    return count;
}

static void an_examination_finds_vectors_that_are_cut_or_hold_no_numbers(void **state)
{
    (void)state;
    storage_lab_write(&lab, "a.jsonl", "{\"ts\":1,\"at\":{\"xy\":[1,2]},\"who\":\"a\"}\n");
    assert_int_equal(storage_lab_declare(&lab, LINES), WEIR_OK);
    (void)storage_lab_await(&lab, "lines", 1);
    assert_int_equal(count_wrong(""), 0);
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.chunk SET label_values = "
                                          "'\\x000000000000f03f000000000000f07f'::bytea");
    assert_int_equal(count_wrong("1 labels, the first in row 0, hold what is no number"), 1);
    weir_test_postgres_sql(&lab.postgres, "UPDATE storage.chunk SET label_values = '\\x00'");
    assert_true(count_wrong("") > 0);
}

int main(void)
{
#define CASE(test) STORAGE_CASE(&lab, test)
    const struct CMUnitTest tests[] = {
        CASE(a_vector_is_served_as_it_stands_in_its_record),
        CASE(an_answer_ends_before_it_holds_more_vectors_than_a_message_may),
        CASE(what_is_no_such_vector_is_refused_with_its_line),
        CASE(columns_that_hold_no_numbers_are_refused_with_their_line),
        CASE(a_duplicate_that_is_refused_takes_no_other_vector_along),
        CASE(vectors_stay_with_their_samples_through_merges_and_restarts),
        CASE(an_erasure_leaves_no_number_of_a_vector),
        CASE(an_examination_finds_vectors_that_are_cut_or_hold_no_numbers),
    };
    return storage_lab_run(&lab, "storage: vectors", tests, WEIR_COUNT(tests));
}
