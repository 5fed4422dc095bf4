/* The objects of a bucket as files of a preview: see preview.h. */
#include "storage/preview/preview.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/credentials.h"
#include "storage/files/expand.h"
#include "storage/files/listing.h"
#include "storage/files/sidecar.h"
#include "storage/preview/beginning.h"
#include "storage/preview/bucket.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_FETCHED_MAX = 64, SAMPLE_BYTES_MAX = 1 << 20, FETCHED_MANIFEST_MAX = 16 << 20 };

/* ---- names ---- */

static const char *name_of(const struct preview *preview, const struct s3_object *object)
{
    return storage_bucket_path(preview->bucket, object->key);
}

static bool is_sample(const struct preview *preview, const struct s3_object *object)
{
    const char *name = name_of(preview, object);

    return name != NULL && storage_listing_is_sample(preview->dataset, name);
}

static const struct s3_object *find(const struct preview *preview, const char *path)
{
    for (size_t i = 0; i < preview->page->count; i++) {
        const char *name = name_of(preview, &preview->page->objects[i]);

        if (name != NULL && strcmp(name, path) == 0)
            return &preview->page->objects[i];
    }
    return NULL;
}

static char *place_of(const struct preview *preview, const char *path)
{
    return weir_format("%s/%s", preview->dataset->copies, path);
}

/* ---- fetching ---- */

/* An answer that refuses says that the source is wrong. */
static enum weir_status as_mistake(enum weir_status status, const struct preview *preview,
                                   struct weir_error *err)
{
    return status == WEIR_OK ? status
                             : weir_error_wrap(err, status == WEIR_DENIED ? WEIR_INVALID : status,
                                               "%s", preview->place);
}

static enum weir_status fetch(struct preview *preview, const struct s3_object *object,
                              const char *path, uint64_t bytes_max, struct weir_error *err)
{
    WEIR_AUTO_BUF bytes = {0};
    WEIR_AUTO_FREE char *place = place_of(preview, path);
    enum weir_status status = storage_bucket_read(preview->bucket, object, bytes_max, &bytes, err);

    return status == WEIR_OK ? storage_beginning_write(place, weir_buf_view(&bytes), err) : status;
}

/* *ret_size: of the file that it stands for. */
static enum weir_status fetch_records(struct preview *preview, const struct s3_object *object,
                                      const char *path, uint64_t *ret_size, struct weir_error *err)
{
    WEIR_AUTO_BUF bytes = {0};
    WEIR_AUTO_FREE char *place = place_of(preview, path);
    enum weir_status status;

    *ret_size = object->size;
    if (!storage_preview_expands(preview, path))
        return fetch(preview, object, path, BEGINNING_BYTES, err);
    status = storage_bucket_read(preview->bucket, object, BEGINNING_BYTES, &bytes, err);
    return status == WEIR_OK ? storage_beginning_expand_bytes(weir_buf_view(&bytes), object->size,
                                                              place, ret_size, err)
                             : status;
}

static enum weir_status fetch_sample(struct preview *preview, const struct s3_object *object,
                                     const char *path, struct weir_error *err)
{
    WEIR_AUTO_FREE char *beside =
        preview->declared.wants_sidecar ? storage_sidecar_path(preview->dataset, path) : NULL;
    const struct s3_object *sidecar = beside != NULL ? find(preview, beside) : NULL;
    enum weir_status status = object->size <= SAMPLE_BYTES_MAX
                                  ? fetch(preview, object, path, SAMPLE_BYTES_MAX, err)
                                  : WEIR_OK; /* its label counts */

    if (status == WEIR_OK && sidecar != NULL)
        status = fetch(preview, sidecar, beside, SIDECAR_BYTES_MAX, err);
    return status;
}

enum weir_status storage_preview_objects_manifest(struct preview *preview, struct weir_error *err)
{
    const struct s3_object *object = find(preview, preview->declared.source.manifest);

    if (object == NULL && preview->page->next == NULL)
        return WEIR_OK; /* its reading will say so */
    if (object == NULL || object->size > FETCHED_MANIFEST_MAX)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "%s: the manifest is not among the first %zu objects, or has more than "
                         "16 MiB",
                         preview->place, preview->page->count);
    return as_mistake(
        fetch(preview, object, preview->declared.source.manifest, FETCHED_MANIFEST_MAX, err),
        preview, err);
}

/* ---- reading ---- */

static enum weir_status read_object(struct preview *preview, const struct s3_object *object,
                                    struct weir_error *err)
{
    const char *path = name_of(preview, object);
    uint64_t size = object->size;
    enum weir_status status = preview->declared.format->is_one_sample
                                  ? fetch_sample(preview, object, path, err)
                                  : fetch_records(preview, object, path, &size, err);
    const struct listed listed = {
        .kind = status == WEIR_INVALID ? LISTED_UNREADABLE : LISTED_FILE,
        .path = path,
        .reason = err->text,
        .stat = {.st_size = (off_t)size, .st_mtim = weir_mtime_of_us(object->modified_us)}};

    if (status != WEIR_OK && status != WEIR_INVALID)
        return as_mistake(status, preview, err);
    storage_preview_read_copy(preview, &listed);
    return WEIR_OK;
}

enum weir_status storage_preview_objects_walk(struct preview *preview, struct weir_error *err)
{
    const struct s3_page *page = preview->page;
    bool is_one_sample = preview->declared.format->is_one_sample;
    size_t max = is_one_sample ? SAMPLES_FETCHED_MAX : PREVIEW_FILES_MAX, count = 0, passed = 0;
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < page->count; i++)
        count += is_sample(preview, &page->objects[i]);
    size_t step = is_one_sample && count > max ? (count + max - 1) / max : 1;

    for (size_t i = 0; i < page->count && status == WEIR_OK; i++) {
        if (is_sample(preview, &page->objects[i]) && passed++ % step == 0 && preview->files < max)
            status = read_object(preview, &page->objects[i], err);
    }
    preview->is_whole = preview->is_whole && page->next == NULL && preview->files == count;
    return status;
}

void storage_preview_objects_others(const struct preview *preview, struct weir_buf *out)
{
    size_t told = 0;
    bool is_room = true;

    for (size_t i = 0; i < preview->page->count && is_room; i++) {
        const char *name = name_of(preview, &preview->page->objects[i]);
        bool is_file = name != NULL && name[0] != '\0' && name[strlen(name) - 1] != '/';

        if (is_file && !storage_listing_wants(preview->dataset, name))
            is_room = storage_preview_tell_other(told++, name, out);
    }
}

/* ---- life ---- */

enum weir_status storage_preview_objects_open(struct preview *preview, struct weir_error *err)
{
    enum weir_status status;

    weir_credentials_use_own();
    status = storage_bucket_open(&preview->declared.s3, &preview->bucket, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, WEIR_NOT_FOUND, "it cannot be asked from here");
    preview->place = weir_strdup(storage_bucket_name(preview->bucket));
    if (preview->place[strlen(preview->place) - 1] == '/')
        preview->place[strlen(preview->place) - 1] = '\0';
    preview->declared.source.path = preview->place;
    status = weir_make_directories(preview->dataset->copies, 0700, err);
    return status != WEIR_OK ? status
                             : as_mistake(storage_bucket_list(preview->bucket, &preview->page, err),
                                          preview, err);
}

void storage_preview_objects_close(struct preview *preview)
{
    storage_bucket_close(preview->bucket);
    free(preview->place);
}
