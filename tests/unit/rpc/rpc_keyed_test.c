/* A server that is reached from elsewhere: who is let in, held to what, and how long. Real sockets; strangers and thieves
 * speak through ZeroMQ's own. */
#include "core/rpc/pass.h"
#include "tests/unit/rpc/rpc_fixture.h"

#include "core/rpc/envelope.h"

#include <zmq.h>

enum { OTHERS = 4, DENIED_MS = 20000 };

/* The fixture's peer is `pair[0]`. */
struct keyed {
    struct fixture *fixture;
    struct weir_pair server, pair[OTHERS];
    uint32_t roles[OTHERS];
    uint64_t number;
    struct weir_refusal refusal;
    char name[64], message[64], public[WEIR_KEY_CHARACTERS + 1];
    int refusals;
    enum weir_role role; /* of the newest sender that a handler saw */
    char tenant[64];
};
