/* From pool and columns to a choice: gathers the candidates of one trigger (or interval) and lets
 * the policy choose. Pure; lives as long as one task. */
#ifndef SELECTOR_CHOICES_CANDIDATES_H
#define SELECTOR_CHOICES_CANDIDATES_H

#include "selector/choices/reader.h"
#include "selector/pipelines/section.h"
#include "selector/sets/parts.h"

/* Samples after (after_time, after_id), up to and including (upto_time, upto_id), in the order of a
 * replay. */
struct selector_window {
    int64_t after_time;
    uint64_t after_id;
    int64_t upto_time;
    uint64_t upto_id;
};

/* Candidates of one choice, and those of them that are chosen. */
struct selector_candidates {
    struct selector_set all;
    struct selector_set chosen;
    struct selector_set withheld;           /* in the window too, and never chosen */
    float *weights;                         /* of the chosen, by ascending id; NULL: all 1 */
    struct selector_parts parts;            /* of the chosen, by epoch, when each draws again */
    struct selection_component *components; /* of a policy with shares */
    size_t component_count;
};

/* Zero-initialised is empty. */
void selector_candidates_fini(struct selector_candidates *candidates);
/* Clears, in the mask of a block whose columns are here, the rows outside `window`, and those that storage
 * no longer has. */
enum weir_status selector_window_mask(const struct selector_window *window,
                                      const struct selector_columns *columns, uint64_t first,
                                      uint64_t mask[SELECTOR_MASK_WORDS],
                                      struct weir_error *err) WEIR_MUST_USE;

/* The trigger, and the round of its training, that is chosen for. */
struct selector_choosing {
    const struct selector_section *section;
    const char *pipeline;
    uint64_t trigger;
    uint32_t round;           /* from 0: what is drawn for a later one is drawn again */
    const uint64_t *datasets; /* numbers, in the order of the file */
    size_t dataset_count;
    struct selection_losses *losses; /* for a policy that goes by them; else NULL */
};

/* Returns the number of `count` candidates that limit and ratio allow. */
size_t selector_target_of(const struct selector_section *section, size_t count);
/* Chooses all of them. */
void selector_candidates_choose_all(struct selector_candidates *candidates);
/* Chooses by the section's policy; a warm-up trigger chooses all. When none are chosen,
 * `reason` (SELECTION_REASON_MAX) says why. Fails when columns cannot be read. */
enum weir_status selector_candidates_choose(struct selector_candidates *candidates,
                                            const struct selector_choosing *choosing,
                                            const struct selector_sources *sources, char *reason,
                                            struct weir_error *err) WEIR_MUST_USE;
/* The seed of one trigger's choice: each trigger of each pipeline draws its own numbers. */
uint64_t selector_trigger_seed(uint64_t seed, const char *pipeline, uint64_t trigger);

#endif
