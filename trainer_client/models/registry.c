/* To add a model: write model_NAME.c and name it here. Nothing else. */
#include "core/base/bytes.h"
#include "trainer_client/models/model.h"

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
