/* The vocabulary of a set: the same for any number of workers, bounded, and only ever appended to
 * (C16). */
#include "core/wire/wire.h"
#include "tests/support/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { GROUPS_MAX = 8 };

/* Words, one group of rows each; a row is a text. */
static const char *const TEXTS[] = {"b a b", "c", "a b d", "", "e e e e", "b", "f a", "d"};

static void fold_group(struct test_chain *worker, size_t first, size_t end, size_t batch,
                       struct weir_buf *packed)
{
    struct chain_partial partial = {0};
    for (size_t i = first; i < end; i += batch) {
        struct weir_bytes rows[WEIR_COUNT(TEXTS)];
        size_t count = 0;
        while (count < batch && i + count < end) {
            rows[count] = weir_bytes_of(TEXTS[i + count]);
            count++;
        }
        test_chain_fill(worker, rows, count);
        preprocess_chain_fold(worker->chain, &(struct operator_batch){.rows = count}, &partial);
    }
    preprocess_chain_partial_pack(&partial, packed);
    preprocess_chain_partial_fini(&partial);
}

/* Fits on the texts, groups of two folded by `workers` workers in turn; `base` is what it starts
 * from. */
static void fit(const char *operators, size_t workers, struct weir_bytes base,
                struct weir_buf *fitted)
{
    struct weir_error err;
    struct test_chain dispatcher = {0}, worker[GROUPS_MAX] = {0};
    test_chain_open(&dispatcher, operators);
    for (size_t i = 0; i < workers; i++)
        test_chain_open(&worker[i], operators);
    if (base.size > 0)
        assert_int_equal(preprocess_chain_fit_extend(dispatcher.chain, base, &err), WEIR_OK);
    for (size_t group = 0; group < WEIR_COUNT(TEXTS) / 2; group++) {
        WEIR_AUTO_BUF packed = {0};
        fold_group(&worker[group % workers], 2 * group, 2 * group + 2, 1, &packed);
        assert_int_equal(preprocess_chain_fit_merge(dispatcher.chain, weir_buf_view(&packed), &err),
                         WEIR_OK);
    }
    assert_int_equal(preprocess_chain_fit_finish(dispatcher.chain, fitted, &err), WEIR_OK);
    for (size_t i = 0; i < workers; i++)
        test_chain_close(&worker[i]);
    test_chain_close(&dispatcher);
}

/* The numbers that the words of `text` have under `fitted`. */
static void expect_numbers(const char *operators, const struct weir_buf *fitted, const char *text,
                           const int32_t *expected, size_t count)
{
    struct weir_error err;
    struct test_chain test = {0};
    test_chain_open(&test, operators);
    assert_int_equal(preprocess_chain_fit_load(test.chain, weir_buf_view(fitted), &err), WEIR_OK);
    struct weir_bytes row = weir_bytes_of(text);
    test_chain_run(&test, &row, 1);
    assert_int_equal(preprocess_chain_output(test.chain, 0)->values.size, count * sizeof(int32_t));
    for (size_t i = 0; i < count; i++) {
        if (test_chain_ints(&test, 0)[i] != expected[i])
            fail_msg("%s: word %zu of '%s' is %d, expected %d", operators, i, text,
                     test_chain_ints(&test, 0)[i], expected[i]);
    }
    test_chain_close(&test);
}

/* b is there 4 times, e 4, a 3, d 2, c and f once: as collections.Counter.most_common() lists them. */
static void words_are_numbered_by_how_common_they_are(void **state)
{
    (void)state;
    static const char OPERATORS[] = "[{op: tokenize_words}, {op: vocab, size: 5}]";
    static const int32_t EXPECTED[] = {1, 2, 3, 4, 5, 0, 0};
    WEIR_AUTO_BUF fitted = {0};
    fit(OPERATORS, 1, weir_bytes(NULL, 0), &fitted);
    expect_numbers(OPERATORS, &fitted, "b e a d c f z", EXPECTED, WEIR_COUNT(EXPECTED));
}

