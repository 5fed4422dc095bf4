/* Storage's answers about places of samples: each entry belongs to the id it names, or nothing is taken. */
#include "preprocess/worker/located.h"

#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "core/wire/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES = 4, WIDTH = 2 };

static const uint64_t IDS[SAMPLES] = {10, 11, 12, 13};

static struct located begin(void)
{
    struct located located = {.count = SAMPLES, .rank = LOCATED_WHOLE};

    located.samples = weir_calloc(SAMPLES, sizeof(*located.samples));
    located.unknown = weir_calloc(SAMPLES, sizeof(*located.unknown));
    for (size_t i = 0; i < SAMPLES; i++)
        located.samples[i].id = IDS[i];
    preprocess_located_forget(&located);
    return located;
}

/* An answer for `ids` whose labels are twice the ids, whose vectors are (id, -id), and of which the first is `length`
 * bytes long. */
static enum weir_status take_long(struct located *located, const uint64_t *ids, size_t count,
                                  enum weir_dtype type, size_t values_cut, uint64_t length)
{
    static const uint32_t ZEROS[SAMPLES];
    static const uint64_t PLACES[SAMPLES];
    const uint64_t lengths[SAMPLES] = {length};
    static const char *const PATHS[] = {"/a"};
    static const int64_t MTIMES[1];
    int64_t labels[SAMPLES];
    double doubles[SAMPLES * WIDTH];
    float singles[SAMPLES * WIDTH];
    size_t bytes = count * WIDTH * weir_dtype_bytes(type) - values_cut;
    const void *values = type == WEIR_F64 ? (const void *)doubles : singles;
    struct weir_error err;

    for (size_t i = 0; i < count; i++) {
        labels[i] = 2 * (int64_t)ids[i];
        for (size_t k = 0; k < WIDTH; k++) {
            doubles[i * WIDTH + k] = (k == 0 ? 1.0 : -1.0) * (double)ids[i];
            singles[i * WIDTH + k] = (float)doubles[i * WIDTH + k];
        }
    }
    return preprocess_located_take(located,
                                   &(struct msg_located){.states = {ZEROS, count},
                                                         .files = {ZEROS, count},
                                                         .offsets = {PLACES, count},
                                                         .lengths = {lengths, count},
                                                         .labels = {labels, count},
                                                         .paths = {PATHS, 1},
                                                         .devices = {PLACES, 1},
                                                         .inodes = {PLACES, 1},
                                                         .sizes = {PLACES, 1},
                                                         .mtimes = {MTIMES, 1},
                                                         .ids = {ids, count},
                                                         .label_width = WIDTH,
                                                         .value_type = type,
                                                         .label_values = weir_bytes(values, bytes)},
                                   &err);
}

static enum weir_status take(struct located *located, const uint64_t *ids, size_t count,
                             enum weir_dtype type, size_t values_cut)
{
    return take_long(located, ids, count, type, values_cut, 0);
}

static void answers_may_come_in_pieces(void **state)
{
    static const enum weir_dtype TYPES[] = {WEIR_F32, WEIR_F64};

    (void)state;
    for (size_t t = 0; t < WEIR_COUNT(TYPES); t++) {
        struct located located = begin();
        uint64_t ids[LOCATE_IDS_MAX];

        assert_int_equal(take(&located, IDS, 3, TYPES[t], 0), WEIR_OK);
        assert_int_equal(preprocess_located_wanted(&located, ids), 1);
        assert_int_equal(ids[0], IDS[3]);
        assert_int_equal(take(&located, IDS + 3, 1, TYPES[t], 0), WEIR_OK);
        assert_int_equal(preprocess_located_wanted(&located, ids), 0);
        for (size_t i = 0; i < SAMPLES; i++) {
            const float *values = preprocess_located_values(&located, &located.samples[i]);

            assert_int_equal(located.samples[i].label, 2 * IDS[i]);
            assert_true(values[0] == (float)IDS[i] && values[1] == -(float)IDS[i]);
        }
        preprocess_located_fini(&located);
    }
}

static void an_answer_that_names_other_ids_is_refused(void **state)
{
    static const uint64_t SWAPPED[] = {11, 10};
    struct located located = begin();

    (void)state;
    assert_int_equal(take(&located, SWAPPED, 2, WEIR_F32, 0), WEIR_INVALID);
    assert_int_equal(take(&located, IDS + 1, 2, WEIR_F32, 0), WEIR_INVALID);
    assert_int_equal(take(&located, IDS, 0, WEIR_F32, 0), WEIR_INVALID);
    assert_int_equal(located.known, 0);
    preprocess_located_fini(&located);
}

static void no_sample_is_longer_than_a_file_can_be(void **state)
{
    struct located located = begin();

    (void)state;
    assert_int_equal(take_long(&located, IDS, 2, WEIR_F32, 0, LOCATED_LENGTH_MAX + 1),
                     WEIR_INVALID);
    assert_int_equal(take_long(&located, IDS, 2, WEIR_F32, 0, LOCATED_LENGTH_MAX), WEIR_OK);
    assert_true(located.samples[0].length == LOCATED_LENGTH_MAX);
    assert_int_equal(located.samples[0].state, WEIR_SAMPLE_LIVE);
    preprocess_located_fini(&located);
}

static void vectors_that_do_not_fit_their_width_are_refused(void **state)
{
    struct located located = begin();

    (void)state;
    assert_int_equal(take(&located, IDS, 2, WEIR_F32, 1), WEIR_INVALID);
    assert_int_equal(take(&located, IDS, 2, WEIR_I64, 0), WEIR_INVALID);
    assert_int_equal(located.known, 0);
    preprocess_located_fini(&located);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_may_come_in_pieces),
        cmocka_unit_test(an_answer_that_names_other_ids_is_refused),
        cmocka_unit_test(no_sample_is_longer_than_a_file_can_be),
        cmocka_unit_test(vectors_that_do_not_fit_their_width_are_refused),
    };
    return cmocka_run_group_tests_name("worker: located", tests, NULL, NULL);
}
