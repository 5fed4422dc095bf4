/* Columns to lists. */
#include "preprocess/plan/tensors.h"

#include "core/base/memory.h"

void preprocess_tensors_bounds_before(const struct chain *chain, struct tensor_bounds *bounds)
{
    size_t count = preprocess_chain_outputs(chain);
    struct tensor_bounds found = {.count = count};
    bool is_any = false;
    for (size_t i = 0; i < count; i++) {
        found.below[i] = preprocess_chain_output_below_before(chain, i);
        is_any = is_any || found.below[i] > 0;
    }
    if (is_any)
        *bounds = found;
}

void preprocess_tensors_tell(const struct chain *chain, const struct tensor_bounds *before,
                             struct weir_arena *arena, struct msg_client_opened *message)
{
    size_t count = preprocess_chain_outputs(chain), told = 0;
    const char **names = weir_arena_alloc(arena, count * sizeof(*names));
    uint32_t *types = weir_arena_alloc(arena, count * sizeof(*types));
    uint32_t *ranks = weir_arena_alloc(arena, count * sizeof(*ranks));
    uint32_t *extents =
        weir_arena_alloc(arena, count * WEIR_TENSOR_ROW_RANK_MAX * sizeof(*extents));
    uint64_t *below = weir_arena_alloc(arena, count * sizeof(*below));
    for (size_t i = 0; i < count; i++) {
        const struct column_about *about = preprocess_chain_output_about(chain, i);
        struct weir_tensor_form form = preprocess_column_form(about);
        names[i] = about->name;
        types[i] = form.type;
        ranks[i] = form.rank;
        below[i] = preprocess_chain_output_below(chain, i);
        for (size_t k = 0; k < form.rank; k++)
            extents[told++] = (uint32_t)form.shape[k];
    }
    message->tensors = (struct weir_strs){names, count};
    message->tensor_types = (struct weir_u32s){types, count};
    message->tensor_ranks = (struct weir_u32s){ranks, count};
    message->tensor_extents = (struct weir_u32s){extents, told};
    message->tensors_below = (struct weir_u64s){below, count};
    message->tensors_below_before = (struct weir_u64s){before->below, before->count};
}
