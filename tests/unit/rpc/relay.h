/* Somebody between a peer and its server, who keeps and passes on what both say. */
#ifndef WEIR_TESTS_UNIT_RPC_RELAY_H
#define WEIR_TESTS_UNIT_RPC_RELAY_H

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { RECORD_BYTES = 1 << 16 };

static inline uint16_t port_of(const char *endpoint)
{
    return (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
}

/* A relay between a peer and its server that keeps what the peer says. */
struct relay {
    int listener, from, to; /* -1: not there */
    uint16_t port;
    uint8_t record[RECORD_BYTES];
    size_t size;
};

static inline int open_connection(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static inline void open_relay(struct relay *relay)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    *relay = (struct relay){.from = -1, .to = -1, .listener = socket(AF_INET, SOCK_STREAM, 0)};
    assert_int_equal(bind(relay->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(relay->listener, 1), 0);
    assert_int_equal(getsockname(relay->listener, (struct sockaddr *)&address, &size), 0);
    relay->port = ntohs(address.sin_port);
}

static inline bool is_readable(int fd)
{
    struct pollfd item = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&item, 1, 0) > 0;
}

/* Passes on what has come, either way. */
static inline void pass_on(struct relay *relay)
{
    uint8_t back[4096];
    if (is_readable(relay->from)) {
        ssize_t got = read(relay->from, relay->record + relay->size, RECORD_BYTES - relay->size);
        if (got > 0)
            assert_int_equal(write(relay->to, relay->record + relay->size, (size_t)got), got);
        relay->size += got > 0 ? (size_t)got : 0;
    }
    if (is_readable(relay->to)) {
        ssize_t got = read(relay->to, back, sizeof(back));
        if (got > 0)
            assert_int_equal(write(relay->from, back, (size_t)got), got);
    }
}

#endif
