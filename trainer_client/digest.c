/* A table of a batch's parts, each by its digest, and the digest of that table: see digest.h. */
#include "trainer_client/digest.h"

#include "core/base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* Names the layout of docs/reference/batch-digest.md: it changes with the layout. */
static const char MAGIC[] = "WeirBD01";

struct hole {
    uint64_t id, kind;
};

static int compare_holes(const void *left, const void *right)
{
    const struct hole *one = left, *other = right;

    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    return (one->kind > other->kind) - (one->kind < other->kind);
}

static void append_digest(struct weir_buf *table, const void *bytes, size_t size)
{
    struct weir_digest digest = weir_digest_of(weir_bytes(bytes, size));

    weir_buf_append(table, digest.bytes, sizeof(digest.bytes));
}

/* In ascending order: a plan may find them in another one. */
static void append_holes(struct weir_buf *table, const struct weir_batch *batch)
{
    WEIR_AUTO_BUF pairs = {0};

    for (size_t i = 0; i < batch->holes; i++)
        weir_buf_append(&pairs, &(struct hole){batch->hole_ids[i], batch->hole_kinds[i]},
                        sizeof(struct hole));
    if (batch->holes > 1)
        qsort(pairs.at, batch->holes, sizeof(struct hole), compare_holes);
    append_digest(table, pairs.at, pairs.size);
}

static void append_tensor(struct weir_buf *table, const struct weir_batch *batch,
                          const struct weir_tensor *tensor)
{
    size_t offsets = tensor->offsets != NULL ? (batch->samples + 1) * sizeof(*tensor->offsets) : 0;

    weir_buf_append_u32(table, (uint32_t)strlen(tensor->name));
    weir_buf_append_text(table, tensor->name);
    weir_buf_append_u32(table, tensor->type);
    weir_buf_append_u32(table, tensor->rank);
    for (uint32_t i = 0; i < tensor->rank; i++)
        weir_buf_append_u64(table, tensor->shape[i]);
    append_digest(table, tensor->offsets, offsets);
    append_digest(table, tensor->data, tensor->bytes);
}

struct weir_digest trainer_digest_of(const struct weir_batch *batch)
{
    WEIR_AUTO_BUF table = {0};

    weir_buf_append_text(&table, MAGIC);
    weir_buf_append_u64(&table, batch->epoch);
    weir_buf_append_u64(&table, batch->number);
    weir_buf_append_u64(&table, batch->samples);
    weir_buf_append_u64(&table, batch->holes);
    weir_buf_append_u32(&table, batch->label_type);
    weir_buf_append_u32(&table, (uint32_t)batch->label_width);
    append_digest(&table, batch->ids, batch->samples * sizeof(*batch->ids));
    append_digest(&table, batch->labels, batch->samples * sizeof(*batch->labels));
    append_digest(&table, batch->label_values,
                  batch->samples * batch->label_width * sizeof(*batch->label_values));
    append_digest(&table, batch->weights, batch->samples * sizeof(*batch->weights));
    append_holes(&table, batch);
    weir_buf_append_u64(&table, batch->tensor_count);
    for (size_t i = 0; i < batch->tensor_count; i++)
        append_tensor(&table, batch, &batch->tensors[i]);
    return weir_digest_of(weir_buf_view(&table));
}
