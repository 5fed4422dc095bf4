/* Deltas of models: every bit comes back, whatever the two files are; a damaged delta, or another base, is told. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/model_file.h"
#include "orchestrator/models/delta.h"
#include "orchestrator/models/planes.h"
#include "tests/support/temp_dir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES_MAX = 64 << 20 };

static struct temp_dir dir;

static int make_dir(void **state)
{
    (void)state;
    temp_dir_make(&dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    temp_dir_remove(&dir);
    return 0;
}

/* `size` bytes of noise, or of the base with every 50th byte changed. */
static void fill(struct weir_rng *rng, const struct weir_buf *base, size_t size,
                 struct weir_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t noise = (uint8_t)weir_rng_below(rng, 256);
        bool keep = base != NULL && i < base->size && i % 50 != 0;
        weir_buf_append(out, keep ? base->at + i : &noise, 1);
    }
}

static void make_delta(const struct weir_buf *model, const struct weir_buf *base,
                       struct weir_buf *delta)
{
    struct weir_error err;
    struct model_delta_written written;
    assert_int_equal(orchestrator_model_delta_write(temp_path(&dir, "delta"), weir_buf_view(model),
                                                    weir_buf_view(base), &written, &err),
                     WEIR_OK);
    weir_buf_clear(delta);
    assert_int_equal(weir_file_read(temp_path(&dir, "delta"), BYTES_MAX, delta, &err), WEIR_OK);
    assert_int_equal(delta->size, written.bytes);
    const struct weir_digest digest = weir_digest_of(weir_buf_view(model));
    assert_memory_equal(written.model.bytes, digest.bytes, sizeof(digest.bytes));
}

static void assert_comes_back(const struct weir_buf *model, const struct weir_buf *base,
                              const struct weir_buf *delta)
{
    struct weir_error err;
    WEIR_AUTO_BUF back = {0};
    assert_int_equal(orchestrator_model_delta_apply(weir_buf_view(delta), weir_buf_view(base),
                                                    model->size, &back, &err),
                     WEIR_OK);
    assert_true(weir_bytes_equal(weir_buf_view(&back), weir_buf_view(model)));
}

static void every_bit_of_any_two_files_comes_back(void **unused)
{
    (void)unused;
    static const size_t SIZES[][2] = {
        {0, 0},
        {1, 0},
        {0, 9},
        {3, 3},
        {4, 5},
        {1000, 1},
        {MODEL_BLOCK_BYTES, MODEL_BLOCK_BYTES},
        {MODEL_BLOCK_BYTES + 1, MODEL_BLOCK_BYTES - 1},
        {20 * MODEL_BLOCK_BYTES + 7, MODEL_BLOCK_BYTES},
        {MODEL_BLOCK_BYTES - 2, (size_t)3 * MODEL_BLOCK_BYTES},
    };
    struct weir_rng rng;
    weir_rng_init(&rng, 1);
    for (size_t i = 0; i < WEIR_COUNT(SIZES); i++) {
        for (int alike = 0; alike < 2; alike++) {
            WEIR_AUTO_BUF base = {0};
            WEIR_AUTO_BUF model = {0};
            WEIR_AUTO_BUF delta = {0};
            fill(&rng, NULL, SIZES[i][1], &base);
            fill(&rng, alike ? &base : NULL, SIZES[i][0], &model);
            make_delta(&model, &base, &delta);
            assert_comes_back(&model, &base, &delta);
        }
    }
}

/* A model of `rows` rows of 16 floats, each moved by up to `step`, with words as its fitted state. */
static void make_model(const float *from, size_t rows, float step, const char *fitted,
                       struct weir_buf *out)
{
    struct weir_error err;
    struct weir_rng rng;
    weir_rng_init(&rng, rows);
    WEIR_AUTO_FREE float *parameters = weir_calloc(rows * 16, sizeof(*parameters));
    WEIR_AUTO_FREE float *state = weir_calloc(rows * 16, sizeof(*state));
    for (size_t i = 0; i < rows * 16; i++) {
        float noise = (float)weir_rng_unit(&rng) - 0.5F;
        parameters[i] = from == NULL ? noise : from[i % 16000] * (1 + step * noise);
        state[i] = 1 + step;
    }
    struct weir_model_file file = {.model = "linear",
                                   .options = "bias: true\n",
                                   .loss = "softmax",
                                   .optimizer = "adagrad",
                                   .rows = rows,
                                   .width = 16,
                                   .fitted = weir_bytes_of(fitted),
                                   .parameters = parameters,
                                   .optimizer_state = state,
                                   .state_blocks = 1};
    assert_int_equal(weir_model_file_write(temp_path(&dir, "model"), &file, &err), WEIR_OK);
    assert_int_equal(weir_file_read(temp_path(&dir, "model"), BYTES_MAX, out, &err), WEIR_OK);
}

