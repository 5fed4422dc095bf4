/* CURVE keys on sockets, and in the text of an address. */
#include "core/rpc/keys.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"

#include <string.h>
#include <zmq.h>

enum { KEY_CHARACTERS = 40 /* Z85 of 32 bytes */, MARK = '#' };

bool weir_keys_are_needed(const char *endpoint)
{
    static const char TCP[] = "tcp://";
    return strncmp(endpoint, TCP, sizeof(TCP) - 1) == 0;
}

/* The key of an address; NULL: it has none. */
static const char *key_of(const char *address)
{
    size_t size = strlen(address);
    if (!weir_keys_are_needed(address) || size <= KEY_CHARACTERS)
        return NULL;
    const char *key = address + size - KEY_CHARACTERS;
    return key[-1] == MARK ? key : NULL;
}

char *weir_keys_endpoint(const char *address)
{
    const char *key = key_of(address);
    size_t size = key != NULL ? (size_t)(key - 1 - address) : strlen(address);
    return weir_strndup(address, size);
}

char *weir_keys_address(void *socket, const char *endpoint)
{
    char key[KEY_CHARACTERS + 1];
    size_t size = sizeof(key);
    if (!weir_keys_are_needed(endpoint))
        return weir_strdup(endpoint);
    int rc = zmq_getsockopt(socket, ZMQ_CURVE_PUBLICKEY, key, &size);
    weir_require(rc == 0);
    return weir_format("%s%c%s", endpoint, MARK, key);
}

static enum weir_status draw_keys(void *socket, struct weir_error *err)
{
    char open[KEY_CHARACTERS + 1], secret[KEY_CHARACTERS + 1];
    if (zmq_curve_keypair(open, secret) != 0)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "this build of ZeroMQ has no CURVE, and nothing goes over TCP without");
    int rc = zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, open, sizeof(open));
    weir_require(rc == 0);
    rc = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, sizeof(secret));
    weir_require(rc == 0);
    explicit_bzero(secret, sizeof(secret));
    return WEIR_OK;
}

enum weir_status weir_keys_serve(void *socket, struct weir_error *err)
{
    int is_server = 1;
    int rc = zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof(is_server));
    if (rc != 0)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "this build of ZeroMQ has no CURVE, and nothing goes over TCP without");
    return draw_keys(socket, err);
}

enum weir_status weir_keys_connect(void *socket, const char *address, struct weir_error *err)
{
    const char *key = key_of(address);
    if (key == NULL || zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key, KEY_CHARACTERS + 1) != 0) {
        WEIR_AUTO_FREE char *endpoint = weir_keys_endpoint(address);
        return weir_fail(err, WEIR_INVALID,
                         "%s: expected the address that the process there goes by, "
                         "tcp://HOST:PORT#KEY",
                         endpoint);
    }
    return draw_keys(socket, err);
}
