/* Checks a received batch and lays it out. Everything a peer announces is compared with the bytes
 * that really came before it is used as a size or an index. */
#include "trainer_client/batch.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/wire/compression.h"
#include "core/wire/delivery.h"
#include "core/wire/sample.h"
#include "trainer_client/batch_steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)WEIR_TENSOR_U8 == (int)WEIR_U8 && (int)WEIR_TENSOR_I32 == (int)WEIR_I32 &&
                  (int)WEIR_TENSOR_I64 == (int)WEIR_I64 && (int)WEIR_TENSOR_F32 == (int)WEIR_F32 &&
                  (int)WEIR_TENSOR_F64 == (int)WEIR_F64 && (int)WEIR_TENSOR_U32 == (int)WEIR_U32,
              "tensor types of client.h are those of the wire");
static_assert((int)WEIR_LABELS_NONE == (int)WEIR_LABEL_NONE &&
                  (int)WEIR_LABELS_INT == (int)WEIR_LABEL_INT &&
                  (int)WEIR_LABELS_FLOAT == (int)WEIR_LABEL_FLOAT &&
                  (int)WEIR_LABELS_CLASS == (int)WEIR_LABEL_CLASS &&
                  (int)WEIR_LABELS_VALUES == (int)WEIR_LABEL_VALUES,
              "label types of client.h are the label kinds of the wire");
static_assert((int)WEIR_HOLE_ERASED == (int)WEIR_SAMPLE_ERASED &&
                  (int)WEIR_HOLE_GONE == (int)WEIR_SAMPLE_GONE &&
                  (int)WEIR_HOLE_FILTERED == (int)WEIR_SAMPLE_FILTERED &&
                  (int)WEIR_HOLE_FAILED == (int)WEIR_SAMPLE_FAILED,
              "reasons of holes of client.h are the sample states of the wire");

static size_t rounded(size_t size)
{
    return (size + WEIR_BATCH_ALIGNMENT - 1) / WEIR_BATCH_ALIGNMENT * WEIR_BATCH_ALIGNMENT;
}

static bool is_lent(const struct msg_batch *message)
{
    return message->loan.size > 0 || message->published != 0;
}

/* A frame whose bytes are others than they were. */
static bool is_compressed(const struct msg_batch *message, size_t frame)
{
    return frame < message->expanded.count && message->expanded.at[frame] != 0;
}

/* Bytes of a frame as it was. */
static size_t expanded_bytes(const struct msg_batch *message, const struct weir_frames *frames,
                             size_t frame)
{
    return is_compressed(message, frame) ? message->expanded.at[frame]
                                         : weir_frames_at(frames, frame).size;
}

/* Checks compressed frames before memory is taken: those with sizes and indices come as they are, and none of the rest
 * may expand to more than a socket would have taken. */
static enum weir_status check_compressed(const struct msg_batch *message,
                                         const struct weir_frames *frames, struct weir_error *err)
{
    uint64_t left = WEIR_RPC_MESSAGE_MAX;
    if (message->expanded.count > frames->count ||
        (is_lent(message) && message->expanded.count > 0))
        return weir_fail(err, WEIR_INVALID, "%zu compressed frames of %zu", message->expanded.count,
                         frames->count);
    for (size_t i = 0; i < message->expanded.count; i++) {
        uint64_t size = message->expanded.at[i];
        if (size == 0)
            continue;
        if (i < WEIR_BATCH_TENSORS || size > left ||
            !weir_may_expand(message->compression, weir_frames_at(frames, i), size))
            return weir_fail(err, WEIR_INVALID, "frame %zu cannot become %llu bytes", i,
                             (unsigned long long)size);
        left -= size;
    }
    return WEIR_OK;
}

