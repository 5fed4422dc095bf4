/* Fitted state: exact for any split into groups, sealed, and refused when it does not fit (C16). */
#include "tests/support/chain.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/fitted.h"
#include "core/wire/sample.h"
#include "preprocess/plan/fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 200, TEXT_MAX = 80 };

struct rows {
    char text[ROWS][TEXT_MAX];
    struct weir_bytes bytes[ROWS];
};

static void make_rows(struct rows *rows)
{
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(rows->text[i], TEXT_MAX, "{\"a\": %.17g, \"b\": 4}", 1e6 + weir_rng_unit(&rng));
        rows->bytes[i] = weir_bytes_of(rows->text[i]);
    }
}

static const char OPERATORS[] = "[{op: json_fields, fields: [a, b]}, {op: standardize}]";

/* Fits over groups of `group` rows, each folded in batches of `batch`. */
static void fit(struct rows *rows, size_t group, size_t batch, struct weir_buf *fitted)
{
    struct test_chain test = {0};
    struct weir_error err;
    test_chain_open(&test, OPERATORS);
    assert_true(preprocess_chain_wants_fit(test.chain));
    for (size_t first = 0; first < ROWS; first += group) {
        struct chain_partial partial = {0};
        WEIR_AUTO_BUF packed = {0};
        for (size_t i = first; i < first + group && i < ROWS; i += batch) {
            size_t count = i + batch < ROWS ? batch : ROWS - i;
            test_chain_fill(&test, rows->bytes + i, count);
            preprocess_chain_fold(test.chain, &(struct operator_batch){.rows = count}, &partial);
        }
        preprocess_chain_partial_pack(&partial, &packed);
        preprocess_chain_partial_fini(&partial);
        assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_buf_view(&packed), &err),
                         WEIR_OK);
    }
    assert_int_equal(preprocess_chain_fit_finish(test.chain, fitted, &err), WEIR_OK);
    test_chain_close(&test);
}

static void the_same_groups_give_the_same_bits(void **state)
{
    (void)state;
    struct rows *rows = malloc(sizeof(*rows));
    make_rows(rows);
    WEIR_AUTO_BUF one = {0};
    WEIR_AUTO_BUF two = {0};
    fit(rows, 40, 8, &one);
    fit(rows, 40, 8, &two);
    assert_true(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&two)));
    free(rows);
}

static void fitted_numbers_have_mean_zero_and_deviation_one(void **state)
{
    (void)state;
    struct rows *rows = malloc(sizeof(*rows));
    struct test_chain test = {0};
    struct weir_error err;
    WEIR_AUTO_BUF fitted = {0};
    make_rows(rows);
    fit(rows, 64, 16, &fitted);
    test_chain_open(&test, OPERATORS);
    assert_int_equal(preprocess_chain_fit_load(test.chain, weir_buf_view(&fitted), &err), WEIR_OK);
    test_chain_run(&test, rows->bytes, ROWS);
    double sum = 0, squares = 0;
    const float *x = test_chain_floats(&test, 0);
    for (size_t i = 0; i < ROWS; i++) {
        sum += x[2 * i];
        squares += x[2 * i] * x[2 * i];
        assert_true(x[2 * i + 1] == 0); /* never varies: centred, not divided by zero */
    }
    assert_true(fabs(sum / ROWS) < 0.2); /* f32 holds 1e6 + u to one sixteenth */
    assert_true(fabs(squares / ROWS - 1) < 0.1);
    test_chain_close(&test);
    free(rows);
}

static void damaged_or_foreign_state_is_refused(void **state)
{
    (void)state;
    struct rows *rows = malloc(sizeof(*rows));
    struct test_chain test = {0}, other = {0};
    struct weir_error err;
    WEIR_AUTO_BUF fitted = {0};
    make_rows(rows);
    fit(rows, 64, 16, &fitted);
    test_chain_open(&test, OPERATORS);
    test_chain_open(&other, "[{op: json_fields, fields: [a]}, {op: standardize}]");
    assert_int_equal(preprocess_chain_fit_load(other.chain, weir_buf_view(&fitted), &err),
                     WEIR_INVALID);
    assert_int_equal(preprocess_chain_fit_load(test.chain, weir_bytes(fitted.at, 20), &err),
                     WEIR_INVALID);
    fitted.at[50] ^= 1;
    assert_int_equal(preprocess_chain_fit_load(test.chain, weir_buf_view(&fitted), &err),
                     WEIR_CORRUPT);
    test_chain_close(&test);
    test_chain_close(&other);
    free(rows);
}

