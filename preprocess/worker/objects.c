/* See objects.h. */
#include "preprocess/worker/objects.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/http/libcurl.h"
#include "core/http/part.h"
#include "core/http/transfers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    CONNECT_MS = 2000, /* grants last no longer */
    STILL_S = 5,       /* of less than STILL_BYTES a second: storage is faster */
    STILL_BYTES = 4096,
    LATE_MS = 1500,             /* a grant that was sent so late may have ended on its way */
    PART_BYTES_MAX = 512 << 20, /* as large as `sample_bytes_max` may be */
    URL_BYTES_MAX = 16 << 10,
    SIGNATURE_BYTES = 32,
    PARTIAL = 206,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    PRECONDITION_FAILED = 412,
};

static const char HTTPS[] = "https://";

struct authority {
    char *hash;
    struct weir_buf pem;
};

/* The request for a part. */
struct request {
    const char *url, *host;
    struct weir_part part;
    struct curl_blob authority; /* certificates, the read's own; data NULL: those of the system */
};

struct objects_read {
    struct objects *objects;
    struct weir_arena *arena; /* of texts and certificates */
    /* copies, by the places of those that are known */
    struct curl_blob authorities[AUTHORITIES_MAX];
    struct request *requests;
    struct object_part *parts; /* answer to each */
    size_t count;
    size_t next; /* the next one to be sent */
    size_t under_way;
    int64_t begun_ms; /* its grants are not older */
    void (*done)(void *owner);
    void *owner;
    TAILQ_ENTRY(objects_read) link; /* while something is to be sent */
};

/* A request that may be under way: a handle of libcurl, which is used again. */
struct slot {
    struct objects *objects;
    struct weir_transfer transfer;
    struct curl_slist *headers;
    struct objects_read *read; /* NULL: it is free */
    size_t at;                 /* index of the part */
    uint8_t *bytes;
    uint64_t got;
    bool is_late;
};

struct objects {
    struct weir_loop *loop;
    struct weir_transfers *transfers;
    struct slot slots[OBJECTS_AT_ONCE];
    TAILQ_HEAD(, objects_read) reads; /* with something to be sent */
    struct authority authorities[AUTHORITIES_MAX];
    size_t learnt; /* authorities, ever */
    int64_t paused_until_ms, pause_ms;
    struct objects_tally tally;
};

/* ---- authorities ---- */

static const struct authority *find_authority(const struct objects *objects, const char *hash)
{
    for (size_t i = 0; i < AUTHORITIES_MAX; i++) {
        const struct authority *authority = &objects->authorities[i];
        if (authority->hash != NULL && strcmp(authority->hash, hash) == 0)
            return authority;
    }
    return NULL;
}

static bool is_among(const char *hash, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i], hash) == 0)
            return true;
    return false;
}

const char *preprocess_objects_lack(const struct objects *objects, const struct msg_granted *answer)
{
    const char *known[AUTHORITIES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < answer->authorities.count && count < AUTHORITIES_MAX; i++) {
        const char *hash = answer->authorities.at[i];
        if (*hash == '\0' || is_among(hash, known, count))
            continue;
        if (find_authority(objects, hash) == NULL)
            return hash;
        known[count++] = hash;
    }
    return NULL;
}

enum weir_status preprocess_objects_learn(struct objects *objects, const char *hash,
                                          struct weir_bytes pem, struct weir_error *err)
{
    struct authority *authority = &objects->authorities[objects->learnt % AUTHORITIES_MAX];
    if (pem.size == 0 || pem.size > AUTHORITY_BYTES_MAX)
        return weir_fail(err, WEIR_INVALID, "authority_is: %zu bytes, expected 1 to %d", pem.size,
                         AUTHORITY_BYTES_MAX);
    free(authority->hash);
    weir_buf_clear(&authority->pem);
    authority->hash = weir_strdup(hash);
    weir_buf_append(&authority->pem, pem.at, pem.size);
    objects->learnt++;
    return WEIR_OK;
}

/* ---- pauses ---- */

bool preprocess_objects_use_grants(const struct objects *objects)
{
    return objects != NULL && weir_loop_now_ms(objects->loop) >= objects->paused_until_ms;
}

