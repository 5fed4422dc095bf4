/* The known objects of a bucket, and a page of its listing: see s3_mirror_state.h. */
#include "storage/objects/s3_mirror_state.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/files/listing.h"
#include "storage/objects/s3_shell.h"
#include "storage/sql/queries.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is known of the bucket ---- */

const char *storage_s3_mirror_name(const struct mirror *mirror, const char *key)
{
    return storage_s3_remote_name(&mirror->remote, key);
}

char *storage_s3_mirror_path(const struct mirror *mirror, const char *key)
{
    return weir_format("%s/%s", mirror->root, storage_s3_mirror_name(mirror, key));
}

enum weir_status storage_s3_mirror_remember(struct mirror *mirror, const struct s3_object *object,
                                            struct weir_error *err)
{
    mirror->has_changed = true;
    return DB_RUN(s3_mirror_db(mirror), Q_object_put, NULL, err, DB_I64(mirror->dataset),
                  DB_BYTES(weir_bytes_of(object->key)), DB_TEXT(object->etag), DB_I64(object->size),
                  DB_I64(object->modified_us));
}

void storage_s3_mirror_forget_ranges(const struct mirror *mirror, const char *key)
{
    storage_s3_cache_forget_path(mirror->mirrors->cache, mirror->dataset,
                                 storage_s3_mirror_name(mirror, key));
}

/* First the file, then the row: a death between them finds the row again. */
static enum weir_status remove_object(struct mirror *mirror, struct weir_bytes key,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *text = weir_strndup((const char *)key.at, key.size);
    WEIR_AUTO_FREE char *path =
        storage_s3_mirror_name(mirror, text) != NULL ? storage_s3_mirror_path(mirror, text) : NULL;

    if (path != NULL && unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return weir_fail(err, WEIR_IO, "%s: cannot remove: %s", path, strerror(errno));
    if (path != NULL)
        storage_s3_mirror_forget_ranges(mirror, text);
    mirror->has_changed = true;
    return DB_RUN(s3_mirror_db(mirror), Q_object_drop, NULL, err, DB_I64(mirror->dataset),
                  DB_BYTES(key));
}

static int order_of(struct weir_bytes known, const char *key)
{
    size_t size = strlen(key);
    int order = memcmp(known.at, key, known.size < size ? known.size : size);

    return order != 0 ? order : (known.size > size) - (known.size < size);
}

static bool is_known(const struct weir_rows *rows, size_t i, const struct s3_object *object)
{
    return strcmp(weir_rows_text(rows, i, "etag"), object->etag) == 0 &&
           (uint64_t)weir_rows_i64(rows, i, "size") == object->size &&
           weir_rows_i64(rows, i, "modified_us") == object->modified_us;
}

/* False for objects that no scan would look at: they count as absent. */
static bool is_wanted(const struct mirror *mirror, const struct s3_object *object)
{
    const char *name = storage_s3_mirror_name(mirror, object->key);

    return name == NULL || storage_listing_wants(s3_mirror_dataset(mirror), name);
}

bool storage_s3_mirror_gets_shell(const struct mirror *mirror, const struct s3_object *object)
{
    const char *name = storage_s3_mirror_name(mirror, object->key);

    return name != NULL && storage_s3_shell_is_for(s3_mirror_dataset(mirror), name);
}

/* Once per start: a store of an older Weir has all of it. */
static enum weir_status keep_empty(const struct mirror *mirror, const struct s3_object *object,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = NULL;

    if (mirror->is_complete || !storage_s3_mirror_gets_shell(mirror, object))
        return WEIR_OK;
    path = storage_s3_mirror_path(mirror, object->key);
    return storage_s3_shell_empty(path, err);
}

/* Rows and objects are in the same order: what only a row knows is gone, the rest is fetched or the same. */
static enum weir_status compare(struct mirror *mirror, const struct weir_rows *rows,
                                struct weir_error *err)
{
    const struct s3_page *page = &mirror->page;
    size_t row = 0, rows_count = weir_rows_count(rows);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && (i < page->count || row < rows_count);) {
        struct weir_bytes known =
            row < rows_count ? weir_rows_bytes(rows, row, "key") : weir_bytes(NULL, 0);
        int order = row == rows_count  ? 1
                    : i == page->count ? -1
                                       : order_of(known, page->objects[i].key);

        if (order < 0 || (order == 0 && !is_wanted(mirror, &page->objects[i])))
            status = remove_object(mirror, known, err);
        else if ((order > 0 || !is_known(rows, row, &page->objects[i])) &&
                 is_wanted(mirror, &page->objects[i]))
            mirror->todo[mirror->todo_count++] = i;
        else if (order == 0)
            status = keep_empty(mirror, &page->objects[i], err);
        row += order <= 0;
        i += order >= 0;
    }
    return status;
}

/* ---- objects that erasures write ---- */

bool storage_s3_mirror_was_written(const struct mirror *mirror, const char *key)
{
    for (size_t i = 0; i < mirror->written_count; i++) {
        if (strcmp(mirror->written[i], key) == 0)
            return true;
    }
    return false;
}

void storage_s3_mirror_forget_written(struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->written_count; i++)
        free(mirror->written[i]);
    mirror->written_count = 0;
}

/* ---- a page ---- */

enum weir_status storage_s3_mirror_compare(struct mirror *mirror, struct weir_error *err)
{
    const struct s3_page *page = &mirror->page;
    const char *last = page->count > 0 ? page->objects[page->count - 1].key : "";
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status;

    mirror->todo = weir_arena_alloc(mirror->arena, (page->count + 1) * sizeof(*mirror->todo));
    mirror->todo_count = mirror->at_todo = 0;
    if (page->count > 0 && strcmp(page->objects[0].key, mirror->after) <= 0)
        return weir_fail(err, WEIR_CORRUPT,
                         "listing: found keys of the page before, expected more");
    status = DB_RUN(s3_mirror_db(mirror), Q_objects, &rows, err, DB_I64(mirror->dataset),
                    DB_BYTES(weir_bytes_of(mirror->after)), DB_BYTES(weir_bytes_of(last)),
                    DB_BOOL(page->next == NULL));
    if (status == WEIR_OK)
        status = compare(mirror, rows, err);
    free(mirror->after);
    mirror->after = weir_strdup(last);
    return status;
}

/* A death between the file and its row: the file is whole, since it has the object's time. */
bool storage_s3_mirror_was_fetched(const char *path, const struct s3_object *object)
{
    const struct timespec modified = weir_mtime_of_us(object->modified_us);
    struct stat found;

    return lstat(path, &found) == 0 && S_ISREG(found.st_mode) &&
           (uint64_t)found.st_size == object->size && found.st_mtim.tv_sec == modified.tv_sec &&
           found.st_mtim.tv_nsec == modified.tv_nsec;
}
