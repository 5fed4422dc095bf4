/* See look.h. */
#include "storage/preview/look.h"

#include "core/base/line_at.h"
#include "core/base/memory.h"
#include "core/config/sections.h"
#include "storage/catalog/declaration_source.h"
#include "storage/preview/folder.h"
#include "storage/preview/preview.h"

#include <jansson.h>
#include <stdlib.h>

enum {
    RECORDS_MAX = 600,         /* of files of many samples */
    RECORDS_OF_FILE_MAX = 300, /* … of each */
    LABELS_MAX = 64,           /* different ones */
};

static json_t *label_json(const struct preview *preview, size_t row)
{
    int64_t label = preview->batch->columns[BATCH_LABEL][row];
    double real;

    if (preview->declared.awaits_label)
        return json_null();
    switch (preview->declared.label_kind) {
    case WEIR_LABEL_INT:
    case WEIR_LABEL_CLASS:
        return json_integer(label);
    case WEIR_LABEL_FLOAT:
        memcpy(&real, &label, sizeof(real));
        return json_real(real);
    case WEIR_LABEL_NONE:
    case WEIR_LABEL_VALUES:
        break;
    }
    return json_null();
}

static json_t *text_json(const char *text)
{
    json_t *value = json_string(text);

    return value != NULL ? value : json_string("?"); /* no UTF-8 */
}

/* ---- records ---- */

static void add_records(const struct preview *preview, json_t *files, json_t *records)
{
    const struct batch *batch = preview->batch;
    bool is_one_sample = preview->declared.format->is_one_sample;
    size_t max = is_one_sample ? PREVIEW_SAMPLES_MAX : RECORDS_MAX;

    for (size_t s = 0; s < batch->segments.count && json_array_size(records) < max; s++) {
        const struct batch_segment *segment = &batch->segments.at[s];
        size_t room = max - json_array_size(records);
        size_t count = segment->count < RECORDS_OF_FILE_MAX ? segment->count : RECORDS_OF_FILE_MAX;

        json_array_append_new(
            files,
            json_pack("[o,o]", text_json(storage_preview_folder(preview, segment->file->path)),
                      text_json(segment->file->path)));
        for (size_t i = 0; i < count && i < room; i++) {
            size_t row = segment->first + i;

            json_array_append_new(records, json_pack("[i,I,I,I,o]", (int)json_array_size(files) - 1,
                                                     (json_int_t)batch->columns[BATCH_OFFSET][row],
                                                     (json_int_t)batch->columns[BATCH_LENGTH][row],
                                                     (json_int_t)batch->columns[BATCH_TIME][row],
                                                     label_json(preview, row)));
        }
    }
}

/* Returns the number of samples that there are, if those that were not looked at are as large as the others. */
static uint64_t estimate(const struct preview *preview)
{
    if (preview->is_whole)
        return preview->batch->row_count;
    return preview->part == 0 ? 0
                              : (uint64_t)((double)preview->batch->row_count *
                                           (double)preview->all / (double)preview->part);
}

/* Numbers of samples, and the times of the first and of the last. */
static void add_extent(const struct preview *preview, json_t *dataset)
{
    const struct batch *batch = preview->batch;
    const int64_t *times = batch->columns[BATCH_TIME];
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < batch->row_count; i++) {
        first = times[i] < first ? times[i] : first;
        last = times[i] > last ? times[i] : last;
    }
    json_object_set_new(dataset, "samples", json_integer((json_int_t)batch->row_count));
    json_object_set_new(dataset, "about", json_integer((json_int_t)estimate(preview)));
    json_object_set_new(dataset, "first", json_integer(first));
    json_object_set_new(dataset, "last", json_integer(last));
}

static json_t *dataset_json(const struct preview *preview, const struct declaration *d)
{
    const struct dataset *dataset = preview->dataset;
    json_t *files = json_array(), *records = json_array(), *classes = json_array();

    add_records(preview, files, records);
    for (size_t i = 0; i < dataset->class_count; i++)
        json_array_append_new(classes, text_json(dataset->classes[i]));
    json_t *json =
        json_pack("{ss,so,sb,sb,sb,sb,sb,ss,ss,so,so,so}", "name", dataset->name, "path",
                  text_json(preview->declared.source.path), "counts_lines",
                  preview->declared.format->counts_lines, "is_one_sample",
                  preview->declared.format->is_one_sample, "gives_samples", d->updates == NULL,
                  "is_whole", preview->is_whole, "is_bare", preview->is_bare, "columns",
                  dataset->columns != NULL ? dataset->columns : "", "kind",
                  WEIR_LABEL_KIND_NAMES[preview->declared.label_kind], "classes", classes, "files",
                  files, "records", records);

    add_extent(preview, json);
    return json;
}

/* ---- labels ---- */

static json_t *place_of(const struct preview *preview, size_t row)
{
    const struct batch *batch = preview->batch;
    const struct format *format = preview->declared.format;
    const char *path = storage_batch_segment(batch, row)->file->path;
    WEIR_AUTO_FREE char *name = weir_format("%s/%s", preview->declared.source.path, path);
    WEIR_AUTO_FREE char *file = weir_format("%s/%s", storage_preview_folder(preview, path), path);
    WEIR_AUTO_FREE char *place =
        format->is_one_sample
            ? weir_strdup(name)
            : weir_record_place(name, file, (uint64_t)batch->columns[BATCH_OFFSET][row],
                                format->counts_lines);

    return text_json(place);
}

