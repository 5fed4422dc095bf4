/* Reading tensors as groups and slices: see groups.h. */
#include "trainer_client/groups.h"

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/wire/tensor.h"
#include "trainer_client/models/tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One element of a tensor, if it is a whole number. */
static bool whole_number(const struct weir_tensor *tensor, const void *at, int64_t *ret_number)
{
    union {
        uint8_t u8;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        uint32_t u32;
    } element = {.i64 = 0};
    memcpy(&element, at, weir_dtype_bytes((enum weir_dtype)tensor->type));
    double real = tensor->type == WEIR_TENSOR_F32   ? (double)element.f32
                  : tensor->type == WEIR_TENSOR_F64 ? element.f64
                                                    : 0;
    *ret_number = tensor->type == WEIR_TENSOR_U8    ? element.u8
                  : tensor->type == WEIR_TENSOR_I32 ? element.i32
                  : tensor->type == WEIR_TENSOR_I64 ? element.i64
                  : tensor->type == WEIR_TENSOR_U32 ? element.u32
                                                    : 0;
    if (real == 0)
        return true;
    bool is_whole = fabs(real) < 0x1p53 && rint(real) == real;
    *ret_number = is_whole ? (int64_t)real : 0;
    return is_whole;
}

static int64_t group_of(const struct weir_tensor *tensor, size_t sample, size_t inner_bytes)
{
    size_t from = tensor->offsets == NULL ? sample : tensor->offsets[sample];
    size_t to = tensor->offsets == NULL ? sample + 1 : tensor->offsets[sample + 1];
    const uint8_t *at = (const uint8_t *)tensor->data + from * inner_bytes;
    size_t bytes = (to - from) * inner_bytes;
    int64_t number;
    if (bytes == weir_dtype_bytes((enum weir_dtype)tensor->type) &&
        whole_number(tensor, at, &number))
        return number;
    return (int64_t)(weir_hash64(weir_bytes(at, bytes), 0) >> 1);
}

bool trainer_groups_hide(const struct groups_wanted *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->slice_count; i++)
        if (strcmp(wanted->slices[i], name) == 0)
            return true;
    return strcmp(wanted->group, name) == 0;
}

static void hide(struct groups *groups, const struct groups_wanted *wanted,
                 const struct weir_batch *batch)
{
    if (batch->tensor_count > groups->tensors_max) {
        groups->tensors_max = batch->tensor_count;
        groups->tensors =
            weir_realloc(groups->tensors, groups->tensors_max, sizeof(*groups->tensors));
    }
    groups->rest = *batch;
    groups->rest.tensor_count = 0;
    groups->rest.tensors = groups->tensors;
    for (size_t i = 0; i < batch->tensor_count; i++)
        if (!trainer_groups_hide(wanted, batch->tensors[i].name))
            groups->tensors[groups->rest.tensor_count++] = batch->tensors[i];
}

/* Some room for a batch without samples, too. */
static void reserve(struct groups *groups, const struct groups_wanted *wanted, size_t samples)
{
    if (samples < groups->capacity)
        return;
    groups->capacity = samples + 1;
    if (wanted->group[0] != '\0')
        groups->at = weir_realloc(groups->at, groups->capacity, sizeof(*groups->at));
    if (wanted->slice_count > 0)
        groups->slices = weir_realloc(groups->slices, groups->capacity * wanted->slice_count,
                                      sizeof(*groups->slices));
}

/* Takes the value of each sample from the tensor called `name`, `stride` apart. */
static enum weir_status tell(const struct weir_batch *batch, const char *key, const char *name,
                             int64_t *into, size_t stride, struct weir_error *err)
{
    size_t at = 0;
    while (at < batch->tensor_count && strcmp(batch->tensors[at].name, name) != 0)
        at++;
    if (at == batch->tensor_count) {
        char found[200];
        trainer_tensors_describe(batch, found, sizeof(found));
        return weir_fail(err, WEIR_INVALID,
                         "training.%s: expected a tensor '%s', found %s: add an operator that "
                         "makes one",
                         key, name, found);
    }
    const struct weir_tensor *tensor = &batch->tensors[at];
    size_t inner = trainer_tensors_row_bytes(tensor);
    for (size_t i = 0; i < batch->samples; i++)
        into[i * stride] = group_of(tensor, i, inner);
    return WEIR_OK;
}

enum weir_status trainer_groups_take(struct groups *groups, const struct groups_wanted *wanted,
                                     const struct weir_batch *batch, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    reserve(groups, wanted, batch->samples);
    hide(groups, wanted, batch);
    if (wanted->group[0] != '\0')
        status = tell(batch, "group", wanted->group, groups->at, 1, err);
    for (size_t i = 0; i < wanted->slice_count && status == WEIR_OK; i++)
        status =
            tell(batch, "slices", wanted->slices[i], groups->slices + i, wanted->slice_count, err);
    return status;
}

void trainer_groups_fini(struct groups *groups)
{
    free(groups->at);
    free(groups->slices);
    free(groups->tensors);
    *groups = (struct groups){0};
}
