/* libcurl in the loop: see s3_http.h. */
#include "storage/objects/s3_http.h"

#include "core/base/memory.h"

#include <ctype.h>
#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CONNECT_MS = 5000, STILL_S = 20, SOCKETS_MAX = 8 };

struct watched {
    struct s3_http *http;
    curl_socket_t fd; /* -1: free */
};

struct s3_http {
    struct weir_loop *loop;
    CURLM *multi;
    CURL *easy; /* NULL: nothing is under way */
    struct curl_slist *headers;
    uint64_t timer;
    struct watched watched[SOCKETS_MAX];
    struct s3_upload upload;
    uint64_t sent;
    struct weir_buf body;
    size_t bytes_max;
    bool is_over;
    s3_done_fn *done;
    void *owner;
};

/* ---- the loop ---- */

static void act(struct s3_http *http, curl_socket_t fd);

static void on_socket(void *owner)
{
    const struct watched *watched = owner;

    act(watched->http, watched->fd);
}

static void on_timer(void *owner)
{
    struct s3_http *http = owner;

    http->timer = 0;
    act(http, CURL_SOCKET_TIMEOUT);
}

static int set_timer(CURLM *multi, long timeout_ms, void *owner)
{
    struct s3_http *http = owner;

    (void)multi;
    weir_loop_cancel(http->loop, http->timer);
    http->timer = timeout_ms < 0 ? 0 : weir_loop_timer(http->loop, timeout_ms, 0, on_timer, http);
    return 0;
}

static void unwatch(struct s3_http *http, curl_socket_t fd)
{
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (http->watched[i].fd != fd)
            continue;
        weir_loop_unwatch_fd(http->loop, fd);
        http->watched[i].fd = -1;
    }
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *owner, void *unused)
{
    struct s3_http *http = owner;
    short events =
        (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));

    (void)easy;
    (void)unused;
    unwatch(http, fd);
    for (size_t i = 0; what != CURL_POLL_REMOVE && i < SOCKETS_MAX; i++) {
        if (http->watched[i].fd >= 0)
            continue;
        http->watched[i].fd = fd;
        weir_loop_watch_fd(http->loop, fd, events, on_socket, &http->watched[i]);
        return 0;
    }
    return what == CURL_POLL_REMOVE ? 0 : -1;
}

/* ---- one request ---- */

static size_t take_body(char *bytes, size_t size, size_t count, void *owner)
{
    struct s3_http *http = owner;

    http->is_over = size * count > http->bytes_max - http->body.size;
    if (http->is_over)
        return 0;
    weir_buf_append(&http->body, bytes, size * count);
    return size * count;
}

/* A file that has become shorter ends the request. */
static size_t give_body(char *bytes, size_t size, size_t count, void *owner)
{
    struct s3_http *http = owner;
    uint64_t left = http->upload.size - http->sent;
    size_t room = size * count < left ? size * count : (size_t)left;
    ssize_t got = pread(http->upload.fd, bytes, room, (off_t)http->sent);

    if (got < 0 || (got == 0 && room > 0))
        return CURL_READFUNC_ABORT;
    http->sent += (uint64_t)got;
    return (size_t)got;
}

/* A connection that was closed meanwhile is opened anew, and the body begins again. */
static int rewind_body(void *owner, curl_off_t offset, int origin)
{
    struct s3_http *http = owner;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > http->upload.size)
        return CURL_SEEKFUNC_CANTSEEK;
    http->sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void forget(struct s3_http *http)
{
    if (http->easy) {
        curl_multi_remove_handle(http->multi, http->easy);
        curl_easy_cleanup(http->easy);
    }
    curl_slist_free_all(http->headers);
    http->easy = NULL;
    http->headers = NULL;
}

