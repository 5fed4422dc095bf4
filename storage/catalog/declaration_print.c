/* The effective values of a dataset as YAML: see declaration.h. */
#include "storage/catalog/declaration.h"
#include "storage/catalog/declaration_holdout.h"
#include "storage/catalog/declaration_places.h"
#include "storage/catalog/declaration_push.h"
#include "storage/catalog/declaration_s3.h"
#include "storage/catalog/declaration_source.h"

#include "core/base/clock.h"

static void print_texts(struct weir_buf *out, const char *before, const struct cfg_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        weir_buf_append_text(out, i == 0 ? before : ", ");
        weir_yaml_print_quoted(weir_yaml_text(weir_yaml_at(texts->node, i)), out);
    }
    weir_buf_append_text(out, "]");
}

static void print_field(struct weir_buf *out, const struct format_field *field)
{
    if (field->from == FORMAT_MANIFEST) {
        weir_buf_append_text(out, "from: manifest");
    } else if (field->from == FORMAT_FOLDER) {
        weir_buf_printf(out, "from: folder, depth: %u", field->depth);
    } else if (field->from == FORMAT_SIDECAR && field->name == NULL) {
        weir_buf_append_text(out, "from: sidecar");
    } else if (field->from == FORMAT_AT) {
        weir_buf_printf(out, "from: field, offset: %llu, type: %s",
                        (unsigned long long)field->offset, STORAGE_FORMAT_TYPE_NAMES[field->type]);
    } else if (field->from == FORMAT_COLUMNS) {
        print_texts(out, "from: field, fields: [", &field->names);
    } else {
        weir_buf_printf(out,
                        "from: %s, field: ", field->from == FORMAT_SIDECAR ? "sidecar" : "field");
        weir_yaml_print_quoted(field->name, out);
    }
}

static void print_written(const struct weir_written_time *written, struct weir_buf *out)
{
    for (size_t i = 0; i < written->count; i++) {
        weir_buf_append_text(out, i > 0                ? ", "
                                  : written->count > 1 ? ", pattern: ["
                                                       : ", pattern: ");
        weir_yaml_print_quoted(written->pattern[i].text, out);
    }
    if (written->count > 1)
        weir_buf_append_text(out, "]");
    if (written->zone_name != NULL)
        weir_buf_printf(out, ", zone: %s", written->zone_name);
}

static void print_time(const struct declaration *d, struct weir_buf *out)
{
    weir_buf_append_text(out, "    time: {");
    if (d->fields.time.from != FORMAT_NOWHERE)
        print_field(out, &d->fields.time);
    else
        weir_buf_printf(out, "from: %s", STORAGE_TIME_FROMS[d->time_from]);
    print_written(&d->written, out);
    if (d->time_from == TIME_FROM_RECORD) {
        char start[WEIR_TIME_TEXT_MAX];

        weir_time_format(d->start_us, start);
        weir_buf_printf(out, ", start: \"%s\", every: %lldus}\n", start, (long long)d->every_us);
        return;
    }
    weir_buf_printf(out, ", unit: %s}\n", WEIR_TIME_UNITS[d->time_unit]);
}

static void print_label(const struct declaration *d, struct weir_buf *out)
{
    if (d->label_kind == WEIR_LABEL_NONE) {
        weir_buf_append_text(out, "    label: none\n");
        return;
    }
    weir_buf_append_text(out, "    label: {");
    if (d->awaits_label)
        weir_buf_append_text(out, "from: updates");
    else
        print_field(out, &d->fields.label);
    if (d->label_kind == WEIR_LABEL_CLASS && d->classes == NULL)
        weir_buf_append_text(out, ", classes: stream");
    else if (d->label_kind == WEIR_LABEL_VALUES)
        weir_buf_printf(out, ", values: [%s, %u]", weir_dtype_name(d->value_type), d->label_width);
    else if (d->label_kind != WEIR_LABEL_CLASS && d->fields.label.from != FORMAT_AT)
        weir_buf_printf(out, ", type: %s", d->label_kind == WEIR_LABEL_FLOAT ? "float" : "int");
    if (d->has_threshold)
        weir_buf_printf(out, ", at_least: %.17g", d->threshold);
    for (size_t i = 0; i < weir_yaml_length(d->classes); i++) {
        weir_buf_append_text(out, i == 0 ? ", classes: [" : ", ");
        weir_yaml_print_quoted(weir_yaml_text(weir_yaml_at(d->classes, i)), out);
    }
    weir_buf_append_text(out, d->classes != NULL ? "]}\n" : "}\n");
}

static void print_identity(const char *name, const struct format_field *field, struct weir_buf *out)
{
    if (field->from == FORMAT_NOWHERE)
        return;
    weir_buf_printf(out, "    %s: {", name);
    print_field(out, field);
    weir_buf_append_text(out, "}\n");
}

static void print_folder(const struct declaration *d, const char *root, struct weir_buf *out)
{
    if (d->is_mirrored) {
        storage_s3_print(d, out);
    } else {
        weir_buf_append_text(out, "      path: ");
        weir_yaml_print_quoted(root != NULL ? root : d->source.path, out);
        weir_buf_append_text(out, "\n");
    }
    weir_buf_printf(out, "      format: %s\n      include: ", d->format->name);
    weir_yaml_print_quoted(d->source.include, out);
    if (d->wants_sidecar) {
        weir_buf_append_text(out, "\n      sidecar: ");
        weir_yaml_print_quoted(d->source.sidecar, out);
    }
    if (d->wants_manifest) {
        weir_buf_append_text(out, "\n      manifest: ");
        weir_yaml_print_quoted(d->source.manifest, out);
    }
    weir_buf_printf(out, "\n      import: %s\n      on_erase: %s\n      settle: %lldms\n",
                    STORAGE_IMPORTS[d->source.import], STORAGE_ON_ERASES[d->on_erase],
                    (long long)(d->source.settle / 1000));
}

void storage_declaration_print(const struct declaration *d, const char *root, struct weir_buf *out)
{
    weir_buf_printf(out, "  - name: %s\n    source:\n", d->name);
    if (d->is_pushed)
        storage_push_print(d, STORAGE_ON_ERASES[d->on_erase], out);
    else
        print_folder(d, root, out);
    cfg_print(d->format->options, d->options, 6, out);
    print_time(d, out);
    print_label(d, out);
    print_identity("subject", &d->fields.subject, out);
    print_identity("key", &d->fields.key, out);
    if (d->updates != NULL)
        weir_buf_printf(out, "    updates: %s\n", d->updates);
    if (d->keep != KEEP_ALL)
        weir_buf_printf(out, "    duplicates: {keep: %s}\n", STORAGE_KEEPS[d->keep]);
    storage_holdout_print(d, out);
}
