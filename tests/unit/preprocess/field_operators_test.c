/* Operators that take numbers out of records, and what they say of records that have none. */
#include "core/base/rng.h"
#include "preprocess/operators/number.h"
#include "tests/support/chain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One record through one operator: up to three numbers, or a failure with a reason. */
static const struct {
    const char *operators;
    const char *record;
    float expected[3];
    const char *reason; /* part of it; NULL: it can be read */
} CASES[] = {
    {"{op: csv_fields, fields: [0, 2]}", "1,x,3\n", {1, 3}, NULL},
    {"{op: csv_fields, fields: [2, 0, 2]}", "1,x,3\r\n", {3, 1, 3}, NULL},
    {"{op: csv_fields, columns: [a, b, c], fields: [c, b]}",
     "1,\"2\",\" -3.5e1 \"",
     {-35, 2},
     NULL},
    {"{op: csv_fields, fields: [1]}", "\"a,\"\"b\"\"\",7", {7}, NULL},
    {"{op: csv_fields, fields: [1], delimiter: \"\\\\t\"}", "1\t8", {8}, NULL},
    {"{op: csv_fields, fields: [1], quotes: none}", "\"a,5,b\"", {5}, NULL},
    {"{op: csv_fields, fields: [0, 1], fill: 9}", ",", {9, 9}, NULL},
    {"{op: csv_fields, fields: [0]}", "true", {1}, NULL},
    {"{op: csv_fields, fields: [0, 1]}",
     "1,",
     {0},
     "field 1: found nothing, expected a number: fill takes it"},
    {"{op: csv_fields, columns: [age, x], fields: [age, x]}",
     "1,12/3a B\"",
     {0},
     "column 'x': found \"99/9a A?\" (9: a digit, A and a: letters), expected a number"},
    {"{op: csv_fields, columns: [age, x], fields: [age, x]}",
     "NA,1",
     {0},
     "column 'age': found 'NA', expected a number: missing: ['NA'] and fill take it"},
    {"{op: csv_fields, fields: [0, 1, 2], fill: 7, missing: [NA, '?']}", "NA,,?", {7, 7, 7}, NULL},
    {"{op: csv_fields, fields: [0], fill: 7, missing: [NA, '?']}", "N", {0}, "expected a number"},
    {"{op: csv_fields, columns: [a], fields: [a]}", "\"1", {0}, "column 'a': found a quote"},
    {"{op: csv_fields, fields: [0, 5]}", "1,2", {0}, "at least 6"},
    {"{op: csv_fields, fields: [5], fill: 9}", "1,2", {0}, "at least 6"},
    {"{op: csv_fields, fields: [0]}", "nan", {0}, "expected a number"},
    {"{op: csv_fields, fields: [0, 1, 2], delimiter: ;, decimal: comma, fill: 9}",
     " -12,25 ;7;",
     {-12.25f, 7, 9},
     NULL},
    {"{op: csv_fields, fields: [0], delimiter: ;, decimal: comma}",
     "1.5;2",
     {0},
     "field 0: found \"9.9\" (9: a digit, A and a: letters), expected a number without a point, as "
     "decimal: comma says"},
    {"{op: csv_fields, fields: [0], delimiter: ;, decimal: comma}",
     "1.234,5;2",
     {0},
     "expected a number"},
    {"{op: csv_fields, fields: [0], delimiter: ;}",
     "1,5;2",
     {0},
     "expected a number; decimal: comma takes it, if that is no mark of thousands"},
    {"{op: csv_fields, fields: [0]}", "-1e39", {0}, "expected a number that f32 can hold"},
    {"{op: csv_fields, fields: [0]}", "0x10", {0}, "expected a number"},
    {"{op: csv_fields, fields: [0]}", "1e999", {0}, "expected a number"},
    {"{op: csv_fields, fields: [0]}", "", {0}, "expected a number"},
    {"{op: json_fields, fields: [a, b.c]}", "{\"a\": 1.5, \"b\": {\"c\": true}}", {1.5f, 1}, NULL},
    {"{op: json_fields, fields: [a, b.c, a]}", "{\"b.c\": -7, \"a\": 2e1}", {20, -7, 20}, NULL},
    {"{op: json_fields, fields: [a.b, a.b.c, a]}",
     "{\"a\": {\"b\": {\"c\": 1}}, \"a.b\": 2}",
     {0},
     "twice"},
    {"{op: json_fields, fields: [\"\\u00e9\"]}", "{\"\\u00e9\": 0.125}", {0.125f}, NULL},
    {"{op: json_fields, fields: [a], fill: -1}", "{\"a\": null}", {-1}, NULL},
    {"{op: json_fields, fields: [a]}", "{\"a\": \"1\"}", {0}, "field 'a'"},
    {"{op: json_fields, fields: [b.c]}", "{\"b\": 3}", {0}, "field 'b.c'"},
    {"{op: json_fields, fields: [a]}", "[1]", {0}, "one JSON object"},
    {"{op: json_fields, fields: [a]}", "{\"a\": 1", {0}, "one JSON object"},
    {"{op: json_fields, fields: [a]}", "", {0}, "one JSON object"},
};

