/* See tensor_step.h. */
#include "core/wire/tensor_step.h"

#include "core/base/memory.h"
#include "core/wire/element.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { CHANNELS = WEIR_TENSOR_STEP_CHANNELS_MAX };

/* ---- forms ---- */

uint64_t weir_tensor_form_elements(const struct weir_tensor_form *form)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < form->rank; i++)
        elements *= form->shape[i];
    return elements;
}

uint64_t weir_tensor_form_bytes(const struct weir_tensor_form *form, size_t rows, uint64_t elements)
{
    uint64_t count = form->is_ragged ? elements : rows * weir_tensor_form_elements(form);
    return count * weir_dtype_bytes(form->type);
}

static bool is_picture(const struct weir_tensor_form *form)
{
    return !form->is_ragged && form->rank == WEIR_TENSOR_ROW_RANK_MAX &&
           (form->shape[2] == 1 || form->shape[2] == CHANNELS);
}

static void become_vector(struct weir_tensor_form *form, enum weir_dtype type, uint64_t elements)
{
    *form = (struct weir_tensor_form){.type = type, .rank = 1, .shape = {elements}};
}

static void become_planes(struct weir_tensor_form *form)
{
    uint64_t channels = form->shape[2];
    form->shape[2] = form->shape[1];
    form->shape[1] = form->shape[0];
    form->shape[0] = channels;
}

static bool become(const struct weir_tensor_step *step, struct weir_tensor_form *form)
{
    uint64_t numbers = form->is_ragged ? 1 : weir_tensor_form_elements(form);
    bool is_integer = form->type != WEIR_F32 && form->type != WEIR_F64;
    bool is_counted = step->count > 0 && step->count <= WEIR_TENSOR_ROW_ELEMENTS_MAX / numbers;
    switch (step->kind) {
    case WEIR_STEP_CAST:
        form->type = (enum weir_dtype)step->type;
        return weir_dtype_bytes(form->type) > 0;
    case WEIR_STEP_ONE_HOT:
        become_vector(form, WEIR_F32, numbers * step->count);
        return is_integer && is_counted;
    case WEIR_STEP_PAD: {
        bool is_ragged = form->is_ragged;
        become_vector(form, form->type, step->count);
        return is_ragged && is_counted;
    }
    case WEIR_STEP_NORMALIZE: {
        bool is_u8 = form->type == WEIR_U8 && is_picture(form);
        form->type = WEIR_F32;
        if (is_u8 && step->option != 0)
            become_planes(form);
        return is_u8;
    }
    case WEIR_STEP_PLANES: {
        bool is_hwc = is_picture(form);
        if (is_hwc)
            become_planes(form);
        return is_hwc;
    }
    default:
        return false;
    }
}

/* True for the form of rows that anybody could hold. */
static bool is_bounded(const struct weir_tensor_form *form)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < form->rank; i++) {
        if (form->shape[i] == 0 || form->shape[i] > WEIR_TENSOR_ROW_ELEMENTS_MAX / elements)
            return false;
        elements *= form->shape[i];
    }
    return form->rank <= WEIR_TENSOR_ROW_RANK_MAX && weir_dtype_bytes(form->type) > 0;
}

enum weir_status weir_tensor_step_form(const struct weir_tensor_step *step,
                                       struct weir_tensor_form *form, struct weir_error *err)
{
    struct weir_tensor_form other = *form;
    if (form->rank > WEIR_TENSOR_ROW_RANK_MAX || !is_bounded(form) || !become(step, &other))
        return weir_fail(err, WEIR_INVALID,
                         "step %u does not take %s rows of type %u and %u extents", step->kind,
                         form->is_ragged ? "ragged" : "dense", form->type, form->rank);
    *form = other;
    return WEIR_OK;
}

/* ---- steps ---- */

/* A loop for each pair of types. */
WEIR_CLONES
static void cast(enum weir_dtype from, enum weir_dtype to, const void *values, size_t count,
                 void *made)
{
    enum { PAIR = 16 };
#define PAIR_OF(f, t)                                                         \
    case (f)*PAIR + (t):                                                      \
        for (size_t i = 0; i < count; i++)                                    \
            weir_element_put((t), made, i, weir_element_get((f), values, i)); \
        return;
#define FROM(t)          \
    PAIR_OF(WEIR_U8, t)  \
    PAIR_OF(WEIR_I32, t) \
    PAIR_OF(WEIR_I64, t) PAIR_OF(WEIR_F32, t) PAIR_OF(WEIR_F64, t) PAIR_OF(WEIR_U32, t)
    switch (from * PAIR + to) {
        FROM(WEIR_U8) FROM(WEIR_I32) FROM(WEIR_I64) FROM(WEIR_F32) FROM(WEIR_F64) FROM(WEIR_U32)
    }
#undef FROM
#undef PAIR_OF
}

static const uint8_t *first_of(const struct weir_tensor_form *form,
                               const struct weir_tensor_rows *rows)
{
    size_t before = form->is_ragged ? rows->offsets[0] : 0;
    return (const uint8_t *)rows->values + before * weir_dtype_bytes(form->type);
}

