/* A finished batch. */
#include "preprocess/worker/batch.h"

#include "core/base/memory.h"
#include "core/wire/delivery.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(WEIR_WIRE_FRAMES_MAX <= 64, "in_loan has a bit for each frame");
static_assert(WEIR_BATCH_TENSORS + 2 * COLUMNS_MAX + 1 <= WEIR_WIRE_FRAMES_MAX,
              "each tensor has a frame and may have offsets; labels that are vectors come last");

void preprocess_batch_give(struct worker_batch *batch, void *bytes, size_t size)
{
    batch->bytes += size;
    weir_frames_give(&batch->frames, bytes, size);
}

static void give_values(struct worker_batch *batch, struct weir_buf *values)
{
    if (!values->is_lent) {
        preprocess_batch_give(batch, values->at, values->size);
    } else {
        batch->in_loan |= (uint64_t)1 << batch->frames.count;
        batch->bytes += values->size;
        weir_frames_view(&batch->frames, values->at, values->size);
    }
    *values = (struct weir_buf){0};
}

void preprocess_batch_give_tensor(struct worker_batch *batch, struct column *column)
{
    batch->tensor[batch->tensors++] = column->about;
    if (column->about.kind == COLUMN_RAGGED) {
        preprocess_batch_give(batch, column->offsets.at, column->offsets.size);
        column->offsets = (struct weir_buf){0};
    }
    give_values(batch, &column->values);
}

void preprocess_batch_give_reasons(struct worker_batch *batch, const char *first,
                                   const struct failures *failures)
{
    if (batch->failed == 0)
        return;
    batch->reason = weir_strdup(first);
    batch->failures = weir_calloc(1, sizeof(*batch->failures));
    *batch->failures = *failures;
}

void preprocess_batch_free(struct worker_batch *batch)
{
    if (batch == NULL)
        return;
    weir_frames_clear(&batch->frames);
    weir_loan_end(&batch->loan.memory, false);
    weir_published_free(batch->published);
    free(batch->hole_states);
    free(batch->reason);
    free(batch->failures);
    free(batch->left);
    free(batch);
}

static void *copy_of(struct weir_bytes bytes)
{
    void *copy = weir_realloc(NULL, bytes.size + 1, 1);
    if (bytes.size > 0)
        memcpy(copy, bytes.at, bytes.size);
    return copy;
}

struct worker_batch *preprocess_batch_share(struct worker_batch *batch)
{
    struct worker_batch *other = weir_calloc(1, sizeof(*other));
    weir_require(batch->loan.memory.at == NULL);
    *other = *batch;
    other->frames.count = 0;
    weir_frames_share(&other->frames, &batch->frames);
    if (batch->published != NULL)
        other->published = weir_published_share(batch->published);
    other->hole_states = copy_of(weir_bytes(batch->hole_states, batch->holes * sizeof(uint32_t)));
    if (batch->failed > 0) {
        other->reason = weir_strdup(batch->reason);
        other->failures = copy_of(weir_bytes(batch->failures, sizeof(*batch->failures)));
    }
    if (batch->left != NULL)
        other->left = copy_of(weir_bytes(batch->left, sizeof(*batch->left)));
    return other;
}

/* ---- steps that are left ---- */

/* The form that a column has once its consumer has taken its steps. */
static struct weir_tensor_form finished(const struct worker_batch *batch, uint32_t tensor)
{
    struct weir_tensor_form form = preprocess_column_form(&batch->tensor[tensor]);
    for (size_t i = 0; i < batch->left->count; i++) {
        if (batch->left->of[i].tensor == tensor)
            weir_ignore(weir_tensor_step_form(&batch->left->of[i], &form, NULL)); /* as planned */
    }
    return form;
}

void preprocess_batch_leave_steps(struct worker_batch *batch, const struct weir_tensor_steps *steps)
{
    size_t frame = WEIR_BATCH_TENSORS;
    batch->left = weir_calloc(1, sizeof(*batch->left));
    *batch->left = *steps;
    for (uint32_t i = 0; i < batch->tensors; i++) {
        struct weir_tensor_form form = finished(batch, i);
        bool is_ragged = batch->tensor[i].kind == COLUMN_RAGGED;
        size_t offsets = is_ragged ? weir_frames_at(&batch->frames, frame++).size : 0;
        size_t values = weir_frames_at(&batch->frames, frame++).size;
        size_t elements = values / weir_dtype_bytes(batch->tensor[i].type);
        batch->bytes += weir_tensor_form_bytes(&form, batch->samples, elements);
        batch->bytes -= values + (form.is_ragged ? 0 : offsets);
    }
}

