/* Division of a choice by label, time, trigger, past use, component and epoch, with the reason of each part. Pure. */
#ifndef SELECTOR_CHOICES_PREVIEW_H
#define SELECTOR_CHOICES_PREVIEW_H

#include "selector/choices/candidates.h"

enum { SELECTOR_PREVIEW_SLICES = 8, SELECTOR_PREVIEW_GROUPS_MAX = 100 };

/* One column per property of a group. */
struct selector_preview {
    const char **kinds; /* label, time, trigger, past, component, epoch */
    char **names;
    uint64_t *samples;
    uint64_t *candidates;
    const char **whys;
    size_t count;
    struct weir_arena *arena; /* private */
};

/* Lists at most SELECTOR_PREVIEW_GROUPS_MAX groups of each kind; kinds that the policy does not look at, as far as
 * `sources` have them. Freed by selector_preview_fini(), whatever the outcome. */
enum weir_status selector_preview_make(struct selector_preview *preview,
                                       const struct selector_section *section,
                                       const struct selector_candidates *candidates,
                                       const struct selector_sources *sources,
                                       struct weir_error *err) WEIR_MUST_USE;
void selector_preview_fini(struct selector_preview *preview);

#endif