static void pause_grants(struct objects *objects, const char *host, const char *why)
{
    int64_t now_ms = weir_loop_now_ms(objects->loop);
    if (now_ms < objects->paused_until_ms)
        return;
    objects->pause_ms = objects->pause_ms == 0 ? OBJECT_PAUSE_MS : 2 * objects->pause_ms;
    if (objects->pause_ms > OBJECT_PAUSE_MAX_MS)
        objects->pause_ms = OBJECT_PAUSE_MAX_MS;
    objects->paused_until_ms = now_ms + objects->pause_ms;
    weir_log(WEIR_LOG_WARN, "an object store does not answer to grants, storage reads it meanwhile",
             "host=%s reason=\"%s\" ms=%ld", host, why, objects->pause_ms);
}

/* ---- one request ---- */

static size_t take_bytes(char *bytes, size_t size, size_t count, void *owner)
{
    struct slot *slot = owner;
    uint64_t room = slot->read->requests[slot->at].part.size - slot->got;
    if (size * count > room)
        return 0; /* more than was granted, or an error that is longer: it is none either way */
    memcpy(slot->bytes + slot->got, bytes, size * count);
    slot->got += size * count;
    return size * count;
}

static void add_header(struct slot *slot, const char *header)
{
    slot->headers = curl_slist_append(slot->headers, header);
    weir_require(slot->headers != NULL);
}

/* Adds the headers that are signed, as they were. */
static void add_headers(struct slot *slot, const struct request *request)
{
    const struct weir_part *part = &request->part;
    WEIR_AUTO_FREE char *host = weir_format("Host: %s", request->host);
    WEIR_AUTO_FREE char *etag = weir_format("If-Match: %s", part->etag);
    WEIR_AUTO_FREE char *range =
        weir_format("Range: bytes=%" PRIu64 "-%" PRIu64, part->from, part->from + part->size - 1);
    add_header(slot, host);
    add_header(slot, etag);
    add_header(slot, range);
}

static void set_options(struct slot *slot, const struct request *request)
{
    CURL *easy = slot->transfer.easy;
    if (easy != NULL)
        curl_easy_reset(easy); /* connections stay: they are the transfers' */
    else
        easy = slot->transfer.easy = curl_easy_init();
    weir_require(easy != NULL);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* it is signed as it is */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, slot->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)STILL_BYTES);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STILL_S);
    if (request->authority.data != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &request->authority);
}

static void send_part(struct slot *slot, struct objects_read *read)
{
    const struct request *request = &read->requests[read->next];
    slot->read = read;
    slot->at = read->next++;
    slot->bytes = weir_realloc(NULL, request->part.size, 1);
    slot->got = 0;
    slot->is_late = weir_loop_now_ms(slot->objects->loop) - read->begun_ms > LATE_MS;
    read->under_way++;
    add_headers(slot, request);
    set_options(slot, request);
    weir_transfers_add(slot->objects->transfers, &slot->transfer);
}

static void send_next(struct objects *objects)
{
    for (size_t i = 0; i < OBJECTS_AT_ONCE && !TAILQ_EMPTY(&objects->reads); i++) {
        struct objects_read *read = TAILQ_FIRST(&objects->reads);
        if (objects->slots[i].read != NULL)
            continue;
        send_part(&objects->slots[i], read);
        if (read->next == read->count)
            TAILQ_REMOVE(&objects->reads, read, link);
    }
}

/* Nothing more of it is sent. */
static void give_up(struct objects_read *read)
{
    if (read->next < read->count)
        TAILQ_REMOVE(&read->objects->reads, read, link);
    read->objects->tally.refused += read->count - read->next;
    read->next = read->count;
}

static void free_slot(struct slot *slot)
{
    weir_transfers_remove(slot->objects->transfers, &slot->transfer);
    curl_slist_free_all(slot->headers);
    free(slot->bytes);
    slot->headers = NULL;
    slot->bytes = NULL;
    slot->read = NULL;
}

/* ---- its answer ---- */

