/* Laying out received batches: what fits is taken whole, what does not is refused by name. */
#include "core/wire/compression.h"
#include "core/wire/sample.h"
#include "core/wire/tensor_step.h"
#include "trainer_client/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two samples, one hole, a dense f32 (2, 3) and a ragged i32 of 1 + 2 values. */
struct letter {
    struct msg_batch message;
    struct weir_frames frames;
    const char *names[2];
    uint32_t types[2], ranks[2], ragged[2], states[1];
    uint64_t shape[3], expanded[7];
};

static void write_letter(struct letter *letter)
{
    static const uint64_t IDS[] = {11, 12}, HOLES[] = {13};
    static const int64_t LABELS[] = {0, 1};
    static const float WEIGHTS[] = {0.5f, 2.0f}, DENSE[] = {1, 2, 3, 4, 5, 6};
    static const uint32_t OFFSETS[] = {0, 1, 3};
    static const int32_t TOKENS[] = {7, 8, 9};
    *letter = (struct letter){
        .names = {"dense", "ragged"},
        .types = {WEIR_F32, WEIR_I32},
        .ranks = {2, 1},
        .ragged = {0, 1},
        .states = {WEIR_SAMPLE_GONE},
        .shape = {2, 3, 2},
    };
    letter->message = (struct msg_batch){
        .batch = 4,
        .samples = 2,
        .hole_states = {letter->states, 1},
        .label_kind = WEIR_LABEL_INT,
        .names = {letter->names, 2},
        .types = {letter->types, 2},
        .ranks = {letter->ranks, 2},
        .shape = {letter->shape, 3},
        .ragged = {letter->ragged, 2},
    };
    weir_frames_copy(&letter->frames, IDS, sizeof(IDS));
    weir_frames_copy(&letter->frames, LABELS, sizeof(LABELS));
    weir_frames_copy(&letter->frames, WEIGHTS, sizeof(WEIGHTS));
    weir_frames_copy(&letter->frames, HOLES, sizeof(HOLES));
    weir_frames_copy(&letter->frames, DENSE, sizeof(DENSE));
    weir_frames_copy(&letter->frames, OFFSETS, sizeof(OFFSETS));
    weir_frames_copy(&letter->frames, TOKENS, sizeof(TOKENS));
}

/* Makes frame `index` so long, keeping what fits. */
static void resize(struct letter *letter, size_t index, size_t size)
{
    zmq_msg_t fresh;
    zmq_msg_t *old = &letter->frames.frame[index];
    assert_int_equal(zmq_msg_init_size(&fresh, size), 0);
    memset(zmq_msg_data(&fresh), 0, size);
    memcpy(zmq_msg_data(&fresh), zmq_msg_data(old),
           size < zmq_msg_size(old) ? size : zmq_msg_size(old));
    zmq_msg_move(old, &fresh);
    zmq_msg_close(&fresh);
}

static void what_fits_is_taken_whole(void **unused)
{
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err), WEIR_OK);
    weir_frames_clear(&letter.frames); /* nothing of it is needed any more */
    assert_int_equal(batch->shown.samples, 2);
    assert_int_equal(batch->shown.holes, 1);
    assert_int_equal(batch->shown.ids[1], 12);
    assert_int_equal(batch->shown.labels[1], 1);
    assert_true(batch->shown.weights[1] == 2.0f);
    assert_int_equal(batch->lent.holes[0], 13);
    assert_int_equal(batch->lent.hole_states[0], WEIR_SAMPLE_GONE);
    const struct weir_tensor *dense = &batch->shown.tensors[0], *ragged = &batch->shown.tensors[1];
    assert_true(((const float *)dense->data)[5] == 6.0f);
    assert_int_equal(dense->shape[1], 3);
    assert_int_equal(ragged->offsets[2], 3);
    assert_int_equal(batch->lent.longest, 2);
    assert_int_equal(((const int32_t *)ragged->data)[2], 9);
    assert_ptr_equal(batch_of_lent(&batch->lent), batch);
    free(batch);
}

static void vectors_of_labels_are_the_last_frame(void **unused)
{
    static const float VALUES[] = {1, 2, 3, 4, 5, 6};
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    letter.message.label_kind = WEIR_LABEL_VALUES;
    letter.message.label_width = 3;
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err),
                     WEIR_INVALID);
    weir_frames_copy(&letter.frames, VALUES, sizeof(VALUES));
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err), WEIR_OK);
    assert_int_equal(batch->shown.label_type, WEIR_LABELS_VALUES);
    assert_int_equal(batch->shown.label_width, 3);
    assert_memory_equal(batch->shown.label_values, VALUES, sizeof(VALUES));
    assert_int_equal((uintptr_t)batch->shown.label_values % WEIR_BATCH_ALIGNMENT, 0);
    free(batch);
    resize(&letter, letter.frames.count - 1, sizeof(VALUES) - 1);
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "labels of 3 numbers: 23 bytes, expected 24"));
    letter.message.label_kind = WEIR_LABEL_INT;
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err),
                     WEIR_INVALID);
    weir_frames_clear(&letter.frames);
}

