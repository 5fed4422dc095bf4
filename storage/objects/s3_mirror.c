/* A pass over a bucket, question by question: see s3_mirror.h. */
#include "storage/objects/s3_mirror.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/intake/intake.h"
#include "storage/objects/s3_fetch.h"
#include "storage/objects/s3_list.h"
#include "storage/objects/s3_purge.h"
#include "storage/objects/s3_ranges.h"
#include "storage/objects/s3_remote.h"
#include "storage/objects/s3_shell.h"
#include "storage/objects/s3_try.h"
#include "storage/queries.h"
#include "storage/scanning/copy.h"
#include "storage/scanning/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mirror {
    struct mirrors *mirrors;
    uint32_t dataset;
    char *root; /* where files lie */
    int64_t every_ms;
    struct s3_remote remote;
    struct s3_try *listing;
    struct s3_fetch **fetches; /* that go on at the same time */
    size_t fetch_count;
    uint64_t timer;

    bool is_resting;  /* until the timer */
    bool is_complete; /* a pass has come to its end */
    bool has_changed; /* files, in this pass */
    bool has_skipped; /* objects, in this pass */
    char *trouble;

    struct weir_arena *arena; /* of the page at hand */
    struct s3_page page;
    char *after;  /* key up to which this pass has come; "" at first */
    size_t *todo; /* objects of the page that are to be fetched, or get shells */
    size_t todo_count, at_todo;
};

struct mirrors {
    struct storage *storage;
    struct mirror **at;
    size_t count;
};

static void begin_pass(void *owner);
static void ask_page(struct mirror *mirror);
static void fetch_next(struct mirror *mirror);
static void check_next(struct mirror *mirror);

static struct dataset *dataset_of(const struct mirror *mirror)
{
    return storage_catalog_at(mirror->mirrors->storage->catalog, mirror->dataset);
}

static struct weir_db *db_of(const struct mirror *mirror)
{
    return mirror->mirrors->storage->db;
}

/* ---- the end of a pass ---- */

static void rest(struct mirror *mirror)
{
    struct weir_loop *loop = mirror->mirrors->storage->loop;

    for (size_t i = 0; i < mirror->fetch_count; i++)
        s3_fetch_drop(mirror->fetches[i]);
    weir_arena_clear(mirror->arena);
    mirror->page = (struct s3_page){0};
    mirror->is_resting = true;
    mirror->timer = weir_loop_timer(loop, mirror->every_ms, 0, begin_pass, mirror);
}

/* The next pass begins anew; what was fetched is there. */
static void fail_pass(struct mirror *mirror, const char *why)
{
    char *text = weir_format("%s: %s", mirror->remote.name, why);

    if (!weir_str_equal(mirror->trouble, text))
        weir_log(WEIR_LOG_WARN, "bucket cannot be mirrored", "error=\"%s\"", text);
    free(mirror->trouble);
    mirror->trouble = text;
    rest(mirror);
}

static void scan(struct mirror *mirror)
{
    struct storage *storage = mirror->mirrors->storage;
    struct dataset *dataset =
        storage->is_stale ? NULL : storage_catalog_at(storage->catalog, mirror->dataset);

    if (!dataset)
        return;
    storage_scope_add_all(&dataset->dirty);
    storage_scan_dirty(storage);
}

static void end_pass(struct mirror *mirror)
{
    bool is_first = !mirror->is_complete;

    if (!mirror->has_skipped) {
        free(mirror->trouble);
        mirror->trouble = NULL;
    }
    mirror->is_complete = true;
    rest(mirror);
    if (is_first || mirror->has_changed)
        scan(mirror);
}

/* ---- what is known of the bucket ---- */

/* An object where it would lie below the root, or NULL: it is no file there. */
static const char *name_of(const struct mirror *mirror, const char *key)
{
    size_t prefix = strlen(mirror->remote.prefix);
    const char *name = key + prefix;

    if (strncmp(key, mirror->remote.prefix, prefix) != 0 || !*name)
        return NULL;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t size = strcspn(part, "/");

        if (size == 0 || size > NAME_MAX || strncmp(part, ".", size) == 0 ||
            strncmp(part, "..", size > 2 ? size : 2) == 0)
            return NULL;
    }
    return name;
}

static char *path_of(const struct mirror *mirror, const char *key)
{
    return weir_format("%s/%s", mirror->root, name_of(mirror, key));
}

