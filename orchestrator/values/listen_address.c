/* See listen_address.h. */
#include "orchestrator/values/listen_address.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/rpc/pass.h"
#include "orchestrator/values/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_MAX = 100, TRIES_MAX = 100, TRY_NS = 20000000 };

/* In the order of their ports. */
static const char *const SERVICES[] = {"orchestrator", "storage", "selector", "dispatcher"};

static const char TCP[] = "tcp://";

static bool read_host(const char *text, size_t size, struct listen_address *address)
{
    struct in_addr unused;
    bool is_any = size == 1 && text[0] == '*';
    int length = snprintf(address->host, sizeof(address->host), "%.*s", is_any ? 7 : (int)size,
                          is_any ? "0.0.0.0" : text);
    return length < (int)sizeof(address->host) && inet_pton(AF_INET, address->host, &unused) == 1;
}

static bool is_host(const char *text)
{
    static const char OF_NAMES[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    size_t size = strlen(text);
    return size > 0 && size <= LISTEN_HOST_MAX && strspn(text, OF_NAMES) == size;
}

static enum weir_status read_advertise(const char *advertise, struct listen_address *address,
                                       struct weir_error *err)
{
    bool is_any = strcmp(address->host, "0.0.0.0") == 0;
    if (advertise == NULL && is_any)
        return weir_fail(err, WEIR_INVALID,
                         "listen: %s is every address of this host: expected advertise, too, the "
                         "name or address by which others reach it",
                         address->host);
    const char *host = advertise != NULL ? advertise : address->host;
    if (!is_host(host) || strcmp(host, "0.0.0.0") == 0)
        return weir_fail(err, WEIR_INVALID,
                         "advertise: expected a name or an IPv4 address, found '%.*s'", SHOWN_MAX,
                         host);
    (void)snprintf(address->advertise, sizeof(address->advertise), "%s", host);
    return WEIR_OK;
}

enum weir_status orchestrator_listen_address_read(const char *text, const char *advertise,
                                                  struct listen_address *ret_address,
                                                  struct weir_error *err)
{
    struct listen_address address = {.port = 0};
    const char *host = strncmp(text, TCP, sizeof(TCP) - 1) == 0 ? text + sizeof(TCP) - 1 : "";
    const char *colon = strrchr(host, ':');
    unsigned more = WEIR_COUNT(SERVICES) - 1;
    if (colon == NULL || !read_host(host, (size_t)(colon - host), &address) ||
        !orchestrator_port_read(colon + 1, &address.port) || address.port == 0)
        return weir_fail(err, WEIR_INVALID,
                         "listen: expected tcp://ADDRESS:PORT, an IPv4 address of this host or *, "
                         "and a number, found '%.*s'",
                         SHOWN_MAX, text);
    if (address.port + more > PORT_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "listen: port %u: expected at most %u, for the services have the %u "
                         "after it",
                         address.port, PORT_MAX - more, more);
    enum weir_status status = read_advertise(advertise, &address, err);
    if (status == WEIR_OK)
        *ret_address = address;
    return status;
}

char *orchestrator_listen_address_of(const struct listen_address *address, const char *service)
{
    return weir_format("tcp://%s:%u", address->host, address->port + weir_service_port(service));
}

/* Returns 0, or what the system says. */
static int bind_there(const struct listen_address *address, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    WEIR_AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1; /* as ZeroMQ binds: connections of an earlier life may still be closing */
    (void)inet_pton(AF_INET, address->host, &at.sin_addr);
    bool is_bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
                    bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
    return is_bound ? 0 : errno;
}

/* Services of a platform that was killed end a moment after it, and their ports with them. */
static int bind_soon(const struct listen_address *address, uint16_t port)
{
    int why = bind_there(address, port);
    for (int i = 0; i < TRIES_MAX && why == EADDRINUSE; i++) {
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
        why = bind_there(address, port);
    }
    return why;
}

static enum weir_status try_port(const struct listen_address *address, const char *service,
                                 struct weir_error *err)
{
    uint16_t port = (uint16_t)(address->port + weir_service_port(service));
    int why = bind_soon(address, port);
    if (why == 0)
        return WEIR_OK;
    if (why == EADDRNOTAVAIL)
        return weir_fail(err, WEIR_IO, "listen: %s is no address of this host", address->host);
    if (why == EADDRINUSE)
        return weir_fail(err, WEIR_IO,
                         "listen: port %u of %s, of %s, is in use by another process: expected "
                         "ports %u to %zu to be free",
                         port, address->host, service, address->port,
                         address->port + WEIR_COUNT(SERVICES) - 1);
    return weir_fail(err, WEIR_IO, "listen: port %u of %s, of %s: %s", port, address->host, service,
                     strerror(why));
}

enum weir_status orchestrator_listen_address_try(const struct listen_address *address,
                                                 struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(SERVICES); i++)
        status = try_port(address, SERVICES[i], err);
    return status;
}
