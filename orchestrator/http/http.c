/* libmicrohttpd in our loop. It tells of a request until there is an answer: a connection whose answer comes later is
 * suspended meanwhile, and so is a stream that has nothing to say. Its own time limits are for silence alone, so that
 * a client that sends a byte now and then would stay for ever: a timer of ours shuts down what is too old, and the
 * library cleans up. */
#include "orchestrator/http/http.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/require.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

enum { SILENCE_S = 5, LOOK_MS = 500, STREAM_BLOCK = 16384 };

struct http_page {
    struct MHD_Response *response;
    unsigned code;
    size_t holders;
};

struct http_request {
    struct http *http;
    struct MHD_Connection *connection;
    LIST_ENTRY(http_request) link;
    struct http_page *page;    /* NULL: there is no answer yet, or it is a stream */
    struct http_stream stream; /* read NULL: there is none */
    bool is_suspended;
    bool is_over; /* the client of a stream has hung up, or is to be sent no more */
};

struct http_client {
    LIST_ENTRY(http_client) link;
    int fd;
    int64_t until_ms; /* INT64_MAX: it has taken all that its stream has for it */
};

struct http {
    struct weir_loop *loop;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    char address[LOOPBACK_ADDRESS_TEXT_MAX];
    http_get_fn *get;
    void *owner;
    struct http_page *wrong_method;
    LIST_HEAD(, http_request) requests;
    LIST_HEAD(, http_client) clients;
    uint64_t run_timer, look_timer; /* 0: none */
    bool has_room;                  /* a client has left since the library was last run */
};

/* ---- pages ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    weir_require(MHD_add_response_header(response, name, value) == MHD_YES);
}

/* Headers of all answers: nothing is kept by anyone, and a browser takes nothing for what it is not. */
static void add_headers(struct MHD_Response *response, const char *type)
{
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
}

struct http_page *orchestrator_http_page_new(unsigned code, const char *type,
                                             struct weir_bytes text)
{
    struct http_page *page = weir_calloc(1, sizeof(*page));
    page->code = code;
    page->holders = 1;
    /* It copies: the cast takes nothing away. */
    page->response = MHD_create_response_from_buffer(text.size, (void *)(uintptr_t)text.at,
                                                     MHD_RESPMEM_MUST_COPY);
    weir_require(page->response != NULL);
    add_headers(page->response, type);
    return page;
}

void orchestrator_http_page_add(struct http_page *page, const char *name, const char *value)
{
    add_header(page->response, name, value);
}

struct http_page *orchestrator_http_page_hold(struct http_page *page)
{
    page->holders++;
    return page;
}

void orchestrator_http_page_free(struct http_page *page)
{
    if (page == NULL || --page->holders > 0)
        return;
    MHD_destroy_response(page->response);
    free(page);
}

/* ---- the loop ---- */

static void run(void *owner);

/* The library says when it wants to look at its connections again, whatever happens. What it does not say: with as many
 * clients as it may have it does not listen, and does so again not when one leaves, but when it is run after that. */
static void schedule(struct http *http)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = LOOK_MS;
    bool is_awaited = MHD_get_timeout(http->daemon, &wait_ms) == MHD_YES;
    if (http->has_room)
        wait_ms = 0;
    weir_loop_cancel(http->loop, http->run_timer);
    http->run_timer = 0;
    if (is_awaited || http->has_room)
        http->run_timer = weir_loop_timer(
            http->loop, wait_ms < LOOK_MS ? (int64_t)wait_ms : LOOK_MS, 0, run, http);
}

static void run(void *owner)
{
    struct http *http = owner;
    http->has_room = false;
    (void)MHD_run(http->daemon);
    schedule(http);
}

static void end_left_streams(struct http *http);

static void look(void *owner)
{
    struct http *http = owner;
    struct http_client *client;
    end_left_streams(http);
    int64_t now_ms = weir_loop_now_ms(http->loop);
    bool is_any = false;
    LIST_FOREACH (client, &http->clients, link) {
        if (now_ms >= client->until_ms)
            (void)shutdown(client->fd, SHUT_RDWR);
        is_any = true;
    }
    http->look_timer = is_any ? weir_loop_timer(http->loop, LOOK_MS, 0, look, http) : 0;
}

