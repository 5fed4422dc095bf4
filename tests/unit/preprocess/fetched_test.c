/* Samples that storage read: asked for in pieces, found in the order of the batch, and an answer of other
 * samples is not taken. */
#include "preprocess/worker/fetched.h"

#include "core/wire/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { REACHABLE, HIDDEN, BATCH = 7 };

static const struct located_sample SAMPLES[] = {
    {.id = 10, .length = 2, .file = HIDDEN},
    {.id = 11, .length = 2, .file = REACHABLE},
    {.id = 12, .length = 2, .file = HIDDEN, .state = WEIR_SAMPLE_ERASED},
    {.id = 13, .length = 3, .file = HIDDEN},
    {.id = 10, .length = 2, .file = HIDDEN}, /* twice in a batch */
};

static enum weir_status take(struct fetched *fetched, const uint64_t *ids, size_t count,
                             const char *payload)
{
    static const uint32_t STATES[] = {WEIR_SAMPLE_LIVE, WEIR_SAMPLE_GONE, WEIR_SAMPLE_LIVE};
    static const uint64_t LENGTHS[] = {2, 0, 2};
    const struct msg_read_is answer = {
        .states = {STATES, count}, .lengths = {LENGTHS, count}, .ids = {ids, count}};
    struct weir_error err;

    return preprocess_fetched_take(fetched, &answer, weir_bytes_of(payload), &err);
}

static void begin(struct fetched *fetched)
{
    *fetched = (struct fetched){0};
    preprocess_fetched_add_file(fetched, HIDDEN);
    const struct kept_rows none = {0};
    preprocess_fetched_begin(fetched, BATCH, SAMPLES, WEIR_COUNT(SAMPLES), &none);
}

static void pieces_are_put_together_in_the_order_of_the_batch(void **state)
{
    static const uint64_t ALL[] = {10, 13, 10};
    uint64_t ids[FETCH_IDS_MAX];
    struct fetched fetched;

    (void)state;
    begin(&fetched);
    assert_int_equal(preprocess_fetched_wanted(&fetched, ids), 3);
    assert_memory_equal(ids, ALL, sizeof(ALL));
    assert_int_equal(take(&fetched, ALL, 2, "ab"), WEIR_OK);
    assert_false(preprocess_fetched_has_batch(&fetched, BATCH));
    assert_int_equal(preprocess_fetched_wanted(&fetched, ids), 1);
    assert_int_equal(take(&fetched, ALL, 1, "cd"), WEIR_OK);
    assert_true(preprocess_fetched_has_batch(&fetched, BATCH));
    assert_false(preprocess_fetched_has_batch(&fetched, BATCH + 1));
    preprocess_fetched_rewind(&fetched);
    assert_memory_equal(fetched.bytes.at + preprocess_fetched_next(&fetched, 10)->offset, "ab", 2);
    assert_int_equal(preprocess_fetched_next(&fetched, 13)->state, WEIR_SAMPLE_GONE);
    assert_memory_equal(fetched.bytes.at + preprocess_fetched_next(&fetched, 10)->offset, "cd", 2);
    assert_null(preprocess_fetched_next(&fetched, 10));
    preprocess_fetched_rewind(&fetched); /* 10 was erased meanwhile: it is not asked for */
    assert_int_equal(preprocess_fetched_next(&fetched, 13)->id, 13);
    preprocess_fetched_fini(&fetched);
}

static void an_answer_of_other_samples_is_refused(void **state)
{
    static const uint64_t OTHER[] = {10, 14};
    static const uint64_t MANY[] = {10, 13, 10, 10};
    struct fetched fetched;

    (void)state;
    begin(&fetched);
    assert_int_equal(take(&fetched, OTHER, 2, "ab"), WEIR_INVALID);
    assert_int_equal(take(&fetched, MANY, 1, "abc"), WEIR_INVALID); /* bytes of nobody */
    assert_int_equal(take(&fetched, MANY, 1, "a"), WEIR_INVALID);   /* bytes missing */
    assert_int_equal(take(&fetched, MANY, 0, ""), WEIR_INVALID);    /* would be asked for ever */
    assert_int_equal(fetched.known, 0);
    preprocess_fetched_fini(&fetched);
}

static void what_storage_refuses_is_gone(void **state)
{
    struct fetched fetched;

    (void)state;
    begin(&fetched);
    preprocess_fetched_give_up(&fetched);
    assert_true(preprocess_fetched_has_batch(&fetched, BATCH));
    assert_int_equal(preprocess_fetched_next(&fetched, 10)->state, WEIR_SAMPLE_GONE);
    preprocess_fetched_drop(&fetched); /* an erasure: nothing of it may be kept */
    assert_false(preprocess_fetched_has_batch(&fetched, BATCH));
    assert_true(preprocess_fetched_has_file(&fetched, HIDDEN));
    preprocess_fetched_fini(&fetched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_put_together_in_the_order_of_the_batch),
        cmocka_unit_test(an_answer_of_other_samples_is_refused),
        cmocka_unit_test(what_storage_refuses_is_gone),
    };
    return cmocka_run_group_tests_name("preprocess: samples that storage read", tests, NULL, NULL);
}
