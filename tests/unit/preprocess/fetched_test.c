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

static const struct located_sample OBJECTS[] = {
    {.id = 20, .length = FETCHED_OBJECT_BYTES_MIN, .file = HIDDEN},
    {.id = 21, .length = FETCHED_OBJECT_BYTES_MIN - 1, .file = HIDDEN},
    {.id = 22, .length = FETCHED_OBJECT_BYTES_MIN, .file = HIDDEN},
    {.id = 23, .length = FETCHED_OBJECT_BYTES_MIN, .file = HIDDEN},
};

static enum weir_status note(struct fetched *fetched, const uint64_t *ids, size_t count,
                             uint32_t samples[FETCH_IDS_MAX])
{
    static const uint32_t GRANTED[] = {1, 0, 1};
    static const uint64_t LENGTHS[] = {FETCHED_OBJECT_BYTES_MIN, 0, FETCHED_OBJECT_BYTES_MIN + 1};
    const struct msg_granted answer = {
        .ids = {ids, count}, .objects = {GRANTED, count}, .lengths = {LENGTHS, count}};
    struct weir_error err;

    return preprocess_fetched_note_grants(fetched, &answer, samples, &err);
}

static void grants_are_asked_for_objects_that_are_long_enough_and_storage_reads_what_is_left(
    void **state)
{
    static const uint64_t LONG[] = {20, 22, 23}, LEFT[] = {21, 22, 23}, OTHER[] = {22};
    static const uint8_t BYTES[FETCHED_OBJECT_BYTES_MIN] = {'o'};
    const struct kept_rows none = {0};
    uint64_t ids[FETCH_IDS_MAX];
    uint32_t samples[FETCH_IDS_MAX];
    struct fetched fetched = {0};

    (void)state;
    preprocess_fetched_add_object(&fetched, HIDDEN);
    preprocess_fetched_begin(&fetched, BATCH, OBJECTS, WEIR_COUNT(OBJECTS), &none);
    assert_int_equal(preprocess_fetched_grantable(&fetched, ids), 3);
    assert_memory_equal(ids, LONG, sizeof(LONG));
    assert_int_equal(note(&fetched, OTHER, 1, samples), WEIR_INVALID);
    assert_int_equal(note(&fetched, LONG, 0, samples), WEIR_INVALID); /* would be asked for ever */
    assert_int_equal(note(&fetched, LONG, 3, samples), WEIR_OK);
    assert_int_equal(samples[0], 0);
    assert_int_equal(samples[1], FETCHED_NONE);
    assert_int_equal(samples[2], FETCHED_NONE); /* of another length than it has */
    assert_int_equal(preprocess_fetched_grantable(&fetched, ids), 0);
    preprocess_fetched_put(&fetched, samples[0], BYTES);
    assert_int_equal(preprocess_fetched_wanted(&fetched, ids), 3);
    assert_memory_equal(ids, LEFT, sizeof(LEFT));
    assert_int_equal(take(&fetched, LEFT, 3, "abcd"), WEIR_OK);
    assert_true(preprocess_fetched_has_batch(&fetched, BATCH));
    assert_int_equal(fetched.bytes.at[preprocess_fetched_next(&fetched, 20)->offset], 'o');
    assert_int_equal(fetched.bytes.at[preprocess_fetched_next(&fetched, 21)->offset], 'a');
    assert_int_equal(fetched.bytes.at[preprocess_fetched_next(&fetched, 23)->offset], 'c');
    preprocess_fetched_fini(&fetched);
}

static void a_batch_asks_for_grants_piece_by_piece_and_for_none_once_it_has_ended_them(void **state)
{
    static const uint64_t LONG[] = {20, 22, 23};
    const struct kept_rows none = {0};
    uint64_t ids[FETCH_IDS_MAX];
    uint32_t samples[FETCH_IDS_MAX];
    struct fetched fetched = {0};

    (void)state;
    preprocess_fetched_add_object(&fetched, HIDDEN);
    preprocess_fetched_begin(&fetched, BATCH, OBJECTS, WEIR_COUNT(OBJECTS), &none);
    assert_int_equal(note(&fetched, LONG, 1, samples), WEIR_OK);
    assert_int_equal(preprocess_fetched_grantable(&fetched, ids), 2);
    assert_int_equal(ids[0], 22);
    preprocess_fetched_end_grants(&fetched);
    assert_int_equal(preprocess_fetched_grantable(&fetched, ids), 0);
    assert_int_equal(preprocess_fetched_wanted(&fetched, ids), 4);
    preprocess_fetched_fini(&fetched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_put_together_in_the_order_of_the_batch),
        cmocka_unit_test(an_answer_of_other_samples_is_refused),
        cmocka_unit_test(what_storage_refuses_is_gone),
        cmocka_unit_test(
            grants_are_asked_for_objects_that_are_long_enough_and_storage_reads_what_is_left),
        cmocka_unit_test(
            a_batch_asks_for_grants_piece_by_piece_and_for_none_once_it_has_ended_them),
    };
    return cmocka_run_group_tests_name("preprocess: samples that storage read", tests, NULL, NULL);
}
