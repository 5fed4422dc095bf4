/* Declaring datasets, and how they stand. */
#include "storage/alteration.h"
#include "storage/catalog/table_columns.h"
#include "storage/files/file_window.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_ranges.h"
#include "storage/scanning/scanner.h"
#include "storage/sql/queries.h"
#include "storage/storage.h"
#include "storage/sums/sums.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/config/sections.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COMPLAINTS_MAX = 20, DAMAGES_REPORTED_MAX = 8, FILES_SEARCHED_MAX = 64 };

/* ---- declaring ---- */

static const struct weir_yaml_node *source_node(const struct dataset *dataset)
{
    const struct weir_yaml_node *root = weir_yaml_root(dataset->document);
    size_t index = (size_t)(dataset->declaration - dataset->declarations.at);

    return weir_yaml_get(weir_yaml_at(cfg_datasets(root), index), "source");
}

/* A typing error in a path should not look like an empty dataset. */
static enum weir_status check_source(const struct dataset *dataset, struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    const struct weir_yaml_node *node = source_node(dataset);
    WEIR_AUTO_FREE char *manifest = weir_format("%s/%s", dataset->root, d->source.manifest);
    struct stat found;

    if (d->is_pushed)
        return WEIR_OK;
    if (d->is_mirrored)
        return weir_make_directories(dataset->root, 0700, err);
    if (stat(dataset->root, &found) < 0 || !S_ISDIR(found.st_mode))
        return weir_yaml_fail(weir_yaml_get(node, "path"), err,
                              "dataset '%s': source.path: found no folder %s, expected one",
                              dataset->name, dataset->root);
    if (d->wants_manifest && stat(manifest, &found) < 0)
        return weir_yaml_fail(node, err,
                              "dataset '%s': source.manifest: found no file %s, expected it",
                              dataset->name, manifest);
    return WEIR_OK;
}

static enum weir_status add_dataset(struct storage *storage, struct dataset **dataset,
                                    const struct msg_dataset_declare *asked, struct weir_error *err)
{
    struct dataset *d = *dataset;
    enum weir_status status = check_source(d, err);

    if (status != WEIR_OK)
        return status;
    d->number = storage->store.catalog->last_number + 1;
    if (d->number >> (64 - WEIR_BLOCK_BITS - WEIR_ROW_BITS))
        return weir_fail(err, WEIR_LIMIT, "all %u dataset numbers are used", d->number);
    status =
        DB_RUN(storage->store.db, Q_dataset_add, NULL, err, DB_I64(d->number), DB_TEXT(d->name),
               DB_TEXT(d->text), DB_TEXT(d->root), DB_TEXT(asked->file), DB_BYTES(asked->config),
               DB_I64(d->declaration->label_kind), DB_I64(d->declaration->label_width),
               DB_I64(weir_dtype_bytes(d->declaration->value_type)));
    if (status != WEIR_OK) {
        storage_doubt(&storage->store); /* it may be there */
        return status == WEIR_EXISTS ? WEIR_UNAVAILABLE : status;
    }
    storage_dataset_name_classes(d);
    storage_catalog_add(storage->store.catalog, WEIR_TAKE(*dataset));
    storage_scope_add_all(&d->dirty);
    storage_scanner_start(storage->scanner);
    return WEIR_OK;
}

/* The operator's switch, which pipelines that do not name it leave as it is. */
static enum weir_status set_on_return(struct storage *storage, struct dataset *dataset,
                                      const struct declaration *declared, struct weir_error *err)
{
    bool accepts = declared->source.on_return == 1;
    enum weir_status status;

    if (!declared->says_on_return || accepts == dataset->accepts_returns)
        return WEIR_OK;
    status = DB_RUN(storage->store.db, Q_dataset_accept_returns, NULL, err, DB_I64(dataset->number),
                    DB_BOOL(accepts));
    if (status != WEIR_OK)
        return status;
    dataset->accepts_returns = accepts;
    weir_log(WEIR_LOG_INFO, "on_return changed", "dataset=%s on_return=%s", dataset->name,
             accepts ? "accept" : "refuse");
    return WEIR_OK;
}

static enum weir_status set_tenants(struct storage *storage, uint64_t number, const char *tenants,
                                    struct weir_error *err)
{
    struct dataset *dataset = storage_catalog_at(storage->store.catalog, number);
    enum weir_status status;

