/* Laying out received batches: what fits is taken whole, what does not is refused by name. */
#include "core/wire/sample.h"
#include "core/wire/tensor.h"
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
    uint64_t shape[3];
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
    weir_frames_copy(&letter->frames, IDS, sizeof IDS);
    weir_frames_copy(&letter->frames, LABELS, sizeof LABELS);
    weir_frames_copy(&letter->frames, WEIGHTS, sizeof WEIGHTS);
    weir_frames_copy(&letter->frames, HOLES, sizeof HOLES);
    weir_frames_copy(&letter->frames, DENSE, sizeof DENSE);
    weir_frames_copy(&letter->frames, OFFSETS, sizeof OFFSETS);
    weir_frames_copy(&letter->frames, TOKENS, sizeof TOKENS);
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

static void poke_u32(struct letter *letter, size_t index, size_t at, uint32_t value)
{
    memcpy((char *)zmq_msg_data(&letter->frames.frame[index]) + at * sizeof(value), &value,
           sizeof(value));
}

static void what_fits_is_taken_whole(void **unused)
{
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    struct weir_error err;
    write_letter(&letter);
    assert_int_equal(batch_lay_out(&letter.message, &letter.frames, &batch, &err), WEIR_OK);
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
    assert_int_equal(((const int32_t *)ragged->data)[2], 9);
    assert_ptr_equal(batch_of_lent(&batch->lent), batch);
    free(batch);
}

static void absent_weights_are_ones(void **unused)
{
    (void)unused;
    struct letter letter;
    struct batch *batch = NULL;
    write_letter(&letter);
    resize(&letter, 2, 0);
    assert_int_equal(batch_lay_out(&letter.message, &letter.frames, &batch, NULL), WEIR_OK);
    assert_true(batch->shown.weights[0] == 1.0f && batch->shown.weights[1] == 1.0f);
    free(batch);
    weir_frames_clear(&letter.frames);
}

static void spoil(struct letter *letter, int how)
{
    switch (how) {
    case 0:
        resize(letter, 0, 8);
        break; /* ids */
    case 1:
        resize(letter, 1, 24);
        break; /* labels */
    case 2:
        resize(letter, 2, 4);
        break; /* weights */
    case 3:
        resize(letter, 3, 0);
        break; /* holes */
    case 4:
        resize(letter, 4, 23);
        break; /* dense data */
    case 5:
        resize(letter, 5, 8);
        break; /* offsets */
    case 6:
        poke_u32(letter, 5, 0, 1);
        break; /* first offset */
    case 7:
        poke_u32(letter, 5, 1, 9);
        break; /* offsets go down */
    case 8:
        poke_u32(letter, 5, 2, 4);
        break; /* beyond the data */
    case 9:
        letter->types[0] = 99;
        break; /* type */
    case 10:
        letter->ranks[1] = 0;
        break; /* rank */
    case 11:
        letter->ranks[1] = 9;
        break; /* rank */
    case 12:
        letter->shape[0] = 3;
        break; /* samples */
    case 13:
        letter->message.types.count = 1;
        break; /* columns */
    case 14:
        letter->message.samples = UINT32_MAX;
        break;
    case 15:
        letter->message.shape.count = 2;
        break;
    case 16:
        weir_frames_copy(&letter->frames, "x", 1);
        break; /* one too many */
    case 17:
        letter->shape[1] = UINT64_MAX / 2;
        break; /* overflow */
    default:
        weir_frames_clear(&letter->frames);
        break;
    }
}

static void what_does_not_fit_is_refused_with_its_number(void **unused)
{
    (void)unused;
    for (int how = 0; how <= 18; how++) {
        struct letter letter;
        struct batch *batch = NULL;
        struct weir_error err;
        write_letter(&letter);
        spoil(&letter, how);
        if (batch_lay_out(&letter.message, &letter.frames, &batch, &err) != WEIR_INVALID)
            fail_msg("case %d was taken", how);
        assert_non_null(strstr(err.text, "batch 4: "));
        assert_null(batch);
        weir_frames_clear(&letter.frames);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_taken_whole),
        cmocka_unit_test(absent_weights_are_ones),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_number),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
