/* Last steps of making a tensor, which the worker takes or, where that sends fewer bytes, the consumer of the batch
 * (C18): both run what stands here, so that the result is the same to the bit. Each step makes one tensor of one other,
 * row by row, and cannot fail. Pure. */
#ifndef WEIR_WIRE_TENSOR_STEP_H
#define WEIR_WIRE_TENSOR_STEP_H

#include "core/base/error.h"
#include "core/wire/tensor.h"
#include "core/wire/values.h"

#include <stdint.h>

enum {
    WEIR_TENSOR_STEPS_MAX = 32,
    WEIR_TENSOR_STEP_WORDS = 14, /* u32, on the wire */
    WEIR_TENSOR_STEP_CHANNELS_MAX = 3,
    WEIR_TENSOR_ROW_RANK_MAX = 3,
    WEIR_TENSOR_ROW_ELEMENTS_MAX = 1 << 24, /* of a dense row */
};

/* Numbers on the wire. */
enum weir_tensor_step_kind {
    WEIR_STEP_CAST = 1, /* numbers in another type: the nearest that it holds, NaN is 0 */
    /* integers → f32: `count` places for each of a dense row, for all of a ragged one; 1 at the
     * integer, 0 elsewhere */
    WEIR_STEP_ONE_HOT = 2,
    WEIR_STEP_PAD = 3, /* ragged → dense rows of `count`: filled up with `value`, or cut off */
    WEIR_STEP_NORMALIZE = 4, /* pixels (HWC, u8) → f32: times `factor` plus `offset`, by channel */
    WEIR_STEP_PLANES = 5,    /* HWC → CHW */
};

struct weir_tensor_step {
    uint64_t value;  /* PAD: bytes of an element, the first lowest */
    uint32_t tensor; /* place of the tensor in its batch */
    uint32_t kind;
    uint32_t type;  /* CAST: made */
    uint32_t count; /* ONE_HOT, PAD */
    /* PAD: 1, rows are filled up at their start; NORMALIZE: 1, planes are made at once */
    uint32_t option;
    uint32_t unused; /* 0 */
    float factor[WEIR_TENSOR_STEP_CHANNELS_MAX], offset[WEIR_TENSOR_STEP_CHANNELS_MAX];
};

/* Form of the rows of a tensor. */
struct weir_tensor_form {
    enum weir_dtype type;
    bool is_ragged; /* then a row has any number of elements, and no extents */
    uint32_t rank;
    uint64_t shape[WEIR_TENSOR_ROW_RANK_MAX];
};

/* Elements of a dense row. */
uint64_t weir_tensor_form_elements(const struct weir_tensor_form *form);
/* Bytes of rows of a form, which hold `elements` together if they are ragged. */
uint64_t weir_tensor_form_bytes(const struct weir_tensor_form *form, size_t rows,
                                uint64_t elements);
/* Turns the form of what a step takes into that of what it makes. INVALID when it takes no such tensor. */
enum weir_status weir_tensor_step_form(const struct weir_tensor_step *step,
                                       struct weir_tensor_form *form,
                                       struct weir_error *err) WEIR_MUST_USE;

/* Some rows of a tensor: dense ones end to end; ragged row i = elements offsets[i] … offsets[i + 1] of `values`. */
struct weir_tensor_rows {
    size_t count;
    const void *values;
    const uint32_t *offsets;
    bool are_passed_on; /* what is made of them is more than a cache holds, and is read elsewhere */
};
/* Elements that some rows hold together if they are ragged. */
static inline uint64_t weir_tensor_rows_elements(const struct weir_tensor_rows *rows)
{
    return rows->offsets != NULL ? rows->offsets[rows->count] - rows->offsets[0] : 0;
}
/* Makes rows of the form that weir_tensor_step_form() gives, end to end in `to`. `form`: of `rows`, which it takes. */
void weir_tensor_step_take(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                           const struct weir_tensor_rows *rows, void *to);
/* The steps of a batch, in the order in which they are taken. */
struct weir_tensor_steps {
    size_t count;
    struct weir_tensor_step of[WEIR_TENSOR_STEPS_MAX];
};
/* Returns the number of steps that take one of its tensors. */
size_t weir_tensor_steps_of(const struct weir_tensor_steps *steps, uint32_t tensor);
/* Takes those of them that take a tensor, one after the other: at least one. */
void weir_tensor_steps_take(const struct weir_tensor_steps *steps, uint32_t tensor,
                            struct weir_tensor_form form, struct weir_tensor_rows rows, void *to);
/* The steps as they travel; borrowed. */
struct weir_u32s weir_tensor_steps_words(const struct weir_tensor_steps *steps);
/* INVALID when they are not the steps of a batch of so many tensors. weir_tensor_step_form() says whether one takes its
 * tensor. */
enum weir_status weir_tensor_steps_read(struct weir_u32s words, size_t tensors,
                                        struct weir_tensor_steps *ret_steps,
                                        struct weir_error *err) WEIR_MUST_USE;

#endif
