/* Pages over HTTP, in the loop and on its thread: libmicrohttpd, driven by its epoll descriptor. Pages are only read:
 * GET and HEAD. Clients may be anything: there are HTTP_CLIENTS_MAX connections at once, each is given HTTP_BYTES_MAX
 * of memory, one answer and HTTP_CONNECTION_MS, however it spends them; others wait in the kernel's queue. */
#ifndef ORCHESTRATOR_MONITORING_HTTP_H
#define ORCHESTRATOR_MONITORING_HTTP_H

#include "core/base/bytes.h"
#include "core/loop/loop.h"
#include "orchestrator/values/loopback_address.h"

enum {
    HTTP_CLIENTS_MAX = 64,
    HTTP_QUEUE_MAX = 128, /* connections that wait to be taken up */
    HTTP_BYTES_MAX = 16384,
    HTTP_CONNECTION_MS = 10000,
};

enum { HTTP_OK = 200, HTTP_NOT_FOUND = 404, HTTP_UNAVAILABLE = 503 };

struct monitoring_http;
struct http_request;

/* A page, shared by all who are sent it. */
struct http_page;
/* `type` is fixed text; `text` is copied. */
struct http_page *orchestrator_http_page_new(unsigned code, const char *type,
                                             struct weir_bytes text);
/* One more holder of it. */
struct http_page *orchestrator_http_page_hold(struct http_page *page);
/* One holder less; it is gone with the last one, and with the last client that is being sent it. NULL is fine. */
void orchestrator_http_page_free(struct http_page *page);

/* Asked for a page; answers now or later, once. A request stays until it is answered, even if its client has left.
 * `path` is without the query, for the duration of the call. */
typedef void http_get_fn(void *owner, struct http_request *request, const char *path);

/* IO: the address is taken, or not to be had. */
enum weir_status orchestrator_http_open(struct weir_loop *loop,
                                        const struct loopback_address *address, http_get_fn *get,
                                        void *owner, struct monitoring_http **ret_http,
                                        struct weir_error *err) WEIR_MUST_USE;
/* Requests without an answer are dropped: nobody may answer them any longer. */
void orchestrator_http_close(struct monitoring_http *http);
/* As really bound, with the port that the system chose. */
const char *orchestrator_http_address(const struct monitoring_http *http);

/* Consumes the request, and a hold of the page. */
void orchestrator_http_answer(struct http_request *request, struct http_page *page);

#endif
