/* Fetching, then window after window: see s3_rewrite.h. */
#include "storage/objects/s3_rewrite.h"

#include "core/base/lines.h"
#include "core/base/memory.h"
#include "storage/catalog/guard.h"
#include "storage/files/extent.h"
#include "storage/objects/s3_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct s3_rewrite {
    struct store *store;
    struct s3_fetch *fetch;
    char *path;
    struct s3_rewrite_job job;
    struct s3_object object;
    s3_rewritten_fn *done;
    void *owner;
    uint64_t timer;

    int fd;
    struct weir_buf head, window;
    uint64_t at;
    size_t window_bytes;
    bool is_in_line; /* `at` is inside of a refused line */
    struct format_range *erased;
    size_t erased_count, erased_capacity;
};

void storage_s3_rewrite_drop(struct s3_rewrite *rewrite)
{
    weir_loop_cancel(rewrite->store->loop, rewrite->timer);
    rewrite->timer = 0;
    storage_s3_fetch_drop(rewrite->fetch);
    if (rewrite->fd >= 0)
        close(rewrite->fd);
    rewrite->fd = -1;
    unlink(rewrite->path); /* or it never was there */
    weir_buf_clear(&rewrite->head);
    weir_buf_clear(&rewrite->window);
    rewrite->erased_count = 0;
}

static void fail(struct s3_rewrite *rewrite, enum s3_rewritten what, const char *why)
{
    storage_s3_rewrite_drop(rewrite);
    rewrite->done(rewrite->owner, what, why);
}

/* ---- which records ---- */

struct looking {
    struct s3_rewrite *rewrite;
    const struct dataset *dataset;
    const char *name; /* of the file */
};

static uint64_t hash_of(const struct looking *looking, const struct format_sample *sample)
{
    const struct s3_rewrite *rewrite = looking->rewrite;
    struct weir_bytes content = weir_bytes(NULL, 0);

    if (!looking->dataset->declaration->format->is_one_sample)
        content =
            weir_bytes(rewrite->window.at + (sample->offset - rewrite->at), (size_t)sample->length);
    return storage_guard_place(&rewrite->store->secret, looking->dataset, looking->name, content);
}

static void on_sample(void *owner, const struct format_sample *sample)
{
    const struct looking *looking = owner;
    struct s3_rewrite *rewrite = looking->rewrite;
    const struct format_range payload = {sample->offset, sample->length};

    if (storage_dataset_blocked(looking->dataset, hash_of(looking, sample)) == NULL)
        return;
    rewrite->erased = weir_grow(rewrite->erased, rewrite->erased_count, &rewrite->erased_capacity,
                                sizeof(*rewrite->erased));
    rewrite->erased[rewrite->erased_count++] = sample->extent.length > 0 ? sample->extent : payload;
}

static void on_refuse(void *owner, const struct format_refusal *refusal)
{
    (void)owner;
    (void)refusal; /* nobody's sample */
}

/* ---- overwriting ---- */

static enum weir_status overwrite(struct s3_rewrite *rewrite, const struct declaration *declaration,
                                  struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < rewrite->erased_count; i++) {
        const struct format_range *range = &rewrite->erased[i];
        WEIR_AUTO_BUF bytes = {0};

        status = storage_range_read(rewrite->fd, *range, &bytes, err);
        if (status != WEIR_OK)
            return status;
        storage_extent_erase(declaration, weir_buf_view(&rewrite->head), bytes.at, bytes.size);
        if (pwrite(rewrite->fd, bytes.at, bytes.size, (off_t)range->offset) != (ssize_t)bytes.size)
            status =
                weir_fail(err, WEIR_IO, "%s: cannot write: %s", rewrite->path, strerror(errno));
    }
    rewrite->erased_count = 0;
    return status;
}

/* ---- windows ---- */

static size_t size_of_window(const struct s3_rewrite *rewrite)
{
    uint64_t rest = rewrite->object.size - rewrite->at;

    return rest < rewrite->window_bytes ? (size_t)rest : rewrite->window_bytes;
}

/* Has the format index the window; it consumes 0 bytes of one that is to grow. */
static enum weir_status index_window(struct s3_rewrite *rewrite, const struct dataset *dataset,
                                     struct format_progress *ret_progress, struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    struct looking looking = {.rewrite = rewrite,
                              .dataset = dataset,
                              .name = rewrite->object.key + strlen(rewrite->job.remote->prefix)};
    const struct format_sink sink = {.owner = &looking, .sample = on_sample, .refuse = on_refuse};
    const struct format_input input = {
        .head = weir_buf_view(&rewrite->head),
        .window = weir_buf_view(&rewrite->window),
        .at = rewrite->at,
        .record = d->format->counts_lines ? 1 : 0,
        .size = rewrite->object.size,
        .is_last = rewrite->at + rewrite->window.size == rewrite->object.size,
        .is_full = rewrite->window.size == FORMAT_RECORD_MAX,
    };

    return d->format->index(&input, d->options, &d->fields, &sink, ret_progress, err);
}

static void pass_line(struct s3_rewrite *rewrite)
{
    size_t line = weir_line(weir_buf_view(&rewrite->window));

    rewrite->is_in_line = line == 0;
    rewrite->at += line > 0 ? line : rewrite->window.size;
}