static void take_cast(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                      const struct weir_tensor_rows *rows, void *to)
{
    size_t unit = weir_dtype_bytes(form->type);
    size_t bytes = weir_tensor_form_bytes(form, rows->count, weir_tensor_rows_elements(rows));
    const uint8_t *from = first_of(form, rows);
    if (step->type != form->type)
        cast(form->type, (enum weir_dtype)step->type, from, bytes / unit, to);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

/* Sets the places of numbers first … end - 1; `stride` places lie between those of two numbers. */
static void set_places(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                       const void *values, size_t first, size_t end, float *places)
{
    size_t stride = form->is_ragged ? 0 : step->count;
    for (size_t i = first; i < end; i++, places += stride) {
        int64_t number = weir_element_get_integer(form->type, values, i);
        if (number >= 0 && number < (int64_t)step->count)
            places[number] = 1;
    }
}

static void take_one_hot(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                         const struct weir_tensor_rows *rows, void *to)
{
    size_t numbers = form->is_ragged ? 1 : weir_tensor_form_elements(form);
    size_t width = numbers * step->count;
    memset(to, 0, rows->count * width * sizeof(float));
    for (size_t i = 0; i < rows->count; i++) {
        size_t first = form->is_ragged ? rows->offsets[i] : i * numbers;
        size_t end = form->is_ragged ? rows->offsets[i + 1] : first + numbers;
        set_places(step, form, rows->values, first, end, (float *)to + i * width);
    }
}

static void fill(uint8_t *to, size_t count, size_t unit, const uint64_t *value)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * unit, value, unit);
}

static void take_pad(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                     const struct weir_tensor_rows *rows, void *made)
{
    size_t unit = weir_dtype_bytes(form->type);
    uint8_t *to = made;
    for (size_t i = 0; i < rows->count; i++, to += step->count * unit) {
        size_t count = rows->offsets[i + 1] - rows->offsets[i];
        count = count < step->count ? count : step->count;
        size_t missing = step->count - count;
        uint8_t *there = to + (step->option != 0 ? missing * unit : 0);
        fill(step->option != 0 ? to : to + count * unit, missing, unit, &step->value);
        memcpy(there, (const uint8_t *)rows->values + rows->offsets[i] * unit, count * unit);
    }
}

WEIR_CLONES
static void split_bytes(const uint8_t *from, size_t pixels, uint8_t *restrict to)
{
    for (size_t i = 0; i < pixels; i++) {
        to[i] = from[CHANNELS * i];
        to[pixels + i] = from[CHANNELS * i + 1];
        to[2 * pixels + i] = from[CHANNELS * i + 2];
    }
}

WEIR_CLONES
static void scale(const uint8_t *from, size_t count, float factor, float offset, float *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * factor + offset;
}

WEIR_CLONES
static void scale_pixels(const uint8_t *from, size_t pixels, const struct weir_tensor_step *step,
                         float *restrict to)
{
    const float *factor = step->factor, *offset = step->offset;
    for (size_t i = 0; i < pixels; i++) {
        for (size_t c = 0; c < CHANNELS; c++)
            to[CHANNELS * i + c] = from[CHANNELS * i + c] * factor[c] + offset[c];
    }
}

#ifdef __SSE2__
/* The same past the cache, which would first read what is there from memory: twice the traffic. */
static void scale_through(const uint8_t *from, size_t count, float factor, float offset, float *to)
{
    enum { LANES = 4, TOGETHER = 16 * LANES };
    float some[TOGETHER];
    size_t first = -(uintptr_t)to / sizeof(*to) % LANES;
    first = first < count ? first : count;
    scale(from, first, factor, offset, to);
    for (; first + TOGETHER <= count; first += TOGETHER) {
        for (size_t i = 0; i < TOGETHER; i++)
            some[i] = from[first + i] * factor + offset;
        for (size_t i = 0; i < TOGETHER; i += LANES)
            _mm_stream_ps(to + first + i, _mm_loadu_ps(some + i));
    }
    scale(from + first, count - first, factor, offset, to + first);
}
/* Or others might see later writes first. */
static void end_through(void)
{
    _mm_sfence();
}
#else
#define scale_through scale
static void end_through(void)
{
}
#endif

/* Some pixels after the other, so that their planes stay in the cache. */
static void scale_planes(const struct weir_tensor_step *step, const uint8_t *from, size_t pixels,
                         float *to, bool goes_through)
{
    enum { TOGETHER = 4096 };
    uint8_t planes[CHANNELS * TOGETHER];
    for (size_t first = 0; first < pixels; first += TOGETHER) {
        size_t count = pixels - first < TOGETHER ? pixels - first : TOGETHER;
        split_bytes(from + CHANNELS * first, count, planes);
        for (size_t c = 0; c < CHANNELS; c++)
            (goes_through ? scale_through : scale)(planes + c * count, count, step->factor[c],
                                                   step->offset[c], to + c * pixels + first);
    }
}