static const char *header_of(const struct slot *slot, const char *name)
{
    struct curl_header *header;
    bool is_there =
        curl_easy_header(slot->transfer.easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    return is_there ? header->value : "";
}

/* The part has come; else `reason` says why not. */
static bool has_come(const struct slot *slot, int result, long code, char reason[WEIR_PART_TEXT])
{
    const struct weir_part *part = &slot->read->requests[slot->at].part;
    const struct weir_part_answer answer = {.range = header_of(slot, "Content-Range"),
                                            .etag = header_of(slot, "ETag"),
                                            .size = slot->got};
    if (code != 0 && code != PARTIAL)
        snprintf(reason, WEIR_PART_TEXT, "HTTP status %ld", code);
    else if (result != CURLE_OK)
        snprintf(reason, WEIR_PART_TEXT, "%s", curl_easy_strerror((CURLcode)result));
    else
        return weir_part_is(part, &answer, reason);
    return false;
}

/* A part that is another one by now, or gone, says nothing of the others; grants that have waited too long for parts
 * before them say nothing of the store. */
static void settle(struct slot *slot, int result)
{
    struct objects *objects = slot->objects;
    struct objects_read *read = slot->read;
    struct object_part *part = &read->parts[slot->at];
    char reason[WEIR_PART_TEXT];
    long code = 0;
    curl_easy_getinfo(slot->transfer.easy, CURLINFO_RESPONSE_CODE, &code);
    part->is_there = has_come(slot, result, code, reason);
    if (part->is_there) {
        part->bytes = WEIR_TAKE(slot->bytes);
        objects->tally.come++;
        objects->pause_ms = 0;
        return;
    }
    objects->tally.refused++;
    if (code == NOT_FOUND || code == PRECONDITION_FAILED)
        return;
    if (code != FORBIDDEN || !slot->is_late)
        pause_grants(objects, read->requests[slot->at].host, reason);
    give_up(read);
}

static void on_over(void *owner, int result)
{
    struct slot *slot = owner;
    struct objects_read *read = slot->read;
    settle(slot, result);
    free_slot(slot);
    read->under_way--;
    send_next(slot->objects);
    if (read->under_way == 0 && read->next == read->count)
        read->done(read->owner);
}

/* ---- reads ---- */

static bool is_whole(const struct msg_granted *answer)
{
    size_t ids = answer->ids.count, urls = answer->urls.count, buckets = answer->queries.count;
    bool is_right = answer->authorities.count == buckets && answer->etags.count == urls &&
                    answer->buckets.count == urls && answer->objects.count == ids &&
                    answer->offsets.count == ids && answer->lengths.count == ids &&
                    answer->signatures.size == ids * SIGNATURE_BYTES;
    for (size_t i = 0; is_right && i < urls; i++)
        is_right = answer->buckets.at[i] < buckets &&
                   strncmp(answer->urls.at[i], HTTPS, strlen(HTTPS)) == 0 &&
                   strlen(answer->urls.at[i]) + strlen(answer->queries.at[answer->buckets.at[i]]) <
                       URL_BYTES_MAX &&
                   strpbrk(answer->urls.at[i], "\r\n") == NULL &&
                   strpbrk(answer->etags.at[i], "\r\n") == NULL;
    for (size_t i = 0; is_right && i < ids; i++)
        is_right = answer->objects.at[i] <= urls && answer->lengths.at[i] <= PART_BYTES_MAX;
    return is_right;
}

/* The certificates are the read's own: those that are known may be others by the time that the last part is sent.
 * False: they are not known. */
static bool vouch(struct objects_read *read, const char *hash, struct curl_blob *ret_authority)
{
    const struct authority *authority = *hash != '\0' ? find_authority(read->objects, hash) : NULL;
    *ret_authority = (struct curl_blob){.data = NULL};
    if (authority == NULL)
        return *hash == '\0';
    struct curl_blob *own = &read->authorities[authority - read->objects->authorities];
    if (own->data == NULL)
        *own = (struct curl_blob){
            .data = weir_arena_copy(read->arena, authority->pem.at, authority->pem.size),
            .len = authority->pem.size,
            .flags = CURL_BLOB_COPY};
    *ret_authority = *own;
    return true;
}

static void add_request(struct objects_read *read, const struct objects_job *job, size_t i)
{
    const struct msg_granted *answer = job->answer;
    uint32_t object = answer->objects.at[i] - 1, bucket = answer->buckets.at[object];
    struct curl_blob authority;
    if (!vouch(read, answer->authorities.at[bucket], &authority))
        return;
    const char *url = answer->urls.at[object], *host = url + strlen(HTTPS);
    char signature[2 * SIGNATURE_BYTES + 1];
    weir_hex(answer->signatures.at + i * SIGNATURE_BYTES, SIGNATURE_BYTES, signature);
    read->parts[read->count] = (struct object_part){.sample = job->samples[i]};
    read->requests[read->count++] = (struct request){
        .url = weir_arena_format(read->arena, "%s?%s&X-Amz-Signature=%s", url,
                                 answer->queries.at[bucket], signature),
        .host = weir_arena_strndup(read->arena, host, strcspn(host, "/")),
        .authority = authority,
        .part = {.from = answer->offsets.at[i],
                 .size = answer->lengths.at[i],
                 .etag = weir_arena_format(read->arena, "%s", answer->etags.at[object])},
    };
}

enum weir_status preprocess_objects_read(struct objects *objects, const struct objects_job *job,
                                         struct objects_read **ret_read, struct weir_error *err)
{
    size_t count = job->answer->ids.count;
    if (!is_whole(job->answer))
        return weir_fail(err, WEIR_INVALID, "granted: columns that do not fit each other");
    struct objects_read *read = weir_calloc(1, sizeof(*read));
    read->objects = objects;
    read->begun_ms = weir_loop_now_ms(objects->loop);
    read->arena = weir_arena_new();
    read->requests = weir_calloc(count, sizeof(*read->requests));
    read->parts = weir_calloc(count, sizeof(*read->parts));
    read->done = job->done;
    read->owner = job->owner;
    for (size_t i = 0; i < count; i++) {
        if (job->samples[i] != FETCHED_NONE)
            add_request(read, job, i);
    }
    *ret_read = read->count > 0 ? read : NULL;
    if (read->count > 0)
        TAILQ_INSERT_TAIL(&objects->reads, read, link);
    else
        preprocess_objects_end(read);
    send_next(objects);
    return WEIR_OK;
}

const struct object_part *preprocess_objects_parts(const struct objects_read *read,
                                                   size_t *ret_count)
{
    *ret_count = read->count;
    return read->parts;
}

void preprocess_objects_end(struct objects_read *read)
{
    if (read == NULL)
        return;
    struct objects *objects = read->objects;
    if (read->next < read->count)
        TAILQ_REMOVE(&objects->reads, read, link);
    for (size_t i = 0; read->under_way > 0 && i < OBJECTS_AT_ONCE; i++) {
        if (objects->slots[i].read == read)
            free_slot(&objects->slots[i]);
    }
    for (size_t i = 0; i < read->count; i++)
        free(read->parts[i].bytes);
    free(read->parts);
    free(read->requests);
    weir_arena_free(read->arena);
    free(read);
    send_next(objects); /* others wait for its slots */
}

/* ---- life ---- */

struct objects_tally preprocess_objects_tally(const struct objects *objects)
{
    return objects != NULL ? objects->tally : (struct objects_tally){0};
}

static void open_connections(struct objects *objects)
{
    objects->transfers = weir_transfers_new(objects->loop, OBJECTS_AT_ONCE);
    for (size_t i = 0; i < OBJECTS_AT_ONCE; i++) {
        struct slot *slot = &objects->slots[i];
        *slot = (struct slot){.objects = objects};
        slot->transfer = (struct weir_transfer){.over = on_over, .owner = slot};
    }
}

static void close_connections(struct objects *objects)
{
    for (size_t i = 0; i < OBJECTS_AT_ONCE; i++)
        if (objects->slots[i].transfer.easy != NULL)
            curl_easy_cleanup(objects->slots[i].transfer.easy);
    weir_transfers_free(objects->transfers);
}

struct objects *preprocess_objects_new(struct weir_loop *loop)
{
    struct objects *objects = weir_calloc(1, sizeof(*objects));
    objects->loop = loop;
    TAILQ_INIT(&objects->reads);
    open_connections(objects);
    return objects;
}

void preprocess_objects_wipe(struct objects *objects)
{
    if (objects == NULL)
        return;
    close_connections(objects);
    open_connections(objects);
}

void preprocess_objects_free(struct objects *objects)
{
    if (objects == NULL)
        return;
    close_connections(objects);
    for (size_t i = 0; i < AUTHORITIES_MAX; i++) {
        free(objects->authorities[i].hash);
        weir_buf_fini(&objects->authorities[i].pem);
    }
    free(objects);
}
