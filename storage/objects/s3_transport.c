/* libcurl in the loop: see s3_transport.h. */
#include "storage/objects/s3_transport.h"

#include "core/base/memory.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/queue.h>

/* A socket of libcurl that the loop watches. */
struct watched {
    struct s3_transport *transport;
    curl_socket_t fd;
    LIST_ENTRY(watched) link;
};

struct s3_transport {
    struct weir_loop *loop;
    struct identities *identities;
    CURLM *multi;
    uint64_t timer;
    LIST_HEAD(, watched) watched;
};

/* Transfers may be added and removed by the owner of one that is over. */
static void act(struct s3_transport *transport, curl_socket_t fd)
{
    const CURLMsg *message;
    int running, left;

    curl_multi_socket_action(transport->multi, fd, 0, &running);
    while ((message = curl_multi_info_read(transport->multi, &left)) != NULL) {
        struct s3_transfer *transfer = NULL;
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

    act(watched->transport, watched->fd);
}

static void on_timer(void *owner)
{
    struct s3_transport *transport = owner;

    transport->timer = 0;
    act(transport, CURL_SOCKET_TIMEOUT);
}

static int set_timer(CURLM *multi, long timeout_ms, void *owner)
{
    struct s3_transport *transport = owner;

    (void)multi;
    weir_loop_cancel(transport->loop, transport->timer);
    transport->timer =
        timeout_ms < 0 ? 0 : weir_loop_timer(transport->loop, timeout_ms, 0, on_timer, transport);
    return 0;
}

static void unwatch(struct watched *watched)
{
    weir_loop_unwatch_fd(watched->transport->loop, watched->fd);
    LIST_REMOVE(watched, link);
    free(watched);
}

static struct watched *new_watched(struct s3_transport *transport, curl_socket_t fd)
{
    struct watched *watched = weir_calloc(1, sizeof(*watched));

    watched->transport = transport;
    watched->fd = fd;
    LIST_INSERT_HEAD(&transport->watched, watched, link);
    curl_multi_assign(transport->multi, fd, watched);
    return watched;
}

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *owner, void *at_fd)
{
    struct s3_transport *transport = owner;
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
        watched = new_watched(transport, fd);
    else
        weir_loop_unwatch_fd(transport->loop, fd);
    weir_loop_watch_fd(transport->loop, fd, events, on_socket, watched);
    return 0;
}

/* ---- transfers ---- */

void storage_s3_transport_add(struct s3_transport *transport, struct s3_transfer *transfer)
{
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    curl_multi_add_handle(transport->multi, transfer->easy);
}

void storage_s3_transport_remove(struct s3_transport *transport, struct s3_transfer *transfer)
{
    curl_multi_remove_handle(transport->multi, transfer->easy);
}

/* ---- life ---- */

struct identities *storage_s3_transport_identities(const struct s3_transport *transport)
{
    return transport->identities;
}

struct weir_loop *storage_s3_transport_loop(const struct s3_transport *transport)
{
    return transport->loop;
}

struct s3_transport *storage_s3_transport_new(struct weir_loop *loop)
{
    struct s3_transport *transport = weir_calloc(1, sizeof(*transport));

    transport->loop = loop;
    transport->identities = storage_identities_new(loop);
    LIST_INIT(&transport->watched);
    transport->multi = curl_multi_init();
    weir_require(transport->multi != NULL);
    curl_multi_setopt(transport->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(transport->multi, CURLMOPT_SOCKETDATA, transport);
    curl_multi_setopt(transport->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(transport->multi, CURLMOPT_TIMERDATA, transport);
    curl_multi_setopt(transport->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(transport->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)S3_HOST_REQUESTS_MAX);
    return transport;
}

void storage_s3_transport_free(struct s3_transport *transport)
{
    if (transport == NULL)
        return;
    curl_multi_cleanup(transport->multi);
    weir_loop_cancel(transport->loop, transport->timer);
    while (!LIST_EMPTY(&transport->watched))
        unwatch(LIST_FIRST(&transport->watched));
    storage_identities_free(transport->identities);
    free(transport);
}
