/* Target encodings: the same for any number of workers, from numbers alone, bounded, and refused when they do not fit
 * (C16). Their numbers are compared with others' in tests/contract/target_encode_numpy_test.py. */
#include "core/wire/sample.h"
#include "preprocess/operators/target_sums.h"
#include "tests/support/chain.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 60, GROUP = 20 };
static const char OPERATORS[] = "[{op: target_encode, folds: 3}]";

/* Row i is the text of i % 7, with id i and label i. */
struct rows {
    char text[ROWS][8];
    struct weir_bytes bytes[ROWS];
    uint64_t ids[ROWS];
    int64_t labels[ROWS];
};

static void make_rows(struct rows *rows)
{
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(rows->text[i], sizeof(rows->text[i]), "c%zu", i % 7);
        rows->bytes[i] = weir_bytes_of(rows->text[i]);
        rows->ids[i] = i;
        rows->labels[i] = (int64_t)i;
    }
}

static struct operator_batch batch_of(const struct rows *rows, size_t first, size_t count)
{
    return (struct operator_batch){.rows = count,
                                   .ids = rows->ids + first,
                                   .labels = rows->labels + first,
                                   .label_kind = WEIR_LABEL_INT};
}

static void fold_group(struct test_chain *worker, const struct rows *rows, size_t first,
                       size_t batch_rows, struct weir_buf *packed)
{
    struct chain_partial partial = {0};
    for (size_t i = first; i < first + GROUP; i += batch_rows) {
        struct operator_batch batch = batch_of(rows, i, batch_rows);
        test_chain_fill(worker, rows->bytes + i, batch_rows);
        preprocess_chain_fold(worker->chain, &batch, &partial);
    }
    preprocess_chain_partial_pack(&partial, packed);
    preprocess_chain_partial_fini(&partial);
}

/* Fits on all groups, folded by `workers` workers in turn, in batches of `batch_rows`. */
static enum weir_status fit(const struct rows *rows, size_t workers, size_t batch_rows,
                            struct weir_buf *fitted, struct weir_error *err)
{
    struct test_chain dispatcher = {0}, worker[3] = {0};
    test_chain_open(&dispatcher, OPERATORS);
    for (size_t i = 0; i < workers; i++)
        test_chain_open(&worker[i], OPERATORS);
    for (size_t group = 0; group < ROWS / GROUP; group++) {
        WEIR_AUTO_BUF packed = {0};
        fold_group(&worker[group % workers], rows, group * GROUP, batch_rows, &packed);
        assert_int_equal(preprocess_chain_fit_merge(dispatcher.chain, weir_buf_view(&packed), err),
                         WEIR_OK);
    }
    enum weir_status status = preprocess_chain_fit_finish(dispatcher.chain, fitted, err);
    for (size_t i = 0; i < workers; i++)
        test_chain_close(&worker[i]);
    test_chain_close(&dispatcher);
    return status;
}

static void any_workers_and_batches_give_the_same_bits(void **state)
{
    (void)state;
    struct rows rows;
    struct weir_error err;
    WEIR_AUTO_BUF one = {0};
    make_rows(&rows);
    assert_int_equal(fit(&rows, 1, GROUP, &one, &err), WEIR_OK);
    for (size_t workers = 1; workers <= 3; workers++) {
        WEIR_AUTO_BUF other = {0};
        assert_int_equal(fit(&rows, workers, 5, &other, &err), WEIR_OK);
        assert_true(weir_bytes_equal(weir_buf_view(&one), weir_buf_view(&other)));
    }
}

static void labels_that_are_no_numbers_are_an_error(void **state)
{
    (void)state;
    const struct {
        uint32_t kind;
        int64_t label;
        bool is_good;
    } cases[] = {{WEIR_LABEL_INT, -7, true},   {WEIR_LABEL_CLASS, 1, true},
                 {WEIR_LABEL_CLASS, 2, false}, {WEIR_LABEL_VALUES, 0, false},
                 {WEIR_LABEL_NONE, 0, false},  {WEIR_LABEL_FLOAT, 0x7ff0000000000000, false}};
    for (size_t i = 0; i < WEIR_COUNT(cases); i++) {
        struct test_chain test = {0};
        struct weir_error err;
        struct chain_partial partial = {0};
        WEIR_AUTO_BUF packed = {0};
        WEIR_AUTO_BUF fitted = {0};
        struct weir_bytes row = weir_bytes_of("a");
        const struct operator_batch batch = {
            .rows = 1, .labels = &cases[i].label, .label_kind = cases[i].kind};
        test_chain_open(&test, OPERATORS);
        test_chain_fill(&test, &row, 1);
        preprocess_chain_fold(test.chain, &batch, &partial);
        preprocess_chain_partial_pack(&partial, &packed);
        preprocess_chain_partial_fini(&partial);
        assert_int_equal(preprocess_chain_fit_merge(test.chain, weir_buf_view(&packed), &err),
                         WEIR_OK);
        enum weir_status status = preprocess_chain_fit_finish(test.chain, &fitted, &err);
        assert_int_equal(status, cases[i].is_good ? WEIR_OK : WEIR_INVALID);
        if (!cases[i].is_good)
            assert_string_equal(err.text,
                                "target_encode: found 1 labels that are no numbers, expected "
                                "numbers, or the names of two classes");
        test_chain_close(&test);
    }
}

