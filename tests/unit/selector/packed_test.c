/* Packed scores come back as they were, take little room, and a damaged file is told. */
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "selector/scores/packed.h"
#include "tests/support/temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PACKED(ids_, labels_, values_, count_, width_)                              \
    {                                                                               \
        .ids = (ids_), .labels = (labels_), .values = (values_), .count = (count_), \
        .width = (width_)                                                           \
    }

static void expect_back(struct temp_dir *dir, const struct weir_outputs *outputs)
{
    struct scores_packed packed;
    struct weir_error err;
    assert_int_equal(selector_scores_packed_write(temp_path(dir, "scores"), outputs, &err),
                     WEIR_OK);
    if (selector_scores_packed_open(temp_path(dir, "scores"), &packed, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    assert_int_equal(packed.outputs.count, outputs->count);
    assert_int_equal(packed.outputs.width, outputs->width);
    size_t count = outputs->count;
    if (count > 0) {
        assert_memory_equal(packed.outputs.ids, outputs->ids, count * sizeof(*outputs->ids));
        assert_memory_equal(packed.outputs.labels, outputs->labels,
                            count * sizeof(*outputs->labels));
    }
    if (count * outputs->width > 0)
        assert_memory_equal(packed.outputs.values, outputs->values,
                            count * outputs->width * sizeof(float));
    selector_scores_packed_close(&packed);
}

static void every_score_comes_back_as_it_was(void **state)
{
    (void)state;
    static const uint64_t IDS[] = {0, 1, 127, 128, 65536, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t ALIKE[7] = {-3, -3, -3, -3, -3, -3, -3}, FAR[] = {INT64_MIN, INT64_MAX, 0};
    static const int64_t BYTES[] = {-1, 254}, WORDS[] = {-1, 255}, LONGS[] = {7, 65543, 0};
    static const float VALUES[14] = {0.5F, -0.0F, INFINITY, NAN, 1e-40F};
    static const struct weir_outputs CASES[] = {
        PACKED(IDS, ALIKE, VALUES, 0, 2), PACKED(IDS, ALIKE, VALUES, 7, 2),
        PACKED(IDS, ALIKE, VALUES, 7, 0), PACKED(IDS + 5, FAR, VALUES, 2, 1),
        PACKED(IDS, FAR, VALUES, 3, 1),   PACKED(IDS, BYTES, VALUES, 2, 1),
        PACKED(IDS, WORDS, VALUES, 2, 1), PACKED(IDS, LONGS, VALUES, 3, 3),
    };
    struct temp_dir dir;
    temp_dir_make(&dir);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++)
        expect_back(&dir, &CASES[i]);
    temp_dir_remove(&dir);
}

enum { MANY = 10000 };

/* Loss and norm of neighbours with two classes: 8 bytes of numbers, one of id, one of label. */
static void neighbours_take_ten_bytes_each(void **state)
{
    (void)state;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(MANY, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(MANY, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(MANY, 2 * sizeof(*values));
    struct temp_dir dir;
    struct stat found;
    temp_dir_make(&dir);
    for (size_t i = 0; i < MANY; i++) {
        ids[i] = weir_sample_id(3, 2, 0) + 2 * i;
        labels[i] = (int64_t)(i % 2);
        values[2 * i] = (float)i;
    }
    const struct weir_outputs outputs = PACKED(ids, labels, values, MANY, 2);
    expect_back(&dir, &outputs);
    assert_int_equal(stat(temp_path(&dir, "scores"), &found), 0);
    assert_in_range(found.st_size, 10 * MANY, 10 * MANY + 80);
    temp_dir_remove(&dir);
}

static void a_file_that_is_cut_or_changed_anywhere_is_corrupt(void **state)
{
    (void)state;
    static const uint64_t IDS[] = {5, 9, 70000};
    static const int64_t LABELS[] = {1, 0, 300};
    static const float VALUES[] = {1, 2, 3};
    const struct weir_outputs outputs = PACKED(IDS, LABELS, VALUES, 3, 1);
    struct temp_dir dir;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    temp_dir_make(&dir);
    assert_int_equal(selector_scores_packed_write(temp_path(&dir, "scores"), &outputs, &err),
                     WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(&dir, "scores"), 4096, &bytes, &err), WEIR_OK);
    for (size_t i = 0; i < 2 * bytes.size; i++) {
        struct scores_packed packed;
        bool cut = i >= bytes.size;
        size_t at = i % bytes.size;
        bytes.at[at] ^= cut ? 0 : 1;
        assert_int_equal(weir_file_write_atomic(temp_path(&dir, "damaged"),
                                                weir_bytes(bytes.at, cut ? at : bytes.size), &err),
                         WEIR_OK);
        assert_int_equal(selector_scores_packed_open(temp_path(&dir, "damaged"), &packed, &err),
                         WEIR_CORRUPT);
        bytes.at[at] ^= cut ? 0 : 1;
    }
    temp_dir_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_comes_back_as_it_was),
        cmocka_unit_test(neighbours_take_ten_bytes_each),
        cmocka_unit_test(a_file_that_is_cut_or_changed_anywhere_is_corrupt),
    };
    return cmocka_run_group_tests_name("selector/packed", tests, NULL, NULL);
}
