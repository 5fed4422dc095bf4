/* HTTP in the loop and on its thread: libmicrohttpd, driven by its epoll descriptor. Pages and streams are only read:
 * GET and HEAD. Clients may be anything: there are HTTP_CLIENTS_MAX connections at once, each is given HTTP_BYTES_MAX
 * of memory, one answer and HTTP_CONNECTION_MS, however it spends them; others wait in the kernel's queue. A stream
 * may last, but its client must have taken all that there is within HTTP_CONNECTION_MS, again and again. */
#ifndef ORCHESTRATOR_HTTP_HTTP_H
#define ORCHESTRATOR_HTTP_HTTP_H

#include "core/base/bytes.h"
#include "core/loop/loop.h"
#include "orchestrator/values/loopback_address.h"

enum {
    HTTP_CLIENTS_MAX = 64,
    HTTP_QUEUE_MAX = 128, /* connections that wait to be taken up */
    HTTP_BYTES_MAX = 16384,
    HTTP_CONNECTION_MS = 10000,
};

enum {
    HTTP_OK = 200,
    HTTP_UNKNOWN = 401,
    HTTP_DENIED = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_UNAVAILABLE = 503
};

struct http;
struct http_request;

/* A page, shared by all who are sent it. */
struct http_page;
/* `type` is fixed text; `text` is copied. */
struct http_page *orchestrator_http_page_new(unsigned code, const char *type,
                                             struct weir_bytes text);
/* Adds a header, whose texts are copied. */
void orchestrator_http_page_add(struct http_page *page, const char *name, const char *value);
/* One more holder of it. */
struct http_page *orchestrator_http_page_hold(struct http_page *page);
/* One holder less; it is gone with the last one, and with the last client that is being sent it. NULL is fine. */
void orchestrator_http_page_free(struct http_page *page);

/* Asked for a page; answers now or later, once. A request stays until it is answered, even if its client has left.
 * `path` is without the query, for the duration of the call. */
typedef void http_get_fn(void *owner, struct http_request *request, const char *path);

/* Certificate and key of a server, in PEM; borrowed during the call. */
struct http_tls {
    const char *certificate, *key;
};

/* A server of pages. */
struct http_options {
    const char *what; /* it is for, in errors */
    const struct loopback_address *address;
    const struct http_tls *tls; /* NULL: nothing is encrypted */
    http_get_fn *get;
    void *owner;
};

/* IO: the address is taken, or not to be had. */
enum weir_status orchestrator_http_open(struct weir_loop *loop, const struct http_options *options,
                                        struct http **ret_http,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Takes up another certificate, of a server that has one: connections that are made from now on have it, those that
 * there are keep theirs. INVALID: it is none, or the key is not its key; nothing has changed. */
enum weir_status orchestrator_http_renew(struct http *http, const struct http_tls *tls,
                                         struct weir_error *err) WEIR_MUST_USE;
/* Requests without an answer are dropped: nobody may answer them any longer. Streams end. */
void orchestrator_http_close(struct http *http);
/* As really bound, with the port that the system chose. */
const char *orchestrator_http_address(const struct http *http);

/* A header of the request, until it is answered; NULL: it has none of that name. */
const char *orchestrator_http_header(const struct http_request *request, const char *name);
/* The same of a cookie. */
const char *orchestrator_http_cookie(const struct http_request *request, const char *name);
/* The same of an argument behind its path. */
const char *orchestrator_http_argument(const struct http_request *request, const char *name);
/* Consumes the request, and a hold of the page. */
void orchestrator_http_answer(struct http_request *request, struct http_page *page);

/* A text that comes by and by. */
struct http_stream {
    const char *type; /* fixed text */
    /* Copies at most `room` bytes of what comes next. 0: there is nothing yet; it is asked again after
     * orchestrator_http_wake(). */
    size_t (*read)(void *owner, char *to, size_t room);
    /* Its client has left; the request is gone. */
    void (*end)(void *owner);
    void *owner;
};
/* Answers with a stream, which begins at once. The request lasts until stream->end() is called. */
void orchestrator_http_answer_stream(struct http_request *request,
                                     const struct http_stream *stream);
/* Ends a stream: stream->end() is called soon. */
void orchestrator_http_end(struct http_request *request);
/* There may be more to read. */
void orchestrator_http_wake(struct http_request *request);

#endif
