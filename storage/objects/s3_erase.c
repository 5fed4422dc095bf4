/* Objects of erased samples, one after another: see s3_erase.h. */
#include "storage/objects/s3_erase.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/objects/s3_http.h"
#include "storage/objects/s3_list.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_remote.h"
#include "storage/queries.h"
#include "storage/scanning/sidecar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_PER_STEP = 1024, NAMES_MAX = 32 };

enum phase { PHASE_IDLE, PHASE_ASKING, PHASE_SETTLED };

/* Live files first: when they are gone, what was there before under the same key is gone with them. */
enum pass { PASS_LIVE, PASS_DEAD, PASS_END };
/* Of one sample: its object, and the one beside it. */
enum part { PART_OBJECT, PART_SIDECAR, PART_END };

struct bucket_erasure {
    struct storage *storage;
    enum pass pass;
    size_t at; /* of the erasure's ids */
    int part;

    uint32_t dataset; /* whose bucket this is; 0: none */
    struct s3_remote remote;
    char *trouble;    /* why this bucket is not asked any more, or NULL */
    bool has_refused; /* it is asked once only from now on */

    char *key;
    char *etag;   /* of what was mirrored; NULL: nothing that is known */
    bool is_live; /* what was erased is what was mirrored last */
    enum phase phase;
    char *problem; /* once settled: why there still is something under the key, or NULL */

    struct s3_http *http;
    struct s3_question question;
    uint64_t timer;
    int tries;
    struct weir_arena *arena; /* of the versions at hand */
    struct s3_versions versions;
    size_t at_version;
    bool takes_newest;
    char *deleted_first; /* the id in the round before; NULL: there was none */

    char *shared; /* the newest object that was named as shared */
    size_t named, unnamed, deleted;
};

static void ask_versions(void *owner);
static void delete_next(struct bucket_erasure *bucket);

/* ---- one object ---- */

static void settle(struct bucket_erasure *bucket, const char *problem)
{
    bucket->phase = PHASE_SETTLED;
    bucket->problem = problem ? weir_strdup(problem) : NULL;
    storage_pump(bucket->storage);
}

/* From its listing on again, after a pause; a bucket that refused once is not waited for again. */
static void fail(struct bucket_erasure *bucket, const char *why, bool has_answered)
{
    if (++bucket->tries < S3_TRIES && !bucket->has_refused) {
        bucket->timer = weir_loop_timer(bucket->storage->loop, S3_PAUSE_MS << (bucket->tries - 1),
                                        0, ask_versions, bucket);
        return;
    }
    bucket->has_refused = true;
    if (!has_answered && !bucket->trouble)
        bucket->trouble = weir_strdup(why);
    settle(bucket, why);
}

static bool is_good(struct bucket_erasure *bucket, const char *what, const struct s3_answer *answer,
                    const struct weir_error *err)
{
    char code[64], text[128];

    if (!answer) {
        fail(bucket, err->text, false);
        return false;
    }
    if (answer->code / 100 == 2)
        return true;
    s3_error_code(answer->body, code);
    snprintf(text, sizeof text, "%s was answered HTTP status %ld %s", what, answer->code, code);
    fail(bucket, text, true);
    return false;
}

static void ask(struct bucket_erasure *bucket, const char *method, struct s3_question question,
                s3_done_fn *on_answer)
{
    s3_question_fini(&bucket->question);
    bucket->question = question;
    s3_http_ask(bucket->http,
                &(struct s3_call){.method = method,
                                  .url = bucket->question.url,
                                  .headers = (const char *const *)bucket->question.headers,
                                  .bytes_max = S3_PAGE_BYTES_MAX},
                on_answer, bucket);
}

/* A delete marker holds nothing of anybody. */
static bool is_ours(const struct bucket_erasure *bucket, const struct s3_version *version)
{
    return !version->etag ||
           (bucket->is_live && bucket->etag && strcmp(version->etag, bucket->etag) == 0);
}

/* The newest goes last: killed in between, it is still known which one was mirrored. */
static void choose(struct bucket_erasure *bucket)
{
    const struct s3_versions *versions = &bucket->versions;
    bool is_newest_ours = true;
    size_t older = 0;

    for (size_t i = 0; i < versions->count; i++) {
        older += !versions->at[i].is_latest;
        is_newest_ours =
            is_newest_ours && (!versions->at[i].is_latest || is_ours(bucket, &versions->at[i]));
    }
    bucket->takes_newest = older == 0;
    bucket->at_version = 0;
    if (versions->count == 0)
        settle(bucket, NULL);
    else if (!is_newest_ours && (older == 0 || !bucket->is_live))
        settle(bucket, "it is another object by now");
    else
        delete_next(bucket);
}

static void on_versions(void *owner, const struct s3_answer *answer,
                        const struct weir_error *problem)
{
    struct bucket_erasure *bucket = owner;
    struct weir_error err;

    if (!is_good(bucket, "listing its versions", answer, problem))
        return;
    weir_arena_clear(bucket->arena);
    if (s3_versions_read(answer->body, bucket->key, bucket->arena, &bucket->versions, &err) ==
        WEIR_OK)
        choose(bucket);
    else
        fail(bucket, err.text, true);
}

