/* A pass over a bucket, request by request: see s3_mirror.h. */
#include "storage/objects/s3_mirror_state.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/formats/text.h"
#include "storage/objects/s3_fetch.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((uint64_t)1 << 30)

static void begin_pass(void *owner);

/* ---- the end of a pass ---- */

static void rest(struct mirror *mirror)
{
    struct weir_loop *loop = mirror->mirrors->store->loop;

    for (size_t i = 0; i < mirror->fetch_count; i++)
        storage_s3_fetch_drop(mirror->fetches[i]);
    weir_arena_clear(mirror->arena);
    mirror->page = (struct s3_page){0};
    mirror->is_resting = true;
    mirror->timer = weir_loop_timer(loop, mirror->every_ms, 0, begin_pass, mirror);
}

void storage_s3_mirror_fail_pass(struct mirror *mirror, const char *why)
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
    struct store *store = mirror->mirrors->store;
    struct dataset *dataset =
        store->is_stale ? NULL : storage_catalog_at(store->catalog, mirror->dataset);

    if (dataset == NULL)
        return;
    storage_scope_add_all(&dataset->dirty);
    mirror->mirrors->mirrored(mirror->mirrors->owner);
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

/* ---- a page ---- */

static void on_page(void *owner, const struct s3_answer *answer, const struct weir_error *problem)
{
    struct mirror *mirror = owner;
    char text[128];
    struct weir_error err;

    if (answer == NULL) {
        storage_s3_mirror_fail_pass(mirror, problem->text);
        return;
    }
    if (answer->code != 200) {
        storage_s3_answer_describe(answer, 200, text);
        storage_s3_mirror_fail_pass(mirror, text);
        return;
    }
    weir_arena_clear(mirror->arena);
    if (storage_s3_page_read(answer->body, mirror->arena, &mirror->page, &err) != WEIR_OK)
        storage_s3_call_again(mirror->listing, err.text);
    else if (storage_s3_mirror_compare(mirror, &err) != WEIR_OK)
        storage_s3_mirror_fail_pass(mirror, err.text);
    else
        storage_s3_mirror_check_next(mirror);
}

static void request_page(struct mirror *mirror)
{
    struct s3_sending sending = {
        .method = "GET", .bytes_max = S3_PAGE_BYTES_MAX, .tries = S3_TRIES};

    storage_s3_mirror_forget_written(mirror);
    storage_s3_request_list(&mirror->remote, mirror->page.next, &sending.request);
    storage_s3_call_send(mirror->listing, &sending, on_page, mirror);
}

static void begin_pass(void *owner)
{
    struct mirror *mirror = owner;

    mirror->timer = 0;
    mirror->is_resting = mirror->has_changed = mirror->has_skipped = false;
    mirror->page = (struct s3_page){0};
    free(mirror->after);
    mirror->after = weir_strdup("");
    request_page(mirror);
}

/* ---- objects ---- */

static void on_fetched(void *owner, const struct s3_object *object, enum s3_fetched what,
                       const char *why)
{
    struct mirror *mirror = owner;
    struct weir_error err;

    mirror->has_changed = true; /* or will have: another object is for the next pass */
    if (what == S3_FETCHED_NOTHING)
        storage_s3_mirror_fail_pass(mirror, why);
    else if (what == S3_FETCHED && storage_s3_mirror_remember(mirror, object, &err) != WEIR_OK)
        storage_s3_mirror_fail_pass(mirror, err.text);
    else
        storage_s3_mirror_fetch_next(mirror);
}

static void skip(struct mirror *mirror, const char *key, const char *why)
{
    WEIR_AUTO_FREE char *printable = storage_printable(key);

    mirror->has_skipped = true;
    free(mirror->trouble);
    mirror->trouble = weir_format("%s: object '%.200s': %s", mirror->remote.name, printable, why);
}

