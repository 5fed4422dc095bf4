/* CURVE keys on sockets, and in the text of an address. */
#include "core/rpc/keys.h"

#include "core/base/memory.h"

#include <string.h>
#include <zmq.h>

enum { MARK = '#' };

bool weir_keys_are_needed(const char *endpoint)
{
    static const char TCP[] = "tcp://";
    return strncmp(endpoint, TCP, sizeof(TCP) - 1) == 0;
}

const char *weir_keys_of(const char *address)
{
    size_t size = strlen(address);
    if (!weir_keys_are_needed(address) || size <= WEIR_KEY_CHARACTERS)
        return NULL;
    const char *key = address + size - WEIR_KEY_CHARACTERS;
    return key[-1] == MARK ? key : NULL;
}

char *weir_keys_endpoint(const char *address)
{
    const char *key = weir_keys_of(address);
    size_t size = key != NULL ? (size_t)(key - 1 - address) : strlen(address);
    return weir_strndup(address, size);
}

char *weir_keys_address(void *socket, const char *endpoint)
{
    char key[WEIR_KEY_CHARACTERS + 1];
    size_t size = sizeof(key);
    if (!weir_keys_are_needed(endpoint))
        return weir_strdup(endpoint);
    int rc = zmq_getsockopt(socket, ZMQ_CURVE_PUBLICKEY, key, &size);
    weir_require(rc == 0);
    return weir_format("%s%c%s", endpoint, MARK, key);
}

static void set_pair(void *socket, const struct weir_pair *pair)
{
    int rc = zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, sizeof(pair->public));
    weir_require(rc == 0);
    rc = zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, sizeof(pair->secret));
    weir_require(rc == 0);
}

/* NULL: a pair is drawn. */
static enum weir_status set_keys(void *socket, const struct weir_pair *pair, struct weir_error *err)
{
    struct weir_pair drawn;
    if (pair != NULL) {
        set_pair(socket, pair);
        return WEIR_OK;
    }
    enum weir_status status = weir_pair_draw(&drawn, err);
    if (status == WEIR_OK)
        set_pair(socket, &drawn);
    weir_pair_fini(&drawn);
    return status;
}

enum weir_status weir_keys_serve(void *socket, const struct weir_pair *pair, struct weir_error *err)
{
    int is_server = 1;
    int rc = zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof(is_server));
    if (rc == 0 && pair != NULL)
        rc = zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, WEIR_KEYS_DOMAIN, strlen(WEIR_KEYS_DOMAIN));
    if (rc != 0)
        return weir_fail(err, WEIR_UNSUPPORTED,
                         "this build of ZeroMQ has no CURVE, and nothing goes over TCP without");
    return set_keys(socket, pair, err);
}

enum weir_status weir_keys_connect(void *socket, const char *address, const struct weir_pair *pair,
                                   struct weir_error *err)
{
    const char *key = weir_keys_of(address);
    if (key == NULL ||
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key, WEIR_KEY_CHARACTERS + 1) != 0) {
        WEIR_AUTO_FREE char *endpoint = weir_keys_endpoint(address);
        return weir_fail(err, WEIR_INVALID,
                         "%s: expected the address that the process there goes by, "
                         "tcp://HOST:PORT#KEY",
                         endpoint);
    }
    return set_keys(socket, pair, err);
}