/* One window; an error of the format means that nothing of the rest is a sample. */
static enum weir_status step(struct s3_rewrite *rewrite, const struct dataset *dataset,
                             bool *ret_done, struct weir_error *err)
{
    const struct format *format = dataset->declaration->format;
    size_t size = format->is_one_sample ? 0 : size_of_window(rewrite);
    struct format_progress progress = {0};
    enum weir_status status = storage_range_read(
        rewrite->fd, (struct format_range){rewrite->at, size}, &rewrite->window, err);

    if (status == WEIR_OK && rewrite->is_in_line) {
        pass_line(rewrite);
        *ret_done = rewrite->at >= rewrite->object.size;
        return WEIR_OK;
    }
    if (status == WEIR_OK && index_window(rewrite, dataset, &progress, err) != WEIR_OK)
        progress.is_stuck = true;
    if (status == WEIR_OK)
        status = overwrite(rewrite, dataset->declaration, err);
    if (status != WEIR_OK)
        return status;
    rewrite->window_bytes = progress.consumed > 0 ? FORMAT_WINDOW_BYTES : 4 * rewrite->window_bytes;
    if (rewrite->window_bytes > FORMAT_RECORD_MAX)
        rewrite->window_bytes = FORMAT_RECORD_MAX;
    *ret_done =
        format->is_one_sample || progress.is_stuck || rewrite->at + size == rewrite->object.size;
    rewrite->at += progress.consumed;
    rewrite->is_in_line = progress.is_cut;
    return WEIR_OK;
}

static void step_on(void *owner)
{
    struct s3_rewrite *rewrite = owner;
    struct store *store = rewrite->store;
    const struct dataset *dataset =
        store->is_stale ? NULL : storage_catalog_at(store->catalog, rewrite->job.dataset);
    struct weir_error err;
    bool is_done = false;

    rewrite->timer = 0;
    if (dataset == NULL)
        fail(rewrite, S3_REWRITTEN_NOT, "storage is being loaded again");
    else if (step(rewrite, dataset, &is_done, &err) != WEIR_OK)
        fail(rewrite, S3_REWRITTEN_NOT, err.text);
    else if (!is_done)
        rewrite->timer = weir_loop_timer(store->loop, 0, 0, step_on, rewrite);
    else
        rewrite->done(rewrite->owner, S3_REWRITTEN, NULL);
}

/* ---- beginning ---- */

static enum weir_status open_fetched(struct s3_rewrite *rewrite, struct weir_error *err)
{
    struct store *store = rewrite->store;
    const struct dataset *dataset =
        store->is_stale ? NULL : storage_catalog_at(store->catalog, rewrite->job.dataset);

    if (dataset == NULL)
        return weir_fail(err, WEIR_UNAVAILABLE, "storage is being loaded again");
    rewrite->fd = open(rewrite->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (rewrite->fd < 0)
        return weir_fail(err, WEIR_IO, "%s: cannot open: %s", rewrite->path, strerror(errno));
    rewrite->at = 0;
    rewrite->window_bytes = FORMAT_WINDOW_BYTES;
    rewrite->is_in_line = false;
    return storage_head_read(dataset->declaration->format, rewrite->fd, rewrite->object.size,
                             &rewrite->head, err);
}

static void on_fetched(void *owner, const struct s3_object *object, enum s3_fetched what,
                       const char *why)
{
    struct s3_rewrite *rewrite = owner;
    struct weir_error err;

    (void)object;
    if (what == S3_FETCHED_OTHER)
        fail(rewrite, S3_REWRITTEN_OTHER, NULL);
    else if (what == S3_FETCHED_NOTHING)
        fail(rewrite, S3_REWRITTEN_NOT, why);
    else if (open_fetched(rewrite, &err) != WEIR_OK)
        fail(rewrite, S3_REWRITTEN_NOT, err.text);
    else
        rewrite->timer = weir_loop_timer(rewrite->store->loop, 0, 0, step_on, rewrite);
}

static void on_nothing(void *owner)
{
    struct s3_rewrite *rewrite = owner;

    rewrite->timer = 0;
    fail(rewrite, S3_REWRITTEN_OTHER, NULL);
}

/* An empty object held nothing of anybody: it is not the one that was meant. */
void storage_s3_rewrite_begin(struct s3_rewrite *rewrite, const struct s3_rewrite_job *job,
                              s3_rewritten_fn *done, void *owner)
{
    struct s3_fetch_job fetching = {.remote = job->remote, .object = &rewrite->object};

    rewrite->job = *job;
    rewrite->object = (struct s3_object){.key = job->key, .etag = job->etag, .size = job->size};
    rewrite->done = done;
    rewrite->owner = owner;
    if (job->size == 0) {
        rewrite->timer = weir_loop_timer(rewrite->store->loop, 0, 0, on_nothing, rewrite);
        return;
    }
    fetching.path = weir_strdup(rewrite->path);
    storage_s3_fetch_begin(rewrite->fetch, &fetching, on_fetched, rewrite);
}

/* ---- life ---- */

struct s3_rewrite *storage_s3_rewrite_new(struct store *store)
{
    struct s3_rewrite *rewrite = weir_calloc(1, sizeof(*rewrite));
    char *incoming = weir_format("%s/storage/.incoming-rewriting", store->data_dir);

    rewrite->store = store;
    rewrite->fetch = storage_s3_fetch_new(store->transport, &incoming);
    rewrite->path = weir_format("%s/storage/.rewriting", store->data_dir);
    rewrite->fd = -1;
    return rewrite;
}

const char *storage_s3_rewrite_path(const struct s3_rewrite *rewrite)
{
    return rewrite->path;
}

void storage_s3_rewrite_free(struct s3_rewrite *rewrite)
{
    if (rewrite == NULL)
        return;
    storage_s3_rewrite_drop(rewrite);
    storage_s3_fetch_free(rewrite->fetch);
    weir_buf_fini(&rewrite->head);
    weir_buf_fini(&rewrite->window);
    free(rewrite->erased);
    free(rewrite->path);
    free(rewrite);
}