static void skip(struct mirror *mirror, const char *key, const char *why)
{
    WEIR_AUTO_FREE char *printable = storage_printable(key);

    mirror->has_skipped = true;
    free(mirror->trouble);
    mirror->trouble = weir_format("%s: object '%.200s': %s", mirror->remote.name, printable, why);
}

static enum weir_status remember(struct mirror *mirror, const struct s3_object *object,
                                 struct weir_error *err)
{
    mirror->has_changed = true;
    return DB_RUN(db_of(mirror), Q_object_put, NULL, err, DB_I64(mirror->dataset),
                  DB_BYTES(weir_bytes_of(object->key)), DB_TEXT(object->etag), DB_I64(object->size),
                  DB_I64(object->modified_us));
}

/* What is read from the bucket from now on is another object. */
static void forget_ranges(const struct mirror *mirror, const char *key)
{
    s3_ranges_forget(mirror->mirrors->storage->ranges, dataset_of(mirror), name_of(mirror, key));
}

/* First the file, then the row: a death between them finds the row again. */
static enum weir_status remove_object(struct mirror *mirror, struct weir_bytes key,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *text = weir_strndup((const char *)key.at, key.size);
    WEIR_AUTO_FREE char *path = name_of(mirror, text) ? path_of(mirror, text) : NULL;

    if (path && unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return weir_fail(err, WEIR_IO, "%s: cannot remove: %s", path, strerror(errno));
    if (path)
        forget_ranges(mirror, text);
    mirror->has_changed = true;
    return DB_RUN(db_of(mirror), Q_object_drop, NULL, err, DB_I64(mirror->dataset), DB_BYTES(key));
}

static int order_of(struct weir_bytes known, const char *key)
{
    size_t size = strlen(key);
    int order = memcmp(known.at, key, known.size < size ? known.size : size);

    return order != 0 ? order : (known.size > size) - (known.size < size);
}

static bool is_known(const struct weir_rows *rows, size_t i, const struct s3_object *object)
{
    return strcmp(weir_rows_text(rows, i, 1), object->etag) == 0 &&
           (uint64_t)weir_rows_i64(rows, i, 2) == object->size &&
           weir_rows_i64(rows, i, 3) == object->modified_us;
}

/* What no scan would look at is as if it were not in the bucket. */
static bool is_wanted(const struct mirror *mirror, const struct s3_object *object)
{
    const char *name = name_of(mirror, object->key);

    return !name || storage_listing_wants(dataset_of(mirror), name);
}

static bool gets_shell(const struct mirror *mirror, const struct s3_object *object)
{
    const char *name = name_of(mirror, object->key);

    return name && s3_shell_is_for(dataset_of(mirror), name);
}

/* Once per start: a store of an older Weir has all of it. */
static enum weir_status keep_empty(const struct mirror *mirror, const struct s3_object *object,
                                   struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = NULL;

    if (mirror->is_complete || !gets_shell(mirror, object))
        return WEIR_OK;
    path = path_of(mirror, object->key);
    return s3_shell_empty(path, err);
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
            row < rows_count ? weir_rows_bytes(rows, row, 0) : weir_bytes(NULL, 0);
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

/* ---- a page ---- */

static enum weir_status compare_page(struct mirror *mirror, struct weir_error *err)
{
    const struct s3_page *page = &mirror->page;
    const char *last = page->count > 0 ? page->objects[page->count - 1].key : "";
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status;

    mirror->todo = weir_arena_alloc(mirror->arena, (page->count + 1) * sizeof *mirror->todo);
    mirror->todo_count = mirror->at_todo = 0;
    if (page->count > 0 && strcmp(page->objects[0].key, mirror->after) <= 0)
        return weir_fail(err, WEIR_CORRUPT,
                         "listing: found keys of the page before, expected more");
    status = DB_RUN(db_of(mirror), Q_objects, &rows, err, DB_I64(mirror->dataset),
                    DB_BYTES(weir_bytes_of(mirror->after)), DB_BYTES(weir_bytes_of(last)),
                    DB_BOOL(page->next == NULL));
    if (status == WEIR_OK)
        status = compare(mirror, rows, err);
    free(mirror->after);
    mirror->after = weir_strdup(last);
    return status;
}

static void on_page(void *owner, const struct s3_answer *answer, const char *why)
{
    struct mirror *mirror = owner;
    char text[128];
    struct weir_error err;

    if (!answer) {
        fail_pass(mirror, why);
        return;
    }
    if (answer->code != 200) {
        s3_try_describe(answer, 200, text);
        fail_pass(mirror, text);
        return;
    }
    weir_arena_clear(mirror->arena);
    if (s3_page_read(answer->body, mirror->arena, &mirror->page, &err) != WEIR_OK)
        s3_try_again(mirror->listing, err.text);
    else if (compare_page(mirror, &err) != WEIR_OK)
        fail_pass(mirror, err.text);
    else
        check_next(mirror);
}

static void ask_page(struct mirror *mirror)
{
    struct s3_question question;

    s3_ask_list(&mirror->remote, mirror->page.next, weir_now_wall_us(), &question);
    s3_try_ask(mirror->listing, &question, S3_PAGE_BYTES_MAX, on_page, mirror);
}

static void begin_pass(void *owner)
{
    struct mirror *mirror = owner;

    mirror->timer = 0;
    mirror->is_resting = mirror->has_changed = mirror->has_skipped = false;
    mirror->page = (struct s3_page){0};
    free(mirror->after);
    mirror->after = weir_strdup("");
    ask_page(mirror);
}

/* ---- shells ---- */

/* A death between the file and its row: the file is whole, since it has the object's time. */
static bool was_fetched(const char *path, const struct s3_object *object)
{
    struct stat found;

    return lstat(path, &found) == 0 && S_ISREG(found.st_mode) &&
           (uint64_t)found.st_size == object->size &&
           found.st_mtim.tv_sec == object->modified_us / 1000000 &&
           found.st_mtim.tv_nsec == object->modified_us % 1000000 * 1000;
}

/* The object at hand is what an erasure made of the one that is known, and a death came before that was written down:
 * the same samples. */
static enum weir_status adopt(struct mirror *mirror, const struct s3_object *object,
                              const struct s3_answer *answer, bool *ret_adopted,
                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE char *expected = NULL;
    enum weir_status status = DB_RUN(db_of(mirror), Q_object_get, &rows, err,
                                     DB_I64(mirror->dataset), DB_BYTES(weir_bytes_of(object->key)));

    *ret_adopted = false;
    if (status != WEIR_OK || weir_rows_count(rows) == 0 || answer->code != 206 ||
        (uint64_t)weir_rows_i64(rows, 0, 1) != object->size)
        return status;
    expected = weir_format("%s: %s", S3_REPLACES, weir_rows_text(rows, 0, 0));
    for (const char *const *kept = answer->kept; *kept; kept++)
        *ret_adopted = *ret_adopted || strcmp(*kept, expected) == 0;
    if (*ret_adopted)
        forget_ranges(mirror, object->key);
    return *ret_adopted ? remember(mirror, object, err) : WEIR_OK;
}

static void on_checked(void *owner, const struct s3_answer *answer, const char *why)
{
    struct mirror *mirror = owner;
    size_t *todo = &mirror->todo[mirror->at_todo];
    bool is_adopted = false;
    struct weir_error err;

    if (!answer) {
        fail_pass(mirror, why);
        return;
    }
    if (adopt(mirror, &mirror->page.objects[*todo], answer, &is_adopted, &err) != WEIR_OK) {
        fail_pass(mirror, err.text);
        return;
    }
    if (is_adopted)
        memmove(todo, todo + 1, (--mirror->todo_count - mirror->at_todo) * sizeof *todo);
    mirror->at_todo += !is_adopted;
    check_next(mirror);
}

static void ask_first_byte(struct mirror *mirror, const struct s3_object *object)
{
    const struct s3_piece piece = {.key = object->key, .etag = object->etag};
    struct s3_question question;

    s3_ask_piece(&mirror->remote, &piece, weir_now_wall_us(), &question);
    s3_try_ask(mirror->listing, &question, S3_PAGE_BYTES_MAX, on_checked, mirror);
}

static bool may_be_ours(const struct mirror *mirror, const struct s3_object *object)
{
    return object->size > 0 && gets_shell(mirror, object) &&
           storage_mirror_rewrites(mirror->mirrors, dataset_of(mirror),
                                   name_of(mirror, object->key));
}

static enum weir_status put_shell(const struct mirror *mirror, const struct s3_object *object,
                                  struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = path_of(mirror, object->key);
    WEIR_AUTO_FREE char *incoming = weir_format("%s.incoming", mirror->root);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db_of(mirror), Q_object_get, &rows, err,
                                     DB_I64(mirror->dataset), DB_BYTES(weir_bytes_of(object->key)));

    if (status != WEIR_OK)
        return status;
    if (was_fetched(path, object) &&
        (weir_rows_count(rows) == 0 || weir_rows_i64(rows, 0, 2) != object->modified_us))
        return WEIR_OK;
    forget_ranges(mirror, object->key);
    return s3_shell_put(incoming, path, object, err);
}

/* The page's new ones; before the first row is written all of them are on disk. */
static enum weir_status put_shells(struct mirror *mirror, size_t *ret_count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_count = 0;
    for (size_t i = 0; status == WEIR_OK && i < mirror->todo_count; i++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[i]];

        if (!gets_shell(mirror, object))
            continue;
        ++*ret_count;
        status = put_shell(mirror, object, err);
    }
    if (status == WEIR_OK && *ret_count > 0)
        status = storage_copy_sync(dataset_of(mirror), err);
    return status;
}

