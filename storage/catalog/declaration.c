/* Reading the `datasets:` section: see declaration.h. */
#include "storage/catalog/declaration.h"

#include "storage/catalog/declaration_holdout.h"
#include "storage/catalog/declaration_places.h"
#include "storage/catalog/declaration_s3.h"
#include "storage/catalog/declaration_source.h"

#include "core/base/memory.h"
#include "core/config/sections.h"

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
    const struct weir_yaml_node *use;
    const char *updates;
};

struct duplicates_section {
    int keep;
};

const char *const STORAGE_KEEPS[] = {"all", "first", "last", NULL};

static const struct cfg_key DATASET[] = {
    CFG_TEXT(struct dataset_section, name, .required = true, .doc = "letters, digits, _ - ."),
    CFG_NODE(struct dataset_section, source, .required = true, .doc = "place of the files"),
    CFG_NODE(struct dataset_section, time, .required = true, .doc = "event time of a sample"),
    CFG_NODE(struct dataset_section, label, .doc = "label to be learnt, or none"),
    CFG_NODE(struct dataset_section, subject, .doc = "person whose data a sample is"),
    CFG_NODE(struct dataset_section, key,
             .doc = "identity of a sample: later labels and duplicates are matched by it"),
    CFG_NODE(struct dataset_section, duplicates, .doc = "treatment of samples of one key"),
    CFG_NODE(struct dataset_section, holdout,
             .doc = "a share of the samples that no training set ever holds"),
    CFG_NODE(struct dataset_section, use, .doc = CFG_USE_DOC),
    CFG_TEXT(struct dataset_section, updates,
             .doc =
                 "name of another dataset: each row here is the label of its samples of that key"),
    CFG_END,
};
static const struct cfg_key DUPLICATES[] = {
    CFG_CHOICE(struct duplicates_section, keep, .choices = STORAGE_KEEPS, .fallback = "all",
               .doc = "all; first: later ones are refused and counted; last: earlier ones are "
                      "replaced"),
    CFG_END,
};

static enum weir_status read_duplicates(struct declaration *d, const char *dataset,
                                        const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.duplicates", dataset);
    struct duplicates_section section = {0};
    enum weir_status status = WEIR_OK;

    if (node != NULL)
        status = cfg_read(DUPLICATES, CFG_CLOSED, node, path, NULL, &section, err);
    d->keep = (enum keep)section.keep;
    if (status == WEIR_OK && d->keep != KEEP_ALL && !d->has_key)
        return weir_yaml_fail(
            node, err, "%s.keep: found %s without a key, expected key: {field: NAME} beside it",
            path, STORAGE_KEEPS[d->keep]);
    return status;
}

static bool is_name(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size <= STORAGE_NAME_MAX && name[0] != '.' && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
               size;
}

/* All of them, whatever is wrong with one, but those that depend on the source. */
static void read_parts(struct declaration *d, const char *path,
                       const struct dataset_section *section, struct cfg_complaints *all)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *subject = weir_format("%s.subject", path);
    WEIR_AUTO_FREE char *key = weir_format("%s.key", path);

    if (!cfg_note(all, storage_source_declared(d, path, section->source, &err), &err))
        return;
    bool has_time = cfg_note(all, storage_time_declared(d, path, section->time, &err), &err);
    bool has_label = cfg_note(all, storage_label_declared(d, path, section->label, &err), &err);
    bool has_subject = cfg_note(
        all, storage_identity_declared(d, subject, section->subject, &d->fields.subject, &err),
        &err);
    bool has_key =
        cfg_note(all, storage_identity_declared(d, key, section->key, &d->fields.key, &err), &err);
    d->is_readable = has_time && has_label && has_subject && has_key;
    cfg_note(all, read_duplicates(d, path, section->duplicates, &err), &err);
    cfg_note(all, storage_holdout_declared(d, path, section->holdout, &err), &err);
    cfg_note(all, storage_erase_declared(d, path, section->source, &err), &err);
}

