/* libcurl in the loop: see transfers.h. */
#include "core/http/transfers.h"

#include "core/base/memory.h"
#include "core/http/libcurl.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/queue.h>

/* A socket of libcurl that the loop watches. */
struct watched {
    struct weir_transfers *transfers;
    curl_socket_t fd;
    LIST_ENTRY(watched) link;
};

struct weir_transfers {
    struct weir_loop *loop;
    unsigned host_max;
    CURLM *multi; /* NULL until the first transfer */
    uint64_t timer;
    LIST_HEAD(, watched) watched;
};

/* Transfers may be added and removed by the owner of one that is over. */
static void act(struct weir_transfers *transfers, curl_socket_t fd)
{
    const CURLMsg *message;
    int running, left;

    curl_multi_socket_action(transfers->multi, fd, 0, &running);
    while ((message = curl_multi_info_read(transfers->multi, &left)) != NULL) {
        struct weir_transfer *transfer = NULL;
        CURLcode result = message->data.result;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        transfer->over(transfer->owner, (int)result);
    }
}

/* ---- the loop ---- */

static void on_socket(void *owner)
{
    const struct watched *watched = owner;

    act(watched->transfers, watched->fd);
}

static void on_timer(void *owner)
{
    struct weir_transfers *transfers = owner;

    transfers->timer = 0;
    act(transfers, CURL_SOCKET_TIMEOUT);
}

static int set_timer(CURLM *multi, long timeout_ms, void *owner)
{
    struct weir_transfers *transfers = owner;

    (void)multi;
    weir_loop_cancel(transfers->loop, transfers->timer);
    transfers->timer =
        timeout_ms < 0 ? 0 : weir_loop_timer(transfers->loop, timeout_ms, 0, on_timer, transfers);
    return 0;
}

static void unwatch(struct watched *watched)
{
    weir_loop_unwatch_fd(watched->transfers->loop, watched->fd);
    LIST_REMOVE(watched, link);
    free(watched);
}

static struct watched *new_watched(struct weir_transfers *transfers, curl_socket_t fd)
{
    struct watched *watched = weir_calloc(1, sizeof(*watched));

    watched->transfers = transfers;
    watched->fd = fd;
    LIST_INSERT_HEAD(&transfers->watched, watched, link);
    curl_multi_assign(transfers->multi, fd, watched);
    return watched;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *owner, void *at_fd)
{
    struct weir_transfers *transfers = owner;
    struct watched *watched = at_fd;
    short events =
        (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0));

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watched != NULL)
            unwatch(watched);
        return 0;
    }
    if (watched == NULL)
        watched = new_watched(transfers, fd);
    else
        weir_loop_unwatch_fd(transfers->loop, fd);
    weir_loop_watch_fd(transfers->loop, fd, events, on_socket, watched);
    return 0;
}

/* ---- transfers ---- */

static void open_multi(struct weir_transfers *transfers)
{
    transfers->multi = curl_multi_init();
    weir_require(transfers->multi != NULL);
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETDATA, transfers);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERDATA, transfers);
    curl_multi_setopt(transfers->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(transfers->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)transfers->host_max);
}

void weir_transfers_add(struct weir_transfers *transfers, struct weir_transfer *transfer)
{
    if (transfers->multi == NULL)
        open_multi(transfers);
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    curl_multi_add_handle(transfers->multi, transfer->easy);
}

void weir_transfers_remove(struct weir_transfers *transfers, struct weir_transfer *transfer)
{
    curl_multi_remove_handle(transfers->multi, transfer->easy);
}

/* ---- life ---- */

struct weir_transfers *weir_transfers_new(struct weir_loop *loop, unsigned host_max)
{
    struct weir_transfers *transfers = weir_calloc(1, sizeof(*transfers));

    transfers->loop = loop;
    transfers->host_max = host_max;
    LIST_INIT(&transfers->watched);
    return transfers;
}

void weir_transfers_free(struct weir_transfers *transfers)
{
    if (transfers == NULL)
        return;
    if (transfers->multi != NULL)
        curl_multi_cleanup(transfers->multi);
    weir_loop_cancel(transfers->loop, transfers->timer);
    while (!LIST_EMPTY(&transfers->watched))
        unwatch(LIST_FIRST(&transfers->watched));
    free(transfers);
}
