/* Counting large messages on their way out. ZeroMQ frees the header of a message when it has gone, from a thread of its
 * own: that tells how much is still here, but for the frames of the message that is just leaving. */
#include "core/rpc/outflow.h"

#include "core/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* All that one peer has not read yet. Freed by whoever lets go of it last. */
struct outflow_debt {
    LIST_ENTRY(outflow_debt) link;
    uint8_t identity[WEIR_ROUTE_MAX];
    uint8_t identity_size;
    atomic_size_t bytes;
    atomic_uint holders; /* the outflow, and each of its messages */
};

/* A message that is counted; its header follows. */
struct ticket {
    struct outflow_debt *debt;
    size_t bytes;
    uint8_t header[];
};

static void let_go(struct outflow_debt *debt)
{
    if (atomic_fetch_sub(&debt->holders, 1) == 1)
        free(debt);
}

static void on_left(void *header, void *hint)
{
    struct ticket *ticket = hint;
    (void)header;
    atomic_fetch_sub(&ticket->debt->bytes, ticket->bytes);
    let_go(ticket->debt);
    free(ticket);
}

static void drop(struct outflow_debt *debt)
{
    LIST_REMOVE(debt, link);
    let_go(debt);
}

void weir_outflow_fini(struct weir_outflow *outflow)
{
    while (!LIST_EMPTY(&outflow->debts))
        drop(LIST_FIRST(&outflow->debts));
}

static bool is_of(const struct outflow_debt *debt, const struct weir_route *route)
{
    return debt->identity_size == route->identity_size &&
           memcmp(debt->identity, route->identity, route->identity_size) == 0;
}

/* The debt of a peer, made if it has none. Drops those that are paid. */
static struct outflow_debt *find(struct weir_outflow *outflow, const struct weir_route *route,
                                 size_t *ret_sum)
{
    struct outflow_debt *found = NULL, *debt = LIST_FIRST(&outflow->debts);
    *ret_sum = 0;
    while (debt != NULL) {
        struct outflow_debt *next = LIST_NEXT(debt, link);
        size_t bytes = atomic_load(&debt->bytes);
        *ret_sum += bytes;
        if (is_of(debt, route))
            found = debt;
        else if (bytes == 0)
            drop(debt);
        debt = next;
    }
    if (found != NULL)
        return found;
    debt = weir_calloc(1, sizeof(*debt));
    memcpy(debt->identity, route->identity, route->identity_size);
    debt->identity_size = route->identity_size;
    atomic_init(&debt->holders, 1);
    LIST_INSERT_HEAD(&outflow->debts, debt, link);
    return debt;
}

static void fill(zmq_msg_t *ret_frame, struct weir_bytes header)
{
    int rc = zmq_msg_init_size(ret_frame, header.size);
    weir_require(rc == 0);
    if (header.size > 0)
        memcpy(zmq_msg_data(ret_frame), header.at, header.size);
}

bool weir_outflow_frame(struct weir_outflow *outflow, const struct weir_route *route,
                        struct weir_bytes header, size_t bytes, zmq_msg_t *ret_frame)
{
    if (outflow == NULL || bytes < WEIR_OUTFLOW_SMALL) {
        fill(ret_frame, header);
        return true;
    }
    size_t sum;
    struct outflow_debt *debt = find(outflow, route, &sum);
    size_t owed = atomic_load(&debt->bytes);
    if (owed > 0 && (owed + bytes > WEIR_OUTFLOW_PEER_MAX || sum + bytes > WEIR_OUTFLOW_MAX))
        return false;
    struct ticket *ticket = weir_realloc(NULL, sizeof(*ticket) + header.size, 1);
    *ticket = (struct ticket){.debt = debt, .bytes = bytes};
    memcpy(ticket->header, header.at, header.size);
    atomic_fetch_add(&debt->bytes, bytes);
    atomic_fetch_add(&debt->holders, 1);
    int rc = zmq_msg_init_data(ret_frame, ticket->header, header.size, on_left, ticket);
    weir_require(rc == 0);
    return true;
}