static enum weir_status begin_object(struct mirror *mirror, struct s3_fetch *fetch,
                                     const struct s3_object *object, struct weir_error *err)
{
    struct s3_fetch_job job = {.remote = &mirror->remote, .object = object};

    if (storage_s3_mirror_name(mirror, object->key) == NULL) {
        if (object->size > 0) /* else what some tools leave in place of a folder */
            skip(mirror, object->key, "found a key that cannot be the path of a file");
        return WEIR_OK;
    }
    job.path = storage_s3_mirror_path(mirror, object->key);
    if (!storage_s3_mirror_was_fetched(job.path, object)) {
        storage_s3_fetch_begin(fetch, &job, on_fetched, mirror);
        return WEIR_OK;
    }
    free(job.path);
    return storage_s3_mirror_remember(mirror, object, err);
}

static struct s3_fetch *idle_fetch(const struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        if (storage_s3_fetch_is_idle(mirror->fetches[i]))
            return mirror->fetches[i];
    }
    return NULL;
}

static bool is_fetching(const struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        if (!storage_s3_fetch_is_idle(mirror->fetches[i]))
            return true;
    }
    return false;
}

void storage_s3_mirror_fetch_next(struct mirror *mirror)
{
    struct s3_fetch *fetch;
    struct weir_error err;

    while (mirror->at_todo < mirror->todo_count && (fetch = idle_fetch(mirror)) != NULL) {
        const struct s3_object *object = &mirror->page.objects[mirror->todo[mirror->at_todo++]];

        if (storage_s3_mirror_was_written(mirror, object->key))
            continue;
        if (begin_object(mirror, fetch, object, &err) != WEIR_OK) {
            storage_s3_mirror_fail_pass(mirror, err.text);
            return;
        }
    }
    if (is_fetching(mirror))
        return;
    if (mirror->page.next != NULL)
        request_page(mirror);
    else
        end_pass(mirror);
}

/* ---- life ---- */

static void free_mirror(struct mirror *mirror)
{
    weir_loop_cancel(mirror->mirrors->store->loop, mirror->timer);
    storage_s3_call_free(mirror->listing);
    for (size_t i = 0; i < mirror->fetch_count; i++)
        storage_s3_fetch_free(mirror->fetches[i]);
    free(mirror->fetches);
    storage_s3_remote_close(&mirror->remote);
    storage_s3_mirror_forget_written(mirror);
    free(mirror->written);
    weir_arena_free(mirror->arena);
    free(mirror->after);
    free(mirror->trouble);
    free(mirror->root);
    free(mirror);
}

static void add_fetches(struct mirror *mirror, const struct dataset *dataset)
{
    struct store *store = mirror->mirrors->store;

    mirror->fetch_count = (size_t)dataset->declaration->s3.transfers;
    mirror->fetches = weir_calloc(mirror->fetch_count, sizeof(struct s3_fetch *));
    for (size_t i = 0; i < mirror->fetch_count; i++) {
        char *incoming =
            weir_format("%s/storage/.incoming-%s-%zu", store->data_dir, dataset->name, i + 1);

        mirror->fetches[i] = storage_s3_fetch_new(store->transport, &incoming);
    }
}

static struct mirror *new_mirror(struct mirrors *mirrors, const struct dataset *dataset)
{
    struct mirror *mirror = weir_calloc(1, sizeof(*mirror));

    mirror->mirrors = mirrors;
    mirror->dataset = dataset->number;
    mirror->root = weir_strdup(dataset->root);
    mirror->every_ms = dataset->declaration->s3.every / 1000;
    mirror->listing = storage_s3_call_new(mirrors->store->transport);
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

    if (mirror == NULL) {
        mirror = new_mirror(mirrors, dataset);
        if (storage_s3_remote_open(&dataset->declaration->s3, &mirror->remote, &err) == WEIR_OK)
            mirror->timer = weir_loop_timer(mirrors->store->loop, 0, 0, begin_pass, mirror);
        else
            mirror->trouble = weir_strdup(err.text);
    }
    return mirror->is_complete || (dataset->is_scanned && !dataset->declaration->is_remote);
}

