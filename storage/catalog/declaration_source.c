/* Reads `source`: see declaration_source.h. */
#include "storage/catalog/declaration_source.h"

#include "storage/catalog/declaration_push.h"
#include "storage/catalog/declaration_s3.h"

#include "core/base/memory.h"
#include "core/config/schema.h"
#include "core/service/roots.h"

#include <string.h>

const char *const STORAGE_IMPORTS[] = {"reference", "copy", NULL};
const char *const STORAGE_ON_ERASES[] = {"scrub", "unlink", NULL};
static const char *const ON_RETURNS[] = {"refuse", "accept", NULL};

const struct cfg_key STORAGE_SOURCE_KEYS[] = {
    CFG_TEXT(struct source_section, path,
             .doc = "folder, watched with all below; a relative path starts where the platform was "
                    "started. No directory of Weir's own may lie in it"),
    CFG_BOOL(struct source_section, push, .fallback = "false",
             .doc = "instead of a path: samples come by weir push into files that Weir owns"),
    CFG_SIZE(struct source_section, segment_bytes, .fallback = "256MiB", .min = 1 << 16,
             .max = 1 << 30, .doc = "with push: bytes of such a file, then the next one begins"),
    CFG_NODE(struct source_section, s3, .doc = "instead of a path: a bucket of an object store"),
    CFG_TEXT(struct source_section, format, .required = true,
             .doc = "how the files are written: csv, jsonl, files (one sample each), binary, tar, "
                    "tfrecord or mds; each has keys of its own"),
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
    CFG_CHOICE(struct source_section, on_return, .choices = ON_RETURNS, .fallback = "refuse",
               .doc =
                   "records that were erased, or whose subject or key was, when they come again. "
                   "refuse: they stay out, counted as blocked; accept: they come in, counted as "
                   "returned. May be changed later; the value that was declared last counts"),
    CFG_DURATION(struct source_section, settle, .fallback = "200ms", .min = 0, .max = 3600e6,
                 .doc = "a file that changed less than this ago waits; a log, ten times as long"),
    CFG_END,
};

/* ---- keys that nobody knows ---- */

static const char *nearest_key(const struct cfg_key *first, const struct cfg_key *second,
                               const char *name)
{
    const char *names[64];
    size_t count = 0;

    for (; first->name != NULL && count < 32; first++)
        names[count++] = first->name;
    for (; second->name != NULL && count < 63; second++)
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

        if (cfg_has_key(STORAGE_SOURCE_KEYS, key) || cfg_has_key(d->format->options, key))
            continue;
        nearest = nearest_key(STORAGE_SOURCE_KEYS, d->format->options, key);
        return weir_yaml_fail(weir_yaml_value(node, i), err, "%s.%s: unknown key%s%s%s", path, key,
                              nearest != NULL ? " (did you mean " : "",
                              nearest != NULL ? nearest : "", nearest != NULL ? "?)" : "");
    }
    return WEIR_OK;
}

/* ---- reading ---- */

enum weir_status storage_source_declared(struct declaration *d, const char *dataset,
                                         const struct weir_yaml_node *node, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.source", dataset);
    enum weir_status status =
        cfg_read(STORAGE_SOURCE_KEYS, CFG_OPEN, node, path, NULL, &d->source, err);

    if (status != WEIR_OK)
        return status;
    d->format = format_find(d->source.format);
    if (d->format == NULL)
        return cfg_plugin_unknown(&STORAGE_FORMATS, weir_yaml_get(node, "format"), path, err);
    status = check_source_keys(d, path, node, err);
    if (status == WEIR_OK)
        status = storage_s3_declared(d, path, node, err);
    if (status == WEIR_OK)
        status = storage_push_declared(d, path, node, err);
    if (status != WEIR_OK)
        return status;
    d->options = weir_calloc(1, d->format->options_size + 1);
    d->is_pushed = d->source.push;
    d->says_on_return = weir_yaml_get(node, "on_return") != NULL;
    d->is_copied = (d->source.import == 1 && !d->is_mirrored) || d->is_pushed;
    return cfg_read(d->format->options, CFG_OPEN, node, path, NULL, d->options, err);
}

/* Otherwise what Weir keeps would be taken in as samples, erased ones included. */
static enum weir_status check_is_apart(const struct declaration *d, const char *dataset,
                                       const struct weir_yaml_node *path, struct weir_error *err)
{
    WEIR_AUTO_FREE char *own = weir_roots_own_within(d->source.path);

    if (own == NULL)
        return WEIR_OK;
    return weir_yaml_fail(path, err,
                          "%s.source.path: found %s, which contains %s, a directory of Weir's own, "
                          "expected a folder without it: name the folder of the files below it, or "
                          "move the data directory elsewhere",
                          dataset, d->source.path, own);
}

enum weir_status storage_source_check_place(const struct declaration *d, const char *dataset,
                                            const struct weir_yaml_node *source,
                                            struct weir_error *err)
{
    if (d->source.path == NULL)
        return WEIR_OK;
    if (weir_roots_allow(d->source.path))
        return check_is_apart(d, dataset, weir_yaml_get(source, "path"), err);
    if (weir_roots_is_own(d->source.path))
        return weir_yaml_fail(weir_yaml_get(source, "path"), err,
                              "%s.source.path: found %s, expected a folder outside of the data "
                              "directory and Weir's other directories",
                              dataset, d->source.path);
    return weir_yaml_fail(weir_yaml_get(source, "path"), err,
                          "%s.source.path: found %s, expected a folder below one of `roots` of the "
                          "system file",
                          dataset, d->source.path);
}

enum weir_status storage_erase_declared(struct declaration *d, const char *path,
                                        const struct weir_yaml_node *source, struct weir_error *err)
{
    const struct weir_yaml_node *node = weir_yaml_get(source, "on_erase");

    d->on_erase = (enum on_erase)d->source.on_erase;
    if (node == NULL) {
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
