/* Requests, the parts of the page that they wait for, and the page. */
#include "orchestrator/monitoring/monitor.h"

#include "core/base/memory.h"
#include "orchestrator/http/http.h"
#include "orchestrator/monitoring/parts.h"

#include <stdlib.h>
#include <string.h>

#define MS_PER_SECOND 1e3
#define TYPE_METRICS  "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_TEXT     "text/plain; charset=utf-8"

enum {
    WAIT_MS = 2500, /* of a request, for figures: a request to a service, and a moment */
    PARTS = 5,
};

static const struct monitor_source *const SOURCES[PARTS] = {
    &ORCHESTRATOR_MONITOR_HEALTH,   &ORCHESTRATOR_MONITOR_WORKERS,  &ORCHESTRATOR_MONITOR_CACHE,
    &ORCHESTRATOR_MONITOR_DATASETS, &ORCHESTRATOR_MONITOR_DATABASE,
};

/* Makes the page that is asked for of what is known. */
typedef struct http_page *make_page_fn(struct monitor *monitor);

/* A request that waits for figures. */
struct waiting {
    struct http_request *request;
    make_page_fn *make;
    int64_t until_ms;
};

struct monitor {
    struct weir_loop *loop;
    const char *version;
    struct http *http;
    const struct orchestrator_supervisor *supervisor; /* NULL: none yet */
    struct monitor_origins origins;
    bool is_attached;
    struct monitor_part parts[PARTS];
    struct waiting waiting[HTTP_CLIENTS_MAX];
    size_t waiting_count;
    uint64_t timer; /* for the first of them; 0: none waits */
    uint64_t scrapes;
    struct http_page *metrics; /* the newest page; NULL: it is to be made again */
    int64_t metrics_ms;
};

/* ---- pages ---- */

static void add_ages(const struct monitor *monitor, struct figures *figures)
{
    int64_t now_ms = weir_loop_now_ms(monitor->loop);
    for (size_t i = 0; i < PARTS; i++) {
        const struct monitor_part *part = &monitor->parts[i];
        if (part->source->service == NULL || part->shown == NULL)
            continue;
        FIGURE(figures, metrics_age, (double)(now_ms - part->shown_ms) / MS_PER_SECOND,
               part->source->service);
        FIGURE(figures, metrics_gathering, (double)part->took_ms / MS_PER_SECOND,
               part->source->service);
    }
}

static struct http_page *metrics_page(struct monitor *monitor)
{
    WEIR_AUTO(figures) own = orchestrator_figures_new();
    WEIR_AUTO_BUF text = {0};
    const struct figures *lists[1 + PARTS] = {own};
    size_t count = 1;
    for (size_t i = 0; i < PARTS; i++)
        if (monitor->parts[i].shown != NULL)
            lists[count++] = monitor->parts[i].shown;
    FIGURE(own, build_info, 1, monitor->version);
    FIGURE(own, scrapes, monitor->scrapes, NULL);
    add_ages(monitor, own);
    orchestrator_monitor_own(monitor->is_attached ? &monitor->origins : NULL, monitor->supervisor,
                             own);
    orchestrator_figures_print(lists, count, &text);
    return orchestrator_http_page_new(HTTP_OK, TYPE_METRICS, weir_buf_view(&text));
}

/* One page serves all who come within a second, unless something new is known. */
static struct http_page *newest_metrics(struct monitor *monitor)
{
    int64_t now_ms = weir_loop_now_ms(monitor->loop);
    if (monitor->metrics != NULL && now_ms - monitor->metrics_ms < MONITOR_FRESH_MS)
        return orchestrator_http_page_hold(monitor->metrics);
    orchestrator_http_page_free(monitor->metrics);
    monitor->metrics = metrics_page(monitor);
    monitor->metrics_ms = now_ms;
    return orchestrator_http_page_hold(monitor->metrics);
}

static struct http_page *text_page(unsigned code, const char *text)
{
    return orchestrator_http_page_new(code, TYPE_TEXT, weir_bytes_of(text));
}

static bool works(const struct monitor *monitor, const struct monitor_source *source)
{
    size_t i = 0;
    while (SOURCES[i] != source)
        i++;
    return monitor->parts[i].is_good;
}

static struct http_page *ready_page(struct monitor *monitor)
{
    if (!monitor->is_attached)
        return text_page(HTTP_UNAVAILABLE, "the platform is not up yet, or is being stopped\n");
    if (!works(monitor, &ORCHESTRATOR_MONITOR_HEALTH))
        return text_page(HTTP_UNAVAILABLE,
                         "not all of storage, selector and dispatcher answer: /metrics tells, "
                         "weir_service_up\n");
    if (!works(monitor, &ORCHESTRATOR_MONITOR_DATABASE))
        return text_page(HTTP_UNAVAILABLE, "Postgres does not answer\n");
    return text_page(HTTP_OK, "ready\n");
}

/* ---- those who wait ---- */

static void on_waited(void *owner);

