/* Holders of samples, as they come and as they are hinted: see use_leases.h. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/erasure_steps.h"

enum {
    ROUTES_MIN = 64,
    REFUSED_LOG_MS = 60 * 1000,
};

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

static void refuse_holder(struct eraser *eraser, const struct weir_request *request,
                          const struct weir_error *err)
{
    int64_t now_ms = weir_now_ms();

    weir_rpc_refuse(request->server, &request->route, err);
    if (now_ms < eraser->refused_log_ms)
        return;
    eraser->refused_log_ms = now_ms + REFUSED_LOG_MS;
    weir_log(WEIR_LOG_WARN, "a holder of samples is refused: it may not use them", "error=\"%s\"",
             err->text);
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

void storage_hold(struct eraser *eraser, struct weir_request *request)
{
    const struct msg_hold *message = request->message;
    const struct use_request asked = {.session = message->session,
                                      .epoch = message->epoch,
                                      .kind = kind_of(weir_rpc_role(request))};
    struct use_grant grant;
    struct weir_error err;

    if (storage_leases_hold(eraser->leases, &asked, weir_now_ms(), &grant, &err) != WEIR_OK) {
        refuse_holder(eraser, request, &err);
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
