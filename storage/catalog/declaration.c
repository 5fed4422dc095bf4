/* Reading the `datasets:` section: see declaration.h. */
#include "storage/catalog/declaration.h"

#include "storage/catalog/declaration_holdout.h"
#include "storage/catalog/declaration_names.h"
#include "storage/catalog/declaration_push.h"
#include "storage/catalog/declaration_s3.h"
#include "storage/catalog/declaration_values.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <stdlib.h>
#include <string.h>

struct dataset_section {
    const char *name;
    const struct weir_yaml_node *source;
    const struct weir_yaml_node *time;
    const struct weir_yaml_node *label;
    const struct weir_yaml_node *subject;
    const struct weir_yaml_node *key;
    const struct weir_yaml_node *duplicates;
    const struct weir_yaml_node *holdout;
    const char *updates;
};

struct duplicates_section {
    int keep;
};

const char *const STORAGE_IMPORTS[] = {"reference", "copy", NULL};
const char *const STORAGE_ON_ERASES[] = {"scrub", "unlink", NULL};
const char *const STORAGE_TIME_FROMS[] = {"manifest", "field",  "file_name", "mtime",
                                          "sidecar",  "record", NULL};
static const char *const LABEL_FROMS[] = {"manifest", "field",   "sidecar",
                                          "folder",   "updates", NULL};
enum { LABEL_FROM_UPDATES = 4 };
static const char *const PLACE_FROMS[] = {"manifest", "field", "sidecar", NULL};
const char *const STORAGE_KEEPS[] = {"all", "first", "last", NULL}; /* enum keep */
const char *const STORAGE_UNITS[] = {"s", "ms", "us", NULL};
static const int64_t UNIT_US[] = {1000000, 1000, 1};
/* The first ten are enum format_type. */
static const char *const LABEL_TYPES[] = {"i8",  "u8",  "i16", "u16", "i32",   "u32", "i64",
                                          "u64", "f32", "f64", "int", "float", NULL};
enum { LABEL_INT = FORMAT_TYPES, LABEL_FLOAT };