static void records_give_numbers_or_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct test_chain test = {0};
        test_chain_open(&test, CASES[i].operators);
        struct weir_bytes row = weir_bytes_of(CASES[i].record);
        test_chain_run(&test, &row, 1);
        struct chain_cost cost = preprocess_chain_cost(test.chain, 0);
        uint32_t width = preprocess_chain_output(test.chain, 0)->about.width;
        if (CASES[i].reason == NULL && test.failed[0] != 0)
            fail_msg("%s: %s", CASES[i].record, cost.reason);
        if (CASES[i].reason == NULL)
            assert_memory_equal(test_chain_floats(&test, 0), CASES[i].expected,
                                width * sizeof(float));
        else if (test.failed[0] == 0 || strstr(cost.reason, CASES[i].reason) == NULL)
            fail_msg("%s: found '%s', expected '%s'", CASES[i].record, cost.reason,
                     CASES[i].reason);
        test_chain_close(&test);
    }
}

/* Names of the numbers of the first tensor. */
static const struct {
    const char *operators, *names; /* each followed by a bar */
} NAMED[] = {
    {"[{op: csv_fields, columns: [ts, temp, wind], fields: [wind, 1]}]", "wind|temp|"},
    {"[{op: csv_fields, fields: [2, 0]}]", "2|0|"},
    {"[{op: json_fields, fields: [a, b.c]}, {op: standardize}, {op: cast, to: f64}]", "a|b.c|"},
    {"[{op: csv_fields, columns: [a, b], fields: [a, b]}, {op: ratio, pairs: [[1, 0]]}]",
     "a|b|b / a|"},
    {"[{op: event_time}, {op: calendar, fields: [year], cyclic: [hour], one_hot: [quarter]}]",
     "year|hour sine|hour cosine|quarter = 1|quarter = 2|quarter = 3|quarter = 4|"},
    {"[{op: csv_fields, columns: [a, b], fields: [a, b], as: x}, {op: csv_fields, columns: [a, b], "
     "fields: [b], as: y}, {op: concat, on: [y, x]}]",
     "b|a|b|"},
    {"[{op: record_fields, dense: [0, 2, f32]}]", "none"},
};

static void numbers_of_a_tensor_have_the_names_of_their_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(NAMED); i++) {
        struct test_chain test = {0};
        WEIR_AUTO_BUF names = {0};
        test_chain_open(&test, NAMED[i].operators);
        (void)preprocess_chain_begin(test.chain);
        const struct column_about *about = &preprocess_chain_output(test.chain, 0)->about;
        for (size_t k = 0; k < about->width && about->elements != NULL; k++)
            weir_buf_printf(&names, "%s|", about->elements[k]);
        weir_buf_append_text(&names, about->elements == NULL ? "none" : "");
        assert_string_equal(weir_buf_text(&names), NAMED[i].names);
        test_chain_close(&test);
    }
}

/* Readers leave the record to each other; it does not leave the chain. */
static const struct {
    const char *operators, *record, *expected; /* NAME=VALUE, … of all tensors */
} SHARED[] = {
    {"[{op: csv_fields, fields: [0]}, {op: csv_fields, fields: [2], as: group}]", "1,x,3\n",
     "features=1 group=3 "},
    {"[{op: json_fields, fields: [a]}, {op: json_fields, fields: [b], as: country}]",
     "{\"a\": 1, \"b\": 2}", "features=1 country=2 "},
    {"[{op: csv_text, field: 1}, {op: csv_fields, fields: [0]}, {op: normalize_text}, "
     "{op: tokenize_words}, {op: tokenize_hash, buckets: 2, as: title}]",
     "1,x,3", "title=1 features=1 "},
    {"[{op: csv_words, fields: [1], as: city}, {op: tokenize_hash, buckets: 2, as: city}, "
     "{op: csv_text, field: 1}, {op: tokenize_words}, {op: tokenize_hash, buckets: 2}, "
     "{op: csv_fields, fields: [2, 0]}]",
     "1,x,3", "city=0 tokens=1 features=3,1 "},
    {"[{op: csv_text, field: 1}, {op: json_fields, on: text, fields: [a]}, {op: csv_fields, on: "
     "payload, fields: [0], as: other}]",
     "7,\"{\"\"a\"\": 5}\"", "features=5 other=7 "},
};