static void words_are_numbered_by_first_sight_when_asked(void **state)
{
    (void)state;
    static const char OPERATORS[] =
        "[{op: tokenize_words}, {op: vocab, min_count: 2, order: first_seen, reserved: 3}]";
    static const int32_t EXPECTED[] = {3, 4, 0, 5, 6, 0};
    WEIR_AUTO_BUF fitted = {0};
    fit(OPERATORS, 2, weir_bytes(NULL, 0), &fitted);
    expect_numbers(OPERATORS, &fitted, "b a c d e f", EXPECTED, WEIR_COUNT(EXPECTED));
}

static void any_number_of_workers_makes_the_same_vocabulary(void **state)
{
    (void)state;
    static const char OPERATORS[] = "[{op: tokenize_words}, {op: vocab}]";
    WEIR_AUTO_BUF one = {0};
    fit(OPERATORS, 1, weir_bytes(NULL, 0), &one);
    for (size_t workers = 2; workers <= 4; workers++) {
        WEIR_AUTO_BUF many = {0};
        fit(OPERATORS, workers, weir_bytes(NULL, 0), &many);
        assert_true(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&many)));
    }
}

/* The meaning of number 1 for a model stays: new words only follow. */
static void a_vocabulary_that_goes_on_only_appends(void **state)
{
    (void)state;
    static const char FEW[] = "[{op: tokenize_words}, {op: vocab, min_count: 4}]";
    static const char MORE[] = "[{op: tokenize_words}, {op: vocab, min_count: 2}]";
    static const int32_t BEFORE[] = {1, 2, 0, 0, 0}, AFTER[] = {1, 2, 3, 4, 0};
    WEIR_AUTO_BUF base = {0};
    WEIR_AUTO_BUF fitted = {0};
    fit(FEW, 1, weir_bytes(NULL, 0), &base);
    expect_numbers(FEW, &base, "b e a d c", BEFORE, WEIR_COUNT(BEFORE));
    fit(MORE, 1, weir_buf_view(&base), &fitted);
    expect_numbers(MORE, &fitted, "b e a d c", AFTER, WEIR_COUNT(AFTER));
}

static void a_vocabulary_with_other_numbers_is_not_gone_on_from(void **state)
{
    (void)state;
    struct weir_error err;
    struct test_chain test = {0};
    WEIR_AUTO_BUF base = {0};
    fit("[{op: tokenize_words}, {op: vocab}]", 1, weir_bytes(NULL, 0), &base);
    test_chain_open(&test, "[{op: tokenize_words}, {op: vocab, reserved: 9}]");
    assert_int_equal(preprocess_chain_fit_extend(test.chain, weir_buf_view(&base), &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "reserved"));
    test_chain_close(&test);
}

/* Column 0 has 1, 2 and column 1 has 2, 3: number 2 is another entry in each. */
static void each_element_of_a_dense_row_has_its_own_vocabulary(void **state)
{
    (void)state;
    static const char OPERATORS[] =
        "[{op: csv_fields, fields: [0, 1]}, {op: cast, to: i32}, {op: vocab, order: first_seen}]";
    struct test_chain test = {0};
    struct weir_bytes rows[] = {weir_bytes_of("1,3"), weir_bytes_of("2,2"), weir_bytes_of("1,2")};
    static const int32_t EXPECTED[] = {1, 1, 2, 2, 1, 2};
    test_chain_open(&test, OPERATORS);
    test_chain_fit(&test, rows, 3);
    test_chain_run(&test, rows, 3);
    assert_memory_equal(test_chain_ints(&test, 0), EXPECTED, sizeof(EXPECTED));
    test_chain_close(&test);
}

