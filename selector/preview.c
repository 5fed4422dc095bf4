/* Counts candidates and chosen by group. */
#include "selector/preview.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "selector/policies/groups.h"

#include <inttypes.h>
#include <stdlib.h>

/* What the groups of one kind are made of, and called. */
struct kind {
    const char *name;
    unsigned need; /* a policy with it looks at the kind */
    const int64_t *keys;
    char *(*call)(const struct selector_section *section, int64_t key);
};

static char *call_label(const struct selector_section *section, int64_t key)
{
    if (key >= 0 && (uint64_t)key < section->class_count)
        return weir_strdup(section->classes[key]);
    return weir_format("%" PRId64, key);
}

static char *call_time(const struct selector_section *section, int64_t key)
{
    char text[WEIR_TIME_TEXT_MAX];
    (void)section;
    weir_time_format(key, text);
    return weir_strdup(text);
}

static char *call_trigger(const struct selector_section *section, int64_t key)
{
    (void)section;
    return weir_format("%" PRId64, key);
}

static char *call_past(const struct selector_section *section, int64_t key)
{
    (void)section;
    return weir_strdup(key & SELECTION_DRAWN  ? "drawn in this epoch"
                       : key & SELECTION_USED ? "used before"
                                              : "never used");
}

static const char *why(const struct selector_section *section, unsigned need, uint64_t chosen,
                       uint64_t candidates)
{
    if (chosen == candidates)
        return "all there are";
    if (section->needs & need)
        return chosen > 0 ? "its share by the policy" : "the policy leaves it out";
    return chosen > 0 ? "by chance, limit and ratio" : "none by chance, limit and ratio";
}

/* Room for one more group; the caller fills it. */
static size_t add(struct selector_preview *preview)
{
    size_t count = preview->count + 1;
    preview->kinds = weir_realloc(preview->kinds, count, sizeof *preview->kinds);
    preview->names = weir_realloc(preview->names, count, sizeof *preview->names);
    preview->samples = weir_realloc(preview->samples, count, sizeof *preview->samples);
    preview->candidates = weir_realloc(preview->candidates, count, sizeof *preview->candidates);
    preview->whys = weir_realloc(preview->whys, count, sizeof *preview->whys);
    return preview->count++;
}

static void count_kind(struct selector_preview *preview, const struct selector_section *section,
                       const struct kind *kind, const uint8_t *taken, size_t count)
{
    struct selection_groups groups;
    selection_groups_make(&groups, kind->keys, count);
    WEIR_AUTO_FREE uint64_t *chosen = weir_calloc(groups.count + 1, sizeof *chosen);
    for (size_t i = 0; i < count; i++)
        chosen[groups.of[i]] += taken[i];
    for (size_t g = 0; g < groups.count && g < SELECTOR_PREVIEW_GROUPS_MAX; g++) {
        size_t at = add(preview);
        preview->kinds[at] = kind->name;
        preview->names[at] = kind->call(section, groups.keys[g]);
        preview->samples[at] = chosen[g];
        preview->candidates[at] = groups.sizes[g];
        preview->whys[at] = why(section, kind->need, chosen[g], groups.sizes[g]);
    }
    selection_groups_fini(&groups);
}

/* The beginning of each sample's slice: equal parts of the time from the oldest to the newest. */
static int64_t *cut_slices(const int64_t *times, size_t count)
{
    int64_t *slices = weir_calloc(count + 1, sizeof *slices);
    int64_t oldest = times[0], newest = times[0];
    for (size_t i = 1; i < count; i++) {
        oldest = times[i] < oldest ? times[i] : oldest;
        newest = times[i] > newest ? times[i] : newest;
    }
    uint64_t length = ((uint64_t)newest - (uint64_t)oldest) / SELECTOR_PREVIEW_SLICES + 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t slice = ((uint64_t)times[i] - (uint64_t)oldest) / length;
        slices[i] = (int64_t)((uint64_t)oldest + slice * length);
    }
    return slices;
}

static int64_t *widen(const uint8_t *past, size_t count)
{
    int64_t *wide = weir_calloc(count + 1, sizeof *wide);
    for (size_t i = 0; i < count; i++)
        wide[i] = past[i];
    return wide;
}

void selector_preview_make(struct selector_preview *preview, const struct selector_section *section,
                           const struct selector_candidates *chosen, const uint64_t *ids,
                           size_t count)
{
    if (count == 0)
        return;
    WEIR_AUTO_FREE uint8_t *taken = weir_calloc(count, sizeof *taken);
    WEIR_AUTO_FREE int64_t *slices = cut_slices(chosen->times, count);
    WEIR_AUTO_FREE int64_t *past = chosen->past ? widen(chosen->past, count) : NULL;
    for (size_t i = 0, k = 0; i < count && k < chosen->count; i++) {
        taken[i] = ids[i] == chosen->ids[k];
        k += taken[i];
    }
    const struct kind kinds[] = {
        {"label", SELECTION_NEEDS_LABELS, section->unlabelled ? NULL : chosen->labels, call_label},
        {"time", SELECTION_NEEDS_TIMES, slices, call_time},
        {"trigger", SELECTION_NEEDS_TRIGGERS, chosen->triggers, call_trigger},
        {"past", SELECTION_NEEDS_PAST, past, call_past},
    };
    for (size_t i = 0; i < WEIR_COUNT(kinds); i++)
        if (kinds[i].keys)
            count_kind(preview, section, &kinds[i], taken, count);
}

void selector_preview_fini(struct selector_preview *preview)
{
    for (size_t i = 0; i < preview->count; i++)
        free(preview->names[i]);
    free(preview->kinds);
    free(preview->names);
    free(preview->samples);
    free(preview->candidates);
    free(preview->whys);
    *preview = (struct selector_preview){0};
}
