/* To add a model: write model_NAME.c and name it here. Nothing else. */
#include "core/base/bytes.h"
#include "trainer_client/models/model.h"

// clang-format off
#define MODELS(X) X(fm) X(linear) X(text_bag) X(text_embedding)
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

size_t trainer_model_block_count(const struct model *model)
{
    size_t count = 0;
    while (model->blocks[count].name != NULL)
        count++;
    return count;
}

uint32_t trainer_model_block_width(const struct model_plan *plan, size_t block)
{
    return plan->shape[block].columns * (plan->model->blocks[block].by_output ? plan->width : 1);
}

size_t trainer_model_block_at(const struct model_plan *plan, size_t block)
{
    size_t at = 0;
    for (size_t i = 0; i < block; i++)
        at += plan->shape[i].rows * trainer_model_block_width(plan, i);
    return at;
}

size_t trainer_model_floats(const struct model_plan *plan)
{
    return trainer_model_block_at(plan, trainer_model_block_count(plan->model));
}

void trainer_model_describe(const struct model_plan *plan, struct weir_model_file *file)
{
    file->block_count = trainer_model_block_count(plan->model);
    file->rows = file->block_count == 1 ? plan->shape[0].rows : 0;
    for (size_t i = 0; i < file->block_count; i++)
        file->blocks[i] = (struct weir_model_block){
            .name = plan->model->blocks[i].name,
            .rows = plan->shape[i].rows,
            .width = trainer_model_block_width(plan, i),
        };
}