    if (dataset == NULL ||
        weir_str_equal(dataset->tenants != NULL ? dataset->tenants : "", tenants))
        return WEIR_OK;
    status = DB_RUN(storage->store.db, Q_dataset_tenants, NULL, err, DB_I64(dataset->number),
                    DB_TEXT(tenants));
    if (status != WEIR_OK)
        return status;
    free(dataset->tenants);
    dataset->tenants = weir_strdup(tenants);
    return WEIR_OK;
}

static enum weir_status declare_one(struct storage *storage, const char *name,
                                    const struct msg_dataset_declare *asked, uint64_t *ret_number,
                                    struct weir_error *err)
{
    struct dataset *known = storage_catalog_find(storage->store.catalog, name);
    WEIR_AUTO(dataset) dataset = NULL;
    enum alteration alteration = ALTERATION_NONE;
    const struct dataset_origin origin = {
        .name = name, .file = asked->file, .config = asked->config};
    enum weir_status status = storage_dataset_new(storage->store.catalog, &origin, &dataset, err);

    if (status == WEIR_OK && known != NULL)
        status = storage_alter(storage, known, dataset, asked, &alteration, err);
    if (status == WEIR_OK && known == NULL)
        status = add_dataset(storage, &dataset, asked, err);
    if (status != WEIR_OK)
        return status;
    if (alteration != ALTERATION_NONE) { /* both belong to a catalog that is loaded again */
        storage_dataset_free(WEIR_TAKE(dataset));
        status = storage_ready(&storage->store, err);
        return status == WEIR_OK ? declare_one(storage, name, asked, ret_number, err) : status;
    }
    known = storage_catalog_find(storage->store.catalog, name);
    *ret_number = known->number;
    return set_on_return(storage, known,
                         dataset != NULL ? dataset->declaration : known->declaration, err);
}

enum weir_status storage_declare(struct storage *storage, const struct msg_dataset_declare *asked,
                                 struct weir_arena *arena, struct msg_dataset_declared *answer,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_yaml) document = NULL;
    struct declarations all = {0};
    uint64_t *numbers;
    size_t count = 0;
    enum weir_status status = storage_ready(&storage->store, err);

    if (status == WEIR_OK)
        status = weir_yaml_parse(asked->file, asked->config, &document, err);
    if (status == WEIR_OK)
        status = storage_declarations_read(weir_yaml_root(document), &all, err);
    if (status != WEIR_OK)
        return status;
    numbers = weir_arena_alloc(arena, all.count * sizeof(*numbers));
    for (size_t i = 0; status == WEIR_OK && i < all.count; i++)
        status = declare_one(storage, all.at[i].name, asked, &numbers[i], err);
    for (size_t i = 0; status == WEIR_OK && i < all.count; i++)
        status = set_tenants(storage, numbers[i],
                             i < asked->tenants.count ? asked->tenants.at[i] : "", err);
    for (size_t i = 0; i < all.count; i++) { /* labels are nobody's samples */
        if (all.at[i].updates == NULL)
            numbers[count++] = numbers[i];
    }
    answer->datasets = (struct weir_u64s){numbers, count};
    storage_declarations_fini(&all);
    return status;
}

/* ---- removing ---- */

enum weir_status storage_dataset_remove(struct storage *storage,
                                        const struct msg_dataset_remove *asked,
                                        struct weir_error *err)
{
    enum weir_status status = storage_ready(&storage->store, err);
    const struct dataset *dataset =
        status == WEIR_OK ? storage_catalog_at(storage->store.catalog, asked->dataset) : NULL;

    if (dataset != NULL) {
        status = storage_removal_begin(storage->removal, dataset, err);
        storage_open_files_clear(storage->from.files);
    }
    if (status == WEIR_OK)
        status = storage_ready(&storage->store, err);
    if (status == WEIR_OK &&
        storage_removal_is_under_way(storage->removal, (uint32_t)asked->dataset))
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "files of a removed dataset are still being unlinked");
    return status;
}

/* ---- how a dataset stands ---- */

static enum weir_status complaints_of(struct storage *storage, const struct dataset *dataset,
                                      struct weir_arena *arena, struct weir_strs *complaints,
                                      struct weir_error *err)
{
    const char **texts = weir_arena_alloc(arena, (COMPLAINTS_MAX + 2) * sizeof(*texts));
    const char *trouble = storage_scanner_trouble(storage->scanner, dataset);
    size_t count = 0;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;

