/* Reads `time`, `label`, `subject` and `key`: see declaration_places.h. */
#include "storage/catalog/declaration_places.h"

#include "storage/catalog/declaration_values.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <string.h>

const char *const STORAGE_TIME_FROMS[] = {"manifest", "field",  "file_name", "mtime",
                                          "sidecar",  "record", NULL};
static const char *const LABEL_FROMS[] = {"manifest", "field",   "sidecar",
                                          "folder",   "updates", NULL};
enum { LABEL_FROM_UPDATES = 4 };
static const char *const PLACE_FROMS[] = {"manifest", "field", "sidecar", NULL};
/* The first ten are enum format_type. */
static const char *const LABEL_TYPES[] = {"i8",  "u8",  "i16", "u16", "i32",   "u32", "i64",
                                          "u64", "f32", "f64", "int", "float", NULL};
enum { LABEL_INT = FORMAT_TYPES, LABEL_FLOAT };

const struct cfg_key STORAGE_TIME_KEYS[] = {
    CFG_CHOICE(struct place_section, from, .choices = STORAGE_TIME_FROMS, .required = true,
               .doc = "place of the time: RFC 3339 text, one as pattern says, or a number"),
    CFG_TEXT(struct place_section, field,
             .doc = "with from: field; its name. With from: sidecar; a member of its JSON"),
    CFG_U64(struct place_section, offset, .doc = "with from: field; byte in a binary record"),
    CFG_CHOICE(struct place_section, type, .choices = STORAGE_FORMAT_TYPE_NAMES,
               .doc = "with offset: type of the number"),
    CFG_NODE(struct place_section, pattern,
             .doc =
                 "form of the time for strptime(): \"%d/%m/%Y %H:%M\", with %f for a fraction of a "
                 "second; or a list of forms, tried in order. With from: file_name, what the "
                 "name (with a / in it: the path) begins with: day_%Y-%m-%d"),
    CFG_TEXT(
        struct place_section, zone,
        .doc =
            "place whose clocks show the time where it names no offset, such as "
            "Europe/Berlin (default: UTC). Of an hour that clocks show twice it is the first; one that they "
            "skip is read by the offset before"),
    CFG_CHOICE(struct place_section, unit, .choices = WEIR_TIME_UNITS, .fallback = "s",
               .doc = "what a number counts since 1970; excel: the days of spreadsheets, on the "
                      "clocks of zone"),
    CFG_TEXT(struct place_section, start,
             .doc = "with from: record; the time of the first record of a file (or of its first "
                    "line, a header too)"),
    CFG_DURATION(struct place_section, every, .fallback = "1s", .min = 1,
                 .doc = "with from: record; from one record to the next"),
    CFG_END,
};
const struct cfg_key STORAGE_LABEL_KEYS[] = {
    CFG_CHOICE(struct place_section, from, .choices = LABEL_FROMS,
               .doc = "place of the label; updates: in the dataset that updates this one, later"),
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
const struct cfg_key STORAGE_IDENTITY_KEYS[] = {
    CFG_CHOICE(struct place_section, from, .choices = PLACE_FROMS, .doc = "place of the value"),
    CFG_TEXT(struct place_section, field,
             .doc = "name of the field; with from: sidecar, a member of its JSON"),
    CFG_U64(struct place_section, offset, .doc = "byte in a binary record"),
    CFG_CHOICE(struct place_section, type, .choices = STORAGE_FORMAT_TYPE_NAMES,
               .doc = "with offset: type of the number"),
    CFG_END,
};

/* ---- where the format finds it ---- */

/* `type` of a vector is that in the record, by default the one that is kept. */
static enum weir_status resolve_numbers(const struct declaration *d,
                                        const struct place_section *place,
                                        const struct weir_yaml_node *node, const char *path,
                                        struct format_field *field, struct weir_error *err)
{
    bool is_kept = weir_yaml_get(node, "type") == NULL && d->label_width > 0;
    int type = place->type;

    if (is_kept)
        type = d->value_type == WEIR_F64 ? FORMAT_F64 : FORMAT_F32;
    else if (weir_yaml_get(node, "type") == NULL || type >= FORMAT_TYPES)
        return weir_yaml_fail(node, err, "%s.type: expected one of i8 … f64 with offset", path);
    *field = (struct format_field){
        .from = FORMAT_AT, .offset = place->offset, .type = (enum format_type)type};
    return WEIR_OK;
}

/* The words of each format for the place of a field, for messages. */
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
        weir_yaml_get(node, "from") != NULL ? weir_yaml_text(weir_yaml_get(node, "from")) : "";

    if (strcmp(from, "folder") == 0) {
        *field = (struct format_field){.from = FORMAT_FOLDER, .depth = (unsigned)place->depth};
        return WEIR_OK;
    }
    if (strcmp(from, "sidecar") == 0) {
        *field = (struct format_field){.from = FORMAT_SIDECAR, .name = place->field};
    } else if (weir_yaml_get(node, "offset") != NULL) {
        enum weir_status status = resolve_numbers(d, place, node, path, field, err);

        if (status != WEIR_OK)
            return status;
    } else if (place->fields.count > 0) {
        *field = (struct format_field){.from = FORMAT_COLUMNS, .names = place->fields};
    } else if (place->field != NULL) {
        *field = (struct format_field){.from = FORMAT_NAMED, .name = place->field};
    } else if (strcmp(from, "manifest") == 0) {
        *field = (struct format_field){.from = FORMAT_MANIFEST};
    }
    if (!(field->from & d->format->gives))
        return weir_yaml_fail(node, err, "%s: with format %s expected %s", path, d->format->name,
                              ways_of(d->format));
    return WEIR_OK;
}

