/* Sending, and sending again: see s3_call.h. */
#include "storage/objects/s3_call.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/http/libcurl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CONNECT_MS = 5000, STILL_S = 20, SUCCESS = 200, REDIRECTION = 300, NS_PER_US = 1000 };

static const int64_t DATE_MAX_S = 253402300799; /* of the years that have four digits */

struct s3_call {
    struct s3_transport *transport;
    struct weir_transfer transfer; /* easy NULL: none is under way */
    struct curl_slist *headers;
    struct s3_sending sending;
    struct s3_upload upload; /* a copy of sending.upload, if there is one */
    uint64_t sent;
    int64_t sent_us; /* monotonic, of this try */
    struct weir_buf body;
    bool is_over; /* the answer has more than bytes_max */
    int tried;
    uint64_t timer;               /* of the pause */
    struct identity_wait waiting; /* for keys */
    s3_done_fn *done;
    void *owner;
};

/* ---- bodies ---- */

/* As much as is announced, and may come: growing would copy and wipe what has come again and again. */
static void make_room(struct s3_call *call)
{
    curl_off_t announced = 0;

    if (call->body.size == 0 &&
        curl_easy_getinfo(call->transfer.easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced) ==
            CURLE_OK &&
        announced > 0 && (uint64_t)announced <= call->sending.bytes_max)
        weir_buf_reserve(&call->body, (size_t)announced);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *owner)
{
    struct s3_call *call = owner;

    make_room(call);
    call->is_over = size * count > call->sending.bytes_max - call->body.size;
    if (call->is_over)
        return 0;
    weir_buf_append(&call->body, bytes, size * count);
    return size * count;
}

/* A file that has become shorter ends the request. */
static size_t give_body(char *bytes, size_t size, size_t count, void *owner)
{
    struct s3_call *call = owner;
    uint64_t left = call->upload.size - call->sent;
    size_t room = size * count < left ? size * count : (size_t)left;
    ssize_t got = pread(call->upload.fd, bytes, room, (off_t)call->sent);

    if (got < 0 || (got == 0 && room > 0))
        return CURL_READFUNC_ABORT;
    call->sent += (uint64_t)got;
    return (size_t)got;
}

/* A connection that was closed meanwhile is opened again, and the body begins again. */
static int rewind_body(void *owner, curl_off_t offset, int origin)
{
    struct s3_call *call = owner;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > call->upload.size)
        return CURL_SEEKFUNC_CANTSEEK;
    call->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- the answer ---- */

/* In `arena`: the answer outlives the request. */
static const char *header_of(struct s3_call *call, const char *name, struct weir_arena *arena)
{
    struct curl_header *header;
    bool is_there =
        curl_easy_header(call->transfer.easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;

    return is_there ? weir_arena_format(arena, "%s", header->value) : "";
}

/* True for headers that tell how an object is to be shown and kept, and those its owner wrote on it. */
static bool is_kept(const char *name)
{
    static const char *const NAMES[] = {
        "cache-control",       "content-disposition",
        "content-encoding",    "content-language",
        "content-type",        "expires",
        "x-amz-storage-class", "x-amz-website-redirect-location",
    };
    bool is_one = strncasecmp(name, "x-amz-meta-", 11) == 0;

    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++)
        is_one = is_one || strcasecmp(name, NAMES[i]) == 0;
    return is_one;
}

static void lower(char *name)
{
    for (; *name != ':'; name++)
        *name = (char)tolower((unsigned char)*name);
}

static void keep_headers(struct s3_call *call, struct weir_arena *arena, struct s3_answer *answer)
{
    const char **kept = weir_arena_alloc(arena, (S3_KEPT_MAX + 1) * sizeof(*kept));
    struct curl_header *header = NULL;
    size_t count = 0, bytes = 0;

    while ((header = curl_easy_nextheader(call->transfer.easy, CURLH_HEADER, -1, header)) != NULL) {
        char *text;

        if (!is_kept(header->name))
            continue;
        text = weir_arena_format(arena, "%s: %s", header->name, header->value);
        lower(text);
        bytes += strlen(text);
        answer->is_cut = answer->is_cut || count == S3_KEPT_MAX || bytes > S3_KEPT_BYTES_MAX;
        if (!answer->is_cut)
            kept[count++] = text;
    }
    answer->kept = kept;
}