static const struct cfg_key DATASET[] = {
    CFG_TEXT(struct dataset_section, name, .required = true, .doc = "letters, digits, _ - ."),
    CFG_NODE(struct dataset_section, source, .required = true, .doc = "where the files are"),
    CFG_NODE(struct dataset_section, time, .required = true, .doc = "when a sample happened"),
    CFG_NODE(struct dataset_section, label, .doc = "what is to be learnt, or none"),
    CFG_NODE(struct dataset_section, subject, .doc = "whose data a sample is"),
    CFG_NODE(struct dataset_section, key,
             .doc = "what a sample is: later labels and duplicates are matched by it"),
    CFG_NODE(struct dataset_section, duplicates, .doc = "which samples of one key stay"),
    CFG_NODE(struct dataset_section, holdout,
             .doc = "a share of the samples that no training set ever holds"),
    CFG_TEXT(struct dataset_section, updates,
             .doc =
                 "name of another dataset: each row here is the label of its samples of that key"),
    CFG_END,
};
static const struct cfg_key SOURCE[] = {
    CFG_TEXT(
        struct source_section, path,
        .doc =
            "folder, watched with all below; a relative path starts where the platform was started"),
    CFG_BOOL(struct source_section, push, .fallback = "false",
             .doc = "instead of a path: samples come by weir push into files that Weir owns"),
    CFG_SIZE(struct source_section, segment_bytes, .fallback = "256MiB", .min = 1 << 16,
             .max = 1 << 30, .doc = "with push: bytes of such a file, then the next one begins"),
    CFG_NODE(struct source_section, s3, .doc = "instead of a path: a bucket of an object store"),
    CFG_TEXT(struct source_section, format, .required = true,
             .doc = "one of those below; its own keys follow"),
    CFG_TEXT(struct source_section, include, .fallback = "*",
             .doc = "files that count: a pattern of the name, or with / of the path"),
    CFG_TEXT(struct source_section, manifest, .fallback = "manifest.csv",
             .doc = "file beside the samples, with the header path,time,label,subject,key"),
    CFG_TEXT(struct source_section, sidecar,
             .doc = "with from: sidecar; what a sample's name has there instead of its extension, "
                    "like .json"),
    CFG_CHOICE(struct source_section, import, .choices = STORAGE_IMPORTS, .fallback = "reference",
               .doc = "reference: files stay where they are; copy: the data directory owns a copy, "
                      "which is decompressed if a name ends in .zst or .zstd"),
    CFG_CHOICE(struct source_section, on_erase, .choices = STORAGE_ON_ERASES,
               .doc = "scrub: overwrite the bytes; unlink: remove the file. Required with subject"),
    CFG_DURATION(struct source_section, settle, .fallback = "200ms", .min = 0, .max = 3600e6,
                 .doc = "a file that changed less than this ago waits; a log, ten times as long"),
    CFG_END,
};
static const struct cfg_key TIME[] = {
    CFG_CHOICE(struct place_section, from, .choices = STORAGE_TIME_FROMS, .required = true,
               .doc = "where the time is: RFC 3339 text, or a number since 1970"),
    CFG_TEXT(struct place_section, field,
             .doc = "with from: field; its name. With from: sidecar; a member of its JSON"),
    CFG_U64(struct place_section, offset, .doc = "with from: field; byte in a binary record"),
    CFG_CHOICE(struct place_section, type, .choices = FORMAT_TYPE_NAMES,
               .doc = "with offset: type of the number"),
    CFG_TEXT(struct place_section, pattern,
             .doc =
                 "with from: file_name; as strptime() reads it: day_%Y-%m-%d; with / of the path"),
    CFG_CHOICE(struct place_section, unit, .choices = STORAGE_UNITS, .fallback = "s",
               .doc = "what a number counts"),
    CFG_TEXT(struct place_section, start,
             .doc = "with from: record; the time of the first record of a file (or of its first "
                    "line, a header too)"),
    CFG_DURATION(struct place_section, every, .fallback = "1s", .min = 1,
                 .doc = "with from: record; from one record to the next"),
    CFG_END,
};
static const struct cfg_key LABEL[] = {
    CFG_CHOICE(struct place_section, from, .choices = LABEL_FROMS,
               .doc = "where the label is; updates: in the dataset that updates this one, later"),
    CFG_TEXT(struct place_section, field,
             .doc = "name of the field; with from: sidecar, a member of its JSON"),
    CFG_U64(struct place_section, depth, .fallback = "1", .min = 1, .max = 64,
            .doc = "with from: folder; 1 is the folder right below the source"),
    CFG_U64(struct place_section, offset, .doc = "byte in a binary record"),
    CFG_CHOICE(struct place_section, type, .choices = LABEL_TYPES,
               .doc = "of a number: int or float in text, i32 and so on with offset"),
    CFG_F64(struct place_section, at_least,
            .doc = "the label is 1 where the number is as large as this, else 0"),
    CFG_NODE(struct place_section, classes,
             .doc =
                 "list of class names, or stream: in order of first appearance; several datasets "
                 "need one list"),
    CFG_TEXTS(struct place_section, values,
              .doc =
                  "the label is a vector: [f32, 3] are three numbers kept as f32, or f64; at most "
                  "4096, one after the other at the offset or in a list in the field"),
    CFG_TEXTS(struct place_section, fields,
              .doc = "with values and format csv: instead of field, one column for each number"),
    CFG_END,
};
static const struct cfg_key DUPLICATES[] = {
    CFG_CHOICE(struct duplicates_section, keep, .choices = STORAGE_KEEPS, .fallback = "all",
               .doc = "all; first: later ones are refused and counted; last: earlier ones are "
                      "replaced"),
    CFG_END,
};
static const struct cfg_key IDENTITY[] = {
    CFG_CHOICE(struct place_section, from, .choices = PLACE_FROMS, .doc = "where it is"),
    CFG_TEXT(struct place_section, field,
             .doc = "name of the field; with from: sidecar, a member of its JSON"),
    CFG_U64(struct place_section, offset, .doc = "byte in a binary record"),
    CFG_CHOICE(struct place_section, type, .choices = FORMAT_TYPE_NAMES,
               .doc = "with offset: type of the number"),
    CFG_END,
};

static bool knows_key(const struct cfg_key *keys, const char *name)
{
    for (; keys->name; keys++) {
        if (strcmp(keys->name, name) == 0)
            return true;
    }
    return false;
}

static const char *nearest_key(const struct cfg_key *first, const struct cfg_key *second,
                               const char *name)
{
    const char *names[64];
    size_t count = 0;

    for (; first->name && count < 32; first++)
        names[count++] = first->name;
    for (; second->name && count < 63; second++)
        names[count++] = second->name;
    names[count] = NULL;
    return cfg_nearest(name, names);
}