void storage_mirror_hurry(struct mirrors *mirrors, const struct dataset *dataset)
{
    struct mirror *mirror = find(mirrors, dataset);

    if (mirror == NULL || !mirror->is_resting)
        return;
    weir_loop_cancel(mirrors->store->loop, mirror->timer);
    mirror->timer = weir_loop_timer(mirrors->store->loop, 0, 0, begin_pass, mirror);
    mirror->is_resting = false;
}

void storage_mirror_wrote(struct mirrors *mirrors, const struct dataset *dataset, const char *key)
{
    struct mirror *mirror = find(mirrors, dataset);

    if (mirror == NULL || mirror->is_resting)
        return;
    mirror->written = weir_grow(mirror->written, mirror->written_count, &mirror->written_capacity,
                                sizeof(*mirror->written));
    mirror->written[mirror->written_count++] = weir_strdup(key);
}

const struct s3_remote *storage_mirror_remote(struct mirrors *mirrors,
                                              const struct dataset *dataset)
{
    const struct mirror *mirror;

    (void)storage_mirror_is_ready(mirrors, dataset); /* it exists from now on */
    mirror = find(mirrors, dataset);
    return mirror->remote.base != NULL ? &mirror->remote : NULL;
}

const struct s3_authority *storage_mirrors_authority(const struct mirrors *mirrors,
                                                     const char *hash)
{
    for (size_t i = 0; i < mirrors->count; i++) {
        const struct s3_signer *signer = mirrors->at[i]->remote.signer;

        if (signer != NULL && *hash && strcmp(signer->authority.hash, hash) == 0)
            return &signer->authority;
    }
    return NULL;
}

bool storage_mirror_rewrites(struct mirrors *mirrors, const struct dataset *dataset,
                             const char *path)
{
    WEIR_AUTO_FREE char *key = weir_format("%s%s", dataset->declaration->s3.prefix, path);
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    enum weir_status status = DB_RUN(mirrors->store->db, Q_owed_rewrites, &rows, &err,
                                     DB_I64(dataset->number), DB_BYTES(weir_bytes_of(key)));

    return status != WEIR_OK ||
           weir_rows_i64(rows, 0, "count") > 0; /* in doubt it is asked for again */
}

const char *storage_mirror_trouble(const struct mirrors *mirrors, const struct dataset *dataset)
{
    const struct mirror *mirror = find(mirrors, dataset);

    return mirror != NULL ? mirror->trouble : NULL;
}

static void end(struct mirrors *mirrors, size_t i)
{
    free_mirror(mirrors->at[i]);
    mirrors->at[i] = mirrors->at[--mirrors->count];
}

void storage_mirror_end(struct mirrors *mirrors, const struct dataset *dataset)
{
    for (size_t i = mirrors->count; i > 0; i--)
        if (mirrors->at[i - 1]->dataset == dataset->number)
            end(mirrors, i - 1);
}

void storage_mirrors_end_removed(struct mirrors *mirrors)
{
    for (size_t i = mirrors->count; i > 0; i--)
        if (s3_mirror_dataset(mirrors->at[i - 1]) == NULL)
            end(mirrors, i - 1);
}

struct s3_cache *storage_mirrors_cache(const struct mirrors *mirrors)
{
    return mirrors->cache;
}

struct mirrors *storage_mirrors_new(struct store *store, storage_mirrored_fn *mirrored, void *owner)
{
    struct mirrors *mirrors = weir_calloc(1, sizeof(*mirrors));

    mirrors->store = store;
    mirrors->cache = storage_s3_cache_new(store->data_dir, CACHE_BYTES / S3_BLOCK_BYTES);
    mirrors->mirrored = mirrored;
    mirrors->owner = owner;
    return mirrors;
}

void storage_mirrors_free(struct mirrors *mirrors)
{
    if (mirrors == NULL)
        return;
    for (size_t i = 0; i < mirrors->count; i++)
        free_mirror(mirrors->at[i]);
    free(mirrors->at);
    storage_s3_cache_free(mirrors->cache);
    free(mirrors);
}
