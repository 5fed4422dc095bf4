/* The manifest of a dataset of one-sample files, while it is scanned. */
#include "storage/scanning/said.h"
#include "storage/scanning/scan_state.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <errno.h>
#include <string.h>

static char *path_of(const struct dataset *dataset)
{
    return weir_format("%s/%s", dataset->root, dataset->declaration->source.manifest);
}

static enum weir_status read_manifest(struct dataset *dataset, const char *path,
                                      const struct format_sink *sink, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    const char *name = dataset->declaration->source.manifest;
    WEIR_AUTO_BUF text = {0};
    enum weir_status status = weir_file_read(path, MANIFEST_BYTES_MAX, &text, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, WEIR_NOT_FOUND, "manifest");
    storage_manifest_free(scan->manifest);
    scan->manifest = NULL;
    status = storage_manifest_read(name, weir_buf_view(&text), &dataset->declaration->fields, sink,
                                   &scan->manifest, err);
    return status == WEIR_OK ? status : weir_error_wrap(err, WEIR_INVALID, "%s", dataset->root);
}

/* Its broken rows are refused, in place of those that were. */
static enum weir_status take_manifest(struct dataset *dataset, const char *path,
                                      struct weir_error *err)
{
    const char *name = dataset->declaration->source.manifest;
    struct manifest_rows rows = {dataset->scan->batch, name};
    const struct format_sink sink = storage_said_sink(&rows);

    if (dataset->accounts.quarantined > 0)
        storage_batch_withdraw(rows.batch, name, true);
    return read_manifest(dataset, path, &sink, err);
}

static void refuse_nothing(void *owner, const struct format_refusal *refusal)
{
    (void)owner;
    (void)refusal;
}

enum weir_status storage_scan_hold_manifest(struct dataset *dataset, struct weir_error *err)
{
    const struct format_sink known = {.refuse = refuse_nothing};
    struct scan *scan = dataset->scan;
    struct stat found;
    enum weir_status status;

    if (!dataset->declaration->wants_manifest || scan->manifest != NULL)
        return WEIR_OK;
    WEIR_AUTO_FREE char *path = path_of(dataset);
    status = read_manifest(dataset, path, &known, err);
    if (status == WEIR_OK && stat(path, &found) == 0 &&
        storage_source_is_same(&found, &scan->manifest_stat))
        return WEIR_OK;
    storage_manifest_free(scan->manifest);
    scan->manifest = NULL;
    storage_scope_add_all(&dataset->dirty);
    return weir_fail(err, WEIR_STALE, "%s: changes while it is read", path);
}

void storage_scan_wipe_manifest(struct scan *scan)
{
    if (!scan->is_wiping || (scan->phase != SCAN_IDLE && scan->manifest_is_new))
        return;
    storage_manifest_free(scan->manifest);
    scan->manifest = NULL;
    scan->is_wiping = false;
}

enum weir_status storage_scan_load_manifest(struct dataset *dataset, struct weir_error *err)
{
    struct scan *scan = dataset->scan;
    WEIR_AUTO_FREE char *path = path_of(dataset);
    struct stat found;
    enum weir_status status;

    if (stat(path, &found) < 0)
        return weir_fail(err, WEIR_NOT_FOUND, "%s: %s, expected the manifest there", path,
                         strerror(errno));
    if (scan->has_manifest && storage_source_is_same(&found, &scan->manifest_stat) &&
        (scan->manifest != NULL || !scan->manifest_is_new))
        return WEIR_OK;
    if (scan->has_manifest && storage_scan_youth_us(dataset, &found) > 0) {
        storage_scope_add_all(&dataset->dirty); /* it is being written: soon */
        return WEIR_OK;
    }
    status = take_manifest(dataset, path, err);
    if (status != WEIR_OK)
        return status;
    scan->manifest_stat = found;
    scan->has_manifest = true;
    scan->manifest_is_new = true;
    storage_scope_add_all(&scan->scope);
    storage_scope_seal(&scan->scope);
    return WEIR_OK;
}

uint64_t storage_scan_row_hash(const struct storage_secret *secret, const struct manifest_row *row)
{
    WEIR_AUTO_BUF text = {0};
    uint64_t hash;

    if (row == NULL)
        return 1;
    for (size_t i = 0; i < WEIR_COUNT(row->each); i++) {
        weir_buf_append_u64(&text, row->each[i].size);
        weir_buf_append(&text, row->each[i].at, row->each[i].size);
    }
    hash = storage_hash(secret, HASH_ROW, weir_buf_view(&text)) & UINT32_MAX;
    return hash > 1 ? hash : 2;
}
