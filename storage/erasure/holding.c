/* Holders of samples, as they come and as they are hinted: see use_leases.h. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/erasure_steps.h"

enum { ROUTES_MIN = 64 };

/* ---- hints ---- */

/* A lost hint costs a pause (use_leases.h). */
static void on_hint(void *owner)
{
    struct eraser *eraser = owner;
    size_t slots[STORAGE_HINTS_AT_ONCE];
    size_t count = storage_leases_hint(eraser->leases, weir_now_ms(), slots, STORAGE_HINTS_AT_ONCE);
    const struct msg_erased hint = {.epoch = storage_leases_epoch(eraser->leases)};

    eraser->hint_timer = 0;
    for (size_t i = 0; i < count && eraser->server != NULL; i++)
        (void)weir_rpc_push(eraser->server, &eraser->routes[slots[i]], MSG_erased, &hint, NULL);
    if (count == STORAGE_HINTS_AT_ONCE)
        eraser->hint_timer =
            weir_loop_timer(eraser->store->loop, STORAGE_HINT_MS, 0, on_hint, eraser);
}

void storage_erasure_hint(struct eraser *eraser)
{
    if (eraser->hint_timer == 0)
        on_hint(eraser);
}

/* ---- leases ---- */

static void log_refusal(struct eraser *eraser, const struct weir_request *request,
                        const struct weir_error *err)
{
    const char *key = weir_rpc_sender(request)->name;
    uint64_t untold = 0;

    if (storage_refused_holder(&eraser->refused, weir_hash64(weir_bytes_of(key), err->status),
                               weir_now_ms(), &untold))
        weir_log(WEIR_LOG_WARN, "a holder of samples is refused: it may not use them",
                 "key=\"%s\" role=%s untold_since=%lu error=\"%s\"", key,
                 weir_role_name(weir_rpc_role(request)), untold, err->text);
}

static void keep_route(struct eraser *eraser, size_t slot, const struct weir_request *request)
{
    if (slot >= eraser->route_count) {
        eraser->route_count = 2 * slot + ROUTES_MIN;
        eraser->routes = weir_realloc(eraser->routes, eraser->route_count, sizeof(*eraser->routes));
    }
    eraser->server = request->server;
    eraser->routes[slot] = request->route;
}

static enum use_kind kind_of(enum weir_role role)
{
    switch (role) {
    case WEIR_ROLE_PLATFORM:
        return USE_OF_PLATFORM;
    case WEIR_ROLE_WORKER:
        return USE_OF_WORKER_ELSEWHERE;
    default:
        return USE_OF_TRAINER;
    }
}

static struct use_request asked_by(const struct weir_request *request, uint64_t session,
                                   uint64_t epoch)
{
    return (struct use_request){.session = session,
                                .epoch = epoch,
                                .kind = kind_of(weir_rpc_role(request)),
                                .key = weir_rpc_sender(request)->name};
}

void storage_hold(struct eraser *eraser, struct weir_request *request)
{
    const struct msg_hold *message = request->message;
    const struct use_request asked = asked_by(request, message->session, message->epoch);
    struct use_grant grant;
    struct weir_error err;

    if (storage_leases_hold(eraser->leases, &asked, weir_now_ms(), &grant, &err) != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        log_refusal(eraser, request, &err);
        return;
    }
    keep_route(eraser, grant.slot, request);
    weir_rpc_reply(request->server, &request->route, MSG_hold_is,
                   &(struct msg_hold_is){.epoch = grant.epoch,
                                         .lease_ms = grant.lease_ms,
                                         .erased = {grant.erased, grant.erased_count},
                                         .pause_ms = grant.pause_ms},
                   NULL);
    if (grant.is_awaited)
        storage_pump(eraser->store);
}

void storage_hold_end(struct eraser *eraser, const struct weir_request *request)
{
    const struct msg_hold_end *message = request->message;
    const struct use_request asked = asked_by(request, message->session, 0);
    struct weir_error err;

    if (storage_leases_hold_end(eraser->leases, &asked, &err) == WEIR_OK)
        storage_pump(eraser->store);
    else
        log_refusal(eraser, request, &err);
}