static void nothing_to_fit_on_is_an_error(void **state)
{
    (void)state;
    struct test_chain test = {0};
    struct weir_error err;
    WEIR_AUTO_BUF fitted = {0};
    test_chain_open(&test, OPERATORS);
    assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_bytes(NULL, 0), &err), WEIR_OK);
    assert_int_equal(preprocess_chain_fit_finish(test.chain, &fitted, &err), WEIR_INVALID);
    assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_bytes("abc", 3), &err),
                     WEIR_INVALID);
    test_chain_close(&test);
}

static void fits_travel_and_stop_at_damage(void **state)
{
    (void)state;
    WEIR_AUTO_BUF packed = {0};
    struct chain_partial folded = {.count = 1}, nothing = {0};
    weir_buf_append_text(&folded.of[0], "xy");
    preprocess_fit_pack(1, 2, 3, &folded, &packed);
    preprocess_fit_pack(4, 5, 6, &nothing, &packed);
    preprocess_chain_partial_fini(&folded);
    struct weir_bytes rest = weir_buf_view(&packed);
    struct preprocess_fit fit_c;
    assert_true(preprocess_fit_take(&rest, &fit_c));
    assert_int_equal(fit_c.fence, 3);
    assert_int_equal(fit_c.partial.size, 10);
    assert_memory_equal(fit_c.partial.at + 8, "xy", 2);
    assert_true(preprocess_fit_take(&rest, &fit_c));
    assert_int_equal(fit_c.group, 5);
    assert_false(preprocess_fit_take(&rest, &fit_c));
    rest = weir_bytes(packed.at, 33); /* says 10 bytes, has 1 */
    assert_false(preprocess_fit_take(&rest, &fit_c));
}

/* Two at once, each on its own column: the same numbers as one after the other would have. */
static void several_operators_are_fitted_in_one_pass(void **state)
{
    (void)state;
    struct test_chain test = {0};
    struct weir_bytes rows[] = {weir_bytes_of("\1\2"), weir_bytes_of("\3\6")};
    test_chain_open(&test, "[{op: record_fields, dense: [0, 1, u8], sparse: [1, 1, u8]}, "
                           "{op: cast, on: dense, to: f32}, {op: cast, on: sparse, to: f64}, "
                           "{op: standardize, on: dense}, {op: standardize, on: sparse}, "
                           "{op: concat, on: [dense, sparse]}]");
    test_chain_fit(&test, rows, 2);
    test_chain_run(&test, rows, 2);
    static const float EXPECTED[] = {-1, -1, 1, 1};
    assert_memory_equal(test_chain_floats(&test, 0), EXPECTED, sizeof(EXPECTED));
    test_chain_close(&test);
}

static void what_is_missing_or_infinite_has_no_part_in_a_fit(void **state)
{
    (void)state;
    struct test_chain test = {0};
    const float numbers[][3] = {
        {1, NAN, NAN}, {NAN, 2, NAN}, {3, INFINITY, NAN}, {-INFINITY, 6, NAN}};
    const float expected[][3] = {
        {-1, NAN, NAN}, {NAN, -1, NAN}, {1, INFINITY, NAN}, {-INFINITY, 1, NAN}};
    struct weir_bytes rows[4];
    for (size_t i = 0; i < WEIR_COUNT(rows); i++)
        rows[i] = weir_bytes(numbers[i], sizeof(numbers[i]));
    test_chain_open(&test, "[{op: record_fields, dense: [0, 3, f32]}, {op: standardize}]");
    test_chain_fit(&test, rows, WEIR_COUNT(rows));
    test_chain_run(&test, rows, WEIR_COUNT(rows));
    for (size_t i = 0; i < WEIR_COUNT(rows) * 3; i++) {
        float found = test_chain_floats(&test, 0)[i], wanted = (&expected[0][0])[i];
        assert_true(isnan(wanted) ? isnan(found) : found == wanted);
    }
    test_chain_close(&test);
}

