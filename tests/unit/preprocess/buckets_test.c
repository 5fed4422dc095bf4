/* Batches of samples of like length: the classes that are fitted, and what is made of them: a permutation of
 * each group. */
#include "preprocess/order/buckets.h"
#include "tests/support/chain.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 1000, OF = 32, BATCHES = (SAMPLES + OF - 1) / OF };

static void draw_classes(uint8_t *classes, size_t count, uint64_t seed)
{
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    for (size_t i = 0; i < count; i++)
        classes[i] = (uint8_t)weir_rng_below(&rng, BUCKETS_CLASSES_MAX);
}

static struct buckets group_of(const uint8_t *classes, size_t count, uint64_t key)
{
    return (struct buckets){.classes = classes, .samples = count, .batch_samples = OF, .key = key};
}

static void every_sample_stands_in_one_batch_of_its_group(void **state)
{
    (void)state;
    for (size_t count = 0; count < 200; count += 7) {
        uint8_t classes[SAMPLES], times[SAMPLES] = {0};
        uint32_t places[SAMPLES];
        draw_classes(classes, count, count);
        struct buckets buckets = group_of(classes, count, 5);
        preprocess_buckets_arrange(&buckets, places);
        for (size_t i = 0; i < count; i++) {
            assert_true(places[i] < count);
            times[places[i]]++;
        }
        for (size_t i = 0; i < count; i++)
            assert_int_equal(times[i], 1);
    }
}

static void a_batch_holds_neighbouring_classes_in_the_order_of_the_epoch(void **state)
{
    (void)state;
    uint8_t classes[SAMPLES];
    uint32_t places[SAMPLES];
    size_t classes_of_batches = 0;
    draw_classes(classes, SAMPLES, 3);
    struct buckets buckets = group_of(classes, SAMPLES, 5);
    preprocess_buckets_arrange(&buckets, places);
    for (size_t i = 0; i < SAMPLES; i++) {
        static uint32_t seen;
        seen = i % OF == 0 ? 0 : seen;
        classes_of_batches += (seen & 1u << classes[places[i]]) == 0;
        seen |= 1u << classes[places[i]];
        if (i % OF != 0)
            assert_true(places[i - 1] < places[i]);
    }
    /* each border between two classes falls into one batch at most */
    assert_in_range(classes_of_batches, BATCHES, BATCHES + BUCKETS_CLASSES_MAX - 1);
}

static void which_batch_gets_the_long_ones_is_drawn(void **state)
{
    (void)state;
    uint8_t classes[SAMPLES];
    uint32_t one[SAMPLES], same[SAMPLES], other[SAMPLES];
    draw_classes(classes, SAMPLES, 3);
    struct buckets buckets = group_of(classes, SAMPLES, 5);
    preprocess_buckets_arrange(&buckets, one);
    preprocess_buckets_arrange(&buckets, same);
    buckets.key = 6;
    preprocess_buckets_arrange(&buckets, other);
    assert_memory_equal(one, same, sizeof(one));
    assert_true(memcmp(one, other, sizeof(one)) != 0);
}

/* ---- classes ---- */

/* Row i has i characters and the id 10 * i, but for the last ones, which are far away. */
enum { ROWS = 24, FAR = 20 };

static uint64_t id_of(size_t row)
{
    return row < FAR ? 10 * row : (row << 40) + 10 * row;
}

static void fit(struct test_chain *test, const char *operators, struct weir_buf *fitted)
{
    static const char TEXT[] = "abcdefghijklmnopqrstuvwxyz";
    struct weir_error err;
    struct weir_bytes rows[ROWS];
    uint64_t ids[ROWS];
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    for (size_t i = 0; i < ROWS; i++) {
        size_t row = ROWS - 1 - i; /* in any order */
        ids[i] = id_of(row);
        rows[i] = weir_bytes(TEXT, row);
    }
    test_chain_open(test, operators);
    test_chain_fill(test, rows, ROWS);
    preprocess_chain_fold(test->chain, &(struct operator_batch){.rows = ROWS, .ids = ids},
                          &partial);
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    assert_int_equal(preprocess_chain_fit_merge(test->chain, weir_buf_view(&packed), &err),
                     WEIR_OK);
    assert_int_equal(preprocess_chain_fit_merge(test->chain, weir_buf_view(&packed), &err),
                     WEIR_OK);
    assert_int_equal(preprocess_chain_fit_finish(test->chain, fitted, &err), WEIR_OK);
    assert_int_equal(preprocess_chain_fit_load(test->chain, weir_buf_view(fitted), &err), WEIR_OK);
}