static void a_model_trained_a_little_further_takes_little_even_when_its_vocabulary_has_grown(
    void **unused)
{
    (void)unused;
    WEIR_AUTO_BUF base = {0};
    WEIR_AUTO_BUF model = {0};
    WEIR_AUTO_BUF delta = {0};
    struct weir_model_layout layout;
    struct weir_error err;
    make_model(NULL, 1000, 0, "weir", &base);
    assert_int_equal(weir_model_file_layout(weir_buf_view(&base), &layout, &err), WEIR_OK);
    const float *parameters = (const float *)(const void *)(base.at + layout.parameters_at);
    make_model(parameters, 1010, 1e-4F, "weir and a hundred words more: river, level, moving",
               &model);
    make_delta(&model, &base, &delta);
    assert_comes_back(&model, &base, &delta);
    assert_true(delta.size < model.size / 2);
}

static void what_did_not_change_takes_nothing(void **unused)
{
    (void)unused;
    struct weir_rng rng;
    weir_rng_init(&rng, 3);
    WEIR_AUTO_BUF base = {0};
    WEIR_AUTO_BUF delta = {0};
    fill(&rng, NULL, (size_t)2 * MODEL_BLOCK_BYTES, &base);
    make_delta(&base, &base, &delta);
    assert_true(delta.size < 200);
}

/* Another model than `model` never comes out. */
static enum weir_status apply(struct weir_bytes delta, const struct weir_buf *base,
                              const struct weir_buf *model, struct weir_error *err)
{
    WEIR_AUTO_BUF back = {0};
    enum weir_status status =
        orchestrator_model_delta_apply(delta, weir_buf_view(base), 4096, &back, err);
    if (status == WEIR_OK)
        assert_true(weir_bytes_equal(weir_buf_view(&back), weir_buf_view(model)));
    return status;
}

static void a_damaged_delta_or_another_base_never_gives_another_model(void **unused)
{
    (void)unused;
    struct weir_rng rng;
    weir_rng_init(&rng, 4);
    struct weir_error err;
    WEIR_AUTO_BUF base = {0};
    WEIR_AUTO_BUF model = {0};
    WEIR_AUTO_BUF delta = {0};
    fill(&rng, NULL, 4000, &base);
    fill(&rng, &base, 4096, &model);
    make_delta(&model, &base, &delta);
    size_t reported = 0;
    for (size_t i = 0; i < delta.size; i++) {
        delta.at[i] ^= 16;
        reported += apply(weir_buf_view(&delta), &base, &model, &err) != WEIR_OK;
        delta.at[i] ^= 16;
        assert_int_equal(apply(weir_bytes(delta.at, i), &base, &model, &err), WEIR_CORRUPT);
    }
    assert_true(reported + 8 > delta.size); /* zstd has a bit in each frame that means nothing */
    assert_int_equal(apply(weir_buf_view(&delta), &base, &model, &err), WEIR_OK);
    base.at[100] ^= 1;
    assert_int_equal(apply(weir_buf_view(&delta), &base, &model, &err), WEIR_CORRUPT);
    assert_non_null(strstr(err.text, "another base"));
}

static void a_model_above_the_limit_takes_no_memory(void **unused)
{
    (void)unused;
    struct weir_error err;
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    WEIR_AUTO_BUF base = {0};
    WEIR_AUTO_BUF model = {0};
    WEIR_AUTO_BUF delta = {0};
    fill(&rng, NULL, 5000, &model);
    make_delta(&model, &base, &delta);
    assert_int_equal(apply(weir_buf_view(&delta), &base, &model, &err), WEIR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_of_any_two_files_comes_back),
        cmocka_unit_test(
            a_model_trained_a_little_further_takes_little_even_when_its_vocabulary_has_grown),
        cmocka_unit_test(what_did_not_change_takes_nothing),
        cmocka_unit_test(a_damaged_delta_or_another_base_never_gives_another_model),
        cmocka_unit_test(a_model_above_the_limit_takes_no_memory),
    };
    return cmocka_run_group_tests_name("delta", tests, make_dir, remove_dir);
}