static void print_tensors(struct chain *chain, struct weir_buf *out)
{
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        const struct column *column = preprocess_chain_output(chain, i);
        size_t count = column->values.size / weir_dtype_bytes(column->about.type);
        weir_buf_printf(out, "%s=", column->about.name);
        for (size_t k = 0; k < count; k++)
            weir_buf_printf(out, "%s%g", k > 0 ? "," : "",
                            column->about.type == WEIR_F32
                                ? (double)((const float *)(const void *)column->values.at)[k]
                                : (double)((const int32_t *)(const void *)column->values.at)[k]);
        weir_buf_append_text(out, " ");
    }
}

static void several_operators_read_one_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(SHARED); i++) {
        struct test_chain test = {0};
        WEIR_AUTO_BUF found = {0};
        test_chain_open(&test, SHARED[i].operators);
        struct weir_bytes row = weir_bytes_of(SHARED[i].record);
        for (size_t batch = 0; batch < 2; batch++) { /* columns keep their memory */
            weir_buf_clear(&found);
            test_chain_run(&test, &row, 1);
            print_tensors(test.chain, &found);
            assert_string_equal(weir_buf_text(&found), SHARED[i].expected);
        }
        test_chain_close(&test);
    }
}

/* A record that one reader has to copy is copied for all. */
static void a_record_lies_where_it_is_if_all_its_readers_can_bear_that(void **state)
{
    static const struct {
        const char *operators;
        bool in_place;
    } CASES_OF_PLACE[] = {
        {"[{op: record_fields, dense: [0, 1, f32]}, {op: record_fields, sparse: [4, 1, i32]}]",
         true},
        {"[{op: record_fields, dense: [0, 1, f32]}, {op: json_fields, fields: [a]}]", false},
        {"[{op: record_fields, dense: [0, 1, f32]}, {op: log1p}]", true},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(CASES_OF_PLACE); i++) {
        struct test_chain test = {0};
        test_chain_open(&test, CASES_OF_PLACE[i].operators);
        assert_int_equal(preprocess_chain_reads_in_place(test.chain), CASES_OF_PLACE[i].in_place);
        test_chain_close(&test);
    }
}

static void reasons_never_quote_a_record(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "{op: csv_fields, fields: [0]}");
    struct weir_bytes row = weir_bytes_of("jane@example.org");
    test_chain_run(&test, &row, 1);
    assert_null(strstr(preprocess_chain_cost(test.chain, 0).reason, "jane"));
    test_chain_close(&test);
}

static void a_binary_record_gives_two_tensors(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "{op: record_fields, dense: [4, 2, f32], sparse: [12, 1, i32]}");
    uint8_t record[16] = {0};
    const float dense[] = {1.25f, -2};
    memcpy(record + 4, dense, sizeof(dense));
    weir_put_u32(record + 12, 77);
    struct weir_bytes rows[] = {weir_bytes(record, 16), weir_bytes(record, 15)};
    test_chain_run(&test, rows, 2);
    assert_int_equal(preprocess_chain_outputs(test.chain), 2);
    assert_memory_equal(test_chain_floats(&test, 0), dense, sizeof(dense));
    assert_int_equal(test_chain_ints(&test, 1)[0], 77);
    assert_int_equal(test.failed[0], 0);
    assert_int_equal(test.failed[1], 1);
    test_chain_close(&test);
}

static void casts_clamp_to_what_the_type_can_hold(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: json_fields, fields: [a, b, c]}, {op: cast, to: u8}]");
    struct weir_bytes row = weir_bytes_of("{\"a\": -5, \"b\": 300, \"c\": 7.9}");
    test_chain_run(&test, &row, 1);
    static const uint8_t EXPECTED[] = {0, 255, 7};
    assert_memory_equal(preprocess_chain_output(test.chain, 0)->values.at, EXPECTED, 3);
    test_chain_close(&test);
}

