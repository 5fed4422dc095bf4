/* The preprocess section: what is refused, with its place, and what defaults mean. */
#include "preprocess/operators/chain.h"
#include "preprocess/plan/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static enum weir_status read_section(const char *text, struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    enum weir_status status = weir_yaml_parse("p.yaml", weir_bytes_of(text), &document, err);
    struct preprocess_options options;
    if (status == WEIR_OK)
        status = preprocess_options_read(weir_yaml_root(document), &options, err);
    WEIR_AUTO(chain) chain = NULL;
    if (status == WEIR_OK)
        status = preprocess_chain_new(options.operators, NULL, &chain, err);
    return status;
}

static const struct {
    const char *text;
    const char *complaint; /* part of it; NULL: it is fine */
} CASES[] = {
    {"preprocess: {operators: [{op: json_fields, fields: [a]}]}", NULL},
    {"preprocess: {operators: {op: json_fields, fields: a}, batch: {samples: 8}}", NULL},
    {"pipeline: {name: x}", "'operators' is missing"},
    {"preprocess: {operators: []}", "expected 1 to"},
    {"preprocess:\n  operators: [{op: jsonfields}]", "p.yaml:2:"},
    {"preprocess: {operators: [{op: jsonfields}]}", "did you mean json_fields"},
    {"preprocess: {operators: [{fields: [a]}]}", "expected {op: NAME"},
    {"preprocess: {operators: [{op: json_fields, field: [a]}]}", "fields"},
    {"preprocess: {operators: [{op: normalize_text}]}", "expected numbers"},
    {"preprocess: {operators: [{op: tokenize_hash, buckets: 8}]}", "expected a tokens column"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}, {op: standardize}, {op: standardize}]}",
     "made by a fitted operator"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}, {op: cast, to: i32}, {op: standardize}]}",
     "cast it first"},
    {"preprocess: {operators: [{op: record_fields, dense: [4, x, f32]}]}", "[offset, count, type]"},
    {"preprocess: {operators: [{op: record_fields}]}", "nothing to take"},
    {"preprocess: {operators: [{op: csv_fields, fields: [age]}]}", "'age'"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0]}, {op: tokenize_words}]}",
     "found payload (bytes), features (dense f32 x 1): a record that fields were taken of"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0]}, {op: tokenize_words, on: payload}, "
     "{op: tokenize_hash, buckets: 8}]}",
     NULL},
    {"preprocess: {operators: [{op: csv_text, field: 0}, {op: csv_fields, fields: [1]}]}",
     "leaves column 'text'"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0], delimiter: ';;'}]}", "delimiter"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0], fill: x}]}", "csv_fields: fill 'x'"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0], missing: [NA]}]}",
     "missing: found no fill beside it"},
    {"preprocess: {plan: {workers: auto}, operators: [{op: json_fields, fields: [a]}]}", NULL},
    {"preprocess: {plan: {workers: 4}, operators: [{op: json_fields, fields: [a]}]}", NULL},
    {"preprocess: {plan: {workers: {min: 1, max: 8}}, operators: [{op: json_fields, fields: [a]}]}",
     NULL},
    {"preprocess: {plan: {workers: 0}, operators: [{op: json_text, field: a}]}",
     "p.yaml:1:30: preprocess.plan.workers: found '0', expected auto, a number of workers"},
    {"preprocess: {plan: {workers: many}, operators: [{op: json_text, field: a}]}",
     "preprocess.plan.workers: found 'many', expected auto"},
    {"preprocess: {plan: {workers: {min: 9, max: 8}}, operators: [{op: json_text, field: a}]}",
     "preprocess.plan.workers: found min 9 above max 8"},
    {"preprocess: {plan: {workers: {most: 8}}, operators: [{op: json_text, field: a}]}",
     "preprocess.plan.workers"},
    {"preprocess: {workers: 4, operators: [{op: json_text, field: a}]}",
     "p.yaml:1:23: preprocess.workers: found here, expected in preprocess.plan"},
    {"preprocess: {on_error: never, operators: [{op: json_text, field: a}]}",
     "p.yaml:1:24: preprocess.on_error: expected skip, fail, retry, or one of"},
    {"preprocess: {on_error: {skip: 0}, operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {on_error: {skip: 101%}, operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {on_error: {skip: 1%%}, operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {on_error: {fail: 1%}, operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {on_error: {skip: 1%, retry: 1%}, operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {on_error: [skip], operators: [{op: json_text, field: a}]}",
     "preprocess.on_error: expected skip"},
    {"preprocess: {operators: [{op: json_fields, fields: [a], fill: 1e39}]}",
     "expected a number that f32 can hold"},
    {"preprocess: {operators: [{op: json_fields, fields: [a], as: a-name-of-thirty-one-characters}]}",
     NULL},
    {"preprocess: {operators: [{op: json_fields, fields: [a], as: a-name-of-thirty-two--characters}]}",
     "expected 1 to 31 characters"},
    {"preprocess: {operators: [{op: csv_fields, fields: [0], as: ''}]}", "name ''"},
    {"preprocess: {operators: [{op: tokenize_words}, {op: tokenize_hash, buckets: 8}, "
     "{op: pad, length: 4, value: -1}]}",
     NULL},
    {"preprocess: {operators: [{op: tokenize_words}, {op: tokenize_hash, buckets: 8}, "
     "{op: pad, length: 4, value: 1.5}]}",
     "pad: value '1.5', expected one that i32 can hold"},
    {"preprocess: {operators: [{op: tokenize_words}, {op: tokenize_hash, buckets: 8}, "
     "{op: pack, length: 4, value: 3e9}]}",
     "pack: value '3e9', expected one that i32 can hold"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}], batch: {samples: 0}}", "samples"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}], batch: {shuffle: windowed}}",
     "batch.window"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}], batch: {delivery: sometimes}}",
     "delivery"},
    {"preprocess: {operators: [{op: json_fields, fields: [a]}], batches: {}}", "batch"},
};

