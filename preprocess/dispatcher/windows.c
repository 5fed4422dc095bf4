/* Bytes in flight of all trainers: what each may have, and what is shown of it. */
#include "preprocess/dispatcher/budget.h"
#include "preprocess/dispatcher/dispatcher.h"

static bool is_heard(const struct dispatcher_rank_state *rank, int64_t now_ms)
{
    return !rank->fitting && preprocess_rank_listens(rank, now_ms);
}

/* Needs of all trainers that are heard but this one. */
static size_t needs_of_others(const struct dispatcher *dispatcher,
                              const struct dispatcher_rank_state *asker, struct weir_arena *arena,
                              uint64_t **ret_needs)
{
    int64_t now_ms = weir_loop_now_ms(dispatcher->loop);
    size_t room = 1, count = 0;
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        room += dispatcher->entries[i]->ranks;
    *ret_needs = weir_arena_alloc(arena, room * sizeof(**ret_needs));
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        const struct dispatcher_entry *entry = dispatcher->entries[i];
        for (uint32_t k = 0; k < entry->ranks; k++) {
            const struct dispatcher_rank_state *rank = &entry->job.ranks[k];
            if (rank != asker && is_heard(rank, now_ms))
                (*ret_needs)[count++] = rank->window.need;
        }
    }
    return count;
}

uint64_t preprocess_dispatcher_memory(const struct dispatcher *dispatcher,
                                      const struct dispatcher_entry *entry, uint32_t rank,
                                      struct weir_arena *arena)
{
    uint64_t *needs, memory = entry->plan.options.batch.memory;
    uint64_t bound = (memory + entry->ranks - 1) / entry->ranks;
    if (dispatcher->batches_memory == 0)
        return bound;
    size_t count = needs_of_others(dispatcher, &entry->job.ranks[rank], arena, &needs);
    uint64_t part = preprocess_budget_part(dispatcher->batches_memory, needs, count);
    part = part > 0 ? part : 1;
    return bound > 0 && bound < part ? bound : part;
}

void preprocess_dispatcher_show_windows(const struct dispatcher *dispatcher,
                                        const struct dispatcher_entry *entry,
                                        struct weir_arena *arena, struct msg_plan_is *answer)
{
    size_t count = 0, room = entry->ranks * sizeof(uint64_t);
    uint64_t *bytes = weir_arena_alloc(arena, room), *needs = weir_arena_alloc(arena, room);
    uint64_t *batches = weir_arena_alloc(arena, room);
    const char **whys = weir_arena_alloc(arena, room);
    uint32_t *wanted = weir_arena_alloc(arena, room), *made = weir_arena_alloc(arena, room);
    uint32_t *spreads = weir_arena_alloc(arena, room);
    int64_t *lead_ns = weir_arena_alloc(arena, room);
    for (uint32_t i = 0; i < entry->ranks; i++) {
        const struct dispatcher_window *window = &entry->job.ranks[i].window;
        if (window->why[0] == '\0')
            continue;
        bytes[count] = window->bytes;
        needs[count] = window->need;
        batches[count] = window->batch;
        whys[count] = window->why;
        wanted[count] = preprocess_permille(window->wanted);
        made[count] = preprocess_permille(window->made);
        spreads[count] = preprocess_permille(window->spread);
        lead_ns[count++] = window->lead_ns;
    }
    answer->windows = (struct weir_u64s){bytes, count};
    answer->window_needs = (struct weir_u64s){needs, count};
    answer->window_batches = (struct weir_u64s){batches, count};
    answer->window_whys = (struct weir_strs){whys, count};
    answer->window_wanted = (struct weir_u32s){wanted, count};
    answer->window_made = (struct weir_u32s){made, count};
    answer->window_spreads = (struct weir_u32s){spreads, count};
    answer->window_lead_ns = (struct weir_i64s){lead_ns, count};
    answer->window_memory = dispatcher->batches_memory;
}
