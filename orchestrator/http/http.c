/* libmicrohttpd in our loop. It tells of a request until there is an answer: a connection whose answer comes later is
 * suspended meanwhile, and so is a stream that has nothing to say. Its own time limits are for silence alone, so that
 * a client that sends a byte now and then would stay for ever: a timer of ours shuts down what is too old, and the
 * library cleans up. It reads a certificate when it is started, and so it is started again for another one: it takes up
 * the connections from then on, and the one before it stays for those that it has (struct listener). */
#include "orchestrator/http/http.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/require.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SILENCE_S = 5, LOOK_MS = 500, STREAM_BLOCK = 16384, RETIRED_MAX = 3 };

struct http_page {
    struct MHD_Response *response;
    unsigned code;
    size_t holders;
};

/* The library, started once. */
struct listener {
    struct http *http;
    TAILQ_ENTRY(listener) link;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    size_t clients;
    uint64_t run_timer; /* 0: none */
    bool has_room;      /* a client has left since it was last run */
    bool is_retired;    /* accepts no further connections */
};

struct http_request {
    struct listener *listener;
    struct MHD_Connection *connection;
    LIST_ENTRY(http_request) link;
    struct http_page *page;    /* NULL: there is no answer yet, or it is a stream */
    struct http_stream stream; /* read NULL: there is none */
    bool is_suspended;
    bool is_over; /* the client of a stream has hung up, or is to be sent no more */
};

struct http_client {
    struct listener *listener;
    LIST_ENTRY(http_client) link;
    int fd;
    int64_t until_ms; /* INT64_MAX: it has taken all that its stream has for it */
};

