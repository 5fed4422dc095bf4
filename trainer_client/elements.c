/* Lists to names. */
#include "trainer_client/elements.h"

#include <string.h>

static bool fits(const struct msg_client_opened *opened)
{
    size_t told = opened->element_names.count, sum = 0;
    for (size_t i = 0; i < opened->named_elements.count && sum <= told; i++)
        sum += opened->named_elements.at[i];
    return opened->named_tensors.count == opened->named_elements.count && sum == told;
}

static const char *const *copy_names(struct weir_arena *arena, const char *const *from,
                                     size_t count)
{
    const char **names = weir_arena_alloc(arena, count * sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = weir_arena_copy(arena, from[i], strlen(from[i]) + 1);
    return names;
}

enum weir_status trainer_elements_take(struct elements *elements,
                                       const struct msg_client_opened *opened,
                                       struct weir_error *err)
{
    size_t at = 0, count = opened->named_tensors.count;
    if (!fits(opened))
        return weir_fail(err, WEIR_INVALID, "client_opened: impossible names of elements");
    trainer_elements_fini(elements);
    elements->arena = weir_arena_new();
    elements->tensors = weir_arena_alloc(elements->arena, count * sizeof(*elements->tensors));
    for (size_t i = 0; i < count; i++) {
        size_t width = opened->named_elements.at[i];
        elements->tensors[elements->count++] = (struct named_tensor){
            .name = *copy_names(elements->arena, &opened->named_tensors.at[i], 1),
            .names = copy_names(elements->arena, opened->element_names.at + at, width),
            .count = width,
        };
        at += width;
    }
    return WEIR_OK;
}

const char *trainer_elements_name(const struct elements *elements, const char *tensor,
                                  uint64_t index)
{
    for (size_t i = 0; i < elements->count; i++) {
        const struct named_tensor *named = &elements->tensors[i];
        if (strcmp(named->name, tensor) == 0 && index < named->count)
            return named->names[index][0] != '\0' ? named->names[index] : NULL;
    }
    return NULL;
}

void trainer_elements_fini(struct elements *elements)
{
    weir_arena_free(elements->arena);
    *elements = (struct elements){0};
}