/* The different labels, in the order in which they come. */
static json_t *seen_json(const struct preview *preview)
{
    const struct batch *batch = preview->batch;
    const int64_t *labels = batch->columns[BATCH_LABEL];
    size_t first[LABELS_MAX], counts[LABELS_MAX], different = 0;
    json_t *seen = json_array();

    for (size_t row = 0; row < batch->row_count; row++) {
        size_t at = 0;

        while (at < different && labels[first[at]] != labels[row])
            at++;
        if (at == LABELS_MAX)
            continue;
        if (at == different) {
            first[different] = row;
            counts[different++] = 0;
        }
        counts[at]++;
    }
    for (size_t i = 0; i < different; i++)
        json_array_append_new(seen, json_pack("[o,I,o]", label_json(preview, first[i]),
                                              (json_int_t)counts[i], place_of(preview, first[i])));
    return seen;
}

static json_t *labels_json(const struct preview *preview)
{
    const struct declaration *d = &preview->declared;
    bool is_single = d->label_kind == WEIR_LABEL_INT || d->label_kind == WEIR_LABEL_FLOAT ||
                     d->label_kind == WEIR_LABEL_CLASS;

    return json_pack("{ss,ss,sI,sI,sb,so}", "dataset", preview->dataset->name, "kind",
                     WEIR_LABEL_KIND_NAMES[d->label_kind], "classes",
                     (json_int_t)preview->dataset->class_count, "width", (json_int_t)d->label_width,
                     "is_whole", preview->is_whole && preview->batch->refusals.count == 0, "seen",
                     is_single ? seen_json(preview) : json_array());
}

/* ---- datasets ---- */

/* Returns why a source cannot be looked at; NULL: it can. */
static const char *absence_of(const struct declaration *d, bool has_scratch)
{
    if (d->is_pushed)
        return "samples are pushed: none was looked at, as those that have come are in the store";
    if (d->is_mirrored && !has_scratch)
        return "a bucket was not looked at: there is no folder for beginnings of its objects";
    return NULL;
}

/* More will come. */
static bool is_live(const struct weir_yaml_node *root)
{
    const struct weir_yaml_node *pipeline = weir_yaml_get(root, "pipeline");

    return weir_str_equal(weir_yaml_text(weir_yaml_get(pipeline, "mode")), "live");
}

static void look_at(const struct weir_look *look, const struct declaration *d,
                    struct preview *preview, json_t *datasets, json_t *labels)
{
    struct cfg_on_error on_error;
    struct weir_error err;
    const struct weir_yaml_node *node =
        weir_yaml_get(weir_yaml_get(look->root, "preprocess"), "on_error");

    if (cfg_on_error_read(node, &on_error, &err) != WEIR_OK)
        weir_ignore(cfg_on_error_read(NULL, &on_error, &err)); /* others complain of it */
    storage_preview_read(preview, d);
    preview->is_live = is_live(look->root);
    storage_preview_mistakes(preview, on_error.share);
    preview->is_whole = preview->is_whole && !preview->is_live;
    if (!d->awaits_label)
        json_array_append_new(labels, labels_json(preview));
    if (preview->batch->row_count == 0 && preview->passed_over == 0)
        storage_preview_read_bare(preview);
    json_array_append_new(datasets, dataset_json(preview, d));
    storage_preview_fini(preview);
}

void storage_look(const struct weir_look *look)
{
    struct declarations all;
    struct weir_error err;
    json_t *datasets = json_array(), *labels = json_array();
    json_t *before = json_loadb((const char *)look->found.at, look->found.size, 0, NULL);
    const json_t *is_before_run = json_object_get(before, "before_run");
    enum folder_need need =
        storage_folder_need(json_string_value(json_object_get(before, "folders")));
    bool reads = !json_is_true(json_object_get(before, "folders_alone"));
    const char *scratch = json_string_value(json_object_get(before, "scratch"));

    storage_declarations_salvage(look->root, &all);
    for (size_t i = 0; i < all.count; i++) {
        const struct declaration *d = &all.at[i];
        WEIR_AUTO_FREE char *path = weir_format("datasets[%zu]", i);
        WEIR_AUTO_FREE char *folder = scratch != NULL ? weir_format("%s/%zu", scratch, i) : NULL;
        struct preview preview = {.scratch = folder,
                                  .node = weir_yaml_at(cfg_datasets(look->root), i),
                                  .path = path,
                                  .is_lenient = json_is_true(is_before_run),
                                  .complaints = look->complaints};

        if (storage_source_check_place(d, path, d->source_node, &err) != WEIR_OK)
            continue; /* a check without data says so */
        bool is_source = storage_folder_check(d, path, need, is_live(look->root), look->complaints);
        if (!is_source || !reads)
            continue;
        const char *absence = absence_of(d, scratch != NULL);

        if (d->is_readable && absence != NULL)
            cfg_note_at(look->complaints, WEIR_OK, d->source_node, "%s.source: %s", path, absence);
        else if (d->is_readable)
            look_at(look, d, &preview, datasets, labels);
    }
    json_t *found = json_pack("{so,so,sb}", "datasets", datasets, "labels", labels, "before_run",
                              json_is_true(is_before_run));
    WEIR_AUTO_FREE char *text = json_dumps(found, JSON_COMPACT);

    json_decref(found);
    json_decref(before);
    weir_buf_append_text(look->out, text != NULL ? text : "{}");
    storage_declarations_fini(&all);
}
