/* Addresses of the loopback that HTTP may listen at. Pure. */
#ifndef ORCHESTRATOR_VALUES_LOOPBACK_ADDRESS_H
#define ORCHESTRATOR_VALUES_LOOPBACK_ADDRESS_H

#include "core/base/error.h"

#include <sys/socket.h>

struct loopback_address {
    struct sockaddr_storage at;
    socklen_t size;
};

/* HOST:PORT, where HOST is 127.0.0.1 or another address of that network, localhost, or [::1], and PORT a number from 0:
 * any that is free. INVALID: it is none of these. UNSUPPORTED: others could reach it, and nobody has said yet who of
 * them is to be let in. */
enum weir_status orchestrator_loopback_address_read(const char *text,
                                                    struct loopback_address *ret_address,
                                                    struct weir_error *err) WEIR_MUST_USE;

/* The same for an address that others may reach, too: any of IPv4 or, in brackets, IPv6. INVALID. */
enum weir_status orchestrator_any_address_read(const char *text,
                                               struct loopback_address *ret_address,
                                               bool *ret_is_loopback,
                                               struct weir_error *err) WEIR_MUST_USE;

enum { LOOPBACK_ADDRESS_TEXT_MAX = 64 };
/* "127.0.0.1:9464", "[::1]:9464" */
void orchestrator_loopback_address_text(const struct loopback_address *address,
                                        char text[LOOPBACK_ADDRESS_TEXT_MAX]);

#endif