static enum weir_status remember_shells(struct mirror *mirror, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(db_of(mirror), err);
    size_t kept = 0;

    for (size_t i = 0; status == WEIR_OK && i < mirror->todo_count; i++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[i]];

        if (gets_shell(mirror, object))
            status = remember(mirror, object, err);
        else
            mirror->todo[kept++] = mirror->todo[i];
    }
    if (status == WEIR_OK)
        status = weir_db_commit(db_of(mirror), err);
    if (status != WEIR_OK)
        weir_db_rollback(db_of(mirror));
    mirror->todo_count = kept;
    return status;
}

/* Before an object counts as another one: is it what an erasure wrote? Then shells, then what is fetched. */
static void check_next(struct mirror *mirror)
{
    struct weir_error err;
    size_t shells;
    enum weir_status status;

    for (; mirror->at_todo < mirror->todo_count; mirror->at_todo++) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[mirror->at_todo]];

        if (may_be_ours(mirror, object)) {
            ask_first_byte(mirror, object);
            return;
        }
    }
    mirror->at_todo = 0;
    status = put_shells(mirror, &shells, &err);
    if (status == WEIR_OK && shells > 0)
        status = remember_shells(mirror, &err);
    if (status == WEIR_OK)
        fetch_next(mirror);
    else
        fail_pass(mirror, err.text);
}