static bool is_any_from(const struct format_fields *fields, enum format_from from)
{
    for (int i = 0; i < FORMAT_ROLES; i++) {
        if (fields->each[i].from == from)
            return true;
    }
    return false;
}

/* Checks that the parts of a declaration agree. */
static enum weir_status check(struct declaration *d, const char *path, struct weir_error *err)
{
    const char *sidecar = d->source.sidecar;

    d->wants_manifest = is_any_from(&d->fields, FORMAT_MANIFEST);
    d->wants_sidecar = is_any_from(&d->fields, FORMAT_SIDECAR);
    if (d->wants_sidecar && d->wants_manifest)
        return weir_yaml_fail(d->source_node, err,
                              "%s: found a manifest and a sidecar, expected one of them", path);
    if (d->wants_sidecar && (sidecar == NULL || sidecar[0] != '.' || strchr(sidecar, '/') != NULL))
        return weir_yaml_fail(
            d->source_node, err,
            "%s.source.sidecar: expected an ending like .json: a field is in a sidecar", path);
    if (d->format->check != NULL && d->format->check(d->options, &d->fields, err) != WEIR_OK) {
        struct weir_error why = *err;

        return weir_yaml_fail(d->source_node, err, "%s.%s", path, why.text);
    }
    return WEIR_OK;
}

static void read_one(struct declaration *d, const char *path, const struct weir_yaml_node *node,
                     struct cfg_complaints *all)
{
    struct weir_error err;
    struct dataset_section section = {0};
    CFG_AUTO_COMPLAINTS own = {0};
    bool is_read =
        cfg_note(&own, cfg_read(DATASET, CFG_CLOSED, node, path, NULL, &section, &err), &err);

    d->name = section.name;
    d->source_node = section.source;
    d->label_node = section.label;
    d->updates = section.updates;
    d->has_subject = section.subject != NULL;
    d->has_key = section.key != NULL;
    if (is_read && !is_name(d->name))
        cfg_note(&own,
                 weir_yaml_fail(weir_yaml_get(node, "name"), &err,
                                "%s.name: found '%s', expected at most %d letters, digits, _ - .",
                                path, d->name, STORAGE_NAME_MAX),
                 &err);
    WEIR_AUTO_FREE char *use = weir_format("%s.use", path);
    cfg_note(&own, cfg_use_read(section.use, use, &d->uses, &err), &err);
    if (section.source != NULL && section.time != NULL)
        read_parts(d, path, &section, &own);
    if (d->is_readable)
        d->is_readable = cfg_note(&own, check(d, path, &err), &err);
    cfg_note_text(all, own.status, weir_buf_text(&own.lines));
}

static void read_all(const struct weir_yaml_node *root, struct declarations *all,
                     struct cfg_complaints *complaints)
{
    struct weir_error err;
    const struct weir_yaml_node *list = cfg_datasets(root);

    if (list == NULL || weir_yaml_length(list) == 0) {
        cfg_note(complaints, weir_yaml_fail(root, &err, "datasets: expected at least one dataset"),
                 &err);
        return;
    }
    all->at = weir_calloc(weir_yaml_length(list), sizeof(*all->at));
    for (all->count = 0; all->count < weir_yaml_length(list); all->count++) {
        WEIR_AUTO_FREE char *path = weir_format("datasets[%zu]", all->count);

        read_one(&all->at[all->count], path, weir_yaml_at(list, all->count), complaints);
    }
}

static void check_all(const struct weir_yaml_node *root, const struct declarations *all,
                      struct cfg_complaints *complaints)
{
    struct weir_error err;
    const struct weir_yaml_node *list = cfg_datasets(root);

