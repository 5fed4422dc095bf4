/* One thread; of each connection two ways, and in each of them pieces that wait until they are due. */
#include "benchmarks/cluster/far_postgres.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 16, PIECE_BYTES = 64 << 10, WAYS = 2 };

struct piece {
    STAILQ_ENTRY(piece) link;
    int64_t due_ns;
    size_t size;
    uint8_t bytes[];
};

struct way {
    int from, to;
    STAILQ_HEAD(, piece) pieces;
};

struct connection {
    bool is_open;
    struct way way[WAYS]; /* there, and back */
};

struct far_postgres {
    int64_t way_ns;
    struct sockaddr_un real, own;
    char *conninfo;
    int listening, ending;
    pthread_t thread;
    struct connection connection[CONNECTIONS_MAX];
};

/* ---- connections ---- */

static void close_connection(struct connection *connection)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct piece *piece;
        while ((piece = STAILQ_FIRST(&connection->way[i].pieces)) != NULL) {
            STAILQ_REMOVE_HEAD(&connection->way[i].pieces, link);
            free(piece);
        }
        close(connection->way[i].from);
    }
    connection->is_open = false;
}

static void begin(struct connection *connection, int near, int server)
{
    *connection = (struct connection){
        .is_open = true, .way = {{.from = near, .to = server}, {.from = server, .to = near}}};
    for (size_t i = 0; i < WAYS; i++)
        STAILQ_INIT(&connection->way[i].pieces);
}

static void accept_one(struct far_postgres *far)
{
    int near = accept(far->listening, NULL, NULL);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t i = 0;
    while (i < CONNECTIONS_MAX && far->connection[i].is_open)
        i++;
    if (near >= 0 && i < CONNECTIONS_MAX &&
        connect(server, (struct sockaddr *)&far->real, sizeof(far->real)) == 0) {
        begin(&far->connection[i], near, server);
        return;
    }
    close(server);
    if (near >= 0)
        close(near);
}

/* ---- bytes ---- */

/* False: the connection is over. */
static bool take(const struct far_postgres *far, struct connection *connection, size_t way)
{
    struct piece *piece = weir_calloc(1, sizeof(*piece) + PIECE_BYTES);
    ssize_t size = read(connection->way[way].from, piece->bytes, PIECE_BYTES);
    if (size <= 0) {
        free(piece);
        return size < 0 && errno == EINTR;
    }
    piece->size = (size_t)size;
    piece->due_ns = weir_now_ns() + far->way_ns;
    STAILQ_INSERT_TAIL(&connection->way[way].pieces, piece, link);
    return true;
}

static bool write_whole(int fd, const struct piece *piece)
{
    size_t done = 0;
    while (done < piece->size) {
        ssize_t size = send(fd, piece->bytes + done, piece->size - done, MSG_NOSIGNAL);
        if (size <= 0)
            return false;
        done += (size_t)size;
    }
    return true;
}

static bool pass_on(struct way *way, int64_t now_ns)
{
    struct piece *piece;
    while ((piece = STAILQ_FIRST(&way->pieces)) != NULL && piece->due_ns <= now_ns) {
        bool is_written = write_whole(way->to, piece);
        STAILQ_REMOVE_HEAD(&way->pieces, link);
        free(piece);
        if (!is_written)
            return false;
    }
    return true;
}

static void serve(const struct far_postgres *far, struct connection *connection,
                  const struct pollfd *watched)
{
    bool goes_on = true;
    for (size_t i = 0; i < WAYS && goes_on; i++)
        goes_on = pass_on(&connection->way[i], weir_now_ns()) &&
                  (watched[i].revents == 0 || take(far, connection, i));
    if (!goes_on)
        close_connection(connection);
}

/* ---- the thread ---- */

static int64_t next_due_ns(const struct far_postgres *far)
{
    int64_t due_ns = INT64_MAX;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        for (size_t way = 0; way < WAYS && far->connection[i].is_open; way++) {
            const struct piece *first = STAILQ_FIRST(&far->connection[i].way[way].pieces);
            due_ns = first != NULL && first->due_ns < due_ns ? first->due_ns : due_ns;
        }
    }
    return due_ns;
}