static enum weir_status check_columns(const struct msg_batch *message,
                                      const struct weir_frames *frames, struct weir_error *err)
{
    size_t samples = message->samples, holes = message->hole_states.count;
    if (samples > DELIVERY_SAMPLES_MAX || holes > DELIVERY_SAMPLES_MAX)
        return weir_fail(err, WEIR_INVALID, "%zu samples and %zu holes, at most %d", samples, holes,
                         DELIVERY_SAMPLES_MAX);
    if (weir_frames_at(frames, WEIR_BATCH_IDS).size != samples * sizeof(uint64_t) ||
        weir_frames_at(frames, WEIR_BATCH_LABELS).size != samples * sizeof(int64_t))
        return weir_fail(err, WEIR_INVALID, "ids and labels: expected %zu of each", samples);
    size_t weights = weir_frames_at(frames, WEIR_BATCH_WEIGHTS).size;
    if (weights != 0 && weights != samples * sizeof(float))
        return weir_fail(err, WEIR_INVALID, "weights: expected none or %zu", samples);
    if (weir_frames_at(frames, WEIR_BATCH_HOLES).size != holes * sizeof(uint64_t))
        return weir_fail(err, WEIR_INVALID, "hole ids: expected %zu", holes);
    size_t tensors = message->names.count;
    if (message->types.count != tensors || message->ranks.count != tensors ||
        message->ragged.count != tensors)
        return weir_fail(err, WEIR_INVALID, "tensor columns differ in length");
    return WEIR_OK;
}

/* Elements that one step of the first dimension stands for. False when nobody could hold them. */
static bool row_elements(const uint64_t *shape, uint32_t rank, size_t *ret_elements)
{
    size_t elements = 1;
    for (uint32_t i = 1; i < rank; i++) {
        if (__builtin_mul_overflow(elements, shape[i], &elements))
            return false;
    }
    *ret_elements = elements;
    return true;
}

static enum weir_status check_offsets(struct weir_bytes offsets, size_t samples,
                                      uint64_t *ret_values, struct weir_error *err)
{
    if (offsets.size != (samples + 1) * sizeof(uint32_t))
        return weir_fail(err, WEIR_INVALID, "offsets: %zu bytes, expected %zu", offsets.size,
                         (samples + 1) * sizeof(uint32_t));
    uint32_t before = weir_get_u32(offsets.at);
    if (before != 0)
        return weir_fail(err, WEIR_INVALID, "offsets: the first is %u, expected 0", before);
    for (size_t i = 1; i <= samples; i++) {
        uint32_t offset = weir_get_u32(offsets.at + i * sizeof(offset));
        if (offset < before)
            return weir_fail(err, WEIR_INVALID, "offsets: number %zu goes down", i);
        before = offset;
    }
    *ret_values = before;
    return WEIR_OK;
}

/* One tensor of the message while the tensors are walked. */
struct cursor {
    const struct msg_batch *message;
    const struct weir_frames *frames;
    size_t tensor, dimension, frame;
    struct weir_bytes offsets, data; /* of the current tensor */
    size_t bytes;                    /* of its data, expanded */
    const uint64_t *shape;
    uint32_t rank;
    const struct weir_tensor_steps *steps;
    bool is_finished; /* it is as it came … */
    struct batch_finish finish;
    uint64_t bytes_max; /* … else it may become as many bytes as are left */
};

/* Works out what is to be made of a tensor that a worker has not finished. */
static enum weir_status cursor_finish(struct cursor *cursor, uint64_t elements,
                                      struct weir_error *err)
{
    struct weir_tensor_form *came = &cursor->finish.came;
    bool is_ragged = cursor->message->ragged.at[cursor->tensor] != 0;
    uint32_t rank = cursor->rank - 1;
    cursor->is_finished = weir_tensor_steps_of(cursor->steps, (uint32_t)cursor->tensor) == 0;
    if (cursor->is_finished)
        return WEIR_OK;
    if (rank > WEIR_TENSOR_ROW_RANK_MAX || (is_ragged && rank > 0))
        return weir_fail(err, WEIR_INVALID, "rank %u, expected no more where steps are left",
                         cursor->rank);
    *came = (struct weir_tensor_form){
        .type = (enum weir_dtype)cursor->message->types.at[cursor->tensor],
        .is_ragged = is_ragged,
        .rank = rank};
    memcpy(came->shape, cursor->shape + 1, rank * sizeof(*came->shape));
    cursor->finish.rows = cursor->message->samples;
    cursor->finish.elements = elements;
    enum weir_status status = trainer_batch_steps_plan(cursor->steps, (uint32_t)cursor->tensor,
                                                       cursor->bytes_max, &cursor->finish, err);
    if (status == WEIR_OK)
        cursor->bytes_max -= cursor->finish.made_bytes;
    return status;
}