/* ---- time ---- */

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
    if (place->start == NULL || !weir_time_parse(place->start, strlen(place->start), &d->start_us))
        return weir_yaml_fail(
            node, err, "%s.start: expected a time such as 2002-12-01 with from: record", path);
    d->every_us = place->every;
    return WEIR_OK;
}

enum weir_status storage_time_declared(struct declaration *d, const char *dataset,
                                       const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.time", dataset);
    struct place_section place = {0};
    enum weir_status status =
        cfg_read(STORAGE_TIME_KEYS, CFG_CLOSED, node, path, NULL, &place, err);

    if (status != WEIR_OK)
        return status;
    d->time_from = (enum time_from)place.from;
    d->time_unit = (enum weir_time_unit)place.unit;
    status = weir_written_time_declared(&d->written, weir_yaml_get(node, "pattern"),
                                        weir_yaml_get(node, "zone"), path, err);
    if (status != WEIR_OK)
        return status;
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
        if (d->written.count == 0)
            return weir_yaml_fail(node, err, "%s.pattern: expected a pattern with from: file_name",
                                  path);
        return WEIR_OK;
    }
    return resolve(d, &place, node, path, &d->fields.time, err);
}

/* ---- label ---- */

enum { CLASSES_COMPARED = 1000 /* with those that follow: a list by hand is shorter */ };

static enum weir_status read_classes(struct declaration *d, const struct place_section *place,
                                     const char *path, struct weir_error *err)
{
    const char *word = weir_yaml_is_scalar(place->classes) ? weir_yaml_text(place->classes) : NULL;
    size_t count = weir_yaml_length(place->classes);

    d->label_kind = WEIR_LABEL_CLASS;
    if (word != NULL && strcmp(word, "stream") == 0)
        return WEIR_OK;
    if (word != NULL || count < 2 || count > STORAGE_CLASSES_MAX)
        return weir_yaml_fail(place->classes, err,
                              "%s.classes: expected stream or a list of at least two names", path);
    for (size_t i = 0; i < count; i++) {
        const struct weir_yaml_node *item = weir_yaml_at(place->classes, i);
        const char *name = weir_yaml_text(item);

        if (name == NULL)
            return weir_yaml_fail(item, err, "%s.classes: expected a name", path);
        for (size_t j = 0; j < i && j < CLASSES_COMPARED; j++) {
            if (weir_str_equal(weir_yaml_text(weir_yaml_at(place->classes, j)), name))
                return weir_yaml_fail(item, err, "%s.classes: '%.80s' stands there twice", path,
                                      name);
        }
    }
    d->classes = place->classes;
    return WEIR_OK;
}

enum weir_status storage_label_declared(struct declaration *d, const char *dataset,
                                        const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.label", dataset);
    struct place_section place = {.type = LABEL_INT};
    const char *word = node != NULL && weir_yaml_is_scalar(node) ? weir_yaml_text(node) : NULL;
    enum weir_status status;

    if (node == NULL || (word != NULL && strcmp(word, "none") == 0))
        return WEIR_OK;
    status = cfg_read(STORAGE_LABEL_KEYS, CFG_CLOSED, node, path, NULL, &place, err);
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
    if (place.classes != NULL && d->has_threshold)
        return weir_yaml_fail(weir_yaml_get(node, "at_least"), err,
                              "%s.at_least: found classes too, expected one of them", path);
    if (place.classes != NULL)
        return read_classes(d, &place, path, err);
    if (weir_yaml_get(node, "type") == NULL)
        place.type = LABEL_INT;
    d->label_kind = !d->has_threshold && (place.type == LABEL_FLOAT || place.type == FORMAT_F32 ||
                                          place.type == FORMAT_F64)
                        ? WEIR_LABEL_FLOAT
                        : WEIR_LABEL_INT;
    return WEIR_OK;
}

/* ---- subject and key ---- */

enum weir_status storage_identity_declared(const struct declaration *d, const char *path,
                                           const struct weir_yaml_node *node,
                                           struct format_field *field, struct weir_error *err)
{
    struct place_section place = {0};
    enum weir_status status;

    if (node == NULL)
        return WEIR_OK;
    status = cfg_read(STORAGE_IDENTITY_KEYS, CFG_CLOSED, node, path, NULL, &place, err);
    return status == WEIR_OK ? resolve(d, &place, node, path, field, err) : status;
}
