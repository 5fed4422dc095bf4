/* asker ENDPOINT: a holder of samples that renews its lease with storage, one request after the other, over one
 * connection, until its standard input ends. Prints then how many answers there were, and how long they took, as
 * JSON. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SESSION = 77, ANSWER_MS = 60000, LONG_MS = 100 };

struct asked {
    double *ms;
    size_t count, capacity, over; /* of them over LONG_MS */
};

static bool is_over(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) != 0;
}

static void note(struct asked *asked, double ms)
{
    asked->ms = weir_grow(asked->ms, asked->count, &asked->capacity, sizeof(*asked->ms));
    asked->ms[asked->count++] = ms;
    asked->over += ms > LONG_MS;
}

static enum weir_status ask(struct weir_rpc_peer *peer, struct asked *asked, struct weir_error *err)
{
    struct weir_arena *arena = weir_arena_new();
    struct msg_hold hold = {.holder = "asker", .session = SESSION};
    struct msg_hold_is held;
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && !is_over()) {
        int64_t began_ns = weir_now_ns();
        status = weir_rpc_request(peer, MSG_hold, &hold, ANSWER_MS, MSG_hold_is, arena, &held, err);
        if (status != WEIR_OK)
            break;
        note(asked, (double)(weir_now_ns() - began_ns) / 1e6);
        hold.epoch = held.epoch;
        weir_arena_clear(arena);
    }
    weir_arena_free(arena);
    return status;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void tell(struct asked *asked)
{
    if (asked->count == 0)
        return;
    qsort(asked->ms, asked->count, sizeof(*asked->ms), by_value);
    printf(
        "{\"answers\": %zu, \"median_ms\": %.2f, \"most_ms\": %.2f, \"longest_ms\": %.2f, \"over_100_ms\": %zu}\n",
        asked->count, asked->ms[asked->count / 2], asked->ms[asked->count * 999 / 1000],
        asked->ms[asked->count - 1], asked->over);
}

int main(int argc, char **argv)
{
    struct weir_loop *loop = weir_loop_new();
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err = {.text = "usage: asker ENDPOINT"};
    struct asked asked = {.count = 0};
    enum weir_status status =
        argc == 2 ? weir_rpc_connect(loop, argv[1], NULL, NULL, &peer, &err) : WEIR_INVALID;
    if (status == WEIR_OK)
        status = ask(peer, &asked, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "%s\n", err.text);
    tell(&asked);
    free(asked.ms);
    weir_rpc_peer_close(peer);
    weir_loop_free(loop);
    return status == WEIR_OK ? 0 : 1;
}
