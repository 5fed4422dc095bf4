/* See grants.h. */
#include "storage/reading/grants.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "storage/objects/s3_mirror.h"
#include "storage/objects/s3_remote.h"
#include "storage/objects/s3_transport.h"
#include "storage/reading/use_leases.h"
#include "storage/sql/queries.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NS_PER_US = 1000, S3_RANGE_TEXT = 64 };

static const char HTTPS[] = "https:";

struct bucket;

/* An object that samples of the answer lie in. */
struct object {
    const struct dataset *dataset;
    const struct stored_file *file;
    char *key;
    const char *etag; /* NULL: nothing is granted of it */
    struct bucket *bucket;
    const char *path; /* encoded, on the store's host; NULL: the object is not in the answer yet */
    uint32_t place;   /* index in the answer, plus one */
};

/* Bytes of one of the ids. */
struct wanted {
    uint32_t object; /* index, plus one; 0: the sample is in no bucket, or is not live */
    uint64_t offset, length;
};

struct granting {
    const struct serving *serving;
    struct weir_arena *arena;
    size_t count; /* ids that are answered */
    struct wanted *wanted;
    struct object *objects; /* in the order of datasets */
    size_t object_count;
    /* Columns of the answer: */
    const char **queries, **authorities;
    size_t bucket_count;
    const char **urls, **etags;
    uint32_t *buckets;
    size_t url_count;
    uint32_t *places;
    uint64_t *offsets, *lengths;
    uint8_t *signatures;
};

/* Parts that all requests to one bucket have in common. */
struct bucket {
    const struct s3_remote *remote;
    const struct s3_credentials *keys;
    struct s3_signing_key key;
    struct s3_request request;
    uint32_t place; /* index in the answer */
};

/* ---- samples and their objects ---- */

/* Samples come in the order of files: neighbours share an object. */
static uint32_t object_of(struct granting *granting, const struct located *found)
{
    const struct object *last =
        granting->object_count > 0 ? &granting->objects[granting->object_count - 1] : NULL;

    if (last == NULL || last->file != found->file || last->dataset != found->dataset)
        granting->objects[granting->object_count++] =
            (struct object){.dataset = found->dataset, .file = found->file};
    return (uint32_t)granting->object_count;
}

static void on_found(void *owner, uint32_t number, const struct located *found)
{
    struct granting *granting = owner;

    if (storage_serve_state(granting->serving->sums, found) != WEIR_SAMPLE_LIVE ||
        !found->dataset->declaration->is_remote || found->file->path == NULL ||
        found->length == 0 || found->offset > found->file->size ||
        found->length > found->file->size - found->offset)
        return;
    granting->wanted[number] = (struct wanted){
        .object = object_of(granting, found), .offset = found->offset, .length = found->length};
}

/* The shell is the file that the samples were found in: what is known of the object is known of them. */
static bool is_as_indexed(const struct object *object)
{
    const struct stored_file *file = object->file;
    WEIR_AUTO_FREE char *place = weir_format("%s/%s", object->dataset->root, file->path);
    struct stat found;

    return lstat(place, &found) == 0 && found.st_ino == file->inode &&
           (uint64_t)found.st_size == file->size && weir_mtime_ns(&found) == file->mtime_ns;
}

/* Fills in the ETags of objects of one dataset. What cannot be asked now is not granted. */
static void look_up(struct granting *granting, struct object *objects, size_t count)
{
    const char *prefix = objects[0].dataset->declaration->s3.prefix;
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_BUF keys = {0};
    struct weir_error err;

    for (size_t i = 0; i < count; i++) {
        char *key = weir_arena_format(granting->arena, "%s%s", prefix, objects[i].file->path);
        size_t size = strlen(key);
        char *hex = weir_arena_alloc(granting->arena, 2 * size + 1);

        weir_hex(key, size, hex);
        weir_buf_printf(&keys, "%s%s", i > 0 ? "," : "", hex);
        objects[i].key = key;
    }
    if (DB_RUN(granting->serving->store->db, Q_objects_granted, &rows, &err,
               DB_I64(objects[0].dataset->number), DB_TEXT(weir_buf_text(&keys))) != WEIR_OK)
        return;
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct object *object = &objects[weir_rows_i64(rows, i, "place") - 1];

        if (is_as_indexed(object))
            object->etag =
                weir_arena_format(granting->arena, "%s", weir_rows_text(rows, i, "etag"));
    }
}