/* ---- objects ---- */

static void on_fetched(void *owner, const struct s3_object *object, enum s3_fetched what,
                       const char *why)
{
    struct mirror *mirror = owner;
    struct weir_error err;

    mirror->has_changed = true; /* or will have: another object is for the next pass */
    if (what == S3_FETCHED_NOTHING)
        fail_pass(mirror, why);
    else if (what == S3_FETCHED && remember(mirror, object, &err) != WEIR_OK)
        fail_pass(mirror, err.text);
    else
        fetch_next(mirror);
}

static enum weir_status begin_object(struct mirror *mirror, struct s3_fetch *fetch,
                                     const struct s3_object *object, struct weir_error *err)
{
    struct s3_fetch_job job = {.remote = &mirror->remote, .object = object};

    if (!name_of(mirror, object->key)) {
        if (object->size > 0) /* else what some tools leave in place of a folder */
            skip(mirror, object->key, "found a key that cannot be the path of a file");
        return WEIR_OK;
    }
    job.path = path_of(mirror, object->key);
    if (!was_fetched(job.path, object)) {
        s3_fetch_begin(fetch, &job, on_fetched, mirror);
        return WEIR_OK;
    }
    free(job.path);
    return remember(mirror, object, err);
}

static struct s3_fetch *idle_fetch(const struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        if (s3_fetch_is_idle(mirror->fetches[i]))
            return mirror->fetches[i];
    }
    return NULL;
}

static bool is_fetching(const struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        if (!s3_fetch_is_idle(mirror->fetches[i]))
            return true;
    }
    return false;
}

/* In the order of keys, several at a time; the next page when all are there. */
static void fetch_next(struct mirror *mirror)
{
    struct s3_fetch *fetch;
    struct weir_error err;

    while (mirror->at_todo < mirror->todo_count && (fetch = idle_fetch(mirror))) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[mirror->at_todo++]];

        if (begin_object(mirror, fetch, object, &err) != WEIR_OK) {
            fail_pass(mirror, err.text);
            return;
        }
    }
    if (is_fetching(mirror))
        return;
    if (mirror->page.next)
        ask_page(mirror);
    else
        end_pass(mirror);
}

/* ---- life ---- */

static void free_mirror(struct mirror *mirror)
{
    weir_loop_cancel(mirror->mirrors->storage->loop, mirror->timer);
    s3_try_free(mirror->listing);
    for (size_t i = 0; i < mirror->fetch_count; i++)
        s3_fetch_free(mirror->fetches[i]);
    free(mirror->fetches);
    s3_remote_close(&mirror->remote);
    weir_arena_free(mirror->arena);
    free(mirror->after);
    free(mirror->trouble);
    free(mirror->root);
    free(mirror);
}

