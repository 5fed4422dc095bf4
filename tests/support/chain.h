/* Runs operators in a test: a chain from YAML, rows from texts. */
#ifndef WEIR_TESTS_SUPPORT_CHAIN_H
#define WEIR_TESTS_SUPPORT_CHAIN_H

#include "preprocess/operators/chain.h"

#include <stdio.h>

struct test_chain {
    struct weir_yaml *document;
    struct chain *chain;
    const uint8_t *failed;
};

/* `operators` is a YAML list. Aborts with the complaint when it cannot be planned. */
static inline void test_chain_open(struct test_chain *test, const char *operators)
{
    struct weir_error err;
    enum weir_status status =
        weir_yaml_parse("test.yaml", weir_bytes_of(operators), &test->document, &err);
    if (status == WEIR_OK)
        status = preprocess_chain_new(weir_yaml_root(test->document), NULL, &test->chain, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s: %s\n", operators, err.text);
    weir_require(status == WEIR_OK);
}

static inline void test_chain_close(struct test_chain *test)
{
    preprocess_chain_free(test->chain);
    weir_yaml_free(test->document);
}

static inline void test_chain_fill(struct test_chain *test, const struct weir_bytes *rows,
                                   size_t count)
{
    struct column *payload = preprocess_chain_begin(test->chain);
    for (size_t i = 0; i < count; i++) {
        weir_buf_append(&payload->values, rows[i].at, rows[i].size);
        preprocess_column_end_row(payload);
    }
}

static inline void test_chain_run(struct test_chain *test, const struct weir_bytes *rows,
                                  size_t count)
{
    test_chain_fill(test, rows, count);
    test->failed = preprocess_chain_run(test->chain, &(struct operator_batch){.rows = count});
}

/* Fits the chain on the rows of the batch alone, and takes the result up. */
static inline void test_chain_fit_batch(struct test_chain *test, const struct weir_bytes *rows,
                                        const struct operator_batch *batch)
{
    struct weir_error err;
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    WEIR_AUTO_BUF fitted = {0};
    test_chain_fill(test, rows, batch->rows);
    preprocess_chain_fold(test->chain, batch, &partial);
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    weir_require(preprocess_chain_fit_merge(test->chain, weir_buf_view(&packed), &err) == WEIR_OK);
    weir_require(preprocess_chain_fit_finish(test->chain, &fitted, &err) == WEIR_OK);
    weir_require(preprocess_chain_fit_load(test->chain, weir_buf_view(&fitted), &err) == WEIR_OK);
}

static inline void test_chain_fit(struct test_chain *test, const struct weir_bytes *rows,
                                  size_t count)
{
    test_chain_fit_batch(test, rows, &(struct operator_batch){.rows = count});
}

static inline const float *test_chain_floats(const struct test_chain *test, size_t output)
{
    return (const float *)(const void *)preprocess_chain_output(test->chain, output)->values.at;
}
static inline const int32_t *test_chain_ints(const struct test_chain *test, size_t output)
{
    return (const int32_t *)(const void *)preprocess_chain_output(test->chain, output)->values.at;
}

#endif
