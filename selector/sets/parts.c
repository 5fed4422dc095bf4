/* Draws a part for each epoch, as positions among the candidates, and then counts among the drawn alone. */
#include "selector/sets/parts.h"

#include "core/base/memory.h"

#include <stdlib.h>

void selector_parts_fini(struct selector_parts *parts)
{
    free(parts->indices);
    *parts = (struct selector_parts){0};
}

static int by_value(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* False: given up. */
static bool draw_part(uint32_t *part, const struct selection_scored *scored,
                      const struct scoring_input *input, struct scoring_choice *scratch)
{
    if (!selector_scoring_choose(scored->method, scored->options, input, scratch))
        return false;
    weir_require(scratch->count == input->target);
    for (size_t n = 0; n < scratch->count; n++)
        part[n] = (uint32_t)scratch->chosen[n];
    qsort(part, scratch->count, sizeof(*part), by_value);
    return true;
}

/* Positions among `candidates` become indices among those that any part holds. */
static void unite(struct selector_parts *parts, size_t candidates, struct scoring_choice *choice)
{
    WEIR_AUTO_FREE uint32_t *index_of = weir_calloc(candidates, sizeof(*index_of));
    size_t all = parts->count * parts->samples;
    for (size_t i = 0; i < all; i++)
        index_of[parts->indices[i]] = 1;
    choice->count = 0;
    for (size_t at = 0; at < candidates; at++) {
        if (index_of[at] == 0)
            continue;
        index_of[at] = (uint32_t)choice->count;
        choice->chosen[choice->count] = at;
        choice->weights[choice->count++] = 1;
    }
    for (size_t i = 0; i < all; i++)
        parts->indices[i] = index_of[parts->indices[i]];
}

enum weir_status selector_parts_draw(struct selector_parts *parts,
                                     const struct selection_scored *scored,
                                     const struct scoring_input *input, uint64_t epochs,
                                     struct scoring_choice *choice, struct weir_error *err)
{
    if (input->count > UINT32_MAX || epochs > SELECTOR_PARTS_INDICES_MAX / input->target)
        return weir_fail(err, WEIR_LIMIT,
                         "%s: found %llu epochs of %zu among %zu samples, expected at most %d over "
                         "all epochs",
                         scored->method->name, (unsigned long long)epochs, input->target,
                         input->count, SELECTOR_PARTS_INDICES_MAX);
    parts->count = (uint32_t)epochs;
    parts->samples = input->target;
    parts->indices = weir_calloc(parts->count * parts->samples, sizeof(*parts->indices));
    for (uint32_t epoch = 0; epoch < parts->count; epoch++) {
        struct scoring_input of_epoch = *input;
        of_epoch.part = epoch;
        if (!scoring_goes_on(&input->progress, epoch, epochs) ||
            !draw_part(parts->indices + epoch * parts->samples, scored, &of_epoch, choice))
            return scoring_given_up(err);
    }
    unite(parts, input->count, choice);
    return WEIR_OK;
}