/* In `arena`: the answer outlives the request. */
static const char *header_of(struct s3_http *http, const char *name, struct weir_arena *arena)
{
    struct curl_header *header;
    bool is_there = curl_easy_header(http->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;

    return is_there ? weir_arena_format(arena, "%s", header->value) : "";
}

/* What tells how an object is to be shown and kept, and what its owner wrote on it. */
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

static void keep_headers(struct s3_http *http, struct weir_arena *arena, struct s3_answer *answer)
{
    const char **kept = weir_arena_alloc(arena, (S3_KEPT_MAX + 1) * sizeof *kept);
    struct curl_header *header = NULL;
    size_t count = 0, bytes = 0;

    while ((header = curl_easy_nextheader(http->easy, CURLH_HEADER, -1, header)) != NULL) {
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

static void finish(struct s3_http *http, CURLcode result)
{
    struct s3_answer answer = {.code = 0};
    struct weir_buf body = http->body;
    s3_done_fn *done = http->done;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct weir_error err;

    curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer.code);
    answer.etag = header_of(http, "ETag", arena);
    answer.range = header_of(http, "Content-Range", arena);
    keep_headers(http, arena, &answer);
    http->body = (struct weir_buf){0};
    forget(http); /* the owner may ask anew at once */
    answer.body = weir_buf_view(&body);
    if (result == CURLE_OK) {
        done(http->owner, &answer, NULL);
    } else {
        if (http->is_over)
            weir_fail(&err, WEIR_LIMIT, "the answer has more than %zu bytes", http->bytes_max);
        else
            weir_fail(&err, WEIR_UNAVAILABLE, "%s", curl_easy_strerror(result));
        done(http->owner, NULL, &err);
    }
    weir_buf_fini(&body);
}

static void act(struct s3_http *http, curl_socket_t fd)
{
    const CURLMsg *message;
    int running, left;

    curl_multi_socket_action(http->multi, fd, 0, &running);
    message = curl_multi_info_read(http->multi, &left);
    if (message && message->msg == CURLMSG_DONE)
        finish(http, message->data.result);
}

static void set_upload(struct s3_http *http)
{
    CURL *easy = http->easy;

    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)http->upload.size);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, http);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, http);
}

static void set_options(struct s3_http *http, const struct s3_call *call)
{
    CURL *easy = http->easy;

    curl_easy_setopt(easy, CURLOPT_URL, call->url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* it is signed as it is */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)STILL_S);
    if (call->upload)
        set_upload(http);
}

void s3_http_ask(struct s3_http *http, const struct s3_call *call, s3_done_fn *done, void *owner)
{
    weir_require(!http->easy);
    http->easy = curl_easy_init();
    weir_require(http->easy);
    for (const char *const *header = call->headers; *header; header++)
        http->headers = curl_slist_append(http->headers, *header);
    http->done = done;
    http->owner = owner;
    http->bytes_max = call->bytes_max;
    http->is_over = false;
    http->sent = 0;
    http->upload = call->upload ? *call->upload : (struct s3_upload){.fd = -1};
    weir_buf_clear(&http->body);
    set_options(http, call);
    curl_multi_add_handle(http->multi, http->easy);
}

/* ---- life ---- */

struct s3_http *s3_http_new(struct weir_loop *loop)
{
    struct s3_http *http = weir_calloc(1, sizeof *http);

    http->loop = loop;
    for (size_t i = 0; i < SOCKETS_MAX; i++)
        http->watched[i] = (struct watched){.http = http, .fd = -1};
    http->multi = curl_multi_init();
    weir_require(http->multi);
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
    return http;
}

void s3_http_drop(struct s3_http *http)
{
    forget(http);
}

void s3_http_free(struct s3_http *http)
{
    if (!http)
        return;
    forget(http);
    curl_multi_cleanup(http->multi);
    weir_loop_cancel(http->loop, http->timer);
    for (size_t i = 0; i < SOCKETS_MAX; i++) {
        if (http->watched[i].fd >= 0)
            weir_loop_unwatch_fd(http->loop, http->watched[i].fd);
    }
    weir_buf_fini(&http->body);
    free(http);
}