/* `source` is read by two tables, so that neither can tell which keys are nobody's. */
static enum weir_status check_source_keys(const struct declaration *d, const char *path,
                                          const struct weir_yaml_node *node, struct weir_error *err)
{
    for (size_t i = 0; i < weir_yaml_pairs(node); i++) {
        const char *key = weir_yaml_key(node, i);
        const char *nearest;

        if (knows_key(SOURCE, key) || knows_key(d->format->options, key))
            continue;
        nearest = nearest_key(SOURCE, d->format->options, key);
        return weir_yaml_fail(weir_yaml_value(node, i), err, "%s.%s: unknown key%s%s%s", path, key,
                              nearest ? " (did you mean " : "", nearest ? nearest : "",
                              nearest ? "?)" : "");
    }
    return WEIR_OK;
}

static enum weir_status read_source(struct declaration *d, const char *path,
                                    const struct weir_yaml_node *node, struct weir_error *err)
{
    enum weir_status status = cfg_read(SOURCE, CFG_OPEN, node, path, NULL, &d->source, err);

    if (status != WEIR_OK)
        return status;
    d->format = format_find(d->source.format);
    if (!d->format) {
        const char *nearest = cfg_nearest(d->source.format, format_names());
        WEIR_AUTO_BUF names = {0};

        for (size_t i = 0; i < format_count(); i++)
            weir_buf_printf(&names, "%s%s",
                            i == 0                   ? ""
                            : i + 1 < format_count() ? ", "
                                                     : " or ",
                            format_at(i)->name);
        return weir_yaml_fail(weir_yaml_get(node, "format"), err,
                              "%s.format: found '%s', expected %s%s%s%s", path, d->source.format,
                              weir_buf_text(&names), nearest ? " (did you mean " : "",
                              nearest ? nearest : "", nearest ? "?)" : "");
    }
    status = check_source_keys(d, path, node, err);
    if (status == WEIR_OK)
        status = storage_s3_declared(d, path, node, err);
    if (status == WEIR_OK)
        status = storage_push_declared(d, path, node, err);
    if (status != WEIR_OK)
        return status;
    d->options = weir_calloc(1, d->format->options_size + 1);
    d->is_pushed = d->source.push;
    d->is_copied = (d->source.import == 1 && !d->is_mirrored) || d->is_pushed;
    return cfg_read(d->format->options, CFG_OPEN, node, path, NULL, d->options, err);
}

/* Of a vector, `type` is what the record holds, by default what is kept. */
static enum weir_status resolve_numbers(const struct declaration *d,
                                        const struct place_section *place,
                                        const struct weir_yaml_node *node, const char *path,
                                        struct format_field *field, struct weir_error *err)
{
    bool is_kept = !weir_yaml_get(node, "type") && d->label_width > 0;
    int type = place->type;

    if (is_kept)
        type = d->value_type == WEIR_F64 ? FORMAT_F64 : FORMAT_F32;
    else if (!weir_yaml_get(node, "type") || type >= FORMAT_TYPES)
        return weir_yaml_fail(node, err, "%s.type: expected one of i8 … f64 with offset", path);
    *field = (struct format_field){
        .from = FORMAT_AT, .offset = place->offset, .type = (enum format_type)type};
    return WEIR_OK;
}

/* How each format says where a field is, for messages. */
static const char *ways_of(const struct format *format)
{
    if (format->gives & FORMAT_MANIFEST)
        return "{from: manifest} or {from: sidecar}";
    return format->gives & FORMAT_AT ? "{offset: BYTE, type: TYPE}" : "{field: NAME}";
}

static enum weir_status resolve(const struct declaration *d, const struct place_section *place,
                                const struct weir_yaml_node *node, const char *path,
                                struct format_field *field, struct weir_error *err)
{
    const char *from =
        weir_yaml_get(node, "from") ? weir_yaml_text(weir_yaml_get(node, "from")) : "";

    if (strcmp(from, "folder") == 0) {
        *field = (struct format_field){.from = FORMAT_FOLDER, .depth = (unsigned)place->depth};
        return WEIR_OK;
    }
    if (strcmp(from, "sidecar") == 0) {
        *field = (struct format_field){.from = FORMAT_SIDECAR, .name = place->field};
    } else if (weir_yaml_get(node, "offset")) {
        enum weir_status status = resolve_numbers(d, place, node, path, field, err);

        if (status != WEIR_OK)
            return status;
    } else if (place->fields.count > 0) {
        *field = (struct format_field){.from = FORMAT_COLUMNS, .names = place->fields};
    } else if (place->field) {
        *field = (struct format_field){.from = FORMAT_NAMED, .name = place->field};
    } else if (strcmp(from, "manifest") == 0) {
        *field = (struct format_field){.from = FORMAT_MANIFEST};
    }
    if (!(field->from & d->format->gives))
        return weir_yaml_fail(node, err, "%s: with format %s expected %s", path, d->format->name,
                              ways_of(d->format));
    return WEIR_OK;
}

