/* To add a model: write model_NAME.c and name it here. Nothing else. */
#include "core/base/bytes.h"
#include "core/wire/tensor.h"
#include "trainer_client/models/model.h"

#include <stdio.h>

// clang-format off
#define MODELS(X) X(linear) X(text_bag)
// clang-format on

#define X(name) extern const struct model trainer_model_##name;
MODELS(X)
#undef X

static const struct cfg_plugin *const ALL[] = {
#define X(name) &trainer_model_##name.plugin,
    MODELS(X)
#undef X
};

const struct cfg_registry TRAINER_MODELS = {
    .what = "model",
    .key = "name",
    .expected = "a name, or {name: NAME, its options}",
    .takes_name = true,
    .at = ALL,
    .count = WEIR_COUNT(ALL),
};

void trainer_model_describe_tensors(const struct weir_batch *batch, char *text, size_t size)
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
