/* Reading and writing addresses. */
#include "orchestrator/values/loopback_address.h"

#include "core/base/memory.h"
#include "orchestrator/values/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPBACK_NET = 127 };

static enum weir_status fail(const char *text, struct weir_error *err)
{
    return weir_fail(err, WEIR_INVALID,
                     "expected ADDRESS:PORT of the loopback, such as 127.0.0.1:9464 or "
                     "[::1]:9464; port 0 is any that is free: found '%s'",
                     text);
}

/* True when `host` is an address at all. */
static bool read_host(const char *host, uint16_t port, struct loopback_address *address,
                      bool *ret_is_loopback)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    size_t size = strlen(host);
    bool is_bracketed = size > 2 && host[0] == '[' && host[size - 1] == ']';
    WEIR_AUTO_FREE char *inside = is_bracketed ? weir_strndup(host + 1, size - 2) : NULL;
    *address = (struct loopback_address){.size = sizeof(v4)};
    if (inside != NULL && inet_pton(AF_INET6, inside, &v6.sin6_addr) == 1) {
        *ret_is_loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
        memcpy(&address->at, &v6, sizeof(v6));
        address->size = sizeof(v6);
        return true;
    }
    if (strcmp(host, "localhost") == 0)
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (inside != NULL || inet_pton(AF_INET, host, &v4.sin_addr) != 1)
        return false;
    *ret_is_loopback = ntohl(v4.sin_addr.s_addr) >> 24 == LOOPBACK_NET;
    memcpy(&address->at, &v4, sizeof(v4));
    return true;
}

/* Splits off the port; the host is the caller's to free. NULL: there is none. */
static char *host_of(const char *text, uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !orchestrator_port_read(colon + 1, ret_port))
        return NULL;
    return weir_strndup(text, (size_t)(colon - text));
}

enum weir_status orchestrator_loopback_address_read(const char *text,
                                                    struct loopback_address *ret_address,
                                                    struct weir_error *err)
{
    uint16_t port = 0;
    bool is_loopback = false;
    WEIR_AUTO_FREE char *host = host_of(text, &port);
    if (host == NULL)
        return fail(text, err);
    bool is_everywhere = host[0] == '\0' || strcmp(host, "*") == 0;
    if (!is_everywhere && !read_host(host, port, ret_address, &is_loopback))
        return fail(text, err);
    if (is_everywhere || !is_loopback)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "%s can be reached from other hosts, which is not possible yet: expected "
                         "an address of the loopback, such as 127.0.0.1:%u",
                         text, port);
    return WEIR_OK;
}

enum weir_status orchestrator_any_address_read(const char *text,
                                               struct loopback_address *ret_address,
                                               bool *ret_is_loopback, struct weir_error *err)
{
    uint16_t port = 0;
    WEIR_AUTO_FREE char *host = host_of(text, &port);
    if (host != NULL && read_host(host, port, ret_address, ret_is_loopback))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "expected ADDRESS:PORT of this host, such as 127.0.0.1:9470, 0.0.0.0:9470 or "
                     "[::]:9470; port 0 is any that is free: found '%s'",
                     text);
}

void orchestrator_loopback_address_text(const struct loopback_address *address,
                                        char text[LOOPBACK_ADDRESS_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address->at.ss_family == AF_INET6) {
        memcpy(&v6, &address->at, sizeof(v6));
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
        (void)snprintf(text, LOOPBACK_ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(v6.sin6_port));
        return;
    }
    memcpy(&v4, &address->at, sizeof(v4));
    (void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
    (void)snprintf(text, LOOPBACK_ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(v4.sin_port));
}