/* A key of 300 bytes is none, and neither fits nor finds. */
static void words_beyond_any_length_are_unknown(void **state)
{
    (void)state;
    static const char OPERATORS[] = "[{op: normalize_text}, {op: vocab}]";
    struct test_chain test = {0};
    char text[300];
    memset(text, 'x', sizeof(text));
    struct weir_bytes rows[] = {weir_bytes(text, sizeof(text)), weir_bytes_of("short")};
    test_chain_open(&test, OPERATORS);
    test_chain_fit(&test, rows, 2);
    test_chain_run(&test, rows, 2);
    static const int32_t EXPECTED[] = {0, 1};
    assert_memory_equal(test_chain_ints(&test, 0), EXPECTED, sizeof(EXPECTED));
    test_chain_close(&test);
}

enum { LONG_WORDS = 40000, LONG_BYTES = 250, LONG_GROUPS = 2 };

/* Words that are all different; a group of them is as much as one message takes. */
static void merge_long_words(struct test_chain *test, size_t group)
{
    struct chain_partial partial = {0};
    struct weir_error err;
    WEIR_AUTO_BUF packed = {0};
    struct column *payload = preprocess_chain_begin(test->chain);
    for (size_t i = 0; i < LONG_WORDS; i++) {
        weir_buf_printf(&payload->values, "%0*zu", LONG_BYTES, group * LONG_WORDS + i);
        preprocess_column_end_row(payload);
    }
    preprocess_chain_fold(test->chain, &(struct operator_batch){.rows = LONG_WORDS}, &partial);
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    assert_in_range(packed.size, 1, WEIR_WIRE_HEADER_MAX - (1 << 20));
    assert_int_equal(preprocess_chain_fit_merge(test->chain, weir_buf_view(&packed), &err),
                     WEIR_OK);
}

static void more_words_than_a_message_takes_are_one_clear_error(void **state)
{
    struct test_chain test = {0};
    struct weir_error err;
    WEIR_AUTO_BUF fitted = {0};
    (void)state;
    test_chain_open(&test, "[{op: normalize_text}, {op: vocab, size: 1000000}]");
    for (size_t group = 0; group < LONG_GROUPS; group++)
        merge_long_words(&test, group);
    assert_int_equal(preprocess_chain_fit_finish(test.chain, &fitted, &err), WEIR_LIMIT);
    assert_non_null(strstr(err.text, "bytes, expected at most 15728640: have less fitted, or a "
                                     "smaller vocabulary"));
    test_chain_close(&test);
}

/* Each of them alone would fill a message with these. */
static void partial_fits_of_several_operators_share_a_message(void **state)
{
    enum { NUMBERS = 700000 };
    struct test_chain test = {0};
    struct weir_error err;
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    (void)state;
    test_chain_open(&test, "[{op: record_fields, dense: [0, 1, i32], sparse: [4, 1, i32]}, "
                           "{op: vocab, on: dense}, {op: vocab, on: sparse}]");
    struct column *payload = preprocess_chain_begin(test.chain);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        weir_buf_append_u32(&payload->values, i);
        weir_buf_append_u32(&payload->values, NUMBERS - i);
        preprocess_column_end_row(payload);
    }
    preprocess_chain_fold(test.chain, &(struct operator_batch){.rows = NUMBERS}, &partial);
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    assert_in_range(packed.size, CHAIN_PARTIAL_BYTES_MAX / 2, CHAIN_PARTIAL_BYTES_MAX + 1000);
    assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_buf_view(&packed), &err), WEIR_OK);
    test_chain_close(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_numbered_by_how_common_they_are),
        cmocka_unit_test(words_are_numbered_by_first_sight_when_asked),
        cmocka_unit_test(any_number_of_workers_makes_the_same_vocabulary),
        cmocka_unit_test(a_vocabulary_that_goes_on_only_appends),
        cmocka_unit_test(a_vocabulary_with_other_numbers_is_not_gone_on_from),
        cmocka_unit_test(each_element_of_a_dense_row_has_its_own_vocabulary),
        cmocka_unit_test(words_beyond_any_length_are_unknown),
        cmocka_unit_test(more_words_than_a_message_takes_are_one_clear_error),
        cmocka_unit_test(partial_fits_of_several_operators_share_a_message),
    };
    return cmocka_run_group_tests_name("vocabulary", tests, NULL, NULL);
}