/* ---- in lent memory ---- */

static bool is_in_loan(const struct worker_batch *batch, size_t frame)
{
    return (batch->in_loan >> frame & 1) != 0;
}

void preprocess_batch_leave_loan(struct worker_batch *batch)
{
    for (size_t i = 0; i < batch->frames.count; i++) {
        struct weir_bytes frame = weir_frames_at(&batch->frames, i);
        if (is_in_loan(batch, i))
            weir_frames_replace(&batch->frames, i, copy_of(frame), frame.size);
    }
    batch->in_loan = 0;
    weir_loan_end(&batch->loan.memory, false);
}

static size_t room_for(const struct weir_frames *frames)
{
    size_t room = 0;
    for (size_t i = 0; i < frames->count; i++)
        room += worker_batch_step(weir_frames_at(frames, i).size);
    return room;
}

bool preprocess_batch_write(struct worker_batch *batch, uint64_t *written)
{
    struct weir_loan *loan = &batch->loan.memory;
    size_t at = 0;
    if (room_for(&batch->frames) > loan->size) {
        preprocess_batch_leave_loan(batch);
        return false;
    }
    for (size_t i = 0; i < batch->frames.count; i++) {
        struct weir_bytes frame = weir_frames_at(&batch->frames, i);
        weir_require(!is_in_loan(batch, i) || frame.at == loan->at + at);
        if (!is_in_loan(batch, i) && frame.size > 0)
            memcpy(loan->at + at, frame.at, frame.size);
        at += worker_batch_step(frame.size);
        written[i] = frame.size;
    }
    weir_loan_end(loan, true);
    return true;
}

/* ---- in published memory ---- */

void preprocess_batch_unpublish(struct worker_batch *batch)
{
    for (size_t i = 0; batch->published != NULL && i < batch->frames.count; i++) {
        struct weir_bytes frame = weir_frames_at(&batch->frames, i);
        weir_frames_replace(&batch->frames, i, copy_of(frame), frame.size);
    }
    weir_published_free(batch->published);
    batch->published = NULL;
}

/* Memory that is used again still has pieces of the batch before beside the frames of this one: another tenant's, or of
 * samples that are erased meanwhile. */
static void clear_until(const struct weir_published *published, size_t from, size_t until)
{
    memset(published->at + from, 0, until - from);
}

void preprocess_batch_publish(struct worker_batch *batch, struct weir_published *published)
{
    uint64_t written[WEIR_WIRE_FRAMES_MAX];
    size_t count = batch->frames.count, at = 0;
    if (batch->loan.memory.at != published->at || !preprocess_batch_write(batch, written)) {
        weir_published_free(published);
        return;
    }
    weir_frames_clear(&batch->frames);
    for (size_t i = 0; i < count; i++) {
        size_t next = at + worker_batch_step(written[i]);
        weir_frames_view(&batch->frames, published->at + at, written[i]);
        clear_until(published, at + written[i], next);
        at = next;
    }
    clear_until(published, at, published->size);
    batch->in_loan = 0;
    batch->published = published;
    if (!weir_published_seal(published))
        preprocess_batch_unpublish(batch);
}

/* ---- compressing ---- */

static void compress_frame(struct worker_batch *batch, size_t frame, enum weir_compression how)
{
    struct weir_bytes plain = weir_frames_at(&batch->frames, frame);
    size_t size = 0;
    void *bytes = weir_compress(how, plain, &size);
    if (bytes == NULL)
        return;
    batch->compression = how;
    batch->expanded[frame] = plain.size;
    weir_frames_replace(&batch->frames, frame, bytes, size);
}

void preprocess_batch_compress(struct worker_batch *batch, enum weir_compression how)
{
    size_t frame = WEIR_BATCH_TENSORS;
    if (how == WEIR_COMPRESSION_NONE)
        return;
    for (size_t i = 0; i < batch->tensors; i++) {
        if (batch->tensor[i].kind == COLUMN_RAGGED)
            frame++; /* its offsets */
        compress_frame(batch, frame++, how);
    }
}

uint64_t preprocess_batch_made_bytes(const struct worker_batch *batch)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->frames.count; i++)
        bytes +=
            batch->expanded[i] > 0 ? batch->expanded[i] : weir_frames_at(&batch->frames, i).size;
    return bytes;
}
