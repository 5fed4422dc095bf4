/* Delivery of a set with epoch parts: in each epoch its part, and nothing else. How it
 * is cut into groups. */
#include "preprocess/plan/fingerprint.h"

#include "core/base/memory.h"
#include "core/wire/position.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 9, EPOCHS = 3, PART = 4 };

static const uint64_t IDS[COUNT] = {3, 5, 8, 13, 21, 34, 55, 89, 144};
static const uint32_t INDICES[EPOCHS * PART] = {0, 2, 4, 6, 1, 3, 5, 8, 2, 3, 7, 8};

static struct temp_dir dir;
static char path[512];
static char digest[WEIR_DIGEST_TEXT_MAX];

static int seal(void **state)
{
    struct weir_error err;
    struct weir_digest sealed;
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    (void)state;
    temp_dir_make(&dir);
    (void)snprintf(path, sizeof(path), "%s", temp_path(&dir, "a.set"));
    assert_int_equal(weir_sample_set_begin(path, COUNT, NULL, &writer, &err), WEIR_OK);
    weir_sample_set_divide(writer, &(struct weir_epoch_parts){INDICES, PART, EPOCHS});
    assert_int_equal(weir_sample_set_add(writer, IDS, COUNT, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_finish(writer, &sealed, &err), WEIR_OK);
    assert_int_equal(weir_sample_set_publish(writer, path, &err), WEIR_OK);
    weir_digest_text(&sealed, digest);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

static enum weir_status open_plan(const char *batch, const char *mode, uint32_t epochs,
                                  struct preprocess_plan *ret_plan, struct weir_error *err)
{
    WEIR_AUTO_FREE char *config = weir_format(
        "preprocess:\n  operators: [{op: json_fields, fields: [a]}]\n  batch: %s\n", batch);
    const struct preprocess_order_form form = {
        .file = "p.yaml",
        .config = weir_bytes_of(config),
        .set_path = path,
        .set_digest = digest,
        .epochs = epochs,
        .seed = 7,
        .mode = mode,
        .ranks = 2,
    };
    return preprocess_plan_open(&form, ret_plan, err);
}

/* Added up in pieces, however small. */
static uint64_t sum_behind(const struct preprocess_plan *plan, const struct weir_position *position)
{
    struct preprocess_sum sum = {0}, whole = {0};
    while (!preprocess_sum_step(&sum, plan, position, 1))
        continue;
    assert_true(preprocess_sum_step(&whole, plan, position, 1000));
    assert_int_equal(sum.value, whole.value);
    return sum.value;
}

/* Goes through all slices of all batches as workers do. */
static void expect_parts(const char *batch, uint64_t positions, unsigned most_times)
{
    struct preprocess_plan plan;
    struct weir_error err;
    uint64_t sum = 0;
    assert_int_equal(open_plan(batch, "train", EPOCHS, &plan, &err), WEIR_OK);
    assert_int_equal(preprocess_epoch_positions(&plan.geometry), positions);
    unsigned times[EPOCHS][COUNT] = {0};
    for (uint64_t n = 0; n < preprocess_batches(&plan.geometry) * 2; n++) {
        uint32_t epoch = preprocess_epoch_of(&plan.geometry, n / 2);
        struct preprocess_range slice = preprocess_slice(&plan.geometry, n / 2, n % 2);
        for (uint64_t p = slice.first; p < slice.first + slice.count; p++) {
            uint64_t index = preprocess_plan_index(&plan, epoch, p);
            times[epoch][index]++;
            sum += weir_fingerprint(plan.set.ids[index], epoch);
        }
    }
    assert_int_equal(sum_behind(&plan, NULL), sum);
    for (size_t epoch = 0; epoch < EPOCHS; epoch++) {
        unsigned all = 0, of_part = 0;
        for (size_t i = 0; i < COUNT; i++)
            all += times[epoch][i];
        for (size_t n = 0; n < PART; n++) {
            of_part += times[epoch][INDICES[epoch * PART + n]];
            assert_in_range(times[epoch][INDICES[epoch * PART + n]], positions >= PART, most_times);
        }
        assert_int_equal(all, positions);
        assert_int_equal(of_part, positions);
    }
    preprocess_plan_close(&plan);
}

static void each_epoch_has_its_part(void **state)
{
    (void)state;
    expect_parts("{samples: 3, last: short}", 4, 1);
    expect_parts("{samples: 3, last: short, shuffle: none}", 4, 1);
    expect_parts("{samples: 3, last: short, shuffle: windowed, window: 2}", 4, 1);
    expect_parts("{samples: 3, last: drop}", 3, 1);
    expect_parts("{samples: 3, last: repeat}", 6, 2);
}

static void what_is_left_behind_a_position_closes_the_audit(void **state)
{
    static const uint64_t CONSUMED[] = {0, 1, 2, 4}; /* the first epoch, and some of the next two */
    struct preprocess_plan plan;
    struct weir_error err;
    struct weir_position position = {0};
    uint64_t sum = 0;
    (void)state;
    assert_int_equal(open_plan("{samples: 3}", "train", EPOCHS, &plan, &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(CONSUMED); i++) {
        uint64_t batch = CONSUMED[i];
        weir_position_consume(&position, batch);
        struct preprocess_range whole = preprocess_positions(&plan.geometry, batch);
        uint32_t epoch = preprocess_epoch_of(&plan.geometry, batch);
        for (uint64_t p = whole.first; p < whole.first + whole.count; p++)
            sum += weir_fingerprint(IDS[preprocess_plan_index(&plan, epoch, p)], epoch);
    }
    assert_int_equal(sum + sum_behind(&plan, &position), sum_behind(&plan, NULL));
    weir_position_fini(&position);
    preprocess_plan_close(&plan);
}

static void whoever_does_not_train_gets_all_of_them(void **state)
{
    struct preprocess_plan plan;
    struct weir_error err;
    (void)state;
    assert_int_equal(open_plan("{samples: 3}", "score", 1, &plan, &err), WEIR_OK);
    assert_int_equal(preprocess_epoch_positions(&plan.geometry), COUNT);
    for (uint64_t p = 0; p < COUNT; p++)
        assert_int_equal(preprocess_plan_index(&plan, 0, p), p);
    preprocess_plan_close(&plan);
}

static void another_number_of_epochs_is_refused(void **state)
{
    struct preprocess_plan plan;
    struct weir_error err;
    (void)state;
    assert_int_equal(open_plan("{samples: 3}", "train", EPOCHS + 1, &plan, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "training.epochs: found 4, expected 3"));
}

/* Of the chosen size, when two samples are a batch, and eight thousand the set. */
static uint32_t group_of(const char *operators)
{
    enum { MANY = 8000 };
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(MANY, sizeof(*ids));
    WEIR_AUTO_FREE char *config =
        weir_format("preprocess: {operators: %s, batch: {samples: 2}}\n", operators);
    struct weir_digest sealed;
    struct preprocess_plan plan;
    struct weir_error err;
    for (size_t i = 0; i < MANY; i++)
        ids[i] = i;
    assert_int_equal(weir_sample_set_write(path, ids, NULL, MANY, &sealed, &err), WEIR_OK);
    weir_digest_text(&sealed, digest);
    const struct preprocess_order_form form = {.file = "p.yaml",
                                               .config = weir_bytes_of(config),
                                               .set_path = path,
                                               .set_digest = digest,
                                               .epochs = 1,
                                               .mode = "train"};
    assert_int_equal(preprocess_plan_open(&form, &plan, &err), WEIR_OK);
    uint32_t group = plan.geometry.group_batches;
    preprocess_plan_close(&plan);
    return group;
}

static void groups_of_large_batches_are_short(void **state)
{
    (void)state;
    assert_int_equal(group_of("[{op: json_fields, fields: [a]}]"), PREPROCESS_GROUP_BATCHES_MAX);
    assert_int_equal(group_of("[{op: decode_jpeg}, {op: center_crop, size: 512}]"),
                     PREPROCESS_GROUP_BYTES / (2 * 3 * 512 * 512));
    assert_int_equal(group_of("[{op: decode_jpeg}, {op: center_crop, size: 512}, {op: normalize}]"),
                     1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, seal, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(each_epoch_has_its_part),
        TEST(what_is_left_behind_a_position_closes_the_audit),
        TEST(whoever_does_not_train_gets_all_of_them),
        TEST(another_number_of_epochs_is_refused),
        TEST(groups_of_large_batches_are_short),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
