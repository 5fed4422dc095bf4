/* Labels that are vectors, in an answer: see serve.h. */
#include "storage/chunks/label_values.h"
#include "storage/reading/serve.h"

#include "core/base/memory.h"

#include <string.h>

static const struct declaration *declaration_of(const struct store *store, uint64_t id)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));

    return dataset != NULL ? dataset->declaration : NULL;
}

static bool are_alike(const struct declaration *a, const struct declaration *b)
{
    return a->label_width == b->label_width && a->value_type == b->value_type;
}

/* Ids from the first on whose labels are alike; what is unknown is like anything. */
static size_t alike(const struct store *store, const struct weir_u64s *ids,
                    const struct declaration **ret_like)
{
    uint32_t dataset = 0;

    *ret_like = NULL;
    for (size_t i = 0; i < ids->count; i++) {
        const struct declaration *d;

        if (weir_sample_dataset(ids->at[i]) == dataset)
            continue;
        dataset = weir_sample_dataset(ids->at[i]);
        d = declaration_of(store, ids->at[i]);
        if (d != NULL && *ret_like && !are_alike(*ret_like, d))
            return i;
        *ret_like = *ret_like != NULL ? *ret_like : d;
    }
    return ids->count;
}

size_t storage_answer_values_open(const struct store *store, const struct weir_u64s *ids,
                                  struct weir_arena *arena, struct answer_values *ret_values)
{
    const struct declaration *d;
    size_t count = alike(store, ids, &d);
    size_t rows_max = d != NULL ? storage_values_rows(d, ANSWER_VALUES_BYTES) : count;

    *ret_values = (struct answer_values){0};
    if (d == NULL || d->label_width == 0)
        return count;
    count = count < rows_max ? count : rows_max;
    ret_values->width = d->label_width;
    ret_values->type = d->value_type;
    ret_values->row_bytes = storage_declaration_value_bytes(d);
    ret_values->at = weir_arena_alloc(arena, count * ret_values->row_bytes + 1);
    ret_values->all = weir_bytes(ret_values->at, count * ret_values->row_bytes);
    return count;
}

void storage_answer_values_put(struct answer_values *values, size_t i, const struct located *found)
{
    if (found->values.size > 0)
        memcpy(values->at + i * values->row_bytes, found->values.at, values->row_bytes);
}

void storage_answer_values_drop(struct answer_values *values, size_t i)
{
    if (values->row_bytes > 0)
        memset(values->at + i * values->row_bytes, 0, values->row_bytes);
}
