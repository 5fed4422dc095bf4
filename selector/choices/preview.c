/* Counts candidates and chosen by group. */
#include "selector/choices/preview.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "selector/policies/groups.h"

#include <inttypes.h>
#include <stdlib.h>

/* Equal parts of the time from the oldest to the newest. */
struct slices {
    int64_t oldest;
    uint64_t length;
};

/* Keys and names of the groups of one kind. */
struct kind {
    const char *name;
    unsigned need; /* a policy with it looks at the kind */
    int64_t (*key)(const struct slices *slices, const struct selection_run *run, size_t i);
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
    preview->kinds = weir_realloc(preview->kinds, count, sizeof(*preview->kinds));
    preview->names = weir_realloc(preview->names, count, sizeof(*preview->names));
    preview->samples = weir_realloc(preview->samples, count, sizeof(*preview->samples));
    preview->candidates = weir_realloc(preview->candidates, count, sizeof(*preview->candidates));
    preview->whys = weir_realloc(preview->whys, count, sizeof(*preview->whys));
    return preview->count++;
}

static int64_t label_of(const struct slices *slices, const struct selection_run *run, size_t i)
{
    (void)slices;
    return run->labels[i];
}

/* The beginning of its slice. */
static int64_t slice_of(const struct slices *slices, const struct selection_run *run, size_t i)
{
    uint64_t slice = ((uint64_t)run->times[i] - (uint64_t)slices->oldest) / slices->length;
    return (int64_t)((uint64_t)slices->oldest + slice * slices->length);
}

static int64_t trigger_of(const struct slices *slices, const struct selection_run *run, size_t i)
{
    (void)slices;
    return run->triggers[i];
}

static int64_t past_of(const struct slices *slices, const struct selection_run *run, size_t i)
{
    (void)slices;
    return run->past[i];
}

static const struct kind KINDS[] = {
    {"label", SELECTION_NEEDS_LABELS, label_of, call_label},
    {"time", SELECTION_NEEDS_TIMES, slice_of, call_time},
    {"trigger", SELECTION_NEEDS_TRIGGERS, trigger_of, call_trigger},
    {"past", SELECTION_NEEDS_PAST, past_of, call_past},
};

static void count_all(struct selector_reader *reader, const struct kind *kind,
                      const struct slices *slices, struct selection_groups *groups)
{
    for (struct selection_run run = {0}; selector_reader_next(reader, &run);)
        for (size_t i = 0; i < run.count; i++) {
            int64_t key = kind->key(slices, &run, i);
            selector_groups_count(groups, &key, 1);
        }
    selector_groups_sort(groups);
}

static void count_chosen(struct selector_reader *reader, const struct kind *kind,
                         const struct slices *slices, const struct selector_set *chosen,
                         const struct selection_groups *groups, uint64_t *counts)
{
    for (struct selection_run run = {0}; selector_reader_next(reader, &run);)
        for (size_t i = 0; i < run.count; i++)
            if (selector_set_has(chosen, run.ids[i]))
                counts[selector_groups_find(groups, kind->key(slices, &run, i))]++;
}

static void tell_kind(struct selector_preview *preview, const struct selector_section *section,
                      const struct kind *kind, const struct selection_groups *groups,
                      const uint64_t *counts)
{
    for (size_t g = 0; g < groups->count && g < SELECTOR_PREVIEW_GROUPS_MAX; g++) {
        size_t at = add(preview);
        preview->kinds[at] = kind->name;
        preview->names[at] = kind->call(section, groups->keys[g]);
        preview->samples[at] = counts[g];
        preview->candidates[at] = groups->sizes[g];
        preview->whys[at] = why(section, kind->need, counts[g], groups->sizes[g]);
    }
}

static void tell_parts(struct selector_preview *preview,
                       const struct selector_candidates *candidates)
{
    const struct selector_parts *parts = &candidates->parts;
    for (uint32_t epoch = 0; epoch < parts->count && epoch < SELECTOR_PREVIEW_GROUPS_MAX; epoch++) {
        size_t at = add(preview);
        preview->kinds[at] = "epoch";
        preview->names[at] = weir_format("%" PRIu32, epoch + 1);
        preview->samples[at] = parts->samples;
        preview->candidates[at] = candidates->all.count;
        preview->whys[at] = "drawn again for every epoch";
    }
}

static void tell_components(struct selector_preview *preview,
                            const struct selector_candidates *candidates)
{
    for (size_t i = 0; i < candidates->component_count; i++) {
        const struct selection_component *component = &candidates->components[i];
        size_t at = add(preview);
        preview->kinds[at] = "component";
        preview->names[at] = weir_strdup(component->name);
        preview->samples[at] = component->samples;
        preview->candidates[at] = component->candidates;
        preview->whys[at] =
            weir_arena_format(preview->arena, "share %.4f, %s", component->share, component->why);
    }
}

static struct slices cut_slices(struct selector_reader *reader)
{
    int64_t oldest = INT64_MAX, newest = INT64_MIN;
    for (struct selection_run run = {0}; selector_reader_next(reader, &run);)
        for (size_t i = 0; i < run.count; i++) {
            oldest = run.times[i] < oldest ? run.times[i] : oldest;
            newest = run.times[i] > newest ? run.times[i] : newest;
        }
    uint64_t span = oldest <= newest ? (uint64_t)newest - (uint64_t)oldest : 0;
    return (struct slices){oldest, span / SELECTOR_PREVIEW_SLICES + 1};
}

static enum weir_status make_kind(struct selector_preview *preview,
                                  const struct selector_section *section,
                                  const struct selector_candidates *candidates,
                                  const struct selector_sources *sources, const struct kind *kind,
                                  struct weir_error *err)
{
    struct selector_reader reader;
    struct selection_groups groups = {0};
    struct slices slices = {0};
    enum weir_status status = selector_groups_check(candidates->all.count, err);
    if (status != WEIR_OK)
        return status;
    selector_reader_open(&reader, &candidates->all, kind->need, sources);
    if (kind->need == SELECTION_NEEDS_TIMES)
        slices = cut_slices(&reader);
    count_all(&reader, kind, &slices, &groups);
    WEIR_AUTO_FREE uint64_t *counts = weir_calloc(groups.count + 1, sizeof(*counts));
    if (reader.status == WEIR_OK)
        count_chosen(&reader, kind, &slices, &candidates->chosen, &groups, counts);
    if (reader.status == WEIR_OK)
        tell_kind(preview, section, kind, &groups, counts);
    else
        *err = reader.err;
    selector_groups_fini(&groups);
    selector_reader_close(&reader);
    return reader.status;
}

enum weir_status selector_preview_make(struct selector_preview *preview,
                                       const struct selector_section *section,
                                       const struct selector_candidates *candidates,
                                       const struct selector_sources *sources,
                                       struct weir_error *err)
{
    unsigned known = SELECTION_NEEDS_TIMES |
                     (section->unlabelled != NULL ? 0 : SELECTION_NEEDS_LABELS) |
                     (sources->ends != NULL ? SELECTION_NEEDS_TRIGGERS : 0) |
                     (section->needs & SELECTION_NEEDS_PAST);
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(KINDS); i++)
        if (KINDS[i].need & known)
            status = make_kind(preview, section, candidates, sources, &KINDS[i], err);
    if (status == WEIR_OK) {
        preview->arena = weir_arena_new();
        tell_components(preview, candidates);
        tell_parts(preview, candidates);
    }
    return status;
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
    weir_arena_free(preview->arena);
    *preview = (struct selector_preview){0};
}