/* Takes sums of 2 folds and 1 column; their bytes are all of `bytes`. */
static bool takes(struct weir_bytes bytes)
{
    struct target_sums sums = {.folds = 2, .columns = 1};
    bool is_taken = preprocess_target_sums_take(&sums, bytes);
    assert_true(is_taken || preprocess_vocabulary_size(&sums.categories) == 0);
    preprocess_target_sums_fini(&sums);
    return is_taken;
}

static void sums_are_whole_or_refused(void **state)
{
    (void)state;
    struct target_sums sums = {.folds = 2, .columns = 1}, other = {.folds = 2, .columns = 2};
    WEIR_AUTO_BUF packed = {0};
    WEIR_AUTO_BUF foreign = {0};
    preprocess_target_sums_of(&sums, 0, weir_bytes_of("a"), SIZE_MAX)[1].count = 4;
    preprocess_target_sums_of(&other, 1, weir_bytes_of("a"), SIZE_MAX)[1].count = 4;
    preprocess_target_sums_pack(&sums, &packed);
    preprocess_target_sums_pack(&other, &foreign);
    assert_true(takes(weir_buf_view(&packed)));
    assert_false(takes(weir_buf_view(&foreign))); /* of a column that there is not */
    for (size_t size = 0; size < packed.size; size++)
        assert_false(takes(weir_bytes(packed.at, size)));
    weir_buf_append_u64(&packed, 0);
    assert_false(takes(weir_buf_view(&packed)));
    preprocess_target_sums_fini(&sums);
    preprocess_target_sums_fini(&other);
}

static void what_has_no_room_is_encoded_as_what_was_never_seen(void **state)
{
    (void)state;
    struct target_sums sums = {.folds = 2, .columns = 1};
    uint8_t endless[VOCABULARY_KEY_MAX + 1] = {0};
    assert_null(
        preprocess_target_sums_of(&sums, 0, weir_bytes(endless, sizeof(endless)), SIZE_MAX));
    assert_null(preprocess_target_sums_of(&sums, 0, weir_bytes_of("a"), 32));
    assert_non_null(preprocess_target_sums_of(&sums, 0, weir_bytes_of("a"), 64));
    assert_null(preprocess_target_sums_of(&sums, 0, weir_bytes_of("b"), 64));
    sums.all[0] = (struct target_sum){.sum = 6, .count = 3};
    sums.all[1] = (struct target_sum){.sum = 2, .count = 1};
    float to[2][3]; /* of a, and of none: without the first fold, without the second, by both */
    struct target_sum *a = preprocess_target_sums_of(&sums, 0, weir_bytes_of("a"), 64);
    a[0] = (struct target_sum){.sum = 9, .count = 1};
    preprocess_target_encodings(&sums, 1, &to[0][0]);
    assert_true(to[0][0] == 2); /* no other fold knows it */
    assert_true(to[0][1] == (9 + 2) / 2.0F);
    assert_true(to[0][2] == (9 + 2) / 2.0F);
    for (size_t fold = 0; fold < 3; fold++)
        assert_true(to[1][fold] == 2);
    preprocess_target_sums_fini(&sums);
}

static void words_that_may_be_more_or_fewer_are_refused(void **state)
{
    (void)state;
    struct weir_yaml *document = NULL;
    struct chain *chain = NULL;
    struct weir_error err;
    assert_int_equal(weir_yaml_parse("test.yaml",
                                     weir_bytes_of("[{op: csv_words, fields: [0]}, "
                                                   "{op: target_encode}]"),
                                     &document, &err),
                     WEIR_OK);
    assert_int_equal(preprocess_chain_new(weir_yaml_root(document), NULL, &chain, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "json_words with keep_empty: true"));
    weir_yaml_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_workers_and_batches_give_the_same_bits),
        cmocka_unit_test(labels_that_are_no_numbers_are_an_error),
        cmocka_unit_test(sums_are_whole_or_refused),
        cmocka_unit_test(what_has_no_room_is_encoded_as_what_was_never_seen),
        cmocka_unit_test(words_that_may_be_more_or_fewer_are_refused),
    };
    return cmocka_run_group_tests_name("target_encode", tests, NULL, NULL);
}