/* ---- one try ---- */

static void forget(struct s3_call *call)
{
    if (call->transfer.easy != NULL) {
        weir_transfers_remove(storage_s3_transport_transfers(call->transport), &call->transfer);
        curl_easy_cleanup(call->transfer.easy);
    }
    curl_slist_free_all(call->headers);
    call->transfer.easy = NULL;
    call->headers = NULL;
}

static void set_upload(struct s3_call *call)
{
    CURL *easy = call->transfer.easy;

    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)call->upload.size);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, call);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
}

static void set_options(struct s3_call *call)
{
    CURL *easy = call->transfer.easy;

    curl_easy_setopt(easy, CURLOPT_URL, call->sending.request.url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->sending.method);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* it is signed as it is */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (strncmp(call->sending.request.url, "http:", 5) == 0)
        curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* it is of this host */
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STILL_S);
    if (call->sending.request.signer != NULL && call->sending.request.signer->ca != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, call->sending.request.signer->ca);
    if (call->sending.upload != NULL)
        set_upload(call);
}

static void leave(struct s3_call *call)
{
    call->transfer.easy = curl_easy_init();
    weir_require(call->transfer.easy != NULL);
    for (char *const *header = call->sending.request.headers; *header != NULL; header++)
        call->headers = curl_slist_append(call->headers, *header);
    call->is_over = false;
    call->sent = 0;
    weir_buf_clear(&call->body);
    call->sent_us = weir_now_ns() / NS_PER_US;
    set_options(call);
    weir_transfers_add(storage_s3_transport_transfers(call->transport), &call->transfer);
}

/* ---- keys ---- */

static struct identity *identity_of(const struct s3_call *call)
{
    return storage_s3_transport_identity(call->transport, call->sending.request.signer);
}

static void leave_with(struct s3_call *call, const struct s3_credentials *keys)
{
    storage_s3_request_sign(&call->sending.request, keys, weir_now_wall_us());
    leave(call);
}

static void end_try(struct s3_call *call, const struct s3_answer *answer,
                    const struct weir_error *err);

static void on_keys(void *owner, const struct s3_credentials *keys, const struct weir_error *err)
{
    struct s3_call *call = owner;

    if (keys != NULL)
        leave_with(call, keys);
    else if (err->status == WEIR_UNAVAILABLE)
        end_try(call, NULL, err);
    else
        call->done(call->owner, NULL, err);
}

/* Each try is signed again: keys and clocks have moved on meanwhile. */
static void begin_try(void *owner)
{
    struct s3_call *call = owner;
    const struct s3_signer *signer = call->sending.request.signer;
    const struct s3_credentials *keys;

    call->timer = 0;
    if (signer == NULL) {
        leave(call);
        return;
    }
    keys = storage_s3_transport_keys(call->transport, signer);
    if (keys != NULL)
        leave_with(call, keys);
    else
        storage_identity_await(identity_of(call), &call->waiting);
}

/* Returns the second that the store dates its answer with; -1: it says none. */
static int64_t date_of(const struct s3_answer *answer)
{
    int64_t date_s = (int64_t)curl_getdate(answer->date, NULL);

    return date_s >= 0 && date_s <= DATE_MAX_S ? date_s : -1;
}

/* True when the same request may do better by what the store says of it. */
static bool heed(struct s3_call *call, const struct s3_answer *answer)
{
    struct s3_signer *signer = call->sending.request.signer;
    enum s3_verdict verdict = storage_s3_answer_judge(answer);
    int64_t now_s = date_of(answer);

    if (verdict == S3_FINAL || verdict == S3_PASSING || signer == NULL)
        return verdict == S3_PASSING;
    if (verdict == S3_KEYS_OVER && signer->is_found)
        storage_identity_refuse(identity_of(call), call->sending.request.key_id);
    if (verdict == S3_CLOCK_OFF && now_s != -1)
        signer->ahead_us = now_s * 1000000 - weir_now_wall_us();
    return verdict == S3_KEYS_OVER ? signer->is_found : now_s != -1;
}