struct http {
    struct weir_loop *loop;
    int fd; /* the listening socket */
    const char *what;
    bool is_v6;
    TAILQ_HEAD(listeners, listener)
    listeners; /* the last one takes up connections, the others are retired */
    char address[LOOPBACK_ADDRESS_TEXT_MAX];
    http_get_fn *get;
    void *owner;
    struct http_page *wrong_method;
    LIST_HEAD(, http_request) requests;
    LIST_HEAD(, http_client) clients;
    uint64_t look_timer; /* 0: none */
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
static void schedule(struct listener *listener)
{
    struct weir_loop *loop = listener->http->loop;
    MHD_UNSIGNED_LONG_LONG wait_ms = LOOK_MS;
    bool is_awaited = MHD_get_timeout(listener->daemon, &wait_ms) == MHD_YES;
    if (listener->has_room)
        wait_ms = 0;
    weir_loop_cancel(loop, listener->run_timer);
    listener->run_timer = 0;
    if (is_awaited || listener->has_room)
        listener->run_timer =
            weir_loop_timer(loop, wait_ms < LOOK_MS ? (int64_t)wait_ms : LOOK_MS, 0, run, listener);
}

/* Ends its connections, if it has any. */
static void free_listener(struct listener *listener)
{
    struct http *http = listener->http;
    struct http_request *request;
    TAILQ_REMOVE(&http->listeners, listener, link);
    weir_loop_unwatch_fd(http->loop, listener->epoll_fd);
    weir_loop_cancel(http->loop, listener->run_timer);
    LIST_FOREACH (request, &http->requests, link) /* none may be suspended when it stops */
        if (request->listener == listener && request->is_suspended)
            MHD_resume_connection(request->connection);
    MHD_stop_daemon(listener->daemon);
    free(listener);
}

static void run(void *owner)
{
    struct listener *listener = owner;
    listener->has_room = false;
    (void)MHD_run(listener->daemon);
    if (listener->is_retired && listener->clients == 0)
        free_listener(listener);
    else
        schedule(listener);
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

static void on_left(struct http_client *client)
{
    if (client == NULL)
        return;
    LIST_REMOVE(client, link);
    client->listener->clients--;
    free(client);
}

static void on_connection(void *owner, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct listener *listener = owner;
    struct http *http = listener->http;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        on_left(*context);
        *context = NULL;
        listener->has_room = true;
        return;
    }
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (about == NULL)
        return;
    struct http_client *client = weir_calloc(1, sizeof(*client));
    client->listener = listener;
    client->fd = about->connect_fd;
    client->until_ms = weir_loop_now_ms(http->loop) + HTTP_CONNECTION_MS;
    LIST_INSERT_HEAD(&http->clients, client, link);
    listener->clients++;
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
    struct listener *listener = owner;
    struct http *http = listener->http;
    struct http_request *request = *context;
    (void)version, (void)data, (void)data_size;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return send_page(connection, http->wrong_method);
    if (request == NULL) {
        request = weir_calloc(1, sizeof(*request));
        request->listener = listener;
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
    struct listener *listener = request->listener;
    struct weir_loop *loop = listener->http->loop;
    if (!request->is_suspended)
        return;
    request->is_suspended = false;
    MHD_resume_connection(request->connection);
    weir_loop_cancel(loop, listener->run_timer);
    listener->run_timer = weir_loop_timer(loop, 0, 0, run, listener);
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
        set_deadline(request, weir_loop_now_ms(request->listener->http->loop) + HTTP_CONNECTION_MS);
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

const char *orchestrator_http_argument(const struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
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

/* `fd` is the library's from then on; where it could not be started, see close_left(). */
static struct MHD_Daemon *start_daemon(struct listener *listener, const struct http_tls *tls,
                                       int fd)
{
    bool is_secure = tls != NULL;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
                     (listener->http->is_v6 ? MHD_USE_IPv6 : 0U) | (is_secure ? MHD_USE_TLS : 0U);
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, is_secure ? text_for(tls->certificate) : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, is_secure ? text_for(tls->key) : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, text_for("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2")},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, listener, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HTTP_BYTES_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, listener, MHD_OPTION_ARRAY, is_secure ? secure : none, MHD_OPTION_END);
}

/* Closes a copy of the socket that the library was given and did not start with, unless it has done so: it does where
 * it cannot use the certificate, not where it has no descriptors (0.9.75). Then the number may be another file's. */
static void close_left(const struct http *http, int copy)
{
    struct stat ours, left;
    if (fstat(http->fd, &ours) == 0 && fstat(copy, &left) == 0 && ours.st_dev == left.st_dev &&
        ours.st_ino == left.st_ino)
        (void)close(copy);
}

/* One more listener, the last one. */
static enum weir_status add_listener(struct http *http, const struct http_tls *tls,
                                     struct weir_error *err)
{
    WEIR_AUTO_FREE struct listener *listener = weir_calloc(1, sizeof(*listener));
    int fd = fcntl(http->fd, F_DUPFD_CLOEXEC, 0); /* each closes its own */
    listener->http = http;
    listener->daemon = fd >= 0 ? start_daemon(listener, tls, fd) : NULL;
    if (listener->daemon == NULL && fd >= 0)
        close_left(http, fd);
    if (listener->daemon == NULL)
        return weir_fail(err, tls != NULL ? WEIR_INVALID : WEIR_LIMIT,
                         "%s: libmicrohttpd cannot be started at %s%s", http->what, http->address,
                         tls != NULL ? ": expected a certificate and its key, in PEM" : "");
    const union MHD_DaemonInfo *about =
        MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    weir_require(about != NULL);
    listener->epoll_fd = about->epoll_fd;
    weir_loop_watch_fd(http->loop, listener->epoll_fd, POLLIN, run, listener);
    TAILQ_INSERT_TAIL(&http->listeners, listener, link);
    listener = NULL; /* the server's */
    return WEIR_OK;
}

enum weir_status orchestrator_http_open(struct weir_loop *loop, const struct http_options *options,
                                        struct http **ret_http, struct weir_error *err)
{
    static const char WRONG_METHOD[] = "this page is only read: expected GET or HEAD\n";
    WEIR_AUTO_FREE struct http *http = weir_calloc(1, sizeof(*http));
    WEIR_AUTO_FD int fd = -1;
    http->loop = loop;
    http->what = options->what;
    http->is_v6 = options->address->at.ss_family == AF_INET6;
    http->get = options->get;
    http->owner = options->owner;
    TAILQ_INIT(&http->listeners);
    enum weir_status status = bind_socket(options, &fd, http->address, err);
    http->fd = fd;
    if (status == WEIR_OK)
        status = add_listener(http, options->tls, err);
    if (status != WEIR_OK)
        return status;
    fd = -1; /* its own */
    http->wrong_method = orchestrator_http_page_new(
        MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", weir_bytes_of(WRONG_METHOD));
    add_header(http->wrong_method->response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    *ret_http = WEIR_TAKE(http);
    return WEIR_OK;
}

/* Those that have clients stay, but no more than a few: streams may last, and begin again where they have ended. */
static void retire(struct listener *listener)
{
    struct http *http = listener->http;
    struct listener *each;
    size_t count = 0;
    int fd = MHD_quiesce_daemon(listener->daemon);
    if (fd >= 0)
        (void)close(fd);
    listener->is_retired = true;
    TAILQ_FOREACH (each, &http->listeners, link)
        count += each->is_retired;
    if (listener->clients == 0)
        free_listener(listener);
    else if (count > RETIRED_MAX)
        free_listener(TAILQ_FIRST(&http->listeners));
}

enum weir_status orchestrator_http_renew(struct http *http, const struct http_tls *tls,
                                         struct weir_error *err)
{
    struct listener *before = TAILQ_LAST(&http->listeners, listeners);
    enum weir_status status = add_listener(http, tls, err);
    if (status == WEIR_OK)
        retire(before);
    return status;
}

void orchestrator_http_close(struct http *http)
{
    if (http == NULL)
        return;
    while (!TAILQ_EMPTY(&http->listeners))
        free_listener(TAILQ_FIRST(&http->listeners));
    weir_loop_cancel(http->loop, http->look_timer);
    orchestrator_http_page_free(http->wrong_method);
    (void)close(http->fd);
    free(http);
}

const char *orchestrator_http_address(const struct http *http)
{
    return http->address;
}