/* ---- what the library tells ---- */

static void on_connection(void *owner, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *http = owner;
    struct http_client *client = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (client != NULL)
            LIST_REMOVE(client, link);
        free(client);
        *context = NULL;
        http->has_room = true;
        return;
    }
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (about == NULL)
        return;
    client = weir_calloc(1, sizeof(*client));
    client->fd = about->connect_fd;
    client->until_ms = weir_loop_now_ms(http->loop) + HTTP_CONNECTION_MS;
    LIST_INSERT_HEAD(&http->clients, client, link);
    *context = client;
    if (http->look_timer == 0)
        http->look_timer = weir_loop_timer(http->loop, LOOK_MS, 0, look, http);
}

static enum MHD_Result send_page(struct MHD_Connection *connection, const struct http_page *page)
{
    return MHD_queue_response(connection, page->code, page->response);
}

/* ---- streams ---- */

static struct http_client *client_of(const struct http_request *request)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return about != NULL ? about->socket_context : NULL;
}

static void set_deadline(const struct http_request *request, int64_t until_ms)
{
    struct http_client *client = client_of(request);
    if (client != NULL)
        client->until_ms = until_ms;
}

static ssize_t read_stream(void *owner, uint64_t position, char *to, size_t room)
{
    struct http_request *request = owner;
    (void)position;
    if (request->is_over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t size = request->stream.read(request->stream.owner, to, room);
    if (size == 0) {
        set_deadline(request, INT64_MAX);
        request->is_suspended = true;
        MHD_suspend_connection(request->connection);
    }
    return (ssize_t)size;
}

static enum MHD_Result send_stream(struct http_request *request)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, request, NULL);
    weir_require(response != NULL);
    add_headers(response, request->stream.type);
    enum MHD_Result result = MHD_queue_response(request->connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response); /* the connection holds it */
    return result;
}

/* ---- requests ---- */

/* NOLINTNEXTLINE(readability-function-size): a callback has the parameters that its library gives it */
static enum MHD_Result on_request(void *owner, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *data_size, void **context)
{
    struct http *http = owner;
    struct http_request *request = *context;
    (void)version, (void)data, (void)data_size;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return send_page(connection, http->wrong_method);
    if (request == NULL) {
        request = weir_calloc(1, sizeof(*request));
        request->http = http;
        request->connection = connection;
        LIST_INSERT_HEAD(&http->requests, request, link);
        *context = request;
        http->get(http->owner, request, path);
    }
    if (request->page != NULL)
        return send_page(connection, request->page);
    if (request->stream.read != NULL)
        return send_stream(request);
    request->is_suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void on_completed(void *owner, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    struct http_request *request = *context;
    (void)owner, (void)connection, (void)code;
    if (request == NULL)
        return;
    LIST_REMOVE(request, link);
    if (request->stream.end != NULL)
        request->stream.end(request->stream.owner);
    orchestrator_http_page_free(request->page);
    free(request);
    *context = NULL;
}

static void resume(struct http_request *request)
{
    struct http *http = request->http;
    if (!request->is_suspended)
        return;
    request->is_suspended = false;
    MHD_resume_connection(request->connection);
    weir_loop_cancel(http->loop, http->run_timer);
    http->run_timer = weir_loop_timer(http->loop, 0, 0, run, http);
}

void orchestrator_http_end(struct http_request *request)
{
    request->is_over = true;
    resume(request);
}

static bool has_hung_up(const struct http_request *request)
{
    const struct http_client *client = client_of(request);
    struct pollfd fd = {.fd = client != NULL ? client->fd : -1, .events = POLLRDHUP};
    return poll(&fd, 1, 0) > 0;
}

/* The library does not look at connections that are suspended. */
static void end_left_streams(struct http *http)
{
    struct http_request *request;
    LIST_FOREACH (request, &http->requests, link) {
        if (request->stream.read != NULL && request->is_suspended && has_hung_up(request))
            orchestrator_http_end(request);
    }
}

void orchestrator_http_answer(struct http_request *request, struct http_page *page)
{
    request->page = page;
    resume(request);
}

void orchestrator_http_answer_stream(struct http_request *request, const struct http_stream *stream)
{
    request->stream = *stream;
    resume(request);
}

void orchestrator_http_wake(struct http_request *request)
{
    if (request->is_suspended)
        set_deadline(request, weir_loop_now_ms(request->http->loop) + HTTP_CONNECTION_MS);
    resume(request);
}

const char *orchestrator_http_header(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *orchestrator_http_cookie(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, name);
}

/* ---- opening and closing ---- */

/* The socket is the caller's to close, whatever became of it; -1: there is none. */
static enum weir_status bind_socket(const struct http_options *options, int *ret_fd,
                                    char text[LOOPBACK_ADDRESS_TEXT_MAX], struct weir_error *err)
{
    const struct loopback_address *address = options->address;
    int yes = 1;
    struct loopback_address bound = {.size = sizeof(bound.at)};
    int fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_fd = fd;
    orchestrator_loopback_address_text(address, text);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(fd, (const struct sockaddr *)&address->at, address->size) != 0 ||
        listen(fd, HTTP_QUEUE_MAX) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound.at, &bound.size) != 0)
        return weir_fail(err, WEIR_IO, "%s: cannot listen at %s: %s; port 0 is any that is free",
                         options->what, text, strerror(errno));
    orchestrator_loopback_address_text(&bound, text);
    return WEIR_OK;
}