static void wait_for_any(const struct far_postgres *far, struct pollfd *watched, size_t count)
{
    int64_t due_ns = next_due_ns(far), left_ns = due_ns - weir_now_ns();
    struct timespec wait = {0};
    if (left_ns > 0)
        wait = (struct timespec){.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    (void)ppoll(watched, count, due_ns == INT64_MAX ? NULL : &wait, NULL);
}

static void *live(void *owner)
{
    struct far_postgres *far = owner;
    struct pollfd watched[2 + WAYS * CONNECTIONS_MAX];
    for (;;) {
        watched[0] = (struct pollfd){.fd = far->ending, .events = POLLIN};
        watched[1] = (struct pollfd){.fd = far->listening, .events = POLLIN};
        for (size_t i = 0; i < WAYS * CONNECTIONS_MAX; i++) {
            const struct connection *connection = &far->connection[i / WAYS];
            watched[2 + i] = (struct pollfd){
                .fd = connection->is_open ? connection->way[i % WAYS].from : -1, .events = POLLIN};
        }
        wait_for_any(far, watched, WEIR_COUNT(watched));
        if (watched[0].revents != 0)
            return NULL;
        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
            if (far->connection[i].is_open)
                serve(far, &far->connection[i], &watched[2 + WAYS * i]);
        }
        if (watched[1].revents != 0)
            accept_one(far);
    }
}

/* ---- life ---- */

static enum weir_status address(const char *directory, const char *port,
                                struct sockaddr_un *ret_address, struct weir_error *err)
{
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "%s/.s.PGSQL.%s",
                        directory, port);
    return size > 0 && (size_t)size < sizeof(ret_address->sun_path)
               ? WEIR_OK
               : weir_fail(err, WEIR_LIMIT, "%s: too long a path for a socket", directory);
}

static enum weir_status find(struct far_postgres *far, const char *directory, const char *conninfo,
                             struct weir_error *err)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL), *option = options;
    const char *host = NULL, *port = NULL;
    for (; option != NULL && option->keyword != NULL; option++) {
        host = strcmp(option->keyword, "host") == 0 ? option->val : host;
        port = strcmp(option->keyword, "port") == 0 ? option->val : port;
    }
    port = port != NULL ? port : "5432";
    far->conninfo = weir_format("%s host='%s' port=%s", conninfo, directory, port);
    enum weir_status status = address(host != NULL ? host : "", port, &far->real, err);
    if (status == WEIR_OK)
        status = address(directory, port, &far->own, err);
    PQconninfoFree(options);
    return status;
}

static enum weir_status listen_at(struct far_postgres *far, struct weir_error *err)
{
    far->ending = eventfd(0, EFD_CLOEXEC);
    far->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(far->listening, (struct sockaddr *)&far->own, sizeof(far->own)) != 0 ||
        listen(far->listening, CONNECTIONS_MAX) != 0 ||
        pthread_create(&far->thread, NULL, live, far) != 0)
        return weir_fail(err, WEIR_IO, "%s: %s", far->own.sun_path, strerror(errno));
    return WEIR_OK;
}

enum weir_status far_postgres_open(const char *directory, const char *conninfo,
                                   int64_t round_trip_ns, struct far_postgres **ret_far,
                                   struct weir_error *err)
{
    struct far_postgres *far = weir_calloc(1, sizeof(*far));
    far->way_ns = round_trip_ns / 2;
    enum weir_status status = find(far, directory, conninfo, err);
    if (status == WEIR_OK)
        status = listen_at(far, err);
    if (status != WEIR_OK) {
        free(far->conninfo);
        free(far);
        return status;
    }
    *ret_far = far;
    return WEIR_OK;
}

void far_postgres_close(struct far_postgres *far)
{
    if (far == NULL)
        return;
    weir_require(eventfd_write(far->ending, 1) == 0);
    weir_require(pthread_join(far->thread, NULL) == 0);
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (far->connection[i].is_open)
            close_connection(&far->connection[i]);
    }
    close(far->listening);
    close(far->ending);
    unlink(far->own.sun_path);
    free(far->conninfo);
    free(far);
}

const char *far_postgres_conninfo(const struct far_postgres *far)
{
    return far->conninfo;
}

/* ---- databases ---- */

static enum weir_status order(PGconn *conn, const char *sql, struct weir_error *err)
{
    PGresult *result = PQexec(conn, sql);
    enum weir_status status = WEIR_OK;
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        status = weir_fail(err, WEIR_IO, "%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
    return status;
}

enum weir_status far_postgres_make_database(const char *conninfo, const char *name,
                                            struct weir_error *err)
{
    WEIR_AUTO_FREE char *drop = weir_format("DROP DATABASE IF EXISTS %s", name);
    WEIR_AUTO_FREE char *make = weir_format("CREATE DATABASE %s", name);
    PGconn *conn = PQconnectdb(conninfo);
    enum weir_status status = order(conn, "SET client_min_messages TO warning", err);
    if (status == WEIR_OK)
        status = order(conn, drop, err);
    if (status == WEIR_OK)
        status = order(conn, make, err);
    PQfinish(conn);
    return status;
}