/* Bytes of the tensor as the loop is shown it. */
static size_t shown_bytes(const struct cursor *cursor)
{
    return cursor->is_finished ? cursor->bytes : cursor->finish.made_bytes;
}

static enum weir_status cursor_check(struct cursor *cursor, struct weir_error *err)
{
    const struct msg_batch *message = cursor->message;
    size_t element = weir_dtype_bytes((enum weir_dtype)message->types.at[cursor->tensor]);
    cursor->rank = message->ranks.at[cursor->tensor];
    if (element == 0)
        return weir_fail(err, WEIR_INVALID, "unknown type %u", message->types.at[cursor->tensor]);
    if (cursor->rank == 0 || cursor->rank > WEIR_TENSOR_RANK_MAX ||
        cursor->rank > message->shape.count - cursor->dimension)
        return weir_fail(err, WEIR_INVALID, "rank %u, expected 1 to %d", cursor->rank,
                         WEIR_TENSOR_RANK_MAX);
    cursor->shape = message->shape.at + cursor->dimension;
    if (cursor->shape[0] != message->samples)
        return weir_fail(err, WEIR_INVALID, "first dimension %llu, expected %u samples",
                         (unsigned long long)cursor->shape[0], message->samples);
    uint64_t rows = message->samples;
    cursor->offsets = weir_bytes(NULL, 0);
    if (message->ragged.at[cursor->tensor] != 0) {
        if (is_compressed(message, cursor->frame))
            return weir_fail(err, WEIR_INVALID, "its offsets are compressed");
        cursor->offsets = weir_frames_at(cursor->frames, cursor->frame++);
        enum weir_status status = check_offsets(cursor->offsets, message->samples, &rows, err);
        if (status != WEIR_OK)
            return status;
    }
    cursor->bytes = expanded_bytes(message, cursor->frames, cursor->frame);
    cursor->data = weir_frames_at(cursor->frames, cursor->frame++);
    size_t bytes = 0;
    if (!row_elements(cursor->shape, cursor->rank, &bytes) ||
        __builtin_mul_overflow(bytes, rows * element, &bytes) || bytes != cursor->bytes)
        return weir_fail(err, WEIR_INVALID, "%zu bytes do not fit its shape", cursor->bytes);
    return cursor_finish(cursor, rows, err);
}

static enum weir_status cursor_next(struct cursor *cursor, struct weir_error *err)
{
    enum weir_status status = cursor_check(cursor, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "tensor '%s'",
                               cursor->message->names.at[cursor->tensor]);
    cursor->dimension += cursor->rank;
    cursor->tensor++;
    return WEIR_OK;
}

/* Vectors of labels are the last frame. */
static enum weir_status measure_values(const struct msg_batch *message,
                                       const struct weir_frames *frames, size_t *frame,
                                       size_t *bytes, struct weir_error *err)
{
    if ((message->label_kind == WEIR_LABEL_VALUES) != (message->label_width > 0) ||
        message->label_width > WEIR_LABEL_WIDTH_MAX)
        return weir_fail(err, WEIR_INVALID, "labels of kind %u with %u numbers",
                         message->label_kind, message->label_width);
    if (message->label_width == 0)
        return WEIR_OK;
    size_t expected = (size_t)message->samples * message->label_width * sizeof(float);
    size_t found = is_compressed(message, *frame) ? 0 : weir_frames_at(frames, *frame).size;
    (*frame)++;
    *bytes += rounded(expected);
    return found == expected
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "labels of %u numbers: %zu bytes, expected %zu",
                           message->label_width, found, expected);
}