/* The clock of records that have none. */
static enum weir_status read_start(struct declaration *d, const struct place_section *place,
                                   const char *path, const struct weir_yaml_node *node,
                                   struct weir_error *err)
{
    if (d->is_pushed)
        return weir_yaml_fail(node, err,
                              "%s.from: found record, expected field, or mtime for the time of "
                              "arrival: pushed samples come in no file",
                              path);
    if (!place->start || !weir_time_parse(place->start, strlen(place->start), &d->start_us))
        return weir_yaml_fail(
            node, err, "%s.start: expected a time such as 2002-12-01 with from: record", path);
    d->every_us = place->every;
    return WEIR_OK;
}

static enum weir_status read_time(struct declaration *d, const char *path,
                                  const struct weir_yaml_node *node, struct weir_error *err)
{
    struct place_section place = {0};
    enum weir_status status = cfg_read(TIME, CFG_CLOSED, node, path, NULL, &place, err);

    if (status != WEIR_OK)
        return status;
    d->time_from = (enum time_from)place.from;
    d->time_unit_us = UNIT_US[place.unit];
    d->time_pattern = place.pattern;
    if (d->time_from == TIME_FROM_MTIME)
        return WEIR_OK;
    if (d->time_from == TIME_FROM_RECORD)
        return read_start(d, &place, path, node, err);
    if (d->time_from == TIME_FROM_FILE_NAME) {
        if (d->is_pushed)
            return weir_yaml_fail(node, err,
                                  "%s.from: found file_name, expected field, or mtime for the time "
                                  "of arrival: pushed samples come in no file",
                                  path);
        if (!place.pattern)
            return weir_yaml_fail(node, err, "%s.pattern: expected a pattern with from: file_name",
                                  path);
        return WEIR_OK;
    }
    return resolve(d, &place, node, path, &d->fields.time, err);
}

static enum weir_status read_classes(struct declaration *d, const struct place_section *place,
                                     const char *path, struct weir_error *err)
{
    const char *word = weir_yaml_is_scalar(place->classes) ? weir_yaml_text(place->classes) : NULL;
    size_t count = weir_yaml_length(place->classes);

    d->label_kind = WEIR_LABEL_CLASS;
    if (word && strcmp(word, "stream") == 0)
        return WEIR_OK;
    if (word || count < 2 || count > STORAGE_CLASSES_MAX)
        return weir_yaml_fail(place->classes, err,
                              "%s.classes: expected stream or a list of at least two names", path);
    for (size_t i = 0; i < count; i++) {
        if (!weir_yaml_text(weir_yaml_at(place->classes, i)))
            return weir_yaml_fail(weir_yaml_at(place->classes, i), err,
                                  "%s.classes: expected a name", path);
    }
    d->classes = place->classes;
    return WEIR_OK;
}

static enum weir_status read_label(struct declaration *d, const char *path,
                                   const struct weir_yaml_node *node, struct weir_error *err)
{
    struct place_section place = {.type = LABEL_INT};
    const char *word = node && weir_yaml_is_scalar(node) ? weir_yaml_text(node) : NULL;
    enum weir_status status;

    if (!node || (word && strcmp(word, "none") == 0))
        return WEIR_OK;
    status = cfg_read(LABEL, CFG_CLOSED, node, path, NULL, &place, err);
    d->awaits_label = status == WEIR_OK && place.from == LABEL_FROM_UPDATES;
    if (status == WEIR_OK && place.values.count > 0)
        status = storage_values_declared(d, &place.values, path, err);
    if (status == WEIR_OK && !d->awaits_label)
        status = resolve(d, &place, node, path, &d->fields.label, err);
    if (status == WEIR_OK)
        status = storage_values_check(d, &place, node, path, err);
    d->fields.label.count = d->label_width;
    if (status != WEIR_OK || d->label_width > 0)
        return status;
    d->has_threshold = weir_yaml_get(node, "at_least") != NULL;
    d->threshold = place.at_least;
    if (place.classes && d->has_threshold)
        return weir_yaml_fail(weir_yaml_get(node, "at_least"), err,
                              "%s.at_least: found classes too, expected one of them", path);
    if (place.classes)
        return read_classes(d, &place, path, err);
    if (!weir_yaml_get(node, "type"))
        place.type = LABEL_INT;
    d->label_kind = !d->has_threshold && (place.type == LABEL_FLOAT || place.type == FORMAT_F32 ||
                                          place.type == FORMAT_F64)
                        ? WEIR_LABEL_FLOAT
                        : WEIR_LABEL_INT;
    return WEIR_OK;
}