/* Returns where the objects end that are of the same dataset as the first. */
static size_t end_of_dataset(const struct granting *granting, size_t first)
{
    size_t end = first + 1;

    while (end < granting->object_count &&
           granting->objects[end].dataset == granting->objects[first].dataset)
        end++;
    return end;
}

/* ---- buckets ---- */

/* Of what is not filled in sample by sample: the same headers are signed in every request. */
static const struct s3_request COMMON = {
    .method = "GET", .query = "", .range = "", .if_match = "", .in_query = true};

/* NULL: nothing is granted of this dataset's bucket. */
static struct bucket *open_bucket(struct granting *granting, const struct dataset *dataset)
{
    const struct serving *serving = granting->serving;
    const struct s3_remote *remote = storage_mirror_remote(serving->mirrors, dataset);
    struct s3_signer *signer = remote != NULL ? remote->signer : NULL;
    const struct s3_credentials *keys;
    struct bucket *bucket;
    WEIR_AUTO_BUF query = {0};
    int64_t time_us;

    if (signer == NULL || !signer->may_grant || strncmp(remote->base, HTTPS, strlen(HTTPS)) != 0 ||
        (signer->ca != NULL && !storage_s3_authority_read(&signer->authority, signer->ca)) ||
        !storage_s3_clock_read(&signer->clock, weir_now_ns() / NS_PER_US, &time_us))
        return NULL;
    keys = storage_s3_transport_keys(serving->store->transport, signer);
    if (keys == NULL)
        return NULL;
    bucket = weir_arena_alloc(granting->arena, sizeof(*bucket));
    *bucket = (struct bucket){.remote = remote, .keys = keys, .request = COMMON};
    bucket->request.host = remote->host;
    bucket->request.region = remote->region;
    storage_s3_date(time_us, bucket->request.date);
    storage_s3_query(&bucket->request, keys, GRANT_S, &query);
    bucket->request.query = weir_arena_format(granting->arena, "%s", weir_buf_text(&query));
    storage_s3_signing_key(&bucket->request, keys, &bucket->key);
    bucket->place = (uint32_t)granting->bucket_count;
    granting->queries[granting->bucket_count] = bucket->request.query;
    granting->authorities[granting->bucket_count++] =
        weir_arena_format(granting->arena, "%s", signer->authority.hash);
    return bucket;
}

/* All statements come first: keys are valid as long as the loop waits for none. */
static void open_all(struct granting *granting)
{
    size_t end;

    for (size_t first = 0; first < granting->object_count; first = end) {
        end = end_of_dataset(granting, first);
        look_up(granting, granting->objects + first, end - first);
    }
    for (size_t first = 0; first < granting->object_count; first = end) {
        struct bucket *bucket = open_bucket(granting, granting->objects[first].dataset);

        end = end_of_dataset(granting, first);
        for (size_t i = first; i < end; i++)
            granting->objects[i].bucket = bucket;
    }
}

static void wipe_keys(struct granting *granting)
{
    for (size_t i = 0; i < granting->object_count; i++) {
        if (granting->objects[i].bucket != NULL)
            sodium_memzero(&granting->objects[i].bucket->key, sizeof(struct s3_signing_key));
    }
}

/* ---- signing ---- */

static void put_object(struct granting *granting, struct object *object)
{
    const struct s3_remote *remote = object->bucket->remote;
    WEIR_AUTO_BUF path = {0};
    uint32_t at = (uint32_t)granting->url_count++;

    weir_buf_append_text(&path, remote->path);
    storage_s3_encode(object->key, true, &path);
    object->path = weir_arena_format(granting->arena, "%s", weir_buf_text(&path));
    object->place = at + 1;
    granting->urls[at] = weir_arena_format(granting->arena, "%s%s", remote->base, object->path);
    granting->etags[at] = object->etag;
    granting->buckets[at] = object->bucket->place;
}