/* Before the first tensor; what is made of those that are not finished is no more than a socket would have taken. */
static struct cursor cursor_begin(const struct msg_batch *message, const struct weir_frames *frames,
                                  const struct weir_tensor_steps *steps)
{
    return (struct cursor){.message = message,
                           .frames = frames,
                           .frame = WEIR_BATCH_TENSORS,
                           .steps = steps,
                           .bytes_max = WEIR_RPC_MESSAGE_MAX};
}

/* Checks all tensors and counts the bytes that they and their names take. */
static enum weir_status measure(const struct msg_batch *message, const struct weir_frames *frames,
                                const struct weir_tensor_steps *steps, size_t *ret_bytes,
                                struct weir_error *err)
{
    struct cursor cursor = cursor_begin(message, frames, steps);
    uint64_t made = 0;
    size_t bytes =
        rounded(sizeof(struct batch)) + rounded(message->names.count * sizeof(struct weir_tensor));
    while (cursor.tensor < message->names.count) {
        enum weir_status status = cursor_next(&cursor, err);
        if (status != WEIR_OK)
            return status;
        bytes += rounded(strlen(message->names.at[cursor.tensor - 1]) + 1);
        bytes += rounded(cursor.offsets.size);
        bytes += is_lent(message) ? 0 : rounded(shown_bytes(&cursor));
        made += cursor.is_finished ? 0 : cursor.finish.made_bytes;
    }
    if (made > message->bytes)
        return weir_fail(err, WEIR_INVALID, "its steps make %llu bytes, expected at most %llu",
                         (unsigned long long)made, (unsigned long long)message->bytes);
    enum weir_status status = measure_values(message, frames, &cursor.frame, &bytes, err);
    if (status != WEIR_OK)
        return status;
    if (cursor.frame != frames->count || cursor.dimension != message->shape.count)
        return weir_fail(err, WEIR_INVALID, "%zu frames and %zu dimensions, expected %zu and %zu",
                         frames->count, message->shape.count, cursor.frame, cursor.dimension);
    size_t columns = 3 * sizeof(uint64_t) + 2 * sizeof(uint32_t);
    bytes += columns * ((size_t)message->samples + message->hole_states.count) +
             (size_t)5 * WEIR_BATCH_ALIGNMENT;
    *ret_bytes = bytes;
    return WEIR_OK;
}

/* Hands out the block, piece by piece. */
static void *carve(uint8_t **at, const void *bytes, size_t size)
{
    void *piece = *at;
    if (size > 0 && bytes != NULL)
        memcpy(piece, bytes, size);
    *at += rounded(size);
    return piece;
}

static void *carve_frame(uint8_t **at, const struct weir_frames *frames, size_t index)
{
    struct weir_bytes frame = weir_frames_at(frames, index);
    return carve(at, frame.at, frame.size);
}

static const float *carve_weights(uint8_t **at, const struct weir_frames *frames, size_t samples)
{
    struct weir_bytes given = weir_frames_at(frames, WEIR_BATCH_WEIGHTS);
    float *weights = carve(at, given.size > 0 ? given.at : NULL, samples * sizeof(float));
    for (size_t i = 0; i < samples && given.size == 0; i++)
        weights[i] = 1.0f;
    return weights;
}

static double add_up(const float *weights, size_t samples)
{
    double sum = 0.0;
    for (size_t i = 0; i < samples; i++)
        sum += (double)weights[i];
    return sum;
}

