/* See batch_steps.h. */
#include "trainer_client/batch_steps.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum weir_status trainer_batch_steps_plan(const struct weir_tensor_steps *steps, uint32_t tensor,
                                          uint64_t bytes_max, struct batch_finish *finish,
                                          struct weir_error *err)
{
    finish->made = finish->came;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->of[i].tensor != tensor)
            continue;
        enum weir_status status = weir_tensor_step_form(&steps->of[i], &finish->made, err);
        if (status != WEIR_OK)
            return status;
        finish->made_bytes = weir_tensor_form_bytes(&finish->made, finish->rows, finish->elements);
        if (finish->made_bytes > bytes_max)
            return weir_fail(err, WEIR_INVALID,
                             "a step makes %llu bytes of it, expected at most %llu",
                             (unsigned long long)finish->made_bytes, (unsigned long long)bytes_max);
    }
    return WEIR_OK;
}

void trainer_batch_steps_take(const struct weir_tensor_steps *steps, uint32_t tensor,
                              const struct batch_finish *finish, const void *values,
                              const uint32_t *offsets, void *to)
{
    size_t unit = weir_dtype_bytes(finish->came.type);
    uint64_t bytes = weir_tensor_form_bytes(&finish->came, finish->rows, finish->elements);
    void *aligned = NULL;
    if ((uintptr_t)values % unit != 0)
        aligned = weir_realloc(NULL, bytes + 1, 1);
    if (aligned != NULL)
        memcpy(aligned, values, bytes);
    struct weir_tensor_rows rows = {
        .count = finish->rows, .values = aligned != NULL ? aligned : values, .offsets = offsets};
    weir_tensor_steps_take(steps, tensor, finish->came, rows, to);
    free(aligned);
}
