/* Keys of TCP connections. Anybody on this host can reach a port, and take it over once it is free. So TCP is
 * spoken with CURVE alone: every message is encrypted and authenticated under keys of that one connection, and
 * ZeroMQ turns away whoever does not have the key before it takes a frame. (A code of our own over each message
 * would cost as much and come too late: by then ZeroMQ holds the whole message in memory.)
 *
 * A server draws a pair of keys when it binds and keeps the secret one to itself. Its *address* is its endpoint
 * and the public one: "tcp://127.0.0.1:40123#KEY", 40 characters of Z85. To have the address is to be let in, so
 * it travels over local sockets only, and is stored and logged nowhere. The keys end with the process: a port that
 * comes back with another process is a stranger's. Local sockets (ipc) have the permissions of their directory,
 * and no keys.
 *
 * Somebody who comes from elsewhere has a pair of their own, and so has the platform, as long as it lasts (pair.h): a
 * server that is bound with a pair asks of each handshake whether the key of the other side is on its list (gate.h).
 *
 * CURVE: https://rfc.zeromq.org/spec/26. Setting keys on sockets is for core/rpc alone. */
#ifndef WEIR_RPC_KEYS_H
#define WEIR_RPC_KEYS_H

#include "core/base/error.h"
#include "core/rpc/pair.h"

#include <stdbool.h>

bool weir_keys_are_needed(const char *endpoint);
/* The key of an address, which it ends with; NULL: it has none. */
const char *weir_keys_of(const char *address);
/* The endpoint of an address, for sockets and people; the caller's. */
char *weir_keys_endpoint(const char *address) WEIR_MUST_USE;
/* The address of a server that is bound at `endpoint`; the caller's. */
char *weir_keys_address(void *socket, const char *endpoint) WEIR_MUST_USE;

/* Before binding. `pair` NULL: draws the keys, and lets in whoever knows the public one; else those that the gate lets
 * in. UNSUPPORTED where ZeroMQ was built without CURVE. */
enum weir_status weir_keys_serve(void *socket, const struct weir_pair *pair,
                                 struct weir_error *err) WEIR_MUST_USE;
/* Before connecting: lets the socket speak to the one server that has the secret of this address, and to no other, with
 * this pair, or with keys that are drawn. INVALID for an address without a key. */
enum weir_status weir_keys_connect(void *socket, const char *address, const struct weir_pair *pair,
                                   struct weir_error *err) WEIR_MUST_USE;

/* ZAP domain of servers that are bound with a pair. */
#define WEIR_KEYS_DOMAIN "weir"

#endif