    if (trouble != NULL)
        texts[count++] = weir_arena_format(arena, "%s", trouble);
    trouble = storage_mirror_trouble(storage->mirrors, dataset);
    if (trouble == NULL)
        trouble = storage_s3_ranges_trouble(storage->from.objects, dataset);
    if (trouble != NULL)
        texts[count++] = weir_arena_format(arena, "%s", trouble);
    count +=
        storage_sums_complaints(storage->sums, dataset, arena, texts + count, DAMAGES_REPORTED_MAX);
    for (size_t i = 0; i < dataset->complaints.count && count < COMPLAINTS_MAX / 2; i++)
        texts[count++] = weir_arena_format(arena, "%s", dataset->complaints.at[i].text);
    if (dataset->accounts.quarantined > 0)
        status = DB_RUN(storage->store.db, Q_complaints, &rows, err, DB_I64(dataset->number));
    for (size_t i = 0;
         status == WEIR_OK && rows != NULL && i < weir_rows_count(rows) && count < COMPLAINTS_MAX;
         i++)
        texts[count++] = weir_arena_format(arena, "%s: %s", weir_rows_text(rows, i, "place"),
                                           weir_rows_text(rows, i, "reason"));
    *complaints = (struct weir_strs){texts, count};
    return status;
}

/* Reads the columns of a dataset that an older Weir has taken in without noting them: those of a file of it. */
static void find_columns(struct dataset *dataset)
{
    const struct format *format = dataset->declaration->format;
    uint64_t end = storage_dataset_file_end(dataset);
    struct weir_error err;

    for (uint64_t i = 0; i < end && i < FILES_SEARCHED_MAX && dataset->columns == NULL; i++) {
        struct stored_file *file;
        WEIR_AUTO_BUF head = {0};

        if (storage_dataset_file(dataset, i, &file, &err) != WEIR_OK || file == NULL ||
            file->state != FILE_LIVE || file->samples == 0 || file->path == NULL)
            continue;
        WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
        WEIR_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

        if (fd >= 0 && storage_head_read(format, fd, file->size, &head, &err) == WEIR_OK)
            storage_table_columns_adopt(dataset, weir_buf_view(&head), file->size);
    }
}

static const char *columns_of(struct dataset *dataset)
{
    if (dataset->columns == NULL && dataset->declaration->format->columns != NULL)
        find_columns(dataset);
    return dataset->columns != NULL ? dataset->columns : "";
}

static struct dataset *find_dataset(const struct storage *storage,
                                    const struct msg_dataset_request *asked)
{
    if (*asked->name)
        return storage_catalog_find(storage->store.catalog, asked->name);
    return storage_catalog_after(storage->store.catalog, asked->after);
}

enum weir_status storage_describe(struct storage *storage, const struct msg_dataset_request *asked,
                                  struct weir_arena *arena, struct msg_dataset_is *answer,
                                  struct weir_error *err)
{
    enum weir_status status = storage_ready(&storage->store, err);
    struct dataset *dataset = status == WEIR_OK ? find_dataset(storage, asked) : NULL;
    const struct accounts *accounts;

    if (dataset == NULL)
        return status;
    accounts = &dataset->accounts;
    *answer = (struct msg_dataset_is){
        .dataset = dataset->number,
        .name = dataset->name,
        .format = dataset->declaration->format->name,
        .scanned =
            dataset->is_scanned && (dataset->updated_by == NULL || dataset->updated_by->is_scanned),
        .sequence = dataset->sequence,
        .ingested = accounts->ingested,
        .live = accounts->live,
        .erased = accounts->erased,
        .removed = accounts->removed,
        .replaced = accounts->replaced,
        .quarantined = accounts->quarantined,
        .duplicate = accounts->duplicate,
        .blocked = accounts->blocked,
        .returned = accounts->returned,
        .label_kind = dataset->declaration->label_kind,
        .classes = {(const char *const *)dataset->classes, dataset->class_count},
        .bytes = accounts->bytes,
        .label_width = dataset->declaration->label_width,
        .classes_grow = storage_dataset_grows_classes(dataset),
        .columns = columns_of(dataset),
    };
    return complaints_of(storage, dataset, arena, &answer->complaints, err);
}