/* Numbers read the short way are those that strtod() reads. */
static void numbers_are_those_of_the_c_library(void **state)
{
    (void)state;
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    for (size_t i = 0; i < 20000; i++) {
        char text[64];
        double value = 0, scale = exp2((double)weir_rng_below(&rng, 80) - 40);
        snprintf(text, sizeof(text), "%.*f", (int)weir_rng_below(&rng, 24),
                 (weir_rng_unit(&rng) - 0.5) * scale);
        assert_true(preprocess_number_read(weir_bytes_of(text), &value));
        if (value != strtod(text, NULL))
            fail_msg("%s is %.17g", text, value);
    }
    double value;
    static const char *const NONE[] = {"", "-", ".", "-.", "1.2.3", "1-", "--1", "1 2", "1e"};
    for (size_t i = 0; i < WEIR_COUNT(NONE); i++)
        assert_false(preprocess_number_read(weir_bytes_of(NONE[i]), &value));
}

/* The vector that torcharrow's own test states for salt 0, 100 buckets. */
static void hashed_ids_are_those_other_systems_make(void **state)
{
    (void)state;
    static const int32_t EXPECTED[] = {6,  60, 54, 54, 9,  4,  91, 11, 67,
                                       79, 2,  25, 92, 98, 83, 66, 2};
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: json_fields, fields: [x]}, {op: cast, to: i64}, "
                           "{op: hash_mod, buckets: 100}]");
    for (int x = 0; x < (int)WEIR_COUNT(EXPECTED); x++) {
        char text[32];
        snprintf(text, sizeof(text), "{\"x\": %d}", x);
        struct weir_bytes row = weir_bytes_of(text);
        test_chain_run(&test, &row, 1);
        assert_int_equal(test_chain_ints(&test, 0)[0], EXPECTED[x]);
    }
    test_chain_close(&test);
}

static void logarithms_of_negative_numbers_are_zero(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: json_fields, fields: [a, b]}, {op: log1p}]");
    struct weir_bytes row = weir_bytes_of("{\"a\": -5, \"b\": 1}");
    test_chain_run(&test, &row, 1);
    assert_true(test_chain_floats(&test, 0)[0] == 0);
    assert_true(fabsf(test_chain_floats(&test, 0)[1] - 0.6931472f) < 1e-6f);
    test_chain_close(&test);
}

static void failed_rows_leave_every_column(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: tokenize_words}, {op: tokenize_hash, buckets: 100}]");
    struct weir_bytes rows[] = {weir_bytes_of("a b"), weir_bytes_of("c"), weir_bytes_of("d e f")};
    test_chain_run(&test, rows, 3);
    struct column *out = preprocess_chain_output(test.chain, 0);
    int32_t first = test_chain_ints(&test, 0)[0], last = test_chain_ints(&test, 0)[5];
    static const uint8_t FLAGS[] = {0, 1, 0};
    preprocess_column_drop_rows(out, 3, FLAGS);
    static const uint32_t EXPECTED[] = {0, 2, 5};
    assert_int_equal(out->offsets.size, sizeof(EXPECTED));
    assert_memory_equal(out->offsets.at, EXPECTED, sizeof(EXPECTED));
    assert_int_equal(out->values.size, 5 * sizeof(int32_t));
    assert_int_equal(test_chain_ints(&test, 0)[0], first);
    assert_int_equal(test_chain_ints(&test, 0)[4], last);
    test_chain_close(&test);
}

static void filtered_samples_are_holes_that_no_longer_fail(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: csv_fields, fields: [0, 1]}, {op: filter, element: 1, min: 2}, "
                           "{op: log1p}]");
    struct weir_bytes rows[] = {weir_bytes_of("9,1"), weir_bytes_of("1,2"), weir_bytes_of("x,0"),
                                weir_bytes_of("1,1e9")};
    test_chain_run(&test, rows, 4);
    static const uint8_t EXPECTED[] = {OPERATOR_ROW_FILTERED, OPERATOR_ROW_OK, OPERATOR_ROW_FAILED,
                                       OPERATOR_ROW_OK};
    assert_memory_equal(test.failed, EXPECTED, sizeof(EXPECTED));
    assert_int_equal(preprocess_chain_cost(test.chain, 0).failed, 1);
    assert_int_equal(preprocess_chain_cost(test.chain, 1).filtered, 1);
    test_chain_close(&test);
}