static void ask_versions(void *owner)
{
    struct bucket_erasure *bucket = owner;
    struct s3_question question;

    bucket->timer = 0;
    s3_ask_versions(&bucket->remote, bucket->key, weir_now_wall_us(), &question);
    ask(bucket, "GET", question, on_versions);
}

static void on_deleted(void *owner, const struct s3_answer *answer,
                       const struct weir_error *problem)
{
    struct bucket_erasure *bucket = owner;
    bool is_gone = answer && answer->code == 404;

    if (!is_gone && !is_good(bucket, "deleting a version", answer, problem)) {
        free(bucket->deleted_first); /* it was not */
        bucket->deleted_first = NULL;
        return;
    }
    bucket->at_version++;
    delete_next(bucket);
}

/* The next of this round; behind the last one the versions are listed anew, until there is none. */
static void delete_next(struct bucket_erasure *bucket)
{
    const struct s3_versions *versions = &bucket->versions;
    struct s3_question question;
    const char *id;
    bool is_first = true;

    for (size_t i = 0; i < bucket->at_version; i++)
        is_first = is_first && versions->at[i].is_latest != bucket->takes_newest;
    while (bucket->at_version < versions->count &&
           versions->at[bucket->at_version].is_latest != bucket->takes_newest)
        bucket->at_version++;
    if (bucket->at_version == versions->count) {
        ask_versions(bucket);
        return;
    }
    id = versions->at[bucket->at_version].id;
    if (is_first && weir_str_equal(bucket->deleted_first, id)) {
        fail(bucket, "a version is still listed after it was deleted", true);
        return;
    }
    if (is_first) {
        free(bucket->deleted_first);
        bucket->deleted_first = weir_strdup(id);
    }
    s3_ask_delete(&bucket->remote, bucket->key, id, weir_now_wall_us(), &question);
    ask(bucket, "DELETE", question, on_deleted);
}

/* ---- remarks ---- */

/* Objects are named percent-encoded: a key may hold anything. */
static void name(struct bucket_erasure *bucket, struct open_erasure *erasure,
                 const struct declaration *d, const char *key, const char *what)
{
    WEIR_AUTO_BUF encoded = {0};
    WEIR_AUTO_FREE char *remark = NULL;

    if (bucket->named == NAMES_MAX) {
        bucket->unnamed++;
        return;
    }
    bucket->named++;
    s3_encode(key, true, &encoded);
    remark = weir_format("dataset '%s' mirrors s3://%s/%s: the object '%s' %s", d->name,
                         d->s3.bucket, d->s3.prefix, weir_buf_text(&encoded), what);
    storage_erasure_remark(erasure, remark);
}

static void name_shared(struct bucket_erasure *bucket, struct open_erasure *erasure,
                        const struct declaration *d, const char *key)
{
    if (weir_str_equal(bucket->shared, key))
        return;
    free(bucket->shared);
    bucket->shared = weir_strdup(key);
    name(bucket, erasure, d, key,
         "and its versions were not changed, because it may hold other people's samples too: "
         "replace it there by one without the erased, and delete its older versions");
}

static void remark_unnamed(const struct bucket_erasure *bucket, struct open_erasure *erasure)
{
    WEIR_AUTO_FREE char *remark = NULL;

    if (bucket->unnamed == 0)
        return;
    remark = weir_format("the same is true of %zu more objects", bucket->unnamed);
    storage_erasure_remark(erasure, remark);
}

/* ---- one sample after another ---- */

static void open_bucket(struct bucket_erasure *bucket, const struct dataset *dataset)
{
    struct weir_error err;

    if (bucket->dataset == dataset->number)
        return;
    s3_remote_close(&bucket->remote);
    free(bucket->trouble);
    bucket->trouble = NULL;
    bucket->has_refused = false;
    bucket->dataset = dataset->number;
    if (s3_remote_open(&dataset->declaration->s3, &bucket->remote, &err) != WEIR_OK)
        bucket->trouble = weir_strdup(err.text);
}

/* The ETag under which this very file was mirrored. */
static enum weir_status find_etag(struct bucket_erasure *bucket, const struct stored_file *file,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(bucket->storage->db, Q_object_get, &rows, err,
                                     DB_I64(bucket->dataset), DB_BYTES(weir_bytes_of(bucket->key)));

    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    if (bucket->part == PART_SIDECAR || ((uint64_t)weir_rows_i64(rows, 0, 1) == file->size &&
                                         weir_rows_i64(rows, 0, 2) == file->mtime_ns / 1000))
        bucket->etag = weir_strdup(weir_rows_text(rows, 0, 0));
    return WEIR_OK;
}

static void forget_object(struct bucket_erasure *bucket)
{
    free(bucket->key);
    free(bucket->etag);
    free(bucket->problem);
    free(bucket->deleted_first);
    bucket->key = bucket->etag = bucket->problem = bucket->deleted_first = NULL;
    bucket->tries = 0;
    bucket->phase = PHASE_IDLE;
}