static void sections_are_checked_with_place_and_expectation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct weir_error err = {0};
        enum weir_status status = read_section(CASES[i].text, &err);
        if (CASES[i].complaint == NULL && status != WEIR_OK)
            fail_msg("%s: %s", CASES[i].text, err.text);
        if (CASES[i].complaint != NULL &&
            (status == WEIR_OK || strstr(err.text, CASES[i].complaint) == NULL))
            fail_msg("%s: found '%s', expected '%s' in it", CASES[i].text, err.text,
                     CASES[i].complaint);
    }
}

static void effective_values_can_be_read_again(void **state)
{
    (void)state;
    const char *text = "preprocess: {operators: [{op: tokenize_words}, {op: tokenize_hash, "
                       "buckets: 64}], batch: {samples: 7, shuffle: none}}";
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF second = {0};
    assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(text), &document, &err), WEIR_OK);
    assert_int_equal(preprocess_options_print(weir_yaml_root(document), &first, &err), WEIR_OK);
    WEIR_AUTO(weir_yaml) again = NULL;
    assert_int_equal(weir_yaml_parse("q.yaml", weir_buf_view(&first), &again, &err), WEIR_OK);
    if (preprocess_options_print(weir_yaml_root(again), &second, &err) != WEIR_OK)
        fail_msg("%s\n%s", err.text, weir_buf_text(&first));
    assert_string_equal(weir_buf_text(&first), weir_buf_text(&second));
    assert_non_null(strstr(weir_buf_text(&first), "samples: 7"));
}

static void a_limit_of_errors_is_a_share_of_one_or_of_a_hundred(void **state)
{
    static const struct {
        const char *text, *printed;
        int action;
        double share;
    } LIMITS[] = {
        {"{}", "{skip: 1%}", CFG_ON_ERROR_SKIP, 0.01},
        {"{on_error: skip}", "skip", CFG_ON_ERROR_SKIP, 1},
        {"{on_error: fail}", "fail", CFG_ON_ERROR_FAIL, 1},
        {"{on_error: retry}", "retry", CFG_ON_ERROR_RETRY, 1},
        {"{on_error: {skip: 0.025}}", "{skip: 2.5%}", CFG_ON_ERROR_SKIP, 0.025},
        {"{on_error: {retry: 5 %}}", "{retry: 5%}", CFG_ON_ERROR_RETRY, 0.05},
        {"{on_error: {skip: 100%}}", "skip", CFG_ON_ERROR_SKIP, 1},
    };
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT(LIMITS); i++) {
        WEIR_AUTO(weir_yaml) document = NULL;
        WEIR_AUTO_BUF printed = {0};
        struct cfg_on_error found;
        struct weir_error err;
        assert_int_equal(weir_yaml_parse("p.yaml", weir_bytes_of(LIMITS[i].text), &document, &err),
                         WEIR_OK);
        assert_int_equal(
            cfg_on_error_read(weir_yaml_get(weir_yaml_root(document), "on_error"), &found, &err),
            WEIR_OK);
        assert_int_equal(found.action, LIMITS[i].action);
        assert_true(found.share > LIMITS[i].share - 1e-9 && found.share < LIMITS[i].share + 1e-9);
        cfg_on_error_print(&found, &printed);
        assert_string_equal(weir_buf_text(&printed), LIMITS[i].printed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_of_errors_is_a_share_of_one_or_of_a_hundred),
        cmocka_unit_test(sections_are_checked_with_place_and_expectation),
        cmocka_unit_test(effective_values_can_be_read_again),
    };
    return cmocka_run_group_tests_name("preprocess options", tests, NULL, NULL);
}