/* Fits on four labels, two a group. */
static enum weir_status fit_labels(const int64_t labels[4], uint32_t kind, struct weir_bytes base,
                                   struct weir_buf *fitted, struct weir_error *err)
{
    struct test_chain test = {0};
    const struct weir_bytes rows[2] = {weir_bytes_of("ab"), weir_bytes_of("cd")};
    test_chain_open(&test, "[{op: record_fields, dense: [0, 1, u8]}, {op: scale_label}]");
    if (base.size > 0)
        assert_int_equal(preprocess_chain_fit_extend(test.chain, base, err), WEIR_OK);
    for (size_t group = 0; group < 2; group++) {
        struct chain_partial partial = {0};
        WEIR_AUTO_BUF packed = {0};
        const struct operator_batch batch = {
            .rows = 2, .labels = labels + 2 * group, .label_kind = kind};
        test_chain_fill(&test, rows, 2);
        preprocess_chain_fold(test.chain, &batch, &partial);
        preprocess_chain_partial_pack(&partial, &packed);
        preprocess_chain_partial_fini(&partial);
        assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_buf_view(&packed), err),
                         WEIR_OK);
    }
    enum weir_status status = preprocess_chain_fit_finish(test.chain, fitted, err);
    if (status == WEIR_OK)
        assert_int_equal(preprocess_chain_fit_load(test.chain, weir_buf_view(fitted), err),
                         WEIR_OK);
    test_chain_close(&test);
    return status;
}

static void the_scale_of_labels_is_their_mean_and_deviation(void **state)
{
    (void)state;
    struct weir_error err;
    struct weir_label_scale scale;
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF second = {0};
    const int64_t labels[4] = {1, 2, 3, 6}, alike[4] = {5, 5, 5, 5};
    assert_int_equal(fit_labels(labels, WEIR_LABEL_INT, weir_bytes(NULL, 0), &first, &err),
                     WEIR_OK);
    assert_true(weir_fitted_label_scale(weir_buf_view(&first), &scale));
    assert_true(scale.mean == 3 && fabs(scale.deviation - sqrt(3.5)) < 1e-15);
    assert_int_equal(fit_labels(alike, WEIR_LABEL_INT, weir_buf_view(&first), &second, &err),
                     WEIR_OK); /* a model that starts from another one keeps its scale */
    assert_true(weir_bytes_equal(weir_buf_view(&first), weir_buf_view(&second)));
    weir_buf_clear(&second);
    assert_int_equal(fit_labels(alike, WEIR_LABEL_INT, weir_bytes(NULL, 0), &second, &err),
                     WEIR_OK);
    assert_true(weir_fitted_label_scale(weir_buf_view(&second), &scale));
    assert_true(scale.mean == 5 && scale.deviation == 1);
    assert_int_equal(fit_labels(alike, WEIR_LABEL_VALUES, weir_bytes(NULL, 0), &second, &err),
                     WEIR_INVALID);
    assert_string_equal(err.text,
                        "scale_label: found 0 labels that are numbers and 4 that are none, "
                        "expected numbers alone: classes and vectors are not scaled");
}

static void fitted_state_without_a_scale_has_none(void **state)
{
    (void)state;
    struct rows *rows = malloc(sizeof(*rows));
    struct weir_label_scale scale;
    WEIR_AUTO_BUF fitted = {0};
    make_rows(rows);
    fit(rows, 64, 16, &fitted);
    for (size_t size = 0; size <= fitted.size; size++)
        assert_false(weir_fitted_label_scale(weir_bytes(fitted.at, size), &scale));
    free(rows);
}

static void more_numbers_than_a_message_takes_are_refused_with_their_place(void **state)
{
    (void)state;
    static const char WIDE[] =
        "[{op: record_fields, dense: [0, 262144, f32], sparse: [0, 250000, f32]},\n"
        " {op: standardize, on: dense}%s]";
    struct weir_error err;
    for (int i = 0; i < 2; i++) {
        struct weir_yaml *document = NULL;
        struct chain *chain = NULL;
        WEIR_AUTO_FREE char *text =
            weir_format(WIDE, i == 0 ? "" : ",\n {op: standardize, on: sparse}");
        weir_ignore(weir_yaml_parse("test.yaml", weir_bytes_of(text), &document, &err));
        enum weir_status status =
            preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err);
        assert_int_equal(status, i == 0 ? WEIR_OK : WEIR_INVALID);
        preprocess_chain_free(chain);
        weir_yaml_free(document);
    }
    assert_string_equal(err.text,
                        "test.yaml:2:2: preprocess.operators: standardize: 262144 numbers of "
                        "column dense take 10485760 bytes to fit, expected at most 6291456: "
                        "make them fewer first");
}