static enum weir_status begin_object(struct bucket_erasure *bucket, const struct located *found,
                                     struct weir_error *err)
{
    enum weir_status status;

    open_bucket(bucket, found->dataset);
    status = find_etag(bucket, found->file, err);
    if (status != WEIR_OK)
        return status;
    bucket->is_live = found->file->state == FILE_LIVE;
    bucket->phase = PHASE_ASKING;
    if (bucket->trouble)
        settle(bucket, bucket->trouble);
    else
        ask_versions(bucket);
    return WEIR_OK;
}

static void next_part(struct bucket_erasure *bucket, const struct open_erasure *erasure)
{
    if (++bucket->part < PART_END)
        return;
    bucket->part = PART_OBJECT;
    if (++bucket->at < erasure->ids.count)
        return;
    bucket->at = 0;
    bucket->pass++;
}

static bool is_meant(const struct bucket_erasure *bucket, const struct located *found)
{
    const struct declaration *d = found->dataset ? found->dataset->declaration : NULL;

    return d && d->is_mirrored && found->file && found->file->path &&
           (found->file->state == FILE_LIVE) == (bucket->pass == PASS_LIVE) &&
           (bucket->part == PART_OBJECT || (d->wants_sidecar && d->on_erase == ON_ERASE_UNLINK));
}

static enum weir_status begin_next(struct bucket_erasure *bucket, struct open_erasure *erasure,
                                   struct weir_error *err)
{
    struct located found;
    WEIR_AUTO_FREE char *beside = NULL;
    const struct declaration *d;
    enum weir_status status =
        storage_find(bucket->storage, erasure->ids.at[bucket->at], &found, err);

    if (status != WEIR_OK || !is_meant(bucket, &found)) {
        next_part(bucket, erasure);
        return status;
    }
    d = found.dataset->declaration;
    if (bucket->part == PART_SIDECAR)
        beside = storage_sidecar_path(found.dataset, found.file->path);
    bucket->key = weir_format("%s%s", d->s3.prefix, beside ? beside : found.file->path);
    if (d->on_erase == ON_ERASE_UNLINK)
        return begin_object(bucket, &found, err);
    name_shared(bucket, erasure, d, bucket->key);
    forget_object(bucket);
    next_part(bucket, erasure);
    return WEIR_OK;
}

/* What is gone there needs not be known any more, and its key may tell whose it was. */
static enum weir_status end_object(struct bucket_erasure *bucket, struct open_erasure *erasure,
                                   struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_at(bucket->storage->catalog, bucket->dataset);
    WEIR_AUTO_FREE char *what = NULL;
    enum weir_status status = WEIR_OK;

    if (bucket->problem) {
        what = weir_format("or a version of it is still there: %s; look at it, and delete there "
                           "what is the person's",
                           bucket->problem);
        name(bucket, erasure, dataset->declaration, bucket->key, what);
    } else {
        bucket->deleted++;
        status = DB_RUN(bucket->storage->db, Q_object_drop, NULL, err, DB_I64(bucket->dataset),
                        DB_BYTES(weir_bytes_of(bucket->key)));
    }
    forget_object(bucket);
    next_part(bucket, erasure);
    return status;
}

enum weir_status storage_bucket_erase(struct storage *storage, struct open_erasure *erasure,
                                      bool *ret_done, struct weir_error *err)
{
    struct bucket_erasure *bucket = erasure->bucket;
    enum weir_status status = WEIR_OK;

    if (!bucket) {
        bucket = erasure->bucket = weir_calloc(1, sizeof *bucket);
        bucket->storage = storage;
        bucket->http = s3_http_new(storage->loop);
        bucket->arena = weir_arena_new();
        bucket->pass = erasure->ids.count > 0 ? PASS_LIVE : PASS_END;
    }
    for (size_t i = 0; status == WEIR_OK && i < IDS_PER_STEP && bucket->phase != PHASE_ASKING &&
                       bucket->pass != PASS_END;
         i++)
        status = bucket->phase == PHASE_SETTLED ? end_object(bucket, erasure, err)
                                                : begin_next(bucket, erasure, err);
    *ret_done = status == WEIR_OK && bucket->pass == PASS_END;
    if (!*ret_done)
        return status;
    remark_unnamed(bucket, erasure);
    if (bucket->deleted > 0)
        weir_log(WEIR_LOG_INFO, "objects deleted", "erasure=%llu objects=%zu left=%zu",
                 (unsigned long long)erasure->number, bucket->deleted,
                 bucket->named + bucket->unnamed);
    return WEIR_OK;
}

bool storage_bucket_is_waiting(const struct bucket_erasure *bucket)
{
    return bucket && bucket->phase == PHASE_ASKING;
}

void storage_bucket_erasure_free(struct bucket_erasure *bucket)
{
    if (!bucket)
        return;
    weir_loop_cancel(bucket->storage->loop, bucket->timer);
    s3_http_free(bucket->http);
    s3_question_fini(&bucket->question);
    s3_remote_close(&bucket->remote);
    weir_arena_free(bucket->arena);
    forget_object(bucket);
    free(bucket->trouble);
    free(bucket->shared);
    free(bucket);
}
