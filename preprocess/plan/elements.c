/* Columns to lists. */
#include "preprocess/plan/elements.h"

#include "core/base/memory.h"

void preprocess_elements_tell(const struct chain *chain, struct weir_arena *arena,
                              struct msg_client_opened *message)
{
    const char **tensors = weir_arena_alloc(arena, COLUMNS_MAX * sizeof(*tensors));
    uint32_t *counts = weir_arena_alloc(arena, COLUMNS_MAX * sizeof(*counts));
    const char **names = weir_arena_alloc(arena, COLUMN_ELEMENTS_MAX * sizeof(*names));
    size_t count = 0, told = 0;
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++) {
        const struct column_about *about = preprocess_chain_output_about(chain, i);
        if (about->elements == NULL || about->width > COLUMN_ELEMENTS_MAX - told)
            continue;
        tensors[count] = about->name;
        counts[count++] = about->width;
        for (size_t k = 0; k < about->width; k++)
            names[told++] = about->elements[k] != NULL ? about->elements[k] : "";
    }
    message->named_tensors = (struct weir_strs){tensors, count};
    message->named_elements = (struct weir_u32s){counts, count};
    message->element_names = (struct weir_strs){names, told};
}
