/* Copies of what is to be stored. */
#include "preprocess/dispatcher/image.h"

#include "core/base/memory.h"

#include <stdlib.h>

static struct dispatcher_image *add(struct dispatcher_images *images,
                                    const struct dispatcher_entry *entry)
{
    images->at =
        weir_grow(images->at, images->count, &images->capacity, sizeof(struct dispatcher_image));
    struct dispatcher_image *image = &images->at[images->count++];
    *image = (struct dispatcher_image){.number = entry->number, .ranks = entry->ranks};
    return image;
}

static void copy_record(struct dispatcher_image *image, const struct dispatcher_entry *entry)
{
    image->record = weir_calloc(1, sizeof(*image->record));
    preprocess_record_copy(image->record, &entry->job.record);
}

static void take_expected(struct dispatcher_image *image, struct dispatcher_entry *entry)
{
    image->has_expected = entry->has_expected && !entry->is_expected_stored;
    image->expected = entry->expected;
    entry->is_expected_stored |= image->has_expected;
}

void preprocess_image_of_record(struct dispatcher_images *images, struct dispatcher_entry *entry)
{
    struct dispatcher_image *image = add(images, entry);
    copy_record(image, entry);
    take_expected(image, entry);
    image->parts = entry->job.unsaved;
    entry->saving = entry->job.unsaved;
    entry->job.unsaved = 0;
    entry->job.report_unsaved = false;
}

/* ---- reports ---- */

static char *kept_of(const struct dispatcher_entry *entry)
{
    WEIR_AUTO_BUF out = {0};
    if (entry->plan.keeps_records)
        weir_buf_append_text(&out, "source");
    for (size_t i = 0; i < preprocess_entry_cut(entry); i++)
        weir_buf_printf(&out, "%s%s", i > 0 ? " " : "",
                        preprocess_chain_cost(entry->plan.chain, i).name);
    return weir_strdup(weir_buf_text(&out));
}

static bool silence_is_due(const struct dispatcher_entry *entry, int64_t silence_max_ms)
{
    int64_t unsaid_ms = entry->silent_ms - entry->silent_stored_ms;
    return unsaid_ms < 0 || unsaid_ms >= silence_max_ms;
}

bool preprocess_image_is_due(const struct dispatcher_entry *entry, int64_t silence_max_ms)
{
    return entry->job.report_unsaved || entry->costs.is_folded || entry->failures.is_changed ||
           preprocess_costs_are_unsaved(&entry->costs) || entry->scaling.is_unsaved ||
           silence_is_due(entry, silence_max_ms);
}

static void take_report(struct dispatcher_image *image, struct dispatcher_entry *entry)
{
    image->has_report = entry->job.report_unsaved;
    entry->job.report_unsaved = false;
    if (image->has_report)
        copy_record(image, entry);
    image->replaces_costs = entry->costs.is_folded;
    preprocess_costs_take_unsaved(&entry->costs, &image->costs);
    image->kept = kept_of(entry);
    image->has_failures = entry->failures.is_changed;
    entry->failures.is_changed = false;
    if (image->has_failures)
        image->failures = entry->failures;
    if (entry->scaling.is_unsaved)
        preprocess_scaling_keep(&entry->scaling, &image->scaling);
    entry->scaling.is_unsaved = false;
}

void preprocess_image_of_report(struct dispatcher_images *images, struct dispatcher_entry *entry,
                                int64_t silence_max_ms)
{
    struct dispatcher_image *image = add(images, entry);
    take_report(image, entry);
    image->has_silence = silence_is_due(entry, silence_max_ms);
    image->silent_ms = entry->silent_ms;
    if (image->has_silence)
        entry->silent_stored_ms = entry->silent_ms;
}

void preprocess_image_of_end(struct dispatcher_images *images, struct dispatcher_entry *entry)
{
    struct dispatcher_image *image = add(images, entry);
    image->is_abandoned = entry->abandoned;
    take_report(image, entry);
    take_expected(image, entry);
    image->total = entry->costs.total;
}

/* ---- endings ---- */

void preprocess_image_put_back(const struct dispatcher_image *image, struct dispatcher_entry *entry)
{
    entry->job.unsaved |= image->parts;
    entry->job.report_unsaved |= image->has_report;
    entry->is_expected_stored &= !image->has_expected;
    entry->failures.is_changed |= image->has_failures;
    preprocess_costs_put_back(&entry->costs, &image->costs);
    entry->costs.is_folded |= image->replaces_costs;
    entry->scaling.is_unsaved |= image->scaling.size > 0;
    if (image->has_silence)
        entry->silent_stored_ms = INT64_MAX; /* it differs: it is due */
}

static void fini(struct dispatcher_image *image)
{
    if (image->record != NULL)
        preprocess_record_fini(image->record);
    free(image->record);
    preprocess_costs_fini(&image->costs);
    free(image->kept);
    weir_buf_fini(&image->scaling);
}

void preprocess_images_fini(struct dispatcher_images *images)
{
    for (size_t i = 0; i < images->count; i++)
        fini(&images->at[i]);
    free(images->at);
    *images = (struct dispatcher_images){.at = NULL};
}
