/* To add a model: write model_NAME.c and name it here. Nothing else. */
#include "core/base/bytes.h"
#include "core/wire/tensor.h"
#include "trainer_client/models/model.h"

#include <stdio.h>

// clang-format off
#define MODELS(X) X(linear) X(text_bag)
// clang-format on

#define X(name) extern const struct model model_##name;
MODELS(X)
#undef X

static const struct model *const MODEL[] = {
#define X(name) &model_##name,
    MODELS(X)
#undef X
};

static const char *const NAMES[] = {
#define X(name) #name,
    MODELS(X)
#undef X
        NULL,
};

size_t model_count(void)
{
    return WEIR_COUNT(MODEL);
}

const struct model *model_at(size_t index)
{
    return MODEL[index];
}

const struct model *model_find(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(MODEL); i++) {
        if (weir_str_equal(MODEL[i]->name, name))
            return MODEL[i];
    }
    return NULL;
}

const char *const *model_names(void)
{
    return NAMES;
}

void model_describe_tensors(const struct weir_batch *batch, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", "none");
    for (size_t i = 0; i < batch->tensor_count && used < size; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        int written = snprintf(text + used, size - used, "%s'%s' %s %s", i > 0 ? ", " : "",
                               tensor->name, tensor->offsets != NULL ? "ragged" : "dense",
                               weir_dtype_name((enum weir_dtype)tensor->type));
        used += written > 0 ? (size_t)written : size;
    }
}
