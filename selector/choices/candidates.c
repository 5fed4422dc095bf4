/* Gathers candidates and applies what all policies share: limit and ratio, the seed, the order. */
#include "selector/choices/candidates.h"

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "selector/policies/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void selector_candidates_fini(struct selector_candidates *candidates)
{
    selector_set_fini(&candidates->all);
    selector_set_fini(&candidates->chosen);
    selector_set_fini(&candidates->withheld);
    free(candidates->weights);
    selector_parts_fini(&candidates->parts);
    free(candidates->components);
    *candidates = (struct selector_candidates){0};
}

/* ---- the window ---- */

static bool is_inside(const struct selector_window *window, int64_t time, uint64_t id)
{
    bool behind = time != window->after_time ? time > window->after_time : id > window->after_id;
    bool reached = time != window->upto_time ? time < window->upto_time : id <= window->upto_id;
    return behind && reached;
}

static bool is_everything(const struct selector_window *window)
{
    return window->after_time == INT64_MIN && window->after_id == 0 &&
           window->upto_time == INT64_MAX && window->upto_id == UINT64_MAX;
}

enum weir_status selector_window_mask(const struct selector_window *window,
                                      const struct selector_columns *columns, uint64_t first,
                                      uint64_t mask[SELECTOR_MASK_WORDS], struct weir_error *err)
{
    struct selector_set block = {0};
    enum weir_status status = selector_columns_mask(columns, first, mask, err);
    if (status != WEIR_OK || is_everything(window) || selector_mask_count(mask) == 0)
        return status;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *times = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*times));
    selector_set_append(&block, first, mask);
    size_t count = selector_set_ids(&block, 0, ids);
    selector_set_fini(&block);
    status = selector_columns_read(columns, ids, count, times, NULL, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        if (!is_inside(window, times[i], ids[i]))
            selector_mask_fill(mask, weir_sample_row(ids[i]), 1, false);
    return status;
}

/* ---- choosing ---- */

/* The product is rounded down, so that a ratio is never exceeded; the addend keeps 0.29 of 100 from
 * becoming 28. */
size_t selector_target_of(const struct selector_section *section, size_t count)
{
    size_t target = section->ratio < 1 ? (size_t)((double)count * section->ratio + 1e-6) : count;
    return section->limit < target ? (size_t)section->limit : target;
}

/* Keeps what a policy has chosen; one that took too much, or weighed it badly, is a defect. */
static void keep(struct selector_candidates *candidates, const struct selection_output *output,
                 size_t target)
{
    weir_require(output->count <= target);
    selector_set_pick(&candidates->all, output->taken, &candidates->chosen);
    weir_require(candidates->chosen.count == output->count);
}

static enum weir_status run_policy(struct selector_candidates *candidates,
                                   const struct selector_choosing *choosing,
                                   const struct selector_sources *sources, size_t target,
                                   struct selection_output *output, struct weir_error *err)
{
    const struct selector_section *section = choosing->section;
    struct selector_reader reader;
    if (section->needs & (SELECTION_NEEDS_LABELS | SELECTION_NEEDS_TRIGGERS)) {
        enum weir_status status = selector_groups_check(candidates->all.count, err);
        if (status != WEIR_OK)
            return status;
    }
    const struct selection_input input = {
        .next = selector_reader_next,
        .owner = &reader,
        .count = candidates->all.count,
        .target = target,
        .bounded = section->limit != UINT64_MAX || section->ratio < 1,
        .classes = section->classes,
        .class_count = section->class_count,
        .datasets = choosing->datasets,
        .dataset_count = choosing->dataset_count,
        .trigger = choosing->trigger,
        .pipeline_seed = selector_trigger_seed(section->seed, choosing->pipeline, 0),
        .losses = choosing->losses,
    };
    struct weir_rng rng;
    weir_rng_init(&rng,
                  selector_trigger_seed(section->seed, choosing->pipeline, choosing->trigger));
    selector_reader_open(&reader, &candidates->all, section->needs, sources);
    section->policy->choose(section->options, &input, &rng, output);
    selector_reader_close(&reader);
    if (reader.status != WEIR_OK) {
        *err = reader.err;
        return reader.status;
    }
    weir_require(output->count > 0 || output->reason[0]);
    return WEIR_OK;
}

static enum weir_status apply_policy(struct selector_candidates *candidates,
                                     const struct selector_choosing *choosing,
                                     const struct selector_sources *sources, size_t target,
                                     char *reason, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *taken = weir_calloc(candidates->all.count / 64 + 1, sizeof(*taken));
    if (choosing->section->policy->weighted)
        candidates->weights = weir_calloc(target, sizeof(*candidates->weights));
    free(candidates->components); /* of a presampling */
    candidates->components = weir_calloc(SELECTION_COMPONENTS_MAX, sizeof(*candidates->components));
    struct selection_output output = {
        .taken = taken, .weights = candidates->weights, .components = candidates->components};
    enum weir_status status = run_policy(candidates, choosing, sources, target, &output, err);
    candidates->component_count = output.component_count;
    if (status != WEIR_OK)
        return status;
    (void)snprintf(reason, SELECTION_REASON_MAX, "%s", output.count > 0 ? "" : output.reason);
    keep(candidates, &output, target);
    return WEIR_OK;
}

void selector_candidates_choose_all(struct selector_candidates *candidates)
{
    selector_set_combine(&candidates->chosen, SELECTOR_UNION, &candidates->all);
}

enum weir_status selector_candidates_choose(struct selector_candidates *candidates,
                                            const struct selector_choosing *choosing,
                                            const struct selector_sources *sources, char *reason,
                                            struct weir_error *err)
{
    const struct selector_section *section = choosing->section;
    size_t count = candidates->all.count;
    size_t target = selector_target_of(section, count);
    if (count == 0)
        (void)snprintf(reason, SELECTION_REASON_MAX, "there are no samples to choose from");
    else if (choosing->trigger <= section->warmup)
        selector_candidates_choose_all(candidates);
    else if (target == 0)
        (void)snprintf(reason, SELECTION_REASON_MAX, "ratio %g of %zu samples is less than one",
                       section->ratio, count);
    else
        return apply_policy(candidates, choosing, sources, target, reason, err);
    return WEIR_OK;
}

uint64_t selector_trigger_seed(uint64_t seed, const char *pipeline, uint64_t trigger)
{
    return weir_mix64(weir_hash64(weir_bytes_of(pipeline), seed) + trigger);
}
