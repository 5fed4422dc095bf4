/* The arithmetic of selection.limit, ratio, tail_triggers and warmup_triggers. */
#include "orchestrator/pipeline/sizes.h"

#include <stdlib.h>

static const char *text_of(const struct weir_yaml_node *section, const char *key,
                           const char *fallback)
{
    const char *text = weir_yaml_text(weir_yaml_get(section, key));
    return text == NULL ? fallback : text;
}

/* A word instead of a number ("none", "all") is no bound. */
static uint64_t count_of(const struct weir_yaml_node *section, const char *key,
                         const char *fallback)
{
    char *end = NULL;
    const char *text = text_of(section, key, fallback);
    uint64_t count = strtoull(text, &end, 10);
    return end == text ? UINT64_MAX : count;
}

void orchestrator_set_sizes_read(const struct weir_yaml_node *selection,
                                 struct set_sizes *ret_sizes)
{
    *ret_sizes = (struct set_sizes){
        .limit = count_of(selection, "limit", "none"),
        .ratio = strtod(text_of(selection, "ratio", "1"), NULL),
        .tail = count_of(selection, "tail_triggers", "0"),
        .warmup = count_of(selection, "warmup_triggers", "0"),
    };
}

uint64_t orchestrator_set_sizes_at_most(const struct set_sizes *sizes, const uint64_t *samples_new,
                                        size_t count)
{
    uint64_t candidates = 0;
    size_t first =
        count > sizes->tail + 1 && sizes->tail != UINT64_MAX ? count - sizes->tail - 1 : 0;
    for (size_t i = first; i < count; i++)
        candidates += samples_new[i];
    if (count <= sizes->warmup)
        return candidates;
    uint64_t target = sizes->ratio < 1 ? (uint64_t)((double)candidates * sizes->ratio + 1e-6)
                                       : candidates; /* as the selector rounds */
    return sizes->limit < target ? sizes->limit : target;
}
