/* Finished batches that other jobs need as well. */
#include "preprocess/worker/window.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

void preprocess_window_init(struct window *window, uint64_t bytes_max, void (*drop)(void *payload))
{
    *window = (struct window){.bytes_max = bytes_max, .drop = drop};
}

void preprocess_window_fini(struct window *window)
{
    preprocess_window_clear(window);
    free(window->of);
    *window = (struct window){0};
}

void preprocess_window_sweep(struct window *window,
                             bool (*is_needed)(const void *owner, const struct window_entry *entry),
                             const void *owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < window->count; i++) {
        if (is_needed(owner, &window->of[i])) {
            window->of[kept++] = window->of[i];
            continue;
        }
        window->bytes -= window->of[i].bytes;
        window->drop(window->of[i].payload);
    }
    window->count = kept;
}

static bool is_nothing_needed(const void *owner, const struct window_entry *entry)
{
    (void)owner, (void)entry;
    return false;
}

void preprocess_window_clear(struct window *window)
{
    preprocess_window_sweep(window, is_nothing_needed, NULL);
}

static bool is_live(const void *owner, const struct window_entry *entry)
{
    const struct worker_flow *flow = owner;
    size_t i = 0;
    while (i < entry->id_count && !preprocess_flow_is_erased(flow, entry->ids[i]))
        i++;
    return i == entry->id_count;
}

void preprocess_window_drop_erased(struct window *window, const struct worker_flow *flow)
{
    preprocess_window_sweep(window, is_live, flow);
}

/* Makes room (rule 2). */
static void drop_oldest(struct window *window)
{
    window->bytes -= window->of[0].bytes;
    window->drop(window->of[0].payload);
    memmove(&window->of[0], &window->of[1], --window->count * sizeof(*window->of));
}

void preprocess_window_add(struct window *window, const struct worker_flow *flow,
                           const struct window_entry *entry)
{
    if (entry->bytes > window->bytes_max || !is_live(flow, entry) ||
        preprocess_window_find(window, &entry->key) != NULL) {
        window->drop(entry->payload);
        return;
    }
    while (window->bytes + entry->bytes > window->bytes_max || window->count == WINDOW_BATCHES_MAX)
        drop_oldest(window);
    window->of = weir_grow(window->of, window->count, &window->capacity, sizeof(*window->of));
    window->of[window->count++] = *entry;
    window->bytes += entry->bytes;
}

void *preprocess_window_find(const struct window *window, const struct window_key *key)
{
    for (size_t i = window->count; i-- > 0;) {
        const struct window_key *its = &window->of[i].key;
        if (its->batch == key->batch && its->production == key->production &&
            its->rank == key->rank)
            return window->of[i].payload;
    }
    return NULL;
}

uint64_t preprocess_window_reach(const struct window *window, uint64_t bytes)
{
    uint64_t most = bytes > 0 ? window->bytes_max / bytes : WINDOW_BATCHES_MAX;
    return most < WINDOW_BATCHES_MAX ? most : WINDOW_BATCHES_MAX;
}