static void lent_memory_keeps_the_tensors_and_nothing_that_is_a_size(void **unused)
{
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    letter.message.loan = weir_bytes("a loan", 6);
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err), WEIR_OK);
    const struct weir_tensor *ragged = &batch->shown.tensors[1];
    assert_ptr_equal(batch->shown.tensors[0].data, weir_frames_at(&letter.frames, 4).at);
    assert_ptr_equal(ragged->data, weir_frames_at(&letter.frames, 6).at);
    assert_ptr_not_equal(ragged->offsets, weir_frames_at(&letter.frames, 5).at);
    assert_int_equal(ragged->offsets[2], 3);
    assert_ptr_not_equal(batch->shown.ids, weir_frames_at(&letter.frames, 0).at);
    assert_int_equal(batch->shown.ids[1], 12);
    for (size_t i = 0; i < letter.frames.count + 2; i++)
        assert_int_equal(trainer_batch_frame_is_offsets(&letter.message, i), i == 5);
    letter.message.ragged.count = 1;
    assert_false(trainer_batch_frame_is_offsets(&letter.message, 5));
    free(batch);
    weir_frames_clear(&letter.frames);
}

/* The dense tensor has so many numbers, each as its place modulo 10, and is compressed. */
static void write_compressed(struct letter *letter, enum weir_compression how)
{
    enum { WIDTH = 3000, DENSE = 4 };
    size_t size = 0;
    write_letter(letter);
    letter->shape[1] = WIDTH;
    resize(letter, DENSE, sizeof(float) * 2 * WIDTH);
    float *numbers = zmq_msg_data(&letter->frames.frame[DENSE]);
    for (size_t i = 0; i < (size_t)2 * WIDTH; i++)
        numbers[i] = (float)(i % 10);
    struct weir_bytes plain = weir_frames_at(&letter->frames, DENSE);
    letter->expanded[DENSE] = plain.size;
    letter->message.expanded = (struct weir_u64s){letter->expanded, letter->frames.count};
    letter->message.compression = how;
    void *packed = weir_compress(how, plain, &size);
    weir_frames_replace(&letter->frames, DENSE, packed, size);
}

static void a_compressed_tensor_is_what_it_was(void **unused)
{
    (void)unused;
    for (int how = WEIR_COMPRESSION_LZ4; how <= WEIR_COMPRESSION_ZSTD; how++) {
        struct letter letter;
        struct batch *batch = NULL;
        struct weir_error err;
        write_compressed(&letter, (enum weir_compression)how);
        assert_true(weir_frames_at(&letter.frames, 4).size < letter.expanded[4] / 8);
        assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err),
                         WEIR_OK);
        weir_frames_clear(&letter.frames);
        const struct weir_tensor *dense = &batch->shown.tensors[0];
        assert_int_equal(dense->bytes, letter.expanded[4]);
        assert_int_equal((uintptr_t)dense->data % WEIR_BATCH_ALIGNMENT, 0);
        for (size_t i = 0; i < dense->bytes / sizeof(float); i++)
            assert_true(((const float *)dense->data)[i] == (float)(i % 10));
        assert_int_equal(((const int32_t *)batch->shown.tensors[1].data)[2], 9);
        free(batch);
    }
}

static void absent_weights_are_ones(void **unused)
{
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    write_letter(&letter);
    resize(&letter, 2, 0);
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, NULL), WEIR_OK);
    assert_true(batch->shown.weights[0] == 1.0f && batch->shown.weights[1] == 1.0f);
    free(batch);
    weir_frames_clear(&letter.frames);
}

static void longer(struct letter *letter, size_t frame, size_t size)
{
    resize(letter, frame, size);
}

static void other_u32(struct letter *letter, size_t at, size_t value)
{
    uint32_t small = (uint32_t)value;
    memcpy((char *)zmq_msg_data(&letter->frames.frame[5]) + at * sizeof(small), &small,
           sizeof(small));
}

static void other_type(struct letter *letter, size_t tensor, size_t type)
{
    letter->types[tensor] = (uint32_t)type;
}

static void other_rank(struct letter *letter, size_t tensor, size_t rank)
{
    letter->ranks[tensor] = (uint32_t)rank;
}