static void an_event_time_can_be_fitted_whatever_became_of_the_record(void **state)
{
    (void)state;
    struct weir_error err;
    WEIR_AUTO(weir_yaml) document = NULL;
    WEIR_AUTO(chain) chain = NULL;
    assert_int_equal(weir_yaml_parse("test.yaml",
                                     weir_bytes_of("[{op: vocab}, {op: event_time},\n"
                                                   " {op: cast, on: time, to: f32},\n"
                                                   " {op: standardize, on: time}]"),
                                     &document, &err),
                     WEIR_OK);
    enum weir_status status = preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err);
    assert_string_equal(status == WEIR_OK ? "" : err.text, "");
    assert_true(preprocess_chain_reads_times(chain));
}

/* Fits the chain on words, going on from `base` where that is not empty. */
static void fit_words(struct test_chain *test, const char *const *words, size_t count,
                      const struct weir_buf *base, struct weir_buf *fitted)
{
    struct weir_error err;
    struct weir_bytes rows[8];
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    for (size_t i = 0; i < count; i++)
        rows[i] = weir_bytes_of(words[i]);
    if (base->size > 0)
        assert_int_equal(preprocess_chain_fit_extend(test->chain, weir_buf_view(base), &err),
                         WEIR_OK);
    test_chain_fill(test, rows, count);
    preprocess_chain_fold(test->chain, &(struct operator_batch){.rows = count}, &partial);
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    assert_int_equal(preprocess_chain_fit_merge(test->chain, weir_buf_view(&packed), &err),
                     WEIR_OK);
    assert_int_equal(preprocess_chain_fit_finish(test->chain, fitted, &err), WEIR_OK);
    assert_int_equal(preprocess_chain_fit_load(test->chain, weir_buf_view(fitted), &err), WEIR_OK);
}

static void numbers_of_words_are_bounded_by_the_vocabulary_and_by_that_before(void **state)
{
    (void)state;
    static const char WORDS[] = "[{op: csv_text, field: 0}, {op: tokenize_words}, "
                                "{op: vocab, reserved: 3}, {op: pad, length: 4}]";
    static const char *const FIRST[] = {"a b", "c"}, *const SECOND[] = {"a d", "e f"};
    struct test_chain test = {0}, next = {0};
    WEIR_AUTO_BUF none = {0};
    WEIR_AUTO_BUF fitted = {0};
    WEIR_AUTO_BUF again = {0};
    test_chain_open(&test, WORDS);
    assert_int_equal(preprocess_chain_output_below(test.chain, 0), 0); /* not yet */
    fit_words(&test, FIRST, 2, &none, &fitted);
    assert_int_equal(preprocess_chain_output_below(test.chain, 0), 3 + 3);
    assert_int_equal(preprocess_chain_output_below_before(test.chain, 0), 0);
    test_chain_open(&next, WORDS);
    fit_words(&next, SECOND, 2, &fitted, &again);
    assert_int_equal(preprocess_chain_output_below(next.chain, 0), 3 + 6);
    assert_int_equal(preprocess_chain_output_below_before(next.chain, 0), 3 + 3);
    test_chain_close(&test);
    test_chain_close(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_groups_give_the_same_bits),
        cmocka_unit_test(fitted_numbers_have_mean_zero_and_deviation_one),
        cmocka_unit_test(damaged_or_foreign_state_is_refused),
        cmocka_unit_test(nothing_to_fit_on_is_an_error),
        cmocka_unit_test(fits_travel_and_stop_at_damage),
        cmocka_unit_test(several_operators_are_fitted_in_one_pass),
        cmocka_unit_test(what_is_missing_or_infinite_has_no_part_in_a_fit),
        cmocka_unit_test(the_scale_of_labels_is_their_mean_and_deviation),
        cmocka_unit_test(fitted_state_without_a_scale_has_none),
        cmocka_unit_test(more_numbers_than_a_message_takes_are_refused_with_their_place),
        cmocka_unit_test(numbers_of_words_are_bounded_by_the_vocabulary_and_by_that_before),
        cmocka_unit_test(an_event_time_can_be_fitted_whatever_became_of_the_record),
    };
    return cmocka_run_group_tests_name("fitting", tests, NULL, NULL);
}