static void take_normalize(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                           const struct weir_tensor_rows *rows, void *made)
{
    size_t pixels = form->shape[0] * form->shape[1], channels = form->shape[2];
    const uint8_t *from = rows->values;
    float *to = made;
    for (size_t i = 0; i < rows->count; i++, from += pixels * channels, to += pixels * channels) {
        if (channels == 1)
            scale(from, pixels, step->factor[0], step->offset[0], to);
        else if (step->option != 0)
            scale_planes(step, from, pixels, to, rows->are_passed_on);
        else
            scale_pixels(from, pixels, step, to);
    }
    if (rows->are_passed_on)
        end_through();
}

static void split_any(const uint8_t *from, size_t pixels, size_t channels, size_t unit, uint8_t *to)
{
    for (size_t c = 0; c < channels; c++) {
        for (size_t i = 0; i < pixels; i++, to += unit)
            memcpy(to, from + (i * channels + c) * unit, unit);
    }
}

static void take_planes(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                        const struct weir_tensor_rows *rows, void *made)
{
    size_t pixels = form->shape[0] * form->shape[1], channels = form->shape[2];
    size_t unit = weir_dtype_bytes(form->type), bytes = pixels * channels * unit;
    const uint8_t *from = rows->values;
    uint8_t *to = made;
    (void)step;
    for (size_t i = 0; i < rows->count; i++, from += bytes, to += bytes) {
        if (unit == 1 && channels == CHANNELS)
            split_bytes(from, pixels, to);
        else
            split_any(from, pixels, channels, unit, to);
    }
}

void weir_tensor_step_take(const struct weir_tensor_step *step, const struct weir_tensor_form *form,
                           const struct weir_tensor_rows *rows, void *to)
{
    static void (*const TAKE[])(const struct weir_tensor_step *, const struct weir_tensor_form *,
                                const struct weir_tensor_rows *, void *) = {
        [WEIR_STEP_CAST] = take_cast,     [WEIR_STEP_ONE_HOT] = take_one_hot,
        [WEIR_STEP_PAD] = take_pad,       [WEIR_STEP_NORMALIZE] = take_normalize,
        [WEIR_STEP_PLANES] = take_planes,
    };
    if (rows->count > 0)
        TAKE[step->kind](step, form, rows, to);
}

/* ---- one after the other ---- */

void weir_tensor_steps_take(const struct weir_tensor_steps *steps, uint32_t tensor,
                            struct weir_tensor_form form, struct weir_tensor_rows rows, void *to)
{
    void *between = NULL;
    uint64_t elements = weir_tensor_rows_elements(&rows);
    for (size_t i = 0, left = weir_tensor_steps_of(steps, tensor); left > 0; i++) {
        const struct weir_tensor_step *step = &steps->of[i];
        if (step->tensor != tensor)
            continue;
        struct weir_tensor_form next = form;
        bool is_taken = become(step, &next);
        weir_require(is_taken);
        void *made =
            --left > 0
                ? weir_realloc(NULL, weir_tensor_form_bytes(&next, rows.count, elements) + 1, 1)
                : to;
        weir_tensor_step_take(step, &form, &rows, made);
        free(between);
        between = made != to ? made : NULL;
        form = next;
        rows.values = made;
    }
}

size_t weir_tensor_steps_of(const struct weir_tensor_steps *steps, uint32_t tensor)
{
    size_t count = 0;
    for (size_t i = 0; i < steps->count; i++)
        count += steps->of[i].tensor == tensor;
    return count;
}

/* ---- as they travel ---- */

/* The words of a step, as struct weir_tensor_step has them. */
static_assert(sizeof(struct weir_tensor_step) == WEIR_TENSOR_STEP_WORDS * sizeof(uint32_t) &&
                  offsetof(struct weir_tensor_step, value) % sizeof(uint64_t) == 0,
              "nothing lies between the members");

struct weir_u32s weir_tensor_steps_words(const struct weir_tensor_steps *steps)
{
    return (struct weir_u32s){(const uint32_t *)(const void *)steps->of,
                              steps->count * WEIR_TENSOR_STEP_WORDS};
}

enum weir_status weir_tensor_steps_read(struct weir_u32s words, size_t tensors,
                                        struct weir_tensor_steps *ret_steps, struct weir_error *err)
{
    size_t count = words.count / WEIR_TENSOR_STEP_WORDS;
    if (words.count % WEIR_TENSOR_STEP_WORDS != 0 || count > WEIR_TENSOR_STEPS_MAX)
        return weir_fail(err, WEIR_INVALID, "steps of %zu words, expected at most %d times %d",
                         words.count, WEIR_TENSOR_STEPS_MAX, WEIR_TENSOR_STEP_WORDS);
    ret_steps->count = count;
    if (count > 0)
        memcpy(ret_steps->of, words.at, words.count * sizeof(*words.at));
    for (size_t i = 0; i < count; i++) {
        if (ret_steps->of[i].tensor >= tensors)
            return weir_fail(err, WEIR_INVALID, "a step takes tensor %u of %zu",
                             ret_steps->of[i].tensor, tensors);
    }
    return WEIR_OK;
}