static void other_shape(struct letter *letter, size_t dimension, size_t size)
{
    letter->shape[dimension] = size;
}

static void other_count(struct letter *letter, size_t types, size_t dimensions)
{
    letter->message.types.count = types;
    letter->message.shape.count = dimensions;
}

static void other_samples(struct letter *letter, size_t samples, size_t unused)
{
    (void)unused;
    letter->message.samples = (uint32_t)samples;
}

static void more_frames(struct letter *letter, size_t count, size_t unused)
{
    (void)unused;
    for (size_t i = 0; i < count; i++)
        weir_frames_copy(&letter->frames, "x", 1);
}

static void no_frames(struct letter *letter, size_t unused, size_t unused_too)
{
    (void)unused;
    (void)unused_too;
    weir_frames_clear(&letter->frames);
}

static void other_expanded(struct letter *letter, size_t frame, size_t size)
{
    letter->expanded[frame] = size;
}

static void other_compression(struct letter *letter, size_t how, size_t unused)
{
    (void)unused;
    letter->message.compression = (uint32_t)how;
}

static void more_expanded(struct letter *letter, size_t count, size_t unused)
{
    (void)unused;
    letter->message.expanded.count = count;
}

static void shorter_by(struct letter *letter, size_t frame, size_t bytes)
{
    resize(letter, frame, weir_frames_at(&letter->frames, frame).size - bytes);
}

static void lent(struct letter *letter, size_t unused, size_t unused_too)
{
    (void)unused;
    (void)unused_too;
    letter->message.loan = weir_bytes("a loan", 6);
}

static void expect_refusal(struct letter *letter, const char *what)
{
    struct batch *batch = NULL;
    struct weir_error err;
    if (trainer_batch_lay_out(&letter->message, &letter->frames, &batch, &err) != WEIR_INVALID)
        fail_msg("%s: was taken", what);
    assert_non_null(strstr(err.text, "batch 4: "));
    assert_null(batch);
    weir_frames_clear(&letter->frames);
}

struct spoiling {
    const char *what;
    void (*spoil)(struct letter *letter, size_t a, size_t b);
    size_t a, b;
};

static void what_is_compressed_badly_is_refused(void **unused)
{
    (void)unused;
    static const struct spoiling CASES[] = {
        {"more than its shape has", other_expanded, 4, 24001},
        {"absurdly many bytes", other_expanded, 4, SIZE_MAX / 2},
        {"more than a message may have", other_expanded, 4, (size_t)1 << 31},
        {"not said to be compressed", other_expanded, 4, 0},
        {"ids", other_expanded, 0, 16},
        {"offsets", other_expanded, 5, 12},
        {"a tensor that is not", other_expanded, 6, 12},
        {"another way", other_compression, 3, 0},
        {"no way", other_compression, 0, 0},
        {"cut short", shorter_by, 4, 1},
        {"more of them than frames", more_expanded, 8, 0},
        {"what was lent", lent, 0, 0},
    };
    for (size_t i = 0; i < 2 * WEIR_COUNT(CASES); i++) {
        struct letter letter;
        write_compressed(&letter, (enum weir_compression)(1 + i % 2));
        CASES[i / 2].spoil(&letter, CASES[i / 2].a, CASES[i / 2].b);
        expect_refusal(&letter, CASES[i / 2].what);
    }
}

static void what_does_not_fit_is_refused_with_its_number(void **unused)
{
    (void)unused;
    static const struct spoiling CASES[] = {
        {"too few ids", longer, 0, 8},
        {"too many labels", longer, 1, 24},
        {"too few weights", longer, 2, 4},
        {"no hole ids", longer, 3, 0},
        {"dense data cut short", longer, 4, 23},
        {"too few offsets", longer, 5, 8},
        {"the first offset is not 0", other_u32, 0, 1},
        {"offsets go down", other_u32, 1, 9},
        {"offsets end beyond the data", other_u32, 2, 4},
        {"unknown type", other_type, 0, 99},
        {"rank 0", other_rank, 1, 0},
        {"rank 9", other_rank, 1, 9},
        {"more rows than samples", other_shape, 0, 3},
        {"a shape nobody could hold", other_shape, 1, SIZE_MAX / 2},
        {"columns of different length", other_count, 1, 3},
        {"too few dimensions", other_count, 2, 2},
        {"absurdly many samples", other_samples, UINT32_MAX, 0},
        {"a frame too many", more_frames, 1, 0},
        {"no frames", no_frames, 0, 0},
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct letter letter;
        write_letter(&letter);
        CASES[i].spoil(&letter, CASES[i].a, CASES[i].b);
        expect_refusal(&letter, CASES[i].what);
    }
}