    cfg_note(complaints, storage_declarations_agree(all, list, &err), &err);
    for (size_t i = 0; i < all->count; i++) {
        WEIR_AUTO_FREE char *path = weir_format("datasets[%zu]", i);
        const struct weir_yaml_node *source = weir_yaml_get(weir_yaml_at(list, i), "source");

        if (cfg_note(complaints, storage_source_check_place(&all->at[i], path, source, &err), &err))
            cfg_note(complaints, storage_s3_check_credentials(&all->at[i], path, &err), &err);
    }
}

static enum weir_status end(struct declarations *all, struct cfg_complaints *complaints,
                            struct declarations *ret_declarations, struct weir_error *err)
{
    enum weir_status status = cfg_complaints_end(complaints, err);

    if (status == WEIR_OK)
        *ret_declarations = *all;
    else
        storage_declarations_fini(all);
    return status;
}

enum weir_status storage_declarations_load(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err)
{
    struct declarations all = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};

    read_all(root, &all, &complaints);
    return end(&all, &complaints, ret_declarations, err);
}

enum weir_status storage_declarations_read(const struct weir_yaml_node *root,
                                           struct declarations *ret_declarations,
                                           struct weir_error *err)
{
    struct declarations all = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};

    read_all(root, &all, &complaints);
    if (complaints.status == WEIR_OK)
        check_all(root, &all, &complaints);
    return end(&all, &complaints, ret_declarations, err);
}

void storage_declarations_salvage(const struct weir_yaml_node *root,
                                  struct declarations *ret_declarations)
{
    struct declarations all = {0};
    CFG_AUTO_COMPLAINTS complaints = {0};

    read_all(root, &all, &complaints);
    *ret_declarations = all;
}

void storage_declarations_check(const struct weir_yaml_node *root,
                                struct cfg_complaints *complaints)
{
    struct declarations all = {0};

    if (cfg_datasets(root) == NULL)
        return; /* the orchestrator misses it */
    read_all(root, &all, complaints);
    if (complaints->status == WEIR_OK)
        check_all(root, &all, complaints);
    storage_declarations_fini(&all);
}

void storage_declarations_fini(struct declarations *declarations)
{
    for (size_t i = 0; i < declarations->count; i++) {
        weir_written_time_fini(&declarations->at[i].written);
        free(declarations->at[i].options);
    }
    free(declarations->at);
    *declarations = (struct declarations){0};
}

static void document(struct weir_buf *out, const char *title, const char *text,
                     const struct cfg_key *keys)
{
    weir_buf_printf(out, "\n### `%s`\n\n%s\n\n", title, text);
    if (keys->name != NULL)
        cfg_document(keys, out);
}

void storage_declarations_document(struct weir_buf *out)
{
    weir_buf_append_text(out, "## `datasets`\n\nRead by storage: a list of datasets.\n\n");
    cfg_document(DATASET, out);
    document(out, "datasets[].source", "Where the files are and what they look like.",
             STORAGE_SOURCE_KEYS);
    document(
        out, "datasets[].source.s3",
        "A bucket, which is read by ranges, or mirrored into the data directory (import: copy).",
        STORAGE_S3_KEYS);
    cfg_registry_document(&STORAGE_FORMATS, "### datasets[].source.format", out);
    document(out, "datasets[].time", "When a sample happened.", STORAGE_TIME_KEYS);
    document(out, "datasets[].label", "What is to be learnt; `label: none` if nothing.",
             STORAGE_LABEL_KEYS);
    document(out, "datasets[].subject", "Whose data a sample is.", STORAGE_IDENTITY_KEYS);
    document(out, "datasets[].duplicates",
             "Which samples of one key stay, in the order in which they came.", DUPLICATES);
    document(out, "datasets[].key", "What a sample is.", STORAGE_IDENTITY_KEYS);
    document(
        out, "datasets[].holdout",
        "Samples that no training set ever holds, whatever the policy; evaluations can be made on "
        "them (`on: holdout`). By subject it is drawn when samples are registered, and cannot be "
        "changed once the dataset is there.",
        CFG_HOLDOUT_KEYS);
}
