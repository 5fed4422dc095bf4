/* Lists to tensors. */
#include "trainer_client/announced.h"

#include "core/wire/tensor_step.h"

#include <string.h>

static bool is_known(uint32_t type)
{
    return weir_dtype_bytes((enum weir_dtype)type) > 0;
}

static bool fits(const struct msg_client_opened *opened)
{
    size_t count = opened->tensors.count, told = 0;
    size_t before = opened->tensors_below_before.count;
    if (opened->tensor_types.count != count || opened->tensor_ranks.count != count ||
        opened->tensors_below.count != count || (before != count && before != 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t rank = opened->tensor_ranks.at[i];
        if (rank > WEIR_TENSOR_ROW_RANK_MAX || !is_known(opened->tensor_types.at[i]))
            return false;
        told += rank;
    }
    return told == opened->tensor_extents.count;
}

enum weir_status trainer_announced_take(struct announced *announced,
                                        const struct groups_wanted *hidden,
                                        const struct msg_client_opened *opened,
                                        struct weir_error *err)
{
    const uint32_t *extents = opened->tensor_extents.at;
    const struct weir_u64s *before = &opened->tensors_below_before;
    if (!fits(opened))
        return weir_fail(err, WEIR_INVALID, "client_opened: impossible lists of tensors");
    trainer_announced_fini(announced);
    enum weir_status status = trainer_elements_take(&announced->elements, opened, err);
    if (status != WEIR_OK)
        return status;
    announced->arena = weir_arena_new();
    announced->tensors =
        weir_arena_alloc(announced->arena, opened->tensors.count * sizeof(*announced->tensors));
    for (size_t i = 0; i < opened->tensors.count; extents += opened->tensor_ranks.at[i++]) {
        const char *name = opened->tensors.at[i];
        if (hidden != NULL && trainer_groups_hide(hidden, name))
            continue;
        struct weir_client_tensor *tensor = &announced->tensors[announced->count++];
        *tensor = (struct weir_client_tensor){
            .name = weir_arena_copy(announced->arena, name, strlen(name) + 1),
            .type = (enum weir_tensor_type)opened->tensor_types.at[i],
            .rank = opened->tensor_ranks.at[i],
            .is_ragged = opened->tensor_ranks.at[i] == 0,
            .below = opened->tensors_below.at[i],
            .below_before = before->count > 0 ? before->at[i] : 0,
        };
        for (uint32_t k = 0; k < tensor->rank; k++)
            tensor->shape[k] = extents[k];
    }
    return WEIR_OK;
}

void trainer_announced_fini(struct announced *announced)
{
    weir_arena_free(announced->arena);
    trainer_elements_fini(&announced->elements);
    *announced = (struct announced){0};
}