/* The library's options are not const; it changes no text. */
static void *text_for(const char *text)
{
    return (void *)(uintptr_t)text;
}

static enum weir_status start_daemon(struct http *http, const struct http_options *options, int fd,
                                     struct weir_error *err)
{
    bool is_v6 = options->address->at.ss_family == AF_INET6, is_secure = options->tls != NULL;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (is_v6 ? MHD_USE_IPv6 : 0U) |
                     (is_secure ? MHD_USE_TLS : 0U);
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, is_secure ? text_for(options->tls->certificate) : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, is_secure ? text_for(options->tls->key) : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, text_for("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2")},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    http->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_BYTES_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_ARRAY, is_secure ? secure : none, MHD_OPTION_END);
    if (http->daemon == NULL)
        return weir_fail(err, is_secure ? WEIR_INVALID : WEIR_LIMIT,
                         "%s: libmicrohttpd cannot be started at %s%s", options->what,
                         http->address,
                         is_secure ? ": expected a certificate and its key, in PEM" : "");
    const union MHD_DaemonInfo *about = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    weir_require(about != NULL);
    http->epoll_fd = about->epoll_fd;
    return WEIR_OK;
}

enum weir_status orchestrator_http_open(struct weir_loop *loop, const struct http_options *options,
                                        struct http **ret_http, struct weir_error *err)
{
    static const char WRONG_METHOD[] = "this page is only read: expected GET or HEAD\n";
    WEIR_AUTO_FREE struct http *http = weir_calloc(1, sizeof(*http));
    WEIR_AUTO_FD int fd = -1;
    http->loop = loop;
    http->get = options->get;
    http->owner = options->owner;
    enum weir_status status = bind_socket(options, &fd, http->address, err);
    if (status == WEIR_OK)
        status = start_daemon(http, options, fd, err);
    if (status != WEIR_OK)
        return status;
    fd = -1; /* the library's */
    http->wrong_method = orchestrator_http_page_new(
        MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", weir_bytes_of(WRONG_METHOD));
    add_header(http->wrong_method->response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    weir_loop_watch_fd(loop, http->epoll_fd, POLLIN, run, http);
    *ret_http = WEIR_TAKE(http);
    return WEIR_OK;
}

void orchestrator_http_close(struct http *http)
{
    if (http == NULL)
        return;
    weir_loop_unwatch_fd(http->loop, http->epoll_fd);
    weir_loop_cancel(http->loop, http->run_timer);
    weir_loop_cancel(http->loop, http->look_timer);
    struct http_request *request;
    LIST_FOREACH (request, &http->requests, link) /* none may be suspended when it stops */
        if (request->is_suspended)
            MHD_resume_connection(request->connection);
    MHD_stop_daemon(http->daemon);
    orchestrator_http_page_free(http->wrong_method);
    free(http);
}

const char *orchestrator_http_address(const struct http *http)
{
    return http->address;
}
