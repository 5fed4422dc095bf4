/* The address at which a platform listens for those elsewhere: one of this host, and four ports in a row. */
#ifndef ORCHESTRATOR_VALUES_LISTEN_ADDRESS_H
#define ORCHESTRATOR_VALUES_LISTEN_ADDRESS_H

#include "core/base/error.h"

#include <stdint.h>

enum { LISTEN_HOST_MAX = 255 };

/* Of the orchestrator; the other services have the ports after it. */
struct listen_address {
    char host[16];                       /* IPv4; 0.0.0.0: all of them */
    char advertise[LISTEN_HOST_MAX + 1]; /* host by which others reach it */
    uint16_t port;
};

/* Reads "tcp://ADDRESS:PORT", where ADDRESS is IPv4 or *, and the host by which others reach it (NULL: ADDRESS, which
 * must be one then). INVALID. Pure. */
enum weir_status orchestrator_listen_address_read(const char *text, const char *advertise,
                                                  struct listen_address *ret_address,
                                                  struct weir_error *err) WEIR_MUST_USE;
/* "tcp://ADDRESS:PORT" of a service, in caller's memory. Pure. */
char *orchestrator_listen_address_of(const struct listen_address *address,
                                     const char *service) WEIR_MUST_USE;
/* Tries whether the services can listen there, now or within two seconds. IO: a port is taken, or ADDRESS is none of
 * this host. */
enum weir_status orchestrator_listen_address_try(const struct listen_address *address,
                                                 struct weir_error *err) WEIR_MUST_USE;

#endif
