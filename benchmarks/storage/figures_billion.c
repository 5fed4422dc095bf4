/* Looking up a subject among a billion samples, simulated: the runs that the merge policy leaves are there
 * with their fences and filters, and a segment is made up when a look-up asks for it. What Postgres would
 * take to hand out the same segments is not in it. */
#include "benchmarks/storage/bench.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/keys/key_index.h"
#include "storage/keys/sorted_run_policy.h"

#include <stdlib.h>

enum { BATCHES = 1000, BATCH_ENTRIES = 1 << 20, RUNS_MAX = 64, LOOKUPS = 100, SEED = 20260105 };

struct billion {
    struct key_budget budget;
    struct key_index index;
    struct weir_buf packed;
};

/* Entry `place` of a run: its hashes lie evenly, each somewhere in its own step. */
static struct sorted_run_entry entry_at(const struct sorted_run *run, uint64_t place)
{
    uint64_t step = UINT64_MAX / run->count;
    uint64_t somewhere = weir_mix64(run->number << 32 ^ place) % step;
    return (struct sorted_run_entry){.hash = place * step + somewhere, .id = place};
}

/* ---- the runs ---- */

static size_t merge(uint64_t *counts, size_t count)
{
    size_t chosen[SORTED_RUN_FAN_IN_MAX];
    size_t some = storage_sorted_run_choose(counts, count, SORTED_RUN_FAN_IN, chosen);
    if (some == 0)
        return count;
    uint64_t merged = 0;
    for (size_t i = some; i-- > 0;) {
        merged += counts[chosen[i]];
        counts[chosen[i]] = counts[--count];
    }
    counts[count++] = merged;
    return merge(counts, count);
}

static size_t runs_of(size_t batches, uint64_t *counts)
{
    size_t count = 0;
    for (size_t i = 0; i < batches; i++) {
        counts[count++] = BATCH_ENTRIES;
        count = merge(counts, count);
    }
    return count;
}

static void add_run(struct billion *billion, uint64_t number, uint64_t count)
{
    struct sorted_run run = {.number = number, .count = count};
    unsigned bits = storage_key_filter_bits(KEY_SUBJECT);
    run.segments = (size_t)((count + SORTED_RUN_SEGMENT_ENTRIES - 1) / SORTED_RUN_SEGMENT_ENTRIES);
    run.fences = weir_calloc(run.segments, sizeof(*run.fences));
    for (size_t i = 0; i < run.segments; i++)
        run.fences[i] = (uint32_t)(entry_at(&run, i * SORTED_RUN_SEGMENT_ENTRIES).hash >> 32);
    if (count * bits / 8 <= KEY_FILTER_BYTES_MAX)
        storage_sorted_run_filter_init(&run.filter, count, bits);
    for (uint64_t i = 0; run.filter.blocks > 0 && i < count; i++)
        storage_sorted_run_filter_add(&run.filter, entry_at(&run, i).hash);
    storage_key_index_add(&billion->index, &run);
}

enum weir_status prepare_billion(void *state, struct weir_error *err)
{
    struct storage_bench *bench = state;
    struct billion *billion = weir_calloc(1, sizeof(*billion));
    uint64_t counts[RUNS_MAX] = {0};
    size_t count = runs_of((size_t)(BATCHES * bench->scale) + 1, counts);
    (void)err;
    billion->budget.bytes_max = KEY_FILTERS_BYTES_MAX;
    billion->index = (struct key_index){.kind = KEY_SUBJECT, .budget = &billion->budget};
    for (size_t i = 0; i < count; i++)
        add_run(billion, i + 1, counts[i]);
    bench->billion = billion;
    return WEIR_OK;
}

void billion_free(struct billion *billion)
{
    if (billion == NULL)
        return;
    storage_key_index_fini(&billion->index);
    weir_buf_fini(&billion->packed);
    free(billion);
}

/* ---- looking up ---- */

static void pack_segment(struct billion *billion, const struct sorted_run *run, uint64_t number)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES];
    uint64_t first = number * SORTED_RUN_SEGMENT_ENTRIES;
    size_t count = 0;
    while (count < SORTED_RUN_SEGMENT_ENTRIES && first + count < run->count) {
        entries[count] = entry_at(run, first + count);
        count++;
    }
    storage_sorted_run_segment_pack(entries, count, &billion->packed);
}

static enum weir_status make_segments(void *owner, uint64_t run, const uint64_t *numbers,
                                      size_t count, struct weir_bytes *ret_bytes,
                                      struct weir_error *err)
{
    struct billion *billion = owner;
    size_t ends[KEY_SEGMENTS_AT_ONCE];
    (void)err;
    weir_buf_clear(&billion->packed);
    for (size_t i = 0; i < count; i++) {
        pack_segment(billion, storage_key_index_run(&billion->index, run), numbers[i]);
        ends[i] = billion->packed.size;
    }
    for (size_t i = 0; i < count; i++) {
        size_t begin = i > 0 ? ends[i - 1] : 0;
        ret_bytes[i] = weir_bytes(billion->packed.at + begin, ends[i] - begin);
    }
    return WEIR_OK;
}

static enum weir_status find(const struct key_index *index, const uint64_t *hash,
                             const struct key_source *source, struct key_hits *hits,
                             struct weir_error *err)
{
    struct key_walk walk = {.hashes = hash, .hash_count = 1};
    enum weir_status status = WEIR_OK;
    for (bool is_done = false; status == WEIR_OK && !is_done;)
        status = storage_key_index_walk(index, &walk, source, hits, &is_done, err);
    storage_key_walk_fini(&walk);
    return status;
}

enum weir_status look_up_in_a_billion(void *state, double *ret_rate, struct weir_error *err)
{
    struct billion *billion = ((struct storage_bench *)state)->billion;
    const struct key_source source = {.owner = billion, .segments = make_segments};
    struct key_hits hits = {0};
    struct weir_rng rng;
    enum weir_status status = WEIR_OK;
    weir_rng_init(&rng, SEED);
    int64_t started = weir_now_ns();
    for (int i = 0; status == WEIR_OK && i < LOOKUPS; i++) {
        const struct sorted_run *run =
            &billion->index.runs[weir_rng_below(&rng, billion->index.run_count)];
        uint64_t hash = entry_at(run, weir_rng_below(&rng, run->count)).hash;
        hits.count = 0;
        status = find(&billion->index, &hash, &source, &hits, err);
        if (status == WEIR_OK && hits.count == 0)
            status = weir_fail(err, WEIR_INTERNAL, "a subject that is there was not found");
    }
    *ret_rate = LOOKUPS * 1e9 / (double)(weir_now_ns() - started);
    free(hits.at);
    return status;
}

enum weir_status fifty_milliseconds(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1000.0 / 50;
    return WEIR_OK;
}