static void each_operator_takes_what_the_one_before_made(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: csv_fields, fields: [0, 1]}, {op: log1p}, {op: cast, to: f64}]");
    struct weir_bytes rows[] = {weir_bytes_of("9,1"), weir_bytes_of("1,2")};
    for (uint64_t times = 1; times <= 2; times++) {
        test_chain_run(&test, rows, 2);
        assert_int_equal(preprocess_chain_cost(test.chain, 0).taken,
                         times * (6 + 3 * sizeof(uint32_t)));
        assert_int_equal(preprocess_chain_cost(test.chain, 1).taken, times * 2 * 2 * sizeof(float));
        assert_int_equal(preprocess_chain_cost(test.chain, 2).taken,
                         preprocess_chain_cost(test.chain, 1).bytes);
        assert_int_equal(preprocess_chain_cost(test.chain, 2).bytes,
                         times * 2 * 2 * sizeof(double));
    }
    test_chain_close(&test);
}

static void texts_are_filtered_by_their_length(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: tokenize_words}, {op: filter, min: 2, max: 3, invert: true}, "
                           "{op: tokenize_hash, buckets: 9}]");
    struct weir_bytes rows[] = {weir_bytes_of("a"), weir_bytes_of("a b"), weir_bytes_of("a b c d")};
    test_chain_run(&test, rows, 3);
    static const uint8_t EXPECTED[] = {0, OPERATOR_ROW_FILTERED, 0};
    assert_memory_equal(test.failed, EXPECTED, sizeof(EXPECTED));
    test_chain_close(&test);
}

/* The columns after those that were joined move up: what follows must still find its own. */
static void joined_tensors_leave_the_others_in_place(void **state)
{
    (void)state;
    struct test_chain test = {0};
    test_chain_open(&test, "[{op: record_fields, dense: [0, 2, u8], sparse: [2, 1, u8]}, "
                           "{op: concat, on: [sparse, dense], as: both}, {op: cast, to: i32}]");
    struct weir_bytes rows[] = {weir_bytes_of("\1\2\3"), weir_bytes_of("\4\5\6")};
    test_chain_run(&test, rows, 2);
    assert_int_equal(preprocess_chain_outputs(test.chain), 1);
    static const int32_t EXPECTED[] = {3, 1, 2, 6, 4, 5};
    assert_memory_equal(test_chain_ints(&test, 0), EXPECTED, sizeof(EXPECTED));
    assert_string_equal(preprocess_chain_output(test.chain, 0)->about.name, "both");
    test_chain_close(&test);
}

static void a_holiday_is_a_day_of_the_calendar(void **state)
{
    (void)state;
    static const char *const NONE[] = {"02-30",      "2023-02-29", "04-31",
                                       "2024-13-01", "+2-25",      "12-25x"};
    for (size_t i = 0; i < WEIR_COUNT(NONE); i++) {
        struct weir_error err = {0};
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO(chain) chain = NULL;
        WEIR_AUTO_BUF text = {0};
        weir_buf_printf(&text, "[{op: calendar, fields: [holiday], holidays: [%s]}]", NONE[i]);
        assert_int_equal(weir_yaml_parse("t.yaml", weir_buf_view(&text), &document, &err), WEIR_OK);
        if (preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err) != WEIR_INVALID ||
            strstr(err.text, "expected a date such as") == NULL)
            fail_msg("%s: found '%s'", NONE[i], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_give_numbers_or_a_reason),
        cmocka_unit_test(numbers_of_a_tensor_have_the_names_of_their_fields),
        cmocka_unit_test(several_operators_read_one_record),
        cmocka_unit_test(a_record_lies_where_it_is_if_all_its_readers_can_bear_that),
        cmocka_unit_test(reasons_never_quote_a_record),
        cmocka_unit_test(a_binary_record_gives_two_tensors),
        cmocka_unit_test(numbers_are_those_of_the_c_library),
        cmocka_unit_test(casts_clamp_to_what_the_type_can_hold),
        cmocka_unit_test(hashed_ids_are_those_other_systems_make),
        cmocka_unit_test(logarithms_of_negative_numbers_are_zero),
        cmocka_unit_test(failed_rows_leave_every_column),
        cmocka_unit_test(filtered_samples_are_holes_that_no_longer_fail),
        cmocka_unit_test(each_operator_takes_what_the_one_before_made),
        cmocka_unit_test(texts_are_filtered_by_their_length),
        cmocka_unit_test(joined_tensors_leave_the_others_in_place),
        cmocka_unit_test(a_holiday_is_a_day_of_the_calendar),
    };
    return cmocka_run_group_tests_name("field operators", tests, NULL, NULL);
}