static void sign(struct granting *granting, size_t i)
{
    const struct wanted *wanted = &granting->wanted[i];
    struct object *object = wanted->object > 0 ? &granting->objects[wanted->object - 1] : NULL;
    struct s3_request request;
    char range[S3_RANGE_TEXT];

    if (object == NULL || object->bucket == NULL || object->etag == NULL)
        return;
    if (object->path == NULL)
        put_object(granting, object);
    snprintf(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, wanted->offset,
             wanted->offset + wanted->length - 1);
    request = object->bucket->request;
    request.path = object->path;
    request.range = range;
    request.if_match = object->etag;
    storage_s3_signature(&request, object->bucket->keys, &object->bucket->key,
                         granting->signatures + i * S3_SIGNATURE_BYTES);
    granting->places[i] = object->place;
    granting->offsets[i] = wanted->offset;
    granting->lengths[i] = wanted->length;
}

/* ---- answers ---- */

static void *column(struct weir_arena *arena, size_t count, size_t size)
{
    void *at = weir_arena_alloc(arena, count * size + 1);

    memset(at, 0, count * size);
    return at;
}

static struct granting begin(const struct serving *serving, struct weir_arena *arena, size_t count)
{
    return (struct granting){
        .serving = serving,
        .arena = arena,
        .count = count,
        .wanted = column(arena, count, sizeof(struct wanted)),
        .objects = column(arena, count, sizeof(struct object)),
        .queries = column(arena, count, sizeof(char *)),
        .authorities = column(arena, count, sizeof(char *)),
        .urls = column(arena, count, sizeof(char *)),
        .etags = column(arena, count, sizeof(char *)),
        .buckets = column(arena, count, sizeof(uint32_t)),
        .places = column(arena, count, sizeof(uint32_t)),
        .offsets = column(arena, count, sizeof(uint64_t)),
        .lengths = column(arena, count, sizeof(uint64_t)),
        .signatures = column(arena, count, S3_SIGNATURE_BYTES),
    };
}

/* As many as will be used in time. */
static void cut(struct granting *granting)
{
    uint64_t bytes = 0;
    size_t i;

    for (i = 0; i < granting->count; i++) {
        uint64_t length = granting->wanted[i].length;

        if (bytes > 0 && length > GRANTED_BYTES - bytes)
            break;
        bytes = length < GRANTED_BYTES - bytes ? bytes + length : GRANTED_BYTES;
    }
    granting->count = i;
}

static struct msg_granted tell(const struct granting *granting, const struct msg_grant *asked,
                               uint64_t epoch)
{
    return (struct msg_granted){
        .epoch = epoch,
        .ids = {asked->ids.at, granting->count},
        .queries = {granting->queries, granting->bucket_count},
        .authorities = {granting->authorities, granting->bucket_count},
        .urls = {granting->urls, granting->url_count},
        .etags = {granting->etags, granting->url_count},
        .buckets = {granting->buckets, granting->url_count},
        .objects = {granting->places, granting->count},
        .offsets = {granting->offsets, granting->count},
        .lengths = {granting->lengths, granting->count},
        .signatures = weir_bytes(granting->signatures, granting->count * S3_SIGNATURE_BYTES),
    };
}

enum weir_status storage_grant(const struct serving *serving, const struct msg_grant *asked,
                               struct weir_arena *arena, struct msg_granted *answer,
                               struct weir_error *err)
{
    uint64_t epoch = storage_leases_epoch(serving->leases);
    struct weir_u64s ids = asked->ids;
    struct granting granting;
    enum weir_status status = storage_readable(serving->store, err);

    if (status == WEIR_OK && ids.count > GRANT_IDS_MAX)
        status = weir_fail(err, WEIR_LIMIT, "grant.ids: found %zu, expected at most %d", ids.count,
                           GRANT_IDS_MAX);
    if (status != WEIR_OK)
        return status;
    ids.count = ids.count < GRANTS_MAX ? ids.count : GRANTS_MAX;
    granting = begin(serving, arena, ids.count);
    status = storage_find_all(serving->store, &ids, arena, on_found, &granting, err);
    if (status != WEIR_OK)
        return status;
    cut(&granting);
    open_all(&granting);
    for (size_t i = 0; i < granting.count; i++)
        sign(&granting, i);
    wipe_keys(&granting);
    *answer = tell(&granting, asked, epoch);
    return WEIR_OK;
}

enum weir_status storage_authority(const struct serving *serving, const struct msg_authority *asked,
                                   struct msg_authority_is *answer, struct weir_error *err)
{
    const struct s3_authority *authority = storage_mirrors_authority(serving->mirrors, asked->hash);

    if (authority == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "no certificates of authorities have this hash now");
    answer->pem = weir_buf_view(&authority->pem);
    return WEIR_OK;
}