/* The letter, of which the steps that follow are left. */
static enum weir_status lay_out_with(const struct weir_tensor_steps *steps, struct letter *letter,
                                     struct batch **ret_batch, struct weir_error *err)
{
    letter->message.steps = weir_tensor_steps_words(steps);
    return trainer_batch_lay_out(&letter->message, &letter->frames, ret_batch, err);
}

static void steps_that_are_left_are_taken_on_arrival(void **unused)
{
    (void)unused;
    static const struct weir_tensor_steps STEPS = {
        3,
        {{.tensor = 1, .kind = WEIR_STEP_PAD, .count = 2, .value = 5},
         {.tensor = 0, .kind = WEIR_STEP_CAST, .type = WEIR_F64},
         {.tensor = 1, .kind = WEIR_STEP_CAST, .type = WEIR_F32}}};
    const double doubles[] = {1, 2, 3, 4, 5, 6};
    const float padded[] = {7, 5, 8, 9};
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    letter.message.bytes = sizeof(doubles) + sizeof(padded);
    assert_int_equal(lay_out_with(&STEPS, &letter, &batch, &err), WEIR_OK);
    weir_frames_clear(&letter.frames);
    const struct weir_tensor *dense = &batch->shown.tensors[0], *pad = &batch->shown.tensors[1];
    assert_int_equal(dense->type, WEIR_TENSOR_F64);
    assert_int_equal(dense->bytes, sizeof(doubles));
    assert_memory_equal(dense->data, doubles, sizeof(doubles));
    assert_int_equal((uintptr_t)dense->data % WEIR_BATCH_ALIGNMENT, 0);
    assert_null(pad->offsets);
    assert_int_equal(pad->type, WEIR_TENSOR_F32);
    assert_int_equal(pad->rank, 2);
    assert_int_equal(pad->shape[0], 2);
    assert_int_equal(pad->shape[1], 2);
    assert_memory_equal(pad->data, padded, sizeof(padded));
    free(batch);
}

static void steps_that_nobody_could_take_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        struct weir_tensor_step step;
        const char *says;
    } CASES[] = {
        {{.tensor = 2, .kind = WEIR_STEP_CAST, .type = WEIR_F64}, "a step takes tensor 2 of 2"},
        {{.tensor = 0, .kind = 77}, "tensor 'dense': step 77 does not take dense rows"},
        {{.tensor = 0, .kind = WEIR_STEP_PAD, .count = 2}, "tensor 'dense': step 3"},
        {{.tensor = 0, .kind = WEIR_STEP_NORMALIZE}, "tensor 'dense': step 4"},
        {{.tensor = 1, .kind = WEIR_STEP_ONE_HOT, .count = UINT32_MAX}, "tensor 'ragged': step 2"},
        {{.tensor = 1, .kind = WEIR_STEP_ONE_HOT, .count = 1 << 24},
         "its steps make 134217728 bytes"},
        {{.tensor = 0, .kind = WEIR_STEP_CAST, .type = WEIR_F64}, "its steps make 48 bytes"},
    };
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    letter.message.bytes = 47;
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        const struct weir_tensor_steps steps = {1, {CASES[i].step}};
        assert_int_equal(lay_out_with(&steps, &letter, &batch, &err), WEIR_INVALID);
        assert_non_null(strstr(err.text, CASES[i].says));
    }
    const struct weir_tensor_steps steps = {1, {{.kind = WEIR_STEP_CAST, .type = WEIR_F32}}};
    letter.message.loan = weir_bytes("a loan", 6);
    assert_int_equal(lay_out_with(&steps, &letter, &batch, &err), WEIR_INVALID);
    assert_non_null(strstr(err.text, "steps are left of what lies in lent memory"));
    letter.message.loan = weir_bytes(NULL, 0);
    letter.message.bytes = 48;
    letter.message.steps.count--;
    assert_int_equal(trainer_batch_lay_out(&letter.message, &letter.frames, &batch, &err),
                     WEIR_INVALID);
    assert_non_null(strstr(err.text, "steps of 13 words"));
    weir_frames_clear(&letter.frames);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_taken_whole),
        cmocka_unit_test(vectors_of_labels_are_the_last_frame),
        cmocka_unit_test(lent_memory_keeps_the_tensors_and_nothing_that_is_a_size),
        cmocka_unit_test(a_compressed_tensor_is_what_it_was),
        cmocka_unit_test(what_is_compressed_badly_is_refused),
        cmocka_unit_test(absent_weights_are_ones),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_number),
        cmocka_unit_test(steps_that_are_left_are_taken_on_arrival),
        cmocka_unit_test(steps_that_nobody_could_take_are_refused),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