/* Returns the elements of the longest row, or `least` when none has more; `offsets` NULL: it has no rows. */
static uint64_t longest_row(const uint32_t *offsets, size_t samples, uint64_t least)
{
    uint64_t longest = least;
    for (size_t i = 0; i < samples && offsets != NULL; i++) {
        uint32_t length = offsets[i + 1] - offsets[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* The data of the tensor that the cursor has passed, in the block; NULL when it is not what it was compressed from. */
static void *carve_data(uint8_t **at, const struct cursor *cursor)
{
    const struct msg_batch *message = cursor->message;
    if (!is_compressed(message, cursor->frame - 1))
        return carve(at, cursor->data.at, cursor->data.size);
    void *data = carve(at, NULL, cursor->bytes);
    return weir_expand(message->compression, cursor->data, data, cursor->bytes) ? data : NULL;
}

/* The same of a tensor with steps left. `*steps_ns` grows by the CPU time that they take. */
static void *carve_made(uint8_t **at, const struct cursor *cursor, const uint32_t *offsets,
                        int64_t *steps_ns)
{
    const struct msg_batch *message = cursor->message;
    const void *values = cursor->data.at;
    WEIR_AUTO_FREE char *expanded = NULL;
    if (is_compressed(message, cursor->frame - 1)) {
        values = expanded = weir_realloc(NULL, cursor->bytes + 1, 1);
        if (!weir_expand(message->compression, cursor->data, expanded, cursor->bytes))
            return NULL;
    }
    int64_t begun_ns = weir_cpu_thread_ns();
    void *made = carve(at, NULL, cursor->finish.made_bytes);
    trainer_batch_steps_take(cursor->steps, (uint32_t)cursor->tensor - 1, &cursor->finish, values,
                             offsets, made);
    *steps_ns += weir_cpu_thread_ns() - begun_ns;
    return made;
}

/* Describes the tensor that the cursor has passed as it came, or was made. */
static struct weir_tensor tensor_of(const struct cursor *cursor)
{
    const struct weir_tensor_form *made = &cursor->finish.made;
    struct weir_tensor tensor = {
        .type = (enum weir_tensor_type)cursor->message->types.at[cursor->tensor - 1],
        .rank = cursor->rank,
        .bytes = shown_bytes(cursor),
    };
    memcpy(tensor.shape, cursor->shape, cursor->rank * sizeof(*cursor->shape));
    if (cursor->is_finished)
        return tensor;
    tensor.type = (enum weir_tensor_type)made->type;
    tensor.rank = made->rank + 1;
    memcpy(tensor.shape + 1, made->shape, made->rank * sizeof(*made->shape));
    return tensor;
}

/* Lays out the data of the tensor that the cursor has passed. False when it is compressed and broken. */
static bool fill_data(const struct cursor *cursor, struct batch *batch, struct weir_tensor *tensor,
                      uint8_t **at)
{
    const uint32_t *offsets = NULL;
    if (cursor->offsets.at != NULL)
        offsets = carve(at, cursor->offsets.at, cursor->offsets.size);
    if (cursor->is_finished)
        tensor->data = is_lent(cursor->message) ? cursor->data.at : carve_data(at, cursor);
    else
        tensor->data = carve_made(at, cursor, offsets, &batch->steps_ns);
    tensor->offsets = cursor->is_finished || cursor->finish.made.is_ragged ? offsets : NULL;
    return tensor->data != NULL || tensor->bytes == 0;
}

/* False when a compressed tensor is broken. */
static bool fill_tensors(struct batch *batch, struct cursor cursor, uint8_t **at)
{
    const struct msg_batch *message = cursor.message;
    struct weir_tensor *tensors = carve(at, NULL, message->names.count * sizeof(*tensors));
    for (size_t i = 0; i < message->names.count; i++) {
        weir_ignore(cursor_next(&cursor, NULL)); /* measure() has seen it succeed */
        const char *name = message->names.at[i];
        tensors[i] = tensor_of(&cursor);
        tensors[i].name = carve(at, name, strlen(name) + 1);
        if (!fill_data(&cursor, batch, &tensors[i], at))
            return false;
        batch->lent.longest =
            longest_row(tensors[i].offsets, message->samples, batch->lent.longest);
    }
    batch->shown.tensors = tensors;
    batch->shown.tensor_count = message->names.count;
    return true;
}

static void fill_lent(struct batch *batch, const struct msg_batch *message)
{
    batch->lent.job = message->job;
    batch->lent.attempt = message->attempt;
    batch->lent.session = message->session;
    batch->lent.worker_session = message->worker_session;
    batch->lent.number = message->batch;
    batch->lent.group = message->group;
    batch->lent.fence = message->fence;
    batch->lent.erasure_epoch = message->erasure_epoch;
    batch->lent.bytes = message->bytes;
    batch->lent.sent = message->sent;
    batch->lent.samples = message->samples;
    batch->lent.hole_count = message->hole_states.count;
    batch->lent.payload = batch;
}

bool trainer_batch_frame_is_offsets(const struct msg_batch *message, size_t frame)
{
    size_t at = WEIR_BATCH_TENSORS;
    for (size_t i = 0; i < message->ragged.count && at <= frame; i++) {
        bool is_ragged = message->ragged.at[i] != 0;
        if (is_ragged && at == frame)
            return true;
        at += is_ragged ? 2 : 1;
    }
    return false;
}

/* Everything that laying out takes for granted; *ret_bytes: what the batch will take. */
static enum weir_status check(const struct msg_batch *message, const struct weir_frames *frames,
                              struct weir_tensor_steps *ret_steps, size_t *ret_bytes,
                              struct weir_error *err)
{
    enum weir_status status = check_compressed(message, frames, err);
    if (status == WEIR_OK)
        status = check_columns(message, frames, err);
    if (status == WEIR_OK)
        status = weir_tensor_steps_read(message->steps, message->names.count, ret_steps, err);
    if (status == WEIR_OK && ret_steps->count > 0 && is_lent(message))
        status = weir_fail(err, WEIR_INVALID, "steps are left of what lies in lent memory");
    if (status == WEIR_OK)
        status = measure(message, frames, ret_steps, ret_bytes, err);
    return status;
}

/* Lays out what a batch has of each sample, beside its tensors. */
static void fill_samples(struct batch *batch, const struct msg_batch *message,
                         const struct weir_frames *frames, uint8_t **at)
{
    batch->lent.ids = carve_frame(at, frames, WEIR_BATCH_IDS);
    batch->lent.holes = carve_frame(at, frames, WEIR_BATCH_HOLES);
    batch->lent.hole_states =
        carve(at, message->hole_states.at, message->hole_states.count * sizeof(uint32_t));
    batch->shown.number = message->batch;
    batch->shown.samples = message->samples;
    batch->shown.holes = message->hole_states.count;
    batch->shown.hole_ids = batch->lent.holes;
    batch->shown.hole_kinds = batch->lent.hole_states;
    batch->shown.ids = batch->lent.ids;
    batch->shown.labels = carve_frame(at, frames, WEIR_BATCH_LABELS);
    batch->shown.label_type = (enum weir_label_type)message->label_kind;
    batch->shown.weights = carve_weights(at, frames, message->samples);
    batch->lent.weight = add_up(batch->shown.weights, message->samples);
}

enum weir_status trainer_batch_lay_out(const struct msg_batch *message,
                                       const struct weir_frames *frames, struct batch **ret_batch,
                                       struct weir_error *err)
{
    size_t bytes = 0;
    struct weir_tensor_steps steps;
    enum weir_status status = check(message, frames, &steps, &bytes, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "batch %llu", (unsigned long long)message->batch);
    struct batch *batch = weir_aligned_alloc(bytes);
    uint8_t *at = (uint8_t *)batch + rounded(sizeof(*batch));
    memset(batch, 0, sizeof(*batch));
    batch->slot = -1;
    fill_lent(batch, message);
    fill_samples(batch, message, frames, &at);
    if (!fill_tensors(batch, cursor_begin(message, frames, &steps), &at)) {
        free(batch);
        return weir_fail(err, WEIR_INVALID, "batch %llu: a compressed tensor is broken",
                         (unsigned long long)message->batch);
    }
    batch->shown.label_width = message->label_width;
    if (message->label_width > 0)
        batch->shown.label_values = carve_frame(&at, frames, frames->count - 1);
    weir_require(at <= (uint8_t *)batch + bytes);
    *ret_batch = batch;
    return WEIR_OK;
}