/* ---- tries ---- */

/* Anything up to a bound that doubles, so that those who failed together do not come back together (M. Brooker,
 * "Exponential Backoff and Jitter", AWS Architecture Blog, 2015). */
static int64_t pause_ms(int tried)
{
    return (int64_t)(weir_random_u64() % (uint64_t)(S3_PAUSE_MS << tried));
}

/* After the last try, this is what came of it. */
static void end_try(struct s3_call *call, const struct s3_answer *answer,
                    const struct weir_error *err)
{
    bool is_final = answer != NULL && !heed(call, answer);

    if (!is_final && ++call->tried < call->sending.tries)
        call->timer = weir_loop_timer(storage_s3_transport_loop(call->transport),
                                      pause_ms(call->tried), 0, begin_try, call);
    else
        call->done(call->owner, answer, err);
}

static void end_unanswered(struct s3_call *call, int result)
{
    struct weir_error err;

    if (call->is_over)
        weir_fail(&err, WEIR_LIMIT, "the answer has more than %zu bytes", call->sending.bytes_max);
    else
        weir_fail(&err, WEIR_UNAVAILABLE, "%s", curl_easy_strerror((CURLcode)result));
    end_try(call, NULL, &err);
}

/* Only what the store itself has done is dated by its clock. */
static void hear_clock(struct s3_call *call, const struct s3_answer *answer)
{
    struct s3_signer *signer = call->sending.request.signer;
    bool is_done = answer->code >= SUCCESS && answer->code < REDIRECTION;
    int64_t date_s = is_done && signer != NULL ? date_of(answer) : -1;

    if (date_s != -1)
        storage_s3_clock_hear(&signer->clock, date_s, call->sent_us, weir_now_ns() / NS_PER_US);
}

static void on_over(void *owner, int result)
{
    struct s3_call *call = owner;
    struct s3_answer answer = {.code = 0};
    WEIR_AUTO_BUF body = call->body;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();

    curl_easy_getinfo(call->transfer.easy, CURLINFO_RESPONSE_CODE, &answer.code);
    answer.etag = header_of(call, "ETag", arena);
    answer.range = header_of(call, "Content-Range", arena);
    answer.date = header_of(call, "Date", arena);
    keep_headers(call, arena, &answer);
    answer.body = weir_buf_view(&body);
    call->body = (struct weir_buf){0};
    hear_clock(call, &answer);
    forget(call); /* the owner may send again at once */
    if (result == CURLE_OK)
        end_try(call, &answer, NULL);
    else
        end_unanswered(call, result);
}

void storage_s3_call_again(struct s3_call *call, const char *why)
{
    struct weir_error err;

    weir_fail(&err, WEIR_UNAVAILABLE, "%s", why);
    end_try(call, NULL, &err);
}

void storage_s3_call_send(struct s3_call *call, const struct s3_sending *sending, s3_done_fn *done,
                          void *owner)
{
    weir_require(call->transfer.easy == NULL && call->timer == 0 && !call->waiting.is_waiting);
    storage_s3_signed_request_fini(&call->sending.request);
    call->sending = *sending;
    if (sending->upload != NULL)
        call->upload = *sending->upload;
    call->tried = 0;
    call->done = done;
    call->owner = owner;
    begin_try(call);
}

/* ---- life ---- */

struct s3_call *storage_s3_call_new(struct s3_transport *transport)
{
    struct s3_call *call = weir_calloc(1, sizeof(*call));

    call->transport = transport;
    call->transfer = (struct weir_transfer){.over = on_over, .owner = call};
    call->waiting = (struct identity_wait){.fn = on_keys, .owner = call};
    return call;
}

void storage_s3_call_drop(struct s3_call *call)
{
    weir_loop_cancel(storage_s3_transport_loop(call->transport), call->timer);
    call->timer = 0;
    storage_identity_forget(&call->waiting);
    forget(call);
}

void storage_s3_call_free(struct s3_call *call)
{
    if (call == NULL)
        return;
    storage_s3_call_drop(call);
    storage_s3_signed_request_fini(&call->sending.request);
    weir_buf_fini(&call->body);
    free(call);
}