/* Answers those who wait no longer: all of them, or those whose time is over. */
static void serve(struct monitor *monitor, bool are_all)
{
    int64_t now_ms = weir_loop_now_ms(monitor->loop);
    size_t served = 0;
    while (served < monitor->waiting_count &&
           (are_all || monitor->waiting[served].until_ms <= now_ms)) {
        const struct waiting *one = &monitor->waiting[served++];
        orchestrator_http_answer(one->request, one->make(monitor));
    }
    monitor->waiting_count -= served;
    memmove(monitor->waiting, monitor->waiting + served,
            monitor->waiting_count * sizeof(monitor->waiting[0]));
    weir_loop_cancel(monitor->loop, monitor->timer);
    monitor->timer = monitor->waiting_count == 0
                         ? 0
                         : weir_loop_timer(monitor->loop, monitor->waiting[0].until_ms - now_ms, 0,
                                           on_waited, monitor);
}

static void on_waited(void *owner)
{
    struct monitor *monitor = owner;
    monitor->timer = 0;
    serve(monitor, false);
}

static bool is_gathering(const struct monitor *monitor)
{
    bool is_any = false;
    for (size_t i = 0; i < PARTS; i++)
        is_any = is_any || monitor->parts[i].draft != NULL;
    return is_any;
}

/* ---- parts ---- */

static void on_part_ended(void *owner)
{
    struct monitor *monitor = owner;
    orchestrator_http_page_free(monitor->metrics);
    monitor->metrics = NULL;
    if (!is_gathering(monitor))
        serve(monitor, true);
}

/* ---- requests ---- */

static void wait_for(struct monitor *monitor, struct http_request *request, make_page_fn *make)
{
    for (size_t i = 0; monitor->is_attached && i < PARTS; i++)
        orchestrator_monitor_part_begin(&monitor->parts[i]);
    if (!is_gathering(monitor) || monitor->waiting_count == HTTP_CLIENTS_MAX) {
        orchestrator_http_answer(request, make(monitor));
        return;
    }
    monitor->waiting[monitor->waiting_count++] =
        (struct waiting){request, make, weir_loop_now_ms(monitor->loop) + WAIT_MS};
    if (monitor->timer == 0)
        monitor->timer = weir_loop_timer(monitor->loop, WAIT_MS, 0, on_waited, monitor);
}

static void on_get(void *owner, struct http_request *request, const char *path)
{
    struct monitor *monitor = owner;
    if (strcmp(path, "/metrics") == 0) {
        monitor->scrapes++;
        wait_for(monitor, request, newest_metrics);
    } else if (strcmp(path, "/readyz") == 0) {
        wait_for(monitor, request, ready_page);
    } else if (strcmp(path, "/healthz") == 0) {
        orchestrator_http_answer(request, text_page(HTTP_OK, "ok\n"));
    } else {
        orchestrator_http_answer(
            request, text_page(HTTP_NOT_FOUND, "expected /metrics, /healthz or /readyz\n"));
    }
}

/* ---- opening and closing ---- */

enum weir_status orchestrator_monitor_open(struct weir_loop *loop, const char *address,
                                           const char *version, struct monitor **ret_monitor,
                                           struct weir_error *err)
{
    struct loopback_address at;
    enum weir_status status = orchestrator_loopback_address_read(address, &at, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "metrics");
    struct monitor *monitor = weir_calloc(1, sizeof(*monitor));
    monitor->loop = loop;
    monitor->version = version;
    for (size_t i = 0; i < PARTS; i++)
        monitor->parts[i] = (struct monitor_part){
            .source = SOURCES[i],
            .from = &monitor->origins,
            .loop = loop,
            .ended = on_part_ended,
            .owner = monitor,
            .state = weir_calloc(1, SOURCES[i]->state_size + 1),
        };
    const struct http_options options = {
        .what = "metrics", .address = &at, .get = on_get, .owner = monitor};
    status = orchestrator_http_open(loop, &options, &monitor->http, err);
    if (status != WEIR_OK) {
        orchestrator_monitor_close(monitor);
        return status;
    }
    *ret_monitor = monitor;
    return WEIR_OK;
}

void orchestrator_monitor_close(struct monitor *monitor)
{
    if (monitor == NULL)
        return;
    orchestrator_monitor_detach(monitor);
    orchestrator_http_close(monitor->http);
    orchestrator_http_page_free(monitor->metrics);
    weir_loop_cancel(monitor->loop, monitor->timer);
    for (size_t i = 0; i < PARTS; i++)
        free(monitor->parts[i].state);
    free(monitor);
}

const char *orchestrator_monitor_address(const struct monitor *monitor)
{
    return orchestrator_http_address(monitor->http);
}

void orchestrator_monitor_watch(struct monitor *monitor,
                                const struct orchestrator_supervisor *supervisor)
{
    monitor->supervisor = supervisor;
}

void orchestrator_monitor_attach(struct monitor *monitor, const struct monitor_origins *origins)
{
    monitor->origins = *origins;
    monitor->is_attached = true;
}

void orchestrator_monitor_detach(struct monitor *monitor)
{
    if (monitor == NULL)
        return;
    for (size_t i = 0; monitor->is_attached && i < PARTS; i++)
        orchestrator_monitor_part_clear(&monitor->parts[i]);
    monitor->is_attached = false;
    serve(monitor, true);
}