#define BEHIND                                                           \
    ", {op: normalize_text}, {op: tokenize_words}, {op: tokenize_hash, " \
    "buckets: 9}]"

static void a_class_ends_with_its_border(void **state)
{
    (void)state;
    struct test_chain test = {0};
    WEIR_AUTO_BUF fitted = {0};
    uint64_t ids[2 * ROWS];
    uint8_t classes[2 * ROWS];
    fit(&test, "[{op: bucket_by_length, on: payload, borders: [3, 12]}" BEHIND, &fitted);
    assert_true(preprocess_chain_has_classes(test.chain));
    for (size_t i = 0; i < ROWS; i++) {
        ids[2 * i] = id_of(i);
        ids[2 * i + 1] = id_of(i) + 1; /* seen by nobody */
    }
    preprocess_chain_classify(test.chain, ids, 2 * ROWS, classes);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(classes[2 * i], (i > 3) + (i > 12));
        assert_int_equal(classes[2 * i + 1], 0);
    }
    test_chain_close(&test);
}

static void fitted_classes_hold_equally_much(void **state)
{
    (void)state;
    struct test_chain test = {0};
    WEIR_AUTO_BUF fitted = {0};
    uint64_t ids[ROWS], sums[BUCKETS_CLASSES_MAX] = {0}, total = ROWS * (ROWS - 1) / 2;
    uint8_t classes[ROWS];
    fit(&test, "[{op: bucket_by_length, on: payload, classes: 4}" BEHIND, &fitted);
    for (size_t i = 0; i < ROWS; i++)
        ids[i] = id_of(i);
    preprocess_chain_classify(test.chain, ids, ROWS, classes);
    for (size_t i = 0; i < ROWS; i++)
        sums[classes[i]] += i;
    for (size_t i = 0; i < 4; i++)
        assert_in_range(sums[i], total / 4 - ROWS, total / 4 + ROWS);
    test_chain_close(&test);
}

static void damaged_classes_are_refused(void **state)
{
    (void)state;
    struct weir_error err;
    const struct preprocess_operator *op = operator_find("bucket_by_length");
    static const uint8_t TOO_MANY_BORDERS[16] = {16};
    static const uint8_t TOO_MANY_SAMPLES[17] = {[8] = 2, [16] = 0x11};
    static const uint8_t WITHOUT_END[18] = {[8] = 1, [16] = 0x10, [17] = 0x80};
    static const uint8_t WITH_MORE[18] = {[8] = 1, [16] = 0x11};
    const struct weir_bytes DAMAGED[] = {
        weir_bytes(NULL, 0),
        weir_bytes(TOO_MANY_BORDERS, sizeof(TOO_MANY_BORDERS)),
        weir_bytes(TOO_MANY_SAMPLES, sizeof(TOO_MANY_SAMPLES)),
        weir_bytes(WITHOUT_END, sizeof(WITHOUT_END)),
        weir_bytes(WITH_MORE, sizeof(WITH_MORE)),
    };
    WEIR_AUTO_FREE void *owner = weir_calloc(1, op->state_size);
    for (size_t i = 0; i < WEIR_COUNT(DAMAGED); i++)
        assert_int_equal(op->fit->load(owner, DAMAGED[i], &err), WEIR_INVALID);
    assert_int_equal(op->fit->merge(owner, weir_bytes(WITH_MORE, 17), &err), WEIR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_stands_in_one_batch_of_its_group),
        cmocka_unit_test(a_batch_holds_neighbouring_classes_in_the_order_of_the_epoch),
        cmocka_unit_test(which_batch_gets_the_long_ones_is_drawn),
        cmocka_unit_test(a_class_ends_with_its_border),
        cmocka_unit_test(fitted_classes_hold_equally_much),
        cmocka_unit_test(damaged_classes_are_refused),
    };
    return cmocka_run_group_tests_name("buckets", tests, NULL, NULL);
}