static void add_fetches(struct mirror *mirror, const struct dataset *dataset)
{
    struct storage *storage = mirror->mirrors->storage;

    mirror->fetch_count = (size_t)dataset->declaration->s3.transfers;
    mirror->fetches = weir_calloc(mirror->fetch_count, sizeof(struct s3_fetch *));
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        char *incoming =
            weir_format("%s/storage/.incoming-%s-%zu", storage->data_dir, dataset->name, i + 1);

        mirror->fetches[i] = s3_fetch_new(storage->loop, &incoming);
    }
}

static struct mirror *new_mirror(struct mirrors *mirrors, const struct dataset *dataset)
{
    struct mirror *mirror = weir_calloc(1, sizeof *mirror);

    mirror->mirrors = mirrors;
    mirror->dataset = dataset->number;
    mirror->root = weir_strdup(dataset->root);
    mirror->every_ms = dataset->declaration->s3.every / 1000;
    mirror->listing = s3_try_new(mirrors->storage->loop);
    add_fetches(mirror, dataset);
    mirror->arena = weir_arena_new();
    mirrors->at = weir_realloc(mirrors->at, mirrors->count + 1, sizeof(struct mirror *));
    mirrors->at[mirrors->count++] = mirror;
    return mirror;
}

static struct mirror *find(const struct mirrors *mirrors, const struct dataset *dataset)
{
    for (size_t i = 0; i < mirrors->count; i++) {
        if (mirrors->at[i]->dataset == dataset->number)
            return mirrors->at[i];
    }
    return NULL;
}

bool storage_mirror_is_ready(struct mirrors *mirrors, const struct dataset *dataset)
{
    struct mirror *mirror = find(mirrors, dataset);
    struct weir_error err;

    if (!mirror) {
        mirror = new_mirror(mirrors, dataset);
        if (s3_remote_open(&dataset->declaration->s3, &mirror->remote, &err) == WEIR_OK)
            mirror->timer = weir_loop_timer(mirrors->storage->loop, 0, 0, begin_pass, mirror);
        else
            mirror->trouble = weir_strdup(err.text);
    }
    return mirror->is_complete || (dataset->is_scanned && !dataset->declaration->is_remote);
}

void storage_mirror_hurry(struct mirrors *mirrors, const struct dataset *dataset)
{
    struct mirror *mirror = find(mirrors, dataset);

    if (!mirror || !mirror->is_resting)
        return;
    weir_loop_cancel(mirrors->storage->loop, mirror->timer);
    mirror->timer = weir_loop_timer(mirrors->storage->loop, 0, 0, begin_pass, mirror);
    mirror->is_resting = false;
}

const struct s3_remote *storage_mirror_remote(struct mirrors *mirrors,
                                              const struct dataset *dataset)
{
    const struct mirror *mirror;

    (void)storage_mirror_is_ready(mirrors, dataset); /* it exists from now on */
    mirror = find(mirrors, dataset);
    return mirror->remote.base ? &mirror->remote : NULL;
}

bool storage_mirror_rewrites(struct mirrors *mirrors, const struct dataset *dataset,
                             const char *path)
{
    WEIR_AUTO_FREE char *key = weir_format("%s%s", dataset->declaration->s3.prefix, path);
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    enum weir_status status = DB_RUN(mirrors->storage->db, Q_owed_rewrites, &rows, &err,
                                     DB_I64(dataset->number), DB_BYTES(weir_bytes_of(key)));

    return status != WEIR_OK || weir_rows_i64(rows, 0, 0) > 0; /* in doubt it is asked for again */
}

const char *storage_mirror_trouble(const struct mirrors *mirrors, const struct dataset *dataset)
{
    const struct mirror *mirror = find(mirrors, dataset);

    return mirror ? mirror->trouble : NULL;
}

struct mirrors *storage_mirrors_new(struct storage *storage)
{
    struct mirrors *mirrors = weir_calloc(1, sizeof *mirrors);

    mirrors->storage = storage;
    return mirrors;
}

void storage_mirrors_free(struct mirrors *mirrors)
{
    if (!mirrors)
        return;
    for (size_t i = 0; i < mirrors->count; i++)
        free_mirror(mirrors->at[i]);
    free(mirrors->at);
    free(mirrors);
}