/* `subject:` and `key:`. */
static enum weir_status read_identity(const struct declaration *d, const char *path,
                                      const struct weir_yaml_node *node, struct format_field *field,
                                      struct weir_error *err)
{
    struct place_section place = {0};
    enum weir_status status;

    if (!node)
        return WEIR_OK;
    status = cfg_read(IDENTITY, CFG_CLOSED, node, path, NULL, &place, err);
    return status == WEIR_OK ? resolve(d, &place, node, path, field, err) : status;
}

static enum weir_status read_duplicates(struct declaration *d, const char *path,
                                        const struct weir_yaml_node *node, struct weir_error *err)
{
    struct duplicates_section section = {0};
    enum weir_status status = WEIR_OK;

    if (node)
        status = cfg_read(DUPLICATES, CFG_CLOSED, node, path, NULL, &section, err);
    d->keep = (enum keep)section.keep;
    if (status == WEIR_OK && d->keep != KEEP_ALL && !d->has_key)
        return weir_yaml_fail(
            node, err, "%s.keep: found %s without a key, expected key: {field: NAME} beside it",
            path, STORAGE_KEEPS[d->keep]);
    return status;
}

static enum weir_status check_erase(struct declaration *d, const char *path,
                                    const struct weir_yaml_node *source, struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(source, "on_erase");

    d->on_erase = (enum on_erase)d->source.on_erase;
    if (!node) {
        if (d->has_subject)
            return weir_yaml_fail(source, err,
                                  "%s.source.on_erase: expected scrub or unlink, because a subject "
                                  "is declared",
                                  path);
        d->on_erase = d->format->is_one_sample ? ON_ERASE_UNLINK : ON_ERASE_SCRUB;
    }
    if (d->on_erase == ON_ERASE_UNLINK && !d->format->is_one_sample)
        return weir_yaml_fail(node, err,
                              "%s.source.on_erase: found unlink, expected scrub: a %s file holds "
                              "other people's samples too",
                              path, d->format->name);
    return WEIR_OK;
}

static bool is_name(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size <= STORAGE_NAME_MAX && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               size;
}

static enum weir_status read_one(struct declaration *d, const char *path,
                                 const struct weir_yaml_node *node, struct weir_error *err)
{
    struct dataset_section section = {0};
    WEIR_AUTO_FREE char *source = weir_format("%s.source", path);
    WEIR_AUTO_FREE char *time = weir_format("%s.time", path);
    WEIR_AUTO_FREE char *label = weir_format("%s.label", path);
    WEIR_AUTO_FREE char *subject = weir_format("%s.subject", path);
    WEIR_AUTO_FREE char *key = weir_format("%s.key", path);
    WEIR_AUTO_FREE char *duplicates = weir_format("%s.duplicates", path);
    enum weir_status status = cfg_read(DATASET, CFG_CLOSED, node, path, NULL, &section, err);

    if (status != WEIR_OK)
        return status;
    d->name = section.name;
    d->source_node = section.source;
    d->updates = section.updates;
    if (!is_name(d->name))
        return weir_yaml_fail(weir_yaml_get(node, "name"), err,
                              "%s.name: found '%s', expected at most %d letters, digits, _ - .",
                              path, d->name, STORAGE_NAME_MAX);
    status = read_source(d, source, section.source, err);
    if (status == WEIR_OK)
        status = read_time(d, time, section.time, err);
    if (status == WEIR_OK)
        status = read_label(d, label, section.label, err);
    d->has_subject = section.subject != NULL;
    d->has_key = section.key != NULL;
    if (status == WEIR_OK)
        status = read_identity(d, subject, section.subject, &d->fields.subject, err);
    if (status == WEIR_OK)
        status = read_identity(d, key, section.key, &d->fields.key, err);
    if (status == WEIR_OK)
        status = read_duplicates(d, duplicates, section.duplicates, err);
    if (status == WEIR_OK)
        status = storage_holdout_declared(d, path, section.holdout, err);
    if (status == WEIR_OK)
        status = check_erase(d, path, section.source, err);
    if (status != WEIR_OK)
        return status;
    for (int i = 0; i < FORMAT_ROLES; i++)
        d->wants_manifest = d->wants_manifest || d->fields.each[i].from == FORMAT_MANIFEST;
    for (int i = 0; i < FORMAT_ROLES; i++)
        d->wants_sidecar = d->wants_sidecar || d->fields.each[i].from == FORMAT_SIDECAR;
    if (d->wants_sidecar && d->wants_manifest)
        return weir_yaml_fail(section.source, err,
                              "%s: found a manifest and a sidecar, expected one of them", path);
    if (d->wants_sidecar &&
        (!d->source.sidecar || d->source.sidecar[0] != '.' || strchr(d->source.sidecar, '/')))
        return weir_yaml_fail(
            section.source, err,
            "%s.source.sidecar: expected an ending like .json: a field is in a sidecar", path);
    if (d->format->check && d->format->check(d->options, &d->fields, err) != WEIR_OK) {
        struct weir_error why = *err;

        return weir_yaml_fail(section.source, err, "%s.%s", path, why.text);
    }
    return WEIR_OK;
}

