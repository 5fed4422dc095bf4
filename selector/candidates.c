/* Gathers candidates and applies what all policies share: limit and ratio, the seed, the order. */
#include "selector/candidates.h"

#include "core/base/hash.h"
#include "core/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 1024 };

void selector_candidates_fini(struct selector_candidates *candidates)
{
    free(candidates->ids);
    free(candidates->times);
    free(candidates->labels);
    free(candidates->triggers);
    free(candidates->past);
    free(candidates->weights);
    *candidates = (struct selector_candidates){0};
}

static void reserve(struct selector_candidates *candidates, size_t more, bool with_columns)
{
    size_t needed = candidates->count + more;
    if (needed <= candidates->capacity)
        return;
    size_t capacity = candidates->capacity ? candidates->capacity * 2 : CAPACITY_MIN;
    candidates->capacity = capacity < needed ? needed : capacity;
    candidates->ids = weir_realloc(candidates->ids, candidates->capacity, sizeof *candidates->ids);
    if (!with_columns)
        return;
    candidates->times =
        weir_realloc(candidates->times, candidates->capacity, sizeof *candidates->times);
    candidates->labels =
        weir_realloc(candidates->labels, candidates->capacity, sizeof *candidates->labels);
}

void selector_candidates_add(struct selector_candidates *candidates, uint64_t block_first,
                             const uint64_t mask[SELECTOR_MASK_WORDS])
{
    reserve(candidates, WEIR_BLOCK_ROWS, false);
    for (size_t word = 0; word < SELECTOR_MASK_WORDS; word++)
        for (uint64_t bits = mask[word]; bits; bits &= bits - 1)
            candidates->ids[candidates->count++] =
                block_first + word * 64 + (uint64_t)__builtin_ctzll(bits);
}

static bool is_inside(const struct selector_window *window, int64_t time, uint64_t id)
{
    bool behind = time != window->after_time ? time > window->after_time : id > window->after_id;
    bool reached = time != window->upto_time ? time < window->upto_time : id <= window->upto_id;
    return behind && reached;
}

void selector_candidates_add_columns(struct selector_candidates *candidates,
                                     const uint64_t mask[SELECTOR_MASK_WORDS],
                                     const struct selector_column_block *columns,
                                     const struct selector_window *window)
{
    reserve(candidates, columns->count, true);
    for (size_t i = 0; i < columns->count; i++) {
        uint64_t id = columns->ids[i];
        uint32_t row = weir_sample_row(id);
        if (!(mask[row / 64] >> (row % 64) & 1) || !is_inside(window, columns->times[i], id))
            continue;
        candidates->ids[candidates->count] = id;
        candidates->times[candidates->count] = columns->times[i];
        candidates->labels[candidates->count] = columns->labels[i];
        candidates->count++;
    }
}

/* How many of `count` may be chosen. The product is rounded down, so that a ratio is never exceeded;
 * the addend keeps 0.29 of 100 from becoming 28. */
static size_t target_of(const struct selector_section *section, size_t count)
{
    size_t target = section->ratio < 1 ? (size_t)((double)count * section->ratio + 1e-6) : count;
    return section->limit < target ? (size_t)section->limit : target;
}

/* Keeps what was chosen, in order of id. A policy that chose twice or too much is a defect. */
static void keep(struct selector_candidates *candidates, const struct selection_output *output,
                 size_t target)
{
    weir_require(output->count <= target);
    float *weights = output->weights ? weir_calloc(candidates->count, sizeof *weights) : NULL;
    WEIR_AUTO_FREE uint8_t *taken = weir_calloc(candidates->count, sizeof *taken);
    for (size_t k = 0; k < output->count; k++) {
        size_t index = output->chosen[k];
        weir_require(index < candidates->count && !taken[index]);
        taken[index] = 1;
        if (weights)
            weights[index] = output->weights[k];
    }
    size_t count = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (!taken[i])
            continue;
        candidates->ids[count] = candidates->ids[i];
        if (weights)
            weights[count] = weights[i];
        count++;
    }
    candidates->count = count;
    candidates->weights = weights;
}

static void run_policy(struct selector_candidates *candidates,
                       const struct selector_choosing *choosing, size_t target, char *reason)
{
    const struct selector_section *section = choosing->section;
    const struct selection_policy *policy = section->policy;
    const struct selection_input input = {
        .ids = candidates->ids,
        .times = section->needs & SELECTION_NEEDS_TIMES ? candidates->times : NULL,
        .labels = section->needs & SELECTION_NEEDS_LABELS ? candidates->labels : NULL,
        .triggers = candidates->triggers,
        .past = candidates->past,
        .count = candidates->count,
        .target = target,
        .bounded = section->limit != UINT64_MAX || section->ratio < 1,
        .classes = section->classes,
        .class_count = section->class_count,
        .datasets = choosing->datasets,
        .dataset_count = choosing->dataset_count,
        .pipeline_seed = selector_trigger_seed(section->seed, choosing->pipeline, 0),
    };
    WEIR_AUTO_FREE size_t *chosen = weir_calloc(input.count, sizeof *chosen);
    WEIR_AUTO_FREE float *weights =
        policy->weighted ? weir_calloc(input.count, sizeof *weights) : NULL;
    struct selection_output output = {.chosen = chosen, .weights = weights};
    struct weir_rng rng;
    weir_rng_init(&rng,
                  selector_trigger_seed(section->seed, choosing->pipeline, choosing->trigger));
    policy->choose(section->options, &input, &rng, &output);
    weir_require(output.count > 0 || output.reason[0]);
    (void)snprintf(reason, SELECTION_REASON_MAX, "%s", output.count > 0 ? "" : output.reason);
    keep(candidates, &output, target);
}

void selector_candidates_choose(struct selector_candidates *candidates,
                                const struct selector_choosing *choosing, char *reason)
{
    const struct selector_section *section = choosing->section;
    size_t target = target_of(section, candidates->count);
    if (candidates->count == 0)
        (void)snprintf(reason, SELECTION_REASON_MAX, "there are no samples to choose from");
    else if (choosing->trigger <= section->warmup)
        return;
    else if (target == 0)
        (void)snprintf(reason, SELECTION_REASON_MAX, "ratio %g of %zu samples is less than one",
                       section->ratio, candidates->count);
    else
        run_policy(candidates, choosing, target, reason);
    if (reason[0])
        candidates->count = 0;
}

uint64_t selector_trigger_seed(uint64_t seed, const char *pipeline, uint64_t trigger)
{
    return weir_mix64(weir_hash64(weir_bytes_of(pipeline), seed) + trigger);
}