enum weir_status storage_declarations_load(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err)
{
    const struct weir_yaml_node *list = weir_yaml_get(root, "datasets");
    struct declarations all = {0};
    enum weir_status status = WEIR_OK;

    if (!list)
        list = weir_yaml_get(root, "dataset");
    if (!list || weir_yaml_length(list) == 0)
        return weir_yaml_fail(root, err, "datasets: expected at least one dataset");
    all.at = weir_calloc(weir_yaml_length(list), sizeof *all.at);
    for (size_t i = 0; status == WEIR_OK && i < weir_yaml_length(list); i++) {
        WEIR_AUTO_FREE char *path = weir_format("datasets[%zu]", i);

        all.count = i + 1;
        status = read_one(&all.at[i], path, weir_yaml_at(list, i), err);
    }
    if (status != WEIR_OK) {
        storage_declarations_fini(&all);
        return status;
    }
    *ret_declarations = all;
    return WEIR_OK;
}

enum weir_status storage_declarations_read(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err)
{
    const struct weir_yaml_node *list = weir_yaml_get(root, "datasets");
    struct declarations all = {0};
    enum weir_status status = storage_declarations_load(root, &all, err);

    if (status == WEIR_OK)
        status =
            storage_declarations_agree(&all, list ? list : weir_yaml_get(root, "dataset"), err);
    if (status == WEIR_OK)
        *ret_declarations = all;
    else
        storage_declarations_fini(&all);
    return status;
}

void storage_declarations_fini(struct declarations *declarations)
{
    for (size_t i = 0; i < declarations->count; i++)
        free(declarations->at[i].options);
    free(declarations->at);
    *declarations = (struct declarations){0};
}

static void document(struct weir_buf *out, const char *title, const char *text,
                     const struct cfg_key *keys)
{
    weir_buf_printf(out, "\n### `%s`\n\n%s\n\n", title, text);
    if (keys->name)
        cfg_document(keys, out);
}

void storage_declarations_document(struct weir_buf *out)
{
    weir_buf_append_text(out, "## `datasets`\n\nRead by storage: a list of datasets.\n\n");
    cfg_document(DATASET, out);
    document(out, "datasets[].source", "Where the files are and what they look like.", SOURCE);
    document(
        out, "datasets[].source.s3",
        "A bucket, which is read by ranges, or mirrored into the data directory (import: copy).",
        STORAGE_S3_KEYS);
    for (size_t i = 0; i < format_count(); i++) {
        WEIR_AUTO_FREE char *title =
            weir_format("datasets[].source.format: %s", format_at(i)->name);

        document(out, title, format_at(i)->summary, format_at(i)->options);
    }
    document(out, "datasets[].time", "When a sample happened.", TIME);
    document(out, "datasets[].label", "What is to be learnt; `label: none` if nothing.", LABEL);
    document(out, "datasets[].subject", "Whose data a sample is.", IDENTITY);
    document(out, "datasets[].duplicates",
             "Which samples of one key stay, in the order in which they came.", DUPLICATES);
    document(out, "datasets[].key", "What a sample is.", IDENTITY);
    document(
        out, "datasets[].holdout",
        "Samples that no training set ever holds, whatever the policy; evaluations can be made on "
        "them (`on: holdout`). By subject it is drawn when samples are registered, and cannot be "
        "changed once the dataset is there.",
        STORAGE_HOLDOUT_KEYS);
}
